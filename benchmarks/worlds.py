"""Worlds: curved, linear and non-Gaussian tables; learn() beside DirectLiNGAM and our own CAM; which world is chosen.

    python benchmarks/worlds.py [ROW ...] [--seeds 10] [--first 0] [--methods NAME ...]
                                [--rows build/worlds.jsonl] [--peers build/peers] [--write docs/benchmarks.md]

Every fit is one line of the file of rows, in processor seconds of one thread once small tables were fitted; what is
there is not computed again. All tables are standardised.

DirectLiNGAM is the package lingam, in an environment of its own:

    python -m venv build/peers/lingam && build/peers/lingam/bin/pip install lingam==1.13.0

Without it its rows are left out, and the table says so. With --write nothing is fitted: all that is on file is put into
the section on worlds of that page.
"""

import os

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import argparse
import json
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import acyclic
from acyclic.data.features import Features
from acyclic.facts import Orientation
from acyclic.scores.additive import prune_parents

HERE = Path(__file__).resolve().parent
OURS = {
    "learn": {"method": "auto"},
    "OrderSearch": {"method": "order-search"},
    "learn, all rows": {"method": "auto", "outliers": "keep"},
    "Lingam": {"method": "lingam"},
    "Cam": {"method": "cam"},
}
LINGAM, PLAIN_CAM = "DirectLiNGAM (lingam)", "plain CAM"
# Reads rows, writes weights [i, j] for i -> j and processor seconds.
WORKER = """
import sys, time
import numpy as np
from lingam import DirectLiNGAM
X = np.load(sys.argv[1])
started = time.process_time()
weights = DirectLiNGAM().fit(X).adjacency_matrix_.T
np.savez(sys.argv[2], weights=weights, seconds=time.process_time() - started)
"""
# The most tables for a fit that takes long, by method and how the name of the row begins.
MOST = {
    (LINGAM, "linear ER2 d=30"): 2,
    (LINGAM, "linear ER2 d=50"): 2,
    (LINGAM, "linear ER2 d=100"): 1,
    (LINGAM, "scale-free"): 1,
    ("Lingam", "scale-free d=200"): 3,
    (PLAIN_CAM, "GP ER1 d=20"): 3,
    (PLAIN_CAM, "GP ER1 d=50"): 1,
}
VARIED = {"variances": (0.5, 4.0)}
FLOOR = {"n": 2000, "graph": "ER1", "sem": "gp-add", "least_share": 0.05}


def rows_of_table():
    """Name of a row: (settings of simulate, methods); the smallest first."""
    found = {}
    linear = {**VARIED, "graph": "ER2"}
    additive = {"graph": "ER4", "sem": "gp-add"}
    found["additive GP ER4 d=10"] = ({**additive, "n_nodes": 10}, ["learn", "Cam"])
    found["joint GP ER4 d=10"] = ({"n_nodes": 10, "graph": "ER4", "sem": "gp"}, ["learn", "Cam"])
    for d, graph in ((20, "ER2"), (20, "ER4"), (40, "ER2")):
        found[f"joint GP {graph} d={d}"] = ({"n_nodes": d, "graph": graph, "sem": "gp"}, ["learn", "Cam"])
    found["Sachs, 853 rows, log"] = (None, ["learn"])
    found["mixed ER2 d=20"] = ({"n_nodes": 20, "graph": "ER2", "sem": "mixed", "scheme": "iscm"}, ["learn"])
    for d in (20, 30):
        found[f"t3 noise, linear ER2 d={d}"] = ({**linear, "n_nodes": d, "noise": "t3"}, ["learn", "learn, all rows"])
        for name, spoilt in (("outliers", "outliers"), ("wild cells", "wild cells")):
            settings = {**linear, "n_nodes": d, spoilt: 0.01}
            found[f"1 % {name}, linear ER2 d={d}"] = (settings, ["learn", "learn, all rows"])
    for d in (30, 50, 100):
        for noise in ("laplace", "uniform", "exponential", "gumbel", "t5", "gaussian"):
            methods = ["learn", "OrderSearch"] if noise == "gaussian" else ["learn", "Lingam", LINGAM]
            if d < 100 or noise == "laplace":
                found[f"linear ER2 d={d} {noise}"] = ({**linear, "n_nodes": d, "noise": noise}, methods)
    for d in (20, 50):
        for name, share in (("curved", 0.0), ("half linear", 0.5), ("all linear", 1.0)):
            found[f"GP ER1 d={d} {name}"] = ({**FLOOR, "n_nodes": d, "linear_share": share}, ["learn", "Cam"])
        found[f"GP ER1 d={d}, no floor"] = ({**FLOOR, "n_nodes": d, "least_share": 0.0}, ["learn", "Cam", PLAIN_CAM])
    found["additive GP ER4 d=20"] = ({**additive, "n_nodes": 20}, ["learn", "Cam"])
    for d in (100, 200):
        settings = {"n_nodes": d, "n": 10 * d, "graph": "SF2", "noise": "uniform", **VARIED}
        found[f"scale-free d={d} uniform"] = (settings, ["learn", "Lingam", *([LINGAM] if d == 100 else [])])
    return found


# (settings, mechanisms, noise) of the seven kinds of tables between which learn() chooses.
KINDS = {
    "linear, Gaussian": ({**VARIED, "graph": "ER2"}, "linear", "gaussian"),
    "linear, Laplace": ({**VARIED, "graph": "ER2", "noise": "laplace"}, "linear", "any"),
    "linear, uniform": ({**VARIED, "graph": "ER2", "noise": "uniform"}, "linear", "any"),
    "additive GP ER1": ({"graph": "ER1", "sem": "gp-add"}, "curved", "gaussian"),
    "joint GP ER1": ({"graph": "ER1", "sem": "gp"}, "joint", "gaussian"),
    "additive GP ER2": ({"graph": "ER2", "sem": "gp-add"}, "curved", "gaussian"),
    "additive GP, Laplace": ({"graph": "ER1", "sem": "gp-add", "noise": "laplace"}, "curved", "any"),
}


class Simulated(NamedTuple):
    """What is read of a table: as `simulate` gives it."""

    X: np.ndarray
    graph: acyclic.Dag
    levels: tuple[int, ...]


class Rows:
    """The file of fits that were made."""

    def __init__(self, path):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        self.known = {(r["row"], r["method"], r["seed"]): r for r in map(json.loads, lines)}

    def get(self, row, method, seed, fit):
        """A fit as it is on file, or made now."""
        key = row, method, seed
        if key not in self.known:
            made = {"row": row, "method": method, "seed": seed, "version": acyclic.__version__, **fit()}
            with self.path.open("a") as file:
                file.write(json.dumps(made) + "\n")
            self.known[key] = made
        return self.known[key]


def is_right(fit, mechanisms, noise):
    """Whether a table was taken for what it is."""
    return (fit["mechanisms"] or "linear", fit["noise"] or "gaussian") == (mechanisms, noise)


def fit_ours(data, options):
    """What a method of ours finds."""
    kinds = {name: "categorical" for name, count in zip(data.graph.names, data.levels) if count}
    started = time.process_time()
    found = acyclic.learn(data.X, **({"kinds": kinds} if kinds else {}), **options)
    seconds = time.process_time() - started
    support = list(found.verdict.support.values())
    claimed = {
        name: sum(kind is orientation for kind in support)
        for name, orientation in (("by curvature", Orientation.CURVATURE), ("by shape", Orientation.NOISE_SHAPE))
    }
    world = {name: found.verdict.settings.get(name) for name in ("mechanisms", "noise")}
    return {**measure(data, found.graph), "seconds": seconds, **claimed, **world}


def fit_lingam(data, python):
    """What the package lingam finds, its weights as it leaves them."""
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder) / "X.npy", Path(folder) / "answer.npz"
        np.save(given, data.X)
        subprocess.run([python, "-c", WORKER, given, answer], check=True, stdout=subprocess.DEVNULL)
        with np.load(answer) as stored:
            graph, seconds = acyclic.Dag(stored["weights"], data.names), float(stored["seconds"])
    return {**measure(data, graph), "seconds": seconds}


def fit_plain_cam(data):
    """CAM as it was published, on the splines of this package: `Cam` shares its sums and ends where nothing pays."""
    started = time.process_time()
    edges = prune_parents(data.X, order_greedily(data.X), 0.001)
    return {**measure(data, acyclic.Dag(edges, data.names)), "seconds": time.process_time() - started}


def order_greedily(X):
    """Edges, the one that explains most first, each gain by a fit of its own, until every pair has one."""
    features, d = Features.of(X), X.shape[1]
    blocks = [np.arange(features.at[i], features.at[i + 1]) for i in range(d)]
    G = features.G + 1e-6 * np.eye(len(features.G))  # a ridge for the sake of the arithmetic alone
    edges, reach, left = np.zeros((d, d), dtype=bool), np.eye(d, dtype=bool), np.ones(d)

    def leave(j, parents):
        own = np.concatenate([blocks[i] for i in parents])
        cross = G[own, features.at[j]]
        return 1 - cross @ np.linalg.solve(G[np.ix_(own, own)], cross)

    def gains_of(j):
        parents, open_to = np.flatnonzero(edges[:, j]), ~edges[:, j] & ~reach[j]
        return [np.log(left[j] / leave(j, [*parents, i])) if open_to[i] else -np.inf for i in range(d)]

    gains = np.column_stack([gains_of(j) for j in range(d)])
    while np.isfinite(gains).any():
        i, j = np.unravel_index(gains.argmax(), gains.shape)
        edges[i, j], left[j] = True, left[j] * np.exp(-gains[i, j])
        reach |= np.outer(reach[:, i], reach[j])
        gains[:, j] = gains_of(j)
        gains[reach.T] = -np.inf
    return edges


def draw(settings, seed):
    """A table; "wild cells" is the probability of a cell to be multiplied by 20, as that of a row is in simulate."""
    if settings is None:
        data = acyclic.load_sachs()
        X, truth = np.log(data.X), acyclic.Dag(data.graphs["17"].reordered(data.names).weights)
        return Simulated(X=(X - X.mean(axis=0)) / X.std(axis=0), graph=truth, levels=(0,) * X.shape[1])
    wild = settings.get("wild cells", 0.0)
    given = {name: value for name, value in settings.items() if name != "wild cells"}
    data = acyclic.simulate(**{"n": 1000, **given}, standardize=True, random_state=seed)
    if not wild:
        return data
    spoilt = np.random.default_rng([seed, 20]).random(data.X.shape) < wild
    return replace(data, X=np.where(spoilt, 20 * data.X, data.X))


def measure(data, graph):
    """Distances of DAGs and of classes, and F1 of the skeletons."""
    found = acyclic.compare(data.graph, graph)
    truth, joined = (np.triu(a | a.T) for a in (data.graph.adjacency, graph.adjacency))
    f1 = 2 * (truth & joined).sum() / max(truth.sum() + joined.sum(), 1)
    return {"shd": found.shd, "class_shd": found.shd_cpdag, "edges": graph.n_edges, "f1": float(f1)}


def compute_row(rows, name, settings, methods, seeds, python):
    """Fits of all methods on all seeds, and their line."""
    for method in methods:
        if method == LINGAM and not python.exists():
            print(f"{name:32} {method:22} left out: no {python}", flush=True)
            continue
        fits = []
        for seed in seeds[: most_tables(name, method, settings)]:

            def fit(seed=seed, method=method):
                data = draw(settings, seed)
                peers = {LINGAM: lambda: fit_lingam(data, python), PLAIN_CAM: lambda: fit_plain_cam(data)}
                return peers[method]() if method in peers else fit_ours(data, OURS[method])

            fits.append(rows.get(name, method, seed, fit))
        print(f"{name:32} {method:22} {describe(fits)}", flush=True)


def most_tables(name, method, settings):
    """How many seeds a method gets in a row; None: all."""
    if settings is None:
        return 1
    return next((most for (by, begins), most in MOST.items() if by == method and name.startswith(begins)), None)


def describe(fits):
    """A line of means."""
    mean = {key: np.mean([fit[key] for fit in fits]) for key in ("shd", "class_shd", "edges", "seconds")}
    said = f"SHD {mean['shd']:6.1f}  of classes {mean['class_shd']:6.1f}  {mean['seconds']:8.2f} s  {len(fits)} seeds"
    if "f1" in fits[0]:
        said += f"  F1 of skeletons {np.mean([fit['f1'] for fit in fits]):.3f}"
    if fits[0]["method"].startswith("learn"):
        curved = np.mean([fit["mechanisms"] in ("curved", "joint") for fit in fits])
        shaped = np.mean([fit["noise"] == "any" for fit in fits])
        # Of edges that the equivalence class compels, curves and shapes are not what orients them.
        turned = np.mean([fit["by curvature"] + fit["by shape"] > 0 for fit in fits])
        said += (
            f"  tables called curved {curved:4.0%}, of odd noise {shaped:4.0%}, with an arrow by these {turned:4.0%}"
        )
    return said


def compute_choice(rows, seeds, d=20):
    """How often the world of a table is recognised."""
    right = total = 0
    for name, (settings, mechanisms, noise) in KINDS.items():

        def fit(seed, settings=settings):
            return fit_ours(draw({"n_nodes": d, **settings}, seed), OURS["learn"])

        fits = [rows.get(f"choice: {name}", "learn", seed, lambda s=seed: fit(s)) for seed in seeds]
        hits = [is_right(one, mechanisms, noise) for one in fits]
        named = {"method": "order-search", "mechanisms": mechanisms, "noise": noise}
        for missed in (one for one, hit in zip(fits, hits) if not hit):
            data = draw({"n_nodes": d, **settings}, missed["seed"])
            rows.get(f"choice: {name}", "named", missed["seed"], lambda data=data, named=named: fit_ours(data, named))
        right, total = right + sum(hits), total + len(hits)
        print(f"choice: {name:24} {sum(hits)} of {len(hits)}  {describe(fits)}", flush=True)
    print(f"choice of the world: {right} of {total}")


def write(rows, page):
    """The tables of all that is on file, in their place on the page."""
    heads = "table", "method", "SHD", "of classes", "processor s", "tables", "called curved / of odd noise", "by shape"
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, (_, methods) in rows_of_table().items():
        for method in methods:
            fits = [fit for (row, by, _), fit in rows.known.items() if (row, by) == (name, method)]
            if fits:
                lines.append(f"| {name} | {method} | {summarise(fits)} |")
    lines += ["", "| kind, d = 20 | right | SHD | SHD of the wrong, and in the right world |", "|---|---|---|---|"]
    right = total = 0
    for name, (_, mechanisms, noise) in KINDS.items():
        own = {
            by: {seed: f for (row, b, seed), f in rows.known.items() if (row, b) == (f"choice: {name}", by)}
            for by in ("learn", "named")
        }
        fits = own["learn"]
        missed = [seed for seed, fit in fits.items() if not is_right(fit, mechanisms, noise)]
        right, total = right + len(fits) - len(missed), total + len(fits)
        costs = [f"{fits[k]['shd']} ({own['named'][k]['shd']})" for k in missed if k in own["named"]]
        if fits:
            mean = np.mean([fit["shd"] for fit in fits.values()])
            lines.append(
                f"| {name} | {len(fits) - len(missed)} of {len(fits)} | {mean:.1f} | {', '.join(costs) or '–'} |"
            )
    lines += ["", f"Right in {right} of {total}."]
    text = page.read_text()
    start, end = (text.index(mark) for mark in MARKS)
    page.write_text(text[: start + len(MARKS[0])] + "\n" + "\n".join(lines) + "\n" + text[end:])


MARKS = "<!-- made by benchmarks/worlds.py -->", "<!-- end of worlds -->"


def summarise(fits):
    """Cells of means."""
    mean = {key: np.mean([fit[key] for fit in fits]) for key in ("shd", "class_shd", "edges", "seconds")}
    cells = [f"{mean['shd']:.1f}", f"{mean['class_shd']:.1f}", f"{mean['seconds']:.2f}", str(len(fits))]
    if not fits[0]["method"].startswith("learn"):
        return " | ".join([*cells, "–", "–"])
    bent = sum(fit["mechanisms"] in ("curved", "joint") for fit in fits)
    odd = sum(fit["noise"] == "any" for fit in fits)
    share = sum(fit["by shape"] for fit in fits) / max(sum(fit["edges"] for fit in fits), 1)
    return " | ".join([*cells, f"{bent} / {odd}", f"{share:.1%}"])


def warm_up():
    """Fits of small tables, lest the first row holds what is imported late."""
    for settings in ({"noise": "laplace"}, {"sem": "gp-add"}):
        data = acyclic.simulate(6, 300, **settings, standardize=True, random_state=0)
        for options in OURS.values():
            acyclic.learn(data.X, **options)


def main():
    """The table, as far as its rows are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", metavar="ROW", help="rows whose name begins so; 'choice' for the worlds")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--methods", nargs="*", help="these methods only")
    parser.add_argument("--rows", type=Path, default=HERE.parent / "build" / "worlds.jsonl")
    parser.add_argument("--peers", type=Path, default=HERE.parent / "build" / "peers")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the tables of what is on file")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    rows, python = Rows(given.rows), given.peers.absolute() / "lingam" / "bin" / "python"
    if given.write:
        write(rows, given.write)
        return
    warm_up()
    for name, (settings, methods) in rows_of_table().items():
        if not given.only or name.startswith(tuple(given.only)):
            wanted = [method for method in methods if not given.methods or method in given.methods]
            compute_row(rows, name, settings, wanted, seeds, python)
    if not given.only or "choice" in given.only:
        compute_choice(rows, seeds)


if __name__ == "__main__":
    main()

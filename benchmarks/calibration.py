"""Where the coefficients of `acyclic.trust.calibration` come from, and whether they hold on other kinds of tables.

Two sets of simulated tables are learned from and bootstrapped. FIT has normal noise and two kinds of graphs,
Erdős–Rényi and others in which some columns have many more causes or effects than most: weights of several ranges with
equal and unequal noise variances, effects of any size down to 0, and correlations drawn by DaO; n from 80 (at least
5 d) to 20 000, d from 6 to 60, one to three edges for each node. CHECK has scale-free graphs, other units (iSCM,
standardised), other noise, rows, and published networks with their own weights, whole or some columns with all their
ancestors. Its DaO tables have graphs of a family that was not fitted on. Bootstraps are parametric where only moments
matter, as these cost a tenth; they have 40 or 100 draws.

`fit` prints the coefficients of two logistic regressions: of "an edge joins the pair" over all pairs of the tables with
Erdős–Rényi graphs, as those of hubs made middling probabilities too high elsewhere, and of "it points this way" over
the pairs of all tables that are joined in truth and in some draw. `check` prints reliability on CHECK: in each tenth
of the stated probabilities the share that is true. It has to be within 7 points wherever a tenth holds 50 pairs.

    python benchmarks/calibration.py learn FOLDER [--fitted 150] [--checked 90]   # minutes; goes on if stopped
    python benchmarks/calibration.py fit FOLDER
    python benchmarks/calibration.py check FOLDER
"""

import argparse
import pickle
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy.optimize import minimize

import acyclic
from acyclic.facts import Orientation
from acyclic.graphs.reachability import close_transitively
from acyclic.judging.verdict import Margin
from acyclic.learners import make_learner
from acyclic.trust import calibration

FEWEST = 50
# No seed of one set is one of the other.
FIRST_FIT, FIRST_CHECK = 62_000, 104_000
# Ranges of weights, one after the other; None draws correlations by DaO. Real tables may well have tiny effects.
FIT_RANGES = ((0.5, 2.0), None, (0.1, 0.6), (0.0, 1.0), None, (0.2, 1.0))
CHECK = {
    "SF2": {"graph": "SF2"},
    "ER2, iSCM": {"scheme": "iscm"},
    "SF2, standardised": {"graph": "SF2", "scheme": "standardized"},
    "SF2, DaO": {"graph": "SF2", "scheme": "dao"},
    "SF3, DaO": {"graph": "SF3", "scheme": "dao"},
    "ER1, weak, t5 noise": {"graph": "ER1", "weight_range": (0.1, 1.0), "noise": "t5", "variances": (0.5, 2.0)},
    "ecoli70": {"network": "ecoli70"},
    "magic-niab": {"network": "magic-niab"},
    "part of magic-irri": {"network": "magic-irri", "most": 40},
    "part of arth150": {"network": "arth150", "most": 40},
    "SF1, iSCM, rows": {"graph": "SF1", "scheme": "iscm", "rows": True},
    "SF2, DaO, rows": {"graph": "SF2", "scheme": "dao", "rows": True},
}
WITH_ROWS = [title for title, settings in CHECK.items() if settings.get("rows")]


def make_fit(seed):
    """A table of the set to fit on."""
    rng = np.random.default_rng([seed, 1])
    d, n = int(rng.choice([6, 10, 15, 25, 40, 60])), int(np.exp(rng.uniform(np.log(80), np.log(20_000))))
    n = max(n, calibration.ROWS_PER_COLUMN * d)
    k, span = min(int(rng.choice([1, 2, 3])), (d - 1) // 2), FIT_RANGES[seed % len(FIT_RANGES)]
    variances = "equal" if rng.random() < 0.4 else (0.3, 3.0)
    how = {"scheme": "dao"} if span is None else {"weight_range": span, "variances": variances}
    hubs = seed // len(FIT_RANGES) % 2
    data = acyclic.simulate(d, n, graph=draw_hubs(d, k, rng) if hubs else f"ER{k}", random_state=seed, **how)
    title = "fit" + ", hubs" * hubs + ", DaO" * (span is None)
    return title, data.graph, acyclic.read_table(data.X).moments


def draw_hubs(d, k, rng):
    """A DAG of about k d edges, likelier between columns that tend to be causes and those that tend to be effects."""
    spread = rng.uniform(0.0, 2.0, 2)
    chances = np.outer(*np.exp(spread[:, None] * rng.normal(size=(2, d))))
    place = rng.permutation(d)
    chances[place[:, None] >= place] = 0.0
    low, high = 0.0, d**2 * k / chances[chances > 0].min()
    for _ in range(60):  # the factor that gives so many edges, each with a probability of 1 at most
        factor = (low + high) / 2
        low, high = (factor, high) if np.minimum(factor * chances, 1).sum() < k * d else (low, factor)
    return rng.random((d, d)) < low * chances


def select_part(graph, most, rng):
    """Random columns with all their ancestors, of which there is no hidden cause: as many as that."""
    kept, reach = set(), close_transitively(graph.adjacency)
    for column in rng.permutation(graph.n_nodes):
        wanted = kept | {int(column), *np.flatnonzero(reach[:, column]).tolist()}
        kept = wanted if len(wanted) <= most else kept
    return sorted(kept)


def make_check(seed):
    """A table of the set to check on."""
    rng = np.random.default_rng([seed, 2])
    title = list(CHECK)[seed % len(CHECK)]
    settings = dict(CHECK[title])
    n = int(np.exp(rng.uniform(np.log(100), np.log(10_000))))
    if name := settings.pop("network", None):
        network = acyclic.load_network(name)
        graph = network.graph
        n = max(n, calibration.ROWS_PER_COLUMN * graph.n_nodes)
        table = acyclic.read_table(network.sample(n, random_state=seed), names=graph.names)
        if most := settings.get("most"):
            part = select_part(graph, int(rng.integers(most // 2, most + 1)), rng)
            names = [graph.names[i] for i in part]
            graph, table = acyclic.Dag(graph.weights[np.ix_(part, part)], names), table.select(names)
        return title, graph, table.moments
    rows = settings.pop("rows", False)
    d = int(rng.choice([8, 12])) if rows else int(rng.choice([8, 12, 18, 30]))
    n = max(n, calibration.ROWS_PER_COLUMN * d)
    data = acyclic.simulate(d, n, random_state=seed, **settings)
    table = acyclic.read_table(data.X)
    return title, data.graph, table if rows else table.moments


def learn(folder, fitted, checked):
    """Bootstrap so many tables of both sets, FIT at even numbers; each is kept as it comes."""
    folder.mkdir(parents=True, exist_ok=True)
    for index in [*range(0, 2 * fitted, 2), *range(1, 2 * checked, 2)]:
        if not (folder / f"{index}.pickle").exists():
            learn_one(folder, index)


def learn_one(folder, index):
    """Bootstrap one table, and keep what was found."""
    path, started = folder / f"{index}.pickle", time.process_time()
    seed = index // 2 + (FIRST_CHECK if index % 2 else FIRST_FIT)
    title, truth, table = (make_check if index % 2 else make_fit)(seed)
    learner = make_learner("auto").set_params(effort=0.1)
    model = learner.fit(table)
    draws = 100 if seed % 5 == 0 and title not in WITH_ROWS else 40
    found = acyclic.bootstrap(make_learner("auto").set_params(effort=0.1), table, draws, first=model)
    n = float(acyclic.read_table(table).moments.n)
    kept = {"title": title, "truth": truth.adjacency, "bootstrap": found.to_dict(), "n": n}
    kept["reached"] = found.probability is not None
    kept |= {"orientation": model.verdict_.orientation.value, "seconds": time.process_time() - started}
    kept["support"] = {pair: support.value for pair, support in model.verdict_.support.items()}
    kept["margins"] = {pair: tuple(margin) for pair, margin in model.verdict_.margins.items()}
    path.write_bytes(pickle.dumps(kept))
    print(index, title, len(truth.names), int(n), kept["orientation"], f"{kept['seconds']:.1f} s", flush=True)


def read(folder, fitted):
    """What was kept of one of the two sets, and what the rule knows of it; not of tables that it does not reach."""
    for path in sorted(folder.glob("*.pickle"), key=lambda path: int(path.stem)):
        if (int(path.stem) % 2 == 0) is not fitted:
            continue
        kept = pickle.loads(path.read_bytes())
        if not kept["reached"]:
            continue
        found = acyclic.Bootstrap.from_dict(kept["bootstrap"])
        support = {pair: Orientation(value) for pair, value in kept["support"].items()}
        margins = {pair: Margin(*margin) for pair, margin in kept["margins"].items()}
        said = SimpleNamespace(support=support, margins=margins, orientation=Orientation(kept["orientation"]))
        yield kept, calibration.Known.of(found.edge, found.draws, found.graph, said, kept["n"])


def fit(folder):
    """Print the coefficients."""
    X, y, D, way = [], [], [], []
    for kept, known in read(folder, True):
        truth, above = kept["truth"], np.triu_indices(len(kept["truth"]), 1)
        joined = (truth | truth.T)[above]
        if "hubs" not in kept["title"]:
            X.append(calibration.describe_pairs(known))
            y.append(joined)
        seen = joined & ((known.edge + known.edge.T)[above] > 0)
        D.append(calibration.describe_directions(known)[seen])
        way.append(truth[above][seen])
    for name, features, hits in (("JOINED", X, y), ("POINTED", D, way)):
        coefficients = regress(np.vstack(features), np.concatenate(hits))
        print(f"# {sum(map(len, hits))} pairs of {len(hits)} tables")
        print(f"{name} = np.array([{', '.join(f'{value:.4f}' for value in coefficients)}])")


def regress(X, y):
    """Logistic regression with a prior as weak as one pair of each kind."""
    sign = np.where(y, 1.0, -1.0)

    def loss(b):
        z = sign * (X @ b)
        return np.logaddexp(0, -z).sum() + 0.05 * b @ b, -X.T @ (sign / (1 + np.exp(z))) + 0.1 * b

    return minimize(loss, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x


def check(folder):
    """Print reliability by kind of table and of all together; whether it is within the limit."""
    gathered = {"an edge joins the pair": {}, "it points this way": {}}
    for kept, known in read(folder, False):
        likely, pointed = calibration.calibrate(known)
        truth, above = kept["truth"], np.triu_indices(len(kept["truth"]), 1)
        joined = (truth | truth.T)[above]
        # Both directions of each: the rule cannot know that the columns of published networks follow the causal order.
        drawn = (known.learned | known.learned.T) & (truth | truth.T)
        kinds = (likely[above], joined), (pointed[drawn], truth[drawn])
        for (stated, true), by_kind in zip(kinds, gathered.values()):
            for title in (kept["title"], "all of them", f"all of them: {kept['orientation']}"):
                by_kind.setdefault(title, []).append((stated, true))
    worst = 0.0
    for what, by_kind in gathered.items():
        print(f"\n{what}: points by which the true share of a tenth is above the stated one (pairs)")
        for title in sorted(by_kind, key=lambda title: (title.startswith("all"), title)):
            stated, true = (np.concatenate(part) for part in zip(*by_kind[title]))
            tenth = np.minimum((stated * 10).astype(int), 9)
            cells = []
            for k in range(10):
                inside = tenth == k
                if inside.sum() >= FEWEST:
                    off = 100 * (true[inside].mean() - stated[inside].mean())
                    cells.append(f"{off:+5.1f} ({inside.sum()})")
                    worst = max(worst, abs(off))
                else:
                    cells.append("     ")
            print(f"   {title:32s} {len(by_kind[title]):3d} tables  {'  '.join(cells)}")
    print(f"\nworst tenth of at least {FEWEST} pairs: {worst:.1f} points; at most 7 are wanted")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["learn", "fit", "check"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fitted", type=int, default=150)
    parser.add_argument("--checked", type=int, default=90)
    args = parser.parse_args()
    if args.what == "learn":
        learn(args.folder, args.fitted, args.checked)
    else:
        {"fit": fit, "check": check}[args.what](args.folder)


if __name__ == "__main__":
    main()

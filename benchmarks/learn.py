"""learn() on the paper's simulated data and beyond: mean SHD and seconds over seeds, and DAGMA side by side.

Each row: data as in the paper (ERk, SFk = k·d expected edges, n = 1000 unless said), threshold 0.3 as all published
numbers use, or none. `seconds` is one call of learn() on an array in memory, on all cores.

    python benchmarks/learn.py [--seeds 10] [--first-seed 0] [--rows NAME ...] [--dagma PYTHON]

--dagma names the interpreter of an environment where `pip install dagma` was done; its time at d = 100 is then measured
in the same run.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import acyclic
from acyclic.facts import Caution


@dataclass(frozen=True)
class Row:
    name: str
    d: int
    target: float
    graph: str = "ER2"
    n: int = 1000
    noise: str = "gaussian"
    variances: object = "equal"
    standardize: bool = False
    units: bool = False
    threshold: float | None = 0.3
    cpdag: bool = False
    seconds: float | None = None
    most_seeds: int = 1000
    fit: object = field(default=acyclic.learn)


def continuous(X, threshold):
    """The method of the paper on its own: TMPI along the central path, from zero."""
    model = acyclic.Notears(solver="central-path", constraint="fast-tmpi", threshold=threshold).fit(X)
    return acyclic.Result(model.causal_graph_, model.verdict_, model.causal_graph_.cpdag())


UNEQUAL = {"n": 2000, "variances": (0.5, 4.0), "threshold": None, "cpdag": True}
ROWS = [
    *[
        Row(f"{graph} d={d} {noise}", d, 0.3, graph=graph, noise=noise)
        for graph in ("ER2", "ER3", "SF2")
        for noise in ("gaussian", "exponential", "gumbel")
        for d in (10, 30, 50, 100)
    ],
    Row("ER4 d=100", 100, 2, graph="ER4"),
    Row("ER2 d=100 n=200", 100, 6, n=200),
    Row("ER2 d=500", 500, 0.5, seconds=5),
    Row("ER4 d=100, no threshold", 100, 2, graph="ER4", threshold=None),
    Row("ER2 d=100 n=200, no threshold", 100, 9, n=200, threshold=None),
    Row("ER2 d=500, no threshold", 500, 2, threshold=None),
    Row("ER2 d=2000 n=5000", 2000, 3, n=5000, seconds=300, most_seeds=1),
    Row("unequal variances d=30", 30, 0.5, seconds=0.1, **UNEQUAL),
    Row("unequal variances d=100", 100, 2, seconds=1, **UNEQUAL),
    Row("standardised d=30", 30, 2, standardize=True, seconds=1, **UNEQUAL),
    Row("standardised d=100", 100, 3, standardize=True, seconds=8, **UNEQUAL),
    Row("standardised d=300", 300, 10, standardize=True, seconds=60, most_seeds=3, **UNEQUAL),
    Row("random units d=30", 30, 2, units=True, seconds=1, **UNEQUAL),
    Row("random units d=100", 100, 3, units=True, seconds=8, **UNEQUAL),
    Row("continuous from zero, ER2 d=100", 100, 3, fit=continuous),
]


def simulated(row: Row, seed: int):
    data = acyclic.simulate(
        n_nodes=row.d,
        n=row.n,
        graph=row.graph,
        noise=row.noise,
        variances=row.variances,
        standardize=row.standardize,
        random_state=seed,
    )
    if not row.units:
        return data.graph, data.X
    return data.graph, data.X * 10 ** np.random.default_rng(seed).uniform(-3, 3, row.d)


def measure(row: Row, seeds: range) -> tuple[list[float], list[float], set[str]]:
    distances, seconds, said = [], [], set()
    for seed in list(seeds)[: row.most_seeds]:
        truth, X = simulated(row, seed)
        start = time.perf_counter()
        result = row.fit(X, threshold=row.threshold)
        seconds.append(time.perf_counter() - start)
        graph = acyclic.Dag(result.graph.weights, truth.names)
        comparison = acyclic.compare(truth, graph)
        distances.append(comparison.shd_cpdag if row.cpdag else comparison.shd)
        if row.units:
            said.add("same class as standardised" if same_class(X, result) else "ANOTHER class than standardised")
        if row.cpdag:
            rejected = any(fact.kind is Caution.UNEQUAL_VARIANCES for fact in result.verdict.cautions)
            said.add(f"equal variances {'rejected' if rejected else 'NOT rejected'}")
    return distances, seconds, said


def same_class(X: np.ndarray, result: acyclic.Result) -> bool:
    return acyclic.learn((X - X.mean(axis=0)) / X.std(axis=0)).cpdag == result.cpdag


DAGMA = """
import json, sys, time
import numpy as np
from dagma.linear import DagmaLinear
X = np.load(sys.argv[1])
start = time.perf_counter()
W = DagmaLinear(loss_type="l2").fit(X.copy(), lambda1=0.03)
json.dump({"seconds": time.perf_counter() - start, "weights": W.tolist()}, open(sys.argv[2], "w"))
"""


def beside_dagma(python: str, seed: int) -> None:
    truth, X = simulated(Row("", 100, 0), seed)
    with tempfile.TemporaryDirectory() as folder:
        rows, answer = Path(folder, "rows.npy"), Path(folder, "answer.json")
        np.save(rows, X)
        subprocess.run([python, "-c", DAGMA, str(rows), str(answer)], check=True, stderr=subprocess.DEVNULL)
        theirs = json.loads(answer.read_text())
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        result = acyclic.learn(X, threshold=0.3)
        seconds.append(time.perf_counter() - start)
    ours = float(np.median(seconds))
    start = time.perf_counter()
    path = continuous(X, 0.3)
    alone = time.perf_counter() - start
    others = [acyclic.Dag(found.graph.weights, truth.names) for found in (result, path)]
    shds = [acyclic.compare(truth, graph).shd for graph in others]
    weights = np.array(theirs["weights"])
    dagma_shd = acyclic.compare(truth.weights, weights, edge_direction="from row to column").shd
    print(
        f"ER2 d = 100, seed {seed}: DAGMA {theirs['seconds']:.1f} s, SHD {dagma_shd}; learn() {ours:.3f} s, "
        f"{theirs['seconds'] / ours:.0f}× faster, SHD {shds[0]}; continuous from zero {alone:.2f} s, "
        f"{theirs['seconds'] / alone:.0f}× faster, SHD {shds[1]}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rows", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--dagma", help="interpreter that can import dagma")
    chosen = parser.parse_args()
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    acyclic.learn(simulated(Row("", 5, 0), 0)[1])
    print(f"acyclic {acyclic.__version__}, NumPy {np.__version__}, Python {sys.version.split()[0]}, seeds {seeds}")
    print(f"{'data':<34}{'mean SHD':>9}{'target':>8}{'mean s':>10}{'most s':>9}{'at most':>9}")
    for row in ROWS:
        if chosen.rows and not any(part in row.name for part in chosen.rows):
            continue
        distances, taken, said = measure(row, seeds)
        met = np.mean(distances) <= row.target and (row.seconds is None or np.mean(taken) <= row.seconds)
        limit = "" if row.seconds is None else f"{row.seconds:g}"
        print(
            f"{row.name:<34}{np.mean(distances):>9.2f}{row.target:>8g}{np.mean(taken):>10.3f}{max(taken):>9.3f}{limit:>9}"
            f"  {'met' if met else 'MISSED'} ({len(taken)} seeds){'; ' + ', '.join(sorted(said)) if said else ''}",
            flush=True,
        )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    if chosen.dagma:
        for seed in list(seeds)[:3]:
            beside_dagma(chosen.dagma, seed)

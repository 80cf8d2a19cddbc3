"""The exact search: processor seconds and memory against d, and how often the order search misses the best graph.

    python benchmarks/exact.py [--largest 22] [--repeats 10] [--effort 1]

Sizes: rows of a sparse graph (ER2, standardised) and the first columns of the breast cancer table, where nearly all
columns depend on each other. Each in a process of its own, with one thread; memory is its peak above that before the
search, beside what `exact_memory` says.

Misses: `search_orders`, from the order of equal variances and two random ones at least, against the best graph
there is. Real tables are searched in `--repeats` random orders of their columns, simulated ones with as many seeds.
iSCM: weights ±U(0.5, 2), every column standardised before its children use it, so that units give nothing away.
The last two columns are of the last repeat: how far the second class is, and the share of edges of small margin.
"""

import argparse
import multiprocessing
import os
import platform
import time
from pathlib import Path

import numpy as np
from sklearn import datasets

import acyclic
from acyclic.data.datasets import load_sachs
from acyclic.data.moments import Moments
from acyclic.data.simulate import random_dag
from acyclic.discrete.exact import exact_memory, find_best_graph
from acyclic.discrete.order import equal_variance_order
from acyclic.discrete.search import search_orders


def breast_cancer(d: int) -> np.ndarray:
    return datasets.load_breast_cancer().data[:, :d]


def sparse(d: int) -> np.ndarray:
    return acyclic.simulate(d, 1000, graph="ER2", standardize=True, random_state=d).X


TABLES = {"sparse": sparse, "dense": breast_cancer}


def iscm(d: int, n: int, graph: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    adjacency = random_dag(d, graph, rng)
    weights = adjacency * rng.choice([-1, 1], (d, d)) * rng.uniform(0.5, 2, (d, d))
    X = np.zeros((n, d))
    for j in acyclic.Dag(weights).order:
        column = X @ weights[:, j] + rng.standard_normal(n)
        X[:, j] = (column - column.mean()) / column.std()
    return X


def measure(kind: str, d: int, margins: bool) -> tuple[float, float]:
    """Processor seconds, and megabytes above what the process had."""
    moments = Moments.from_array(TABLES[kind](d))
    find_best_graph(moments.select(moments.names[:2]))
    before, start = resident("VmRSS"), time.process_time()
    find_best_graph(moments, margins=margins, threads=1)
    seconds = time.process_time() - start
    return seconds, resident("VmHWM") - before


def resident(entry: str) -> float:
    """Megabytes, as Linux says; its getrusage would count the peak of the process that started this one."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(entry)) * 1024 / 1e6


def print_sizes(largest: int) -> None:
    print("\n| columns | said, MB | " + " | ".join(f"{kind}, s | with margins, s | MB" for kind in TABLES) + " |")
    print("|---|---|" + "---|" * 3 * len(TABLES))
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for d in (*range(10, min(largest, 20), 2), *range(20, largest + 1)):
            cells = []
            for kind in TABLES:
                alone, whole = (pool.apply(measure, (kind, d, margins)) for margins in (False, True))
                cells += [f"{alone[0]:.3f}", f"{whole[0]:.3f}", f"{whole[1]:.0f}"]
            print(f"| {d} | {exact_memory(d) / 1e6:.1f} | " + " | ".join(cells) + " |", flush=True)


def real_tables() -> dict[str, np.ndarray]:
    diabetes, linnerud = datasets.load_diabetes(), datasets.load_linnerud()
    return {
        "wine": datasets.load_wine().data,
        "diabetes": np.c_[diabetes.data, diabetes.target],
        "linnerud": np.c_[linnerud.data, linnerud.target],
        "Sachs": load_sachs().X,
        "breast cancer, 15 columns": breast_cancer(15),
        "breast cancer, 20 columns": breast_cancer(20),
    }


def cases(repeats: int):
    """Name of a row, and its tables."""
    for name, X in real_tables().items():
        orders = (np.random.default_rng(seed).permutation(X.shape[1]) for seed in range(repeats))
        yield name, [X[:, order] for order in orders]
    for d, graph in ((10, "ER2"), (15, "ER2"), (15, "ER4"), (20, "ER4")):
        yield f"iSCM d = {d}, {graph}, n = 1000", [iscm(d, 1000, graph, seed) for seed in range(repeats)]


def print_misses(repeats: int, effort: float) -> None:
    head = "table", "columns", "missed", "mean gap", "largest gap", "order search, s", "exact, s", "second", "near-ties"
    print(f"\n| {' | '.join(head)} |\n" + "|---" * len(head) + "|")
    for name, tables in cases(repeats):
        gaps, seconds, best = [], np.zeros(2), None
        for seed, X in enumerate(tables):
            moments = Moments.from_array(X)
            times = [time.process_time()]
            start = equal_variance_order(moments)
            found = search_orders(moments, [start], effort=effort, random_state=seed)
            times.append(time.process_time())
            best = find_best_graph(moments)
            times.append(time.process_time())
            gaps.append(found.score - best.score)
            seconds += np.diff(times) / len(tables)
        missed = sum(gap > 1e-5 for gap in gaps)
        near = (np.fmin(best.turned, best.left_out)[best.adjacency] < np.log(moments.n)).mean()
        cells = (
            name,
            X.shape[1],
            f"{missed} of {len(gaps)}",
            f"{abs(np.mean(gaps)):.2f}",
            f"{abs(np.max(gaps)):.2f}",
            f"{seconds[0]:.3f}",
            f"{seconds[1]:.3f}",
            f"+{best.second:.2f}",
            f"{near:.0%}",
        )
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=22)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--effort", type=float, default=1.0)
    args = parser.parse_args()
    versions = f"acyclic {acyclic.__version__}, NumPy {np.__version__}, Python {platform.python_version()}"
    print(f"{versions}, {os.cpu_count()} CPUs")
    print_misses(args.repeats, args.effort)
    print_sizes(args.largest)


if __name__ == "__main__":
    main()

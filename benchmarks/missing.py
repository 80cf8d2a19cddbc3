"""What is found where cells are missing: each way of `missing=` beside all cells, and beside scikit-learn's imputation.

Tables of 15 columns and 600 rows (ER2): lines with strong weights in standard units, cosines, mixed and categorical
columns; 3, 10, 20 and 30 % of the cells missing, whichever they are. Printed for each way: pairs of columns that are
linked and were not found, pairs that were and are not linked, SHD, rows used, processor seconds of reading; means of
the tables with seeds 41000, 41001, …. `drop-rows` is left out where fewer than 30 rows are complete. Of scikit-learn
`IterativeImputer` is used, which takes numbers alone: with its best guesses, and with draws.

    python benchmarks/missing.py [--tables 10] [--worlds linear cos mixed categorical]
"""

import argparse
import time
from collections import defaultdict

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from threadpoolctl import threadpool_limits

import acyclic

FIRST_SEED, COLUMNS, ROWS = 41_000, 15, 600
WORLDS, SHARES = ("linear", "cos", "mixed", "categorical"), (0.03, 0.1, 0.2, 0.3)
FEWEST = 30
PEERS = {"IterativeImputer, best guess": False, "IterativeImputer, draw": True}


def draw(world, seed):
    """A table and its kinds of columns."""
    data = acyclic.simulate(COLUMNS, ROWS, graph="ER2", sem=world, random_state=seed)
    rows = data.X / data.X.std(axis=0) if world == "linear" else data.X
    kinds = {name: "categorical" if levels else "continuous" for name, levels in zip(data.names, data.levels)}
    return data.graph, rows, kinds


def ways(world, holes):
    """Names of the ways that can be tried."""
    if (~np.isnan(holes)).all(axis=1).sum() >= FEWEST:
        yield "drop-rows"
    yield from ("impute", "pairwise", "em", *PEERS) if world in ("linear", "cos") else ("impute",)


def read(way, rows, holes, kinds, seed):
    """The table that a way makes, filled, and how many rows it counts as."""
    if way == "all cells":
        holes, way = rows, "error"
    elif way in PEERS:
        holes, way = IterativeImputer(sample_posterior=PEERS[way], random_state=seed).fit_transform(holes), "error"
    table = acyclic.read_table(holes, names=list(kinds), kinds=kinds, missing=way)
    return table, float(table.moments.n)


def count(true, found):
    """Pairs that were lost and that were added, and SHD."""
    linked, drawn = (graph.adjacency | graph.adjacency.T for graph in (true, found))
    return np.triu(linked & ~drawn).sum(), np.triu(drawn & ~linked).sum(), acyclic.compare(true, found).shd


def run(worlds, tables):
    for world in worlds:
        for share in SHARES:
            rows = defaultdict(list)
            for seed in range(FIRST_SEED, FIRST_SEED + tables):
                true, cells, kinds = draw(world, seed)
                holes = np.where(np.random.default_rng(seed).random(cells.shape) < share, np.nan, cells)
                for way in ("all cells", *ways(world, holes)):
                    started = time.process_time()
                    table, n = read(way, cells, holes, kinds, seed)
                    seconds = time.process_time() - started
                    rows[way].append((*count(true, acyclic.learn(table).graph), n, seconds))
            for way, found in rows.items():
                lost, added, shd, n, seconds = np.mean(found, axis=0)
                part = f" ({len(found)} of {tables} tables)" if len(found) < tables else ""
                said = f"{lost:.1f} | {added:.1f} | {shd:.1f} | {n:.0f} | {seconds:.2f}"
                print(f"| {world} | {100 * share:g} % | {way}{part} | {said} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=WORLDS)
    arguments = parser.parse_args()
    print("| tables | missing | way | lost | added | SHD | rows | s |", "|---|---|---|---|---|---|---|---|", sep="\n")
    with threadpool_limits(1):
        run(arguments.worlds, arguments.tables)


if __name__ == "__main__":
    main()

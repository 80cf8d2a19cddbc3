"""The constraints that adapt, and the balanced one, against fast TMPI and the log-determinant.

Paired over simulated sets (ER2, ER3, ER6; d = 50, 100, 200; n = 200, 1000; weights on ±[0.5, 2], unit Gaussian noise):
`Notears` with l1 = 0.1, threshold 0.3, the published schedule and one thread; only the constraint differs. Seeds are
8600, 8601, … for every setting, so many as `SETS` says, whatever comes out. Rows are appended to a file as they come,
and a second run goes on from them. SHD and processor seconds are compared set by set: the mean difference of SHD, and
the geometric mean of the ratio of seconds, with 95 % intervals of Student's t over the sets.

    python benchmarks/adaptive.py --rows rows.jsonl [--sizes 50 100 200]     compute what is missing, then print
    python benchmarks/adaptive.py --rows rows.jsonl --print                  print only
"""

import argparse
import json
import time
from itertools import product
from pathlib import Path

import numpy as np
import scipy.stats
from threadpoolctl import threadpool_limits

import acyclic

NEW, OLD = ("adaptive", "adaptive-tmpi", "balanced"), ("fast-tmpi", "log-det")
GRAPHS, ROWS = ("ER2", "ER3", "ER6"), (1000, 200)
SETS = {50: 10, 100: 6, 200: 3}
FIRST_SEED, TIME_LIMIT = 8600, 900.0


def cases(sizes):
    """Small sizes first, and for each size all settings of one seed before the next seed."""
    for d in sizes:
        for seed, graph, n in product(range(SETS[d]), GRAPHS, ROWS):
            for name in (*OLD, *NEW):
                yield {"graph": graph, "d": d, "n": n, "seed": FIRST_SEED + seed, "constraint": name}


def compute(case):
    """One fit."""
    data = acyclic.simulate(case["d"], case["n"], graph=case["graph"], random_state=case["seed"])
    model = acyclic.Notears(constraint=case["constraint"], l1=0.1, threshold=0.3, time_limit=TIME_LIMIT)
    started = time.process_time()
    model.fit(data.X)
    seconds = time.process_time() - started
    shd = acyclic.compare(data.graph, model.causal_graph_).shd
    end = model.verdict_.end.kind
    return {**case, "shd": shd, "seconds": seconds, "ended": end.value, "cut": end.stopped}


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(path, sizes):
    """Compute the cases that are not in the file."""
    keys = ("graph", "d", "n", "seed", "constraint")
    done = {tuple(row[key] for key in keys) for row in read(path)}
    for case in cases(sizes):
        if tuple(case.values()) not in done:
            row = compute(case)
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")


def interval(values):
    """Mean and half-width of its 95 % interval."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return values.mean(), np.inf
    return values.mean(), scipy.stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))


def say(mean, half):
    return "equal" if abs(mean) <= half else "better" if mean < 0 else "worse"


def compare(rows, chosen):
    """Lines of a table: each new constraint beside each old one, over the sets that both have."""
    table = {}
    for row in rows:
        table.setdefault((row["graph"], row["d"], row["n"], row["seed"]), {})[row["constraint"]] = row
    sets = {key: found for key, found in table.items() if chosen(key)}
    for new, old in product(NEW, OLD):
        pairs = [(found[new], found[old]) for found in sets.values() if new in found and old in found]
        if len(pairs) < 2:
            continue
        shd = interval([one["shd"] - other["shd"] for one, other in pairs])
        log = interval([np.log(one["seconds"] / other["seconds"]) for one, other in pairs])
        means = [np.mean([pair[at]["shd"] for pair in pairs]) for at in (0, 1)]
        low, middle, high = np.exp([log[0] - log[1], log[0], log[0] + log[1]])
        cut = sum(pair[at]["cut"] for pair in pairs for at in (0, 1))
        yield (
            f"| {new} against {old} | {len(pairs)} | {means[0]:.2f}, {means[1]:.2f} | {shd[0]:+.2f} ± {shd[1]:.2f} "
            f"({say(*shd)}) | {middle:.2f} ({low:.2f} to {high:.2f}; {say(*log)}) | {cut} |"
        )


def show(rows):
    parts = {"All sets": lambda key: True}
    parts |= {f"d = {d}": lambda key, d=d: key[1] == d for d in SETS}
    parts |= {
        f"{graph}, n = {n}": lambda key, g=graph, n=n: key[::2][:2] == (g, n) for graph, n in product(GRAPHS, ROWS)
    }
    for title, chosen in parts.items():
        lines = list(compare(rows, chosen))
        if lines:
            print(f"\n**{title}**\n")
            print("| constraints | sets | SHD, mean of each | difference of SHD | ratio of processor seconds | cut |")
            print("|---|---|---|---|---|---|")
            print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--print", action="store_true", help="print only")
    arguments = parser.parse_args()
    if not arguments.print:
        with threadpool_limits(1):
            run(arguments.rows, arguments.sizes)
    show(read(arguments.rows))


if __name__ == "__main__":
    main()

"""The constraints that adapt, the balanced one and fast TMPI on |W|, against fast TMPI and the log-determinant.

Paired over simulated sets (ER2, ER3, ER6; d = 50, 100, 200; n = 200, 1000; weights on ±[0.5, 2], unit Gaussian noise):
`Notears` with l1 = 0.1, threshold 0.3, the published schedule and one thread; only the constraint differs. Seeds are
9400, 9401, … for every setting, so many as `SETS` says, whatever comes out. Rows are appended to a file as they come,
and a second run goes on from them. SHD and processor seconds are compared set by set: the mean difference of SHD, and
the geometric mean of the ratio of seconds, with 95 % intervals of Student's t over the sets.

    python benchmarks/adaptive.py [--sizes 50 100 200]     compute what is missing, then fill docs/constraints-beyond.md
    python benchmarks/adaptive.py --fill                   fill the page from the rows that are committed
"""

import argparse
import json
import time
from collections import Counter
from itertools import groupby, islice, product
from pathlib import Path

import numpy as np
import scipy.stats
from threadpoolctl import threadpool_limits

import acyclic
from acyclic.graphs.cycles import is_acyclic

OLD = ("fast-tmpi", "log-det")
# Fast TMPI on |W| in the place of W∘W, from zero, and from where a fit on W∘W ended (both fits are timed).
ABSOLUTE = ("absolute", "absolute after squares")
NEW = ("adaptive", "adaptive-tmpi", "balanced", *ABSOLUTE)
GRAPHS, ROWS = ("ER2", "ER3", "ER6"), (1000, 200)
SETS = {50: 12, 100: 2, 200: 1}
FIRST_SEED = 9400
# Sets from here on were first computed after the last change of a constraint that earlier ones had led to.
FRESH_SEED = 9406
DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "constraints-beyond.md"
BEGIN, END = "<!-- made by benchmarks/adaptive.py -->\n", "<!-- end -->\n"


def cases(sizes):
    """Small sizes first, and for each size all settings of one seed before the next seed."""
    for d in sizes:
        for seed, graph, n in product(range(SETS[d]), GRAPHS, ROWS):
            for name in (*OLD, *NEW):
                yield {"graph": graph, "d": d, "n": n, "seed": FIRST_SEED + seed, "constraint": name}


def compute(case):
    """One fit."""
    data = acyclic.simulate(case["d"], case["n"], graph=case["graph"], random_state=case["seed"])
    name, made = case["constraint"], {"l1": 0.1, "threshold": 0.3}
    started = time.process_time()
    if name in ABSOLUTE:
        start = acyclic.Notears(**made).fit(data.X).solution_.weights if name == ABSOLUTE[1] else None
        model = acyclic.Notears(**made, h_of="absolute", start=start).fit(data.X)
    else:
        model = acyclic.Notears(**made, constraint=name).fit(data.X)
    seconds = time.process_time() - started
    shd = acyclic.compare(data.graph, model.causal_graph_).shd
    end = model.verdict_.end.kind
    dag = is_acyclic(model.solution_.weights)
    return {**case, "shd": shd, "seconds": seconds, "ended": end.value, "cut": end.stopped, "dag": dag}


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(path, sizes, most=None):
    """Compute the cases that are not in the file, those of ``most`` sets if that is given."""
    keys = ("graph", "d", "n", "seed", "constraint")
    done = {tuple(row[key] for key in keys) for row in read(path)}
    missing = [case for case in cases(sizes) if tuple(case.values()) not in done]
    for _, group in islice(groupby(missing, key=lambda case: tuple(case.values())[:4]), most):
        for case in group:
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


def paired(rows, new, old):
    """Rows of two constraints, set by set, for the sets that both have."""
    sets = {}
    for row in rows:
        sets.setdefault((row["graph"], row["d"], row["n"], row["seed"]), {})[row["constraint"]] = row
    return ((found[new], found[old]) for found in sets.values() if new in found and old in found)


def differences(pairs):
    """Intervals of the difference of SHD, and of the logarithm of the ratio of seconds."""
    shd = interval([one["shd"] - other["shd"] for one, other in pairs])
    return shd, interval([np.log(one["seconds"] / other["seconds"]) for one, other in pairs])


def compare(rows):
    """Lines of a table: each new constraint beside each old one, over the sets that both have."""
    for new, old in product(NEW, OLD):
        pairs = list(paired(rows, new, old))
        if len(pairs) < 2:
            continue
        shd, log = differences(pairs)
        means = [np.mean([pair[at]["shd"] for pair in pairs]) for at in (0, 1)]
        low, middle, high = np.exp([log[0] - log[1], log[0], log[0] + log[1]])
        cut = sum(pair[at]["cut"] for pair in pairs for at in (0, 1))
        yield (
            f"| {new} against {old} | {len(pairs)} | {means[0]:.2f}, {means[1]:.2f} | {shd[0]:+.2f} ± {shd[1]:.2f} "
            f"({say(*shd)}) | {middle:.2f} ({low:.2f} to {high:.2f}; {say(*log)}) | {cut} |"
        )


def in_short(rows):
    """A sentence for each new constraint, from all sets."""
    for new in NEW:
        said = []
        for old, pairs in ((old, list(paired(rows, new, old))) for old in OLD):
            if len(pairs) > 1:
                shd, log = differences(pairs)
                said.append(
                    f"**{say(*shd)}** than {old} in SHD by {shd[0]:+.1f} ± {shd[1]:.1f}".replace(
                        "**equal** than", "**equal** to"
                    )
                    + f" at {np.exp(log[0]):.2f} of its processor seconds ({len(pairs)} sets)"
                )
        own = [row["dag"] for row in rows if row["constraint"] == new and "dag" in row]
        dag = f"; weights acyclic before any threshold in {sum(own)} of {len(own)}" if any(own) else ""
        if said:
            yield f"- `{new}`: {', '.join(said)}{dag}."


def show(rows):
    """The part of the page that is made of the rows."""
    lines, seeds = [], sorted({row["seed"] for row in rows})
    sets = Counter(d for _, d, _, _ in {(row["graph"], row["d"], row["n"], row["seed"]) for row in rows})
    counted = ", ".join(f"{count} of {d} nodes" for d, count in sorted(sets.items()))
    lines += [
        f"{sum(sets.values())} sets ({counted}), seeds {seeds[0]} to {seeds[-1]}. Over all sets:",
        "",
        *in_short(rows),
    ]
    parts = {"All sets": lambda row: True, f"Seeds from {FRESH_SEED} on": lambda row: row["seed"] >= FRESH_SEED}
    parts |= {f"d = {d}": lambda row, d=d: row["d"] == d for d in SETS}
    for graph, n in product(GRAPHS, ROWS):
        parts[f"{graph}, n = {n}"] = lambda row, graph=graph, n=n: (row["graph"], row["n"]) == (graph, n)
    for title, chosen in parts.items():
        table = list(compare([row for row in rows if chosen(row)]))
        if table:
            lines += ["", f"**{title}**", ""]
            lines += [
                "| constraints | sets | SHD, mean of each | difference of SHD | ratio of processor seconds | cut |"
            ]
            lines += ["|---|---|---|---|---|---|", *table]
    return "\n".join(lines) + "\n"


def fill(page, rows):
    """The page with its part made again."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + show(rows) + END + rest.split(END, 1)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, default=DOCS / "reproduction" / "constraints.jsonl")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--most", type=int, help="sets to compute, all by default")
    parser.add_argument("--fill", action="store_true", help="compute nothing")
    arguments = parser.parse_args()
    if not arguments.fill:
        with threadpool_limits(1):
            run(arguments.rows, arguments.sizes, arguments.most)
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), read(arguments.rows)), encoding="utf-8")


if __name__ == "__main__":
    main()

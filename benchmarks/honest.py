"""Honest tables: data whose units tell nothing, real tables, peers in environments of their own, losses printed too.

    python benchmarks/honest.py TABLE ... [--seeds 10] [--timeout 120] [--peers build/peers] [--methods NAME ...]
    python benchmarks/honest.py --flop-grid [--nodes 20 30] [--option effort=2] [--option time_limit=flop100]
    python benchmarks/honest.py --check [--methods NAME ...]
    python benchmarks/honest.py --list

Each fit is a process on one core; processor seconds are those of the process and its children, after imports and a fit
to a small table. Every method that takes a price of an edge gets the one of the extended BIC, ln n + 2 ln d for each
parent (units of −2 log-likelihood); dagma, gcastle and SortnRegress have rules of their own. Rows go into a file
(--rows) as they are made, and what is in there is not computed again: a run can be ended and taken up at any time. Rows
of acyclic are computed again when its sources have changed. Each run writes its table into docs/benchmarks.md.

A method that needs more than a minute for a fit gets three seeds instead of all; one that exceeds the time-out is not
tried again in this cell, nor in larger ones of the same world.
"""

import argparse
import json
import os
import platform
import shlex
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from honest_data import BUNDLED, OF_PGMPY, Cell, draw, network, random_world, raw_world, real
from honest_fits import HERE, PLAN, Method, Peers, check, digest_of_sources, measure

from acyclic.data.moments import Moments
from acyclic.graphs.metrics import r2_sortability, varsortability
from acyclic.scores.local import gaussian_bic

LONG, FEW_SEEDS = 60.0, 3
BASELINES = ["empty graph", "SortnRegress", "R²-SortnRegress"]
OURS = ["learn", "OrderSearch, plain BIC"]
FLOP = ["FLOP, 20 restarts", "FLOP, 100 restarts", "FLOP, 500 restarts"]
OTHERS = [
    "andrey BOSS", "tetrad-port BOSS", "tetrad-port FGES", "causal-learn BOSS", "causal-learn GES", "ges",
    "XGES (Python)", "dagma",
]  # fmt: skip
ALL = [*OURS, *FLOP, *OTHERS, *BASELINES]
CLASSIC = [
    "learn", "EqualVariance", "OrderSearch, plain BIC", "Notears", "Golem", "NoCurl", "Ges", "Mmhc", *FLOP[:1], *OTHERS,
    "gcastle NOTEARS", "gcastle GOLEM", *BASELINES,
]  # fmt: skip
SACHS = Cell("Sachs (853 rows, log) and its 17 edges", "sachs", 11, 0)
TABLES = {
    "dao": ([random_world("DaO", "ER", d, k, 1000) for d in (20, 50, 100) for k in (4, 8)], ALL),
    "iscm": ([random_world("iSCM", "ER", d, k, 1000) for d in (20, 50) for k in (4, 8)], ALL),
    "standardised": (
        [
            *[random_world("standardised", "ER", d, k, 1000) for d in (50, 100) for k in (4, 8, 16)],
            *[random_world("standardised, weights U(0, 1)", "ER", d, k, 1000) for d in (50, 100) for k in (4, 8)],
        ],
        ALL,
    ),
    "networks": (
        [
            *[network(name, None, n=n) for name in BUNDLED for n in (1000, 10_000)],
            *[network(name, world) for name in BUNDLED | OF_PGMPY for world in ("DaO", "iSCM")],
        ],
        ALL,
    ),
    "real": (
        [
            real("linnerud", 6), real("Sachs", 11), real("diabetes", 11), real("wine", 13), real("breast cancer", 30),
            real("digits", 30),
        ],
        ALL,
    ),
    "raw": ([raw_world(10, 4), raw_world(50, 4), SACHS], CLASSIC),
}  # fmt: skip
GRID = [
    random_world(world, family, d, degree, n)
    for d in (20, 30, 50, 100)
    for world in ("standardised", "iSCM", "DaO")
    for family in ("ER", "SF")
    for degree in (2, 4, 8, 16)
    for n in (500, 1000)
]


class Rows:
    """What was measured, one line of JSON for each fit; a line that was cut off by a power cut is passed over."""

    def __init__(self, path):
        self.path, self.known = Path(path), {}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            text = self.path.read_text()
            if not text.endswith("\n"):
                self.write("")
            for line in text.splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                self.known[tuple(row["key"])] = row

    def get(self, cell, seed, method):
        return self.known.get((cell.name, seed, method.name, method.made_by))

    def add(self, cell, seed, method, values):
        row = {"key": (cell.name, seed, method.name, method.made_by), **values}
        self.known[tuple(row["key"])] = row
        self.write(json.dumps(row))
        return row

    def best(self, cell, seed=None):
        """The least score of this table that any method, option or version ever reached; of all orders without seed."""
        return min(
            (
                row["score"]
                for (name, of_seed, *_), row in self.known.items()
                if name == cell.name and seed in (None, of_seed) and "score" in row
            ),
            default=np.inf,
        )

    def write(self, line):
        with self.path.open("a") as file:
            file.write(line + "\n")


class Bench:
    """Fits that are not in the rows yet."""

    def __init__(self, rows, peers, timeout):
        self.rows, self.peers, self.timeout, self.drawn = rows, peers, timeout, {}

    def data(self, cell, seed):
        if (cell.name, seed) not in self.drawn:
            self.drawn = {(cell.name, seed): draw(cell, seed, self.networks(cell))}
        return self.drawn[cell.name, seed]

    def networks(self, cell):
        return self.peers.networks() if set(cell.kind.split(":")) & set(OF_PGMPY) else None

    def row(self, cell, seed, method):
        known = self.rows.get(cell, seed, method)
        # What failed is tried again, also what was given less time.
        if known is not None and ("error" not in known or known.get("timeout", 0) >= self.timeout):
            return known
        truth, X, columns = self.data(cell, seed)
        answer = self.peers.fit(method, X, self.timeout)
        values = answer if "error" in answer else measure(answer, truth, X, columns)
        row = self.rows.add(cell, seed, method, values)
        print(f"{cell.name} seed {seed} | {method.name} | {say(values)}", flush=True)
        return row

    def fill(self, cells, methods, seeds):
        """All rows of a table as {cell name: {method name: [row, …]}}; a method that is too slow has fewer."""
        table = {cell.name: {method.name: [] for method in methods} for cell in cells}
        too_large = defaultdict(list)
        for cell in cells:
            for seed in seeds:
                for method in methods:
                    rows = table[cell.name][method.name]
                    sizes = too_large[method.name, cell.world]
                    if is_too_much(rows, cell, sizes):
                        continue
                    rows.append(self.row(cell, seed, method))
                    if "timeout" in rows[-1]:
                        sizes.append((cell.nodes, cell.degree))
        return table


def is_too_much(rows, cell, too_large):
    if any(cell.nodes >= d and cell.degree >= degree for d, degree in too_large):
        return True
    return len(rows) >= FEW_SEEDS and any(row.get("cpu", 0) > LONG for row in rows)


def say(values):
    shown = ("score", "shd_cpdag", "edges", "cpu", "error", "problem")
    parts = [f"{key} {values[key]:.6g}" if isinstance(values[key], float) else f"{key} {values[key]}"
             for key in shown if key in values]  # fmt: skip
    return ", ".join(parts)


def not_worse(ours, theirs):
    """Scores are sums of about 1e5; what is below the tenth digit is rounding."""
    return ours <= theirs + 1e-9 * max(abs(theirs), 1e3)


# ---- FLOP at equal processor time ----


def flop_grid(bench, cells, seeds, options):
    """Fill the grid and print how often learn() is not worse than FLOP, by score, and what both take."""
    rivals = [Method(name) for name in FLOP[:2]]
    pairs, silent = defaultdict(list), []
    for cell in cells:
        for seed in seeds:
            theirs = {method.name: bench.row(cell, seed, method) for method in rivals}
            ours = bench.row(cell, seed, our_method(options, theirs))
            if "cpu" in ours:
                theirs["FLOP, in our time"] = bench.row(cell, seed, flop_in(ours, theirs[FLOP[1]]))
            for name, row in theirs.items():
                if "score" in ours and "score" in row:
                    pairs[name].append((cell, seed, ours, row))
            failed = {"learn": ours, **theirs}
            silent += [f"{name} on {cell.name}, seed {seed}" for name, row in failed.items() if "score" not in row]
    told = "No answer within the time-out: " + ("; ".join(silent) or "none") + "."
    return "\n\n".join([*(grid_text(name, found) for name, found in pairs.items()), told])


def our_method(options, theirs):
    """learn() with options; the value flop20 or flop100 is what FLOP took on this table."""
    taken = {"flop20": theirs[FLOP[0]].get("cpu"), "flop100": theirs[FLOP[1]].get("cpu")}
    given = {name: taken.get(value, value) if isinstance(value, str) else value for name, value in options.items()}
    method = Method("learn", **given)
    method.name = "learn" + "".join(f", {key}={value}" for key, value in options.items())
    return method


def flop_in(ours, measured):
    """FLOP with as many restarts as fit into our processor time; its own limit is by the wall. The row is tied to ours.

    The first descent counts as a restart.
    """
    count = 101 * ours["cpu"] / max(measured["cpu"], 1e-6) - 1 if "cpu" in measured else 0
    method = Method("FLOP, 100 restarts")
    method.options["restarts"] = max(0, round(count))
    method.name, method.made_by = f"FLOP, in the time of {ours['key'][2]}", f"{method.made_by} for {ours['key'][3]}"
    return method


def grid_text(name, pairs):
    """One line for each kind of world and size, and for all."""
    lines = [
        f"Against {name} ({len(pairs)} tables):\n",
        "| tables | not worse | better | worse | mean BIC, ours − theirs | worst | processor time, ours / theirs "
        "| exact classes, ours / theirs |",
        "|---|---|---|---|---|---|---|---|",
    ]
    groups = defaultdict(list)
    for pair in pairs:
        cell = pair[0]
        groups["all"].append(pair)
        groups[f"{cell.name.split()[0]}, d = {cell.nodes}"].append(pair)
        groups[f"mean degree {cell.degree}"].append(pair)
    for group, members in sorted(groups.items(), key=lambda item: item[0] == "all"):
        lines.append(f"| {group} | {' | '.join(grid_cells(members))} |")
    lost = [
        f"{cell.name}, seed {seed} (+{ours['score'] - theirs['score']:.1f})"
        for cell, seed, ours, theirs in pairs
        if not not_worse(ours["score"], theirs["score"])
    ]
    return "\n".join([*lines, "\nWorse on: " + ("; ".join(lost) or "none") + "."])


def grid_cells(members):
    gaps = np.array([ours["score"] - theirs["score"] for _, _, ours, theirs in members])
    fine = np.array([not_worse(ours["score"], theirs["score"]) for _, _, ours, theirs in members])
    worse_there = np.array([not_worse(theirs["score"], ours["score"]) for _, _, ours, theirs in members])
    ratio = sum(ours["cpu"] for _, _, ours, _ in members) / sum(theirs["cpu"] for *_, theirs in members)
    exact = [np.mean([row[place]["exact"] for row in members]) for place in (2, 3)]
    return [
        f"{fine.mean():.1%} of {len(members)}", f"{(~worse_there).mean():.1%}", f"{(~fine).mean():.1%}",
        f"{gaps.mean():+.2f}", f"{gaps.max():+.1f}", f"{ratio:.2f}", f"{exact[0]:.0%} / {exact[1]:.0%}",
    ]  # fmt: skip


# ---- tables ----


def mean(values, form="{:.2f}"):
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    error = f" ± {form.format(np.std(known, ddof=1) / np.sqrt(len(known)))}" if len(known) > 2 else ""
    return form.format(np.mean(known)) + error


def truth_text(bench, cell, seeds, by_method):
    """One cell with a known graph."""
    best = {seed: bench.rows.best(cell, seed) for seed in seeds}
    lines = [
        f"### {cell.name}\n",
        sortability(bench, cell, seeds) + "\n",
        "| method | SHD of CPDAGs | SHD | precision | recall | AID | BIC above the best | at the best | exact classes "
        "| processor s | peak MB |",
        "|" + "---|" * 11,
    ]
    for name, rows in by_method.items():
        done = [row for row in rows if "cpu" in row]
        if not done:
            lines.append(f"| {name} | {failure(rows)} |" + " – |" * 9)
            continue
        gaps = [row["score"] - best[seed_of(row)] for row in done if "score" in row]
        at_best = sum("score" in row and not_worse(row["score"], best[seed_of(row)]) for row in done)
        distances = [mean([row.get(key) for row in done], "{:.1f}") for key in ("shd_cpdag", "shd")]
        rates = [mean([row.get(key) for row in done], "{:.3f}") for key in ("precision", "recall", "aid")]
        lines.append(
            f"| {name}{short(done, seeds)} | {' | '.join([*distances, *rates])} | {mean(gaps, '{:.1f}')} "
            f"| {at_best} of {len(done)} | {sum(row.get('exact', False) for row in done)} of {len(done)} "
            f"| {np.mean([row['cpu'] for row in done]):.3g} | {np.max([row['megabytes'] for row in done]):.0f} |"
        )
    return "\n".join([*lines, ""])


def real_text(bench, cell, seeds, by_method):
    """One real table: the same columns in other orders and units."""
    best = bench.rows.best(cell)
    n, d = bench.data(cell, 0)[1].shape
    lines = [
        f"### {cell.name}\n",
        f"{n} rows, {d} columns; best extended BIC known here {best:.1f} (the empty graph has 0).\n",
        "| method | column orders × units | classes | in the most frequent | at the best | BIC above it, mean | worst "
        "| processor s |",
        "|" + "---|" * 8,
    ]
    for name, rows in by_method.items():
        done = [row for row in rows if "score" in row]
        if not done:
            lines.append(f"| {name} | {failure(rows)} |" + " – |" * 6)
            continue
        gaps, classes = [row["score"] - best for row in done], Counter(row["class"] for row in done)
        lines.append(
            f"| {name} | {len(done)} | {len(classes)} | {max(classes.values())} "
            f"| {sum(not_worse(row['score'], best) for row in done)} | {np.mean(gaps):.2f} | {np.max(gaps):.2f} "
            f"| {np.mean([row['cpu'] for row in done]):.3g} |"
        )
    return "\n".join([*lines, ""])


def seed_of(row):
    return row["key"][1]


def failure(rows):
    return rows[0].get("error", "failed") if rows else "not tried: too slow at a smaller size"


def short(done, seeds):
    return "" if len(done) == len(seeds) else f" ({len(done)} of {len(seeds)} seeds)"


def sortability(bench, cell, seeds):
    """What the data give away, and the price of the true graph, over at most three seeds."""
    values = []
    for seed in list(seeds)[:FEW_SEEDS]:
        truth, X, _ = bench.data(cell, seed)
        covariance = np.cov(X, rowvar=False, ddof=0)
        score = gaussian_bic(Moments.from_array(X), truth.adjacency, "ebic")
        values.append((varsortability(truth, covariance), r2_sortability(truth, covariance), score, truth.n_edges))
    by_variance, by_r2, score, edges = np.mean(values, axis=0)
    return (
        f"Varsortability {by_variance:.2f}, R²-sortability {by_r2:.2f}; {edges:.0f} true edges, whose extended BIC is "
        f"{score:.1f} (means over {len(values)} seeds)."
    )


def machine():
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{cpu}, {os.cpu_count()} cores, one thread for each fit"


def versions():
    pinned = [package for packages in PLAN["environments"].values() for package in packages]
    return ", ".join([digest_of_sources(), f"NumPy {np.__version__}", *dict.fromkeys(pinned)])


def write_section(path, name, text):
    """Replace the section of a table between its marks, or append it."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    page = path.read_text() if path.exists() else "# Benchmarks\n"
    section = f"{begin}\n{text.rstrip()}\n{end}\n"
    if begin in page:
        before, rest = page.split(begin, 1)
        page = before + section + rest.split(end + "\n", 1)[1]
    else:
        page = page.rstrip("\n") + "\n\n" + section
    path.write_text(page)


def describe(started, seeds):
    command = shlex.join(["python", "benchmarks/honest.py", *sys.argv[1:]])
    named = f"{min(seeds)} to {max(seeds)}"
    taken = f"this run {(time.monotonic() - started) / 60:.0f} minutes"
    return f"`{command}`: seeds {named}; {machine()}; Python {platform.python_version()}, {versions()}; {taken}.\n"


# ---- the command ----


def option(text):
    name, found, value = text.partition("=")
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no option; give NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], help=f"of {', '.join(TABLES)}")
    parser.add_argument("--flop-grid", action="store_true", help="FLOP against learn() over a grid of worlds")
    parser.add_argument("--check", action="store_true", help="see whether the methods pay the price they are given")
    parser.add_argument("--list", action="store_true", help="name the tables, cells and methods")
    parser.add_argument("--seeds", type=int, help="how many (10; 3 for the grid)")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--nodes", type=int, nargs="+", help="only cells of these sizes")
    parser.add_argument("--cells", nargs="+", default=[""], help="only cells whose name contains one of these texts")
    parser.add_argument("--methods", nargs="+", help="only these methods")
    parser.add_argument("--option", type=option, action="append", default=[], help="NAME=VALUE for learn()")
    parser.add_argument("--timeout", type=float, default=120.0, help="processor seconds for each fit")
    parser.add_argument("--peers", type=Path, default=HERE.parent / "build" / "peers", help="folder of environments")
    parser.add_argument("--rows", type=Path, default=HERE.parent / "build" / "honest.jsonl")
    parser.add_argument("--page", type=Path, default=HERE.parent / "docs" / "benchmarks.md")
    parser.add_argument("--dry", action="store_true", help="print the tables and leave the page alone")
    return parser.parse_args()


def chosen_cells(cells, chosen):
    return [
        cell
        for cell in cells
        if (not chosen.nodes or cell.nodes in chosen.nodes) and any(text in cell.name for text in chosen.cells)
    ]


def make_table(bench, name, chosen, seeds):
    cells, names = TABLES[name]
    cells = chosen_cells(cells, chosen)
    options = dict(chosen.option)
    methods = [
        Method(method, **(options if method == "learn" else {}))
        for method in names
        if not chosen.methods or method in chosen.methods
    ]
    table = bench.fill(cells, methods, seeds)
    text = truth_text if name != "real" else real_text
    return "\n".join(text(bench, cell, seeds, table[cell.name]) for cell in cells)


def main():
    chosen, started = parse(), time.monotonic()
    if chosen.list:
        for name, (cells, methods) in TABLES.items():
            print(f"{name}: {'; '.join(cell.name for cell in cells)}\n  by {', '.join(methods)}")
        print(f"--flop-grid: {len(GRID)} cells")
        return
    bench = Bench(Rows(chosen.rows), Peers(chosen.peers.resolve()), chosen.timeout)
    if chosen.check:
        for name in chosen.methods or PLAN["methods"]:
            print(f"{name}: {check(bench.peers, Method(name), chosen.timeout)}", flush=True)
    if chosen.flop_grid:
        seeds = range(chosen.first_seed, chosen.first_seed + (chosen.seeds or 3))
        publish(
            "flop-grid",
            flop_grid(bench, chosen_cells(GRID, chosen), seeds, dict(chosen.option)),
            chosen,
            started,
            seeds,
        )
    for name in chosen.tables:
        seeds = range(chosen.first_seed, chosen.first_seed + (chosen.seeds or 10))
        publish(name, make_table(bench, name, chosen, seeds), chosen, started, seeds)


def publish(name, text, chosen, started, seeds):
    text = f"## {name}\n\n{describe(started, seeds)}\n{text}"
    print(text)
    if not chosen.dry:
        write_section(chosen.page, name, text)


if __name__ == "__main__":
    main()

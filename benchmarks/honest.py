"""Honest tables: data whose units tell nothing, real tables, peers in environments of their own, losses printed too.

    python benchmarks/honest.py [TABLE ...] [--seeds 10] [--timeout 120] [--long 60] [--minutes M] [--methods NAME ...]
    python benchmarks/honest.py [TABLE ...] --page
    python benchmarks/honest.py --check [--methods NAME ...]
    python benchmarks/honest.py --list

Without a name all tables are run. Each fit has one core; processor seconds are those of the process and its children,
after imports and a fit to a small table. Every method that takes a price of an edge gets the one of the extended BIC,
ln n + 2 ln d for each parent (units of −2 log-likelihood); dagma, gcastle and SortnRegress have rules of their own.

Rows go into a journal (--rows) as they are made, and at the end of a run into docs/benchmarks.parquet; what is in
either is not computed again: a run can be ended and taken up at any time. Rows of acyclic are computed again when its
sources have changed. `--page` computes nothing: it writes the tables into docs/benchmarks.md, of rows alone.

Seeds are taken in rounds, so that every table has rows of every method early; with --minutes, processor minutes of all
fits together, a run ends between two of them. A method that needs more than --long seconds for a fit gets three seeds
instead of all; one that exceeds the time-out is not tried again in this cell, nor in larger ones of the same world.
"""

import argparse
import json
import os
import platform
from pathlib import Path

import numpy as np
from honest_data import BUNDLED, Cell, network, random_world, raw_world, real
from honest_fits import HERE, PLAN, Method, Peers, check
from honest_rows import Bench, Rows
from honest_text import makers, table_text

DOCS = HERE.parent / "docs"
BASELINES = ["empty graph", "SortnRegress", "R²-SortnRegress"]
OURS = ["learn", "OrderSearch, adaptive price", "OrderSearch, plain BIC"]
FLOP = ["FLOP, 20 restarts", "FLOP, 100 restarts", "FLOP, 500 restarts"]
OTHERS = [
    "andrey BOSS", "tetrad-port BOSS", "tetrad-port FGES", "causal-learn BOSS", "causal-learn GES", "ges",
    "XGES (Python)", "dagma",
]  # fmt: skip
ALL = [*OURS, *FLOP[:2], *OTHERS, *BASELINES]
CLASSIC = [
    "learn", "EqualVariance", "OrderSearch, plain BIC", "Notears", "Golem", "NoCurl", "Ges", "Mmhc", *FLOP[:1], *OTHERS,
    "gcastle NOTEARS", "gcastle GOLEM", *BASELINES,
]  # fmt: skip
SACHS = Cell("Sachs (853 rows, log) and its 17 edges", "sachs", 11, 0)
TABLES = {
    "dao": ([random_world("DaO", "ER", d, k, 1000) for d, k in ((20, 4), (20, 8), (50, 4), (50, 8), (100, 4))], ALL),
    "iscm": ([random_world("iSCM", "ER", d, k, 1000) for d in (20, 50) for k in (4, 8)], ALL),
    "standardised": (
        [
            *[random_world("standardised", "ER", d, k, 1000) for d, k in ((50, 4), (50, 8), (50, 16), (100, 4))],
            *[random_world("standardised, weights U(0, 1)", "ER", 50, k, 1000) for k in (4, 8)],
        ],
        ALL,
    ),
    "networks": (
        [
            *[network(name, None) for name in BUNDLED],
            network("ecoli70", None, n=10_000),
            *[network(name, world) for world in ("DaO", "iSCM") for name in ("insurance", "alarm", "ecoli70")],
        ],
        ALL,
    ),
    "real": (
        [
            real("linnerud", 6), real("Sachs", 11), real("diabetes", 11), real("wine", 13), real("breast cancer", 30),
            real("digits", 30),
        ],
        ["learn", "OrderSearch", *FLOP, *OTHERS, *BASELINES],
    ),
    "raw": ([raw_world(10, 4), SACHS, raw_world(50, 4)], CLASSIC),
}  # fmt: skip
TITLES = {
    "dao": "DaO: many small effects",
    "iscm": "iSCM: neither variances nor R² grow along the order",
    "standardised": "Standardised models",
    "networks": "Published networks",
    "real": "Real tables",
    "raw": "Raw units, and Sachs",
}

# ---- the page ----


def machine():
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{cpu}, {os.cpu_count()} cores, one thread for each fit"


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


def describe(name, seeds, made_by):
    return (
        f"`python benchmarks/honest.py {name}`: seeds {min(seeds)} to {max(seeds)}; "
        f"{machine()}; Python {platform.python_version()}, NumPy {np.__version__}, {', '.join(made_by)}."
    )


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
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], help=f"of {', '.join(TABLES)}; all if none")
    parser.add_argument("--page", action="store_true", help="compute nothing: write the tables of the rows there are")
    parser.add_argument("--check", action="store_true", help="see whether the methods pay the price they are given")
    parser.add_argument("--list", action="store_true", help="name the tables, cells and methods")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--nodes", type=int, nargs="+", help="only cells of these sizes")
    parser.add_argument("--cells", nargs="+", default=[""], help="only cells whose name contains one of these texts")
    parser.add_argument("--methods", nargs="+", help="only these methods")
    parser.add_argument("--option", type=option, action="append", default=[], help="NAME=VALUE for learn()")
    parser.add_argument("--timeout", type=float, default=120.0, help="processor seconds for each fit")
    parser.add_argument("--long", type=float, default=60.0, help="seconds from which on a method gets three seeds")
    parser.add_argument("--minutes", type=float, default=np.inf, help="processor minutes for all fits of this run")
    parser.add_argument("--peers", type=Path, default=HERE.parent / "build" / "peers", help="folder of environments")
    parser.add_argument("--rows", type=Path, default=HERE.parent / "build" / "honest.jsonl", help="the journal")
    return parser.parse_args()


def chosen_cells(cells, chosen):
    return [
        cell
        for cell in cells
        if (not chosen.nodes or cell.nodes in chosen.nodes) and any(text in cell.name for text in chosen.cells)
    ]


def run_tables(bench, names, chosen, seeds):
    """Fill the tables round by round."""
    options = dict(chosen.option)
    wanted = [
        (
            chosen_cells(TABLES[name][0], chosen),
            [
                Method(method, **(options if method == "learn" else {}))
                for method in TABLES[name][1]
                if not chosen.methods or method in chosen.methods
            ],
        )
        for name in names
    ]
    bench.fill(wanted, seeds)
    bench.rows.publish()


def write_tables(rows, names, chosen, seeds):
    """The tables of the rows there are, into the page."""
    for name in names:
        cells, methods = TABLES[name]
        cells = chosen_cells(cells, chosen)
        made_by = makers(rows, cells, methods)
        publish(name, f"{bounds(rows, cells, methods)}\n\n{table_text(rows, cells, methods, seeds)}", seeds, made_by)


def bounds(rows, cells, methods):
    """The limits that fits had, from the rows of those that exceeded them."""
    names = {cell.name for cell in cells}
    late = {
        row["timeout"] for key, row in rows.newest.items() if key[0] in names and key[2] in methods and "timeout" in row
    }
    if not late:
        return "No fit was ended for its time."
    said = " or ".join(f"{seconds:g}" for seconds in sorted(late))
    return f"Fits of more than {said} processor seconds were ended, and larger tables of that world not tried."


def main():
    chosen = parse()
    if chosen.list:
        for name, (cells, methods) in TABLES.items():
            print(f"{name}: {'; '.join(cell.name for cell in cells)}\n  by {', '.join(methods)}")
        return
    rows, names = Rows(chosen.rows, DOCS / "benchmarks.parquet"), chosen.tables or list(TABLES)
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    if chosen.page:
        write_tables(rows, names, chosen, seeds)
        return
    bench = Bench(rows, Peers(chosen.peers.resolve()), chosen.timeout, long=chosen.long, minutes=chosen.minutes)
    if chosen.check:
        for name in chosen.methods or PLAN["methods"]:
            print(f"{name}: {check(bench.peers, Method(name), chosen.timeout)}", flush=True)
    else:
        run_tables(bench, names, chosen, seeds)


def publish(name, text, seeds, made_by):
    text = f"## {TITLES[name]}\n\n{describe(name, seeds, made_by)}\n\n{text}"
    print(text)
    write_section(DOCS / "benchmarks.md", name, text)


if __name__ == "__main__":
    main()

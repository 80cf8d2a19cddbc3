"""Whether directions that are called decided are right: of the edges that a class compels, how many point wrong.

Simulated tables of all honest schemes, one random world for each seed. *Broad*: 10 to 60 columns, 200 to 5000 rows, ER
and scale-free graphs of mean degree 2 to 8, or the edges of a published network. *Small*: 10 to 16 columns, so that
ER4 is nearly complete, or 30, and 200 to 3000 rows. Counted are compelled edges; those ahead by more than log n, and
by more than log n + 2 log d; and those that the verdict calls decided, by `acyclic.judging.deciding`. The margin is how
much worse the best graph with the edge turned is. Wrong is an edge whose reverse is in the true graph.

*Units*: 3 to 10 columns and 20 to 1000 rows, all noise variances 1, and then each column in a unit of its own, exp(s z)
with z standard normal and s 0, ½ or 1. Where `learn()` takes variances for equal, counted are all of its edges, and
those that it calls decided: with s > 0 they are equal by chance.

    python benchmarks/margins.py [--worlds broad small units] [--tables 200] [--first-seed 1000] [--rows FILE]
"""

import argparse
import json
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np

import acyclic
from acyclic.facts import Orientation
from acyclic.graphs.equivalence import find_cpdag

SCHEMES, NETWORKS = ("standardized", "dao", "iscm"), ("magic-niab", "ecoli70")
RULES = ("compelled", "beyond log n", "beyond log n + 2 log d", "decided")
RULES_OF_UNITS = ("taken for equal", "all edges", "decided")
SPREADS = (0.0, 0.5, 1.0)


def draw_world(worlds: str, seed: int) -> tuple[dict, str, int]:
    """Arguments of `simulate`, what kind of graph it is, and rows."""
    rng = np.random.default_rng(seed)
    scheme = str(rng.choice(SCHEMES))
    if worlds == "small":
        d, kind, n = int(rng.choice([10, 12, 16, 30])), f"ER{rng.integers(1, 5)}", int(rng.choice([200, 1000, 3000]))
        return {"n_nodes": d, "graph": kind, "scheme": scheme}, kind, n
    n = int(rng.choice([200, 500, 1000, 2000, 5000]))
    kind = str(rng.choice(["ER1", "ER2", "ER3", "ER4", "SF1-distinct", "SF2-distinct", "SF3-distinct", "network"]))
    if kind == "network":
        return {"graph": acyclic.load_network(str(rng.choice(NETWORKS))).graph, "scheme": scheme}, kind, n
    d = int(rng.choice([10, 15, 20, 30, 40, 60]))
    return {"n_nodes": d, "graph": kind, "scheme": scheme}, kind, n


def count_wrong(worlds: str, seed: int) -> dict:
    """Wrong and all edges by each rule."""
    world, kind, n = draw_world(worlds, seed)
    data = acyclic.simulate(n=n, random_state=seed, **world)
    started = time.process_time()
    model = acyclic.OrderSearch().fit(data.X)
    spent, d = time.process_time() - started, data.graph.n_nodes
    compelled, turned = find_cpdag(model.causal_graph_.adjacency).directed, model.rivals_.turned
    decided = np.zeros_like(compelled)
    place = {name: k for k, name in enumerate(model.causal_graph_.names)}
    for (source, target), kind_of_edge in model.verdict_.support.items():
        decided[place[source], place[target]] = kind_of_edge.is_decided
    chosen = (compelled, compelled & (turned > np.log(n)), compelled & (turned > np.log(n) + 2 * np.log(d)), decided)
    counts = [[int((edges & data.graph.adjacency.T).sum()), int(edges.sum())] for edges in chosen]
    return {"seed": seed, "scheme": world["scheme"], "graph": kind, "rows": n, "counts": counts, "cpu": spent}


def count_by_units(seed: int) -> dict:
    """Whether variances are taken for equal, and wrong and all edges that are directed by them then."""
    rng = np.random.default_rng(seed)
    d, n, spread = int(rng.choice([3, 4, 6, 10])), int(rng.choice([20, 50, 200, 1000])), float(rng.choice(SPREADS))
    data = acyclic.simulate(n_nodes=d, n=n, graph="ER1" if d < 6 else "ER2", random_state=seed)
    started = time.process_time()
    result = acyclic.learn(data.X * np.exp(spread * rng.normal(size=d)))
    spent = time.process_time() - started
    equal = result.verdict.orientation is Orientation.EQUAL_VARIANCES
    found = [edge[:2] for edge in result.graph.edges()] if equal else []
    place, reverse = {name: k for k, name in enumerate(result.graph.names)}, data.graph.adjacency.T
    counts = [
        [sum(bool(reverse[place[a], place[b]]) for a, b in edges), len(edges)]
        for edges in (found, [edge for edge in found if edge not in result.undecided])
    ]
    return {"seed": seed, "spread": spread, "rows": n, "counts": [[int(equal), 1], *counts], "cpu": spent}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="+", choices=("broad", "small", "units"), default=["broad", "small"])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument(
        "--rows", type=Path, default=Path("build/margins.jsonl"), help="what is in it is not done again"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    known = {}
    if options.rows.exists():
        known = {(row["worlds"], row["seed"]): row for row in map(json.loads, options.rows.read_text().splitlines())}
    for worlds in options.worlds:
        for seed in range(options.first_seed, options.first_seed + options.tables):
            if (worlds, seed) not in known:
                counted = count_by_units(seed) if worlds == "units" else count_wrong(worlds, seed)
                known[worlds, seed] = {"worlds": worlds, **counted}
                with options.rows.open("a") as file:
                    file.write(json.dumps(known[worlds, seed]) + "\n")
        seeds = range(options.first_seed, options.first_seed + options.tables)
        print(say(worlds, [known[worlds, seed] for seed in seeds]), flush=True)


def say(worlds: str, rows: list[dict]) -> str:
    """Wrong of all by each rule, for all tables and for parts of them."""
    rules = RULES_OF_UNITS if worlds == "units" else RULES
    counts = defaultdict(lambda: np.zeros((len(rules), 2), dtype=int))
    for row in rows:
        for key in parts_of_units(row) if worlds == "units" else parts(row):
            counts[key] += row["counts"]
    lines = [f"| {worlds}, {len(rows)} tables | {' | '.join(rules)} |", "|" + "---|" * (len(rules) + 1)]
    for key in sorted(counts, key=lambda key: (key != "all", key[0].isdigit(), key)):
        lines.append(f"| {key} | {' | '.join(f'{w} of {a} ({w / max(a, 1):.1%})' for w, a in counts[key])} |")
    return "\n".join([*lines, f"\n{sum(row['cpu'] for row in rows):.0f} processor seconds\n"])


def parts(row: dict) -> tuple[str, ...]:
    sparse = "degree 2 to 4" if row["graph"][2:3] in "12" and row["graph"] != "network" else "denser"
    return "all", row["scheme"], f"{row['rows']} rows", row["graph"] if row["graph"] == "network" else sparse


def parts_of_units(row: dict) -> tuple[str, ...]:
    units = f"s = {row['spread']:g}"
    return units, f"{units}, {'200 and 1000' if row['rows'] > 50 else '20 and 50'} rows"


if __name__ == "__main__":
    main()

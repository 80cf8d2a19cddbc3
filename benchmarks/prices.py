"""What an edge should cost: the rules of `penalty=` on honest simulated tables.

Each table is searched at the price of the extended BIC, and from the order found again at every other price, all with
the same small effort. Printed is the mean SHD of CPDAGs, and in brackets false and missed adjacencies; "adaptive" is
what `penalty="adaptive"` finds. "larger of two" is max(log n, 2 log d): γ = 1 − log n / (2 log d), clipped to [0, 1].

    python benchmarks/prices.py [--nodes 20 50 100 200] [--seeds 2] [--first-seed 100] [--rows FILE]
"""

import argparse
import json
import time
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np

import acyclic
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.discrete.order import equal_variance_order
from acyclic.discrete.search import search_orders
from acyclic.graphs.metrics import shd_cpdag
from acyclic.learners.ordering import resolve_price
from acyclic.scores.local import price_of_parent

SCHEMES, GRAPHS, ROWS = ("dao", "iscm", "standardized"), ("ER1", "ER2", "ER4"), (200, 1000, 5000)
RULES = ("ebic", "half of the way", "bic", "larger of two", "adaptive")
EFFORT = 0.02


def compare(scheme: str, d: int, graph: str, n: int, seed: int) -> dict:
    """Price, SHD of CPDAGs, false and missed adjacencies of each rule."""
    started = time.process_time()
    data = acyclic.simulate(d, n, graph=graph, scheme=scheme, random_state=seed)
    moments = Moments.from_array(data.X)
    start = equal_variance_order(moments.standardized())
    prices = {rule: price_of_parent(rule, n, d) for rule in ("ebic", "bic")}
    prices |= {"half of the way": np.log(n) + np.log(d), "larger of two": max(np.log(n), 2 * np.log(d))}
    prices["adaptive"] = resolve_price("adaptive", moments, [start], Mask.unrestricted(d), None)
    order, found = start, {}
    for rule in RULES:
        searched = search_orders(moments, [order], float(prices[rule]), effort=EFFORT, threads=1)
        order = searched.order if rule == "ebic" else order
        found[rule] = [float(prices[rule]), *differ(data.graph.adjacency, searched.weights)]
    world = {"scheme": scheme, "nodes": d, "graph": graph, "n": n, "seed": seed}
    return {**world, "found": found, "cpu": time.process_time() - started}


def differ(truth: np.ndarray, weights: np.ndarray) -> list[int]:
    true, joined = truth | truth.T, (weights != 0) | (weights != 0).T
    apart = shd_cpdag(truth.astype(float), weights, edge_direction="from row to column")
    return [int(apart), int((joined & ~true).sum() // 2), int((true & ~joined).sum() // 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[20, 50, 100, 200])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--rows", type=Path, default=Path("build/prices.jsonl"), help="what is in it is not done again")
    options = parser.parse_args()
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    rows = [json.loads(line) for line in options.rows.read_text().splitlines()] if options.rows.exists() else []
    known = {tuple(row[key] for key in ("scheme", "nodes", "graph", "n", "seed")): row for row in rows}
    seeds, chosen = range(options.first_seed, options.first_seed + options.seeds), []
    for seed, d, n, graph, scheme in product(seeds, options.nodes, ROWS, GRAPHS, SCHEMES):
        world = (scheme, d, graph, n, seed)
        if world not in known:
            known[world] = compare(*world)
            with options.rows.open("a") as file:
                file.write(json.dumps(known[world]) + "\n")
        chosen.append(known[world])
    print(say(chosen))


def say(rows: list[dict]) -> str:
    sums = defaultdict(list)
    for row in rows:
        scheme, counts = row["scheme"], [row["found"][rule][1:] for rule in RULES]
        for key in (
            "all",
            scheme,
            f"{scheme} {row['graph']}",
            f"{scheme} n = {row['n']}",
            f"{scheme} d = {row['nodes']}",
        ):
            sums[key].append(counts)
    lines = [f"| tables | {' | '.join(RULES)} |", "|" + "---|" * (len(RULES) + 1)]
    for key in sorted(sums, key=lambda key: (key != "all", key)):
        means = np.mean(sums[key], axis=0)
        lines.append(
            f"| {key} ({len(sums[key])}) | "
            + " | ".join(f"{shd:.1f} ({false:.1f}, {missed:.1f})" for shd, false, missed in means)
            + " |"
        )
    return "\n".join([*lines, f"\n{sum(row['cpu'] for row in rows):.0f} processor seconds"])


if __name__ == "__main__":
    main()

"""What an edge should cost: the rules of `penalty=` on honest simulated tables.

Each table is searched at the price of the extended BIC; the other rules go downhill from the order found. Printed are
sums over tables: pairs in which the class found differs from the true one, false adjacencies, and missed ones.

    python benchmarks/prices.py [--nodes 20 50] [--seeds 2]
"""

import argparse
from collections import defaultdict
from itertools import product

import numpy as np

import acyclic
from acyclic.data.moments import Moments
from acyclic.discrete.order import equal_variance_order
from acyclic.discrete.search import search_orders
from acyclic.graphs.metrics import shd_cpdag
from acyclic.scores.local import price_by_effects, price_of_parent

SCHEMES, GRAPHS, ROWS = ("dao", "iscm", "standardized"), ("ER1", "ER2", "ER4"), (200, 1000, 3000)


def compare(data) -> dict[str, np.ndarray]:
    """SHD of CPDAGs, false and missed adjacencies of each rule."""
    moments = Moments.from_array(data.X)
    n, d = moments.n, len(moments.names)
    first = search_orders(moments, [equal_variance_order(moments.standardized())], effort=0.03, threads=1)
    prices = {"bic": price_of_parent("bic", n, d), "half of the way": np.log(n) + np.log(d)}
    prices["effects"] = price_by_effects(moments, first.weights)
    found = {rule: search_orders(moments, [first.order], price, effort=0).weights for rule, price in prices.items()}
    truth, counts = data.graph.adjacency, {}
    for rule, weights in {"ebic": first.weights, **found}.items():
        true, joined = truth | truth.T, (weights != 0) | (weights != 0).T
        apart = shd_cpdag(truth.astype(float), weights, edge_direction="from row to column")
        counts[rule] = np.array([apart, (joined & ~true).sum() // 2, (true & ~joined).sum() // 2])
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    sums: dict = defaultdict(lambda: defaultdict(lambda: np.zeros(3, dtype=int)))
    for scheme, d, graph, n, seed in product(SCHEMES, options.nodes, GRAPHS, ROWS, range(options.seeds)):
        data = acyclic.simulate(d, n, graph=graph, scheme=scheme, random_state=100 + seed)
        for rule, counts in compare(data).items():
            for key in ("all", scheme, f"{scheme} {graph}", f"{n} rows"):
                sums[key][rule] += counts
    for key, rules in sums.items():
        print(f"{key:>18} " + "   ".join(f"{rule} {'/'.join(map(str, counts))}" for rule, counts in rules.items()))


if __name__ == "__main__":
    main()

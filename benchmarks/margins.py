"""Whether margins keep what they say: of the edges that a class compels, how many point the wrong way.

Simulated tables of all honest schemes, 10 to 30 columns, sparse to dense, 200 to 3000 rows. An edge is firm if its
margin, how much worse the best graph with it turned or left out is, exceeds log n + 2 log d, which is what the verdict
asks of a decided direction; beside it stand those beyond log n. Wrong is one whose reverse is in the true graph.

    python benchmarks/margins.py [--tables 200] [--first-seed 1000]
"""

import argparse
import time
import warnings
from collections import defaultdict
from itertools import cycle, islice, product

import numpy as np

import acyclic
from acyclic.graphs.equivalence import find_cpdag

WORLDS = list(
    product(("standardized", "dao", "iscm"), (10, 12, 16, 30), ("ER1", "ER2", "ER3", "ER4"), (200, 1000, 3000))
)


def count_wrong(world: tuple, seed: int) -> np.ndarray:
    """Wrong and all compelled edges, then wrong and all of those beyond log n, and of the firm ones."""
    scheme, d, graph, n = world
    data = acyclic.simulate(d, n, graph=graph, scheme=scheme, random_state=seed)
    model = acyclic.OrderSearch().fit(data.X)
    compelled = find_cpdag(model.causal_graph_.adjacency).directed
    margin = np.fmin(model.rivals_.turned, model.rivals_.left_out)
    beyond, firm = (compelled & (margin > limit) for limit in (np.log(n), np.log(n) + 2 * np.log(d)))
    reverse = data.graph.adjacency.T
    return np.array(
        [count for chosen in (compelled, beyond, firm) for count in ((chosen & reverse).sum(), chosen.sum())]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, started = defaultdict(lambda: np.zeros(6, dtype=int)), time.process_time()
    mixed = np.random.default_rng(options.first_seed).permutation(len(WORLDS))
    for number, world in enumerate(islice(cycle([WORLDS[k] for k in mixed]), options.tables)):
        found = count_wrong(world, options.first_seed + number)
        for key in ("all", world[0], f"{world[3]} rows"):
            counts[key] += found
    print(f"{'tables':>14} {'compelled, wrong':>20} {'beyond log n, wrong':>20} {'firm, wrong':>20}")
    for key, found in counts.items():
        shares = (f"{w} of {a} ({w / max(a, 1):.1%})" for w, a in found.reshape(3, 2))
        print(f"{key:>14} {''.join(f'{share:>20}' for share in shares)}")
    print(f"{time.process_time() - started:.0f} processor seconds")


if __name__ == "__main__":
    main()

"""Time of the low-rank constraint against the number of nodes, and its slope on log–log axes.

B = UVᵀ of rank 10 and W = PQᵀ of rank 4 (10 columns after the Khatri–Rao product), value and both gradients, one
thread, processor seconds, the least of several; beside it the dense form where it fits.

    python benchmarks/low_rank.py
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from acyclic.constraints.catalogue import constraint
from acyclic.constraints.low_rank import khatri_rao, low_rank, low_rank_weights

SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
DENSE = 1000


def seconds(work, *arguments, repeats=7):
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work(*arguments)
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    rng, rows = np.random.default_rng(0), []
    print("| d | low_rank, ms | low_rank_weights, ms | dense fast-geometric, ms |\n|---|---|---|---|")
    for d in SIZES:
        U, V = rng.random((2, d, 10))
        U *= 0.8 / np.abs(np.linalg.eigvals(V.T @ U)).max()
        P, Q = rng.standard_normal((2, d, 4))
        P *= np.sqrt(0.8 / np.abs(np.linalg.eigvals(khatri_rao(Q).T @ khatri_rao(P))).max())
        found = [seconds(low_rank, U, V), seconds(low_rank_weights, P, Q)]
        made, B = constraint("fast-geometric"), U @ V.T if d <= DENSE else None
        dense = f"{1e3 * seconds(made.value_and_gradient, B, repeats=3):.1f}" if B is not None else "–"
        rows.append((d, *found))
        print(f"| {d} | {1e3 * found[0]:.2f} | {1e3 * found[1]:.2f} | {dense} |", flush=True)
    for name, column in (("low_rank", 1), ("low_rank_weights", 2)):
        table = np.log([(row[0], row[column]) for row in rows])
        large = table[table[:, 0] >= np.log(3000)]
        slopes = [np.polyfit(*part.T, 1)[0] for part in (table, large)]
        print(f"slope of {name}: {slopes[0]:.2f} over all sizes, {slopes[1]:.2f} from 3000 on")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()

"""How long a cycle each DAG constraint still sees.

On one cycle of k edges of equal weight w, B = w² on the cycle, the largest k ≤ 64 for which value and gradient on every
edge are positive, for all shorter cycles too; a value that is rounding, below 1e-15 of what its own terms add up to,
does not count. The last columns take single precision. Constraints that follow the spectral radius are set for the
point, as an outer loop does.

    python benchmarks/cycles.py [--longest 64]
"""

import argparse

import numpy as np

from acyclic.constraints.catalogue import CONSTRAINTS, constraint

WEIGHTS = (1e-8, 0.3, 0.5, 0.8)
# With s at (1 + 1/8)·ρ, and no floor, a walk of 64 edges counts as 5e-4 of one of none.
OPTIONS = {name: {"margin": 0.125, "least": 1e-30} for name in ("adaptive", "adaptive-tmpi")}


def is_seen(name: str, k: int, weight: float, dtype: type) -> bool:
    """Whether value and gradient tell of the cycle."""
    B = (weight**2 * np.roll(np.eye(k), 1, axis=1)).astype(dtype)
    h, G = constraint(name, **OPTIONS.get(name, {})).for_point(B).value_and_gradient(B)
    # The exponential and the log-determinant subtract d from a trace.
    rounding = 4 * k * np.finfo(dtype).eps if name in ("exponential", "log-det") else 0.0
    return h > rounding and bool((G[B > 0] > 0).all())


def longest_seen(name: str, weight: float, dtype: type, most: int) -> int:
    """The largest k up to which every cycle is seen."""
    for k in range(2, most + 1):
        if not is_seen(name, k, weight, dtype):
            return k - 1 if k > 2 else 0
    return most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--longest", type=int, default=64)
    most = parser.parse_args().longest
    header = [f"w = {w:g}" for w in WEIGHTS] + [f"w = {w:g}, float32" for w in WEIGHTS]
    print("| constraint |", " | ".join(header), "|")
    print("|---" * (len(header) + 1) + "|")
    for name in CONSTRAINTS:
        cells = [longest_seen(name, w, dtype, most) for dtype in (np.float64, np.float32) for w in WEIGHTS]
        print(f"| {name} |", " | ".join(map(str, cells)), "|", flush=True)


if __name__ == "__main__":
    main()

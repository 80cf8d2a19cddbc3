"""Time of every DAG constraint, value and gradient together, divided by the time of one d×d matrix product.

The matrices are recorded along a real optimisation path (GOLEM's objective with TMPI on simulated ER2 data): from the
dense first steps to the nearly acyclic last ones; at d = 1000, points on a straight way between two such. Beside the
constraints stand ``scipy.linalg.expm`` and ``slogdet`` + ``inv``, what one would call without this library. One BLAS
thread.

    python benchmarks/constraints.py [--sizes 10 30 100 300 1000]
"""

import argparse
import time
from dataclasses import dataclass, field
from math import log2

import numpy as np
import scipy
from scipy.linalg import expm
from threadpoolctl import threadpool_limits

import acyclic
from acyclic.constraints.base import Constraint
from acyclic.constraints.catalogue import CONSTRAINTS, constraint


@dataclass(frozen=True)
class Recorder(Constraint):
    """TMPI that keeps the matrices it was asked for at evaluations 2, 4, 8, … and the last."""

    name = "recorder"
    inner: Constraint = field(default_factory=lambda: constraint("fast-tmpi"))
    kept: dict[int, np.ndarray] = field(default_factory=dict)
    count: list[int] = field(default_factory=lambda: [0])

    def evaluate_block(self, B, size):
        self.count[0] += 1
        if self.count[0] & (self.count[0] - 1) == 0 and self.count[0] > 1:
            self.kept[self.count[0]] = B.copy()
        self.kept[-1] = B
        return self.inner.evaluate_block(B, size)


def recorded(d: int) -> list[np.ndarray]:
    data = acyclic.simulate(n_nodes=d, n=max(1000, 2 * d), random_state=d)
    recorder = Recorder()
    if d >= 1000:
        return straight(data.X)
    acyclic.Golem(constraint=recorder, time_limit=5 if d < 300 else 60, n_jobs=2).fit(data.X)
    return [B for at, B in sorted(recorder.kept.items(), key=lambda item: item[0] if item[0] > 0 else np.inf)]


def straight(X: np.ndarray) -> list[np.ndarray]:
    """Where a recorded path would take minutes: points between regressions on all other columns and the final DAG."""
    inverse = np.linalg.inv(np.cov(X, rowvar=False))
    regression = -inverse / inverse.diagonal()
    np.fill_diagonal(regression, 0)
    final = acyclic.EqualVariance().fit(X).adjacency_matrix_
    return [((1 - t) * final + t * regression) ** 2 for t in (0.5, 0.1, 0.02)]


def seconds(function, *args) -> float:
    """Median over repeats that fill a fifth of a second (three at least)."""
    start = time.perf_counter()
    function(*args)
    repeats = int(np.clip(0.2 / (time.perf_counter() - start), 3, 300))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def paired(first, second, B: np.ndarray) -> tuple[float, float]:
    """Medians of two functions timed in turn, so that what else the machine does falls on both."""
    start = time.perf_counter()
    first(B), second(B)
    repeats = int(np.clip(0.3 / (time.perf_counter() - start), 3, 300))
    times = np.empty((repeats, 2))
    for k in range(repeats):
        for which, function in enumerate((first, second)):
            start = time.perf_counter()
            function(B)
            times[k, which] = time.perf_counter() - start
    return tuple(np.median(times, axis=0))


def half_acyclic(B: np.ndarray) -> np.ndarray:
    """The matrix with every edge into a random half of its nodes removed: these are on no cycle."""
    cut = B.copy()
    cut[:, np.random.default_rng(0).permutation(len(B))[: len(B) // 2]] = 0
    return cut


def measure(d: int) -> None:
    matrices = recorded(d)
    product = np.mean([seconds(np.matmul, B, B) for B in matrices])
    radii = [np.abs(np.linalg.eigvals(B)).max() for B in (matrices[0], matrices[-1])]
    print(f"\nd = {d}: {len(matrices)} matrices, spectral radius {radii[0]:.2g} to {radii[1]:.2g}, ", end="")
    print(f"one product {product * 1e6:.1f} µs")
    print(
        f"  {'constraint':<18}{'µs':>12}{'products':>10}{'orders':>12}   on components: all, half of the nodes acyclic"
    )
    for name in CONSTRAINTS:
        if d >= 1000 and name in ("geometric", "polynomial", "tmpi"):  # up to d − 1 products: minutes
            continue
        row(d, name, matrices, product)
    for label, function in {"scipy expm": expm, "slogdet + inv": resolvent}.items():
        taken = np.mean([seconds(function, B) for B in matrices])
        print(f"  {label:<18}{taken * 1e6:>12.1f}{taken / product:>10.1f}")


def resolvent(B: np.ndarray) -> tuple[float, np.ndarray]:
    M = np.eye(len(B)) - B
    return np.linalg.slogdet(M)[1], np.linalg.inv(M)


def row(d: int, name: str, matrices: list[np.ndarray], product: float) -> None:
    plain, parts = constraint(name), constraint(name, components=True)
    pairs = np.array([paired(plain.value_and_gradient, parts.value_and_gradient, B) for B in matrices])
    halved = np.array([paired(plain.value_and_gradient, parts.value_and_gradient, half_acyclic(B)) for B in matrices])
    times, gain = pairs[:, 0], halved[:, 0].mean() / halved[:, 1].mean()
    orders = [plain.evaluate(B).order for B in matrices]
    summed = [order for order in orders if order is not None]
    shown = f"{min(summed)}-{max(summed)}" if summed else ""
    line = f"  {name:<18}{times.mean() * 1e6:>12.1f}{times.mean() / product:>10.1f}{shown:>12}"
    line += f"   {(pairs[:, 1] / times).max():.2f}× the plain time at most, {gain:.1f}× faster"
    if name == "fast-tmpi":
        own = np.mean([t / (3 * log2(order) * product) for t, order in zip(times, orders)])
        line += f"; {own:.2f}× its 3 products per doubling"
    print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 30, 100, 300, 1000])
    with threadpool_limits(1):
        print(f"acyclic {acyclic.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, one BLAS thread")
        for size in parser.parse_args().sizes:
            measure(size)

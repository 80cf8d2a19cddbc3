"""The largest eigenvalue of a non-negative matrix, its gradient, the LEAST bound on it, and NOBEARS' estimate."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from acyclic._native import strong_components

Matrix = NDArray[np.float64]

# Up to this size all eigenvalues cost less than the rounds of Noda's iteration that they save.
_SMALL = 16
# A vector that spans more is taken over by the scale of the matrix.
_FAR = 2.0**-10
_PATIENCE = 5


def perron(B: Matrix) -> tuple[float, Matrix]:
    """ρ(B) and its gradient v uᵀ/(vᵀu), from the component with the largest radius (the first of equals)."""
    best, where, gradient = 0.0, None, np.zeros_like(B)
    count, _, labels = strong_components(np.ascontiguousarray(B > 0).view(np.uint8))
    for label in range(count):
        block = np.flatnonzero(labels == label)
        if len(block) == 1:
            radius, part = float(B[block[0], block[0]]), np.ones((1, 1))
        else:
            radius, part = _irreducible(np.ascontiguousarray(B[np.ix_(block, block)]))
        if radius > best:
            best, where, slope = radius, np.ix_(block, block), part
    if where is not None:
        gradient[where] = slope
    return best, gradient


class Root(NamedTuple):
    """The Perron root of an irreducible B, and A = D⁻¹BD/``largest``, D = diag(``scale``), by which it was found."""

    value: float
    A: Matrix
    scale: Matrix
    largest: float
    upper: float
    """Upper end of the root of A."""
    vector: Matrix
    """Right Perron vector of A."""


def irreducible_root(B: Matrix, tolerance: float = 4e-16, rounds: int = 200) -> Root:
    """Perron root of an irreducible matrix by Noda's iteration.

    x ← (λI − B)⁻¹x with λ = max (Bx)/x converges quadratically and from above; min and max of (Bx)/x enclose the root,
    so the stopping test is a proof. Balancing by powers of two keeps long weak cycles within range. Where the vector
    comes to span many orders, D takes them over: row sums of A are then nearly equal, so that the systems to solve are
    diagonally dominant. Without that they lose all digits where weak edges close cycles in a graph of strong ones.
    """
    scale = balance(B)
    A, largest = _scaled(B, scale)
    x = _first_vector(A)
    (lower, upper), waited = _bracket(A, x), 0
    for _ in range(rounds):
        if upper - lower <= tolerance * len(A) * upper:
            break
        # A little above, where the matrix is regular even if the upper end is the root itself.
        lu, pivots, singular = lapack.dgetrf(np.diag(np.full(len(A), upper * (1 + tolerance * len(A)))) - A)
        if singular:
            break
        y, _ = lapack.dgetrs(lu, pivots, x)
        y = np.abs(y) / np.abs(y).max()
        low, high = _bracket(A, y)
        # The ends may wait for nodes that the rest reaches by weak edges only; by rounding they would wait for ever.
        waited = 0 if low > lower or high < upper else waited + 1
        if waited > _PATIENCE or low < lower / 2 or high > 2 * upper:
            break
        x, lower, upper = y, low, high
        if _FAR > x.min() > 0:
            orders = np.exp2(np.rint(np.log2(x)))
            x, scale = x / orders, scale * orders
            A, largest = _scaled(B, scale)
            lower, upper = _bracket(A, x)
    # Where the ends have not met, it is the lower one that waits.
    value = (lower + upper) / 2 if upper < 1.01 * lower else upper
    return Root(value * largest, A, scale, largest, upper, x)


def _scaled(B: Matrix, scale: Matrix) -> tuple[Matrix, float]:
    """D⁻¹BD for D = diag(``scale``), divided by its largest entry, and that."""
    A = B * (scale[None, :] / scale[:, None])
    largest = float(A.max())
    A /= largest
    return A, largest


def _irreducible(B: Matrix) -> tuple[float, Matrix]:
    """Perron root and gradient of an irreducible matrix."""
    root = irreducible_root(B)
    left = _left_vector(root.A, root.upper)
    u, v = root.vector * root.scale, left / root.scale
    u, v = u / u.max(), v / v.max()
    return root.value, np.outer(v, u) / float(v @ u)


def _first_vector(A: Matrix) -> Matrix:
    """Where to start: the eigenvector that LAPACK finds, which saves a small matrix most of the rounds; else ones."""
    if len(A) <= _SMALL:
        real, _, _, vectors, failed = lapack.dgeev(A, compute_vl=0)
        x = np.abs(vectors[:, int(np.argmax(real))])
        if not failed and x.min() > 0:
            return np.asarray(x / x.max())
    return np.ones(len(A))


def _bracket(A: Matrix, x: Matrix) -> tuple[float, float]:
    """Both ends of where the root is, by Collatz and Wielandt."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = (A @ x) / x
    return float(ratio.min()), float(ratio.max())


def _left_vector(A: Matrix, root: float) -> Matrix:
    shifted = np.diag(np.full(len(A), root * (1 + 1e-12))) - A.T
    lu, pivots, _ = lapack.dgetrf(shifted)
    v = np.ones(len(A))
    for _ in range(3):
        v, _ = lapack.dgetrs(lu, pivots, v)
        v = np.abs(v) / np.abs(v).max()
    return v


def balance(B: NDArray[Any]) -> Matrix:
    """Powers of two t with B∘(1 tᵀ)/(t 1ᵀ) of nearly equal row and column sums."""
    result: Any = lapack.dgebal(B, scale=1, permute=0)
    scale: Matrix = result[3]
    return scale


def power_rounds(B: Matrix, rounds: int, shift: float) -> tuple[float, Matrix]:
    """vᵀAu/(vᵀu) for A = B + shift and vectors of so many power rounds from ones, and its slope for fixed vectors."""
    A = B + shift
    u = v = np.ones(len(A))
    for _ in range(rounds):
        u, v = A @ u, A.T @ v
        u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    slope = np.outer(v, u) / float(v @ u)
    return float(np.vdot(slope, A)), slope


def least_bound(B: Matrix, rounds: int, balance: float) -> tuple[float, Matrix]:
    """Σ b of LEAST's last round, an upper bound on ρ(B), and its gradient by reverse mode.

    A node without incoming or without outgoing edges lies on no cycle and leaves the computation (b = 0).
    """
    steps: list[tuple[Matrix, Matrix, Matrix, Matrix, Matrix]] = []
    S = B
    for _ in range(rounds):
        r, c = S.sum(axis=1), S.sum(axis=0)
        alive = (r > 0) & (c > 0)
        b = np.where(alive, r, 0) ** balance * np.where(alive, c, 0) ** (1 - balance)
        inverse = np.divide(1.0, b, out=np.zeros_like(b), where=b > 0)
        steps.append((S, r, c, b, inverse))
        S = S * inverse[:, None] * b[None, :]
    value = float(steps[-1][3].sum())
    adjoint, to_b = np.zeros_like(B), np.ones(len(B))
    for index, (S, r, c, b, inverse) in reversed(list(enumerate(steps))):
        if index < rounds - 1:
            flow = adjoint * S
            to_b = inverse @ flow - inverse**2 * (flow @ b)
            adjoint = adjoint * inverse[:, None] * b[None, :]
        safe_r, safe_c = np.where(b > 0, r, 1), np.where(b > 0, c, 1)
        adjoint = adjoint + (balance * to_b * b / safe_r)[:, None] + ((1 - balance) * to_b * b / safe_c)[None, :]
    return value, adjoint

"""What any smooth function of several columns together leaves of another, and which rows are alike in these."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from acyclic.types import Floats

__all__ = ["find_alike", "leave_out", "smooth_out"]

_Precision = TypeVar("_Precision", np.float32, np.float64)

# How far functions reach, in deviations of what is given, and how much stronger than the noise they are.
_LENGTHS = (0.5, 0.8, 1.2, 2.0, 4.0)
_RATIOS = (0.3, 1.0, 3.0, 10.0)
# Rows that tell the kernel (Nyström): with 200 a column of 1000 rows takes some hundredths of a second.
_TELLING = 200
_JITTER = 1e-6
# Rows are alike within so many deviations: chosen on simulated tables whose parents interact.
_ALIKE = 0.6


def smooth_out(basis: Floats, given: Floats, columns: Floats) -> tuple[Floats, Floats]:
    """Columns (n, k) less smooth functions of given ones, and what each row adds to its own fit: both (n, k).

    The functions are means of Gaussian processes, each with the reach and strength of the largest likelihood, or none
    where that is more likely. The columns are residuals of an orthonormal basis, which takes its part of the functions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z, noise, constant = rng.normal(size=(500, 2)), rng.normal(size=(500, 2)), np.full((500, 1), 500**-0.5)
    >>> both = noise + np.column_stack([3 * np.sin(Z[:, 0] + Z[:, 1]), np.zeros(500)])
    >>> left, own = smooth_out(constant, Z, both - both.mean(axis=0))
    >>> bool(np.corrcoef(left[:, 0], noise[:, 0])[0, 1] > 0.9), own.any(axis=0).tolist()
    (True, [True, False])
    """
    n, free = len(columns), len(columns) - basis.shape[1]
    some = np.sort(np.random.default_rng(0).choice(n, min(_TELLING, n), replace=False))
    apart, squares = _distances(given, given[some]), (columns**2).sum(axis=0)
    squares = np.where(squares > 0, squares, 1.0)
    least, left, own = free * np.log(squares), columns.copy(), np.zeros_like(columns)
    for length in _LENGTHS:
        C = np.exp(apart * (-0.5 / length**2))
        W = C[some] + _JITTER * np.eye(len(some))
        Phi = solve_triangular(np.linalg.cholesky(W), C.T, lower=True).T
        Phi -= basis @ (basis.T @ Phi)
        values, vectors = np.linalg.eigh(Phi.T @ Phi)
        values, along = np.maximum(values, 0.0), vectors.T @ (Phi.T @ columns)
        chosen = np.zeros(len(least))
        for ratio in _RATIOS:
            explained = (ratio / (1 + ratio * values)) @ along**2
            evidence = free * np.log(np.maximum(squares - explained, 1e-12 * squares))
            evidence += np.log1p(ratio * values).sum()
            chosen[evidence < least] = ratio
            least = np.minimum(evidence, least)
        if (better := np.flatnonzero(chosen)).size:
            turned, shrunk = Phi @ vectors, 1 / (1 / chosen[better] + values[:, None])
            left[:, better] = columns[:, better] - turned @ (shrunk * along[:, better])
            own[:, better] = turned**2 @ shrunk
    return left, own


def leave_out(given: Floats, column: Floats) -> Floats:
    """What is left of a column, less a smooth function of given columns (n, k) that is told by all other rows.

    What a row adds to its own fit is taken away: otherwise residuals are too small where rows are few.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z, noise = rng.normal(size=(500, 2)), rng.normal(size=500)
    >>> left = leave_out(Z, 3 * np.sin(Z[:, 0] + Z[:, 1]) + noise)
    >>> bool(np.corrcoef(left, noise)[0, 1] > 0.9)
    True
    """
    n, y = len(column), np.asarray(column - column.mean())
    if not given.shape[1] or not y.any():
        return y
    left, own = smooth_out(np.full((n, 1), n**-0.5), given, y[:, None])
    return np.asarray(left[:, 0] / np.maximum(1 - 1 / n - own[:, 0], 1e-3))


def find_alike(given: Floats) -> NDArray[np.float32]:
    """How alike rows are in what is given (n, k), from 0 to 1: (n, n), in single precision; 1 if nothing is given.

    Examples
    --------
    >>> find_alike(np.array([[0.0], [0.0], [100.0]])).round(1).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    rows = given.astype(np.float32)
    return np.asarray(np.exp(_distances(rows, rows) * np.float32(-0.5 / _ALIKE**2)))


def _distances(one: NDArray[_Precision], other: NDArray[_Precision]) -> NDArray[_Precision]:
    """Squared, between all rows of one and of the other."""
    squares = np.add.outer((one**2).sum(axis=1), (other**2).sum(axis=1))
    squares -= 2 * one @ other.T
    return np.asarray(np.maximum(squares, 0))

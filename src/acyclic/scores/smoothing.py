"""What any smooth function of several columns together leaves of another, and which rows are alike in these."""

from __future__ import annotations

from math import log
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from acyclic.types import Floats

__all__ = ["find_alike", "leave_out"]

_Precision = TypeVar("_Precision", np.float32, np.float64)

# How far functions reach, in deviations of what is given, and how much stronger than the noise they are.
_LENGTHS = (0.5, 0.8, 1.2, 2.0, 4.0)
_RATIOS = (0.3, 1.0, 3.0, 10.0)
# Rows that tell the kernel (Nyström): with 200 a column of 1000 rows takes some hundredths of a second.
_TELLING = 200
_JITTER = 1e-6
# Rows are alike within so many deviations: chosen on simulated tables whose parents interact.
_ALIKE = 0.6


def leave_out(given: Floats, column: Floats) -> Floats:
    """What is left of a column, less a smooth function of given columns (n, k) that is told by all other rows.

    The function is the mean of a Gaussian process whose reach and strength are those of the largest likelihood. What a
    row adds to its own fit is taken away: otherwise residuals are too small where rows are few.

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
    some = np.sort(np.random.default_rng(0).choice(n, min(_TELLING, n), replace=False))
    apart, best, least = _distances(given, given[some]), None, np.inf
    for length in _LENGTHS:
        C = np.exp(apart * (-0.5 / length**2))
        W = C[some] + _JITTER * np.eye(len(some))
        Phi = solve_triangular(np.linalg.cholesky(W), C.T, lower=True).T
        Phi -= Phi.mean(axis=0)
        values, vectors = np.linalg.eigh(Phi.T @ Phi)
        values, along = np.maximum(values, 0.0), vectors.T @ (Phi.T @ y)
        for ratio in _RATIOS:
            misfit = max(float(y @ y - (ratio * along**2 / (1 + ratio * values)).sum()), 1e-12 * float(y @ y))
            evidence = n * log(misfit) + float(np.log1p(ratio * values).sum())
            if evidence < least:
                least, best = evidence, (Phi, vectors, ratio / (1 + ratio * values), along)
    assert best is not None
    Phi, vectors, shrunk, along = best
    basis = Phi @ vectors
    own = basis**2 @ shrunk + 1 / n
    return np.asarray((y - basis @ (shrunk * along)) / np.maximum(1 - own, 1e-3))


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

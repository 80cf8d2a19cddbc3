"""Regressions of one column on others, from the covariance alone: weights, Lasso, and the Gaussian score of a node."""

from __future__ import annotations

from collections.abc import Collection
from ctypes import c_double, c_int, c_int64

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from acyclic._native import library, pointer
from acyclic.data.knowledge import Mask
from acyclic.data.moments import Moments

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# A column with less than this share of its variance left is a linear function of those it was regressed on.
DEPENDENT = 1e-10


def least_squares(covariance: Floats, adjacency: Bools, mask: Mask | None = None) -> Floats:
    """Weights (d, d) of each column regressed on its parents, within the bounds of prior knowledge.

    Parents that determine each other share the weight of least norm, in units of standard deviations.

    Examples
    --------
    >>> least_squares(np.array([[1.0, 2.0], [2.0, 5.0]]), np.array([[False, True], [False, False]]))
    array([[0., 2.],
           [0., 0.]])
    """
    weights = np.zeros(adjacency.shape)
    for target in np.flatnonzero(adjacency.any(axis=0)).tolist():
        parents = np.flatnonzero(adjacency[:, target])
        weights[parents, target] = _slopes(covariance, parents, target)
    if mask is not None:
        lower, upper = np.where(adjacency, mask.lower, 0.0), np.where(adjacency, mask.upper, 0.0)
        for target in np.flatnonzero(((weights < lower) | (weights > upper)).any(axis=0)).tolist():
            inside = np.clip(weights[:, target], lower[:, target], upper[:, target])
            free = np.zeros(len(covariance))
            weights[:, target] = lasso(covariance, target, free, lower[:, target], upper[:, target], inside)
    return weights


def _slopes(covariance: Floats, parents: NDArray[np.intp], target: int) -> Floats:
    scale = np.sqrt(covariance[parents, parents])
    scale = np.where(scale > 0, scale, 1.0)
    gram, moment = covariance[np.ix_(parents, parents)] / np.outer(scale, scale), covariance[parents, target] / scale
    factor, slopes, failed = lapack.dposv(gram, moment, lower=1)
    if failed or factor.diagonal().min() ** 2 < DEPENDENT:
        slopes = np.linalg.lstsq(gram, moment, rcond=DEPENDENT)[0]
    return np.asarray(slopes / scale)


def lasso(
    covariance: Floats, target: int, l1: Floats, lower: Floats, upper: Floats, start: Floats, tolerance: float = 1e-10
) -> Floats:
    """Minimise (1/2n)‖x_target − Xb‖² + Σ l1_i|b_i| over lower ≤ b ≤ upper; all arrays are (d,)."""
    d = len(covariance)
    solution = np.array(start, dtype=float)
    arrays = [np.ascontiguousarray(a, dtype=float) for a in (-covariance[target], l1, np.zeros(d), lower, upper)]
    one, S = np.ones(1), np.ascontiguousarray(covariance)
    scaled = tolerance * float(np.sqrt(max(covariance[target, target], np.finfo(float).tiny)))
    kernel = library().elastic_net
    kernel.restype = c_int64
    pointers = [pointer(a) for a in (S, one, *arrays, solution)]
    shared, loops = c_int(0), c_int(1)
    if kernel(c_int(d), c_int(0), c_int(1), *pointers, c_double(scaled), c_int(10_000), shared, loops) < 0:
        raise MemoryError(f"no memory for a ({d}, {d}) work array")
    return solution


class LocalScores:
    """The Gaussian score of a node given its parents, s(j, Pa) = −(n/2)(1 + log σ̂²(j | Pa)) − penalty·(|Pa| + 1).

    σ̂² is the residual variance divided by n. Scores of parent sets are remembered, and so are the gains from one more
    parent, which are computed for all columns at once. Units do not matter: everything but the sum of the columns'
    log-variances comes from the correlation matrix.

    Parameters
    ----------
    moments : Moments
    penalty : float, optional
        For each parameter; ½ log n (the BIC) if left out.
    """

    def __init__(self, moments: Moments, penalty: float | None = None) -> None:
        self.n = float(moments.n)
        self.penalty = 0.5 * float(np.log(self.n)) if penalty is None else float(penalty)
        self.R = np.array(moments.standardized().covariance)
        # A constant column is related to none.
        np.fill_diagonal(self.R, 1.0)
        self.n_nodes = len(self.R)
        self._log_variances = np.log(np.maximum(moments.covariance.diagonal(), np.finfo(float).tiny))
        self._scores: dict[tuple[int, frozenset[int]], float] = {}
        self._gains: dict[tuple[int, frozenset[int]], Floats] = {}
        self._room = max(64, 10_000_000 // self.n_nodes)

    def score(self, node: int, parents: Collection[int]) -> float:
        """s(node, parents); −inf where rows are too few for that many parents."""
        key = node, frozenset(parents)
        if key not in self._scores:
            self._scores[key] = self._score(*key)
        return self._scores[key]

    def total(self, adjacency: Bools) -> float:
        """Score of a DAG: the sum over its nodes."""
        return sum(self.score(node, np.flatnonzero(column).tolist()) for node, column in enumerate(adjacency.T))

    def gains(self, node: int, given: Collection[int]) -> Floats:
        """s(node, given ∪ {x}) − s(node, given) for every x, shape (d,); −inf where x cannot be added."""
        key = node, frozenset(given)
        if key not in self._gains:
            if len(self._gains) >= self._room:
                self._gains.clear()
            self._gains[key] = self._all_gains(*key)
        return self._gains[key]

    def _score(self, node: int, parents: frozenset[int]) -> float:
        if len(parents) > self.n - 2:
            return -np.inf
        residual = self._conditioned(sorted(parents), [node])[0][0]
        likelihood = -0.5 * self.n * (1 + np.log(residual) + self._log_variances[node])
        return float(likelihood) - self.penalty * (len(parents) + 1)

    def _all_gains(self, node: int, given: frozenset[int]) -> Floats:
        if len(given) > self.n - 3:
            return np.full(self.n_nodes, -np.inf)
        own, projections = self._conditioned(sorted(given), None)
        cross = self.R[node] - (projections[:, node] @ projections if given else 0.0)
        explained = np.minimum(cross**2 / (own * own[node]), 1 - DEPENDENT / own[node])
        gains = np.where(own > DEPENDENT, -0.5 * self.n * np.log1p(-explained) - self.penalty, -np.inf)
        gains[[node, *given]] = -np.inf
        return gains

    def _conditioned(self, given: list[int], columns: list[int] | None) -> tuple[Floats, Floats]:
        """Residual variances of columns (None: all) given others, and their projections on those, (len(given), m)."""
        rows = self.R[given] if columns is None else self.R[np.ix_(given, columns)]
        if not given:
            return np.ones(rows.shape[1]), rows
        gram = self.R[np.ix_(given, given)]
        factor, failed = lapack.dpotrf(gram, lower=1)
        if failed or factor.diagonal().min() ** 2 < DEPENDENT:
            values, vectors = np.linalg.eigh(gram)
            kept = values > DEPENDENT * len(given)
            projections = (vectors[:, kept] / np.sqrt(values[kept])).T @ rows
        else:
            projections = lapack.dtrtrs(factor, rows, lower=1)[0]
        return np.maximum(1 - np.einsum("ij,ij->j", projections, projections), DEPENDENT), projections

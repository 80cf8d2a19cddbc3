"""Scores of a node given its parents: the Gaussian likelihood with a price for each parameter."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from scipy.linalg import lapack

from acyclic.data.moments import Moments
from acyclic.scores.regression import DEPENDENT
from acyclic.types import Bools, Floats


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

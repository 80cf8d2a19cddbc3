"""Scores of a node given its parents, the price of a parent, and the Gaussian BIC, which is their sum.

All are in units of −2 log-likelihood, which for Gaussian noise is n log variance; lower is better.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from math import inf, log
from typing import Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack

from acyclic.data.dependence import DEPENDENT
from acyclic.data.moments import Moments
from acyclic.errors import InputError
from acyclic.graphs.checks import check_square
from acyclic.graphs.cycles import sort_topologically
from acyclic.scores.residuals import noise_variances
from acyclic.types import Bools, Floats

__all__ = [
    "TOLERANCE",
    "DearScore",
    "GaussianScore",
    "LocalScore",
    "Noise",
    "PenaltyChoice",
    "PenaltyRule",
    "bic_of_weights",
    "gaussian_bic",
    "price_of_parent",
]

PenaltyRule: TypeAlias = float | Literal["bic", "strong", "ebic"]
PenaltyChoice: TypeAlias = PenaltyRule | Literal["adaptive"]
"""A price that is known beforehand, or that of `price_by_evidence`, for which a first graph is needed."""
Noise: TypeAlias = Literal["equal", "unequal"]

TOLERANCE = 2e-7
"""Gains below it are rounding: n log variance is exact to about 1e-9 for a million rows; the price of a parent is far
above it."""


def price_of_parent(penalty: PenaltyRule, n: float, d: int) -> float:
    """Price c of one parent, in units of −2 log-likelihood: a number as it is, or a rule by name.

    ==========  ================  ==========================================================================
    "bic"       log n             Schwarz' rule; picks false parents where there are many candidates
    "strong"    2 log n           the false parents of about d = 30 candidates are rare
    "ebic"      log n + 2 log d   extended BIC with γ = 1: few false edges in the whole graph at any d
    ==========  ================  ==========================================================================

    >>> round(price_of_parent("ebic", n=1000, d=100), 2)
    16.12
    """
    rules = {"bic": log(n), "strong": 2 * log(n), "ebic": log(n) + 2 * log(d)}
    if isinstance(penalty, str):
        if penalty not in rules:
            raise InputError(f"penalty is {penalty!r}; give a number >= 0 or one of {', '.join(map(repr, rules))}")
        return rules[penalty]
    if not 0 <= penalty < inf:
        raise InputError(f"penalty is {penalty!r}; give a finite number >= 0, the price of one parent")
    return float(penalty)


class LocalScore(Protocol):
    """What a search over graphs asks of a score that is a sum over nodes; lower is better.

    A score of one's own is a class with ``n_nodes`` and ``score``; inherit from this one for the rest, and give a
    faster `gains` where there is one. ``Ges(local_score=…)`` and ``Mmhc(local_score=…)`` take the class, or a function
    that makes it, and call it with the `Table`. GES reaches the best class in the limit of many rows only if equivalent
    graphs have equal totals.

    Examples
    --------
    >>> import acyclic
    >>> class FewParents(acyclic.LocalScore):
    ...     def __init__(self, table):
    ...         self.inside, self.n_nodes = GaussianScore(table.moments), len(table.names)
    ...     def score(self, node, parents):
    ...         return inf if len(parents) > 1 else self.inside.score(node, parents)
    >>> found = acyclic.Ges(local_score=FewParents).fit(acyclic.simulate(6, 200, random_state=1).X)
    >>> int(found.causal_graph_.adjacency.sum(axis=0).max())
    1
    """

    n_nodes: int

    @abstractmethod
    def score(self, node: int, parents: Collection[int]) -> float:
        """s(node, parents), inf where the rows cannot tell."""

    def gains(self, node: int, given: Collection[int]) -> Floats:
        """s(node, given) − s(node, given ∪ {x}) for every x, shape (d,); −inf where x cannot be added."""
        before, found = self.score(node, given), np.full(self.n_nodes, -inf)
        for other in set(range(self.n_nodes)) - {node, *given}:
            after = self.score(node, [*given, other])
            found[other] = before - after if after < inf else -inf
        return found

    def losses(self, node: int, given: Collection[int]) -> Floats:
        """s(node, given) − s(node, given without x) for every x that is given, shape (d,); −inf for others."""
        now, found = self.score(node, given), np.full(self.n_nodes, -inf)
        for one in given:
            found[one] = now - self.score(node, [other for other in given if other != one])
        return found

    def total(self, adjacency: Bools) -> float:
        """Score of a DAG: the sum over its nodes."""
        return sum(self.score(node, np.flatnonzero(column).tolist()) for node, column in enumerate(adjacency.T))


class DearScore(LocalScore, Protocol):
    """A score that takes too long for a search over orders: hill climbing asks it for a part of the pairs."""

    @property
    def n(self) -> int:
        """How many rows it is of."""

    @property
    def is_equivalent(self) -> bool:
        """Whether equivalent graphs have equal scores."""

    def among(self, asked: Bools) -> Self:
        """The same, whose `gains` look at i as a parent of j only where entry (i, j) of these pairs (d, d) says so."""


class GaussianScore(LocalScore):
    """The Gaussian score of a node given its parents, s(j, Pa) = n log(σ̂²(j | Pa) / σ̂²(j)) + c |Pa|.

    Without parents it is 0, and so is the total of the empty graph. Scores of parent sets are remembered, and so are
    the gains from one more parent, which are computed for all columns at once. Only correlations are seen: units do not
    matter.

    Parameters
    ----------
    moments : Moments
    penalty : float or {"bic", "strong", "ebic"}
        The price c of a parent; see `price_of_parent`.

    Examples
    --------
    >>> moments = Moments(100, [0, 0], [[1.0, 0.8], [0.8, 1.0]])
    >>> score = GaussianScore(moments)
    >>> bool(np.isclose(score.score(1, [0]), 100 * np.log(0.36) + np.log(100)))
    True
    >>> bool(np.isclose(score.gains(1, [])[0], -score.score(1, [0])))
    True
    """

    def __init__(self, moments: Moments, penalty: PenaltyRule = "bic") -> None:
        self.n, self.n_nodes = float(moments.n), len(moments.names)
        self.penalty = price_of_parent(penalty, self.n, self.n_nodes)
        self.R = np.array(moments.standardized().covariance)
        # A constant column is related to none.
        np.fill_diagonal(self.R, 1.0)
        self._scores: dict[tuple[int, frozenset[int]], float] = {}
        self._gains: dict[tuple[int, frozenset[int]], Floats] = {}
        self._room = max(64, 10_000_000 // self.n_nodes)

    def score(self, node: int, parents: Collection[int]) -> float:
        """See LocalScore; inf where rows are too few for that many parents."""
        key = node, frozenset(parents)
        if key not in self._scores:
            self._scores[key] = self._score(*key)
        return self._scores[key]

    def gains(self, node: int, given: Collection[int]) -> Floats:
        """See LocalScore."""
        key = node, frozenset(given)
        if key not in self._gains:
            if len(self._gains) >= self._room:
                self._gains.clear()
            self._gains[key] = self._all_gains(*key)
        return self._gains[key]

    def _score(self, node: int, parents: frozenset[int]) -> float:
        if len(parents) > self.n - 2:
            return inf
        left = self._conditioned(sorted(parents), [node])[0][0]
        return self.n * float(np.log(left)) + self.penalty * len(parents)

    def _all_gains(self, node: int, given: frozenset[int]) -> Floats:
        if len(given) > self.n - 3:
            return np.full(self.n_nodes, -inf)
        own, projections = self._conditioned(sorted(given), None)
        cross = self.R[node] - (projections[:, node] @ projections if given else 0.0)
        explained = np.minimum(cross**2 / (own * own[node]), 1 - DEPENDENT / own[node])
        gains = np.where(own > DEPENDENT, -self.n * np.log1p(-explained) - self.penalty, -inf)
        gains[[node, *given]] = -inf
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


def gaussian_bic(moments: Moments, adjacency: ArrayLike, penalty: PenaltyRule = "bic") -> float:
    """Score of a DAG under Gaussian noise of unequal variances; lower is better, and units do not matter.

    Σ_j n log(σ̂²(j | parents) / σ̂²(j)) + c |parents of j|: the empty graph has the score 0.

    Parameters
    ----------
    moments : Moments
    adjacency : array_like of shape (d, d)
        Non-zero at (i, j) for the edge i → j; must be acyclic.
    penalty : float or str
        The price c of a parent, or a rule of `price_of_parent`.

    Examples
    --------
    >>> moments = Moments(100, [0, 0], [[1.0, 0.8], [0.8, 1.0]])
    >>> bool(np.isclose(gaussian_bic(moments, [[0, 1], [0, 0]]), 100 * np.log(0.36) + np.log(100)))
    True
    """
    edges = check_square(adjacency, "adjacency") != 0
    if len(edges) != len(moments.names):
        raise InputError(f"adjacency has {len(edges)} nodes, but the moments have {len(moments.names)} columns")
    sort_topologically(edges, moments.names)
    return GaussianScore(moments, penalty).total(edges)


def bic_of_weights(moments: Moments, weights: Floats, noise: Noise = "unequal", penalty: PenaltyRule = "ebic") -> float:
    """Criterion of a DAG with these weights, to compare graphs under one noise model; lower is better.

        n Σ_j log σ̂_j² + c · edges          for unequal noise variances,
        n d log mean σ̂² + c · edges         for equal ones,

    over the columns that vary. For unequal ones and weights of least squares it is `gaussian_bic` but for a constant.

    Examples
    --------
    >>> moments = Moments(100, [0, 0], [[1.0, 0.8], [0.8, 1.0]])
    >>> found = bic_of_weights(moments, np.array([[0, 0.8], [0, 0]]), penalty="bic")
    >>> bool(np.isclose(found, gaussian_bic(moments, [[0, 1], [0, 0]])))
    True
    """
    left, parents = noise_variances(moments, weights)
    if not len(left):
        return 0.0
    logs = len(left) * float(np.log(left.mean())) if noise == "equal" else float(np.log(left).sum())
    return moments.n * logs + price_of_parent(penalty, moments.n, len(weights)) * float(parents.sum())

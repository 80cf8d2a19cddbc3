"""Tests of what a linear model leaves over: equal variances, Gaussian shape, independence of the parents."""

from __future__ import annotations

from math import erfc, exp, sqrt

import numpy as np
from scipy.stats import rankdata

from acyclic.data.moments import Moments
from acyclic.facts import Doubt, Fact
from acyclic.graphs.dag import Dag
from acyclic.scores.equal_variances import EqualVariances
from acyclic.scores.regression import least_squares
from acyclic.types import Floats

__all__ = ["dependent_residuals", "equal_variances", "odd_residuals", "residuals_of"]


def equal_variances(moments: Moments, graph: Dag) -> EqualVariances:
    """Test equal noise variances on the residuals of each column regressed on its parents.

    >>> chain = Dag([[0, 1], [0, 0]])
    >>> equal_variances(Moments(1000, [0, 0], [[1.0, 1.0], [1.0, 2.0]]), chain).accepted
    True
    >>> equal_variances(Moments(1000, [0, 0], [[1.0, 0.7], [0.7, 1.0]]), chain).accepted
    False
    """
    return EqualVariances.of(moments, least_squares(moments.covariance, graph.adjacency))


def residuals_of(rows: Floats, moments: Moments, graph: Dag) -> Floats:
    """Shape (n, d): each centred column less its regression on its parents."""
    return (rows - moments.mean) @ (np.eye(graph.n_nodes) - least_squares(moments.covariance, graph.adjacency))


def odd_residuals(residuals: Floats, names: tuple[str, ...], level: float = 0.01) -> list[str]:
    """Columns whose residuals are not Gaussian, by the test of Jarque & Bera with Bonferroni's correction.

    The statistic n (skewness² / 6 + excess kurtosis² / 24) is χ² with two degrees of freedom under Gaussian noise.
    """
    n = len(residuals)
    found = []
    for j in np.flatnonzero(residuals.std(axis=0) > 0).tolist():
        z = (residuals[:, j] - residuals[:, j].mean()) / residuals[:, j].std()
        skewness, excess = float(np.mean(z**3)), float(np.mean(z**4)) - 3
        p_value = exp(-n * (skewness**2 / 6 + excess**2 / 24) / 2)
        if p_value * len(names) < level:
            found.append(names[j])
    return found


def dependent_residuals(rows: Floats, residuals: Floats, graph: Dag, level: float = 0.01) -> list[Fact[Doubt]]:
    """Edges whose residual depends on the parent, which no linear model without hidden causes explains.

    For each edge the ranks of residual r and parent x are correlated as (r, |x|), (|r|, x) and (|r|, |x|), about their
    medians: a bend, and two kinds of changing spread. Under independence √(n − 1) times a rank correlation is standard
    normal whatever the noise; the level is divided by the number of tests. Wiggles that none of the three sees pass.
    """
    pairs = np.argwhere(graph.adjacency).tolist()
    ranks = _Ranks(rows), _Ranks(residuals)
    found = []
    for i, j in pairs:
        (x, far), (r, wide) = ranks[0].of(i), ranks[1].of(j)
        tests = {"bends": r @ far, "spreads": wide @ x, "widens": wide @ far}
        kind, rho = max(tests.items(), key=lambda item: abs(item[1]))
        p_value = erfc(abs(float(rho)) * sqrt(max(len(rows) - 1, 1) / 2))
        if p_value * 3 * len(pairs) < level:
            doubt = Doubt.BENT if kind == "bends" else Doubt.SPREADING
            found.append(Fact.of(doubt, graph.names[i], graph.names[j], p_value=p_value))
    return found


class _Ranks:
    """Unit vectors of the centred ranks of columns, and of their distances from the median."""

    def __init__(self, values: Floats) -> None:
        self.values = values

    def of(self, column: int) -> tuple[Floats, Floats]:
        values = self.values[:, column]
        return _unit_ranks(values), _unit_ranks(np.abs(values - np.median(values)))


def _unit_ranks(values: Floats) -> Floats:
    ranks = rankdata(values)
    ranks -= ranks.mean()
    length = np.linalg.norm(ranks)
    return ranks / length if length > 0 else ranks

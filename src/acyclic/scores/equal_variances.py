"""Do the residuals of all columns have one variance: what that costs the likelihood, against what chance explains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from acyclic.data.moments import Moments
from acyclic.scores.residuals import noise_variances
from acyclic.types import Floats


@dataclass(frozen=True)
class EqualVariances:
    """Likelihood ratio of one noise variance per column against one for all.

    Attributes
    ----------
    statistic : float
        n (d log mean σ̂² − Σ log σ̂²), with unbiased residual variances σ̂².
    limit : float
        2 (d − 1) log n: twice what d − 1 more parameters cost under BIC. That is far above chance for Gaussian noise
        and leaves room for heavy tails, under which the statistic grows with the kurtosis (four times as large for
        exponential noise); variances that differ by a factor of two are rejected all the same.
    spread : float
        The largest residual variance over the smallest.
    """

    statistic: float
    limit: float
    spread: float

    @property
    def accepted(self) -> bool:
        """Whether the residual variances agree with each other."""
        return self.statistic <= self.limit

    @classmethod
    def of(cls, moments: Moments, weights: Floats) -> EqualVariances:
        """Test the residuals that weights leave."""
        held, parents = noise_variances(moments, weights)
        if not len(held):
            return cls(0.0, 0.0, 1.0)
        unbiased = held * moments.n / np.maximum(moments.n - parents - 1, 1)
        statistic = moments.n * float(len(held) * np.log(unbiased.mean()) - np.log(unbiased).sum())
        limit = 2 * (len(held) - 1) * float(np.log(moments.n))
        return cls(statistic, limit, float(unbiased.max() / unbiased.min()))

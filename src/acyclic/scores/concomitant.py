"""CoLiDE (Saboksayr, Mateos & Tepper 2024): least squares in which the scale of the noise is estimated along with W.

The scales σ are minimised out: what is left is a function of W alone, and its gradient is that of the published form at
the σ of each W. A least-squares gradient at the true weights grows with σ², this one with σ, so that one l1 serves a
wider range of noise.
"""

from __future__ import annotations

import numpy as np

from acyclic.data.moments import Moments
from acyclic.errors import InputError
from acyclic.scores.continuous import Score
from acyclic.scores.residuals import residual_variances, variances_and_products
from acyclic.types import Floats


class Colide(Score):
    """min_σ tr R/(2σ) + dσ/2 = √(d tr R), at σ² = tr R/d, R the covariance of the residuals: noise of one variance.

    Examples
    --------
    >>> moments = Moments(n=10, mean=[0, 0], covariance=[[1, 1], [1, 2]])
    >>> Colide(moments).value_and_gradient(np.array([[0, 1.0], [0, 0]]))[0]
    2.0
    """

    def __init__(self, moments: Moments) -> None:
        self.S = np.ascontiguousarray(moments.covariance)
        self.n_nodes = len(self.S)
        total = float(self.S.trace())
        if not total > 0:
            raise InputError("every column is constant; the scale of the noise needs a column that varies")
        self.scale = float(np.sqrt(self.n_nodes * total))
        # A residual variance of zero has no derivative of its root.
        self.floor = np.maximum(1e-12 * np.maximum(self.S.diagonal(), 1e-12 * total), np.finfo(float).tiny)

    def _sigmas(self, variances: Floats) -> Floats:
        held = np.maximum(variances, self.floor)
        return np.full(self.n_nodes, np.sqrt(held.mean()))

    def value_and_gradient(self, W: Floats) -> tuple[float, Floats]:
        """See Score: Σ σ_j and −S(I − W)/σ."""
        variances, SR = variances_and_products(self.S, W)
        sigmas = self._sigmas(variances)
        return float(sigmas.sum()), SR * np.where(variances > self.floor, -1 / sigmas, 0.0)

    def curvature(self, W: Floats) -> tuple[Floats, Floats]:
        """See Score: that of the squares at fixed σ, an upper bound."""
        return self.S, 1 / self._sigmas(residual_variances(self.S, W))


class ColideUnequal(Colide):
    """min_σ ½ Σ_j (R_jj/σ_j + σ_j) = Σ_j √R_jj: each noise with a variance of its own."""

    def _sigmas(self, variances: Floats) -> Floats:
        return np.sqrt(np.maximum(variances, self.floor))

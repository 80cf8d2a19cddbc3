"""Moments drawn from their own sampling distribution, where there are no rows to draw from."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy.linalg import lapack

from acyclic.data.moments import Moments
from acyclic.types import Floats

__all__ = ["wishart"]


def wishart(moments: Moments, n: float, rng: Generator) -> Moments:
    """Moments of n Gaussian rows whose population has the given mean and covariance S = RᵀR.

    n S* ~ Wishart(n − 1, S) by Bartlett's decomposition, or as the sum of n − 1 squares where n ≤ d; the mean is drawn
    from N(m, S / n).
    """
    d = len(moments.names)
    root = _root(moments.covariance)
    if n - 1 >= d:
        factor = np.tril(rng.standard_normal((d, d)), -1)
        np.fill_diagonal(factor, np.sqrt(rng.chisquare(n - 1 - np.arange(d))))
        deviations = factor.T @ root
    else:
        deviations = rng.standard_normal((max(round(n) - 1, 1), d)) @ root
    mean = moments.mean + rng.standard_normal(d) @ root / np.sqrt(n)
    return Moments(n, mean, deviations.T @ deviations / n, moments.names)


def _root(covariance: Floats) -> Floats:
    """R with RᵀR = S, for any positive semi-definite S in any units."""
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.where(scale > 0, scale, 1.0) / np.where(scale > 0, scale, 1.0)[:, None]
    factor, failed = lapack.dpotrf(correlation, lower=0, clean=1)
    if failed:
        values, vectors = np.linalg.eigh(correlation)
        factor = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return np.asarray(factor * scale)

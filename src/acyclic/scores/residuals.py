"""What weights leave unexplained: the variances of the residuals."""

from __future__ import annotations

import numpy as np

from acyclic.data.dependence import EXPLAINED
from acyclic.data.moments import Moments
from acyclic.types import Floats, Integers


def residual_variances(covariance: Floats, weights: Floats) -> Floats:
    """diag((I − W)ᵀS(I − W)), shape (d,): the variance of each column less its expectation given its parents.

    Examples
    --------
    >>> residual_variances(np.array([[1.0, 2.0], [2.0, 13.0]]), np.array([[0.0, 2.0], [0.0, 0.0]]))
    array([1., 9.])
    """
    return variances_and_products(covariance, weights)[0]


def variances_and_products(covariance: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The residual variances (d,), and S(I − W), (d, d), from which they and the gradients of scores follow."""
    products = covariance @ weights
    np.subtract(covariance, products, out=products)
    return np.maximum(products.diagonal() - np.einsum("ij,ij->j", weights, products), 0.0), products


def noise_variances(moments: Moments, weights: Floats) -> tuple[Floats, Integers]:
    """Residual variances of the columns that vary, none quite zero, and their numbers of parents."""
    own = np.diag(moments.covariance)
    varying = own > 0
    left = np.maximum(residual_variances(moments.covariance, weights), EXPLAINED * own)
    return left[varying], np.count_nonzero(weights, axis=0)[varying]

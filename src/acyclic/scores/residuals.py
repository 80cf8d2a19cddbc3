"""What weights leave unexplained: the variances of the residuals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from acyclic.data.dependence import EXPLAINED
from acyclic.data.moments import Moments
from acyclic.types import Floats, Integers

LARGE = 200
"""Nodes from which on matrices of few edges are multiplied by their edges: below, whole products take no longer."""

# The share of edges below which they do; an operation on one of them costs some ten in a product of whole matrices.
_SHARE = 0.05
# With more columns than this and fewer parents for each, residuals are computed column by column.
_MANY, _SPARSE = 1000, 50


def residual_variances(covariance: Floats, weights: Floats) -> Floats:
    """diag((I − W)ᵀS(I − W)), shape (d,): the variance of each column less its expectation given its parents.

    Examples
    --------
    >>> residual_variances(np.array([[1.0, 2.0], [2.0, 13.0]]), np.array([[0.0, 2.0], [0.0, 0.0]]))
    array([1., 9.])
    """
    if len(weights) > _MANY and np.count_nonzero(weights) < _SPARSE * len(weights):
        return _sparse_variances(covariance, weights)
    return variances_and_products(covariance, weights)[0]


def _sparse_variances(covariance: Floats, weights: Floats) -> Floats:
    """The same, read off the rows of the parents: where they are few, no product of whole matrices is needed."""
    left = np.array(covariance.diagonal())
    targets, sources = np.nonzero(weights.T)
    for parents in np.split(np.arange(len(targets)), np.flatnonzero(np.diff(targets)) + 1):
        if len(parents):
            j, those = targets[parents[0]], sources[parents]
            slopes, shared = weights[those, j], covariance[those, j]
            left[j] -= slopes @ shared + slopes @ (shared - covariance[np.ix_(those, those)] @ slopes)
    return np.maximum(left, 0.0)


def variances_and_products(covariance: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The residual variances (d,), and S(I − W), (d, d), from which they and the gradients of scores follow."""
    if is_sparse(weights):
        return _sparse_products(covariance, weights)
    products = covariance @ weights
    np.subtract(covariance, products, out=products)
    return np.maximum(products.diagonal() - np.einsum("ij,ij->j", weights, products), 0.0), products


def is_sparse(weights: Floats) -> bool:
    """Whether so many columns have so few parents that products go by these, not by whole matrices."""
    return len(weights) >= LARGE and bool(np.count_nonzero(weights) < _SHARE * weights.size)


def _sparse_products(covariance: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The same from the parents of each column alone."""
    edges: Any = sparse.csr_array(weights.T)
    products: Floats = edges @ covariance
    np.subtract(covariance, products, out=products)
    return np.maximum(products.diagonal() - np.einsum("ji,ij->i", weights, products), 0.0), products.T


def noise_variances(moments: Moments, weights: Floats) -> tuple[Floats, Integers]:
    """Residual variances of the columns that vary, none quite zero, and their numbers of parents."""
    own = np.diag(moments.covariance)
    varying = own > 0
    left = np.maximum(residual_variances(moments.covariance, weights), EXPLAINED * own)
    return left[varying], np.count_nonzero(weights, axis=0)[varying]

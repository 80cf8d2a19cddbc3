"""Regressions of one column on others, from the covariance alone: weights of least squares, and the Lasso."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from acyclic._native import elastic_net
from acyclic.data.dependence import DEPENDENT
from acyclic.data.mask import Mask
from acyclic.deadline import Deadline
from acyclic.types import Bools, Floats, Integers


def least_squares(
    covariance: Floats, adjacency: Bools, mask: Mask | None = None, *, deadline: Deadline | None = None
) -> Floats:
    """Weights (d, d) of each column regressed on its parents, within the bounds of prior knowledge.

    Parents that determine each other share the weight of least norm, in units of standard deviations. Raises Stopped
    when the deadline passes.

    Examples
    --------
    >>> least_squares(np.array([[1.0, 2.0], [2.0, 5.0]]), np.array([[False, True], [False, False]]))
    array([[0., 2.],
           [0., 0.]])
    """
    weights = np.zeros(adjacency.shape)
    for target in np.flatnonzero(adjacency.any(axis=0)).tolist():
        if deadline is not None:
            deadline.check()
        parents = np.flatnonzero(adjacency[:, target])
        weights[parents, target] = _slopes(covariance, parents, target)
    if mask is not None and not mask.is_free:
        lower, upper = np.where(adjacency, mask.lower, 0.0), np.where(adjacency, mask.upper, 0.0)
        for target in np.flatnonzero(((weights < lower) | (weights > upper)).any(axis=0)).tolist():
            inside = np.clip(weights[:, target], lower[:, target], upper[:, target])
            free = np.zeros(len(covariance))
            limits = lower[:, target], upper[:, target]
            weights[:, target] = lasso(covariance, target, free, *limits, inside, deadline=deadline)
    return weights


def least_squares_of_edges(
    covariance: Floats, sources: Integers, targets: Integers, mask: Mask | None = None
) -> Floats:
    """As `least_squares`, for a graph given by its edges; read-only.

    Examples
    --------
    >>> least_squares_of_edges(np.array([[1.0, 2.0], [2.0, 5.0]]), np.array([0]), np.array([1]))
    array([[0., 2.],
           [0., 0.]])
    """
    weights = np.zeros(covariance.shape)
    if mask is not None and not mask.is_free:
        weights[sources, targets] = 1.0
        weights = least_squares(covariance, (weights != 0) | mask.required, mask)
    else:
        order = np.lexsort((sources, targets))
        sources, targets = sources[order], targets[order]
        for edges in np.split(np.arange(len(targets)), np.flatnonzero(np.diff(targets)) + 1):
            if len(edges):
                target, parents = int(targets[edges[0]]), sources[edges]
                weights[parents, target] = _slopes(covariance, parents, target)
    weights.flags.writeable = False
    return weights


def regress_on_lower(covariance: Floats, rank: Floats) -> Floats:
    """Weights (d, d) of each column regressed on all columns of lower rank, as `least_squares` gives them.

    These parents are nested: one factor serves all columns, and it takes O(d³) in place of O(d⁴).

    Examples
    --------
    >>> regress_on_lower(np.array([[1.0, 2.0], [2.0, 5.0]]), np.array([0.0, 1.0]))
    array([[0., 2.],
           [0., 0.]])
    """
    order = np.argsort(rank, kind="stable")
    scale = np.sqrt(covariance.diagonal())
    scale = np.where(scale > 0, scale, 1.0)
    factor, failed = lapack.dpotrf((covariance / np.outer(scale, scale))[np.ix_(order, order)], lower=1)
    if failed or factor.diagonal().min() ** 2 < DEPENDENT:
        return least_squares(covariance, rank[:, None] < rank)
    weights, sorted_ranks = np.zeros(covariance.shape), rank[order]
    for level in np.unique(rank)[1:]:
        first, end = np.searchsorted(sorted_ranks, level, "left"), np.searchsorted(sorted_ranks, level, "right")
        parents, targets = order[:first], order[first:end]
        # The rows of the factor are the targets, solved for halfway.
        slopes = lapack.dtrtrs(factor[:first, :first], factor[first:end, :first].T, lower=1, trans=1)[0]
        weights[np.ix_(parents, targets)] = slopes * (scale[targets] / scale[parents, None])
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
    covariance: Floats,
    target: int,
    l1: Floats,
    lower: Floats,
    upper: Floats,
    start: Floats,
    tolerance: float = 1e-10,
    *,
    deadline: Deadline | None = None,
) -> Floats:
    """Minimise (1/2n)‖x_target − Xb‖² + Σ l1_i|b_i| over lower ≤ b ≤ upper; all arrays are (d,)."""
    scaled = tolerance * float(np.sqrt(max(covariance[target, target], np.finfo(float).tiny)))
    S, no_ridge = np.ascontiguousarray(covariance), np.zeros(len(covariance))
    l1, lower, upper, start = (np.ascontiguousarray(a, dtype=float) for a in (l1, lower, upper, start))
    return elastic_net(S, -S[target], l1, no_ridge, lower, upper, start, scaled, 10_000, deadline=deadline)

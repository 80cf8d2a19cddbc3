"""Orders of the nodes by equal noise variances, and polished."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg.lapack import dpstrf

from acyclic._native import polish_order
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.ties import find_smallest
from acyclic.deadline import Deadline
from acyclic.discrete.selection import checked_order
from acyclic.errors import InputError
from acyclic.types import Bools, Floats, Integers

__all__ = ["as_bytes", "equal_variance_order", "equal_variance_score", "explained_last", "extend_order", "polish"]

_PANEL = 64
# What a column that others determine has left: well above rounding, which must not choose the order.
_RIDGE = 1e-10


def equal_variance_order(moments: Moments, mask: Mask | None = None, *, deadline: Deadline | None = None) -> Integers:
    """Order the nodes by taking, again and again, the one with the smallest variance given those taken.

    With equal noise variances that is a causal order (Chen, Drton & Wang 2019). It is the Cholesky
    factorisation of the covariance with minimum-diagonal pivoting, O(d³) in blocks.

    With n rows, at most as many predecessors are conditioned on as leave a tenth of the n − 1 degrees of freedom:
    with more, residual variances are mostly chance. Nodes after that come by their variance given these.
    A node that is a linear function of those taken comes next and adds nothing to them. Of variances that differ by
    rounding alone, as those of standardised columns do, the first counts as the smallest.

    Parameters
    ----------
    moments : Moments
    mask : Mask, optional
        A node is taken only after all that must precede it.
    deadline : Deadline, optional
        Raises Stopped when it passes.

    Returns
    -------
    ndarray of int, shape (d,)

    Examples
    --------
    >>> moments = Moments(1000, [0, 0, 0], [[6, 2, 5], [2, 1, 2], [5, 2, 5]])
    >>> equal_variance_order(moments).tolist()
    [1, 2, 0]
    """
    S, d = moments.covariance, len(moments.names)
    blockers = _Blockers(None if mask is None else mask.precedence, d)
    residual, nodes, order = S.copy(), np.arange(d), list[int]()
    used = _predecessors_used(moments.n, d)
    while len(nodes):
        if deadline is not None:
            deadline.check()
        width = min(_PANEL, used - len(order))
        rounding = ((d + 10) * np.finfo(np.float64).eps + moments.rounding) * np.diag(S)[nodes]
        taken, factor = _take(residual, nodes, width if width > 0 else len(nodes), width > 0, rounding, blockers)
        order += nodes[taken].tolist()
        rest = np.setdiff1d(np.arange(len(nodes)), taken)
        nodes, residual = nodes[rest], residual[np.ix_(rest, rest)]
        residual -= factor[rest] @ factor[rest].T
    return np.array(order, dtype=np.intp)


def explained_last(correlation: Floats) -> Integers:
    """Order the nodes from the end by taking, again and again, the one that those left explain best.

    In many models what explains grows along the order; where it does not, this is an order like any other. It is the
    Cholesky factorisation of the precision matrix with maximum-diagonal pivoting. Units do not matter.

    Parameters
    ----------
    correlation : ndarray of shape (d, d)
        Of clearly more rows than columns: otherwise all are explained by chance.

    Examples
    --------
    >>> explained_last(np.array([[1, 0, 0.6], [0, 1, 0.7], [0.6, 0.7, 1]]))
    array([0, 1, 2])
    """
    precision = np.linalg.inv(correlation + _RIDGE * np.eye(len(correlation)))
    _, places, _, _ = dpstrf(precision)
    order = np.asarray(places[::-1] - 1, dtype=np.intp)
    order[:2].sort()  # the last two always explain each other alike: rounding must not choose
    return order


def equal_variance_score(moments: Moments, order: ArrayLike) -> float:
    """Σ_k n/(n − k) σ̂²(k-th node | those before it): the unbiased total noise variance of an order, k = 0, 1, ….

    The sum ends where `equal_variance_order` stops conditioning.
    """
    nodes = checked_order(order, moments.names)[: _predecessors_used(moments.n, len(moments.names)) + 1]
    L, unit = _factor(moments.covariance[np.ix_(nodes, nodes)])
    return unit * float(np.diag(L) ** 2 @ _inflation(moments.n, len(nodes)))


def polish(
    moments: Moments,
    order: ArrayLike,
    mask: Mask | None = None,
    *,
    reach: int = 64,
    max_sweeps: int = 100,
    deadline: Deadline | None = None,
) -> Integers:
    """Lower `equal_variance_score` by moving one node at a time to its best place, until no such move helps.

    Places before a node are all seen at the cost of reading its row of the Cholesky factor L; places after it, up
    to `reach`, by Givens rotations. An order of n ≤ d rows is polished up to where its score ends.

    Parameters
    ----------
    moments : Moments
    order : array_like of int, shape (d,)
        The nodes, causes first; left unchanged.
    mask : Mask, optional
        What must precede a node stays before it.
    reach : int
        How many places later a node is tried.
    max_sweeps : int
        The most passes over all nodes.
    deadline : Deadline, optional
        Raises Stopped when it passes.

    Returns
    -------
    ndarray of int, shape (d,)
    """
    if reach < 0 or max_sweeps < 0:
        raise InputError(f"reach is {reach!r} and max_sweeps {max_sweeps!r}; give numbers >= 0")
    nodes = checked_order(order, moments.names, mask)
    head = nodes[: _predecessors_used(moments.n, len(nodes)) + 1]
    L, _ = _factor(moments.covariance[np.ix_(head, head)])
    weight, before = _inflation(moments.n, len(head)), None if mask is None else mask.precedence
    precede = None if before is None else as_bytes(before[np.ix_(head, head)])
    tolerance = 1e-10 * float(np.diag(L) ** 2 @ weight)
    places = polish_order(L, weight, precede, reach, max_sweeps, tolerance, deadline=deadline)
    return np.concatenate([head[places], nodes[len(head) :]])


def as_bytes(flags: Bools) -> NDArray[np.uint8]:
    """Flags as kernels read them."""
    return np.ascontiguousarray(flags).view(np.uint8)


def _predecessors_used(n: float, d: int) -> int:
    return max(0, min(d - 1, int(0.9 * (n - 1))))


def _inflation(n: float, count: int) -> Floats:
    return np.asarray(n / (n - np.arange(count)))


def _factor(S: Floats) -> tuple[Floats, float]:
    """Cholesky factor of S / unit, with as much on the diagonal as makes it positive definite, and the unit.

    The unit is 1, or for small variances a power of 4: that changes no bit of the factor, but keeps its squares and the
    ridge away from underflow.
    """
    _, exponent = np.frexp(np.sqrt(np.diag(S).max()))
    unit = float(np.ldexp(1.0, 2 * min(int(exponent), 0)))
    S = S / unit
    scale, ridge = float(np.diag(S).mean()) or 1.0, 0.0
    # The last ridge is 1e12 times the mean variance: with that, any finite matrix of covariances is positive definite.
    for _ in range(14):
        try:
            return np.asarray(np.linalg.cholesky(S + ridge * np.eye(len(S)) if ridge else S)), unit
        except np.linalg.LinAlgError:
            ridge = max(100 * ridge, 1e-12 * scale)
    raise InputError("the covariance has no Cholesky factor; its entries have to be finite")


def _take(
    residual: Floats, nodes: Integers, width: int, condition: bool, rounding: Floats, blockers: _Blockers
) -> tuple[Integers, Floats]:
    """Take `width` nodes by smallest residual variance, and the first of those that `rounding` cannot tell apart.

    Returns their positions in `nodes` and columns of the factor.
    """
    left, taken = np.diag(residual).copy(), np.empty(width, dtype=np.intp)
    factor = np.zeros((len(nodes), width))
    free = np.ones(len(nodes), dtype=bool)
    for step in range(width):
        j = taken[step] = find_smallest(np.where(free & blockers.open(nodes), left, np.inf), rounding)
        free[j] = False
        blockers.take(nodes[j])
        if condition and left[j] > rounding[j]:
            column = residual[:, j] - factor[:, :step] @ factor[j, :step]
            factor[:, step] = column / np.sqrt(left[j])
            left -= factor[:, step] ** 2
    return taken, factor


class _Blockers:
    """How many nodes still have to come before each."""

    def __init__(self, before: Bools | None, d: int) -> None:
        self.before = before
        self.count = np.zeros(d, dtype=np.intp) if before is None else before.sum(axis=0)

    def open(self, nodes: Integers) -> Bools:
        return np.asarray(self.count[nodes] == 0)

    def take(self, node: int) -> None:
        if self.before is not None:
            self.count -= self.before[node]


def extend_order(rank: Integers, before: Bools | None) -> Integers:
    """The order of the ranks, with nodes put off until all that must precede them has come."""
    if before is None:
        return np.argsort(rank)
    residual = np.diag(rank.astype(np.float64))
    nodes = np.arange(len(rank))
    return _take(residual, nodes, len(rank), False, np.zeros(len(rank)), _Blockers(before, len(rank)))[0]

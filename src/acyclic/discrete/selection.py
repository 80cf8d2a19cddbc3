"""Which parents to keep: forward–backward selection among the predecessors of each node, on moments alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acyclic import _native
from acyclic.data.dependence import EXPLAINED
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.deadline import Deadline
from acyclic.errors import InputError
from acyclic.scores.local import Noise, PenaltyRule, price_of_parent
from acyclic.scores.regression import least_squares
from acyclic.types import Floats, Integers

__all__ = ["select_parents"]

DETOURS = 5


def select_parents(
    moments: Moments,
    order: ArrayLike,
    penalty: PenaltyRule = "ebic",
    *,
    noise: Noise = "unequal",
    mask: Mask | None = None,
    max_parents: int | None = None,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> Floats:
    """Choose the parents of each node among its predecessors and fit their weights by least squares.

    Parents are added one by one, the one that explains most first, as long as that lowers the criterion; then
    dropped one by one, the one that explains least first, as long as that does. Since parents whose effects cancel
    show themselves only together, forward selection also goes up to five steps further, each worth a tenth of its
    cost or more, and the best set met counts. The criterion of node j is

        n log σ̂²(j | parents) + c |parents|        for unequal noise variances,
        n σ̂²(j | parents) / σ² + c |parents|       for equal ones,

    with σ² the pooled residual variance of a selection under the first. The second has more power if it holds.

    Parameters
    ----------
    moments : Moments
    order : array_like of int, shape (d,)
        The nodes, causes first.
    penalty : float or str
        The price c of a parent, or a rule of `price_of_parent`.
    noise : {"unequal", "equal"}
    mask : Mask, optional
        Forbidden parents are never chosen, required ones always kept; weights stay within their bounds.
    max_parents : int, optional
        The most that forward selection takes, beyond the required; half of the rows if left out.
    threads : int, optional
        All processors if left out. The result does not depend on it.
    deadline : Deadline, optional
        Raises Stopped when it passes.

    Returns
    -------
    ndarray of shape (d, d)
        ``weights[i, j] != 0`` is the edge i → j.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(5, 500, random_state=1)
    >>> weights = select_parents(Moments.from_array(data.X), data.graph.order)
    >>> bool(((weights != 0) == data.graph.adjacency).all())
    True
    """
    criterion = ParentCriterion.of(moments, penalty, mask, max_parents)
    nodes = checked_order(order, moments.names, criterion.mask)
    workers = os.cpu_count() or 1 if threads is None else threads
    if workers < 1:
        raise InputError(f"threads is {threads!r}; give a number >= 1, or None for all processors")
    shares = noise_shares(noise, criterion, nodes, workers, deadline)
    return fit_parents(moments, criterion, nodes, shares, workers, deadline)[0]


@dataclass(frozen=True, eq=False)
class ParentCriterion:
    """What selection and search see: correlations, the cost of a parent and what is known of edges.

    Correlations make all that follows independent of units.
    """

    moments: Moments
    n: float
    penalty: float
    deviation: Floats
    mask: Mask
    max_parents: int

    @classmethod
    def of(cls, moments: Moments, penalty: PenaltyRule, mask: Mask | None, max_parents: int | None) -> ParentCriterion:
        """Check the arguments."""
        d = len(moments.names)
        mask = Mask.unrestricted(d, moments.names) if mask is None else mask
        if mask.names != moments.names:
            raise InputError("the mask was compiled for other columns; compile the knowledge with moments.names")
        if max_parents is not None and max_parents < 0:
            raise InputError(f"max_parents is {max_parents!r}; give a number >= 0, or None for half of the rows")
        most = (int(moments.n) - 1) // 2 if max_parents is None else max_parents
        deviation = np.sqrt(np.diag(moments.covariance))
        required = 0 if mask.is_free else int(mask.required.sum(axis=0).max())
        c = price_of_parent(penalty, moments.n, d)
        return cls(moments, moments.n, c, deviation, mask, min(d, int(moments.n) - 2, most + required))

    @cached_property
    def correlation(self) -> Floats:
        """Correlations (d, d), made when they are asked for: a search of many columns does without."""
        return self.moments.standardized().covariance

    def rules(self, nodes: Integers) -> tuple[NDArray[np.uint8] | None, NDArray[np.uint8] | None]:
        """Allowed and required parents over the nodes, row = target; None where nothing is restricted."""
        if self.mask.is_free:
            return None, None
        pairs = np.ix_(nodes, nodes)
        allowed, required = (rule[pairs].T for rule in (self.mask.allowed, self.mask.required))
        return np.ascontiguousarray(allowed).view(np.uint8), np.ascontiguousarray(required).view(np.uint8)


def checked_order(order: ArrayLike, names: Sequence[str], mask: Mask | None = None) -> Integers:
    """Give `order` as an index array, or say why it is no permutation or against the required edges."""
    nodes = np.asarray(order)
    d = len(names)
    if nodes.shape != (d,) or nodes.dtype.kind not in "iu" or not np.array_equal(np.sort(nodes), np.arange(d)):
        raise InputError(f"the order has to hold each of the {d} columns' positions 0, …, {d - 1} once; got {order!r}")
    if mask is not None and not mask.is_free:
        for early, late in np.argwhere(np.tril(mask.required[np.ix_(nodes, nodes)]))[:1]:
            edge = f"{names[nodes[early]]!r} → {names[nodes[late]]!r}"
            raise InputError(f"the order is against the required edge {edge}; put the source first")
    return nodes.astype(np.intp)


def noise_shares(
    noise: Noise,
    criterion: ParentCriterion,
    nodes: Integers,
    workers: int = 1,
    deadline: Deadline | None = None,
) -> Floats | None:
    """Pooled noise variance as a share of each node's own, from a selection with unequal ones; None for these."""
    if noise not in ("equal", "unequal"):
        raise InputError(f"noise is {noise!r}; give 'equal' or 'unequal'")
    if noise == "unequal":
        return None
    slopes, left = _select(criterion, nodes, None, workers, deadline)
    own = criterion.deviation**2
    freedom = np.maximum(criterion.n - 1 - np.count_nonzero(slopes, axis=0), 1)
    pooled = criterion.n * float(left @ own) / float(freedom[own > 0].sum() or 1)
    shares = np.divide(pooled, own, out=np.ones_like(own), where=(own > 0) & (pooled > 0))
    return np.clip(shares, np.finfo(float).tiny, np.finfo(float).max)


def fit_parents(
    moments: Moments,
    criterion: ParentCriterion,
    nodes: Integers,
    shares: Floats | None,
    workers: int = 1,
    deadline: Deadline | None = None,
) -> tuple[Floats, float]:
    """Weights (d, d) of the parents that the criterion selects, within the bounds of the mask, and its total."""
    slopes, left = _select(criterion, nodes, shares, workers, deadline)
    floor = np.maximum(left, EXPLAINED)[criterion.deviation > 0]
    misfit = np.log(floor) if shares is None else floor / shares[criterion.deviation > 0]
    total = float(criterion.n * misfit.sum() + criterion.penalty * np.count_nonzero(slopes))
    mask = criterion.mask
    if mask.is_free:
        return _raw_scale(slopes, criterion.deviation), total
    weights = least_squares(moments.covariance, (slopes != 0) | mask.required, mask, deadline=deadline)
    return weights, total


def _select(
    criterion: ParentCriterion, nodes: Integers, shares: Floats | None, workers: int, deadline: Deadline | None
) -> tuple[Floats, Floats]:
    """Slopes (d, d) between standardised columns, and the share of variance left to each."""
    slopes, left = _native.select_parents(
        np.ascontiguousarray(criterion.correlation[np.ix_(nodes, nodes)]),
        criterion.n,
        criterion.penalty,
        None if shares is None else np.ascontiguousarray(shares[nodes]),
        *criterion.rules(nodes),
        criterion.max_parents,
        DETOURS,
        threads=workers,
        deadline=deadline,
    )
    back = np.argsort(nodes)
    return slopes.T[np.ix_(back, back)], left[back]


def _raw_scale(slopes: Floats, deviation: Floats) -> Floats:
    sources, targets = np.nonzero(slopes)
    weights = np.zeros_like(slopes)
    weights[sources, targets] = slopes[sources, targets] * (deviation[targets] / deviation[sources])
    return weights

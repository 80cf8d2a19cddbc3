"""sortnregress: the naive baseline that sorts columns by variance, or by R², and regresses along that order."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from acyclic.data.dependence import DEPENDENT
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.data.ties import find_smallest
from acyclic.facts import Ended, Orientation
from acyclic.graphs.sortability import sortable_by_others
from acyclic.judging.judge import Found
from acyclic.learners.base import DagLearner
from acyclic.ranges import Range, one_of
from acyclic.running import Monitor, State
from acyclic.scores.local import price_of_parent
from acyclic.scores.regression import least_squares
from acyclic.scores.residuals import residual_variances
from acyclic.types import Callback, Floats, Integers

SORTED_BY = {"variance": Orientation.VARIANCE_ORDER, "r2": Orientation.R2_ORDER}


class SortnRegress(DagLearner):
    """Sort the columns by variance or by R², then regress each on those before it (Reisach et al. 2021, 2023).

    A baseline: a method that is no better than this on some data has used no more than the scale of the columns, or how
    well each is explained. For each column an adaptive Lasso picks the parents: with b the least-squares weights on all
    columns before it, the Lasso path in the weights divided by |b| is followed to the point of least BIC,
    RSS/s² + log n·(number of weights), s² the residual variance of the least-squares fit.

    Parameters
    ----------
    order : {"variance", "r2"}
        What the columns are sorted by, smallest first: variance, or R²_j = 1 − 1/(C⁻¹)_jj of column j given all others,
        C the correlation matrix, which does not depend on units.
    threshold : float
        Weights below it, in absolute value, are cut.
    knowledge : Knowledge or path, optional
        The order and the edges obey it; required edges are not shrunk.
    time_limit, callback
        As for `Notears`; columns that were not reached have no parents but those required.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=500, random_state=1)
    >>> raw, standardised = SortnRegress().fit(data.X), SortnRegress().fit(data.X / data.X.std(axis=0))
    >>> bool((raw.causal_graph_.order == standardised.causal_graph_.order).all())
    False
    """

    method = "sortnregress"
    RANGES: ClassVar[Mapping[str, Range]] = {"order": one_of(*SORTED_BY)}

    def __init__(
        self,
        *,
        order: str = "variance",
        threshold: float = 0.0,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.order = order
        self.threshold = threshold
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        moments = table.moments
        key, rounding = _sort_key(moments, self.order)
        order = sorted_order(key, mask, rounding)

        def regress(state: State) -> None:
            for place, target in enumerate(order.tolist()):
                before = np.zeros(len(order), dtype=bool)
                before[order[:place]] = True
                weights = np.array(state.weights)
                weights[:, target] = _sparse_column(moments, target, before & mask.allowed[:, target], mask)
                state.accept(weights=weights, steps=state.steps + 1)
                monitor.tick(state, "regression", np.nan, 0.0, 0.0)
            state.finish(Ended.COMPLETE)

        start = least_squares(moments.covariance, mask.required, mask)
        state = monitor.run(regress, State(start))
        return Found(
            solution=state.solution(0.5 * float(residual_variances(moments.covariance, state.weights).sum()), 0.0),
            method=self.method,
            orientation=SORTED_BY[self.order],
            settings={"order": self.order},
            threshold=self.threshold,
        )


def _sort_key(moments: Moments, by: str) -> tuple[Floats, Floats]:
    """What the columns are sorted by, and how far rounding may have moved it."""
    variances = moments.covariance.diagonal()
    if by == "variance":
        return variances, moments.rounding * variances
    return sortable_by_others(moments.covariance, DEPENDENT, moments.rounding)


def sorted_order(key: Floats, mask: Mask, rounding: Floats | float = 0.0) -> Integers:
    """Columns by rising key, except that each waits for those that have to precede it.

    Of keys that rounding cannot tell apart, the first comes first.
    """
    waiting = np.array(mask.must_precede)
    remaining = np.ones(len(key), dtype=bool)
    order = []
    while remaining.any():
        ready = remaining & ~waiting[remaining].any(axis=0)
        order.append(find_smallest(np.where(ready, key, np.inf), rounding))
        remaining[order[-1]] = False
    return np.array(order, dtype=np.intp)


def _sparse_column(moments: Moments, target: int, candidates: NDArray[np.bool_], mask: Mask) -> Floats:
    """Weights (d,) of a column: required parents by least squares, the rest by adaptive Lasso beside them."""
    S, required = moments.covariance, np.flatnonzero(mask.required[:, target])
    free = np.flatnonzero(candidates & ~mask.required[:, target])
    gram, moment, variance = S[np.ix_(free, free)], S[free, target], float(S[target, target])
    if len(required):
        # What the required parents explain is taken out first (Frisch & Waugh).
        both = np.append(free, target)
        taken = S[np.ix_(both, required)] @ _solve(S[np.ix_(required, required)], S[np.ix_(required, both)])
        gram, moment, variance = gram - taken[:-1, :-1], moment - taken[:-1, -1], variance - float(taken[-1, -1])
    column = np.zeros(len(S))
    column[free] = adaptive_lasso(gram, moment, variance, moments.n - len(required))
    kept = (column != 0) & (column >= mask.lower[:, target]) & (column <= mask.upper[:, target])
    column = np.where(kept, column, 0.0)
    if len(required):
        rest = S[required, target] - S[np.ix_(required, free)] @ column[free]
        slopes = _solve(S[np.ix_(required, required)], rest)
        column[required] = np.clip(slopes, mask.lower[required, target], mask.upper[required, target])
    return column


def _solve(gram: Floats, moments: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(gram, moments, rcond=DEPENDENT)[0])


def adaptive_lasso(gram: Floats, moment: Floats, variance: float, n: float) -> Floats:
    """Weights of least BIC on the Lasso path with penalties 1/|b|, b by least squares; shape (p,).

    Where rows are too few for least squares on all p candidates, those of largest correlation are taken, half as many
    as there are rows.
    """
    weights = np.zeros(len(moment))
    variances = np.maximum(gram.diagonal(), 0.0)
    varies = variances > 0
    strength = np.where(varies, np.abs(moment) / np.sqrt(np.where(varies, variances, 1.0)), 0.0)
    room = len(moment) if len(moment) + 1 < n else int(n // 2)
    chosen = np.sort(np.argsort(-strength, kind="stable")[:room])
    chosen = chosen[strength[chosen] > 0]
    if len(chosen):
        weights[chosen] = _path_end(gram[np.ix_(chosen, chosen)], moment[chosen], variance, n)
    return weights


def _path_end(gram: Floats, moment: Floats, variance: float, n: float) -> Floats:
    from sklearn.linear_model import lars_path_gram  # an eighth of what starting takes, and rarely needed

    p = len(moment)
    joint = np.block([[gram, moment[:, None]], [moment[None, :], np.full((1, 1), variance)]])
    parents = np.zeros((p + 1, p + 1), dtype=bool)
    parents[:p, p] = True
    slopes = least_squares(joint, parents)[:p, p]
    noise = max(variance - float(slopes @ moment), DEPENDENT * variance) * n / max(n - p - 1, 1.0)
    size = np.abs(slopes)
    if not noise > 0 or not size.any():
        return slopes
    with warnings.catch_warnings():
        # It warns where columns nearly determine each other and leaves one of them out, which is what is wanted.
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, _, path = lars_path_gram(size * moment, gram * np.outer(size, size), n_samples=1, method="lasso")
    steps = path * size[:, None]
    residual = variance - 2 * moment @ steps + np.einsum("ik,ij,jk->k", steps, gram, steps, optimize=True)
    parents = np.count_nonzero(np.abs(path) > np.finfo(float).eps, axis=0)
    bic = n * residual / noise + price_of_parent("bic", n, p) * parents
    return np.asarray(steps[:, int(bic.argmin())])

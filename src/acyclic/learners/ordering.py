"""What learners by orders share: an order first, parents among the predecessors second."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.deadline import Deadline, Shared
from acyclic.discrete.rivals import Rivals
from acyclic.errors import InputError
from acyclic.facts import Orientation
from acyclic.graphs.dag import Dag
from acyclic.judging.judge import Found
from acyclic.learners.base import PENALTY, DagLearner
from acyclic.ranges import NONE, Range, number
from acyclic.running import Monitor, State
from acyclic.scores.local import PenaltyRule, price_of_parent
from acyclic.scores.regression import least_squares
from acyclic.scores.residuals import residual_variances
from acyclic.types import Integers

EFFORT = number(least=0) | NONE


def resolve_effort(effort: float | None, time_limit: float | Deadline | None) -> float | None:
    """The effort of a search: None, until the time is up, only where all of the limit is for this fit alone."""
    if isinstance(time_limit, Deadline):
        shared = not time_limit.undivided
    else:
        shared = time_limit is None or isinstance(time_limit, Shared)
    return 1.0 if effort is None and shared else effort


def order_of_start(start: ArrayLike, names: Sequence[str]) -> Integers:
    """The order of a graph to start from, given by its weights; an InputError where they are of no DAG."""
    weights = np.asarray(start)
    if weights.shape != (len(names), len(names)):
        raise InputError(f"start has the shape {weights.shape}; give weights of {len(names)} × {len(names)} columns")
    return Dag(weights, names).order


class OrderLearner(DagLearner):
    """A learner that selects the parents of each node among its predecessors in an order.

    Attributes
    ----------
    order_ : ndarray of int (d,)
        The columns, causes first.
    """

    RANGES: ClassVar[Mapping[str, Range]] = {"penalty": PENALTY}
    orientation: ClassVar[Orientation]
    penalty: PenaltyRule
    threshold: float
    order_: Integers
    rivals_: Rivals | None = None

    @abstractmethod
    def _search(self, table: Table, mask: Mask, monitor: Monitor, state: State) -> None:
        """Find an order and its weights, from the required edges alone; both are kept when it is stopped."""

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        moments = table.moments
        start = least_squares(moments.covariance, mask.required, mask)
        self.order_, self.rivals_ = Dag(start).order, None
        state = monitor.run(lambda s: self._search(table, mask, monitor, s), State(start))
        loss = 0.5 * float(residual_variances(moments.covariance, state.weights).sum())
        return Found(
            solution=state.solution(loss, 0.0),
            method=self.method,
            orientation=self.orientation,
            threshold=self.threshold,
            details={"price of a parent": price_of_parent(self.penalty, moments.n, len(moments.names))},
            rivals=self.rivals_,
        )

"""Equal noise variances: an order first, parents second (Chen, Drton & Wang 2019)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import nan
from typing import ClassVar

import numpy as np

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.discrete.order import equal_variance_order, polish
from acyclic.discrete.screening import MANY_COLUMNS
from acyclic.discrete.search import search_orders
from acyclic.discrete.selection import select_parents
from acyclic.facts import Ended, Orientation
from acyclic.learners.ordering import OrderLearner
from acyclic.ranges import FLAG, Range
from acyclic.running import Monitor, State
from acyclic.scores.local import PenaltyRule
from acyclic.types import Callback


class EqualVariance(OrderLearner):
    """Learn a DAG under equal noise variances from an order (Chen, Drton & Wang 2019), in O(d³).

    The order takes, again and again, the node with the smallest variance given those taken; it is polished by moving
    single nodes, and the parents of each node are selected among its predecessors by forward–backward steps. Beyond
    1000 columns a node is given its parents among those taken, not all of them, and candidates are screened:
    `acyclic.discrete.screening`.

    Parameters
    ----------
    penalty : {"ebic", "bic", "strong"} or float
        Price of a parent in the selection: see `acyclic.scores.local.price_of_parent`.
    threshold : float
        Weights below it, in absolute value, are cut; 0 for none.
    polished : bool
        Whether the order is polished.
    knowledge : Knowledge or path, optional
        Prior knowledge; the result always obeys it.
    time_limit : float, optional
        Seconds after which the best so far is returned: before the parents are selected, that is the required edges.
    callback : callable, optional
        Called with a `Progress` after each stage; a true answer ends the fit.

    Attributes
    ----------
    order_ : ndarray of int (d,)
        The columns, causes first.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=500, random_state=1)
    >>> model = EqualVariance().fit(data.X)
    >>> bool((model.causal_graph_.adjacency == data.graph.adjacency).all())
    True
    """

    method = "equal-variance"
    orientation = Orientation.EQUAL_VARIANCES
    RANGES: ClassVar[Mapping[str, Range]] = {**OrderLearner.RANGES, "polished": FLAG}

    def __init__(
        self,
        *,
        penalty: PenaltyRule = "ebic",
        threshold: float = 0.0,
        polished: bool = True,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.penalty = penalty
        self.threshold = threshold
        self.polished = polished
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback

    def _search(self, table: Table, mask: Mask, monitor: Monitor, state: State) -> None:
        moments, deadline = table.moments, monitor.deadline
        if len(moments.names) > MANY_COLUMNS:
            self._search_many(table, mask, monitor, state)
            return
        order = equal_variance_order(moments, mask, deadline=deadline)
        monitor.tick(state, "equal-variance order", nan, 0.0, 0.0)
        if self.polished:
            order = polish(moments, order, mask, deadline=deadline)
        weights = select_parents(moments, order, self.price_, noise="equal", mask=mask, deadline=deadline)
        state.accept(weights=weights, steps=1)
        self.order_ = np.asarray(order)
        monitor.tick(state, "selection of parents", nan, 0.0, 0.0)
        state.finish(Ended.COMPLETE)

    def _search_many(self, table: Table, mask: Mask, monitor: Monitor, state: State) -> None:
        """The same among screened candidates: order and parents together."""
        found = search_orders(
            table.moments,
            penalty=self.price_,
            noise="equal",
            mask=mask,
            effort=float(self.polished),
            deadline=monitor.deadline,
            tell=monitor.tell(state, "equal-variance order"),
        )
        state.accept(weights=found.weights, steps=1)
        self.order_ = found.order
        monitor.tick(state, "selection of parents", nan, 0.0, 0.0)
        if found.end.kind.stopped:
            state.end = found.end
        else:
            state.finish(Ended.COMPLETE)

"""Order search: the best graph of an order under the Gaussian BIC, in the manner of BOSS (Andrews et al. 2023)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.discrete.order import equal_variance_order
from acyclic.discrete.search import search_graph
from acyclic.facts import Orientation
from acyclic.learners.ordering import (
    EFFORT,
    PENALTY_OR_EFFECTS,
    OrderLearner,
    order_of_start,
    resolve_effort,
    resolve_price,
)
from acyclic.ranges import Range
from acyclic.running import Monitor, State
from acyclic.scores.local import PenaltyChoice
from acyclic.types import Callback, Floats


class OrderSearch(OrderLearner):
    """Learn a DAG by a search for the lowest Gaussian BIC: proved best up to 20 columns, over orders beyond.

    Only correlations are used: units, standardisation and the order of the columns cannot change the result. What is
    learned is an equivalence class, ``cpdag_``; the graph is one of its members.

    Parameters
    ----------
    penalty : {"ebic", "bic", "strong", "effects"} or float
        Price of a parent, in units of −2 log-likelihood; see `price_of_parent`. "effects" lowers that of the extended
        BIC where effects are small; see `price_by_effects`.
    threshold, knowledge
        As for `EqualVariance`.
    effort : float, optional
        How much to search beyond 20 columns, up to which the answer is proved best: 1 is a second or two for 50
        columns; 0 only goes downhill from one order. None is 1, or with a time limit as much as it allows: until many
        generations of orders found nothing better, or the limit is near.
    start : array_like (d, d), optional
        Weights of a similar graph: the search is one descent from its order then.
    time_limit : float, optional
        Seconds after which the best so far is returned; an effort that is given may end before.
    callback : callable, optional
        Called with a `Progress` after each pass over the nodes; a true answer ends the fit.
    random_state : int
        Seed of the starts.

    Attributes
    ----------
    order_ : ndarray of int (d,)
        The columns, causes first.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=2000, variances=(0.5, 4.0), random_state=1)
    >>> OrderSearch().fit(data.X).cpdag_ == data.graph.cpdag()
    True
    """

    method = "order-search"
    orientation = Orientation.INDEPENDENCE
    RANGES: ClassVar[Mapping[str, Range]] = {"penalty": PENALTY_OR_EFFECTS, "effort": EFFORT}

    def __init__(
        self,
        *,
        penalty: PenaltyChoice = "ebic",
        threshold: float = 0.0,
        effort: float | None = None,
        start: Floats | None = None,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        random_state: int = 0,
    ) -> None:
        self.penalty = penalty
        self.threshold = threshold
        self.effort = effort
        self.start = start
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback
        self.random_state = random_state

    def _search(self, table: Table, mask: Mask, monitor: Monitor, state: State) -> None:
        moments = table.moments
        if self.start is None:
            first = equal_variance_order(moments.standardized(), mask, deadline=monitor.deadline)
            effort = resolve_effort(self.effort, self.time_limit)
        else:
            first, effort = order_of_start(self.start, moments.names), 0.0
        self.price_ = resolve_price(self.penalty, moments, first, mask, monitor.deadline)
        found = search_graph(
            moments,
            [first],
            self.price_,
            effort=effort,
            mask=mask,
            deadline=monitor.deadline,
            tell=monitor.tell(state, "order search"),
            random_state=self.random_state,
        )
        self.order_, self.rivals_ = np.asarray(found.order), found.rivals
        state.accept(weights=found.weights, steps=found.kicks, end=found.end)

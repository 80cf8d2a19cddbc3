"""Order search: the best graph of an order under the Gaussian BIC, in the manner of BOSS (Andrews et al. 2023)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.discrete.order import equal_variance_order, search_orders
from acyclic.facts import Orientation
from acyclic.learners.ordering import OrderLearner
from acyclic.ranges import Range, whole
from acyclic.running import Monitor, State
from acyclic.scores.local import PenaltyRule
from acyclic.types import Callback


class OrderSearch(OrderLearner):
    """Learn a DAG by a search over orders under the Gaussian BIC, in the manner of BOSS (Andrews et al. 2023).

    Only correlations are used: units and standardisation cannot change the result. What is learned is an equivalence
    class, ``cpdag_``; the graph is one of its members.

    Parameters
    ----------
    penalty, threshold, knowledge
        As for `EqualVariance`.
    n_starts : int
        Random orders from which the search starts, beside the order of smallest conditional correlations.
    time_limit : float, optional
        Seconds after which the best so far is returned.
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
    RANGES: ClassVar[Mapping[str, Range]] = {**OrderLearner.RANGES, "n_starts": whole(least=0)}

    def __init__(
        self,
        *,
        penalty: PenaltyRule = "ebic",
        threshold: float = 0.0,
        n_starts: int = 2,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        random_state: int = 0,
    ) -> None:
        self.penalty = penalty
        self.threshold = threshold
        self.n_starts = n_starts
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback
        self.random_state = random_state

    def _search(self, table: Table, mask: Mask, monitor: Monitor, state: State) -> None:
        moments = table.moments
        first = equal_variance_order(moments.standardized(), mask, deadline=monitor.deadline)
        found = search_orders(
            moments,
            [first],
            self.penalty,
            random_starts=self.n_starts,
            mask=mask,
            deadline=monitor.deadline,
            tell=monitor.tell(state, "order search"),
            random_state=self.random_state,
        )
        self.order_ = np.asarray(found.order)
        state.accept(weights=found.weights, steps=found.sweeps, end=found.end)

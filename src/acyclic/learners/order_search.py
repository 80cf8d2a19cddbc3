"""Order search: the best graph of an order under the Gaussian BIC, in the manner of BOSS (Andrews et al. 2023)."""

from __future__ import annotations

import os
import time

import numpy as np

from acyclic.data.knowledge import Knowledge
from acyclic.discrete.order import bic_order_search, equal_variance_order
from acyclic.discrete.selection import PenaltyRule
from acyclic.graphs.dag import Dag
from acyclic.judging.verdict import Verdict
from acyclic.learners.base import Table
from acyclic.learners.equal_variance import CLASS, _OrderLearner
from acyclic.running import Solution


class OrderSearch(_OrderLearner):
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
    random_state : int
        Seed of the starts.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=2000, variances=(0.5, 4.0), random_state=1)
    >>> OrderSearch().fit(data.X).cpdag_ == data.graph.cpdag()
    True
    """

    def __init__(
        self,
        *,
        penalty: PenaltyRule = "ebic",
        threshold: float = 0.0,
        n_starts: int = 2,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        random_state: int = 0,
    ) -> None:
        self.penalty = penalty
        self.threshold = threshold
        self.n_starts = n_starts
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.random_state = random_state

    def _learn(self, table: Table) -> tuple[Dag, Solution, Verdict]:
        started, moments = time.monotonic(), table.moments
        first = equal_variance_order(moments.standardized(), table.mask)
        found = bic_order_search(
            moments,
            [first],
            self.penalty,
            random_starts=self.n_starts,
            mask=table.mask,
            time_limit=self.time_limit,
            random_state=self.random_state,
        )
        self.order_ = np.asarray(found.order)
        converged = found.status == "complete"
        reason = "no move of a node improves the score" if converged else f"the search ended early: {found.status}"
        result = self._finish(table, found.weights, "Order search (Gaussian BIC)", CLASS, reason, converged, started)
        self.cpdag_ = result[0].cpdag()
        return result

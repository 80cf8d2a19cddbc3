"""Orders first, parents second: the learner for equal noise variances, and the one that needs no units."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import column_notes
from acyclic.discrete.order import equal_variance_order, polish
from acyclic.discrete.selection import PenaltyRule, penalty_per_parent, select_parents
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.judging.verdict import Verdict
from acyclic.learners.base import DagLearner, Table
from acyclic.running import Solution
from acyclic.types import Floats

EQUAL = "they rest on equal noise variances in the units given; another unit for a column can turn its edges"
CLASS = (
    "they rest on conditional independence, which fixes only the compelled edges; "
    "reversible edges are drawn in one of their possible directions"
)


class _OrderLearner(DagLearner):
    """A learner that selects the parents of each node among its predecessors in an order."""

    threshold: float

    def _finish(
        self, table: Table, weights: Floats, method: str, assumption: str, reason: str, converged: bool, started: float
    ) -> tuple[Dag, Solution, Verdict]:
        if not 0 <= self.threshold < np.inf:
            raise InputError(f"threshold has to be at least 0 and finite; got {self.threshold}")
        final = np.where((np.abs(weights) < self.threshold) & ~table.mask.required, 0.0, weights)
        graph = Dag(final, table.moments.names)
        residual = np.eye(len(final)) - weights
        loss = 0.5 * float(np.einsum("ij,ij->", residual, table.moments.covariance @ residual))
        solution = Solution(weights, converged, reason, loss, 0.0, 0, time.monotonic() - started)
        verdict = Verdict(
            method=method,
            converged=converged,
            reason=reason,
            assumption=assumption if graph.n_edges else "there is no edge to orient",
            n_nodes=graph.n_nodes,
            n_edges=graph.n_edges,
            h=0.0,
            threshold=float(self.threshold),
            n_cut=int(np.count_nonzero(weights) - graph.n_edges),
            empty="" if graph.n_edges else why_empty(table, weights, self.threshold),
            notes=tuple(note.message.rstrip(".") for note in column_notes(table.moments)),
            details={"penalty per parent": self._penalty(table)},
        )
        return graph, solution, verdict

    def _penalty(self, table: Table) -> float:
        penalty: Any = getattr(self, "penalty", "ebic")
        return penalty_per_parent(penalty, table.moments.n, len(table.moments.names))


class EqualVariance(_OrderLearner):
    """Learn a DAG under equal noise variances from an order (Chen, Drton & Wang 2019), in O(d³).

    The order takes, again and again, the node with the smallest variance given those taken; it is polished by moving
    single nodes, and the parents of each node are selected among its predecessors by forward–backward steps.

    Parameters
    ----------
    penalty : {"ebic", "bic", "strong"} or float
        Cost of a parent in the selection: see `acyclic.discrete.selection.penalty_per_parent`.
    threshold : float
        Weights below it, in absolute value, are cut; 0 for none.
    polished : bool
        Whether the order is polished.
    knowledge : Knowledge or path, optional
        Prior knowledge; the result always obeys it.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=500, random_state=1)
    >>> model = EqualVariance().fit(data.X)
    >>> bool((model.causal_graph_.adjacency == data.graph.adjacency).all())
    True
    """

    def __init__(
        self,
        *,
        penalty: PenaltyRule = "ebic",
        threshold: float = 0.0,
        polished: bool = True,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
    ) -> None:
        self.penalty = penalty
        self.threshold = threshold
        self.polished = polished
        self.knowledge = knowledge

    def _learn(self, table: Table) -> tuple[Dag, Solution, Verdict]:
        started, moments = time.monotonic(), table.moments
        order = equal_variance_order(moments, table.mask)
        if self.polished:
            order = polish(moments, order, table.mask)
        weights = select_parents(moments, order, self.penalty, noise="equal", mask=table.mask)
        self.order_ = np.asarray(order)
        reason = "the order was found and the parents were selected"
        return self._finish(table, weights, "Equal-variance order", EQUAL, reason, True, started)


def why_empty(table: Table, weights: Floats, threshold: float) -> str:
    """Why a selection gave no edge."""
    if len(weights) == 1:
        return "there is one column"
    if not table.mask.allowed.any():
        return "prior knowledge forbids every edge"
    if weights.any():
        return f"the largest weight is {np.abs(weights).max():.3g}, below the threshold of {threshold:g}"
    return "no column explains another by more than the penalty for an edge"

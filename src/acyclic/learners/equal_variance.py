"""Orders first, parents second: the learner for equal noise variances, and the one that needs no units."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments, column_notes
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.learners.base import DagLearner, Floats, Table
from acyclic.learners.verdict import Verdict
from acyclic.solvers.order import bic_order_search, equal_variance_order, polish
from acyclic.solvers.selection import PenaltyRule, penalty_per_parent, select_parents
from acyclic.solvers.solution import Solution

EQUAL = "they rest on equal noise variances in the units given; another unit for a column can turn its edges"
CLASS = (
    "they rest on conditional independence, which fixes only the compelled edges; "
    "reversible edges are drawn in one of their possible directions"
)


@dataclass(frozen=True)
class EqualVariances:
    """Likelihood ratio of one noise variance per column against one for all.

    Attributes
    ----------
    statistic : float
        n (d log mean σ̂² − Σ log σ̂²), with unbiased residual variances σ̂².
    limit : float
        2 (d − 1) log n: twice what d − 1 more parameters cost under BIC. That is far above chance for Gaussian noise
        and leaves room for heavy tails, under which the statistic grows with the kurtosis (four times as large for
        exponential noise); variances that differ by a factor of two are rejected all the same.
    spread : float
        The largest residual variance over the smallest.
    """

    statistic: float
    limit: float
    spread: float

    @property
    def accepted(self) -> bool:
        """Whether the residual variances agree with each other."""
        return self.statistic <= self.limit

    @classmethod
    def of(cls, moments: Moments, weights: Floats) -> EqualVariances:
        """Test the residuals that weights leave."""
        held, parents = residual_variances(moments, weights)
        if not len(held):
            return cls(0.0, 0.0, 1.0)
        unbiased = held * moments.n / np.maximum(moments.n - parents - 1, 1)
        statistic = moments.n * float(len(held) * np.log(unbiased.mean()) - np.log(unbiased).sum())
        limit = 2 * (len(held) - 1) * float(np.log(moments.n))
        return cls(statistic, limit, float(unbiased.max() / unbiased.min()))


def residual_variances(moments: Moments, weights: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Residual variances of the columns that vary, none quite zero, and their numbers of parents."""
    S = moments.covariance
    residual = np.eye(len(S)) - weights
    varying = np.diag(S) > 0
    left = np.einsum("ij,ij->j", residual, S @ residual)[varying]
    return np.maximum(left, 1e-12 * np.diag(S)[varying]), np.count_nonzero(weights, axis=0)[varying]


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
        Cost of a parent in the selection: see `acyclic.solvers.selection.penalty_per_parent`.
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


def why_empty(table: Table, weights: Floats, threshold: float) -> str:
    """Why a selection gave no edge."""
    if len(weights) == 1:
        return "there is one column"
    if not table.mask.allowed.any():
        return "prior knowledge forbids every edge"
    if weights.any():
        return f"the largest weight is {np.abs(weights).max():.3g}, below the threshold of {threshold:g}"
    return "no column explains another by more than the penalty for an edge"

"""The shell of learners that search over graphs: edges by search, weights by regression on the parents found."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from acyclic.data.moments import column_notes
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.judging.verdict import Verdict
from acyclic.learners.base import DagLearner, Table, _named, _obeying
from acyclic.running import Monitor, Solution
from acyclic.types import Callback, Floats

UNORIENTED = (
    "they follow from independences in the data as far as these tell them apart; an edge that an equivalent graph has "
    "the other way round was oriented arbitrarily"
)


class SearchLearner(DagLearner):
    """A learner whose search ends at a DAG."""

    threshold: float = 0.0
    time_limit: float | None
    callback: Callback | None

    @abstractmethod
    def _search(self, table: Table, monitor: Monitor) -> tuple[Solution, tuple[str, ...]]:
        """The acyclic weights, and what a reader should know of the search."""

    @abstractmethod
    def _describe(self) -> tuple[str, str]:
        """The method, and the assumption that orients edges, in words."""

    def _learn(self, table: Table) -> tuple[Dag, Solution, Verdict]:
        self._check_parameters()
        solution, warnings = self._search(table, Monitor(self.time_limit, self.callback))
        names, required = table.moments.names, table.mask.required
        weights, outside = _obeying(solution.weights, table.mask)
        kept = np.where((np.abs(weights) < self.threshold) & ~required, 0.0, weights)
        left_out = np.argwhere((solution.weights != 0) & (weights == 0)).tolist()
        graph = Dag(kept, names)
        method, assumption = self._describe()
        verdict = Verdict(
            method=method,
            converged=solution.converged,
            reason=solution.reason,
            assumption=assumption if graph.n_edges else "there is no edge to orient",
            n_nodes=graph.n_nodes,
            n_edges=graph.n_edges,
            h=0.0,
            threshold=float(self.threshold),
            n_cut=int(np.count_nonzero(weights) - np.count_nonzero(kept)),
            removed=tuple(_named([(i, j, float(solution.weights[i, j])) for i, j in left_out], names)),
            rule="weights outside of their bounds" if left_out else "",
            empty="" if graph.n_edges else self._why_empty(table, solution),
            notes=tuple(note.message.rstrip(".") for note in column_notes(table.moments)),
            warnings=(*outside, *warnings),
        )
        return graph, solution, verdict

    def _check_parameters(self) -> None:
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InputError(f"time_limit has to be a number of seconds, at least 0; got {self.time_limit}")
        if not 0 <= self.threshold < np.inf:
            raise InputError(f"threshold has to be at least 0 and finite; got {self.threshold}")

    def _why_empty(self, table: Table, solution: Solution) -> str:
        S: Floats = table.moments.covariance
        if len(S) == 1:
            return "there is one column"
        if not table.mask.allowed.any():
            return "prior knowledge forbids every edge"
        if not (S - np.diag(S.diagonal())).any():
            return "no two columns vary together"
        if not solution.converged:
            return "the search ended before its first edge"
        if solution.weights.any():
            return f"every weight is below the threshold of {self.threshold:g}, or outside of its bounds"
        return "no edge explains more than the penalty for it, at this number of rows"

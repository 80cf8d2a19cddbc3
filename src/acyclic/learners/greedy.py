"""Greedy searches under the Gaussian BIC: GES over equivalence classes, MMHC over DAGs inside a skeleton."""

from __future__ import annotations

import numpy as np

from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag
from acyclic.judging.verdict import Verdict
from acyclic.learners.base import Table
from acyclic.learners.searching import SearchLearner
from acyclic.running import Solution, State
from acyclic.scores.local import LocalScores
from acyclic.scores.regression import least_squares


class _Greedy(SearchLearner):
    penalty: float | None
    cpdag_: Cpdag

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.penalty is not None and not 0 <= self.penalty < np.inf:
            raise InputError(f"penalty has to be at least 0 and finite, or None for the BIC; got {self.penalty}")

    def _learn(self, table: Table) -> tuple[Dag, Solution, Verdict]:
        graph, solution, verdict = super()._learn(table)
        self.cpdag_ = graph.cpdag()
        return graph, solution, verdict

    def _finished(self, table: Table, scores: LocalScores, state: State) -> Solution:
        adjacency = state.weights != 0
        state.accept(weights=least_squares(table.moments.covariance, adjacency, table.mask))
        return state.solution(-scores.total(adjacency), 0.0)

    def _rule(self) -> str:
        return "½ log n" if self.penalty is None else f"{self.penalty:g}"

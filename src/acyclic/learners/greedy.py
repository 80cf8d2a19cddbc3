"""What greedy searches under a local score share: weights by regression on the parents found, and the class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.facts import Caution, Fact, Orientation
from acyclic.judging.judge import Found
from acyclic.learners.base import PENALTY, DagLearner
from acyclic.ranges import Range
from acyclic.running import State
from acyclic.scores.local import GaussianScore, LocalScore, PenaltyRule
from acyclic.scores.regression import least_squares


class GreedyLearner(DagLearner):
    """A learner whose search ends at a DAG of the best equivalence class that it found."""

    RANGES: ClassVar[Mapping[str, Range]] = {"penalty": PENALTY}
    penalty: PenaltyRule

    def _score(self, table: Table) -> LocalScore:
        """What the search improves; a learner with another local score overrides it."""
        return GaussianScore(table.moments, self.penalty)

    def _finish(
        self, table: Table, mask: Mask, score: LocalScore, state: State, settings: dict[str, Any], *said: Caution
    ) -> Found:
        adjacency = state.weights != 0
        state.accept(weights=least_squares(table.moments.covariance, adjacency, mask))
        return Found(
            solution=state.solution(score.total(adjacency), 0.0),
            method=self.method,
            orientation=Orientation.INDEPENDENCE,
            settings=settings,
            cautions=tuple(map(Fact.of, said)),
        )

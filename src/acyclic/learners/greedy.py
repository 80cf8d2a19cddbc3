"""What greedy searches under a local score share: weights by regression on the parents found, and the class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.errors import InputError
from acyclic.facts import Caution, Fact, Orientation
from acyclic.judging.judge import Found
from acyclic.learners.base import PENALTY, DagLearner
from acyclic.ranges import CALLABLE, NONE, Range
from acyclic.running import State
from acyclic.scores.local import GaussianScore, LocalScore, PenaltyRule
from acyclic.scores.regression import least_squares


class GreedyLearner(DagLearner):
    """A learner whose search ends at a DAG of the best equivalence class that it found."""

    RANGES: ClassVar[Mapping[str, Range]] = {"penalty": PENALTY, "local_score": CALLABLE | NONE}
    penalty: PenaltyRule
    local_score: Callable[[Table], LocalScore] | None = None

    def _score(self, table: Table) -> LocalScore:
        """What the search improves; a learner with another local score overrides it."""
        if self.local_score is None:
            return GaussianScore(table.moments, self.penalty)
        if self.penalty != "bic":
            raise InputError("penalty is the price of a parent in the Gaussian BIC; leave it out with local_score")
        made = self.local_score(table)
        if getattr(made, "n_nodes", None) != len(table.names) or not callable(getattr(made, "gains", None)):
            raise InputError(
                f"local_score gave {made!r} for {len(table.names)} columns; it has to give a LocalScore with as many "
                "n_nodes"
            )
        return made

    def _name_score(self) -> dict[str, Any]:
        own = self.local_score
        return {"penalty": self.penalty} if own is None else {"score": getattr(own, "__name__", repr(own))}

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

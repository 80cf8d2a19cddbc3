"""MMHC: hill climbing inside a skeleton of max-min parents and children (Tsamardinos, Brown & Aliferis 2006)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import ClassVar

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.discrete.hill_climbing import HillClimbing
from acyclic.discrete.skeleton import Mmpc
from acyclic.judging.judge import Found
from acyclic.learners.greedy import GreedyLearner
from acyclic.ranges import NONE, Range, number, whole
from acyclic.running import Monitor, State
from acyclic.scores.local import LocalScore, PenaltyRule
from acyclic.types import Callback


class Mmhc(GreedyLearner):
    """Learn a DAG by max-min hill climbing (Tsamardinos, Brown & Aliferis 2006) for continuous columns.

    First the skeleton, by `mmpc`; then additions, deletions and reversals of edges inside it, from the empty graph,
    while the Gaussian BIC improves. Both stages use the correlation matrix only: units of the columns do not matter.

    Parameters
    ----------
    alpha : float
        Level of the tests of partial correlation.
    max_conditioning : int or None
        Largest set that a test conditions on; None for all sizes, as first published, which takes time exponential in
        the number of neighbours of a node.
    penalty : {"bic", "strong", "ebic"} or float
        Price of a parent, in units of −2 log-likelihood: see `acyclic.scores.local.price_of_parent`.
    local_score : callable, optional
        A class of `LocalScore`, or a function of a `Table` that makes one, in the place of the Gaussian BIC.
    knowledge
        As for `Notears`. Pairs that may not be joined are left out of the skeleton, required edges are in it and in the
        graph.
    time_limit, callback
        As for `Notears`. A skeleton that was not finished is used as it stands.

    Attributes
    ----------
    skeleton_ : bool ndarray (d, d)
        Symmetric: the pairs that hill climbing was free to join.
    cpdag_ : Cpdag
        The equivalence class of ``causal_graph_``.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=500, random_state=1)
    >>> model = Mmhc().fit(data.X)
    >>> bool((model.causal_graph_.adjacency <= model.skeleton_).all())
    True
    """

    method = "mmhc"
    RANGES: ClassVar[Mapping[str, Range]] = {
        **GreedyLearner.RANGES,
        "alpha": number(above=0, below=1),
        "max_conditioning": whole(least=0) | NONE,
    }

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        max_conditioning: int | None = 3,
        penalty: PenaltyRule = "bic",
        local_score: Callable[[Table], LocalScore] | None = None,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.alpha = alpha
        self.max_conditioning = max_conditioning
        self.penalty = penalty
        self.local_score = local_score
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        score = self._score(table)
        choice = Mmpc(table.moments, self.alpha, self.max_conditioning, mask)

        def run(state: State) -> None:
            choice(monitor, state)
            inside = dataclasses.replace(mask, allowed=mask.allowed & choice.skeleton)
            HillClimbing(score, inside, mask.required)(monitor, state)

        state = monitor.run(run, State(mask.required.astype(float)))
        self.skeleton_ = choice.skeleton
        return self._finish(table, mask, score, state, {"alpha": self.alpha, **self._name_score()})

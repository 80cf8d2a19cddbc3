"""CAM: causal additive models (Bühlmann, Peters & Ernest 2014)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.discrete.cam import add_greedily
from acyclic.discrete.fitted import Fitted
from acyclic.facts import Empty, Ended, Fact, Orientation
from acyclic.graphs.dag import Dag
from acyclic.judging.judge import Found
from acyclic.learners.base import DagLearner, Outliers
from acyclic.ranges import Range, number
from acyclic.running import Monitor, State
from acyclic.scores.additive import prune_parents
from acyclic.scores.blocks import BlockScore
from acyclic.types import Bools, Callback


class Cam(DagLearner):
    """Learn a DAG of additive mechanisms x_j = Σ f_ij(x_i) + noise: CAM (Bühlmann, Peters & Ernest 2014).

    Edges are added one by one, the one that explains most first, as long as one explains more than the extended BIC
    asks for; then parents go that do not pass an F-test beside the others. Curves orient the edges: among linear
    mechanisms with normal noise a direction says nothing, and `Auto` asks the table whether there are any curves.

    Parameters
    ----------
    cutoff : float
        The p-value below which a parent stays.
    outliers : {"set-aside", "keep"}
        Whether rows that are far from all others are left out, with a note, lest they make edges, curves and arrows;
        heavy tails alone are none: see `acyclic.data.outliers`.
    knowledge : Knowledge or path, optional
        Prior knowledge; the result always obeys it.
    time_limit : float, optional
        Seconds after which the best so far is returned: the edges added by then, without a test.
    callback : callable, optional
        Called with a `Progress` after each edge; a true answer ends the fit.

    Attributes
    ----------
    order_ : ndarray of int (d,)
        The columns, causes first.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=6, n=500, graph="ER1", sem="gp-add", least_share=0.1, random_state=3)
    >>> model = Cam().fit(data.X)
    >>> bool((model.causal_graph_.adjacency == data.graph.adjacency).all())
    True
    """

    method = "cam"
    version = 2
    RANGES: ClassVar[Mapping[str, Range]] = {"cutoff": number(least=0, most=1)}

    def __init__(
        self,
        *,
        cutoff: float = 0.001,
        outliers: Outliers = "set-aside",
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.cutoff = cutoff
        self.outliers = outliers
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback

    @property
    def needs_rows(self) -> bool:
        """Whether moments are not enough."""
        return True

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        rows = table.rows()
        score = BlockScore.of(rows)
        varies = np.ptp(rows, axis=0) > 0
        usable = replace(mask, allowed=mask.allowed & (varies & varies[:, None] | mask.required))
        added = [0]

        def run(state: State) -> None:
            def tell(edges: Bools, gain: float) -> None:
                added[0] = int(edges.sum())
                state.accept(weights=edges.astype(float), steps=state.steps + 1)
                monitor.tick(state, "edges of additive mechanisms", gain, 0.0, 0.0)

            edges = add_greedily(score, usable, tell)
            self.order_ = Dag(edges.astype(float)).order
            monitor.deadline.check()
            state.accept(weights=prune_parents(rows, edges, self.cutoff, mask.required).astype(float))
            state.finish(Ended.COMPLETE)

        self.order_ = Dag(mask.required.astype(float)).order
        state = monitor.run(run, State(mask.required.astype(float)))
        edges = state.weights != 0
        fitted = fit_mechanisms(score, edges & varies[:, None])
        solution = state.solution(float(sum(family.score for family in fitted.families)), 0.0)
        return Found(
            solution=replace(solution, weights=fitted.slopes(rows)),
            method=self.method,
            orientation=Orientation.CURVATURE,
            settings={"cutoff": self.cutoff},
            empty=Fact.of(Empty.UNTESTED) if added[0] and not edges.any() else None,
            details={"edges before the test": added[0]},
            mechanisms=fitted,
        )


def fit_mechanisms(score: BlockScore, edges: Bools) -> Fitted:
    """The functions of a graph's edges, each as smooth as the score likes best."""
    families = (score.family(j, np.flatnonzero(edges[:, j]).tolist()) for j in range(len(edges)))
    return Fitted(score.features, tuple(families), (None,) * len(edges))

"""NOCURL: a potential for each node instead of a constraint (Yu, Gao, Yin & Ji 2021)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from acyclic.constraints.catalogue import constraint
from acyclic.continuous.minimisers import STEPS_ALONE, lbfgs, proximal_newton
from acyclic.continuous.problem import Minimiser, Penalty, Problem
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.facts import Empty, Ended, Fact, Orientation
from acyclic.graphs.reachability import close_transitively
from acyclic.learners.base import ContinuousLearner
from acyclic.ranges import Range, number, one_of
from acyclic.running import Monitor, Solution, State
from acyclic.scores.continuous import LeastSquares
from acyclic.scores.regression import least_squares, regress_on_lower
from acyclic.types import Callback, Floats

# The published code asks L-BFGS-B for this relative change of the objective, where NOTEARS takes SciPy's default.
PUBLISHED = {"ftol": 1e-8}


class NoCurl(ContinuousLearner):
    """Learn a DAG in two stages: an order from a soft-constrained fit, then regressions along that order.

    Stage 1 minimises F(W) + lambda1·h(W∘W), F = (1/2n)‖X − XW‖², then F(W) + lambda2·h(W∘W) from there, without L1
    term. Its weights below ``potential_threshold`` are cut; with D_i and A_i the numbers of nodes that i reaches and is
    reached from, node i gets the potential p_i = (A_i − D_i)/d up to a constant. Stage 2 is the least-squares fit of
    every node on all nodes of lower potential, which is W = U∘ReLU(grad p) at its minimum, in closed form. The result
    is acyclic by construction; nodes of equal potential are never joined.

    The published code does not centre the columns; here they are, as everywhere in this library.

    Parameters
    ----------
    lambda1, lambda2 : float
        Weights of the constraint in the two minimisations of stage 1. The published code, and with it the comparison
        in the TMPI paper, has 1000 and 1000; the authors' paper 10 and 1000.
    constraint : str or Constraint
        The DAG constraint h: any name that `acyclic.constraint` takes, or an object that it returned.
    threshold : float
        Weights of stage 2 below it, in absolute value, are cut.
    potential_threshold : float
        Weights of stage 1 below it do not count for the potential.
    inner : {"proximal-newton", "lbfgs"}
        The minimiser of stage 1: weighted ridge regressions, or the published L-BFGS-B. They minimise the same
        function, which has several minima.
    start, knowledge, time_limit, callback, checkpoint, n_jobs
        As for `Notears`.

    Attributes
    ----------
    potential_ : ndarray (d,)
        Edges lead from lower to higher potential.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=500, random_state=1)
    >>> model = NoCurl(lambda1=10).fit(data.X)
    >>> sources, targets = np.nonzero(model.adjacency_matrix_)
    >>> bool((model.potential_[sources] < model.potential_[targets]).all())
    True
    """

    # Stage 2 leaves no cycle to prune.
    pruning = "edges"

    method = "nocurl"
    version = 3
    RANGES: ClassVar[Mapping[str, Range]] = {
        "lambda1": number(above=0),
        "lambda2": number(above=0),
        "potential_threshold": number(least=0),
        "inner": one_of("proximal-newton", "lbfgs"),
    }

    def __init__(
        self,
        *,
        lambda1: float = 1000.0,
        lambda2: float = 1000.0,
        constraint: Any = "binomial",
        threshold: float = 0.3,
        potential_threshold: float = 0.3,
        inner: str = "proximal-newton",
        start: Floats | None = None,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.constraint = constraint
        self.threshold = threshold
        self.potential_threshold = potential_threshold
        self.inner = inner
        self.start = start
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs

    def _solve(self, table: Table, mask: Mask, monitor: Monitor) -> Solution:
        problem = Problem(LeastSquares(table.moments), constraint(self.constraint), 0.0, mask)
        threads = effective_n_jobs(self.n_jobs)
        minimise: Minimiser = partial(proximal_newton, max_steps=STEPS_ALONE, threads=threads)
        if self.inner == "lbfgs":
            minimise = partial(lbfgs, doubled=False, options=PUBLISHED)
        state = monitor.run(self._first_stage(problem, minimise, monitor), State(problem.start(self.start)))
        self.potential_ = potential(np.abs(state.reached) >= self.potential_threshold, mask)
        weights = self._second_stage(table.moments.covariance, mask)
        state.accept(weights=weights)
        return state.solution(problem.score.value_and_gradient(weights)[0], 0.0)

    def _first_stage(self, problem: Problem, minimise: Minimiser, monitor: Monitor) -> Callable[[State], None]:
        def run(state: State) -> None:
            for weight in (self.lambda1, self.lambda2)[state.round :]:
                state.shortfall = None
                task = problem.starting_at(state.weights)
                point = minimise(task, Penalty(alpha=weight), state, monitor, "potential")
                state.accept(weights=point.weights, h=point.h, round=state.round + 1)
                monitor.tick(state, "potential", point.objective, point.h, weight, ended=True)
            state.end = state.shortfall or Fact.of(Ended.MINIMUM_REACHED)

        return run

    def _second_stage(self, covariance: Floats, mask: Mask) -> Floats:
        if mask.is_free:
            return regress_on_lower(covariance, self.potential_)
        upward = self.potential_[:, None] < self.potential_[None, :]
        return least_squares(covariance, (upward & mask.allowed) | mask.required, mask)

    def _describe(self) -> tuple[Orientation, dict[str, Any]]:
        return Orientation.EQUAL_VARIANCES, {"lambda1": self.lambda1, "lambda2": self.lambda2}

    def _why_empty(self, table: Table) -> Fact[Empty] | None:
        if np.ptp(self.potential_) == 0:
            return Fact.of(Empty.NO_ORDER, threshold=self.potential_threshold)
        return None


def potential(edges: NDArray[np.bool_], mask: Mask) -> Floats:
    """(ancestors − descendants)/d of each node, shape (d,), edges that are required included.

    Solves Δp = div C, C the transitive closure of the edges and Δ the Laplacian of the complete graph, with mean 0.
    """
    reach = close_transitively((edges & mask.allowed) | mask.required)
    # Nodes of one cycle reach each other and themselves, which cancels.
    return np.asarray((reach.sum(axis=0) - reach.sum(axis=1)) / len(edges))

"""GOLEM: Gaussian likelihood with soft L1 and DAG penalties (Ng, Ghassami & Zhang 2020)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs

from acyclic._native.watching import LONG
from acyclic.constraints.catalogue import constraint
from acyclic.continuous.loops.soft_penalty import SoftPenalty
from acyclic.continuous.minimisers import STEPS_ALONE, Adam, lbfgs, proximal_newton
from acyclic.continuous.problem import H_OF, Minimiser, Penalty, Problem
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.errors import InputError
from acyclic.facts import Orientation
from acyclic.learners.base import ContinuousLearner
from acyclic.ranges import NONE, Range, number, one_of, whole
from acyclic.running import Monitor, Solution, State
from acyclic.scores.concave import with_mcp
from acyclic.scores.concomitant import Colide, ColideUnequal
from acyclic.scores.continuous import GaussianEqualVariance, GaussianUnequalVariance, Score
from acyclic.types import Callback, Floats

PUBLISHED_L1 = {"equal": 0.02, "unequal": 0.002}
COLIDE_L1 = 0.05
PRECISIONS: dict[str, type[np.floating[Any]]] = {"double": np.float64, "single": np.float32}
SCORES: dict[tuple[str, str], Callable[[Moments], Score]] = {
    ("likelihood", "equal"): GaussianEqualVariance,
    ("likelihood", "unequal"): GaussianUnequalVariance,
    ("colide", "equal"): Colide,
    ("colide", "unequal"): ColideUnequal,
}
DETOUR = 10.0
"""How many times larger the penalty of the first minimisation is under proximal Newton, whose long steps from zero may
leave the valley that Adam's small ones follow: on ER3 graphs of 50 nodes with the exponential constraint the mean SHD
is 12.7 without the detour and 5.0 with it. On 20 and 40 nodes factors of 3, 10 and 100 differ by chance only."""

ROUGHLY = 1e-4
"""Tolerance of that first minimisation. On 12 ER2 graphs of 100 nodes the second ends where it does after 1e-5, in 92
steps for 105 altogether, and on one of 500 nodes, in 140 for 166; after 1e-3 it ends elsewhere now and then."""


class Golem(ContinuousLearner):
    """Learn a DAG by min L(W) + l1·‖W‖₁ + h_weight·h(W∘W), L the Gaussian negative log-likelihood.

    Parameters
    ----------
    noise : {"equal", "unequal"}
        One noise variance for all columns (GOLEM-EV), or one for each (GOLEM-NV). The second starts from the solution
        of the first, as published, unless ``start`` is given.
    loss : {"likelihood", "colide"}
        L: the published likelihood, or CoLiDE's least squares divided by a noise scale that is estimated along with W,
        √(d tr R), or Σ √R_jj for unequal noise (R the covariance of the residuals). It has no log|det(I − W)|.
    constraint : str or Constraint
        The DAG constraint h: any name that `acyclic.constraint` takes, or an object that it returned.
    l1 : float, optional
        Weight of the L1 term; the published 0.02 for equal and 0.002 for unequal noise if left out, 0.05 for CoLiDE.
    mcp : float, optional
        γ of the minimax concave penalty in the place of the L1 term, as for `Notears`.
    h_of : {"squares", "absolute"}
        What h takes, W∘W or |W|, as for `Notears`.
    h_weight : float
        Weight of the constraint.
    threshold : float
        Weights below it, in absolute value, are cut.
    inner : {"proximal-newton", "adam", "lbfgs"}
        The minimiser: weighted elastic nets; Adam as published (``steps`` steps at ``rate``, no early stop); or
        L-BFGS-B on doubled variables. All minimise the same function.
    steps, rate, precision
        Settings of Adam. It computes in "double" precision, or in "single" as the published code does, which takes half
        the time on large graphs.
    detour : float, optional
        How many times ``h_weight`` the weight of a first minimisation is, from which the one that counts starts; 1 for
        none, as published. If left out, 10 under proximal Newton from zero, whose long steps may leave the valley that
        small ones follow, and 1 under the others and from a ``start``.
    pruning, start, knowledge, time_limit, callback, checkpoint, n_jobs
        As for `Notears`.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=500, random_state=1)
    >>> Golem().fit(data.X).verdict_.converged
    True
    """

    method = "golem"
    version = 4
    RANGES: ClassVar[Mapping[str, Range]] = {
        "noise": one_of(*PUBLISHED_L1),
        "loss": one_of("likelihood", "colide"),
        "l1": number(least=0) | NONE,
        "mcp": number(above=0) | NONE,
        "h_of": one_of(*H_OF),
        "h_weight": number(above=0),
        "inner": one_of("proximal-newton", "adam", "lbfgs"),
        "steps": whole(least=1),
        "rate": number(above=0),
        "precision": one_of(*PRECISIONS),
        "detour": number(least=1) | NONE,
    }

    def __init__(
        self,
        *,
        noise: str = "equal",
        loss: str = "likelihood",
        constraint: Any = "fast-tmpi",
        l1: float | None = None,
        mcp: float | None = None,
        h_of: str = "squares",
        h_weight: float = 5.0,
        threshold: float = 0.3,
        inner: str = "proximal-newton",
        steps: int = 100_000,
        rate: float = 1e-3,
        precision: str = "double",
        detour: float | None = None,
        pruning: str = "edges",
        start: Floats | None = None,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.noise = noise
        self.loss = loss
        self.constraint = constraint
        self.l1 = l1
        self.mcp = mcp
        self.h_of = h_of
        self.h_weight = h_weight
        self.threshold = threshold
        self.inner = inner
        self.steps = steps
        self.rate = rate
        self.precision = precision
        self.detour = detour
        self.pruning = pruning
        self.start = start
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs

    def _minimiser(self, tolerance: float = 1e-9) -> Minimiser:
        if self.precision == "single" and self.inner != "adam":
            raise InputError(f"precision='single' is for inner='adam'; got inner={self.inner!r}")
        if self.inner == "adam":
            return Adam(steps=self.steps, rate=self.rate, dtype=PRECISIONS[self.precision])
        if self.inner == "lbfgs":
            return lbfgs
        threads = effective_n_jobs(self.n_jobs)
        return partial(proximal_newton, tolerance=tolerance, max_steps=STEPS_ALONE, threads=threads)

    def _detour(self) -> float:
        if self.detour is not None:
            return self.detour
        return DETOUR if self.inner == "proximal-newton" and self.start is None else 1.0

    def _l1(self, noise: str) -> float:
        if self.l1 is not None:
            return self.l1
        return PUBLISHED_L1[noise] if self.loss == "likelihood" else COLIDE_L1

    def _problem(self, noise: str, moments: Moments, mask: Mask) -> Problem:
        score, l1 = SCORES[self.loss, noise](moments), self._l1(noise)
        return Problem(with_mcp(score, l1, self.mcp, mask), constraint(self.constraint), l1, mask, self.h_of)

    def _solve(self, table: Table, mask: Mask, monitor: Monitor) -> Solution:
        noises = ["equal"] if self.noise == "equal" else ["equal", "unequal"]
        problems = [self._problem(noise, table.moments, mask) for noise in noises]
        if self.start is not None:
            problems = problems[-1:]
        *way, last = problems
        detour = self._detour() if self._detour() > 1 else None
        loop, minimise = SoftPenalty(self.h_weight, detour, tuple(way), self._minimiser(ROUGHLY)), self._minimiser()
        state = monitor.run(lambda s: loop(last, minimise, monitor, s), State(last.start(self.start)))
        if state.end is not None and state.end.kind.stopped and last.d**3 >= LONG:
            return state.solution(*monitor.told)
        point = last.at_end(state.reached, Penalty(alpha=self.h_weight))
        return state.solution(point.objective, point.h)

    def _describe(self) -> tuple[Orientation, dict[str, Any]]:
        # Gaussian noise of unequal variances identifies the equivalence class and no more.
        orientation = Orientation.EQUAL_VARIANCES if self.noise == "equal" else Orientation.INDEPENDENCE
        detour = {"detour": self._detour()} if self._detour() > 1 else {}
        told = {"noise": self.noise, "h_weight": self.h_weight, "l1": self._l1(self.noise), **detour}
        loss = {"loss": self.loss} if self.loss != "likelihood" else {}
        precision = {"precision": self.precision} if self.precision != "double" else {}
        mcp = {} if self.mcp is None else {"mcp": self.mcp}
        return orientation, {
            **told,
            **precision,
            **loss,
            **mcp,
            **({} if self.h_of == "squares" else {"h_of": self.h_of}),
        }

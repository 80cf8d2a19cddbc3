"""NOTEARS with any constraint: least squares (or logistic, Poisson) plus L1 under h(W∘W) = 0."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from joblib import effective_n_jobs

from acyclic.constraints.catalogue import constraint
from acyclic.continuous.loops.augmented_lagrangian import AugmentedLagrangian
from acyclic.continuous.loops.central_path import CentralPath
from acyclic.continuous.minimisers import MINIMISERS, ON_THE_WAY, proximal_newton
from acyclic.continuous.problem import H_OF, Minimiser, Penalty, Problem
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.facts import Orientation
from acyclic.learners.base import ContinuousLearner
from acyclic.ranges import NONE, Range, number, one_of, whole
from acyclic.running import Monitor, Solution, State
from acyclic.scores.concave import with_mcp
from acyclic.scores.concomitant import Colide, ColideUnequal
from acyclic.scores.continuous import GaussianEqualVariance, LeastSquares, Logistic, Poisson, Score
from acyclic.types import Callback, Floats

SOLVERS = ("augmented-lagrangian", "quadratic-penalty", "central-path")
# The losses F by name: those that moments determine, and those that need rows.
OF_MOMENTS: dict[str, Callable[[Moments], Score]] = {
    "l2": LeastSquares,
    "colide": Colide,
    "colide-unequal": ColideUnequal,
    "likelihood": GaussianEqualVariance,
}
OF_ROWS: dict[str, Callable[..., Score]] = {"logistic": Logistic, "poisson": Poisson}


class Notears(ContinuousLearner):
    """Learn a DAG by min F(W) + l1·‖W‖₁ subject to h(W∘W) = 0 (Zheng et al. 2018), with TMPI as default constraint.

    Parameters
    ----------
    constraint : str or Constraint
        The DAG constraint h: any name that `acyclic.constraint` takes, or an object that it returned.
    l1 : float, optional
        Weight of the L1 term; the published 0.1, or 0.05 for the likelihood and for CoLiDE, whose scales are others,
        if left out.
    mcp : float, optional
        γ of the minimax concave penalty (Zhang 2010) in the place of the L1 term: a weight w costs l1·|w| − w²/2γ up to
        γ·l1 and no more beyond, so that large weights are not shrunk. The larger γ, the closer to L1.
    h_of : {"squares", "absolute"}
        What h takes: W∘W as published, whose slope vanishes with the weight, or |W|, whose slope does not: an edge
        that would close a cycle then costs as under an L1 term, and becomes exactly 0.
    threshold : float
        Weights below it, in absolute value, are cut.
    loss : {"auto", "l2", "colide", "colide-unequal", "likelihood", "logistic", "poisson"}
        F: least squares (1/2n)‖X − XW‖² of centred columns; CoLiDE, the same divided by a noise scale that is
        estimated along with W, √(d tr R) or Σ √R_jj for the covariance R of the residuals; the likelihood of Gaussian
        noise with one variance, which finds better graphs along the central path; or the losses for columns of 0 and 1,
        or of counts. "auto" is the likelihood for the central path and least squares for the published loops. Or a
        class of `Score`, for a loss of one's own.
    solver : {"augmented-lagrangian", "quadratic-penalty", "central-path"}
        The outer loop: the published schedule; its variant without multiplier; or the path μ(F + l1‖W‖₁) + h for
        μ = 1, 0.1, 0.01, 0.001.
    inner : {"proximal-newton", "lbfgs"}
        The inner minimiser: weighted elastic nets, or the published L-BFGS-B on doubled variables.
    h_tol, rho_max, max_rounds
        Ends of the augmented Lagrangian and of the quadratic penalty.
    pruning : {"edges", "components"}
        What goes when cycles remain after the threshold: the weakest edges of the graph (GOLEM's rule), or the weakest
        on cycles only.
    start : array (d, d), optional
        Where to start; zero if left out.
    knowledge : Knowledge or path, optional
        Prior knowledge; the result always obeys it.
    time_limit : float, optional
        Seconds after which the best so far is returned.
    callback : callable, optional
        Called with a `Progress` after each step; a true answer ends the fit.
    checkpoint : path, optional
        File that is written every few seconds, and from which an interrupted fit goes on.
    n_jobs : int or None
        Threads of the inner minimiser, as scikit-learn counts them; the result does not depend on it.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> from acyclic.graphs.metrics import shd
    >>> data = simulate(n_nodes=8, n=500, random_state=0)
    >>> shd(data.graph, Notears().fit(data.X).causal_graph_)
    0
    """

    method = "notears"
    version = 3
    RANGES: ClassVar[Mapping[str, Range]] = {
        "l1": number(least=0) | NONE,
        "mcp": number(above=0) | NONE,
        "h_of": one_of(*H_OF),
        "loss": one_of("auto", *OF_MOMENTS, *OF_ROWS)
        | Range("a class of Score", lambda value: isinstance(value, type) and issubclass(value, Score)),
        "solver": one_of(*SOLVERS),
        "inner": one_of(*MINIMISERS),
        "h_tol": number(least=0),
        "rho_max": number(above=0),
        "max_rounds": whole(least=0),
    }

    def __init__(
        self,
        *,
        constraint: Any = "fast-tmpi",
        l1: float | None = None,
        mcp: float | None = None,
        h_of: str = "squares",
        threshold: float = 0.3,
        loss: str | type[Score] = "auto",
        solver: str = "augmented-lagrangian",
        inner: str = "proximal-newton",
        h_tol: float = 1e-8,
        rho_max: float = 1e16,
        max_rounds: int = 100,
        pruning: str = "edges",
        start: Floats | None = None,
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.constraint = constraint
        self.l1 = l1
        self.mcp = mcp
        self.h_of = h_of
        self.threshold = threshold
        self.loss = loss
        self.solver = solver
        self.inner = inner
        self.h_tol = h_tol
        self.rho_max = rho_max
        self.max_rounds = max_rounds
        self.pruning = pruning
        self.start = start
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs

    def _solve(self, table: Table, mask: Mask, monitor: Monitor) -> Solution:
        score = with_mcp(self._score(table), self._l1(), self.mcp, mask)
        problem = Problem(score, constraint(self.constraint), self._l1(), mask, self.h_of)
        minimise: Minimiser = MINIMISERS[self.inner]
        if self.inner == "proximal-newton":
            tolerance = ON_THE_WAY if self.solver == "central-path" else 1e-9
            minimise = partial(proximal_newton, tolerance=tolerance, threads=effective_n_jobs(self.n_jobs))
        loop = self._loop()
        state = monitor.run(lambda s: loop(problem, minimise, monitor, s), State(problem.start(self.start)))
        point = problem.at_end(state.reached, Penalty(alpha=1.0))
        return state.solution(point.objective, point.h)

    @property
    def needs_rows(self) -> bool:
        """Whether the loss is none of those that moments determine."""
        return self.loss in OF_ROWS if isinstance(self.loss, str) else self.loss.needs_rows

    @property
    def fixed_units(self) -> bool:
        """Whether the loss is one of zeros and ones, or of counts."""
        return self.loss in OF_ROWS

    def _loss(self) -> str:
        if not isinstance(self.loss, str):
            return self.loss.__name__
        if self.loss != "auto":
            return self.loss
        return "likelihood" if self.solver == "central-path" else "l2"

    def _l1(self) -> float:
        if self.l1 is not None:
            return self.l1
        return 0.05 if self._loss() in ("likelihood", "colide", "colide-unequal") else 0.1

    def _score(self, table: Table) -> Score:
        if not isinstance(self.loss, str):
            made: Any = self.loss  # its constructor takes what it says that it needs
            return made(table.rows(), table.names) if made.needs_rows else made(table.moments)  # type: ignore[no-any-return]
        loss = self._loss()
        return OF_ROWS[loss](table.rows(), table.names) if loss in OF_ROWS else OF_MOMENTS[loss](table.moments)

    def _loop(self) -> AugmentedLagrangian | CentralPath:
        if self.solver == "central-path":
            return CentralPath()
        multiplier = self.solver == "augmented-lagrangian"
        return AugmentedLagrangian(self.h_tol, self.rho_max, max_rounds=self.max_rounds, multiplier=multiplier)

    def _describe(self) -> tuple[Orientation, dict[str, Any]]:
        by_loss = self.needs_rows or not isinstance(self.loss, str)
        orientation = Orientation.LOSS if by_loss else Orientation.EQUAL_VARIANCES
        if self._loss() == "colide-unequal":
            # As for GOLEM: Gaussian noise of unequal variances identifies the equivalence class and no more.
            orientation = Orientation.INDEPENDENCE
        told = {"loss": self._loss(), "l1": self._l1(), "solver": self.solver}
        mcp = {} if self.mcp is None else {"mcp": self.mcp}
        return orientation, {**told, **mcp, **({} if self.h_of == "squares" else {"h_of": self.h_of})}

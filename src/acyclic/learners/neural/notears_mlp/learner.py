"""NOTEARS with nonlinear mechanisms: one network, or one expansion in a basis, for each column."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from acyclic.constraints.catalogue import constraint
from acyclic.continuous.problem import Penalty
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.errors import InputError
from acyclic.facts import Ended, Orientation
from acyclic.learners.neural.base import NeuralLearner, require_torch
from acyclic.ranges import Range, number, one_of, several, whole
from acyclic.running import Monitor, Solution, State
from acyclic.types import Callback, Floats

if TYPE_CHECKING:
    from acyclic.learners.neural.notears_mlp.problem import Mechanisms

BASES = ("mlp", "sobolev")
INNER = ("proximal-newton", "lbfgs")


class NotearsMlp(NeuralLearner):
    """Learn a DAG with nonlinear mechanisms by NOTEARS-MLP or NOTEARS-Sobolev (Zheng et al. 2020), any constraint.

    Minimises (1/2n)‖X̂ − X‖² + l1·Σ|Θ| + ½l2·Σ(weights²) subject to h(A) = 0, where network j predicts column j from
    all others, Θ^j_mi leads input i into its hidden unit m, and A_ij = Σ_m (Θ^j_mi)². Strengths are √A_ij.

    Parameters
    ----------
    constraint : str or Constraint
        The DAG constraint h: any name that `acyclic.constraint` takes, or an object that it returned.
    basis : {"mlp", "sobolev"}
        Perceptrons with logistic units; or sums Σ β_ik ψ_k(x_i) of sines, ψ_k(x) = μ_k sin(x/μ_k) with
        μ_k = 2/((2k + 1)π), whose l2 term is ½l2‖X̂‖²/n.
    hidden : int or tuple of int
        Units of the hidden layers; the number of sines for "sobolev".
    l1, l2 : float
        Weights of the penalties on the first layer and on the weights of all layers; biases are free.
    threshold : float
        Strengths below it are cut.
    inner : {"proximal-newton", "lbfgs"}
        The inner minimiser: damped Gauss–Newton with an elastic net for each node, from a start without edges; or the
        published L-BFGS-B on doubled variables, from the published random start, whose first weights are halved where
        the constraint would hide the loss. Both minimise the same function.
    h_tol, rho_max, max_rounds
        Ends of the augmented Lagrangian.
    standardize : bool
        Bring the columns to mean 0 and variance 1 first. Then units do not matter, but equal noise scales, which help
        to orient edges, are lost.
    random_state : int
        Seed of the first parameters.
    device : str
        Where torch keeps the rows and predicts them.
    pruning, knowledge, time_limit, callback, checkpoint
        As for `Notears`.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> from acyclic.graphs.metrics import shd
    >>> data = simulate(n_nodes=4, n=300, graph="ER1", sem="mlp", random_state=7)
    >>> shd(data.graph, NotearsMlp().fit(data.X).causal_graph_)
    0
    """

    method = "notears-mlp"
    version = 3
    RANGES: ClassVar[Mapping[str, Range]] = {
        "basis": one_of(*BASES),
        "hidden": whole(least=1) | several(whole(least=1)),
        "l1": number(least=0),
        "l2": number(least=0),
        "inner": one_of(*INNER),
        "h_tol": number(least=0),
        "rho_max": number(above=0),
        "max_rounds": whole(least=0),
    }

    def __init__(
        self,
        *,
        constraint: Any = "fast-tmpi",
        basis: str = "mlp",
        hidden: int | tuple[int, ...] = 10,
        l1: float = 0.01,
        l2: float = 0.01,
        threshold: float = 0.3,
        inner: str = "proximal-newton",
        h_tol: float = 1e-8,
        rho_max: float = 1e16,
        max_rounds: int = 100,
        pruning: str = "edges",
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        standardize: bool = False,
        random_state: int = 0,
        device: str = "cpu",
        time_limit: float | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        require_torch(self)
        self.constraint = constraint
        self.basis = basis
        self.hidden = hidden
        self.l1 = l1
        self.l2 = l2
        self.threshold = threshold
        self.inner = inner
        self.h_tol = h_tol
        self.rho_max = rho_max
        self.max_rounds = max_rounds
        self.pruning = pruning
        self.knowledge = knowledge
        self.standardize = standardize
        self.random_state = random_state
        self.device = device
        self.time_limit = time_limit
        self.callback = callback
        self.checkpoint = checkpoint

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.basis == "sobolev" and len(self._layers()) > 1:
            raise InputError(f"hidden has to be one number for the basis sobolev; got {self.hidden!r}")

    def _layers(self) -> tuple[int, ...]:
        return tuple(self.hidden) if isinstance(self.hidden, tuple | list) else (self.hidden,)

    def _mechanisms(self, rows: Floats) -> Mechanisms:
        from acyclic.learners.neural.notears_mlp.networks import Perceptrons
        from acyclic.learners.neural.notears_mlp.sobolev import Sobolev

        if self.basis == "sobolev":
            return Sobolev(rows, self._layers()[0], self.l2, self._torch_device())
        return Perceptrons(rows, self._layers(), self.l2, self._torch_device())

    def _minimiser(self) -> Any:
        from acyclic.learners.neural.notears_mlp.minimisers import lbfgs, proximal_newton

        if self.inner == "lbfgs":
            return lbfgs
        # Sines explain a small part of columns far from zero, and steps are cheap: the last digits count.
        return partial(proximal_newton, tolerance=1e-7) if self.basis == "sobolev" else proximal_newton

    def _solve(self, table: Table, mask: Mask, monitor: Monitor) -> Solution:
        from acyclic.learners.neural.notears_mlp.minimisers import NotFiniteError, OnwardLagrangian, within_sight
        from acyclic.learners.neural.notears_mlp.problem import NonlinearProblem

        mechanisms = self._mechanisms(self._rows(table))
        problem = NonlinearProblem(mechanisms, constraint(self.constraint), self.l1, mask)
        outer: Any = OnwardLagrangian(self.h_tol, self.rho_max, max_rounds=self.max_rounds)
        monitor.edges = lambda flat: int(np.count_nonzero(problem.strengths(flat)))

        def loop(state: State) -> None:
            try:
                outer(problem, self._minimiser(), monitor, state)
            except NotFiniteError:
                state.finish(Ended.NOT_FINITE, steps=state.steps)

        first = problem.start(mechanisms.start(self._generators()[0], edges=self.inner == "lbfgs"))
        with np.errstate(over="ignore", invalid="ignore"):
            state = monitor.run(loop, State(within_sight(problem, first)))
            point = problem.at(state.reached.reshape(problem.shape), Penalty(alpha=1.0))
        return replace(state.solution(point.objective, point.h), weights=problem.strengths(state.reached))

    def _describe(self) -> tuple[Orientation, dict[str, Any]]:
        units = "×".join(map(str, self._layers()))
        return Orientation.CURVATURE, {"basis": self.basis, "hidden": units, "l1": self.l1, "l2": self.l2}

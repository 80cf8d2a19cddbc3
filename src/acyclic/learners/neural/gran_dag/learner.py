"""GraN-DAG: a network for each column, under a DAG constraint on their path products (Lachapelle et al. 2020)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from acyclic.constraints.catalogue import constraint
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.discrete.neighbours import neighbours
from acyclic.facts import Empty, Fact, Orientation, Removal
from acyclic.judging.judge import Found
from acyclic.learners.neural.base import NeuralLearner, require_torch
from acyclic.ranges import FLAG, NONE, Range, number, one_of, whole
from acyclic.running import Monitor, Solution, State
from acyclic.scores.additive import prune_parents
from acyclic.types import Bools, Callback, Floats

if TYPE_CHECKING:
    from acyclic.learners.neural.gran_dag.training import Training

OUTPUTS = {"constant": 1, "network": 2}
# Columns from which on "auto" selects neighbourhoods first, as published.
MANY = 50


class GranDag(NeuralLearner):
    """Learn a DAG of Gaussian columns whose means (and scales) are networks of their parents.

    Minimises the mean of −log N(x_j; μ_j(x), σ_j) over rows and columns by RMSprop subject to h(A) = 0, where A_ij is
    the mean product of |weights| over the paths from input i to the outputs of network j. Then the edges go whose
    strength is smallest until no cycle is left, and those whose parent explains nothing by an F-test (CAM pruning).
    ``adjacency_matrix_`` holds the mean over rows of |∂ log p(x_j | x)/∂x_i| in the units trained on, that is, of
    standardised columns unless ``standardize=False``; or A with ``jacobian=False``. ``connectivity_`` is A at the end,
    and ``candidates_`` (d, d) the edges that training began with. ``solution_.objective`` is the loss on the
    validation rows.

    Parameters
    ----------
    variance : {"constant", "network"}
        One noise scale for each column, or a second output of its network (GraN-DAG++).
    constraint : str or Constraint
        The DAG constraint h: any name that `acyclic.constraint` takes, or an object that it returned; "exponential"
        is the published one.
    layers, hidden : int
        Hidden layers of each network, and units in each.
    rate, later_rate : float
        Rates of RMSprop in the first subproblem, and after it; the same if left out.
    batch_size, max_iterations : int
        Rows in a batch, drawn without replacement by walking through the shuffled rows; and the most steps.
    validation : float
        Share of the rows that the schedule watches rather than trains on.
    rho, growth, ratio, tolerance, window
        The schedule: μ at the start, its growth where h has not fallen to ``ratio`` times its last value, progress per
        iteration below which a subproblem is solved, and iterations between two looks.
    h_tol : float
        Training ends where h is at most this.
    clamp : float
        Edges whose connectivity falls to it are gone for good.
    neighbours : {None, "auto", "trees"}
        Preliminary neighbourhood selection by extremely randomised trees; "auto": where there are 50 columns or more,
        as published. It may take longer than the training.
    trees : int
        Of each forest, one for each column.
    jacobian : bool
        Whether the strength of an edge is the mean |Jacobian|, as published, or the connectivity.
    cam_cutoff : float or None
        Edges stay where the F-test of the parent's spline, among those of all parents, gives a p-value below it.
    pruning, knowledge, random_state, device, time_limit, callback, checkpoint
        As for the other learners. Steps of the trace are iterations; its rounds are subproblems.
    standardize : bool
        Whether to train on columns of mean 0 and variance 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=300)
    >>> X = np.column_stack([np.sin(2 * cause) + 0.3 * rng.normal(size=300), cause])
    >>> fit = GranDag(rate=1e-2, rho=1.0, tolerance=1e-2, window=20).fit(X)
    >>> [(source, target) for source, target, _ in fit.causal_graph_.edges()]
    [('x1', 'x0')]
    """

    # What the published rule "keep A > t + 1e-8" for the smallest t cuts before any cycle is looked at.
    threshold = 1e-8

    method = "gran-dag"
    version = 2
    RANGES: ClassVar[Mapping[str, Range]] = {
        "variance": one_of(*OUTPUTS),
        "neighbours": one_of("auto", "trees") | NONE,
        **{name: whole(least=1) for name in ("layers", "hidden", "batch_size", "max_iterations", "window", "trees")},
        **{name: number(above=0) for name in ("rate", "rho", "growth")},
        **{name: number(above=0) | NONE for name in ("later_rate", "cam_cutoff")},
        **{name: number(least=0) for name in ("ratio", "tolerance", "h_tol", "clamp")},
        "validation": number(above=0, below=1),
        "jacobian": FLAG,
    }

    def __init__(
        self,
        *,
        variance: str = "constant",
        constraint: Any = "fast-tmpi",
        layers: int = 2,
        hidden: int = 10,
        rate: float = 1e-3,
        later_rate: float | None = None,
        batch_size: int = 64,
        max_iterations: int = 100_000,
        validation: float = 0.2,
        rho: float = 1e-3,
        growth: float = 10.0,
        ratio: float = 0.9,
        tolerance: float = 1e-4,
        window: int = 100,
        h_tol: float = 1e-8,
        clamp: float = 1e-4,
        neighbours: str | None = None,
        trees: int = 500,
        jacobian: bool = True,
        cam_cutoff: float | None = 0.001,
        pruning: str = "edges",
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        standardize: bool = True,
        random_state: int = 0,
        device: str = "cpu",
        time_limit: float | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        require_torch(self)
        self.variance = variance
        self.constraint = constraint
        self.layers = layers
        self.hidden = hidden
        self.rate = rate
        self.later_rate = later_rate
        self.batch_size = batch_size
        self.max_iterations = max_iterations
        self.validation = validation
        self.rho = rho
        self.growth = growth
        self.ratio = ratio
        self.tolerance = tolerance
        self.window = window
        self.h_tol = h_tol
        self.clamp = clamp
        self.neighbours = neighbours
        self.trees = trees
        self.jacobian = jacobian
        self.cam_cutoff = cam_cutoff
        self.pruning = pruning
        self.knowledge = knowledge
        self.standardize = standardize
        self.random_state = random_state
        self.device = device
        self.time_limit = time_limit
        self.callback = callback
        self.checkpoint = checkpoint

    def _solve(self, table: Table, mask: Mask, monitor: Monitor) -> Solution:
        import torch

        rows = self._rows(table)
        with torch.inference_mode():
            fresh = State(np.zeros(mask.allowed.shape))
            state = monitor.run(lambda s: self._train(s, rows, mask, monitor), fresh)
            training = self._training(state, rows, mask)
            training.restore(state)
            strengths = training.strengths(self.jacobian)
            loss = training.networks.loss(training.held_out)
        self.candidates_ = self._candidates(state, rows, mask)
        self.connectivity_ = np.array(state.weights)
        h = constraint(self.constraint).value_and_gradient(self.connectivity_)[0]
        return replace(state.solution(loss, h), weights=strengths)

    def _train(self, state: State, rows: Floats, mask: Mask, monitor: Monitor) -> None:
        if self.neighbours == "trees" or (self.neighbours == "auto" and rows.shape[1] >= MANY):
            self._select(state, rows, mask, monitor)
        self._training(state, rows, mask).run(state, monitor)

    def _select(self, state: State, rows: Floats, mask: Mask, monitor: Monitor) -> None:
        """Narrow the candidates down, column by column; those not yet looked at keep all."""

        def pause() -> None:
            monitor.tick(state, "neighbourhoods", np.nan, np.nan, 0.0)

        while (target := int(state.memory.get("selected", np.zeros(1))[0])) < rows.shape[1]:
            candidates = self._candidates(state, rows, mask)
            found = neighbours(rows, target, trees=self.trees, random_state=self.random_state, pause=pause)
            candidates[:, target] &= found | mask.required[:, target]
            state.memory = {"candidates": candidates.astype(float), "selected": np.array([target + 1.0])}

    def _candidates(self, state: State, rows: Floats, mask: Mask) -> Any:
        """Edges (d, d) that training may use: allowed, between columns that vary, within neighbourhoods."""
        if "candidates" in state.memory:
            return state.memory["candidates"] > 0
        varies = np.ptp(rows, axis=0) > 0
        return mask.allowed & varies & varies[:, None] | mask.required

    def _training(self, state: State, rows: Floats, mask: Mask) -> Training:
        import torch

        from acyclic.learners.neural.gran_dag.training import Networks, Schedule, Training

        generator, device = self._generators()[1], self._torch_device()
        live = torch.from_numpy(self._candidates(state, rows, mask).T.astype(float)).to(device)
        order = torch.randperm(len(rows), generator=generator)
        train = min(max(int(len(rows) * (1 - self.validation)), 1), len(rows) - 1)
        shuffled = torch.from_numpy(rows)[order].to(device)
        return Training(
            networks=Networks(live, self.hidden, self.layers, OUTPUTS[self.variance]),
            rows=shuffled[:train],
            validation=shuffled[train:],
            constraint=constraint(self.constraint),
            required=torch.from_numpy(mask.required.T.copy()).to(device),
            schedule=Schedule(self.rho, self.growth, self.ratio, self.tolerance, self.window),
            generator=generator,
            rates=(self.rate, self.rate if self.later_rate is None else self.later_rate),
            batch_size=self.batch_size,
            max_iterations=self.max_iterations,
            clamp=self.clamp,
            h_tol=self.h_tol,
        )

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        found = super()._find(table, mask, monitor)
        clamped = int((self.candidates_ & (self.connectivity_ == 0)).sum())
        details = {"edges before training": int(self.candidates_.sum()), "edges clamped in training": clamped}
        return replace(found, keep=self._test(table, mask), details=details)

    def _test(self, table: Table, mask: Mask) -> Callable[[Bools], tuple[Bools, Fact[Removal]]] | None:
        """CAM pruning: which edges have a parent that explains something beside the others."""
        cutoff = self.cam_cutoff
        if cutoff is None:
            return None
        why = Fact.of(Removal.F_TEST, cutoff=cutoff)
        return lambda edges: (prune_parents(self._rows(table), edges, cutoff, mask.required), why)

    def _why_empty(self, table: Table) -> Fact[Empty] | None:
        return Fact.of(Empty.CLAMPED) if self.candidates_.any() else None

    def _describe(self) -> tuple[Orientation, dict[str, Any]]:
        constant = self.variance == "constant"
        settings = {"variance": self.variance, "layers": self.layers, "hidden": self.hidden}
        return Orientation.CURVATURE if constant else Orientation.MEAN_AND_SCALE, settings

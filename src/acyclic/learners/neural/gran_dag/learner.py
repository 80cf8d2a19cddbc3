"""GraN-DAG: a network for each column, under a DAG constraint on their path products (Lachapelle et al. 2020)."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from acyclic.constraints.catalogue import constraint
from acyclic.data.knowledge import Knowledge, Mask
from acyclic.discrete.neighbours import neighbours
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.judging.verdict import Verdict
from acyclic.learners.base import Table
from acyclic.learners.neural.base import NeuralLearner, require_torch
from acyclic.running import Monitor, Solution, State
from acyclic.scores.additive import prune_parents
from acyclic.types import Callback, Floats

if TYPE_CHECKING:
    from acyclic.learners.neural.gran_dag.training import Training

OUTPUTS = {"constant": 1, "network": 2}
# Columns from which on "auto" selects neighbourhoods first, as published.
MANY = 50
DROPPED = "edges dropped by the F-test"
NOTHING = "there is no edge to orient"


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
    penalty, growth, ratio, tolerance, window
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
    >>> fit = GranDag(rate=1e-2, penalty=1.0, tolerance=1e-2, window=20).fit(X)
    >>> [(source, target) for source, target, _ in fit.causal_graph_.edges()]
    [('x1', 'x0')]
    """

    # What the published rule "keep A > t + 1e-8" for the smallest t cuts before any cycle is looked at.
    threshold = 1e-8

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
        penalty: float = 1e-3,
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
        self.penalty = penalty
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

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, accepted in (("variance", tuple(OUTPUTS)), ("neighbours", ("auto", "trees", None))):
            if getattr(self, name) not in accepted:
                raise InputError(f"{name} has to be one of {accepted}; got {getattr(self, name)!r}")
        for name in ("layers", "hidden", "batch_size", "max_iterations", "window", "trees"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise InputError(f"{name} has to be a whole number, at least 1; got {value!r}")
        for name in ("rate", "later_rate", "penalty", "growth", "cam_cutoff"):
            value = getattr(self, name)
            if not (value is None and name in ("later_rate", "cam_cutoff")) and not 0 < value < np.inf:
                raise InputError(f"{name} has to be positive and finite; got {value!r}")
        for name in ("ratio", "tolerance", "h_tol", "clamp"):
            if not 0 <= getattr(self, name) < np.inf:
                raise InputError(f"{name} has to be at least 0 and finite; got {getattr(self, name)!r}")
        if not 0 < self.validation < 1:
            raise InputError(f"validation has to be a share between 0 and 1; got {self.validation!r}")

    def _solve(self, table: Table, monitor: Monitor) -> Solution:
        import torch

        rows, mask = self._rows(table), table.mask
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
            schedule=Schedule(self.penalty, self.growth, self.ratio, self.tolerance, self.window),
            generator=generator,
            rates=(self.rate, self.rate if self.later_rate is None else self.later_rate),
            batch_size=self.batch_size,
            max_iterations=self.max_iterations,
            clamp=self.clamp,
            h_tol=self.h_tol,
        )

    def _judge(self, table: Table, solution: Solution) -> tuple[Dag, Verdict]:
        graph, verdict = super()._judge(table, solution)
        verdict = replace(
            verdict,
            details={
                "edges before training": int(self.candidates_.sum()),
                "edges clamped in training": int((self.candidates_ & (self.connectivity_ == 0)).sum()),
                "edges cut to break cycles": len(verdict.removed),
            },
        )
        return (graph, verdict) if self.cam_cutoff is None else self._tested(table, graph, verdict, self.cam_cutoff)

    def _tested(self, table: Table, graph: Dag, verdict: Verdict, cutoff: float) -> tuple[Dag, Verdict]:
        """Without the edges whose parent explains nothing beside the others."""
        kept = prune_parents(self._rows(table), graph.adjacency, cutoff, table.mask.required)
        pruned = Dag(np.where(kept, graph.weights, 0.0), graph.names)
        dropped = graph.n_edges - pruned.n_edges
        if not dropped:
            return graph, replace(verdict, details={**verdict.details, DROPPED: 0})
        said = f"{dropped} of {graph.n_edges} edges were dropped because their F-test gave p ≥ {cutoff:g}"
        changes: dict[str, Any] = {"n_edges": pruned.n_edges, "notes": (*verdict.notes, said)}
        if not pruned.n_edges:
            changes |= {"assumption": NOTHING, "empty": "no parent passed the F-test; raise cam_cutoff to keep more"}
        return pruned, replace(verdict, details={**verdict.details, DROPPED: dropped}, **changes)

    def _why_empty(self, table: Table, solution: Solution, obedient: Floats) -> str:
        if self.candidates_.any() and not obedient.any():
            return "training clamped every edge; lower clamp"
        return super()._why_empty(table, solution, obedient)

    def _describe(self) -> tuple[str, str]:
        name, scale = constraint(self.constraint).name, f"{self.variance} variance"
        units = f"{self.layers} × {self.hidden} hidden units"
        method = f"GraN-DAG ({scale}, {name} constraint, {units})"
        if self.variance == "constant":
            return method, (
                "they rest on additive Gaussian noise around nonlinear mechanisms; "
                "where a mechanism is close to linear, its direction is a matter of chance"
            )
        return method, (
            "they rest on Gaussian noise whose mean and scale are functions of the parents; "
            "where the mean is close to linear and the scale to constant, the direction is a matter of chance"
        )

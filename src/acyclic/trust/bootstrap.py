"""Edge confidence by the bootstrap: how often each edge comes back when the rows are drawn again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng

from acyclic.data.table import read_table
from acyclic.errors import InputError
from acyclic.graphs.checks import check_names
from acyclic.graphs.dag import Dag
from acyclic.learners.base import DagLearner
from acyclic.trust.fitting import Fit, Learner, fit, resolved, time_left
from acyclic.trust.resampling import Source, draw_seeds
from acyclic.trust.workers import Harvest, Plan, run
from acyclic.types import Bools, Callback, Floats, Integers

__all__ = ["Bootstrap", "bootstrap"]

FORMAT = "acyclic bootstrap 1"
# Share of the weights of an edge between `lower` and `upper`.
LEVEL = 0.9


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap:
    """How often each edge was found when the rows were drawn again; ``str()`` lists the edges.

    Attributes
    ----------
    names : tuple of str
    draws : int
        How many draws the frequencies are made of.
    requested : int
        How many were asked for.
    edge : ndarray (d, d)
        Share of the draws with the edge i → j. Where the learner claims an equivalence class only, an edge that the
        class leaves open counts ½ both ways.
    weight, lower, upper : ndarray (d, d)
        Mean and central 90 % of the weights of i → j over the draws that have it; nan where none has.
    graph : Dag
        What the learner finds in the table itself.
    notes : tuple of str
        How the draws were made, which were lost and why the run ended early, if it did.
    """

    names: tuple[str, ...]
    draws: int
    requested: int
    edge: Floats
    weight: Floats
    lower: Floats
    upper: Floats
    graph: Dag
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("edge", "weight", "lower", "upper"):
            array = np.array(getattr(self, name), dtype=float)
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def adjacency(self) -> Floats:
        """Shape (d, d), symmetric: share of the draws with an edge between i and j, whatever its direction."""
        return np.asarray(self.edge + self.edge.T)

    @property
    def direction(self) -> Floats:
        """Shape (d, d): share of i → j among the draws with an edge between i and j; nan where none has."""
        joined = self.adjacency
        return np.divide(self.edge, joined, out=np.full_like(joined, np.nan), where=joined > 0)

    def consensus(self, cut: float = 0.5) -> Dag:
        """The DAG of the edges that most draws agree on, with their mean weights.

        Pairs joined in at least `cut` of the draws are taken in the direction found more often, by decreasing
        frequency of that direction, and left out where they would close a cycle.
        """
        if not 0 <= cut <= 1:
            raise InputError(f"cut = {cut!r}; give a share of the draws, from 0 to 1")
        found = ~np.isnan(self.weight) & (np.nan_to_num(self.weight) != 0)
        often = (self.adjacency >= cut) & ((self.edge > self.edge.T) | ((self.edge == self.edge.T) & self._leads()))
        candidates = np.argwhere(found & often & (self.edge > 0))
        ranked = sorted(candidates.tolist(), key=lambda pair: (-self.edge[*pair], pair))
        weights = np.zeros_like(self.edge)
        for i, j in _without_cycles(ranked, len(self.names)):
            weights[i, j] = self.weight[i, j]
        return Dag(weights, self.names)

    def table(self, cut: float = 0.0) -> list[dict[str, Any]]:
        """One row per edge found in more than `cut` of the draws, the most frequent first."""
        pairs = np.argwhere((self.edge > cut) & (self.edge > 0)).tolist()
        adjacency, direction, learned = self.adjacency, self.direction, self.graph.adjacency
        return [
            {
                "source": self.names[i],
                "target": self.names[j],
                "frequency": float(self.edge[i, j]),
                "adjacency": float(adjacency[i, j]),
                "direction": float(direction[i, j]),
                "weight": _number(self.weight[i, j]),
                "lower": _number(self.lower[i, j]),
                "upper": _number(self.upper[i, j]),
                "learned": bool(learned[i, j]),
            }
            for i, j in sorted(pairs, key=lambda pair: (-self.edge[*pair], pair))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; only edges that some draw has are listed."""
        return {
            "format": FORMAT,
            "names": list(self.names),
            "draws": self.draws,
            "requested": self.requested,
            "edges": self.table(),
            "graph": [list(edge) for edge in self.graph.edges()],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Bootstrap:
        """The inverse of `to_dict`."""
        try:
            if plain["format"] != FORMAT:
                raise ValueError(f"its format is {plain['format']!r}, not {FORMAT!r}")
            names = check_names(plain["names"])
            at = {name: position for position, name in enumerate(names)}
            matrices = np.full((4, len(names), len(names)), np.nan)
            matrices[0] = 0.0
            for row in plain["edges"]:
                numbers = [row[key] for key in ("frequency", "weight", "lower", "upper")]
                place = at[row["source"]], at[row["target"]]
                matrices[:, *place] = [np.nan if number is None else number for number in numbers]
            graph = Dag.from_edges([(a, b, w) for a, b, w in plain["graph"]], names)
            notes = tuple(map(str, plain["notes"]))
            edge, weight, lower, upper = matrices
            counts = int(plain["draws"]), int(plain["requested"])
            return cls(names, *counts, edge, weight, lower, upper, graph, notes)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"these are no bootstrap frequencies of acyclic: {error}") from error

    def __str__(self) -> str:
        rows = self.table(cut=0.05)
        wide = max((len(f"{row['source']} → {row['target']}") for row in rows), default=0)
        lines = [f"{self.draws} of {self.requested} draws; {len(rows)} edges in more than 5 % of them."]
        for row in rows:
            ends = f"{row['source']} → {row['target']}"
            line = f"  {ends:<{wide}}  {row['frequency']:6.1%}"
            if row["direction"] < 1:
                line += f", either direction {row['adjacency']:.1%}"
            if row["weight"] is not None:
                line += f", weight {row['weight']:.3g} ({row['lower']:.3g} to {row['upper']:.3g})"
            lines.append(line)
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])

    def __repr__(self) -> str:
        return f"Bootstrap({self.draws} draws, {len(self.names)} columns)"

    def _leads(self) -> Bools:
        """Of two equally frequent directions the one to take: the learned, else that with a weight, else the first."""
        rank = 4 * self.graph.adjacency + 2 * ~np.isnan(self.weight)
        return np.asarray(np.triu(rank >= rank.T) | np.tril(rank > rank.T))


def bootstrap(
    learner: Learner,
    table: Any,
    draws: int = 100,
    *,
    knowledge: Any = None,
    random_state: int | SeedSequence = 0,
    n_jobs: int | None = None,
    cluster: Any = None,
    warm_start: bool = True,
    rows: bool | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Bootstrap:
    """Learn again from tables drawn with replacement, and count how often each edge comes back.

    A draw is a multinomial count per row, so that it costs one weighted product of the rows and learners see moments
    only. Given `Moments`, draws are parametric (see `notes` of the result). Each draw has a seed of its own: the result
    has the same bits whatever `n_jobs` and `cluster` are.

    Parameters
    ----------
    learner : estimator, str or callable
        Such as ``Notears()``, ``"golem"``, or ``acyclic.learn``: any function of `Moments` that returns a `Dag` or a
        `Result`.
    table : array-like, frame, Moments, path, or what `read_table` returns
    draws : int
    knowledge : Knowledge or path, optional
        For learners that take it; every draw then obeys it.
    random_state : int or SeedSequence
    n_jobs : int, optional
        Processes, as joblib counts them: None for one, -1 for all processors.
    cluster : str or distributed.Client, optional
        Address of a Dask scheduler, whose workers need this package. A draw whose worker dies is computed again.
    warm_start : bool
        Whether learners that take a start begin each draw from the solution of the table itself.
    rows : bool, optional
        Whether the learner is given the rows of each draw rather than their moments. Learners of this package that need
        rows get them; a function that does has to ask for them here.
    time_limit : float, optional
        Seconds after which the draws done so far are returned; a draw cut short does not count.
    callback : callable, optional
        Called with a `Progress` after each draw; a true answer ends the run.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> from acyclic.learning import learn
    >>> data = simulate(n_nodes=6, n=500, random_state=3)
    >>> confidence = bootstrap(learn, data.X, draws=20)
    >>> bool((confidence.consensus().adjacency == data.graph.adjacency).all())
    True
    """
    plan = Plan(n_jobs, cluster, time_limit, callback)
    seeds = draw_seeds(random_state, draws)
    source, chosen = Source.of(table), resolved(learner, knowledge)
    if rows is None:
        rows = isinstance(chosen, DagLearner) and chosen.needs_rows
    shared = _Shared(source, chosen, None, rows)
    whole = shared.named(source.all_rows()) if rows else source.moments
    first = fit(chosen, whole, time_limit=time_left(plan.deadline))
    harvest = run(_draw, replace(shared, start=first.reached if warm_start else None), seeds, plan)
    return _summary(source, first, harvest, len(seeds))


@dataclass(frozen=True, eq=False)
class _Shared:
    """What all draws need."""

    source: Source
    learner: Learner
    start: Floats | None
    rows: bool

    def named(self, rows: Floats) -> Any:
        """Rows for the learner; those of this package find prior knowledge by the names of the columns."""
        return read_table(rows, names=self.source.moments.names) if isinstance(self.learner, DagLearner) else rows


@dataclass(frozen=True, eq=False)
class _Found:
    """The edges of one draw: their places in the flat (d, d) matrix, weights, and which could point the other way."""

    places: Integers
    weights: Floats
    undetermined: Bools
    converged: bool


def _draw(shared: _Shared, seed: SeedSequence, deadline: float | None) -> _Found | None:
    rng = default_rng(seed)
    data = shared.named(shared.source.resampled_rows(rng)) if shared.rows else shared.source.resampled(rng)
    found = fit(shared.learner, data, shared.start, time_left(deadline))
    if not found.converged and time_left(deadline) == 0:
        return None
    places = np.flatnonzero(found.graph.weights)
    return _Found(places, found.graph.weights.flat[places], found.undetermined.flat[places], found.converged)


def _summary(source: Source, first: Fit, harvest: Harvest, requested: int) -> Bootstrap:
    names, found = source.moments.names, list(harvest.answers.values())
    notes = [*source.notes, *shortfall(harvest, requested)]
    wild = sum(not draw.converged for draw in found)
    if wild:
        notes.append(f"the learner did not converge in {wild} of the draws, which count as they are")
    graph = Dag(first.graph.weights, names)
    d = len(names)
    return Bootstrap(names, len(found), requested, _frequency(found, d), *_spread(found, d), graph, tuple(notes))


def shortfall(harvest: Harvest, requested: int) -> list[str]:
    """Why there are fewer draws than were asked for."""
    said = []
    if harvest.ended:
        said.append(f"{len(harvest.answers)} of {requested} draws were done when {harvest.ended}")
    if harvest.lost:
        reason = next(iter(harvest.lost.values()))
        said.append(f"{len(harvest.lost)} draws were lost; the first because of {reason.rstrip('.')}")
    return said


def _frequency(found: list[_Found], d: int) -> Floats:
    certain, open_edges = np.zeros(d * d), np.zeros(d * d)
    for draw in found:
        certain[draw.places] += ~draw.undetermined
        open_edges[draw.places] += draw.undetermined
    halves = open_edges.reshape(d, d) / 2
    return np.asarray((certain.reshape(d, d) + halves + halves.T) / max(len(found), 1))


def _spread(found: list[_Found], d: int) -> tuple[Floats, Floats, Floats]:
    """Mean and central 90 % of the weights of each edge over the draws that have it."""
    mean, lower, upper = np.full((3, d * d), np.nan)
    places = np.concatenate([draw.places for draw in found] or [np.zeros(0, dtype=np.intp)])
    weights = np.concatenate([draw.weights for draw in found] or [np.zeros(0)])
    order = np.argsort(places, kind="stable")
    edges, starts = np.unique(places[order], return_index=True)
    for place, some in zip(edges, np.split(weights[order], starts[1:])):
        mean[place] = some.mean()
        lower[place], upper[place] = np.quantile(some, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return mean.reshape(d, d), lower.reshape(d, d), upper.reshape(d, d)


def _without_cycles(ranked: list[list[int]], d: int) -> list[list[int]]:
    """The edges, taken in turn, that close no cycle with those taken before."""
    reaches = np.eye(d, dtype=bool)
    kept = []
    for i, j in ranked:
        if not reaches[j, i]:
            kept.append([i, j])
            reaches |= np.outer(reaches[:, i], reaches[j])
    return kept


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

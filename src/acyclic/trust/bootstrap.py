"""Edge confidence by the bootstrap: how often each edge comes back when the rows are drawn again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence, default_rng

from acyclic.data.moments import Moments
from acyclic.data.reading import stays_elsewhere
from acyclic.data.table import Table
from acyclic.deadline import Deadline, Stopped
from acyclic.errors import Argument, InputError, show_name
from acyclic.facts import Ended, Fact, Remark, cut_short
from acyclic.findings.edge_table import PROBABILITIES
from acyclic.graphs.checks import check_names
from acyclic.graphs.dag import Dag
from acyclic.graphs.reachability import add_edge
from acyclic.graphs.showing import Shown
from acyclic.judging import words
from acyclic.learners.base import COMMON, DagLearner
from acyclic.ranges import (
    ANYTHING,
    DRAWS,
    EDGES,
    FLAG,
    JOBS,
    NAMES,
    NONE,
    SECONDS,
    SEEDS,
    SHARE,
    TEXT,
    a_fact,
    an_instance,
    check_document,
    each,
    number,
    one_of,
    record,
    takes,
    whole,
)
from acyclic.running import Key, digest
from acyclic.trust.calibration import Known, calibrate, find_obstacle
from acyclic.trust.drawn import Drawn
from acyclic.trust.fitting import Fit, Learner, fit, resolve_learner, settle_price
from acyclic.trust.progress import show_progress
from acyclic.trust.workers import Harvest, Kept, Resources, draw_seeds, run_draws
from acyclic.types import Bools, Callback, Floats, Integers

__all__ = ["Bootstrap", "bootstrap"]

FORMAT = "acyclic bootstrap 2"
# Fewer partitions tell little of how far sums vary between them.
FEWEST_PARTITIONS = 30
# Numbers in the moments of draws that are at hand at once: 512 MB.
_MOST_NUMBERS = 1 << 26
# Share of the weights of an edge between `lower` and `upper`.
LEVEL = 0.9
COMPLETE = Fact(Ended.COMPLETE)
# Of the pairs that the answer does not join, those are told of that are at least so likely joined.
TELLING = 0.1
_SPREAD = dict.fromkeys(("weight", "lower", "upper"), number() | NONE)
# What `to_dict` gives and `from_dict` takes.
SHAPE = record(
    {
        "format": one_of(FORMAT),
        "names": NAMES,
        "draws": whole(least=0),
        "requested": whole(least=0),
        "edges": each(
            record(
                {"source": TEXT, "target": TEXT, "frequency": SHARE, "adjacency": SHARE, **_SPREAD},
                dict.fromkeys(PROBABILITIES, SHARE | NONE),
            )
        ),
        "graph": EDGES,
        "notes": each(a_fact(Remark)),
    },
    {"end": a_fact(Ended), "unseen": SHARE | NONE, "drawn": ANYTHING},
)


@dataclass(frozen=True, eq=False, repr=False)
class Bootstrap(Shown):
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
    end : Fact of Ended
        How the run ended.
    notes : tuple of Fact of Remark
        How the draws were made, which were lost, and why there are no probabilities where there are none.
    probability : ndarray (d, d) or None
        The probability that an edge joins i and j, whatever its direction, by `acyclic.trust.calibration`; None where
        its rule does not reach.
    direction_probability : ndarray (d, d) or None
        The probability that an edge between i and j, if there is one, points from i to j.
    drawn : Drawn or None
        The graphs of the first hundred draws, of which effects can be asked.

    Examples
    --------
    >>> from acyclic import bootstrap, simulate
    >>> data = simulate(n_nodes=4, n=300, graph="ER1", random_state=1)
    >>> found = bootstrap("auto", data.X, draws=10)
    >>> found.draws, found.edge.shape, found.table()[0]["frequency"]
    (10, (4, 4), 1.0)
    """

    names: tuple[str, ...]
    draws: int
    requested: int
    edge: Floats
    weight: Floats
    lower: Floats
    upper: Floats
    graph: Dag
    end: Fact[Ended] = COMPLETE
    notes: tuple[Fact[Remark], ...] = ()
    probability: Floats | None = None
    direction_probability: Floats | None = None
    drawn: Drawn | None = None

    def __post_init__(self) -> None:
        for name in ("edge", "weight", "lower", "upper", *PROBABILITIES):
            if getattr(self, name) is None:
                continue
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
                **self._likely(i, j),
            }
            for i, j in sorted(pairs, key=lambda pair: (-self.edge[*pair], pair))
        ]

    def missed(self, cut: float = 0.0) -> list[tuple[str, str, float]]:
        """Pairs that the answer does not join and their probability to be joined, above the cut, the likeliest first.

        Empty where there are no probabilities.
        """
        if self.probability is None:
            return []
        apart = np.triu(~(self.graph.adjacency | self.graph.adjacency.T) & (self.probability > cut), 1)
        found = [(self.names[i], self.names[j], float(self.probability[i, j])) for i, j in np.argwhere(apart).tolist()]
        return sorted(found, key=lambda pair: -pair[2])

    @property
    def unseen(self) -> float | None:
        """The probability that an edge joins two columns that neither the answer nor any draw joins; None if unknown.

        It is the same for all such pairs, and known where there are some.
        """
        if self.probability is None:
            return None
        never = (
            (self.adjacency == 0)
            & ~(self.graph.adjacency | self.graph.adjacency.T)
            & ~np.eye(len(self.names), dtype=bool)
        )
        return float(self.probability[never][0]) if never.any() else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; only edges that some draw has are listed."""
        return {
            "format": FORMAT,
            "names": list(self.names),
            "draws": self.draws,
            "requested": self.requested,
            "edges": self.table(),
            "graph": [list(edge) for edge in self.graph.edges()],
            "end": self.end.to_dict(),
            "notes": [note.to_dict() for note in self.notes],
            **({} if self.drawn is None else {"drawn": self.drawn.to_dict()}),
            **({} if self.probability is None else {"unseen": self.unseen}),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Bootstrap:
        """The inverse of `to_dict`."""
        check_document(plain, SHAPE, "these are no bootstrap frequencies of acyclic")
        try:
            names = check_names(plain["names"])
            at = {name: position for position, name in enumerate(names)}
            matrices = np.full((4, len(names), len(names)), np.nan)
            matrices[0] = 0.0
            for row in plain["edges"]:
                numbers = [row[key] for key in ("frequency", "weight", "lower", "upper")]
                place = at[row["source"]], at[row["target"]]
                matrices[:, *place] = [np.nan if number is None else number for number in numbers]
            graph = Dag.from_edges([(a, b, w) for a, b, w in plain["graph"]], names)
            end = Fact.from_dict(Ended, plain.get("end", {"kind": Ended.COMPLETE}))
            notes = tuple(Fact.from_dict(Remark, note) for note in plain["notes"])
            edge, weight, lower, upper = matrices
            counts = int(plain["draws"]), int(plain["requested"])
            joined, pointed = _read_probabilities(plain, at)
            drawn = Drawn.from_dict(plain["drawn"], len(names)) if plain.get("drawn") is not None else None
            return cls(names, *counts, edge, weight, lower, upper, graph, end, notes, joined, pointed, drawn)
        except (KeyError, ValueError) as error:
            raise InputError(f"these are no bootstrap frequencies of acyclic: {error}") from error

    def __str__(self) -> str:
        rows = self.table(cut=0.05)
        shown = [f"{show_name(row['source'])} → {show_name(row['target'])}" for row in rows]
        wide = max(map(len, shown), default=0)
        head, *notes = self.prose()
        lines = [head]
        for ends, row in zip(shown, rows):
            line = f"  {ends:<{wide}}  {row['frequency']:6.1%}"
            if row["probability"] is not None:
                line += f", there with probability {row['probability']:.0%}"
            if row["direction"] < 1:
                line += f", either direction {row['adjacency']:.1%}"
            if row["weight"] is not None:
                line += f", weight {row['weight']:.3g} ({row['lower']:.3g} to {row['upper']:.3g})"
            lines.append(line)
        return "\n".join([*lines, *notes])

    def prose(self) -> list[str]:
        """How many draws there were, and the notes."""
        head = f"{self.draws} of {self.requested} draws; {len(self.table(cut=0.05))} edges in more than 5 % of them."
        return [head, *(f"Note: {words.say(note)}." for note in self.notes)]

    def __repr__(self) -> str:
        return f"Bootstrap({self.draws} draws, {len(self.names)} columns)"

    def _likely(self, i: int, j: int) -> dict[str, float | None]:
        found = (getattr(self, name) for name in PROBABILITIES)
        return {name: None if matrix is None else float(matrix[i, j]) for name, matrix in zip(PROBABILITIES, found)}

    def _leads(self) -> Bools:
        """Of two equally frequent directions the one to take: the learned, else that with a weight, else the first."""
        rank = 4 * self.graph.adjacency + 2 * ~np.isnan(self.weight)
        return np.asarray(np.triu(rank >= rank.T) | np.tril(rank > rank.T))


@takes(
    draws=DRAWS,
    knowledge=COMMON["knowledge"],
    random_state=SEEDS,
    n_jobs=JOBS,
    warm_start=FLAG,
    resample=one_of("rows", "partitions"),
    first=an_instance("a fitted learner", DagLearner) | NONE,
    time_limit=SECONDS,
    callback=COMMON["callback"],
    progress=FLAG,
)
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
    resample: Literal["rows", "partitions"] = "rows",
    first: DagLearner | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Bootstrap:
    """Learn again from tables drawn with replacement, and count how often each edge comes back.

    A draw is a multinomial count per row, so that it costs one weighted product of the rows; learners that need rows
    get those drawn. Given `Moments`, draws are parametric (see `notes` of the result). Each draw has a seed of its own:
    the result has the same bits whatever `n_jobs` and `cluster` are.

    Rows that are elsewhere, as those of a Dask frame, stay there: each worker draws a Poisson number with mean 1 for
    each of its rows, for many draws in one pass, and sums come home. A learner that needs rows gets a sample of them,
    drawn with replacement.

    Parameters
    ----------
    learner : estimator, str or callable
        Such as ``Notears()``, ``"golem"``, or ``acyclic.learn``: any function of a `Table` that returns a `Dag` or a
        `Result`. Or an estimator of any package that has ``fit(X)`` and keeps its graph as `Foreign` says.
    table : array-like, frame, Moments, path, or what `read_table` returns
    draws : int
    knowledge : Knowledge or path, optional
        For learners that take it; every draw then obeys it.
    random_state : int or SeedSequence
    n_jobs : int, optional
        Processes, as joblib counts them: None for one, -1 for all processors.
    cluster : str or distributed.Client, optional
        Address of a Dask scheduler, whose workers need this package; one that does not answer is found before the
        first fit. A draw whose worker dies is computed again. It also reads a table that is a folder of Parquet files.
    warm_start : bool
        Whether learners that take a start begin each draw from the solution of the table itself.
    resample : {"rows", "partitions"}
        What is drawn of a table that is elsewhere. Partitions are drawn whole, which costs next to nothing beside a
        pass over the rows, and takes dependence inside of partitions into account; it needs at least 30 that are alike,
        as those of shuffled rows are.
    first : estimator, optional
        The learner as it was fitted to this very table, which is then not learned from again.
    time_limit : float, optional
        Seconds after which the draws done so far are returned; a draw cut short does not count.
    callback : callable, optional
        Called with a `Progress` after each draw; a true answer ends the run.
    checkpoint : path, optional
        File that keeps each draw as it comes; with it the same call goes on where one was stopped or killed, to the
        same bits, also for more draws. For estimators and methods by name. Where the fit to the table itself is cut
        short, from which the draws start, it is left alone.
    progress : bool
        Whether to show how far it is.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=6, n=500, random_state=3)
    >>> confidence = bootstrap("auto", data.X, draws=20)
    >>> bool((confidence.consensus().adjacency == data.graph.adjacency).all())
    True
    """
    seeds, chosen = draw_seeds(random_state, draws), resolve_learner(learner, knowledge)
    with ExitStack() as stack:
        told = stack.enter_context(show_progress(progress, callback, "bootstrap", len(seeds)))
        resources = stack.enter_context(Resources(n_jobs, cluster, time_limit, told).connected())
        reads = resources.cluster is not None and stays_elsewhere(table)
        source = Table.open(table, cluster=resources.cluster) if reads else Table.open(table)
        check_partitions(source, resample)
        whole = fit(chosen, source, deadline=resources.deadline) if first is None else check_first(first, source)
        reached = whole.reached if warm_start else None
        shared = _Shared(source, settle_price(chosen, whole), reached, resample == "partitions")
        kept = None
        if checkpoint is not None and not whole.end.kind.stopped:
            key = describe_draws(chosen, source, random_state, warm_start=warm_start, first=first, resample=resample)
            kept = stack.enter_context(closing(Kept(checkpoint, key)))
        harvest = _NOTHING
        if whole.end.kind is not Ended.INTERRUPTED:
            harvest = _run(shared, seeds, resources, kept)
        informed = getattr(chosen, "knowledge", None) is not None
        return _calibrate(_summarise(shared, whole, harvest, len(seeds)), source, whole, informed=informed)


def check_partitions(table: Table, resample: str) -> None:
    """Raise an InputError where partitions are to be drawn that are too few, or not there."""
    if resample == "rows":
        return
    if not table.is_elsewhere:
        raise InputError(
            Argument("resample", resample), " is for a table whose rows are elsewhere, as those of a large Dask frame"
        )
    count = table.why_no_rows["partitions"] if table.why_no_rows is not None else 0
    if count < FEWEST_PARTITIONS:
        said = f" needs at least {FEWEST_PARTITIONS} partitions, and there are {count}; leave it out"
        raise InputError(Argument("resample", resample), said)


def _run(shared: _Shared, seeds: list[SeedSequence], resources: Resources, kept: Kept | None) -> Harvest:
    known: Mapping[int, Any] = {}
    if kept is not None:
        known = {draw: _Found.from_plain(plain) for draw, plain in kept.draws.items()}

    def keep(draw: int, found: _Found) -> None:
        if kept is not None:
            kept.add(draw, found.to_plain())

    if shared.table.is_elsewhere:
        return _run_elsewhere(shared, seeds, resources, known, keep)
    return run_draws(_draw, shared, seeds, resources, known, keep)


def _run_elsewhere(
    shared: _Shared,
    seeds: list[SeedSequence],
    resources: Resources,
    known: Mapping[int, Any],
    keep: Callable[[int, Any], None],
) -> Harvest:
    """Draw where the rows are, as many draws in one pass as their moments fit into memory, and learn from these."""
    waiting = [draw for draw in range(len(seeds)) if draw not in known]
    size = max(1, _MOST_NUMBERS // len(shared.table.names) ** 2)
    harvest = Harvest(known, {}, COMPLETE)
    for start in range(0, len(waiting), size):
        some = waiting[start : start + size]
        try:
            found = shared.table.redraw(
                [seeds[draw] for draw in some], partitions=shared.partitions, deadline=resources.deadline
            )
        except Stopped as stopped:
            return replace(harvest, end=stopped.end)
        items: list[Any] = [None] * len(seeds)
        for draw, moments in zip(some, found):
            items[draw] = (moments, seeds[draw])
        part = run_draws(_draw, shared, items, resources, harvest.answers, keep, some)
        harvest = Harvest(part.answers, {**harvest.lost, **part.lost}, part.end)
        if not harvest.end.kind.converged:
            break
    return harvest


def describe_draws(
    learner: Learner,
    table: Table,
    random_state: int | SeedSequence = 0,
    *,
    warm_start: bool = True,
    first: DagLearner | None = None,
    resample: str = "rows",
) -> Key:
    """What the draws of a bootstrap depend on, whatever their number."""
    if not isinstance(learner, DagLearner):
        raise InputError("checkpoint is for estimators and methods by name; what a function does cannot be compared")
    key = dict(learner.describe_run(table))
    root = random_state if isinstance(random_state, SeedSequence) else SeedSequence(int(random_state))
    key |= {"random_state of the draws": f"{root.entropy}, {root.spawn_key}", "warm_start": str(bool(warm_start))}
    if first is not None and warm_start and (other := first.describe_run(table)) != learner.describe_run(table):
        key["first"] = digest(sorted(other.items()))
    if table.is_elsewhere and table.why_no_rows is not None:
        key["resample"] = f"{resample} of {table.why_no_rows['partitions']} partitions"
    return key


_NOTHING = Harvest({}, {}, Fact(Ended.INTERRUPTED))


def check_first(model: DagLearner, table: Table) -> Fit:
    """What a fitted learner found, if it was fitted to this very table."""
    if getattr(model, "digest_", None) != table.digest:
        raise InputError("first was not fitted to this table; leave it out, or fit it")
    return Fit.of(model)


@dataclass(frozen=True, eq=False)
class _Shared:
    """What all draws need."""

    table: Table
    learner: Learner
    start: Floats | None
    partitions: bool = False


@dataclass(frozen=True, eq=False)
class _Found:
    """The edges of one draw: their places in the flat (d, d) matrix, weights, and which could point the other way."""

    places: Integers
    weights: Floats
    undetermined: Bools
    converged: bool

    def to_plain(self) -> list[Any]:
        """Plain values for JSON, which holds every bit of a number."""
        return [self.places.tolist(), self.weights.tolist(), self.undetermined.astype(int).tolist(), self.converged]

    @classmethod
    def from_plain(cls, plain: list[Any]) -> _Found:
        """The inverse of `to_plain`."""
        places, weights, undetermined, converged = plain
        integers = np.array(places, dtype=np.intp)
        return cls(integers, np.array(weights, dtype=float), np.array(undetermined, dtype=bool), bool(converged))


def _draw(shared: _Shared, given: SeedSequence | tuple[Moments, SeedSequence], deadline: Deadline) -> _Found | None:
    if isinstance(given, SeedSequence):
        drawn = shared.table.resampled(default_rng(given))
    else:
        drawn = shared.table.redrawn(*given)
    found = fit(shared.learner, drawn, shared.start, deadline)
    if was_cut(found):
        return None
    places = np.flatnonzero(found.graph.weights)
    weights, undetermined = found.graph.weights.flat[places], found.undetermined.flat[places]
    return _Found(places, weights, undetermined, found.end.kind.converged)


def was_cut(found: Fit) -> bool:
    """Whether a fit was cut short and does not count; Ctrl-C during it ends all of the run."""
    if found.end.kind is Ended.INTERRUPTED:
        raise KeyboardInterrupt
    return found.end.kind.stopped


def _summarise(shared: _Shared, first: Fit, harvest: Harvest, requested: int) -> Bootstrap:
    names, found = shared.table.names, list(harvest.answers.values())
    redrawn = [Fact.of(Remark.REDRAWN, what="partitions" if shared.partitions else "rows")]
    notes = [*(redrawn if shared.table.is_elsewhere else note_rows(shared.table)), *note_shortfall(harvest, requested)]
    wild = sum(not draw.converged for draw in found)
    if wild:
        notes.append(Fact.of(Remark.NOT_CONVERGED, count=wild))
    graph, d = Dag(first.graph.weights, names), len(names)
    shares = _frequency(found, d), *_spread(found, d)
    drawn = Drawn.of((draw.places, draw.weights) for draw in found)
    return Bootstrap(names, len(found), requested, *shares, graph, harvest.end, tuple(notes), drawn=drawn)


def _calibrate(found: Bootstrap, table: Table, first: Fit, *, informed: bool) -> Bootstrap:
    """The same with probabilities, or with the reason why there are none."""
    obstacle = find_obstacle(table, first.verdict, found.draws, informed=informed)
    if obstacle is not None:
        return replace(found, notes=(*found.notes, obstacle))
    assert first.verdict is not None
    likely = calibrate(Known.of(found.edge, found.draws, first.graph, first.verdict, float(table.moments.n)))
    found = replace(found, probability=likely.joined, direction_probability=likely.pointed)
    missed = found.missed(TELLING)
    if not missed:
        return found
    source, target, most = missed[0]
    expected = sum(pair[2] for pair in found.missed())
    return replace(
        found, notes=(*found.notes, Fact.of(Remark.MISSED, source, target, probability=most, expected=expected))
    )


def _read_probabilities(plain: Mapping[str, Any], at: Mapping[str, int]) -> tuple[Floats, Floats] | tuple[None, None]:
    if plain.get("unseen") is None:
        return None, None
    joined, pointed = np.full((len(at), len(at)), float(plain["unseen"])), np.full((len(at), len(at)), 0.5)
    np.fill_diagonal(joined, 0.0)
    for row in plain["edges"]:
        i, j = at[row["source"]], at[row["target"]]
        if row.get("probability") is not None:
            joined[i, j] = joined[j, i] = row["probability"]
            pointed[i, j], pointed[j, i] = row["direction_probability"], 1 - row["direction_probability"]
    return joined, pointed


def note_rows(table: Table) -> list[Fact[Remark]]:
    """That draws are parametric, where there are no rows."""
    why = table.why_no_rows
    return [] if why is None else [Fact.of(Remark.PARAMETRIC, why=why.kind.value)]


def note_shortfall(harvest: Harvest, requested: int) -> list[Fact[Remark]]:
    """Why there are fewer draws than were asked for."""
    said = []
    if not harvest.end.kind.converged:
        said.append(cut_short(harvest.end, "draws", done=len(harvest.answers), requested=requested))
    if harvest.lost:
        reason = next(iter(harvest.lost.values())).rstrip(".")
        said.append(Fact.of(Remark.LOST, count=len(harvest.lost), reason=reason))
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
            add_edge(reaches, i, j)
    return kept


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

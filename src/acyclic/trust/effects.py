"""Total effects of a linear model on a given graph, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng

from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.errors import InputError, show_name
from acyclic.facts import Ended, Fact, Remark
from acyclic.findings import Findings
from acyclic.graphs.checks import check_names
from acyclic.graphs.dag import Dag
from acyclic.graphs.showing import Shown
from acyclic.judging import words
from acyclic.learners.edge_effects import Form
from acyclic.ranges import DRAWS, NAMES, SEEDS, TEXT, a_fact, check_document, each, number, one_of, record, takes, whole
from acyclic.scores.regression import least_squares
from acyclic.trust.bootstrap import note_rows, note_shortfall
from acyclic.trust.workers import Harvest, Resources, draw_seeds
from acyclic.types import Bools, Callback, Floats, Kind

__all__ = ["TotalEffects", "total_effects"]

FORMAT = "acyclic total effects 2"
# What `to_dict` gives and `from_dict` takes.
SHAPE = record(
    {
        "format": one_of(FORMAT),
        "names": NAMES,
        "level": number(above=0, below=1),
        "draws": whole(least=1),
        "effects": each(
            record({"cause": TEXT, "outcome": TEXT, **dict.fromkeys(("effect", "lower", "upper"), number())})
        ),
        "notes": each(a_fact(Remark)),
    }
)


@dataclass(frozen=True, eq=False, repr=False)
class TotalEffects(Shown):
    """Total effects i ⇝ j along all directed paths, with intervals; ``str()`` lists them.

    Attributes
    ----------
    names : tuple of str
    effect, lower, upper : ndarray (d, d)
        Change of j per unit of i when i is set; 0 where no directed path leads from i to j.
    level : float
        Share of the draws between `lower` and `upper`.
    draws : int
    notes : tuple of Fact of Remark

    Examples
    --------
    >>> from acyclic import Dag, simulate, total_effects
    >>> graph = Dag.from_edges([("dose", "level"), ("level", "pain")], names=["dose", "level", "pain"])
    >>> data = simulate(n=500, graph=graph, random_state=1)
    >>> effects = total_effects(graph, data.X, draws=20)
    >>> effects.of("pain", "dose")
    (0.0, 0.0, 0.0)
    """

    names: tuple[str, ...]
    effect: Floats
    lower: Floats
    upper: Floats
    level: float
    draws: int
    notes: tuple[Fact[Remark], ...] = ()

    def of(self, cause: str, outcome: str) -> tuple[float, float, float]:
        """Effect, lower and upper end of its interval, of one column on another."""
        for name in (cause, outcome):
            if name not in self.names:
                raise InputError(f"no column is called {name!r}; the columns are {', '.join(self.names)}")
        place = self.names.index(cause), self.names.index(outcome)
        return float(self.effect[place]), float(self.lower[place]), float(self.upper[place])

    def table(self) -> list[dict[str, Any]]:
        """One row per pair joined by a directed path, the largest effect first."""
        pairs = np.argwhere((self.effect != 0) | (self.lower != 0) | (self.upper != 0)).tolist()
        return [
            {
                "cause": self.names[i],
                "outcome": self.names[j],
                "effect": float(self.effect[i, j]),
                "lower": float(self.lower[i, j]),
                "upper": float(self.upper[i, j]),
            }
            for i, j in sorted(pairs, key=lambda pair: (-abs(self.effect[*pair]), pair))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "format": FORMAT,
            "names": list(self.names),
            "level": self.level,
            "draws": self.draws,
            "effects": self.table(),
            "notes": [note.to_dict() for note in self.notes],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> TotalEffects:
        """The inverse of `to_dict`."""
        check_document(plain, SHAPE, "these are no total effects of acyclic")
        try:
            names = check_names(plain["names"])
            at = {name: position for position, name in enumerate(names)}
            numbers = np.zeros((3, len(names), len(names)))
            for row in plain["effects"]:
                numbers[:, at[row["cause"]], at[row["outcome"]]] = row["effect"], row["lower"], row["upper"]
            return cls(
                names,
                numbers[0],
                numbers[1],
                numbers[2],
                float(plain["level"]),
                int(plain["draws"]),
                tuple(Fact.from_dict(Remark, note) for note in plain["notes"]),
            )
        except (KeyError, ValueError) as error:
            raise InputError(f"these are no total effects of acyclic: {error}") from error

    def __str__(self) -> str:
        head, *notes = self.prose()
        lines = [head]
        for row in self.table():
            ends = f"{show_name(row['cause'])} ⇝ {show_name(row['outcome'])}"
            lines.append(f"  {ends}  {row['effect']:.3g} ({row['lower']:.3g} to {row['upper']:.3g})")
        return "\n".join([*lines, *notes])

    def prose(self) -> list[str]:
        """How many effects there are, and the notes."""
        head = f"{len(self.table())} total effects, intervals of {self.level:.0%} from {self.draws} draws."
        return [head, *(f"Note: {words.say(note)}." for note in self.notes)]

    def __repr__(self) -> str:
        return f"TotalEffects({len(self.table())} effects, {self.draws} draws)"


@takes(draws=DRAWS, level=number(above=0, below=1), random_state=SEEDS)
def total_effects(
    graph: Dag | Findings,
    table: Any,
    draws: int = 200,
    *,
    level: float = 0.9,
    random_state: int | SeedSequence = 0,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> TotalEffects:
    """Total effects of a linear model on a graph, refitted by least squares on each node's parents in every draw.

    With W the refitted weights, the effects are (I − W)⁻¹ − I. Intervals are percentiles over tables drawn with
    replacement, or over parametric draws where only `Moments` are given.

    Parameters
    ----------
    graph : Dag or Result
        Its weights are not used.
    table : array-like, frame, Moments, path, or what `read_table` returns
        Holds the columns of the graph, by name or, for an array, in its order; other columns are left aside.
    draws : int
    level : float
        Share of the draws inside of each interval.
    random_state : int or SeedSequence
    time_limit : float, optional
        Seconds after which the intervals are those of the draws so far, of which there is one at least.
    callback : callable, optional
        Called with a `Progress` after each draw; a true answer, or Ctrl-C, ends the run likewise.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=6, n=1000, random_state=1)
    >>> effects = total_effects(data.graph, data.X)
    >>> bool(np.all(np.abs(effects.effect - data.graph.total_effects()) < 0.3))
    True
    """
    dag = graph.graph if isinstance(graph, Findings) else graph
    if not isinstance(dag, Dag):
        raise InputError(f"graph is {type(graph).__name__}; give a Dag or a Result")
    source = _match(dag, table)
    _check_numbers(source)
    edges = dag.adjacency
    seeds = draw_seeds(random_state, draws)
    point = _effects(source.moments, edges)
    drawn, end = _draw(source, edges, seeds, Resources(time_limit=time_limit, callback=callback))
    lower, upper = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    notes = (*note_rows(source), *note_shortfall(Harvest(dict(enumerate(drawn)), {}, end), len(seeds)))
    bent = isinstance(graph, Findings) and any(one.form is Form.CURVE for one in graph.effects.values())
    notes = (*notes, Fact.of(Remark.GRAPH_TAKEN_AS_GIVEN), *([Fact.of(Remark.CURVES_AS_LINES)] * bent))
    return TotalEffects(dag.names, point, lower, upper, float(level), len(drawn), notes)


def _draw(
    table: Table, edges: Bools, seeds: list[SeedSequence], resources: Resources
) -> tuple[list[Floats], Fact[Ended]]:
    """Effects in tables drawn again, at least one, and how that ended."""
    drawn: list[Floats] = []
    try:
        for seed in seeds:
            if drawn and resources.deadline.passed():
                return drawn, resources.deadline.end()
            drawn.append(_effects(table.resampled(default_rng(seed)).moments, edges))
            if resources.ends_after(len(drawn), len(seeds)) and len(drawn) < len(seeds):
                return drawn, Fact.of(Ended.CALLBACK)
    except KeyboardInterrupt:
        if not drawn:
            raise
        return drawn, Fact.of(Ended.INTERRUPTED)
    return drawn, Fact.of(Ended.COMPLETE)


def _match(dag: Dag, table: Any) -> Table:
    """The columns of the graph, in its order."""
    if isinstance(table, np.ndarray) and table.ndim == 2 and table.shape[1] == dag.n_nodes:
        return Table.open(table, names=dag.names)
    return Table.open(table).select(dag.names)


def _check_numbers(table: Table) -> None:
    """Raise an InputError for a category whose numbers mean nothing: it has no slope."""
    kinds = dict(zip(table.names, table.kinds))
    for name, coding in table.codings.items():
        if kinds[name] is Kind.CATEGORICAL and coding.nominal and len(coding.levels) > 2:
            raise InputError(
                f"{name!r} is a category of {len(coding.levels)} levels, and these effects are slopes; ask the fitted "
                "model instead, as result.model.total_effect(cause, outcome, start, stop)"
            )


def _effects(moments: Moments, edges: Bools) -> Floats:
    return Dag(least_squares(moments.covariance, edges), moments.names).total_effects()

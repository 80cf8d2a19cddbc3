"""Stability selection: which edges come back in halves of the rows, over a range of L1 penalties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng
from numpy.typing import ArrayLike

from acyclic.data.table import Table
from acyclic.deadline import Deadline
from acyclic.errors import InputError, show_name
from acyclic.facts import Fact, Remark
from acyclic.graphs.checks import check_names
from acyclic.graphs.showing import Shown
from acyclic.judging import words
from acyclic.learners.base import COMMON, ContinuousLearner, DagLearner
from acyclic.ranges import (
    ARRAY,
    DRAWS,
    JOBS,
    NAMES,
    SECONDS,
    SEEDS,
    SHARE,
    TEXT,
    a_fact,
    check_document,
    each,
    number,
    one_of,
    record,
    several,
    takes,
    whole,
)
from acyclic.trust.bootstrap import note_rows, note_shortfall, was_cut
from acyclic.trust.fitting import Learner, fit, resolve_learner, with_settings
from acyclic.trust.workers import Resources, draw_seeds, run_draws
from acyclic.types import Bools, Callback, Floats

__all__ = ["Stability", "stability_selection"]

FORMAT = "acyclic stability selection 2"
# What `to_dict` gives and `from_dict` takes.
SHAPE = record(
    {
        "format": one_of(FORMAT),
        "names": NAMES,
        "l1": several(number(least=0)),
        "edges": each(record({"source": TEXT, "target": TEXT, "probability": each(SHARE)})),
        "selected": number(least=0),
        "draws": whole(least=0),
        "notes": each(a_fact(Remark)),
    }
)


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Shown):
    """Selection probabilities of edges by L1 penalty.

    Attributes
    ----------
    names : tuple of str
    l1 : tuple of float
        The penalties, largest first.
    probability : ndarray (penalties, d, d)
        Share of the half samples in which i → j was selected under each penalty.
    selected : float
        Mean number of edges selected under any of the penalties, q.
    draws : int
    notes : tuple of Fact of Remark

    Examples
    --------
    >>> from acyclic import Notears, simulate, stability_selection
    >>> data = simulate(n_nodes=4, n=300, graph="ER1", random_state=1)
    >>> found = stability_selection(Notears(), data.X, l1_values=[0.1, 0.3], draws=4)
    >>> len(found.stable(0.9)) <= 6
    True
    """

    names: tuple[str, ...]
    l1: tuple[float, ...]
    probability: Floats
    selected: float
    draws: int
    notes: tuple[Fact[Remark], ...] = ()

    @property
    def highest(self) -> Floats:
        """Shape (d, d): the largest probability of i → j over the penalties."""
        return np.asarray(self.probability.max(axis=0))

    def stable(self, cut: float = 0.8) -> list[tuple[str, str, float]]:
        """Edges with a highest probability of at least `cut`, as (source, target, probability), most stable first."""
        highest = self.highest
        pairs = np.argwhere(highest >= _check_cut(cut)).tolist()
        ranked = sorted(pairs, key=lambda pair: (-highest[*pair], pair))
        return [(self.names[i], self.names[j], float(highest[i, j])) for i, j in ranked]

    def false_edges(self, cut: float = 0.8) -> float:
        """Bound on the expected number of false edges among the stable ones: q² / ((2·cut − 1) d(d − 1)).

        Of Meinshausen & Bühlmann (2010). It holds if false edges are exchangeable and the learner is no worse than
        guessing; with strong correlations the first is an idealisation.
        """
        d = len(self.names)
        return self.selected**2 / ((2 * _check_cut(cut) - 1) * max(d * (d - 1), 1))

    def instability(self) -> Floats:
        """Mean of 2p(1 − p) over ordered pairs, by penalty: how much halves of the rows disagree (StARS)."""
        d = len(self.names)
        return np.asarray((2 * self.probability * (1 - self.probability)).sum(axis=(1, 2)) / max(d * (d - 1), 1))

    def table(self) -> list[dict[str, Any]]:
        """One row per edge that some draw has, the most stable first."""
        highest = self.highest
        pairs = sorted(np.argwhere(highest > 0).tolist(), key=lambda pair: (-highest[*pair], pair))
        return [
            {"source": self.names[i], "target": self.names[j], "probability": float(highest[i, j])} for i, j in pairs
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; only edges selected at least once are listed."""
        pairs = np.argwhere(self.highest > 0).tolist()
        return {
            "format": FORMAT,
            "names": list(self.names),
            "l1": list(self.l1),
            "edges": [
                {
                    "source": self.names[i],
                    "target": self.names[j],
                    "probability": self.probability[:, i, j].tolist(),
                }
                for i, j in pairs
            ],
            "selected": self.selected,
            "draws": self.draws,
            "notes": [note.to_dict() for note in self.notes],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Stability:
        """The inverse of `to_dict`."""
        check_document(plain, SHAPE, "this is no stability selection of acyclic")
        try:
            names, l1 = check_names(plain["names"]), tuple(map(float, plain["l1"]))
            at = {name: position for position, name in enumerate(names)}
            probability = np.zeros((len(l1), len(names), len(names)))
            for row in plain["edges"]:
                probability[:, at[row["source"]], at[row["target"]]] = row["probability"]
            selected, draws = float(plain["selected"]), int(plain["draws"])
            notes = tuple(Fact.from_dict(Remark, note) for note in plain["notes"])
            return cls(names, l1, probability, selected, draws, notes)
        except (KeyError, ValueError) as error:
            raise InputError(f"this is no stability selection of acyclic: {error}") from error

    def __str__(self) -> str:
        edges = self.stable()
        lines = [
            f"{self.draws} halves of the rows, {len(self.l1)} penalties from {max(self.l1):g} to {min(self.l1):g}: "
            f"{len(edges)} edges are selected with probability 0.8 or more; of these at most "
            f"{self.false_edges():.2g} are expected to be false, if false edges are exchangeable."
        ]
        lines += [
            f"  {show_name(source)} → {show_name(target)}  {probability:.0%}" for source, target, probability in edges
        ]
        return "\n".join([*lines, *(f"Note: {words.say(note)}." for note in self.notes)])


@takes(
    draws=DRAWS,
    knowledge=COMMON["knowledge"],
    random_state=SEEDS,
    n_jobs=JOBS,
    time_limit=SECONDS,
    callback=COMMON["callback"],
)
def stability_selection(
    learner: Learner,
    table: Any,
    l1_values: ArrayLike,
    draws: int = 50,
    *,
    knowledge: Any = None,
    random_state: int | SeedSequence = 0,
    n_jobs: int | None = None,
    cluster: Any = None,
    time_limit: float | Deadline | None = None,
    callback: Callback | None = None,
) -> Stability:
    """Learn from halves of the rows under each L1 penalty, and count how often each edge is selected.

    Within a draw the penalties go down, each fit starting from the one before.

    Parameters
    ----------
    learner : estimator or str
        With a hyper-parameter ``l1``: `Notears`, `Golem`.
    table : array-like, frame, Moments, path, or what `read_table` returns
    l1_values : array-like of float
    draws : int
        Halves of the rows.
    knowledge, random_state, n_jobs, cluster, time_limit, callback
        As for `bootstrap`.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> from acyclic.learners.notears import Notears
    >>> data = simulate(n_nodes=5, n=500, random_state=1)
    >>> stability = stability_selection(Notears(), data.X, [0.3, 0.1], draws=10)
    >>> all(data.graph.weights[int(a[1]), int(b[1])] != 0 for a, b, _ in stability.stable())
    True
    """
    resources = Resources(n_jobs, cluster, time_limit, callback)
    values, chosen = check_l1(l1_values), require_l1(resolve_learner(learner, knowledge))
    source = Table.open(table)
    harvest = run_draws(_draw, _Shared(source, chosen, values), draw_seeds(random_state, draws), resources)
    d, found = len(source.names), list(harvest.answers.values())
    selections = np.array(found, dtype=bool).reshape(len(found), len(values), d, d)
    total = max(len(found), 1)
    return Stability(
        source.names,
        values,
        selections.sum(axis=0) / total,
        float(selections.any(axis=1).sum() / total),
        len(found),
        (*note_rows(source), *note_shortfall(harvest, draws)),
    )


@dataclass(frozen=True, eq=False)
class _Shared:
    table: Table
    learner: ContinuousLearner
    values: Sequence[float]


def _draw(shared: _Shared, seed: SeedSequence, deadline: Deadline) -> Bools | None:
    table, start = shared.table.halved(default_rng(seed)), None
    selected = []
    for value in shared.values:
        found = fit(with_settings(shared.learner, {"l1": value}), table, start, deadline)
        if was_cut(found):
            return None
        selected.append(found.graph.adjacency)
        start = found.reached
    return np.array(selected)


def check_l1(values: ArrayLike) -> tuple[float, ...]:
    """The penalties, largest first."""
    given = np.asarray(values, dtype=float) if ARRAY.accepts(values) else np.zeros(0)
    if given.ndim != 1 or not given.size or not np.all(np.isfinite(given) & (given >= 0)):
        raise InputError(f"l1 values are {values!r}; give one or more finite numbers, none negative")
    return tuple(np.unique(given)[::-1].tolist())


def require_l1(learner: Learner) -> ContinuousLearner:
    """The learner, if it has an L1 penalty."""
    if isinstance(learner, ContinuousLearner) and "l1" in learner.get_params(deep=False):
        return learner
    name = type(learner).__name__ if isinstance(learner, DagLearner) else getattr(learner, "__name__", repr(learner))
    raise InputError(f"{name} has no penalty l1; give a learner that has, such as Notears() or Golem()")


def _check_cut(cut: float) -> float:
    if not 0.5 < cut <= 1:
        raise InputError(f"cut = {cut!r}; give a probability above 0.5, up to 1")
    return cut

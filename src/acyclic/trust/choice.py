"""Which L1 penalty, and which threshold: extended BIC, cross-validated likelihood, or stability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence, default_rng
from numpy.typing import ArrayLike

from acyclic.data.knowledge import compile_knowledge
from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.errors import InputError
from acyclic.facts import Fact, Remark, cut_short
from acyclic.graphs.showing import Shown
from acyclic.judging import words
from acyclic.judging.judge import PRUNING
from acyclic.learners import ContinuousLearner
from acyclic.learners.base import COMMON
from acyclic.ranges import (
    DRAWS,
    JOBS,
    NONE,
    SECONDS,
    SEEDS,
    a_fact,
    check_document,
    each,
    number,
    one_of,
    record,
    takes,
    whole,
)
from acyclic.scores.local import bic_of_weights
from acyclic.scores.regression import least_squares
from acyclic.scores.residuals import noise_variances, residual_variances
from acyclic.trust.bootstrap import was_cut
from acyclic.trust.fitting import Fit, Learner, fit, resolve_learner, with_settings
from acyclic.trust.stability import check_l1, require_l1, stability_selection
from acyclic.trust.workers import Resources, draw_seeds
from acyclic.types import Bools, Callback, Floats

__all__ = ["Choice", "choose_l1"]

FORMAT = "acyclic choice 2"
# Liu, Roeder & Wasserman (2010) accept a mean disagreement of 5 % between halves of the rows.
ACCEPTED_INSTABILITY = 0.05
WORDS = {
    "ebic": "extended BIC per row, the lowest wins",
    "cross-validation": "negative log-likelihood per row left out, the sparsest within a standard error of the lowest",
    "stability": f"disagreement between halves of the rows, the smallest penalty up to {ACCEPTED_INSTABILITY:g}",
}
_BY_VALUE = ("scores", "errors", "edges")
# What `to_dict` gives and `from_dict` takes; a score that is not finite is no number in JSON.
SHAPE = record(
    {
        "format": one_of(FORMAT),
        "criterion": one_of(*WORDS),
        **dict.fromkeys(("values", "thresholds"), each(number(least=0))),
        **dict.fromkeys(_BY_VALUE, each(each(number() | NONE))),
        **dict.fromkeys(("chosen", "threshold"), number(least=0)),
        "notes": each(a_fact(Remark)),
    }
)
Criterion = Literal["ebic", "cross-validation", "stability"]
Trial = tuple[Moments, Moments | None]


@dataclass(frozen=True)
class Choice(Shown):
    """A chosen penalty and the curve behind it.

    Attributes
    ----------
    criterion : str
    values : tuple of float
        Penalties l1, largest first.
    thresholds : tuple of float
    scores : tuple of tuple of float
        One row per penalty, one column per threshold; lower is better.
    errors : tuple of tuple of float
        Standard errors of the scores; 0 where there are none.
    edges : tuple of tuple of float
        Number of edges, or its mean over folds or halves.
    chosen : float
        The penalty to use.
    threshold : float
        The threshold to use with it.
    notes : tuple of Fact of Remark

    Examples
    --------
    >>> from acyclic import Notears, choose_l1, simulate
    >>> choice = choose_l1(Notears(), simulate(n_nodes=4, n=300, graph="ER1", random_state=1).X)
    >>> choice.chosen in choice.values
    True
    """

    criterion: str
    values: tuple[float, ...]
    thresholds: tuple[float, ...]
    scores: tuple[tuple[float, ...], ...]
    errors: tuple[tuple[float, ...], ...]
    edges: tuple[tuple[float, ...], ...]
    chosen: float
    threshold: float
    notes: tuple[Fact[Remark], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = {name: _listed(getattr(self, name)) for name in self.__dataclass_fields__ if name != "notes"}
        return {"format": FORMAT, **plain, "notes": [note.to_dict() for note in self.notes]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Choice:
        """The inverse of `to_dict`."""
        check_document(plain, SHAPE, "this is no choice of acyclic")
        sizes = {(len(plain["values"]), *map(len, plain[key])) for key in _BY_VALUE}
        if sizes != {(len(plain["values"]), *[len(plain["thresholds"])] * len(plain["values"]))}:
            raise InputError("this is no choice of acyclic: it has to have one number for each value and threshold")
        if plain["threshold"] not in plain["thresholds"]:
            raise InputError("this is no choice of acyclic: its threshold is none of its thresholds")
        rows: dict[str, Any] = {key: tuple(tuple(map(_float, row)) for row in plain[key]) for key in _BY_VALUE}
        lists: dict[str, Any] = {key: tuple(plain[key]) for key in ("values", "thresholds")}
        lists["notes"] = tuple(Fact.from_dict(Remark, note) for note in plain["notes"])
        ends: dict[str, Any] = {key: float(plain[key]) for key in ("chosen", "threshold")}
        return cls(criterion=plain["criterion"], **rows, **lists, **ends)

    def table(self) -> list[dict[str, Any]]:
        """One row per penalty and threshold."""
        return [
            {"l1": value, "threshold": cut, "score": score, "error": error, "edges": count}
            for value, *rows in zip(self.values, self.scores, self.errors, self.edges)
            for cut, score, error, count in zip(self.thresholds, *rows)
        ]

    def __str__(self) -> str:
        lines = [f"l1 = {self.chosen:.3g} with threshold {self.threshold:g}, by {WORDS[self.criterion]}:"]
        column = self.thresholds.index(self.threshold)
        for value, score, count in zip(self.values, self.scores, self.edges):
            mark = "*" if value == self.chosen else " "
            lines.append(f" {mark} l1 {value:<9.3g} score {score[column]:<12.6g} {count[column]:.1f} edges")
        return "\n".join([*lines, *(f"Note: {words.say(note)}." for note in self.notes)])


@takes(
    criterion=one_of(*WORDS),
    folds=whole(least=2),
    draws=DRAWS,
    knowledge=COMMON["knowledge"],
    random_state=SEEDS,
    n_jobs=JOBS,
    time_limit=SECONDS,
    callback=COMMON["callback"],
)
def choose_l1(
    learner: Learner,
    table: Any,
    values: ArrayLike | None = None,
    *,
    criterion: Criterion = "ebic",
    thresholds: ArrayLike | None = None,
    folds: int = 5,
    draws: int = 20,
    knowledge: Any = None,
    random_state: int | SeedSequence = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Choice:
    """Choose the L1 penalty of a learner, and its threshold.

    For "ebic" and "cross-validation" each graph is refitted by least squares on its edges, so that the L1 term does not
    count twice, and judged by the Gaussian likelihood with the learner's own assumption on noise variances (one for all
    unless it has ``noise="unequal"``). "ebic" adds log n + 2 log d per edge. "cross-validation" judges rows left out,
    from moments of the folds alone. "stability" looks at halves of the rows and at edges only.

    Parameters
    ----------
    learner : estimator or str
        With a hyper-parameter ``l1``: `Notears`, `Golem`.
    table : array-like, frame, Moments, path, or what `read_table` returns
        Cross-validation needs rows.
    values : array-like of float, optional
        Penalties; if left out, ten from 1 down to 0.002, for `Notears` times the smallest variance of a column, which
        under equal noise variances is that of the noise.
    criterion : {"ebic", "cross-validation", "stability"}
    thresholds : array-like of float, optional
        Thresholds to choose from; the learner's own if left out.
    folds : int
        Parts of the rows for cross-validation.
    draws : int
        Halves of the rows for stability.
    knowledge, random_state, n_jobs, time_limit, callback
        As for `bootstrap`; processes are used for stability only.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> from acyclic.learners.notears import Notears
    >>> data = simulate(n_nodes=8, n=300, random_state=1)
    >>> choice = choose_l1(Notears(), data.X, [1.0, 0.1, 0.01])
    >>> choice.chosen in (0.1, 0.01)
    True
    """
    chosen, source = require_l1(resolve_learner(learner, knowledge)), Table.open(table)
    grid = check_l1(_grid(chosen, source.moments) if values is None else values)
    cuts = _check_thresholds(chosen, thresholds)
    resources = Resources(n_jobs, None, time_limit, callback)
    if criterion == "stability":
        return _by_stability(chosen, source, grid, cuts, draws, random_state, resources)
    if criterion == "ebic":
        trials: Sequence[Trial] = [(source.moments, None)]
    else:
        rng = default_rng(draw_seeds(random_state, 1)[0])
        trials = _held_out(source.folds(folds, rng))
    return _by_likelihood(chosen, trials, grid, cuts, resources, criterion)


def _held_out(parts: list[Moments]) -> list[Trial]:
    return [(Moments.merged([*parts[:k], *parts[k + 1 :]]), part) for k, part in enumerate(parts)]


def _by_likelihood(
    learner: ContinuousLearner,
    trials: Sequence[Trial],
    grid: tuple[float, ...],
    cuts: tuple[float, ...],
    resources: Resources,
    criterion: str,
) -> Choice:
    equal = learner.get_params(deep=False).get("noise", "equal") == "equal"
    scores = np.full((len(trials), len(grid), len(cuts)), np.nan)
    edges = np.full_like(scores, np.nan)
    notes: list[Fact[Remark]] = []
    for place, graphs in _paths(learner, trials, grid, cuts, resources):
        scores[place], edges[place] = zip(*(_judge(*trials[place[0]], graph, equal) for graph in graphs))
    # Only penalties that every fold reached can be compared.
    reached = ~np.isnan(scores).any(axis=(0, 2))
    if not reached.any():
        raise InputError("the run ended before any penalty was tried; raise the time limit")
    if not reached.all():
        notes.append(cut_short(None, "penalties", done=int(reached.sum()), requested=len(grid)))
    kept = scores[:, reached], edges[:, reached]
    mean = kept[0].mean(axis=0)
    error = kept[0].std(axis=0, ddof=1) / np.sqrt(len(trials)) if len(trials) > 1 else np.zeros_like(mean)
    best = np.unravel_index(int(np.argmin(mean)), mean.shape)
    # The first within reach has the largest penalty, and among its thresholds the largest.
    row, column = np.argwhere(mean <= mean[best] + error[best])[0]
    values = tuple(np.array(grid)[reached].tolist())
    notes += _note_end(values, values[row])
    curve = _rows(mean), _rows(error), _rows(kept[1].mean(axis=0))
    return Choice(criterion, values, cuts, *curve, values[row], cuts[column], tuple(notes))


def _paths(
    learner: ContinuousLearner,
    trials: Sequence[Trial],
    grid: tuple[float, ...],
    cuts: tuple[float, ...],
    resources: Resources,
) -> Iterator[tuple[tuple[int, int], list[Bools]]]:
    """Graphs by (trial, penalty) and threshold; penalties go down within a trial, each from the solution before."""
    starts: list[Floats | None] = [None] * len(trials)
    for step, value in enumerate(grid):
        for trial, (moments, _) in enumerate(trials):
            if resources.deadline.passed():
                return
            found = fit(with_settings(learner, {"l1": value}), Table.open(moments), starts[trial], resources.deadline)
            if was_cut(found):
                return
            starts[trial] = found.reached
            yield (trial, step), _cut_graphs(learner, moments, found, cuts)
        if resources.ends_after(step + 1, len(grid), "penalty"):
            return


def _cut_graphs(learner: ContinuousLearner, moments: Moments, found: Fit, cuts: tuple[float, ...]) -> list[Bools]:
    """The graph of one solution under each threshold: all follow from the weights before the cut."""
    prune, _ = PRUNING[learner.pruning]
    required = compile_knowledge(getattr(learner, "knowledge", None), moments.names).required
    own, reached = found.graph.adjacency, found.graph.weights if found.reached is None else found.reached
    shielded = np.where(required, np.finfo(float).max, reached)
    return [own if cut == learner.threshold else np.not_equal(prune(shielded, cut).weights, 0) for cut in cuts]


def _judge(train: Moments, held_out: Moments | None, edges: Bools, equal: bool) -> tuple[float, int]:
    """Score of a graph refitted on `train`, with its number of edges."""
    weights, count = least_squares(train.covariance, edges), int(np.count_nonzero(edges))
    if held_out is None:
        return bic_of_weights(train, weights, "equal" if equal else "unequal") / train.n, count
    left, _ = noise_variances(train, weights)
    variances = np.full_like(left, left.mean()) if equal and left.size else left
    shift = held_out.mean - train.mean
    second = held_out.covariance + np.outer(shift, shift)
    squares = residual_variances(second, weights)[np.diag(train.covariance) > 0]
    return float(0.5 * (np.log(2 * np.pi * variances) + squares / variances).sum()), count


def _by_stability(
    learner: ContinuousLearner,
    source: Table,
    grid: tuple[float, ...],
    cuts: tuple[float, ...],
    draws: int,
    random_state: int | SeedSequence,
    resources: Resources,
) -> Choice:
    if len(cuts) > 1:
        raise InputError(f"stability compares penalties under one threshold; {len(cuts)} were given")
    found = stability_selection(
        with_settings(learner, {"threshold": cuts[0]}),
        source,
        grid,
        draws,
        random_state=random_state,
        n_jobs=resources.n_jobs,
        time_limit=resources.deadline,
        callback=resources.callback,
    )
    # A graph that is empty, or complete, is stable too: what larger penalties disagree on stays disagreed on.
    disagreement = np.maximum.accumulate(found.instability())
    accepted = np.flatnonzero(disagreement <= ACCEPTED_INSTABILITY)
    notes = list(found.notes)
    if not accepted.size:
        notes.append(Fact.of(Remark.NONE_STABLE, accepted=ACCEPTED_INSTABILITY))
    scores, edges = _rows(disagreement[:, None]), _rows(found.probability.sum(axis=(1, 2))[:, None])
    chosen = grid[accepted[-1] if accepted.size else 0]
    notes += _note_end(grid, chosen)
    zeros = _rows(np.zeros((len(grid), 1)))
    return Choice("stability", grid, cuts, scores, zeros, edges, chosen, cuts[0], tuple(notes))


def _grid(learner: ContinuousLearner, moments: Moments) -> Floats:
    """Ten penalties around the published ones, in the units of the loss: the likelihood of `Golem` has none."""
    variances = np.diag(moments.covariance)
    scale = 1.0 if "noise" in learner.get_params(deep=False) else float(min(variances[variances > 0], default=1.0))
    # Down to the smallest published one, that of GOLEM-NV.
    return scale * np.geomspace(1.0, 0.002, 10)


def _note_end(values: tuple[float, ...], chosen: float) -> list[Fact[Remark]]:
    if len(values) > 1 and chosen in (values[0], values[-1]):
        return [Fact.of(Remark.AT_THE_END, which="largest" if chosen == values[0] else "smallest")]
    return []


def _check_thresholds(learner: ContinuousLearner, thresholds: ArrayLike | None) -> tuple[float, ...]:
    given = np.asarray([learner.threshold] if thresholds is None else thresholds, dtype=float)
    if given.ndim != 1 or not given.size or not np.all(np.isfinite(given) & (given >= 0)):
        raise InputError(f"thresholds are {thresholds!r}; give one or more finite numbers, none negative")
    return tuple(np.unique(given)[::-1].tolist())


def _rows(table: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in table.tolist())


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _float(value: float | None) -> float:
    return np.nan if value is None else float(value)

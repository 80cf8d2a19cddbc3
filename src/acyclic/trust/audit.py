"""What an answer owes to the units of the columns, and whether its assumptions hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import nan
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng

from acyclic.data.model import Model
from acyclic.data.moments import Moments
from acyclic.data.table import MOST_SAMPLED, Table
from acyclic.deadline import Deadline
from acyclic.discrete.categorical import Distributions
from acyclic.discrete.fitted import Fitted
from acyclic.errors import InputError
from acyclic.facts import Doubt, Ended, Fact, Remark, cut_short
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import find_compelled
from acyclic.graphs.metrics import shd
from acyclic.graphs.showing import Shown
from acyclic.graphs.sortability import r2_sortability, varsortability
from acyclic.judging import words
from acyclic.learners import DagLearner
from acyclic.learners.base import COMMON
from acyclic.learners.sortnregress import SortnRegress
from acyclic.ranges import (
    EDGES,
    FLAG,
    NAMES,
    NONE,
    PAIRS,
    SECONDS,
    SEEDS,
    SHARE,
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
from acyclic.scores.equal_variances import EqualVariances
from acyclic.trust.adequacy import SHAPE as ADEQUACY
from acyclic.trust.adequacy import Adequacy, markov_check
from acyclic.trust.bootstrap import check_first
from acyclic.trust.fitting import Fit, Learner, fit, resolve_learner
from acyclic.trust.progress import show_progress
from acyclic.trust.residuals import dependent_residuals, equal_variances, odd_residuals, residuals_of
from acyclic.trust.workers import Resources, draw_seeds
from acyclic.types import Bools, Callback, Kind

__all__ = ["Audit", "audit"]

FORMAT = "acyclic audit 2"
Pair = tuple[str, str]
# What can become of an edge in other units.
FATES = ("surviving", "turning", "undetermined", "vanishing")
# With fewer rows for each column a half of them is not learned from.
FEWEST_HALVED = 10
# From here on variances alone nearly give the order away.
HIGH_SORTABILITY = 0.9
_TEST = ("statistic", "limit", "spread")
# What `to_dict` gives and `from_dict` takes.
SHAPE = record(
    {
        "format": one_of(FORMAT),
        "sound": FLAG,
        "reasons": each(a_fact(Doubt)),
        "notes": each(a_fact(Remark)),
        "names": NAMES,
        "edges": EDGES,
        **dict.fromkeys(FATES, PAIRS),
        "refits": whole(least=0),
        **dict.fromkeys(("varsortability", "r2sortability"), SHARE | NONE),
        "sorting_alone": whole(least=0),
        "equal_variances": record(dict.fromkeys(_TEST, number() | NONE)),
    },
    {"end": a_fact(Ended), "adequacy": ADEQUACY | NONE},
)


@dataclass(frozen=True)
class Audit(Shown):
    """How far a learned graph depends on units and assumptions; ``str()`` is prose.

    Attributes
    ----------
    sound : bool
        Whether nothing speaks against taking the directions as they are.
    reasons : tuple of Fact of Doubt
        What speaks against it.
    end : Fact of Ended
        How the refits ended.
    notes : tuple of Fact of Remark
        What else a reader should know.
    graph : Dag
        The learned graph.
    surviving : tuple of (source, target)
        Edges found with this direction, as a determined one, in every refit under other units.
    turning : tuple of (source, target)
        Edges joined in every refit, but with another or no determined direction in some: these directions are owed to
        the units.
    undetermined : tuple of (source, target)
        Edges joined in every refit, of which the learner itself says that they could point the other way.
    vanishing : tuple of (source, target)
        Edges whose ends are not joined in some refit.
    refits : int
        Refits under other units that were done.
    varsortability, r2sortability : float
        How far variances, or R², grow along the learned paths; ½ for a random order, nan without edges.
    sorting_alone : int
        SHD between the learned graph and that of `SortnRegress`, which sorts by variance and regresses.
    equal_variances : EqualVariances
        The test of equal noise variances on the learned graph.
    adequacy : Adequacy, optional
        Whether the rows bear out the independencies that the learned graph implies, as `markov_check` tells it; its
        ``held_out`` is of a graph learned from one half of the rows and tested on the other. None where the run ended
        before, and in older files.

    Examples
    --------
    >>> from acyclic import audit, simulate
    >>> said = audit(simulate(n_nodes=5, n=500, graph="ER1", random_state=1).X)
    >>> said.refits, Audit.from_dict(said.to_dict()) == said
    (4, True)
    """

    sound: bool
    reasons: tuple[Fact[Doubt], ...]
    end: Fact[Ended]
    notes: tuple[Fact[Remark], ...]
    graph: Dag
    surviving: tuple[Pair, ...]
    turning: tuple[Pair, ...]
    undetermined: tuple[Pair, ...]
    vanishing: tuple[Pair, ...]
    refits: int
    varsortability: float
    r2sortability: float
    sorting_alone: int
    equal_variances: EqualVariances
    adequacy: Adequacy | None = None

    def __str__(self) -> str:
        return words.say_audit(self)

    def table(self) -> list[dict[str, Any]]:
        """One row per edge: what became of it in other units."""
        fates = {pair: fate for fate in FATES for pair in getattr(self, fate)}
        return [
            {"source": source, "target": target, "weight": weight, "in other units": fates.get((source, target))}
            for source, target, weight in self.graph.edges()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        test = {**asdict(self.equal_variances), "accepted": self.equal_variances.accepted}
        sortability = {name: _number(getattr(self, name)) for name in ("varsortability", "r2sortability")}
        return {
            "format": FORMAT,
            "sound": self.sound,
            "reasons": [reason.to_dict() for reason in self.reasons],
            "end": self.end.to_dict(),
            "notes": [note.to_dict() for note in self.notes],
            "names": list(self.graph.names),
            "edges": [list(edge) for edge in self.graph.edges()],
            **{fate: [list(pair) for pair in getattr(self, fate)] for fate in FATES},
            "refits": self.refits,
            **sortability,
            "sorting_alone": self.sorting_alone,
            "equal_variances": test,
            **({} if self.adequacy is None else {"adequacy": self.adequacy.to_dict()}),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Audit:
        """The inverse of `to_dict`."""
        check_document(plain, SHAPE, "this is no audit of acyclic")
        try:
            test = plain["equal_variances"]
            pairs: dict[str, Any] = {key: tuple((a, b) for a, b in plain[key]) for key in FATES}
            sortability: dict[str, Any] = {key: _float(plain[key]) for key in ("varsortability", "r2sortability")}
            return cls(
                sound=bool(plain["sound"]),
                reasons=tuple(Fact.from_dict(Doubt, fact) for fact in plain["reasons"]),
                end=Fact.from_dict(Ended, plain.get("end", {"kind": Ended.COMPLETE})),
                notes=tuple(Fact.from_dict(Remark, fact) for fact in plain["notes"]),
                graph=Dag.from_edges([(a, b, w) for a, b, w in plain["edges"]], plain["names"]),
                refits=int(plain["refits"]),
                sorting_alone=int(plain["sorting_alone"]),
                equal_variances=EqualVariances(*(_float(test[key]) for key in _TEST)),
                adequacy=None if plain.get("adequacy") is None else Adequacy.from_dict(plain["adequacy"]),
                **pairs,
                **sortability,
            )
        except ValueError as error:
            raise InputError(f"this is no audit of acyclic: {error}") from error


@takes(
    knowledge=COMMON["knowledge"],
    rescalings=whole(least=0),
    decades=number(above=0, most=6),
    random_state=SEEDS,
    first=an_instance("a fitted learner", DagLearner) | NONE,
    time_limit=SECONDS,
    callback=COMMON["callback"],
    progress=FLAG,
)
def audit(
    table: Any,
    *,
    learner: Learner = "auto",
    knowledge: Any = None,
    rescalings: int = 3,
    decades: float = 1.0,
    random_state: int | SeedSequence = 0,
    first: DagLearner | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    progress: bool = False,
) -> Audit:
    """Learn from a table, learn again in other units, and test what the directions rest on.

    The verdict `sound` is False if equal noise variances are rejected while some direction is not fixed by conditional
    independence; if all columns have the same variance, as after standardising; if residuals depend on parents (needs
    rows); if the rows contradict independencies that the graph implies; or if the learner did not converge. Under equal
    variances in the units given, directions owed to units are sound: other units would destroy what identifies them.

    Parameters
    ----------
    table : array-like, frame, Moments, path, or what `read_table` returns
        Tests of residuals need rows; without them only units and variances are examined.
    learner : estimator, str or callable
        As for `bootstrap`.
    knowledge : Knowledge or path, optional
    rescalings : int
        Refits with random units beside the one with standardised columns.
    decades : float
        Each column is multiplied by 10^u, u uniform in ±decades.
    random_state : int or SeedSequence
        Of the random units.
    first : estimator, optional
        As for `bootstrap`.
    time_limit : float, optional
        Seconds after which no further refit is started, and the running fit is cut short.
    callback : callable, optional
        Called with a `Progress` after each fit; a true answer ends the refits.
    progress : bool
        Whether to show how far it is.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=1000, random_state=1)
    >>> audit(data.X).sound, audit(data.X / data.X.std(axis=0)).sound
    (True, False)
    """
    with show_progress(progress, callback, "audit", int(rescalings) + 1) as told:
        resources = Resources(time_limit=time_limit, callback=told)
        source, chosen = Table.open(table), resolve_learner(learner, knowledge)
        whole = fit(chosen, source, deadline=resources.deadline) if first is None else check_first(first, source)
        fixed = isinstance(chosen, DagLearner) and chosen.fixed_units
        others = [] if fixed else _other_units(source, int(rescalings), decades, random_state)
        # Before the refits, of which a limit may leave some: whether rows that were not learned from agree weighs more.
        adequacy = _test_claims(chosen, source, whole, resources.deadline, random_state)
        refits, end = _refit(chosen, others, resources, whole)
        found = _judge(source, whole, refits, end, len(others), adequacy)
        return replace(found, notes=(Fact.of(Remark.FIXED_UNITS), *found.notes)) if fixed else found


def _other_units(table: Table, count: int, decades: float, random_state: int | SeedSequence) -> list[Table]:
    factors = [
        10 ** default_rng(seed).uniform(-decades, decades, len(table.names))
        for seed in draw_seeds(random_state, count + 1)[:count]
    ]
    return [table.standardized(), *(table.scaled(factor) for factor in factors)]


def _refit(learner: Learner, tables: list[Table], resources: Resources, first: Fit) -> tuple[list[Fit], Fact[Ended]]:
    done: list[Fit] = []
    if first.end.kind is Ended.INTERRUPTED:
        return done, first.end
    for table in tables:
        if resources.deadline.passed():
            return done, resources.deadline.end()
        if resources.ends_after(len(done), len(tables), "refit"):
            return done, Fact.of(Ended.CALLBACK)
        found = fit(learner, table, deadline=resources.deadline)
        if found.end.kind.stopped:
            return done, found.end
        done.append(found)
    return done, Fact.of(Ended.COMPLETE)


def _test_claims(
    learner: Learner, table: Table, first: Fit, deadline: Deadline, random_state: int | SeedSequence
) -> Adequacy | None:
    """The independencies of the answer, on its own rows; and those of the graph of one half of them, on the other."""
    if first.end.kind is Ended.INTERRUPTED or deadline.passed():
        return None
    found = markov_check(Dag(first.graph.weights, table.names), table, time_limit=deadline)
    found = replace(found, notes=(Fact.of(Remark.SAME_ROWS), *found.notes))
    if not table.has_rows or table.moments.n < FEWEST_HALVED * len(table.names):
        return found
    one, other = table.split(default_rng(random_state))
    learned = fit(learner, one, deadline=deadline)
    if learned.end.kind.stopped or deadline.passed():
        return found
    tested = markov_check(Dag(learned.graph.weights, table.names), other, time_limit=deadline)
    return replace(found, held_out=tested.p_value if tested.tested else None)


def _judge(
    table: Table, first: Fit, refits: list[Fit], end: Fact[Ended], planned: int, adequacy: Adequacy | None
) -> Audit:
    moments, graph = table.moments, first.graph
    test = equal_variances(moments, graph)
    doubts, notes = _doubt_residuals(table, first)
    reasons = [*_doubt_units(moments, first, test), *doubts, *_doubt_claims(adequacy)]
    if not first.end.kind.converged:
        reasons.append(Fact.of(Doubt.NOT_CONVERGED))
    if len(refits) < planned:
        notes.insert(0, cut_short(end, "refits", done=len(refits), requested=planned))
    counted = not _find_numbers(table, first).any()
    variances = nan if counted else varsortability(graph, moments.covariance)
    if graph.n_edges and variances >= HIGH_SORTABILITY and not test.accepted:
        notes.append(Fact.of(Remark.VARIANCE_SORTED))
    return Audit(
        sound=not reasons,
        reasons=tuple(reasons),
        end=end,
        notes=tuple(notes),
        graph=graph,
        **_fates(first, refits),
        refits=len(refits),
        varsortability=variances,
        r2sortability=nan if counted else r2_sortability(graph, moments.covariance),
        sorting_alone=int(shd(SortnRegress().fit(moments).causal_graph_, graph)),
        equal_variances=test,
        adequacy=adequacy,
    )


def _doubt_claims(adequacy: Adequacy | None) -> list[Fact[Doubt]]:
    if adequacy is None or adequacy.fits:
        return []
    worst = adequacy.violated[:1]
    ends = [name for claim in worst for name in (claim.node, claim.other)]
    p_value = min(p for p in (adequacy.p_value, adequacy.held_out) if p is not None)
    return [Fact.of(Doubt.VIOLATED, *ends, count=adequacy.violations, tested=adequacy.tested, p_value=p_value)]


def _doubt_units(moments: Moments, first: Fit, test: EqualVariances) -> list[Fact[Doubt]]:
    graph, said = first.graph, []
    if not graph.n_edges:
        return []
    undecided = graph.adjacency & ~find_compelled(graph)
    free = int(np.count_nonzero(undecided if first.decided is None else undecided & ~first.decided))
    # Neither curves, shapes nor levels are told by units.
    if isinstance(first.mechanisms, Fitted | Distributions | Model):
        return [Fact.of(Doubt.CLASS_ONLY, open=free, edges=graph.n_edges)] if free else []
    if not test.accepted and free:
        said.append(Fact.of(Doubt.UNEQUAL_VARIANCES, spread=test.spread, open=free, edges=graph.n_edges))
    if moments.is_standardized:
        said.append(Fact.of(Doubt.STANDARDIZED))
    return said


def _find_numbers(table: Table, first: Fit) -> Bools:
    """The columns (d,) whose residuals say something: not those with levels, of which two in a linear model will do."""
    mechanisms = first.mechanisms
    if isinstance(mechanisms, Distributions):
        return np.zeros(len(table.names), dtype=bool)
    if isinstance(mechanisms, Model):
        return np.array([not mechanisms.is_category(j) for j in range(len(table.names))])
    levels = [len(table.levels.get(name, ())) for name in table.names]
    return np.array([kind is not Kind.CATEGORICAL or size <= 2 for kind, size in zip(table.kinds, levels)])


def _doubt_residuals(table: Table, first: Fit) -> tuple[list[Fact[Doubt]], list[Fact[Remark]]]:
    """Reasons from the residuals of numbers, and what is only worth a remark."""
    graph = first.graph
    if not table.has_sample:
        return [], [Fact.of(Remark.NO_ROWS)]
    numbers = _find_numbers(table, first)
    # What is left of a column of two levels has a spread that changes with its mean, whatever the mechanism.
    children = numbers & np.array([kind is not Kind.CATEGORICAL for kind in table.kinds])
    among = Dag(np.where(children & numbers[:, None], graph.weights, 0.0), graph.names)
    if not among.n_edges:
        return [], []
    rows = table.rows() if table.has_rows else table.sample(MOST_SAMPLED)
    of = int(table.moments.n)
    notes = [Fact.of(Remark.SAMPLED, rows=len(rows), of=of)] if len(rows) < of else []
    if isinstance(first.mechanisms, Model):
        left = rows - first.mechanisms.expect(rows)
    elif first.mechanisms is not None:
        left = rows - first.mechanisms.predict(rows)
    else:
        left = residuals_of(rows, table.moments, graph)
    odd = [name for name in odd_residuals(left, graph.names) if numbers[graph.names.index(name)]]
    # Where their shape decides directions already, that noise is not normal is no news.
    if odd and (first.decided is None or not first.decided.any()):
        notes.append(Fact.of(Remark.ODD_NOISE, *odd, count=len(odd), columns=graph.n_nodes))
    bent = dependent_residuals(rows, left, among)
    doubts = [Fact.of(bent[0].kind, *bent[0].about, count=len(bent))] if bent else []
    return doubts, notes


def _fates(first: Fit, refits: list[Fit]) -> dict[str, tuple[Pair, ...]]:
    """What becomes of each edge in other units."""
    graph = first.graph
    arcs = np.array([found.arcs for found in refits]).reshape(len(refits), graph.n_nodes, graph.n_nodes)
    joined = (arcs + arcs.transpose(0, 2, 1) > 0).all(axis=0)
    same, open_edges = (arcs == 1).all(axis=0), first.undetermined
    where = joined & same & ~open_edges, joined & ~same & ~open_edges, joined & open_edges, ~joined
    names = graph.names
    return {
        fate: tuple((names[i], names[j]) for i, j in np.argwhere(graph.adjacency & chosen).tolist())
        for fate, chosen in zip(FATES, where)
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value


def _float(value: float | None) -> float:
    return float("nan") if value is None else float(value)

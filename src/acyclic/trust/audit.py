"""What an answer owes to the units of the columns, and whether its assumptions hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng

from acyclic.data.moments import Moments
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import compelled
from acyclic.graphs.metrics import shd
from acyclic.graphs.sortability import r2_sortability, varsortability
from acyclic.learners.sortnregress import SortnRegress
from acyclic.learning import learn
from acyclic.scores.equal_variances import EqualVariances
from acyclic.trust.fitting import Fit, Learner, fit, resolved, time_left
from acyclic.trust.resampling import Source, draw_seeds
from acyclic.trust.residuals import dependent_residuals, equal_variances, odd_residuals, residuals_of
from acyclic.trust.workers import Plan
from acyclic.types import Callback, Floats

__all__ = ["Audit", "audit"]

FORMAT = "acyclic audit 1"
Pair = tuple[str, str]
# What can become of an edge in other units.
FATES = ("surviving", "turning", "undetermined", "vanishing")
# From here on variances alone nearly give the order away.
HIGH_SORTABILITY = 0.9


@dataclass(frozen=True)
class Audit:
    """How far a learned graph depends on units and assumptions; ``str()`` is prose.

    Attributes
    ----------
    sound : bool
        Whether nothing speaks against taking the directions as they are.
    reasons : tuple of str
        What speaks against it.
    notes : tuple of str
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
    """

    sound: bool
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
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

    def __str__(self) -> str:
        if not self.graph.n_edges:
            return "\n".join(["There is no edge to audit.", *_sentences("Note", self.notes)])
        conclusion = "can be taken as they are" if self.sound else "should NOT be taken as they are"
        lines = [
            f"The directions of these {self.graph.n_edges} edges {conclusion}.",
            *_sentences("Because", self.reasons),
            self._units(),
            self._order(),
            *_sentences("Note", self.notes),
        ]
        return "\n".join(line for line in lines if line)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain = {name: value for name, value in vars(self).items() if name not in ("graph", "equal_variances")}
        test = {**asdict(self.equal_variances), "accepted": self.equal_variances.accepted}
        return {
            "format": FORMAT,
            **{name: _listed(value) for name, value in plain.items()},
            "names": list(self.graph.names),
            "edges": [list(edge) for edge in self.graph.edges()],
            "equal_variances": test,
            "text": str(self),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Audit:
        """The inverse of `to_dict`."""
        try:
            if plain["format"] != FORMAT:
                raise ValueError(f"its format is {plain['format']!r}, not {FORMAT!r}")
            test = plain["equal_variances"]
            pairs: dict[str, Any] = {key: tuple((a, b) for a, b in plain[key]) for key in FATES}
            sortability: dict[str, Any] = {key: _float(plain[key]) for key in ("varsortability", "r2sortability")}
            return cls(
                sound=bool(plain["sound"]),
                reasons=tuple(plain["reasons"]),
                notes=tuple(plain["notes"]),
                graph=Dag.from_edges([(a, b, w) for a, b, w in plain["edges"]], plain["names"]),
                refits=int(plain["refits"]),
                sorting_alone=int(plain["sorting_alone"]),
                equal_variances=EqualVariances(test["statistic"], test["limit"], test["spread"]),
                **pairs,
                **sortability,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is no audit of acyclic: {error}") from error

    def _units(self) -> str:
        if not self.refits:
            return "No refit under other units was done."
        total, parts = self.graph.n_edges, [f"{len(self.surviving)} of {self.graph.n_edges} edges keep their direction"]
        if self.turning:
            parts.append(f"{len(self.turning)} only while the units are kept ({_some(self.turning)})")
        if self.undetermined:
            parts.append(f"{len(self.undetermined)} have no determined direction ({_some(self.undetermined)})")
        if self.vanishing:
            parts.append(f"in some refit no edge joins the ends of {len(self.vanishing)} ({_some(self.vanishing)})")
        if len(self.surviving) == total:
            parts = [f"all {total} edges keep their direction"]
        return f"In {self.refits} refits under other units, the standardised among them, {'; '.join(parts)}."

    def _order(self) -> str:
        lines = (
            f"Variances grow along {self.varsortability:.0%} of the learned paths, R² along {self.r2sortability:.0%}"
        )
        alone = "the same graph" if not self.sorting_alone else f"a graph {self.sorting_alone} edges away"
        return f"{lines}; sorting the columns by variance and regressing, which learns nothing, gives {alone}."


def audit(
    table: Any,
    *,
    learner: Learner = learn,
    knowledge: Any = None,
    rescalings: int = 3,
    decades: float = 1.0,
    random_state: int | SeedSequence = 0,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Audit:
    """Learn from a table, learn again in other units, and test what the directions rest on.

    The verdict `sound` is False if equal noise variances are rejected while some direction is not fixed by conditional
    independence; if all columns have the same variance, as after standardising; if residuals depend on parents (needs
    rows); or if the learner did not converge. Under equal variances in the units given, directions owed to units are
    sound: other units would destroy what identifies them.

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
    time_limit : float, optional
        Seconds after which no further refit is started, and the running fit is cut short.
    callback : callable, optional
        Called with a `Progress` after each fit; a true answer ends the refits.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=1000, random_state=1)
    >>> audit(data.X).sound, audit(data.X / data.X.std(axis=0)).sound
    (True, False)
    """
    if isinstance(rescalings, bool) or not isinstance(rescalings, int | np.integer) or rescalings < 0:
        raise InputError(f"rescalings = {rescalings!r}; give a number of refits, at least 0")
    if not 0 < decades <= 6:
        raise InputError(f"decades = {decades!r}; give a number above 0, up to 6")
    plan = Plan(time_limit=time_limit, callback=callback)
    source, chosen = Source.of(table), resolved(learner, knowledge)
    first = fit(chosen, source.moments, time_limit=time_left(plan.deadline))
    others = _other_units(source.moments, int(rescalings), decades, random_state)
    return _judged(source, first, _refits(chosen, others, plan), len(others))


def _other_units(moments: Moments, count: int, decades: float, random_state: int | SeedSequence) -> list[Moments]:
    factors = [
        10 ** default_rng(seed).uniform(-decades, decades, len(moments.names))
        for seed in draw_seeds(random_state, count + 1)[:count]
    ]
    return [moments.standardized(), *(moments.scaled(factor) for factor in factors)]


def _refits(learner: Learner, tables: list[Moments], plan: Plan) -> list[Fit]:
    done: list[Fit] = []
    for moments in tables:
        if time_left(plan.deadline) == 0 or plan.ends_after(len(done), len(tables), "refit"):
            break
        found = fit(learner, moments, time_limit=time_left(plan.deadline))
        if time_left(plan.deadline) != 0 or found.converged:
            done.append(found)
    return done


def _judged(source: Source, first: Fit, refits: list[Fit], planned: int) -> Audit:
    moments, graph = source.moments, first.graph
    test = equal_variances(moments, graph)
    notes = [] if len(refits) == planned else [f"{len(refits)} of {planned} refits were done before the end"]
    reasons = [*_against_units(moments, first, test), *_misfits(source, graph, notes)]
    if not first.converged:
        reasons.append("the learner did not converge")
    fates = _fates(first, refits)
    variances, alone = varsortability(graph, moments.covariance), shd(SortnRegress().fit(moments).causal_graph_, graph)
    if graph.n_edges and variances >= HIGH_SORTABILITY and not test.accepted:
        notes.append("the learned order is nearly that of the variances, which are a matter of units")
    return Audit(
        sound=not reasons,
        reasons=tuple(reasons),
        notes=tuple(notes),
        graph=graph,
        **fates,
        refits=len(refits),
        varsortability=variances,
        r2sortability=r2_sortability(graph, moments.covariance),
        sorting_alone=int(alone),
        equal_variances=test,
    )


def _against_units(moments: Moments, first: Fit, test: EqualVariances) -> list[str]:
    if not first.graph.n_edges:
        return []
    said, free = [], int(np.count_nonzero(first.graph.adjacency & ~compelled(first.graph)))
    if not test.accepted and free:
        said.append(
            f"the noise variances are not equal in the units given (the largest is {test.spread:.3g} times the "
            f"smallest), and conditional independence leaves {free} of {first.graph.n_edges} directions open"
        )
    variances = np.diag(moments.covariance)
    if len(variances) > 1 and np.ptp(variances) <= 1e-6 * variances.max():
        said.append("all columns have the same variance, as after standardising: the units that could orient are gone")
    return said


def _misfits(source: Source, graph: Dag, notes: list[str]) -> list[str]:
    """Reasons from the residuals; what is only worth a remark is added to the notes."""
    if source.rows is None:
        notes.append("there are no rows, so the shape of the noise could not be tested")
        return []
    if not graph.n_edges:
        return []
    rows: Floats = np.asarray(source.rows, dtype=float)
    left = residuals_of(rows, source.moments, graph)
    odd = odd_residuals(left, graph.names)
    if odd:
        notes.append(
            f"the noise of {len(odd)} of {graph.n_nodes} columns is not Gaussian ({_some([f.about for f in odd])}); "
            "methods for non-Gaussian noise could orient more"
        )
    bent = dependent_residuals(rows, left, graph)
    if not bent:
        return []
    which = f"{bent[0].message}, and so it is for {len(bent) - 1} more edges" if len(bent) > 1 else bent[0].message
    return [f"a linear model without hidden causes does not fit: {which}"]


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


def _some(items: Any) -> str:
    shown = [" → ".join(item) for item in list(items)[:4]]
    return ", ".join(shown) + (", …" if len(items) > 4 else "")


def _sentences(label: str, texts: tuple[str, ...]) -> list[str]:
    return [f"{label}: {text.rstrip('.')}." for text in texts]


def _listed(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_listed(item) for item in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def _float(value: float | None) -> float:
    return float("nan") if value is None else float(value)

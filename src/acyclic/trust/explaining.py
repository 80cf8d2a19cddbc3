"""What drives a column, and what follows from it: total effects, intervals, confidence, bounds over the class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from acyclic.errors import InputError, show_name, suggest
from acyclic.facts import Fact, Orientation, Remark
from acyclic.findings import Findings
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag, extend_consistently
from acyclic.graphs.separation import find_adjustment
from acyclic.graphs.showing import Shown
from acyclic.judging import words
from acyclic.trust.bootstrap import LEVEL, Bootstrap
from acyclic.trust.effects import total_effects
from acyclic.types import Bools, Floats, Kind

__all__ = ["FEWEST_DRAWS", "Effect", "Explanation", "bound_effects", "explain", "find_target", "remark_draws"]

# With fewer draws no whole one is outside of an interval at either of its ends.
FEWEST_DRAWS = round(2 / (1 - LEVEL))
# Where there was no bootstrap: refits on the graph as it is, and the seconds that they may take.
REFITS, SECONDS = 200, 2.0
# Sets of open neighbours that may be parents; a column has no more of them unless its neighbourhood is a large clique.
MOST_SETS = 500
# Relative to the standard deviations, what rounding leaves of an effect that is none.
NOTHING = 1e-9


@dataclass(frozen=True)
class Effect:
    """The total effect of one column on another.

    Attributes
    ----------
    cause, outcome : str
    effect : float
        Change of the outcome when the cause is set one unit higher, along all directed paths of the graph.
    scale : float or None
        Standard deviation of the cause over that of the outcome; None where these are not known.
    lower, upper : float or None
        Interval of `effect`; see `Explanation.remarks` for what it is made of. None where there is none.
    confidence : float or None
        Share of the bootstrap's draws in whose graphs a directed path leads from cause to outcome.
    least, most : float
        Bounds of `effect` over the graphs that fit equally well; equal where the direction of no edge at the cause is
        open.
    direct : bool
        Whether the graph has the edge itself.
    adjustment : tuple of str
        What to hold fixed when the effect is estimated by a regression.
    """

    cause: str
    outcome: str
    effect: float
    scale: float | None
    lower: float | None
    upper: float | None
    confidence: float | None
    least: float
    most: float
    direct: bool
    adjustment: tuple[str, ...]

    @property
    def standardised(self) -> float | None:
        """The effect in standard deviations of both columns; None where these are not known."""
        return None if self.scale is None else self.effect * self.scale

    @property
    def is_bounded(self) -> bool:
        """Whether graphs that fit equally well disagree on it."""
        return self.least < self.most

    def to_row(self) -> dict[str, Any]:
        """Plain values, as a table has them."""
        plain = {name: value for name, value in vars(self).items() if name != "scale"}
        held = ", ".join(self.adjustment)
        return {**plain, "standardised": self.standardised, "adjustment": held}

    def __str__(self) -> str:
        return words.say_effect(self)


@dataclass(frozen=True)
class Explanation(Shown):
    """What drives a column, and what follows if it is raised; ``str()`` says it in sentences.

    Attributes
    ----------
    target : str
    causes : tuple of Effect
        Effects on the target, the largest in standard deviations first.
    follows : tuple of Effect
        Effects of the target on others.
    deviations : mapping of str to float
        Standard deviations of the columns, as far as they are known.
    remarks : tuple of Fact of Remark
        What intervals and effects are made of.

    Examples
    --------
    >>> import acyclic
    >>> data = acyclic.simulate(n_nodes=4, n=500, graph="ER1", random_state=1)
    >>> result = acyclic.learn(data.X)
    >>> source, target, _ = result.graph.edges()[0]
    >>> source in [effect.cause for effect in result.explain(target).causes]
    True
    """

    target: str
    causes: tuple[Effect, ...]
    follows: tuple[Effect, ...]
    deviations: dict[str, float]
    remarks: tuple[Fact[Remark], ...] = ()

    def of(self, other: str) -> Effect:
        """The effect of another column on the target, or else that of the target on it."""
        for effect in (*self.causes, *self.follows):
            if other in (effect.cause, effect.outcome) and other != self.target:
                return effect
        raise InputError(f"no directed path joins {show_name(other)} and {show_name(self.target)}")

    def table(self) -> list[dict[str, Any]]:
        """One row per effect, causes first."""
        return [effect.to_row() for effect in (*self.causes, *self.follows)]

    def __str__(self) -> str:
        return words.say_explanation(self)


def remark_draws(draws: int) -> list[Fact[Remark]]:
    """What intervals are made of where there were draws, or that these are too few."""
    if draws >= FEWEST_DRAWS:
        return [Fact.of(Remark.GRAPH_DRAWN_TOO, level=LEVEL, draws=draws)]
    return [Fact.of(Remark.FEW_DRAWS, draws=draws, fewest=FEWEST_DRAWS)] if draws else []


def find_target(names: Sequence[str], target: str) -> int:
    """The place of a column; an InputError where there is none of this name."""
    if target not in names:
        known = ", ".join(map(show_name, names[:10])) + (", …" if len(names) > 10 else "")
        raise InputError(
            f"no column is called {show_name(str(target))}{suggest(str(target), names)}; there are {known}"
        )
    return list(names).index(target)


def explain(found: Findings, target: str) -> Explanation:
    """What drives a column, and what follows if it is raised.

    Intervals and confidence come from the graphs of the bootstrap's draws, if there was a bootstrap, so that they hold
    the doubt about the graph too. Without one the graph is taken as it is and refitted to drawn rows, if the table is
    at hand. Where the direction of edges at a cause is open, the bounds are over all graphs that fit equally well.

    Parameters
    ----------
    found : Result
    target : str
        A column.

    Examples
    --------
    >>> from acyclic import learn, simulate
    >>> result = learn(simulate(n_nodes=6, n=500, random_state=3).X)
    >>> [effect.cause for effect in result.explain("x0").causes]
    ['x1', 'x3']
    """
    names, node = found.graph.names, find_target(found.graph.names, target)
    point, (least, most) = found.graph.total_effects(), bound_effects(found)
    asked = _Asked(found, _scale(found), point, least, most)
    remarks: list[Fact[Remark]] = []
    spread = _Spread.of(found, node, remarks)
    causes = [asked.make(i, node, *spread.on(i)) for i in range(len(names)) if asked.matters(i, node)]
    follows = [asked.make(node, j, *spread.of_it(j)) for j in range(len(names)) if asked.matters(node, j)]
    if bounded := sum(effect.is_bounded for effect in (*causes, *follows)):
        remarks.append(Fact.of(Remark.BOUNDED, count=bounded))
    if not is_linear(found):
        remarks.append(Fact.of(Remark.AVERAGE_SLOPES))
    known = dict(zip(names, found.deviations))
    return Explanation(target, _rank(causes), _rank(follows), known, tuple(remarks))


def is_linear(found: Findings) -> bool:
    """Whether weights are slopes everywhere: no curves, and no categories of more than two levels."""
    several = any(len(found.levels.get(name, ())) > 2 for name, kind in _kinds(found) if kind is Kind.CATEGORICAL)
    return found.verdict.settings.get("mechanisms", "linear") == "linear" and not several


def _kinds(found: Findings) -> Iterator[tuple[str, Kind]]:
    return zip(found.graph.names, found.kinds)


def _scale(found: Findings) -> Floats | None:
    deviations = np.asarray(found.deviations)
    return deviations if len(deviations) and (deviations > 0).all() else None


def _rank(effects: list[Effect]) -> tuple[Effect, ...]:
    """The largest first, in standard deviations where they are known; those that are only possible last."""
    return tuple(sorted(effects, key=lambda effect: (not effect.effect, -abs(effect.effect * (effect.scale or 1.0)))))


@dataclass(frozen=True, eq=False)
class _Asked:
    """What effects of a result are made of."""

    found: Findings
    scale: Floats | None
    point: Floats
    least: Floats
    most: Floats

    def matters(self, cause: int, outcome: int) -> bool:
        """Whether there is an effect, in this graph or in one that fits equally well."""
        return cause != outcome and bool(
            self.point[cause, outcome] or self.least[cause, outcome] or self.most[cause, outcome]
        )

    def make(
        self, cause: int, outcome: int, lower: float | None, upper: float | None, confidence: float | None
    ) -> Effect:
        names, graph = self.found.graph.names, self.found.graph
        effect, scale = float(self.point[cause, outcome]), self.scale
        held = find_adjustment(graph.adjacency, cause, outcome) or []
        return Effect(
            names[cause],
            names[outcome],
            effect,
            None if scale is None else float(scale[cause] / scale[outcome]),
            lower,
            upper,
            confidence,
            float(self.least[cause, outcome]),
            float(self.most[cause, outcome]),
            bool(graph.adjacency[cause, outcome]),
            tuple(names[node] for node in held),
        )


@dataclass(frozen=True, eq=False)
class _Spread:
    """Intervals and confidence of the effects on a node and of it, as far as there are some."""

    onto: tuple[Floats, Floats] | None = None
    off: tuple[Floats, Floats] | None = None
    path_to: Floats | None = None
    path_from: Floats | None = None

    @classmethod
    def of(cls, found: Findings, node: int, remarks: list[Fact[Remark]]) -> _Spread:
        ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
        drawn = None if not found.confidence else Bootstrap.from_dict(found.confidence).drawn
        count = 0 if drawn is None else len(drawn.counts)
        remarks += remark_draws(count)
        if drawn is not None and count >= FEWEST_DRAWS:
            size = found.graph.n_nodes
            onto, off = (drawn.effects(size, node, onto=way) for way in (True, False))
            lower_on, upper_on = np.quantile(onto, ends, axis=0)
            lower_off, upper_off = np.quantile(off, ends, axis=0)
            shares = (onto != 0).mean(axis=0), (off != 0).mean(axis=0)
            return cls((lower_on, upper_on), (lower_off, upper_off), *shares)
        if found.table is None or not is_linear(found):
            return cls()
        refits = total_effects(found.graph, found.table, REFITS, level=LEVEL, time_limit=SECONDS)
        remarks.append(Fact.of(Remark.GRAPH_TAKEN_AS_GIVEN))
        return cls((refits.lower[:, node], refits.upper[:, node]), (refits.lower[node], refits.upper[node]))

    def on(self, other: int) -> tuple[float | None, float | None, float | None]:
        """Of the effect of another node on this one."""
        return *_pick(self.onto, other), None if self.path_to is None else float(self.path_to[other])

    def of_it(self, other: int) -> tuple[float | None, float | None, float | None]:
        """Of the effect of this node on another."""
        return *_pick(self.off, other), None if self.path_from is None else float(self.path_from[other])


def _pick(interval: tuple[Floats, Floats] | None, at: int) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (float(interval[0][at]), float(interval[1][at]))


def bound_effects(found: Findings) -> tuple[Floats, Floats]:
    """The least and the largest total effect (d, d) over the graphs that fit equally well.

    The effect of a node follows from its parents (Maathuis, Kalisch and Bühlmann 2009): in the covariance that the
    graph implies it is regressed on them, for each set of open neighbours that can be parents together. In a class
    those are the sets that are all joined; where prior knowledge fixes directions as well, a set also has to leave some
    graph (Perković, Kalisch and Maathuis 2017).
    """
    graph, point = found.graph, found.graph.total_effects()
    least, most = point.copy(), point.copy()
    open_edges = _find_open(found)
    if not open_edges.any() or _scale(found) is None:
        return least, most
    covariance = imply_covariance(graph, np.asarray(found.deviations))
    directed, joined = graph.adjacency & ~open_edges, graph.adjacency | graph.adjacency.T
    informed = Orientation.KNOWLEDGE in found.support.values()
    for node in np.flatnonzero(open_edges.any(axis=0)).tolist():
        fixed = np.flatnonzero(directed[:, node]).tolist()
        for some in _find_cliques(np.flatnonzero(open_edges[:, node]).tolist(), joined):
            if informed and not _can_be_parents(some, node, directed, open_edges):
                continue
            effects = _regress(covariance, node, [*fixed, *some])
            least[node], most[node] = np.minimum(least[node], effects), np.maximum(most[node], effects)
    scale = np.asarray(found.deviations)
    same = (most - least) * scale[:, None] <= NOTHING * scale[None, :]
    return np.where(same, point, least), np.where(same, point, most)


def _find_open(found: Findings) -> Bools:
    """Edges, in both directions, that an equivalent graph has the other way round and nothing decides."""
    at = {name: place for place, name in enumerate(found.graph.names)}
    edges = np.zeros(found.graph.adjacency.shape, dtype=bool)
    for (source, target), support in found.support.items():
        if support is Orientation.UNDETERMINED and source in at and target in at:
            edges[at[source], at[target]] = edges[at[target], at[source]] = True
    return edges & (found.graph.adjacency | found.graph.adjacency.T)


def _can_be_parents(some: Sequence[int], node: int, directed: Bools, open_edges: Bools) -> bool:
    """Whether there is a graph in which these of the open neighbours of a node, and no others, are its parents."""
    directed, undirected = directed.copy(), open_edges.copy()
    others = np.setdiff1d(np.flatnonzero(open_edges[node]), some).tolist()
    undirected[node], undirected[:, node] = False, False
    directed[node, others], directed[list(some), node] = True, True
    apart = ~(directed | directed.T | undirected)
    np.fill_diagonal(apart, False)
    # A new parent that is not joined to another one would make a v-structure that the class does not have.
    new = [(parent, node) for parent in some] + [(node, child) for child in others]
    if any((apart[parent] & directed[:, child]).any() for parent, child in new):
        return False
    try:
        extend_consistently(Cpdag(None, directed, undirected))
    except InputError:
        return False
    return True


def imply_covariance(graph: Dag, deviations: Floats) -> Floats:
    """The covariance (d, d) of a linear model with these weights and standard deviations."""
    covariance = np.zeros_like(graph.weights)
    done: list[int] = []
    for node in graph.order.tolist():
        weights = graph.weights[done, node]
        shared = covariance[np.ix_(done, done)] @ weights
        covariance[done, node] = covariance[node, done] = shared
        # Weights that are no least squares may explain more than there is; some noise is always left.
        covariance[node, node] = max(deviations[node] ** 2, float(weights @ shared) * (1 + NOTHING))
        done.append(node)
    return covariance


def _regress(covariance: Floats, node: int, parents: list[int]) -> Floats:
    """Coefficients (d,) of a node in the regressions of all others on it and its parents; 0 for these."""
    given = [node, *parents]
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    solved = np.linalg.lstsq(correlation[np.ix_(given, given)], correlation[given], rcond=None)[0][0]
    effects = np.where(np.abs(solved) > NOTHING, solved, 0.0) * scale / scale[node]
    effects[given] = 0.0
    return np.asarray(effects)


def _find_cliques(nodes: Sequence[int], joined: Bools) -> Iterator[tuple[int, ...]]:
    """Sets of these nodes that are all joined, the smallest first, as far as they are not too many."""
    yield ()
    count = 1
    layer: list[tuple[int, ...]] = [(node,) for node in nodes]
    while layer and count < MOST_SETS:
        yield from layer[: MOST_SETS - count]
        count += len(layer)
        found = {frozenset(some) for some in layer}
        layer = [
            (*some, node)
            for some in layer
            for node in nodes
            if node > some[-1] and all(joined[node, other] for other in some)
        ]
        layer = [some for some in layer if all(frozenset(part) in found for part in combinations(some, len(some) - 1))]

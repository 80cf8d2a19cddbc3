"""The search under scores beyond the linear Gaussian one, and the choice between them.

A world is how columns depend on their parents, linear or curved, and the shape of their noise, normal or any. The same
search over orders runs in each of them; the criterion is the same penalised likelihood, so that the lowest score tells
which world a table is from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike

from acyclic._native import BlockChain, OrderChain, run_watched
from acyclic.data.features import FEWEST_ROWS_FOR_CURVES, LEVELS, Curves, Features, Indicators
from acyclic.data.kinds import Coding
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.deadline import Deadline
from acyclic.discrete.order import as_bytes
from acyclic.discrete.search import FoundGraph, _Search, canonical_order
from acyclic.discrete.selection import DETOURS, ParentCriterion, checked_order
from acyclic.scores.blocks import BlockScore, Family, Mechanisms, NoiseShape, draw_rows
from acyclic.scores.local import PenaltyRule
from acyclic.types import Bools, Floats, Integers, Kind

__all__ = ["Answer", "Fitted", "World", "Worlds", "choose_world"]

# Trees of one chain beyond so many branches are begun anew: points are dear here, branches few.
_MOST_BRANCHES = 5_000_000
# Beyond so many columns curves, and the shape of the noise, take minutes.
LARGEST_CURVED, LARGEST_SHAPED = 200, 500
# Curves and shapes of more rows are those of a sample: directions that need more are near-ties. The moments of curves
# take about as many products, some seconds of them.
MOST_ROWS, FEWEST_SAMPLED, MOST_PRODUCTS = 100_000, 5_000, 2e10
# Curves have to gain so many times log n over lines, and this share of what the shape of the noise gains.
_CONVINCING, _MISSED = 3, 0.1
# A curve whose line explains less of it than this has no trend.
_NO_TREND = 0.01


class World(NamedTuple):
    """How columns depend on their parents, and what is assumed of the noise."""

    mechanisms: Mechanisms = "linear"
    noise: NoiseShape = "gaussian"


LINEAR = World()


@dataclass(frozen=True, eq=False)
class Fitted:
    """The mechanisms of a graph: each column as a sum of functions of its parents.

    Attributes
    ----------
    features : Features
        Of the columns in their own order.
    families : tuple of Family
        One for each column.
    codings : tuple of Coding or None
        The levels of the columns that are categories.
    """

    features: Features
    families: tuple[Family, ...]
    codings: tuple[Coding | None, ...]

    @property
    def adjacency(self) -> Bools:
        """The edges (d, d)."""
        d = len(self.families)
        edges = np.zeros((d, d), dtype=bool)
        for j, family in enumerate(self.families):
            edges[list(family.parents), j] = True
        return edges

    @property
    def world(self) -> World:
        """The simplest world that the families need."""
        mechanisms: Mechanisms = "curved" if self.curved.any() else "linear"
        return World(mechanisms, "any" if any(family.shape for family in self.families) else "gaussian")

    @property
    def curved(self) -> Bools:
        """The edges (d, d) that are curves of numbers."""
        d = len(self.families)
        edges = np.zeros((d, d), dtype=bool)
        for j, family in enumerate(self.families):
            bent = [i for i, level in zip(family.parents, family.levels) if level > 1 and not self._has_levels(i)]
            edges[bent, j] = True
        return edges

    def predict(self, rows: Floats) -> Floats:
        """Expectation (n, d) of each column given its parents; of a category that of the number of its level."""
        coded = encode_rows(rows, self.codings)
        return np.column_stack(
            [self._offset(j) + sum(self.parts(j, coded), np.zeros(len(rows))) for j in range(self.d)]
        )

    def parts(self, j: int, coded: Floats) -> list[Floats]:
        """What each parent adds to the expectation of a column, in its units: (n,) each."""
        scale = self._scale(j)
        return [part @ scale for part in self._contributions(j, coded)]

    def slopes(self, rows: Floats) -> Floats:
        """The average slope (d, d) of each edge: that of the line through its function, in the columns' units.

        For a linear edge it is the coefficient. Where there is no line, for a category of several levels or a curve
        without a trend, it has no sign: it is the deviation of what the parent adds, as a share of the child's.
        """
        coded = encode_rows(rows, self.codings)
        weights = np.zeros((self.d, self.d))
        deviations = rows.std(axis=0)
        for j, family in enumerate(self.families):
            scale, many = self._scale(j), self.features.responses()[j] > 1
            for i, part in zip(family.parents, self._contributions(j, coded)):
                if not deviations[i] > 0:
                    continue  # a constant that has to be a parent
                x, added = rows[:, i] - rows[:, i].mean(), part @ scale
                slope = float(x @ added) / float(x @ x)
                spread = np.sqrt(part.var(axis=0).mean()) * deviations[j] if many else added.std()
                level = many or self._has_levels(i) or abs(slope) * deviations[i] < _NO_TREND * spread
                weights[i, j] = spread / deviations[i] if level else slope
        return weights

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.families)

    def _contributions(self, j: int, coded: Floats) -> list[Floats]:
        """What each parent adds to the features that a column is as a child: (n, r) each."""
        family, found, start = self.families[j], [], 0
        for i, level in zip(family.parents, family.levels):
            found.append(self.features.maps[i](coded[:, i])[:, :level] @ family.coefficients[start : start + level])
            start += level
        return found

    def _has_levels(self, i: int) -> bool:
        own = self.features.maps[i]
        return isinstance(own, Indicators) and own.size > 1

    def _scale(self, j: int) -> Floats:
        """The column in terms of the features that it is as a child: (r,)."""
        own = self.features.maps[j]
        return np.array([own.deviation]) if isinstance(own, Curves) else self._level_values(j)[1:]

    def _offset(self, j: int) -> float:
        own = self.features.maps[j]
        return own.mean if isinstance(own, Curves) else float(self._level_values(j)[0])

    def _level_values(self, j: int) -> Floats:
        """Offset and coefficients that give the number of a level from its features."""
        own, coding = self.features.maps[j], self.codings[j]
        assert isinstance(own, Indicators)
        assert coding is not None
        values = np.array([coding.values[coding.codes.index(code)] for code in range(len(coding.levels))])
        return np.asarray(np.linalg.lstsq(np.column_stack([np.ones(len(values)), own.weights]), values)[0])


def encode_rows(rows: Floats, codings: Sequence[Coding | None]) -> Floats:
    """The rows with the codes of categories in the place of their numbers."""
    if not any(codings):
        return rows
    coded = np.array(rows)
    for j, coding in enumerate(codings):
        if coding is not None:
            coded[:, j] = coding.encode(rows[:, j])
    return coded


class Worlds:
    """The worlds of one table, its columns in canonical order inside: what is asked for twice is computed once.

    Examples
    --------
    >>> from acyclic.data.table import read_table
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> worlds = Worlds(read_table(np.column_stack([x**2 + rng.normal(size=500), x])))
    >>> worlds.search(World("curved")).fitted.adjacency.astype(int).tolist()
    [[0, 0], [1, 0]]
    """

    def __init__(
        self,
        table: Table,
        penalty: PenaltyRule = "ebic",
        *,
        mask: Mask | None = None,
        max_parents: int | None = None,
    ) -> None:
        self.rows, self.names, self.penalty = _sample(table), table.names, penalty
        self.is_sample = len(self.rows) < table.moments.n
        moments = Moments.from_array(self.rows, self.names) if self.is_sample else table.moments
        # A sample of rows that were drawn with replacement repeats fewer of them.
        self.repeats = 1 + (table.repeats - 1) * len(self.rows) / table.n_rows
        self.parents = ParentCriterion.of(moments, penalty, mask, max_parents)
        self.canon = canonical_order(self.parents.correlation, self.names)
        self.back = np.argsort(self.canon)
        kinds = dict(zip(table.names, table.kinds))
        self.codings = tuple(
            table.codings[name] if kinds[name] is Kind.CATEGORICAL and name in table.codings else None
            for name in self.names
        )
        self.counts = [0 if coding is None else len(coding.levels) for coding in self.codings]
        self.sorted_rows = encode_rows(self.rows, self.codings)[:, self.canon]
        self._features: dict[Mechanisms, Features] = {}
        self._scores: dict[World, BlockScore] = {}

    def others(self) -> list[World]:
        """The worlds beside the linear Gaussian one that the table can tell."""
        d = len(self.names)
        found: list[World] = []
        if self.parents.n < FEWEST_ROWS_FOR_CURVES:
            return found
        shaped = d <= LARGEST_SHAPED and not any(self.counts)
        if shaped:
            found.append(World("linear", "any"))
        if d <= LARGEST_CURVED:
            found += [World("curved", "gaussian"), *([World("curved", "any")] * shaped)]
        return found

    def score(self, world: World) -> BlockScore:
        """The score of a world, over columns in canonical order."""
        if world not in self._scores:
            if world.mechanisms not in self._features:
                counts, curved = [self.counts[k] for k in self.canon], world.mechanisms == "curved"
                self._features[world.mechanisms] = Features.of(self.sorted_rows, counts, curved=curved)
            rows = self.sorted_rows if world.noise == "any" else None
            self._scores[world] = BlockScore.on(
                self._features[world.mechanisms], rows, self.penalty, repeats=self.repeats
            )
        return self._scores[world]

    def look(self, world: World, order: ArrayLike, deadline: Deadline | None = None) -> float:
        """The score of the best parents of an order; raises Stopped when the deadline passes."""
        start = self.back[checked_order(order, self.names)].astype(np.int32)
        with ExitStack() as stack:
            chain = _open_chain(stack, self.score(world), self.parents, self.canon, 0)
            run_watched(lambda flag: chain.start(start, flag), deadline)
            return chain.best()[0]

    def search(
        self,
        world: World,
        starts: Sequence[ArrayLike] = (),
        *,
        effort: float | None = 1.0,
        threads: int | None = None,
        deadline: Deadline | None = None,
        tell: Callable[[float], None] | None = None,
        random_state: int | SeedSequence | Generator = 0,
    ) -> Answer:
        """The graph with the lowest score in a world, and its mechanisms; parameters are those of `search_orders`."""
        given = [checked_order(start, self.names) for start in starts]
        options = effort, threads, deadline, tell, random_state
        search = _BlockSearch(self.score(world), self.parents, self.canon, *options)
        with search:
            end = search.run(given)
            order, adjacency, total, rivals, end = search.look_around(end)
            fitted = search.fit(order, adjacency, self.codings)
        tried = tuple(search.reached), sum(search.kicked), search.generations
        weights = fitted.slopes(self.rows)
        return Answer(world, FoundGraph(order, weights, total, self.parents.penalty, *tried, rivals, end), fitted)


def _sample(table: Table) -> Floats:
    """The rows, or as many of them as the features of all columns can be multiplied out for."""
    affordable = int(MOST_PRODUCTS / (max(LEVELS) * len(table.names)) ** 2)
    return draw_rows(table.rows(), min(max(affordable, FEWEST_SAMPLED), MOST_ROWS))


class Answer(NamedTuple):
    """The graph of a world and its mechanisms."""

    world: World
    found: FoundGraph
    fitted: Fitted


def _open_chain(
    stack: ExitStack, score: BlockScore, parents: ParentCriterion, canon: Integers, seed: int
) -> BlockChain:
    before = parents.mask.precedence
    rules = *parents.rules(canon), None if before is None else as_bytes(before[np.ix_(canon, canon)])
    most = parents.max_parents, DETOURS, _MOST_BRANCHES
    return stack.enter_context(BlockChain(score.criterion, *rules, *most, seed))


class _BlockSearch(_Search):
    """The search with another score in the place of the linear Gaussian one."""

    def __init__(self, score: BlockScore, criterion: ParentCriterion, canon: Integers, *options: Any) -> None:
        super().__init__(criterion, None, canon, *options)
        self.score, self.by_class = score, score.is_equivalent
        self.parents, self.allowed = criterion, criterion.rules(canon)[0]

    def open_chain(self, seed: int) -> OrderChain:
        return _open_chain(self.stack, self.score, self.parents, self.canon, seed)

    def score_of(self, adjacency: Bools) -> float:
        return self.score.total(adjacency)

    def price_of_edge(self, parents: Any, source: int, target: int) -> float:
        given = [int(i) for i in parents]
        if source in given:
            return 0.0
        if (self.allowed is not None and not self.allowed[target, source]) or len(given) >= self.parents.max_parents:
            return np.inf
        return self.score.score(target, [*given, source]) - self.score.score(target, given)

    def fit(self, order: Integers, outward: Bools, codings: tuple[Coding | None, ...]) -> Fitted:
        """The mechanisms of a graph and its order over the columns in their own order."""
        inward = outward[np.ix_(self.canon, self.canon)]
        with ExitStack() as stack:
            chain = _open_chain(stack, self.score, self.parents, self.canon, 0)
            chain.start(self.back[order].astype(np.int32))
            families = [self._fit_one(chain, j, np.flatnonzero(inward[:, j])) for j in range(self.d)]
        features, renamed = _in_own_order(self.score.features, families, self.canon, self.back)
        return Fitted(features, renamed, codings)

    def _fit_one(self, chain: BlockChain, j: int, parents: Integers) -> Family:
        """A column with parents at the levels that the search chose, if it did choose these parents."""
        chosen, levels, _ = chain.family(j)
        by_parent = np.argsort(chosen)
        if np.array_equal(chosen[by_parent], parents):
            return self.score.fit(j, parents.tolist(), levels[by_parent].tolist())
        return self.score.family(j, parents.tolist())


def _in_own_order(
    features: Features, families: Sequence[Family], canon: Integers, back: Integers
) -> tuple[Features, tuple[Family, ...]]:
    """Features and families with the columns as they were."""
    maps = tuple(features.maps[k] for k in back)
    levels = tuple(features.levels[k] for k in back)
    at = np.concatenate([[0], np.cumsum([own.size for own in maps])]).astype(np.int32)
    places = np.concatenate([np.arange(features.at[k], features.at[k + 1]) for k in back])
    renamed = []
    for k in back:
        family = families[k]
        parents = tuple(int(canon[i]) for i in family.parents)
        renamed.append(Family(parents, family.levels, family.coefficients, family.misfit, family.shape, family.price))
    shaped = tuple(features.shaped[k] for k in back)
    G = features.G[np.ix_(places, places)]
    return Features(maps, at, levels, shaped, features.n, G), tuple(renamed)


def choose_world(
    worlds: Worlds, linear: FoundGraph, deadline: Deadline | None = None, **options: Any
) -> tuple[Answer | None, dict[World, float]]:
    """The answer of the world with the lowest score, None if that is the linear Gaussian one, and the scores.

    It goes from one world to the next: of those that were not searched, the one that gains most over the world of the
    best answer so far, in the best parents of one of a few orders, as long as that is more than log n. A linear
    Gaussian table ends it with a few looks. The shape of the noise is left out where a column is a category: the
    numbers of its levels have none, so that it would orient every edge between the two.
    """
    n = worlds.parents.n
    if worlds.is_sample:  # scores of as many rows are compared
        linear = replace(linear, score=worlds.look(LINEAR, linear.order, deadline))
    scores, best, found, now = {LINEAR: linear.score}, None, linear, LINEAR
    others = worlds.others()
    while others and not (deadline is not None and deadline.passed()):
        orders = [found.order, linear.order, linear.order[::-1]]
        usual = [worlds.look(now, order, deadline) for order in orders]
        gains = {
            (world, k): usual[k] - worlds.look(world, order, deadline)
            for world in others
            for k, order in enumerate(orders)
        }
        (world, k), gain = max(gains.items(), key=lambda entry: entry[1])
        if gain <= log(n):
            break
        others.remove(world)
        starts = [found.order, linear.order] if k < 2 else [found.order, orders[k]]
        answer = worlds.search(world, starts, deadline=deadline, **options)
        scores[world] = answer.found.score
        if answer.found.score < found.score - log(n):
            best, found, now = answer, answer.found, world
        if answer.found.end.kind.stopped:
            return best, scores
    if best is None or not best.fitted.curved.any():
        return best, scores
    return _straighten(worlds, best, linear, scores, deadline=deadline, **options), scores


def _straighten(
    worlds: Worlds, best: Answer, linear: FoundGraph, scores: dict[World, float], **options: Any
) -> Answer | None:
    """The answer with lines alone where curves gain little: among so many edges some look curved by chance.

    Under noise that is not normal the regression of a cause on its effect is curved, and negentropy is told by two
    moments only, which miss a part of it: what curves gain within that part says nothing.
    """
    least = _CONVINCING * log(worlds.parents.n)
    if best.world.noise == "gaussian":
        return None if linear.score < best.found.score + least else best
    world = World("linear", "any")
    answer = worlds.search(world, [best.found.order, linear.order], **options)
    scores[world] = min(answer.found.score, scores.get(world, np.inf))
    least = max(least, _MISSED * (linear.score - answer.found.score))
    return answer if answer.found.score < best.found.score + least else best

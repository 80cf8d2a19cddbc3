"""The search under scores beyond the linear Gaussian one, and the choice between them.

A world is how columns depend on their parents, linear or curved, and the shape of their noise, normal or any. The same
search over orders runs in each of them; the criterion is the same penalised likelihood, so that the lowest score tells
which world a table is from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike

from acyclic._native import BlockChain, run_watched
from acyclic.data.features import FEWEST_ROWS_FOR_CURVES, LEVELS, Features
from acyclic.data.kinds import Coding
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.deadline import Deadline
from acyclic.discrete.fitted import LINEAR, Fitted, World, encode_rows, in_own_order
from acyclic.discrete.search import FoundGraph, ScoreSearch, canonical_order
from acyclic.discrete.selection import ParentCriterion, checked_order
from acyclic.scores.blocks import BlockScore, Family, Mechanisms
from acyclic.scores.local import PenaltyRule
from acyclic.types import Bools, Floats, Integers, Kind

__all__ = ["Answer", "Worlds", "choose_world"]

# Beyond so many columns curves, and the shape of the noise, take minutes.
LARGEST_CURVED, LARGEST_SHAPED = 200, 500
# Curves and shapes of more rows are those of a sample: directions that need more are near-ties. The moments of curves
# take about as many products, some seconds of them.
MOST_ROWS, FEWEST_SAMPLED, MOST_PRODUCTS = 100_000, 5_000, 2e10
# With so many ways for parents to enter, all are tried and the best graph is proved: nine lines, five curves.
_MOST_FITS = 2500
# Curves have to gain so many times log n over lines, and this share of what the shape of the noise gains.
_CONVINCING, _MISSED = 3, 0.1


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
        with _BlockSearch(self.score(world), self.parents, self.canon, 0.0, 1, None, None, 0) as search:
            chain = search.open_chain(0)
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
        with _BlockSearch(self.score(world), self.parents, self.canon, *options) as search:
            order, adjacency, total, rivals, end = search.find(given)
            fitted = search.fit(order, adjacency, self.codings)
        tried = tuple(search.reached), sum(search.kicked), search.generations
        weights = fitted.slopes(self.rows)
        return Answer(world, FoundGraph(order, weights, total, self.parents.penalty, *tried, rivals, end), fitted)


def _sample(table: Table) -> Floats:
    """The rows, or as many of them as the features of all columns can be multiplied out for."""
    affordable = int(MOST_PRODUCTS / (max(LEVELS) * len(table.names)) ** 2)
    return table.sample(min(max(affordable, FEWEST_SAMPLED), MOST_ROWS))


class Answer(NamedTuple):
    """The graph of a world and its mechanisms."""

    world: World
    found: FoundGraph
    fitted: Fitted


class _BlockSearch(ScoreSearch):
    """The search under the score of a world."""

    score: BlockScore

    def __init__(self, score: BlockScore, criterion: ParentCriterion, canon: Integers, *options: Any) -> None:
        super().__init__(score, criterion, canon, *options)
        self.by_class = score.is_equivalent

    def open_chain(self, seed: int) -> BlockChain:
        return self.stack.enter_context(BlockChain(self.score.criterion, *self.rules, seed))

    def score_sets(self, deadline: Deadline | None) -> Floats | None:
        """See ScoreSearch: every parent at every level."""
        allowed, required, _, most, *_ = self.rules
        others = ~np.eye(self.d, dtype=bool) if allowed is None else allowed.astype(bool) & ~np.eye(self.d, dtype=bool)
        ways = np.log1p([len(levels) for levels in self.score.features.levels])
        if np.exp(others @ ways).sum() > _MOST_FITS:
            return None
        scores = np.full((self.d, 2 ** (self.d - 1)), np.inf)
        for j, row in enumerate(others):
            wanted = set() if required is None else set(np.flatnonzero(required[j]).tolist())
            row = row | np.isin(np.arange(self.d), list(wanted))
            for size in range(len(wanted), min(int(row.sum()), most) + 1):
                for parents in combinations(np.flatnonzero(row).tolist(), size):
                    if wanted <= set(parents):
                        place = sum(1 << (i - (i > j)) for i in parents)
                        scores[j, place] = self.score.family(j, parents, most=inf).score
                if deadline is not None:
                    deadline.check()
        return scores

    def fit(self, order: Integers, outward: Bools, codings: tuple[Coding | None, ...]) -> Fitted:
        """The mechanisms of a graph and its order over the columns in their own order."""
        inward = outward[np.ix_(self.canon, self.canon)]
        chain = self.open_chain(0)
        chain.start(self.back[order].astype(np.int32))
        families = [self._fit_one(chain, j, np.flatnonzero(inward[:, j])) for j in range(self.d)]
        features, renamed = in_own_order(self.score.features, families, self.canon, self.back)
        return Fitted(features, renamed, codings)

    def _fit_one(self, chain: BlockChain, j: int, parents: Integers) -> Family:
        """A column with parents at the levels that the search chose, if it did choose these parents."""
        chosen, levels, _ = chain.family(j)
        by_parent = np.argsort(chosen)
        if np.array_equal(chosen[by_parent], parents):
            return self.score.fit(j, parents.tolist(), levels[by_parent].tolist())
        return self.score.family(j, parents.tolist())


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

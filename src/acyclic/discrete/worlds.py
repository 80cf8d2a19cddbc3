"""The search under scores beyond the linear Gaussian one, and the choice between them.

A world is how columns depend on their parents, linear or curved, and the shape of their noise, normal or any. The same
search over orders runs in each of them; the criterion is the same penalised likelihood, so that the lowest score tells
which world a table is from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from acyclic._native import BlockChain, run_watched
from acyclic.data.dependence import EXPLAINED
from acyclic.data.features import FEWEST_ROWS_FOR_CURVES, LEVELS, Features
from acyclic.data.kinds import Coding
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.deadline import Deadline
from acyclic.discrete.fitted import LINEAR, Fitted, World, encode_rows, in_own_order
from acyclic.discrete.interactions import shows_interaction
from acyclic.discrete.joint import LARGEST_JOINT, LARGEST_PROVED, JointSearch, score_all_sets
from acyclic.discrete.search import FoundGraph, ScoreSearch, canonical_order
from acyclic.discrete.selection import ParentCriterion, checked_order
from acyclic.graphs.cycles import sort_topologically
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import extend_consistently
from acyclic.scores.blocks import BlockScore, Family, Mechanisms, draw_rows
from acyclic.scores.joint import MOST_JOINT_ROWS, JointScore
from acyclic.scores.local import PenaltyRule
from acyclic.types import Bools, Floats, Integers, Kind

__all__ = ["Answer", "Worlds", "choose_world", "pass_lines"]

# Beyond so many columns curves, and the shape of the noise, take minutes.
LARGEST_CURVED, LARGEST_SHAPED = 200, 500
# Curves and shapes of more rows are those of a sample: directions that need more are near-ties. The moments of curves
# take about as many products, some seconds of them.
MOST_ROWS, FEWEST_SAMPLED, MOST_PRODUCTS = 100_000, 5_000, 2e10
# With so many ways for parents to enter, all are tried and the best graph is proved: nine lines, five curves.
_MOST_FITS = 2500
# Curves have to gain so many times log n over lines, and this share of what the shape of the noise gains.
_CONVINCING, _MISSED = 3, 0.1
# Of what is between a descent and the least that a graph of lines could have, searches were seen to gain up to a tenth.
_REACHED = 0.5
# A simpler world is tried first where it gains this share of what another one does.
_NEARLY = 0.8
# Rows times columns squared: hill climbing under joint functions takes some ten seconds then.
_MOST_CLIMBED = 2.5e6


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
        self.is_free = mask is None or mask.is_free
        kinds = dict(zip(table.names, table.kinds))
        self.codings = tuple(
            table.codings[name] if kinds[name] is Kind.CATEGORICAL and name in table.codings else None
            for name in self.names
        )
        self.counts = [0 if coding is None else len(coding.levels) for coding in self.codings]
        self.sorted_rows = encode_rows(self.rows, self.codings)[:, self.canon]
        self._features: dict[Mechanisms, Features] = {}
        self._scores: dict[World, BlockScore] = {}
        self._looks: dict[tuple[World, bytes], float] = {}
        self._answers: dict[World, Answer] = {}

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

    @property
    def may_interact(self) -> bool:
        """Whether joint functions are looked for: of numbers in some columns, and of rows that need no sample."""
        few = 3 <= len(self.names) <= LARGEST_JOINT and not any(self.counts)
        return few and FEWEST_ROWS_FOR_CURVES <= len(self.rows) <= MOST_JOINT_ROWS and not self.is_sample

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

    def settle_order(self, graph: Bools) -> Integers:
        """An order of a graph of lines that its class alone decides: which of its graphs was found is up to rounding.

        Where knowledge is obeyed not all of them are allowed, and it is an order of the graph itself.
        """
        inward = graph[np.ix_(self.canon, self.canon)]
        if self.is_free:
            inward = extend_consistently(Dag(inward).cpdag())
        return self.canon[sort_topologically(inward)]

    def room_for_lines(self, found: FoundGraph) -> float:
        """By how much the score of a graph of lines is above n log det R, below which there is none.

        Of levels nothing is known.
        """
        eigenvalues = np.maximum(np.linalg.eigvalsh(self.parents.correlation), EXPLAINED)
        return inf if any(self.counts) else found.score - self.parents.n * float(np.log(eigenvalues).sum())

    def look(self, world: World, order: ArrayLike, deadline: Deadline | None = None) -> float:
        """The score of the best parents of an order; raises Stopped when the deadline passes."""
        start = self.back[checked_order(order, self.names)].astype(np.int32)
        key = world, start.tobytes()
        if key not in self._looks:
            with _BlockSearch(self.score(world), self.parents, self.canon, 0.0, 1, None, None, 0) as search:
                chain = search.open_chain(0)
                run_watched(lambda flag: chain.start(start, flag), deadline)
                self._looks[key] = chain.best()[0]
        return self._looks[key]

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
        beat: FoundGraph | None = None,
    ) -> Answer:
        """The graph with the lowest score in a world, and its mechanisms; parameters are those of `search_orders`.

        Joint functions of many columns are looked for only where they may ``beat`` another world's graph.
        """
        given = [checked_order(start, self.names) for start in starts]
        options = effort, threads, deadline, tell, random_state
        if world.mechanisms == "joint":
            return self._search_joint(given, beat, options)
        with _BlockSearch(self.score(world), self.parents, self.canon, *options) as search:
            order, adjacency, total, rivals, end = search.find(given)
            fitted = search.fit(order, adjacency, self.codings)
        tried = tuple(search.reached), sum(search.kicked), search.generations
        weights = fitted.slopes(self.rows)
        found = FoundGraph(order, weights, total, self.parents.penalty, *tried, rivals, end)
        self._answers[world] = Answer(world, found, fitted)
        return self._answers[world]

    def _search_joint(self, starts: list[Integers], beat: FoundGraph | None, options: tuple[Any, ...]) -> Answer:
        effort, threads, deadline, *_, random_state = options
        if len(self.names) > LARGEST_PROVED and effort != 0:
            # What acts together looks like noise of another shape around curves that add up, which turns edges: the
            # order of curves alone is a start too.
            world = World("curved")
            curves = self._answers.get(world) or self.search(
                world, starts, effort=0.0, threads=threads, deadline=deadline, random_state=random_state
            )
            starts = _distinct([curves.found.order, *starts])
        world = World("joint")
        below = inf if beat is None else self._scale(beat)
        with JointSearch(self.joint, self._joint_of_few, self.parents, self.canon, below, *options) as search:
            order, _, total, rivals, end = search.find(starts)
        features, families = in_own_order(self.joint.additive.features, search.families, self.canon, self.back)
        fitted = Fitted(features, families, self.codings)
        tried = (), 0, 0
        weights = fitted.slopes(self.rows)
        return Answer(world, FoundGraph(order, weights, total, self.parents.penalty, *tried, rivals, end), fitted)

    def convincing(self, found: FoundGraph) -> float:
        """The score below which joint functions are clearly better than another world's graph."""
        return found.score * float(self.joint.n) / self.parents.n - _CONVINCING * log(self.parents.n)

    def _scale(self, found: FoundGraph) -> float:
        """The same in the rows that hill climbing sees: likelihoods shrink with the rows, prices of parents do not."""
        below, edges = self.convincing(found), (found.weights != 0)[np.ix_(self.canon, self.canon)]
        if self._joint_of_few is self.joint:
            return below
        of_all, of_few = (
            sum(
                score.additive.family(j, np.flatnonzero(column).tolist(), most=1).score
                for j, column in enumerate(edges.T)
            )
            for score in (self.joint, self._joint_of_few)
        )
        return float(of_few + (below - of_all) * self._joint_of_few.n / self.joint.n)

    @cached_property
    def joint(self) -> JointScore:
        """The score of functions of all parents together, over columns in canonical order.

        Of rows drawn with replacement it is that of the different ones: a process explains whatever is there twice.
        """
        rows = self.sorted_rows if self.repeats == 1 else np.unique(self.sorted_rows, axis=0)
        shared = self.score(World("curved")) if self.repeats == 1 and len(rows) <= MOST_JOINT_ROWS else None
        return JointScore(rows, self.penalty, additive=shared)

    @cached_property
    def _joint_of_few(self) -> JointScore:
        """The same of as many rows as hill climbing can afford."""
        affordable = int(_MOST_CLIMBED / len(self.names) ** 2)
        if len(self.names) <= LARGEST_PROVED or self.joint.n <= affordable:
            return self.joint
        return JointScore(draw_rows(self.joint.rows, affordable), self.penalty)


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
        self.by_class, self.tells_apart = score.is_equivalent, not score.is_equivalent
        self.descends_fast = score.features.is_linear

    def open_chain(self, seed: int) -> BlockChain:
        return self.stack.enter_context(BlockChain(self.score.criterion, *self.rules, seed))

    def score_sets(self, deadline: Deadline | None) -> Floats | None:
        """See ScoreSearch: every parent at every level."""
        allowed, required, _, most, *_ = self.rules
        others = ~np.eye(self.d, dtype=bool) if allowed is None else allowed.astype(bool) & ~np.eye(self.d, dtype=bool)
        ways = np.log1p([len(levels) for levels in self.score.features.levels])
        if np.exp(others @ ways).sum() > _MOST_FITS:
            return None
        best = partial(self.score.family, most=inf)
        return score_all_sets(self.d, (allowed, required, most), lambda j, given: best(j, given).score, deadline)

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
    worlds: Worlds,
    linear: FoundGraph,
    deadline: Deadline | None = None,
    *,
    near: ArrayLike | None = None,
    **options: Any,
) -> tuple[Answer | None, dict[World, float]]:
    """The answer of the world with the lowest score, None if that is the linear Gaussian one, and the scores.

    It goes from one world to the next: of those that were not searched, the one that gains most over the world of the
    best answer so far, in the best parents of one of a few orders, as long as that is more than log n; or a simpler one
    that gains nearly as much. A linear Gaussian table ends it with a few looks. The shape of the noise is left out
    where a column is a category: the numbers of its levels have none, so that it would orient every edge between the
    two. ``near`` is an order from which joint functions are looked for, where that of the best answer will not do.
    """
    n = worlds.parents.n
    linear = _settle(worlds, linear, deadline)
    scores, best, found, now = {LINEAR: linear.score}, None, linear, LINEAR
    others = worlds.others()
    while others and not (deadline is not None and deadline.passed()):
        orders = [linear.order, linear.order[::-1]] if best is None else [found.order]
        chosen = _look_around(worlds, now, others, orders, worlds.room_for_lines(linear), deadline)
        if chosen is None and best is not None:
            chosen = _look_back(worlds, found, others, deadline)
        if chosen is None:
            break
        world, order = chosen
        others.remove(world)
        starts = _distinct([found.order, order, linear.order])
        answer = worlds.search(world, starts[:2], deadline=deadline, **options)
        scores[world] = answer.found.score
        if answer.found.score < found.score - log(n):
            best, found, now = answer, answer.found, world
        if answer.found.end.kind.stopped:
            return best, scores
    if best is not None and best.world == World("curved", "any"):
        best = _quieten(worlds, best, scores, deadline=deadline, **options)
    if best is not None and best.fitted.curved.any():
        best = _straighten(worlds, best, linear, scores, deadline=deadline, **options)
    start = (linear if best is None else best.found).order if near is None else near
    return _interact(worlds, best, linear, scores, start, deadline=deadline, **options), scores


def pass_lines(
    worlds: Worlds, first: FoundGraph, deadline: Deadline | None = None, **options: Any
) -> tuple[Answer, dict[World, float]] | None:
    """What `choose_world` makes of a mere descent, if that is so much better that no graph of lines can be as good."""
    linear = _settle(worlds, first, deadline)
    orders, room = [linear.order, linear.order[::-1]], worlds.room_for_lines(linear)
    chosen = _look_around(worlds, LINEAR, worlds.others(), orders, room, deadline) if room < inf else None
    if chosen is None or worlds.look(LINEAR, chosen[1]) - worlds.look(*chosen) <= _REACHED * room:
        return None
    answer, scores = choose_world(worlds, first, deadline, **options)
    return None if answer is None or answer.found.score >= linear.score - _REACHED * room else (answer, scores)


def _settle(worlds: Worlds, linear: FoundGraph, deadline: Deadline | None) -> FoundGraph:
    """The graph of lines in an order that its class decides, and with the score of the rows that others are seen in."""
    linear = replace(linear, order=worlds.settle_order(linear.weights != 0))
    return replace(linear, score=worlds.look(LINEAR, linear.order, deadline)) if worlds.is_sample else linear


def _look_around(
    worlds: Worlds,
    now: World,
    others: list[World],
    orders: list[Integers],
    decisive: float,
    deadline: Deadline | None,
) -> tuple[World, Integers] | None:
    """The world that gains most over the present one in the best parents of an order, and that order.

    It is the first, and simplest, whose gain is decisive or nearly the most; None where none gains more than log n.
    """
    usual = [worlds.look(now, order, deadline) for order in orders]
    if now != LINEAR:
        others = _find_below(worlds, others, orders[0], usual[0] - log(worlds.parents.n), deadline)
    met: list[tuple[float, World, Integers]] = []
    for world in others:
        gains = [score - worlds.look(world, order, deadline) for score, order in zip(usual, orders)]
        k = int(np.argmax(gains))
        met.append((gains[k], world, orders[k]))
        if now == LINEAR and gains[k] > decisive:
            break
    most = max((gain for gain, _, _ in met), default=0.0)
    if most <= log(worlds.parents.n):
        return None
    return next((world, order) for gain, world, order in met if gain >= _NEARLY * most)


def _look_back(
    worlds: Worlds, found: FoundGraph, others: list[World], deadline: Deadline | None
) -> tuple[World, Integers] | None:
    """A world that is better than an answer in the very opposite order, and that order.

    What a curve does to its effect looks like noise of another shape around a line from effect to cause: in the order
    of that answer nothing is left to be gained.
    """
    order = found.order[::-1]
    better = _find_below(worlds, others, order, found.score - log(worlds.parents.n), deadline)
    return (better[0], order) if better else None


def _find_below(
    worlds: Worlds, others: list[World], order: Integers, limit: float, deadline: Deadline | None
) -> list[World]:
    """The worlds in which an order has a score below a limit.

    Noise of any shape lowers a score and never raises it: where that is not enough, normal noise need not be looked at.
    """
    found: list[World] = []
    for world in others:
        wider = world._replace(noise="any")
        tried = [wider, world] if wider in others else [world]
        if all(worlds.look(each, order, deadline) < limit for each in tried):
            found.append(world)
    return found


def _distinct(orders: Sequence[Integers]) -> list[Integers]:
    return [order for k, order in enumerate(orders) if not any(np.array_equal(order, other) for other in orders[:k])]


def _quieten(worlds: Worlds, best: Answer, scores: dict[World, float], **options: Any) -> Answer:
    """The answer with normal noise where other shapes gain no more than log n: one look may lead past that world."""
    if -sum(family.shape for family in best.fitted.families) > log(worlds.parents.n):
        return best
    answer = worlds.search(World("curved"), [best.found.order], **options)
    scores[answer.world] = min(answer.found.score, scores.get(answer.world, np.inf))
    return answer if answer.found.score < best.found.score + log(worlds.parents.n) else best


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


def _interact(
    worlds: Worlds,
    best: Answer | None,
    linear: FoundGraph,
    scores: dict[World, float],
    start: ArrayLike,
    **options: Any,
) -> Answer | None:
    """The answer with joint functions where curves that add up leave something to explain, and these do."""
    found, world = linear if best is None else best.found, World("joint")
    if not worlds.may_interact:
        return best
    # NumPy and SciPy each bring a BLAS whose threads wait in the other's way: with two of them it takes twice as long.
    with threadpool_limits(1):
        if not shows_interaction(worlds.joint, (found.weights != 0)[np.ix_(worlds.canon, worlds.canon)]):
            return best
        answer = worlds.search(world, [start], beat=found, **options)
    scores[world] = answer.found.score
    return answer if answer.fitted.together.any() and answer.found.score < worlds.convincing(found) else best

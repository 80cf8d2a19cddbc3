"""The search for the best graph under the Gaussian BIC: several chains over orders, which then learn from each other.

Each chain goes downhill from an order of its own, one node after the other to its best place, and then on by kicks. If
the chains do not end in one class, they go on, more are started, and good orders are crossed: a child has the relative
order of a random half of the columns from one parent and the rest from the other. All randomness comes from the seed,
all budgets are counted in work and not in time, and what one chain does depends on no other between two meetings: the
answer does not depend on the number of threads or on the load of the machine, unless a deadline cuts it short.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import inf, log, nan
from typing import Any, Self

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike, NDArray

from acyclic._native import Flag, OrderChain, run_watched
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.exact import LARGEST_EXACT, find_best_graph, prove_by_scores
from acyclic.discrete.order import as_bytes, explained_last, extend_order
from acyclic.discrete.rivals import Alternative, Rivals
from acyclic.discrete.screening import MANY_COLUMNS, eliminate_from_end, search_screened
from acyclic.discrete.selection import DETOURS, ParentCriterion, checked_order, noise_shares
from acyclic.discrete.survey import MOST_ALTERNATIVES, TIE, Neighbourhood, share_left
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact
from acyclic.graphs.cycles import sort_topologically
from acyclic.graphs.equivalence import extend_consistently, find_cpdag
from acyclic.scores.local import LocalScore, Noise, PenaltyRule
from acyclic.scores.regression import least_squares, least_squares_of_edges
from acyclic.types import Bools, Floats, Integers

__all__ = ["FoundGraph", "ScoreSearch", "canonical_order", "check_effort", "search_graph", "search_orders"]

# A kick, and what is accepted after it, as measured on real tables: fewer insertions fall back, more lose too much.
_INSERTIONS, _TEMPERATURE = 3, 5.0
_PATIENCE = 1000
# Independent chains at first, and the size of the population once they disagree.
_FIRST_CHAINS, _POPULATION = 3, 6
# Generations without a better graph after which crossing ends.
_STALE = 20
# Rows for each column from which on what others explain of it says something.
_ROWS_PER_COLUMN = 2
# Units of work, some nanoseconds each, for 50 columns.
_BUDGET = 1.5e9
# A chain's first stretch of kicks is a share of the budget, but no longer than this for 30 columns: from there on more
# effort is more generations. Children with a quarter of it, measured on real tables, make a population alike too soon.
_SHARE, _LONGEST = 1 / 18, 1e8
# Parts of that stretch after which two chains are compared.
_BITS = 8
# Of the time that is left, what the chains get; the rest is for the look around the answer.
_CHAINS_TIME = 0.8
# The share of the time that a proof under another score may take before the chains begin.
_PROOF_TIME = 0.3
# Seconds of a proof with its margins, for each column and set of columns, where the machine is slow.
_PROOF_SECONDS = 5e-8
# Looks around the answer: each but the last ends where something better is met, from which the search goes on.
_SURVEYS = 8
# Trees of one chain beyond 15 million branches, 120 MB, are begun anew.
_MOST_BRANCHES = 15_000_000
_UNLIMITED = 2**62

Order = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class FoundGraph:
    """What a search found.

    Attributes
    ----------
    order : ndarray of int, shape (d,)
    weights : ndarray of shape (d, d)
        Least squares on the parents.
    score : float
        The criterion. If noise variances are unequal it is `gaussian_bic` of the graph, except that a column which its
        parents determine counts as explained to 1e-12 here and to 1e-10 there.
    penalty : float
        The cost of a parent that was used.
    reached : tuple of float
        The score that each independent chain reached on its own; empty if the answer is proved.
    kicks, generations : int
        Kicks of all chains, and rounds of crossing.
    rivals : Rivals, optional
        What else was met; None where the search was cut short or not asked for it.
    end : Fact[Ended]
        NO_BETTER_MOVE, TIME_LIMIT or INTERRUPTED; after the last two a better order may be one move away.
    """

    order: Integers
    weights: Floats
    score: float
    penalty: float
    reached: tuple[float, ...]
    kicks: int
    generations: int
    rivals: Rivals | None
    end: Fact[Ended]


def search_graph(
    moments: Moments,
    starts: Sequence[ArrayLike] = (),
    penalty: PenaltyRule = "ebic",
    *,
    mask: Mask | None = None,
    max_parents: int | None = None,
    effort: float | None = None,
    threads: int | None = None,
    deadline: Deadline | None = None,
    tell: Callable[[float], None] | None = None,
    random_state: int | SeedSequence | Generator = 0,
) -> FoundGraph:
    """Find the graph with the lowest Gaussian BIC: proved best up to 20 columns, by `search_orders` beyond.

    The answer depends neither on units nor on the order of the columns. Parameters are those of `search_orders`. With
    an effort of 0, and where the deadline leaves no time for a proof, the answer is that of a search.

    Examples
    --------
    >>> moments = Moments(500, [0, 0, 0], [[1, 0, 1], [0, 1, 1], [1, 1, 3]])
    >>> found = search_graph(moments)
    >>> (found.weights != 0).astype(int).tolist(), found.rivals.proved
    ([[0, 0, 1], [0, 0, 1], [0, 0, 0]], True)
    """
    check_effort(effort)
    d, left = len(moments.names), None if deadline is None else deadline.left()
    few = d <= LARGEST_EXACT and effort != 0 and (left is None or left > _PROOF_SECONDS * d * 2.0**d)
    # What a proof that is cut short leaves is a descent, which takes next to no time and tells of itself.
    searched = search_orders(
        moments,
        starts,
        penalty,
        mask=mask,
        max_parents=max_parents,
        effort=0.0 if few else effort,
        threads=threads,
        deadline=deadline,
        tell=tell,
        random_state=random_state,
    )
    if not few or searched.end.kind.stopped:
        return searched
    try:
        return _prove(moments, penalty, mask, max_parents, threads, deadline)
    except Stopped as stop:
        return replace(searched, end=stop.end)
    except KeyboardInterrupt:
        return replace(searched, end=Fact.of(Ended.INTERRUPTED))


def _prove(
    moments: Moments,
    penalty: PenaltyRule,
    mask: Mask | None,
    max_parents: int | None,
    threads: int | None,
    deadline: Deadline | None,
) -> FoundGraph:
    """The best graph there is, found with the columns in their canonical order."""
    canon = canonical_order(moments.correlation(), moments.names)
    back = np.argsort(canon)
    names = tuple(moments.names[i] for i in canon)
    sorted_moments = Moments(moments.n, moments.mean[canon], moments.covariance[np.ix_(canon, canon)], names)
    sorted_mask = None if mask is None or mask.is_free else mask.permuted(canon)
    best = find_best_graph(
        sorted_moments, penalty, mask=sorted_mask, max_parents=max_parents, threads=threads, deadline=deadline
    )
    restore = np.ix_(back, back)
    rivals = Rivals(
        proved=True,
        chains=0,
        agreeing=0,
        gap=best.second,
        turned=best.turned[restore],
        left_out=best.left_out[restore],
        alternatives=tuple(
            Alternative(other.adjacency[restore], other.excess) for other in best.alternatives[:MOST_ALTERNATIVES]
        ),
    )
    weights = least_squares(moments.covariance, best.adjacency[restore], mask)
    end = Fact.of(Ended.NO_BETTER_MOVE)
    return FoundGraph(canon[best.order], weights, best.score, best.penalty, (), 0, 0, rivals, end)


def search_orders(
    moments: Moments,
    starts: Sequence[ArrayLike] = (),
    penalty: PenaltyRule = "ebic",
    *,
    noise: Noise = "unequal",
    mask: Mask | None = None,
    max_parents: int | None = None,
    effort: float | None = None,
    threads: int | None = None,
    deadline: Deadline | None = None,
    tell: Callable[[float], None] | None = None,
    random_state: int | SeedSequence | Generator = 0,
) -> FoundGraph:
    """Search for the order whose graph has the lowest Gaussian BIC; parents are chosen as in `select_parents`.

    Only the correlation matrix is seen, with its columns in a canonical order: neither units nor the order of the
    columns can change the result if they did not choose the starts.

    Parameters
    ----------
    moments : Moments
    starts : sequence of array_like of int, shape (d,)
        Orders to start from; repaired where they are against the mask. If there are none, the first chains start from
        `explained_last` and `eliminate_from_end`. Further chains start from random orders.
    penalty, noise, mask, max_parents
        As in `select_parents`. With equal noise variances, σ² is estimated from the first start.
    effort : float, optional
        1 is a second or two for 50 columns on two cores; the work grows with it. 0 goes downhill from the starts and
        no further. None is 1 without a deadline; with one the search goes on until 20
        generations found nothing better, or the time is up.
    threads : int, optional
        All processors if left out. The result does not depend on it.
    deadline : Deadline, optional
        The best graph so far is returned before it passes, as it is on Ctrl-C. A fifth of the time is kept for the
        look at its rivals.
    tell : callable, optional
        Called with the best score so far after each round; it may raise Stopped to end the search.
    random_state : int, SeedSequence or Generator

    Examples
    --------
    >>> moments = Moments(500, [0, 0, 0], [[1, 0, 1], [0, 1, 1], [1, 1, 3]])
    >>> (search_orders(moments).weights != 0).astype(int).tolist()
    [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    """
    check_effort(effort)
    criterion, d = ParentCriterion.of(moments, penalty, mask, max_parents), len(moments.names)
    given = [checked_order(start, moments.names) for start in starts]
    if d > MANY_COLUMNS:
        return _search_many(
            moments, criterion, given, noise, 1.0 if effort is None else effort, threads, deadline, tell, random_state
        )
    unit = noise_shares(noise, criterion, given[0] if given else np.arange(d))
    canon = canonical_order(criterion.correlation, moments.names)
    with _Search(criterion, unit, canon, effort, threads, deadline, tell, random_state) as search:
        end = search.run(given)
        order, adjacency, score, rivals, end = search.look_around(end)
        weights = least_squares(moments.covariance, adjacency, criterion.mask)
        return FoundGraph(
            order,
            weights,
            score,
            criterion.penalty,
            tuple(search.reached),
            sum(search.kicked),
            search.generations,
            rivals,
            end,
        )


def _search_many(
    moments: Moments, criterion: ParentCriterion, starts: list[Integers], noise: Noise, effort: float, *options: Any
) -> FoundGraph:
    """The graph among screened candidates, without a look around it."""
    names = "threads", "deadline", "tell", "random_state"
    found = search_screened(moments, criterion, starts, noise=noise, effort=effort, **dict(zip(names, options)))
    weights = least_squares_of_edges(moments.covariance, found.sources, found.targets, criterion.mask)
    reached = (found.score,) if found.score < inf else ()
    return FoundGraph(found.order, weights, found.score, criterion.penalty, reached, 0, 0, None, found.end)


def check_effort(effort: float | None) -> None:
    """Raise an InputError unless it is a number of at least 0, or None."""
    if effort is not None and not 0 <= effort < inf:
        raise InputError(f"effort is {effort!r}; give a number >= 0, or None")


def _find_budget(effort: float | None, d: int, deadline: Deadline | None) -> float:
    """Units of work in all; infinite where a deadline alone says when to end."""
    if effort is None:
        effort = 1.0 if deadline is None or deadline.left() is None else inf
    return float(effort * _BUDGET * max(1.0, d / 50) ** 0.75)


def canonical_order(correlation: Floats, names: Sequence[str]) -> Integers:
    """The columns by what does not depend on their order: how much they correlate with all others, then their names.

    Sums are over sorted entries, so that rounding does not depend on the order either, and are compared in nine digits.
    """
    d = len(names)
    squares = correlation**2
    if d <= 1000:  # beyond that sorting takes longer than it is worth: another order changes the last digit of few sums
        squares.sort(axis=1)
    total, shape = squares.sum(axis=1), (squares**2).sum(axis=1)
    keys = np.arange(d), np.argsort(np.argsort(np.array(names, dtype=object))), np.round(shape, 9), np.round(total, 9)
    return np.lexsort(keys)


class _Search:
    """The chains, their orders, and the best of them; columns are in canonical order inside."""

    def __init__(
        self,
        criterion: ParentCriterion,
        unit: Floats | None,
        canon: Integers,
        effort: float | None,
        threads: int | None,
        deadline: Deadline | None,
        tell: Callable[[float], None] | None,
        random_state: int | SeedSequence | Generator,
    ) -> None:
        if threads is not None and threads < 1:
            raise InputError(f"threads is {threads!r}; give a number >= 1, or None for all processors")
        self.threads = threads or os.cpu_count() or 1
        self.d, self.n, self.canon, self.back = len(canon), criterion.n, canon, np.argsort(canon)
        self.deadline, self.tell, self.rng = deadline, tell, np.random.default_rng(random_state)
        before = criterion.mask.precedence
        self.before = None if before is None else before[np.ix_(canon, canon)]
        self.given = (
            np.ascontiguousarray(criterion.correlation[np.ix_(canon, canon)]),
            criterion.n,
            criterion.penalty,
            None if unit is None else np.ascontiguousarray(unit[canon]),
            *criterion.rules(canon),
            None if self.before is None else as_bytes(self.before),
            criterion.max_parents,
            DETOURS,
            _MOST_BRANCHES,
        )
        self.by_class, self.free = unit is None, criterion.mask.is_free
        # Where orders hardly tie descents have few ends: one from a random order that ends as the others is enough.
        self.tells_apart = False
        # And where descents take little time, two chains that meet at the lowest end are enough where others end apart.
        self.descends_fast = False
        self.budget = _find_budget(effort, self.d, deadline)
        # Where the clock alone ends the search, it begins as one without a limit does.
        usual = _find_budget(1.0, self.d, None) if self.budget == inf else self.budget
        self.quota = int(min(_SHARE * usual, _LONGEST * max(1.0, self.d / 30) ** 1.5))
        left = None if deadline is None else deadline.left()
        # Until when the chains may go on; what is left then is for the look around.
        self.until = deadline if deadline is None or left is None else Deadline(_CHAINS_TIME * left, deadline.limit)
        self.cut = False
        self.temperature = _TEMPERATURE * min(1.0, 50 / self.d)
        self.chains: list[OrderChain] = []
        self.stack = ExitStack()
        self.population: list[tuple[float, Order]] = []
        self.best: tuple[float, Order] = (inf, np.arange(self.d, dtype=np.int32))
        self.reached: list[float] = []
        self.kicked: list[int] = []
        self.generations = 0

    def __enter__(self) -> Self:
        self.stack.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def run(self, given: list[Integers]) -> Fact[Ended]:
        """All rounds in turn; how they ended."""
        starts = [self.obey(np.argsort(self.back[start])) for start in given]
        # What is at hand when the first round is cut short.
        self.best = (inf, starts[0] if starts else self.obey(np.arange(self.d)))
        try:
            self.explore(starts)
            return Fact.of(Ended.NO_BETTER_MOVE)
        except Stopped as stop:
            return self.explain(stop)
        except KeyboardInterrupt:
            return Fact.of(Ended.INTERRUPTED)
        finally:
            self.collect()
            self.cut = self.until is not None and self.until.passed()
            self.until = self.deadline

    def explore(self, starts: list[Order]) -> None:
        """Chains on their own; if they disagree more of them, then crossings, until all is stale or spent."""
        first = max(_FIRST_CHAINS if self.d <= 300 else 2 if self.d <= 600 else 1, len(starts))
        starts = starts or self.find_starts()[: first if self.budget else 1]
        if self.budget == 0:
            self.climb(starts or [self.draw_start()], 0)
            return
        given = len(starts)
        starts += [self.draw_start() for _ in range(first - given)]
        if self.tells_apart:
            self.climb(starts[: given + 1], 0)
            if self.agree():
                return
            self.climb(starts[given + 1 :], 0)
            if self.descends_fast and self.meet():
                return
            self.go_further(self.quota)
        else:
            self.climb(starts, self.quota)
        if self.agree() or len(self.chains) < _FIRST_CHAINS or self.spent > self.budget:
            return
        self.go_further(self.quota)
        if self.agree():
            return
        if self.spent > self.budget / 2:
            self.go_on_from_best(int(self.budget / 2))
            return
        self.climb([self.draw_start() for _ in range(_POPULATION - len(self.chains))], 2 * self.quota)
        stale = 0
        while stale < _STALE and self.spent < self.budget:
            best = self.best[0]
            self.cross(self.quota)
            stale = 0 if self.best[0] < best - TIE else stale + 1

    def meet(self) -> bool:
        """Kick the two best chains, bit by bit, until both are at the lowest end; whether they came to that."""
        for _ in range(_BITS):
            best = np.argsort(self.reached, kind="stable")[:2].tolist()
            if self.reached[best[1]] <= self.reached[best[0]] + TIE:
                return True
            self.go_further(self.quota // _BITS, best)
        return False

    def find_starts(self) -> list[Order]:
        """Orders of the first chains where none are given; none under equal variances, which come with theirs."""
        R, n, cost, unit, *_, most, _, _ = self.given
        if unit is not None:
            return []
        orders = [explained_last(R)] if n > _ROWS_PER_COLUMN * self.d else []
        orders.append(eliminate_from_end(R, n, cost, most, threads=self.threads, deadline=self.until))
        return [self.obey(np.argsort(order)) for order in orders]

    def climb(self, starts: list[Order], work: int) -> None:
        """New chains, one from each start: downhill and on by kicks."""
        if not starts:
            return
        fresh = [self.open_chain(int(self.rng.integers(2**63))) for _ in starts]
        self.chains += fresh
        self.do(lambda k, flag: self.improve(fresh[k], starts[k], work, flag), len(fresh))
        self.collect()
        self.reached += [chain.best()[0] for chain in fresh]

    def open_chain(self, seed: int) -> OrderChain:
        return self.stack.enter_context(OrderChain(*self.given, seed=seed))

    def go_further(self, work: int, places: Sequence[int] | None = None) -> None:
        """More kicks for the chains that are there, or for some of them."""
        chains = self.chains if places is None else [self.chains[k] for k in places]
        self.do(lambda k, flag: self.kick(chains[k], work, flag), len(chains))
        self.collect()
        self.reached = [chain.best()[0] for chain in self.chains]

    def go_on_from_best(self, work: int) -> None:
        """More kicks for the best chain alone: where descents are dear, others would only come near it."""
        lowest = min(self.reached)
        best = next(k for k, score in enumerate(self.reached) if score <= lowest + TIE)
        self.go_further(work, [best])

    def cross(self, work: int) -> None:
        """One generation: each chain goes on from a child of two members of the population."""
        children = [self.draw_child() for _ in self.chains]
        self.do(lambda k, flag: self.improve(self.chains[k], children[k], work, flag), len(children))
        self.collect()
        self.generations += 1

    def improve(self, chain: OrderChain, start: Order, work: int, flag: Flag) -> None:
        chain.start(start, flag)
        chain.descend(_UNLIMITED, TIE, flag)
        if work:
            self.kick(chain, work, flag)

    def kick(self, chain: OrderChain, work: int, flag: Flag) -> None:
        self.kicked.append(chain.kick(_INSERTIONS, self.temperature, _PATIENCE, work, TIE, flag))

    def do(self, task: Callable[[int, Flag], None], count: int) -> None:
        """Run tasks 0..count-1 on the threads, watched; then tell the best score."""

        def all_tasks(flag: Flag) -> None:
            if min(self.threads, count) == 1:
                for k in range(count):
                    task(k, flag)
                return
            with ThreadPoolExecutor(min(self.threads, count)) as pool:
                list(pool.map(lambda k: task(k, flag), range(count)))

        run_watched(all_tasks, self.until)
        if self.tell is not None:
            self.collect()
            self.tell(self.best[0])

    def collect(self) -> None:
        """Take the best orders of all chains into the population: distinct scores, lowest first.

        Of ties the one that was met first stays: rounding, and so the units of the columns, must not choose.
        """
        met = [*self.population, *(chain.best() for chain in self.chains)]
        kept: list[int] = []
        for place in sorted(range(len(met)), key=lambda k: met[k][0]):
            if kept and met[place][0] <= met[kept[-1]][0] + TIE:
                kept[-1] = min(kept[-1], place)
            elif met[place][0] < inf:
                kept.append(place)
        self.population = [met[place] for place in kept[:_POPULATION]]
        if self.population and self.population[0][0] < self.best[0] - TIE:
            self.best = self.population[0]

    @property
    def spent(self) -> int:
        return sum(chain.work for chain in self.chains)

    @property
    def survey_work(self) -> float:
        """Work for a look around; where the clock ended the chains, what they did tells how much there is time for."""
        # Where orders hardly tie margins are wide: half of the work left all that are near zero as they were.
        return self.spent / 32 if self.cut else self.budget / (32 if self.tells_apart else 8)

    def agree(self) -> bool:
        return max(self.reached) <= min(self.reached) + TIE

    def obey(self, rank: Integers) -> Order:
        return extend_order(rank, self.before).astype(np.int32)

    def draw_start(self) -> Order:
        return self.obey(self.rng.permutation(self.d))

    def draw_child(self) -> Order:
        """An order with the relative order of a random half from one parent, and that of the rest from another."""
        if len(self.population) < 2:
            return self.draw_start()
        one, other = (self.population[k][1] for k in self.rng.choice(len(self.population), 2, replace=False))
        places = self.rng.random(self.d) < 0.5
        taken = np.zeros(self.d, dtype=bool)
        taken[one[places]] = True
        child = one.copy()
        child[places] = other[taken[other]]
        return self.obey(np.argsort(child))

    def answer(self) -> tuple[Order, Bools, float]:
        """Order, parents and score of the best."""
        order = self.best[1]
        chain = self.chains[0] if self.chains else self.open_chain(0)
        chain.start(order)
        return order, chain.parents(), chain.best()[0]

    def look_around(self, end: Fact[Ended]) -> tuple[Integers, Bools, float, Rivals | None, Fact[Ended]]:
        """The answer, and how far it is ahead of others; where one of these is better, the search goes on from it.

        There are no rivals where the search is only a descent, or was stopped otherwise than for this look.
        """
        try:
            order, adjacency, score = self.answer()
        except KeyboardInterrupt:
            end = Fact.of(Ended.INTERRUPTED)
            order, adjacency, score = self.answer()
        rivals, opposed = None, self.find_opposed()
        try:
            look = self.budget > 0 and (not end.kind.stopped or (self.cut and end.kind is Ended.TIME_LIMIT))
            for left in reversed(range(_SURVEYS if look else 0)):
                around = Neighbourhood(self, order, adjacency, score)
                rivals = around.survey(to_the_end=not left)
                if around.better is None or not left:
                    break
                rivals, (score, adjacency) = None, around.better
                order = self.order_of(adjacency)
                order, adjacency, score = self.go_on(order, adjacency, score)
        except Stopped as stop:
            end, rivals = self.explain(stop), None
        except KeyboardInterrupt:
            end, rivals = Fact.of(Ended.INTERRUPTED), None
        if rivals is not None:
            rivals = replace(rivals, opposed=opposed)
            if self.by_class and self.free:
                order, adjacency, rivals = self.choose_member(order, adjacency, rivals)
        outward = np.ix_(self.back, self.back)
        return self.canon[order], adjacency[outward], score, rivals, end

    def find_opposed(self) -> Bools | None:
        """See Rivals: what chains that ended apart would turn, before they are used for the look around."""
        alike = sum(score <= self.best[0] + TIE for score in self.reached)
        if self.generations or len(self.chains) < 2 or alike > 1 or self.budget == 0:
            return None
        found = np.zeros((self.d, self.d), dtype=bool)
        for chain in self.chains:
            score, end = chain.best()
            if score < inf:
                chain.start(end)
                graph = chain.parents()
                found |= (find_cpdag(graph).arcs if self.by_class else graph).T
        return found[np.ix_(self.back, self.back)]

    def choose_member(self, order: Order, adjacency: Bools, rivals: Rivals) -> tuple[Order, Bools, Rivals]:
        """The member of the class that its columns choose: which one a search ends in is a matter of rounding.

        Where columns determine each other members have other scores, and the graph stays as it is.
        """
        member = extend_consistently(find_cpdag(adjacency))
        if abs(self.score_of(member) - self.score_of(adjacency)) > TIE:
            return order, adjacency, rivals
        outward = np.ix_(self.back, self.back)
        now, was = member[outward], adjacency[outward]
        turned = np.where(now, np.where(was, rivals.turned, 0.0), nan)
        left_out = np.where(now, np.fmin(rivals.left_out, rivals.left_out.T), nan)
        return self.order_of(member), member, replace(rivals, turned=turned, left_out=left_out)

    def score_of(self, adjacency: Bools) -> float:
        R, n, cost, *_ = self.given
        left = (share_left(R, j, np.flatnonzero(adjacency[:, j])) for j in range(self.d) if R[j, j] > 0)
        return n * sum(log(share) for share in left) + cost * int(adjacency.sum())

    def price_of_edge(self, parents: Integers | Order, source: int, target: int) -> float:
        """How much the score rises if a column is one of the parents; inf where it may be none."""
        R, n, cost, unit, allowed, _, _, most, *_ = self.given
        if source in parents:
            return 0.0
        if (allowed is not None and not allowed[target, source]) or len(parents) >= most:
            return inf
        without, left = (share_left(R, target, given) for given in (parents, np.append(parents, source)))
        gained = log(left / without) if unit is None else (left - without) / float(unit[target])
        return float(cost + n * gained)

    def order_of(self, adjacency: Bools) -> Order:
        return sort_topologically(adjacency if self.before is None else adjacency | self.before).astype(np.int32)

    def go_on(self, start: Order, better: Bools, score: float) -> tuple[Order, Bools, float]:
        """Descend from the order of a better graph, and take what is lower: greedy selection may miss its parents."""
        self.do(lambda _, flag: self.improve(self.chains[0], start, 0, flag), 1)
        self.collect()
        return self.answer() if self.best[0] <= score + TIE else (start, better, score)

    def explain(self, stop: Stopped) -> Fact[Ended]:
        """How the search ended: kernels only know that they were told to stop."""
        return stop.end if self.until is None or not self.until.passed() else self.until.end()


class ScoreSearch(_Search):
    """The search with another score in the place of the linear Gaussian one, over columns in canonical order.

    A subclass opens the chains of its score with ``rules``: allowed, required and preceding columns, the most parents,
    detours and branches.
    """

    def __init__(self, score: LocalScore, criterion: ParentCriterion, canon: Integers, *options: Any) -> None:
        super().__init__(criterion, None, canon, *options)
        self.score = score
        *_, allowed, required, precede, most, _, _ = self.given
        # Points are dear under these scores, branches few.
        self.rules = allowed, required, precede, most, DETOURS, _MOST_BRANCHES // 3

    def find_starts(self) -> list[Order]:
        """See _Search; another score's graph has another order."""
        return []

    def score_sets(self, deadline: Deadline | None) -> Floats | None:
        """The scores of all sets of parents, where these are few enough for a proof: see `ScoredTables`."""
        return None

    def prove(self) -> tuple[Integers, Bools, float, Rivals] | None:
        """Order, graph, score and rivals of the best graph there is; None where the sets of parents are too many."""
        left = None if self.deadline is None else self.deadline.left()
        deadline = None if left is None else Deadline(_PROOF_TIME * left)
        scores = self.score_sets(deadline) if self.d <= LARGEST_EXACT else None
        if scores is None:
            return None
        options: dict[str, Any] = {"by_class": self.by_class, "threads": self.threads, "deadline": deadline}
        order, adjacency, total, rivals = prove_by_scores(scores, self.n, self.before, **options)
        return self.canon[order], adjacency[np.ix_(self.back, self.back)], total, rivals.permuted(self.back)

    def find(self, starts: list[Integers]) -> tuple[Integers, Bools, float, Rivals | None, Fact[Ended]]:
        """The best graph: proved where that takes little, else by the chains."""
        try:
            proved = self.prove() if self.budget > 0 else None
        except Stopped:  # there is time left for a search
            proved = None
        except KeyboardInterrupt:
            self.budget = 0.0
            return (*self.look_around(self.run(starts))[:4], Fact.of(Ended.INTERRUPTED))
        if proved is None:
            return self.look_around(self.run(starts))
        try:
            if self.tell is not None:
                self.tell(proved[2])
        except Stopped as stop:
            return (*proved, stop.end)
        return (*proved, Fact.of(Ended.NO_BETTER_MOVE))

    def score_of(self, adjacency: Bools) -> float:
        """The score of a graph."""
        return self.score.total(adjacency)

    def price_of_edge(self, parents: Integers | Order, source: int, target: int) -> float:
        """See _Search."""
        allowed, *_, most, _, _ = self.rules
        given = [int(i) for i in parents]
        if source in given:
            return 0.0
        if (allowed is not None and not allowed[target, source]) or len(given) >= most:
            return inf
        return self.score.score(target, [*given, source]) - self.score.score(target, given)

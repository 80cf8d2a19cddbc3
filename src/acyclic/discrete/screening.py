"""The search over orders for many columns: each is asked for few candidates only, and none that matters is missed.

Up to a thousand columns every column is a candidate for a parent of every other. Beyond that a forward selection of
each column among all others screens its candidates: those that explain most at each of its steps. Trees, scores and
moves are the same; what a question costs follows the candidates and not the columns, and covariances are read where
they lie, without a copy. Before each descent, and after the last, the selection of every column is made once more among
all of its predecessors: whatever it chooses that is no candidate becomes one, until nothing does. In the order of the
answer, the parents of each column are those that it has among all columns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf
from typing import TypeVar

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray

from acyclic._native import Candidates, Flag, OrderChain, run_watched, screen_candidates
from acyclic.data.dependence import EXPLAINED
from acyclic.data.moments import Moments
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.order import as_bytes, extend_order
from acyclic.discrete.selection import DETOURS, ParentCriterion
from acyclic.facts import Ended, Fact
from acyclic.scores.local import Noise
from acyclic.types import Floats, Integers

__all__ = ["MANY_COLUMNS", "ScreenedGraph", "eliminate_from_end", "search_screened"]

MANY_COLUMNS = 1000
"""Beyond so many columns candidates are screened."""

# Candidates noted at each step of screening, and of one column in all before those are added whose candidate it is.
_WIDTH, _ROOM = 16, 1024
# How many missed candidates of a column are added in one round, and the most rounds after each descent.
_ADDED, _ROUNDS = 32, 20
# As in the search of fewer columns.
_TOLERANCE = 1e-6
# Rounds from other orders of the same graph: at most so many for an effort of 1, and so many without a better graph.
_SHUFFLES, _STALE = 12, 2
# Units of work for each column in a descent under equal noise variances: where they hold the order is nearly right, and
# where they do not nothing is won.
_WORK_EQUAL = 1e6
# A node with more neighbours than this is taken out of the moral graph without joining them.
_CROWD = 40
# Trees of one chain beyond this, 500 MB, are begun anew.
_MOST_BRANCHES = 60_000_000
_UNLIMITED = 2**62

Order = NDArray[np.int32]
Pairs = NDArray[np.int64]
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, eq=False)
class ScreenedGraph:
    """What a search among screened candidates found.

    Attributes
    ----------
    order : ndarray of int, shape (d,)
    sources, targets : ndarrays of int, shape (edges,)
    score : float
        The criterion, as that of `FoundGraph`.
    shuffles : int
        From how many other orders of the graphs that were found the search went on.
    candidates : int
        How many pairs of a column and a candidate were looked at, of the d(d − 1) that there are.
    missed : int
        How many of these were found by looking for what screening had missed.
    end : Fact[Ended]
    """

    order: Integers
    sources: Integers
    targets: Integers
    score: float
    shuffles: int
    candidates: int
    missed: int
    end: Fact[Ended]


def search_screened(
    moments: Moments,
    criterion: ParentCriterion,
    starts: Sequence[Integers] = (),
    *,
    noise: Noise = "unequal",
    effort: float = 1.0,
    threads: int | None = None,
    deadline: Deadline | None = None,
    tell: Callable[[float], None] | None = None,
    random_state: int | SeedSequence | Generator = 0,
    width: int = _WIDTH,
) -> ScreenedGraph:
    """Search for the order whose graph has the lowest Gaussian BIC among screened candidates.

    Parameters
    ----------
    moments : Moments
    criterion : ParentCriterion
        Of these moments.
    starts : sequence of ndarrays of int, shape (d,)
        The order to start from is the first. If there is none, the moral graph that screening estimates is taken apart
        from its end; under equal noise variances, again and again that column comes next whose parents among those
        before it leave the least of its variance.
    noise, effort, threads, deadline, tell, random_state
        As in `search_orders`.
    width : int
        How many candidates are noted at each step of screening.

    Examples
    --------
    >>> moments = Moments(500, [0, 0, 0], [[1, 0, 1], [0, 1, 1], [1, 1, 3]])
    >>> found = search_screened(moments, ParentCriterion.of(moments, "ebic", None, None))
    >>> list(zip(found.sources.tolist(), found.targets.tolist()))
    [(0, 2), (1, 2)]
    """
    with _Search(moments, criterion, threads, deadline, tell, random_state) as search:
        try:
            search.screen(width)
            search.run(starts[0] if len(starts) else None, noise, effort)
            end = Fact.of(Ended.NO_BETTER_MOVE)
        except Stopped as stop:
            end = stop.end if deadline is None or not deadline.passed() else deadline.end()
        except KeyboardInterrupt:
            end = Fact.of(Ended.INTERRUPTED)
        return search.answer(end)


class _Search:
    """One chain, its candidates and its best order; nodes are columns in canonical order."""

    def __init__(
        self,
        moments: Moments,
        criterion: ParentCriterion,
        threads: int | None,
        deadline: Deadline | None,
        tell: Callable[[float], None] | None,
        random_state: int | SeedSequence | Generator,
    ) -> None:
        self.S, self.d, self.criterion = np.ascontiguousarray(moments.covariance), len(moments.names), criterion
        self.threads = threads or os.cpu_count() or 1
        self.deadline, self.tell, self.rng = deadline, tell, np.random.default_rng(random_state)
        deviation = np.where(moments.constant, 0.0, criterion.deviation)
        self.scale = np.divide(1.0, deviation, out=np.zeros(self.d), where=deviation > 0)
        self.canon = _canonical_order(self.S, self.scale, moments.names)
        self.back = np.argsort(self.canon)
        self.variance = np.ascontiguousarray(deviation[self.canon] ** 2)
        self.rounding = (self.d + 10) * float(np.finfo(np.float64).eps) + moments.rounding
        before = criterion.mask.precedence
        self.before = None if before is None else before[np.ix_(self.canon, self.canon)]
        self.rules = *criterion.rules(self.canon), None if self.before is None else as_bytes(self.before)
        self.chain: OrderChain | None = None
        self.pairs: Pairs = np.empty(0, dtype=np.int64)
        self.blanket: tuple[Integers, Integers] = (np.empty(0, dtype=np.intp),) * 2
        self.shuffles = self.missed = 0
        self.stack = ExitStack()

    def __enter__(self) -> _Search:
        self.stack.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def screen(self, width: int) -> None:
        """Candidates are those of a forward selection among all columns, and those whose candidate a column is."""
        rules = self.criterion
        found, chosen = screen_candidates(
            self.S,
            self.scale,
            rules.n,
            rules.penalty,
            rules.max_parents,
            DETOURS,
            width,
            min(_ROOM, self.d),
            threads=self.threads,
            deadline=self.deadline,
        )
        columns, places = np.nonzero(found >= 0)
        nodes, others = self.back[columns], self.back[found[columns, places]]
        self.add(nodes, others)
        kept = places < chosen[columns]
        self.blanket = nodes[kept], others[kept]
        if not rules.mask.is_free:
            sources, targets = np.nonzero(rules.mask.required)
            self.add(self.back[targets], self.back[sources])

    def add(self, nodes: Integers | Order, others: Integers | Order) -> None:
        """Make nodes candidates of each other."""
        one, other = np.asarray(nodes, dtype=np.int64), np.asarray(others, dtype=np.int64)
        pairs = np.unique(np.concatenate([one * self.d + other, other * self.d + one]))
        places = np.searchsorted(self.pairs, pairs)  # they are few beside those that are there: no need to sort these
        new = np.append(self.pairs, -1)[places] != pairs
        self.pairs = np.insert(self.pairs, places[new], pairs[new])

    def candidates(self) -> Candidates:
        nodes, others = np.divmod(self.pairs, self.d)
        start = np.searchsorted(nodes, np.arange(self.d + 1)).astype(np.int64)
        canon = self.canon.astype(np.int32)
        return Candidates(canon, np.ascontiguousarray(self.scale[self.canon]), start, others.astype(np.int32))

    def open(self, unit: Floats | None) -> OrderChain:
        """A chain for one criterion; the one before it is closed."""
        self.stack.close()
        rules = self.criterion
        limits = rules.max_parents, DETOURS, _MOST_BRANCHES, int(self.rng.integers(2**63))
        chain = OrderChain(self.S, rules.n, rules.penalty, unit, *self.rules, *limits, self.candidates())
        self.chain = self.stack.enter_context(chain)
        return self.chain

    def run(self, start: Integers | None, noise: Noise, effort: float) -> None:
        """An order to start from, downhill, and again from other orders of the graph that was found."""
        chain = self.open(None)
        if start is not None:
            order = self.obey(np.argsort(self.back[start]))
        else:
            order = self.grow(chain, _ROUNDS if effort > 0 else 1) if noise == "equal" else self.eliminate()
        work = _UNLIMITED
        if noise == "equal":
            self.do(lambda flag: chain.start(order, flag))
            chain = self.open(self.shares(chain))
            work = int(effort * _WORK_EQUAL * self.d)
        if noise == "equal" and not effort:
            self.do(lambda flag: chain.start(order, flag))
            return
        self.descend(chain, order, work)
        stale = 0
        while self.shuffles < effort * _SHUFFLES and stale < _STALE:
            before, order = chain.best()
            self.descend(chain, self.shuffle(chain, order), work)
            self.shuffles += 1
            stale = 0 if chain.best()[0] < before - _TOLERANCE else stale + 1

    def grow(self, chain: OrderChain, rounds: int) -> Order:
        """An order by residual variances, with what was missed: with equal noise variances a causal one."""
        for left in reversed(range(rounds)):
            order = self.do(lambda flag: chain.grow(self.variance, self.rounding, flag))
            if not left or not self.widen(chain):
                break
        return self.obey(np.argsort(order))

    def eliminate(self) -> Order:
        """See `eliminate_from_end`."""
        return self.obey(np.argsort(_eliminate(self.d, *self.blanket)))

    def shuffle(self, chain: OrderChain, order: Order) -> Order:
        """Another order of the graph of an order, drawn at random: moves see other neighbours there."""
        self.do(lambda flag: chain.start(order, flag))
        start, parents = chain.edges()
        edges = parents, np.repeat(np.arange(self.d), np.diff(start))
        forward = self.shuffles % 2 == 0
        drawn = _draw_order(edges if forward else edges[::-1], self.rng.permutation(self.d))
        return self.obey(np.argsort(drawn if forward else drawn[::-1]))

    def shares(self, chain: OrderChain) -> Floats:
        """Pooled noise variance as a share of each node's own, as in `noise_shares`."""
        score, size = chain.scores()
        own, n = self.variance, self.criterion.n
        left = np.where(own > 0, np.maximum(np.exp((score - self.criterion.penalty * size) / n), EXPLAINED), 0.0)
        pooled = n * float(left @ own) / float(np.maximum(n - 1 - size, 1)[own > 0].sum() or 1)
        return np.divide(pooled, own, out=np.ones(self.d), where=own > 0) if pooled > 0 else np.ones(self.d)

    def descend(self, chain: OrderChain, order: Order, work: int) -> None:
        """Go downhill from an order, and again with what was missed, until nothing is or so much work is done."""
        until = chain.work + work
        for _ in range(_ROUNDS):
            self.complete(chain, order)
            if chain.work >= until or not self.do(lambda flag: chain.descend(until - chain.work, _TOLERANCE, flag)):
                break
            order = chain.best()[1]

    def complete(self, chain: OrderChain, order: Order) -> None:
        """Go to an order, with all candidates that selection among all columns chooses in it."""
        for _ in range(_ROUNDS):
            self.do(lambda flag: chain.start(order, flag))
            if not self.widen(chain):
                break

    def widen(self, chain: OrderChain) -> bool:
        """Make candidates of what the present order shows to be missed; whether there was any."""
        found = self.do(lambda flag: chain.missed(_ADDED, self.threads, flag))
        if not len(found):
            return False
        before = len(self.pairs)
        self.add(found[:, 0], found[:, 1])
        self.missed += len(self.pairs) - before
        changed = np.zeros(self.d, dtype=np.uint8)
        changed[found.ravel()] = 1
        chain.widen(self.candidates(), changed)
        return True

    def do(self, task: Callable[[Flag], _Answer]) -> _Answer:
        """Do something watched; then tell the best score."""
        answer = run_watched(task, self.deadline)
        if self.tell is not None and self.chain is not None and (best := self.chain.best()[0]) < inf:
            self.tell(best)
        return answer

    def obey(self, rank: Integers) -> Order:
        return extend_order(rank, self.before).astype(np.int32)

    def answer(self, end: Fact[Ended]) -> ScreenedGraph:
        """The best graph so far; without an edge where there was no time for any."""
        score, order = (inf, np.arange(self.d, dtype=np.int32)) if self.chain is None else self.chain.best()
        sources = targets = np.empty(0, dtype=np.intp)
        if score < inf and self.chain is not None:
            self.chain.start(order)
            start, parents = self.chain.edges()
            sources, targets = self.canon[parents], self.canon[np.repeat(np.arange(self.d), np.diff(start))]
        else:
            order = self.obey(np.arange(self.d))
        counts = self.shuffles, len(self.pairs), self.missed
        return ScreenedGraph(self.canon[order], sources, targets, score, *counts, end)


def eliminate_from_end(
    correlation: Floats, n: float, penalty: float, max_parents: int, *, threads: int, deadline: Deadline | None
) -> Integers:
    """An order of few edges, found from its end: take out the node with the fewest neighbours and join these.

    Neighbours are those of the moral graph, which a selection of each column among all others estimates. A node without
    children has its parents for neighbours, which are joined already.

    >>> chain = np.array([[1, 0.5, 0.25], [0.5, 1, 0.5], [0.25, 0.5, 1]])
    >>> eliminate_from_end(chain, 500, 8.0, 2, threads=1, deadline=None)
    array([2, 1, 0])
    """
    d = len(correlation)
    scale = np.where(np.diag(correlation) > 0, 1.0, 0.0)
    limits = max_parents, DETOURS, 1, min(_ROOM, d)
    found, chosen = screen_candidates(correlation, scale, n, penalty, *limits, threads=threads, deadline=deadline)
    nodes, places = np.nonzero(np.arange(found.shape[1]) < chosen[:, None])
    return _eliminate(d, nodes, found[nodes, places])


def _eliminate(d: int, nodes: Integers, others: Integers | Order) -> Integers:
    """The order from its end, for a graph given by its pairs. Joining crowds would cost more than it tells."""
    around: list[set[int]] = [set() for _ in range(d)]
    for node, other in zip(nodes.tolist(), others.tolist()):
        around[node].add(other)
        around[other].add(node)
    heap = [(len(near), node) for node, near in enumerate(around)]
    heapify(heap)
    taken: list[int] = []
    while heap:
        count, node = heappop(heap)
        if count != len(around[node]) or node in around[node]:
            continue
        taken.append(node)
        near, around[node] = around[node], {node}  # marks it as taken
        for other in near:
            around[other].discard(node)
            if count <= _CROWD:
                around[other] |= near
                around[other].discard(other)
            heappush(heap, (len(around[other]), other))
    return np.array(taken[::-1])


def _draw_order(edges: tuple[Integers | Order, Integers | Order], rank: Integers) -> Integers:
    """The nodes with sources before targets; of those that could come next, the one of the lowest rank."""
    sources, targets = edges
    by_source = np.argsort(sources, kind="stable")
    first = np.searchsorted(sources[by_source], np.arange(len(rank) + 1)).tolist()
    children, keys = targets[by_source].tolist(), rank.tolist()
    waiting = np.bincount(targets, minlength=len(rank)).tolist()
    ready = [(keys[node], node) for node, count in enumerate(waiting) if not count]
    heapify(ready)
    order = []
    while ready:
        node = heappop(ready)[1]
        order.append(node)
        for child in children[first[node] : first[node + 1]]:
            waiting[child] -= 1
            if not waiting[child]:
                heappush(ready, (keys[child], child))
    return np.array(order, dtype=np.intp)


def _canonical_order(S: Floats, scale: Floats, names: Sequence[str]) -> Integers:
    """As `canonical_order`, from covariances and in bands of rows: no matrix of their size is made."""
    d = len(names)
    total, shape = np.empty(d), np.empty(d)
    for first in range(0, d, step := max(1, (1 << 20) // d)):
        rows = slice(first, first + step)
        squares = (S[rows] * scale[rows, None] * scale) ** 2
        total[rows], shape[rows] = squares.sum(axis=1), (squares**2).sum(axis=1)
    keys = np.arange(d), np.argsort(np.argsort(np.array(names, dtype=object))), np.round(shape, 9), np.round(total, 9)
    return np.lexsort(keys)

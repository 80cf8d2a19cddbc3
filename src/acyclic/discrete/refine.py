"""Learning again near an answer, under other knowledge: what the report does inside of its page, and the same here.

Up to 20 columns of lines and normal noise the answer is the best graph there is, as that of `search_graph`. Else one
chain goes downhill from the order of the answer, and on by kicks for a budget that is counted in work. All that it
depends on is in `Nearby`, in `NearbyBlocks` where there are curves or noise of any shape, or in `NearbyCounts` where
categories are counted: the page holds its fields, runs the same kernels with them, and comes to the same graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acyclic._native import BlockChain, CountChain, ExactTables, Flag, OrderChain, run_watched
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.deadline import Deadline
from acyclic.discrete.categorical import measure_strengths
from acyclic.discrete.exact import LARGEST_EXACT, estimate_rounding, read_parents
from acyclic.discrete.fitted import Fitted, in_own_order
from acyclic.discrete.order import as_bytes, extend_order
from acyclic.discrete.search import canonical_order
from acyclic.discrete.selection import DETOURS, ParentCriterion, checked_order, noise_shares
from acyclic.graphs.equivalence import apply_meek_rules, find_cpdag
from acyclic.scores.blocks import BlockScore
from acyclic.scores.counts import CountScore
from acyclic.scores.local import TOLERANCE, Noise, PenaltyRule
from acyclic.scores.regression import least_squares
from acyclic.types import Bools, Floats, Integers

__all__ = ["Nearby", "NearbyBlocks", "NearbyCounts", "Problem", "Refined"]

# What a kick is and what is accepted after it, as in the search.
_INSERTIONS, _TEMPERATURE, _PATIENCE = 3, 5.0, 1000
# Units of work, of about a nanosecond, for kicks at 50 columns; a page takes about twice as long for one.
_WORK = 4e7
# The descent ends by itself; this only keeps a page from running for minutes.
_MOST_DESCENT = 1e10
_MOST_BRANCHES = 4e6
_EDGE_TOLERANCE = 1e-6

_Bytes = NDArray[np.uint8] | None


@dataclass(frozen=True, eq=False)
class Refined:
    """What was learned again.

    Attributes
    ----------
    adjacency : ndarray of bool, shape (d, d)
    weights : ndarray of shape (d, d)
        Least squares on the parents; of a curve the average slope, of categories what `CountScore.strength` says.
    score : float
        The criterion; differences of it tell what a statement costs.
    """

    adjacency: Bools
    weights: Floats
    score: float


@dataclass(frozen=True, eq=False)
class Nearby:
    """The problem of a table and an answer to it, without knowledge; columns are in a canonical order inside.

    Attributes
    ----------
    moments : Moments
    canon : ndarray of int, shape (d,)
        The columns in their canonical order, which the arrays below are in.
    correlation : ndarray of shape (d, d)
    unit : ndarray of shape (d,) or None
        Shares of a common noise variance; None where noise variances are unequal.
    start : ndarray of int, shape (d,)
        The order of the answer.
    n, price : float
        Rows, and the price of a parent.
    most_parents : int
        Beyond the required.

    Examples
    --------
    >>> moments = Moments(500, [0, 0, 0], [[1, 0, 1], [0, 1, 1], [1, 1, 3]])
    >>> near = Nearby.of(moments, [0, 1, 2])
    >>> near.learn().adjacency.astype(int).tolist()
    [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    """

    moments: Moments
    canon: Integers
    correlation: Floats
    unit: Floats | None
    start: Integers
    n: float
    price: float
    most_parents: int

    @classmethod
    def of(
        cls, moments: Moments, order: ArrayLike, penalty: PenaltyRule = "ebic", *, noise: Noise = "unequal"
    ) -> Nearby:
        """The problem of some moments, and of the order of an answer to it, from which σ² is estimated too.

        Parameters
        ----------
        moments : Moments
        order : array_like of int, shape (d,)
        penalty, noise
            As in `select_parents`.
        """
        criterion = ParentCriterion.of(moments, penalty, None, None)
        nodes = checked_order(order, moments.names)
        unit = noise_shares(noise, criterion, nodes)
        canon = canonical_order(criterion.correlation, moments.names)
        return cls(
            moments,
            canon,
            np.ascontiguousarray(criterion.correlation[np.ix_(canon, canon)]),
            None if unit is None else np.ascontiguousarray(unit[canon]),
            np.argsort(canon)[nodes],
            criterion.n,
            criterion.penalty,
            (int(criterion.n) - 1) // 2,
        )

    @property
    def settings(self) -> Mapping[str, float]:
        """What the search is held to, by the names that the page knows."""
        return _settings(len(self.canon), exact=len(self.canon) <= LARGEST_EXACT)

    def learn(self, mask: Mask | None = None, *, deadline: Deadline | None = None) -> Refined:
        """Learn again under a mask.

        Parameters
        ----------
        mask : Mask, optional
        deadline : Deadline, optional
            Raises Stopped when it passes.
        """
        mask = Mask.unrestricted(len(self.canon), self.moments.names) if mask is None else mask
        own = mask.permuted(self.canon)
        found, score = self._prove(own, deadline) if self.settings["exact"] else self._descend(own, deadline)
        back = np.argsort(self.canon)
        adjacency = found[np.ix_(back, back)]
        return Refined(adjacency, least_squares(self.moments.covariance, adjacency, mask), score)

    def _prove(self, mask: Mask, deadline: Deadline | None) -> tuple[Bools, float]:
        moments = Moments(self.n, np.zeros(len(self.canon)), self.correlation, mask.names)
        criterion = ParentCriterion.of(moments, self.price, mask, None)
        rules = criterion.rules(np.arange(len(self.canon)))
        given = self.correlation, self.n, self.price, self.unit, *rules, criterion.max_parents
        tables = ExactTables(*given, deadline=deadline)
        first = read_parents(tables.best_parents(TOLERANCE))
        return read_parents(tables.best_parents(estimate_rounding(criterion, self.unit, first))), tables.score

    def _descend(self, mask: Mask, deadline: Deadline | None) -> tuple[Bools, float]:
        rules = _rules(mask, self.n, self.most_parents)
        with OrderChain(self.correlation, self.n, self.price, self.unit, *rules, 0) as chain:
            score = _search_near(chain, self.start, mask, self.settings, deadline)
            adjacency = chain.parents()
        return adjacency if self.unit is not None else choose_member(adjacency, mask, self.start), score


@dataclass(frozen=True, eq=False)
class NearbyBlocks:
    """The same problem where parents enter as curves, or the noise has any shape.

    Attributes
    ----------
    rows : ndarray of shape (m, d)
        Those that the features are of, the columns in their own order.
    names : tuple of str
    canon : ndarray of int, shape (d,)
        The columns in their canonical order, which the score and the start are in.
    score : BlockScore
        Of numbers only.
    start : ndarray of int, shape (d,)
        The order of the answer.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> rows = np.column_stack([x, x**2 + rng.normal(size=500)])
    >>> near = NearbyBlocks(rows, ("x", "y"), np.arange(2), BlockScore.of(rows), np.array([1, 0]))
    >>> near.learn().adjacency.astype(int).tolist()
    [[0, 1], [0, 0]]
    """

    rows: Floats
    names: tuple[str, ...]
    canon: Integers
    score: BlockScore
    start: Integers

    @property
    def most_parents(self) -> int:
        """Beyond the required: as many as rows can tell apart."""
        return (int(self.score.features.n) - 1) // 2

    @property
    def settings(self) -> Mapping[str, float]:
        """What the search is held to, by the names that the page knows."""
        return _settings(len(self.canon), exact=False)

    def learn(self, mask: Mask | None = None, *, deadline: Deadline | None = None) -> Refined:
        """Learn again under a mask; see `Nearby.learn`."""
        d = len(self.canon)
        own = (Mask.unrestricted(d, self.names) if mask is None else mask).permuted(self.canon)
        rules = _rules(own, self.score.features.n, self.most_parents)
        with BlockChain(self.score.criterion, *rules, 0) as chain:
            score = _search_near(chain, self.start, own, self.settings, deadline)
            chosen = [chain.family(j)[:2] for j in range(d)]
        families = [self.score.fit(j, parents.tolist(), levels.tolist()) for j, (parents, levels) in enumerate(chosen)]
        features, renamed = in_own_order(self.score.features, families, self.canon, np.argsort(self.canon))
        fitted = Fitted(features, renamed, (None,) * d)
        return Refined(fitted.adjacency, fitted.slopes(self.rows), score)


@dataclass(frozen=True, eq=False)
class NearbyCounts:
    """The same problem where all columns are categories.

    Attributes
    ----------
    names : tuple of str
    canon : ndarray of int, shape (d,)
        The columns in their canonical order, which the score and the start are in.
    score : CountScore
    start : ndarray of int, shape (d,)
        The order of the answer.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.integers(2, size=(2, 500))
    >>> score = CountScore.of(np.column_stack([x, np.where(rng.random(500) < 0.9, x | y, 1 - (x | y)), y]))
    >>> NearbyCounts(("x", "either", "y"), np.arange(3), score, np.arange(3)).learn().adjacency.astype(int).tolist()
    [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    """

    names: tuple[str, ...]
    canon: Integers
    score: CountScore
    start: Integers

    @property
    def most_parents(self) -> int:
        """Beyond the required: their levels have their price."""
        return len(self.canon)

    @property
    def settings(self) -> Mapping[str, float]:
        """What the search is held to, by the names that the page knows."""
        return _settings(len(self.canon), exact=False)

    def learn(self, mask: Mask | None = None, *, deadline: Deadline | None = None) -> Refined:
        """Learn again under a mask; see `Nearby.learn`."""
        d, back = len(self.canon), np.argsort(self.canon)
        own = (Mask.unrestricted(d, self.names) if mask is None else mask).permuted(self.canon)
        with CountChain(self.score.criterion, *_rules(own, self.score.n, self.most_parents), 0) as chain:
            score = _search_near(chain, self.start, own, self.settings, deadline)
            found = choose_member(chain.parents(), own, self.start)
        weights = measure_strengths(self.score, found)
        return Refined(found[np.ix_(back, back)], weights[np.ix_(back, back)], score)


Problem: TypeAlias = Nearby | NearbyBlocks | NearbyCounts


def _settings(d: int, *, exact: bool) -> Mapping[str, float]:
    return {
        "exact": int(exact),
        "detours": DETOURS,
        "insertions": _INSERTIONS,
        "temperature": _TEMPERATURE * min(1.0, 50 / d),
        "patience": _PATIENCE,
        "descent": _MOST_DESCENT,
        "work": int(_WORK * max(1.0, d / 50) ** 1.25),
        "tolerance": TOLERANCE if exact else _EDGE_TOLERANCE,
        "branches": _MOST_BRANCHES,
    }


def _rules(mask: Mask, n: float, most_parents: int) -> tuple[_Bytes, _Bytes, _Bytes, int, int, int]:
    """Allowed, required and preceding columns of a chain, the most parents, detours and branches."""
    free, before = mask.is_free, mask.precedence
    allowed, required = (None if free else as_bytes(rule.T) for rule in (mask.allowed, mask.required))
    needed = 0 if free else int(mask.required.sum(axis=0).max())
    most = min(len(mask.names), int(n) - 2, most_parents + needed)
    return allowed, required, None if before is None else as_bytes(before), most, DETOURS, int(_MOST_BRANCHES)


def _search_near(
    chain: OrderChain, start: Integers, mask: Mask, limits: Mapping[str, float], deadline: Deadline | None
) -> float:
    """Descend from an order and kick; the chain is in the best order then, whose score is returned."""
    order = extend_order(np.argsort(start), mask.precedence).astype(np.int32)

    def search(flag: Flag) -> None:
        chain.start(order, flag)
        chain.descend(int(limits["descent"]), limits["tolerance"], flag)
        kick = int(limits["insertions"]), limits["temperature"], int(limits["patience"])
        chain.kick(*kick, int(limits["work"]), limits["tolerance"], flag)

    run_watched(search, deadline)
    score, found = chain.best()
    chain.start(found)
    return score


def choose_member(adjacency: Bools, mask: Mask, order: Integers) -> Bools:
    """The member of a class, of those that obey a mask, in which open edges lead along an order as far as they can.

    Which member a search ends in is a matter of rounding. Edges are directed one after the other, by their ends in the
    order, each with what follows from it by Meek's rules.
    """
    graph, rank = find_cpdag(adjacency), np.argsort(order)
    known = graph.undirected & (mask.required | (mask.allowed & ~mask.allowed.T))
    directed, undirected = graph.directed | known, graph.undirected & ~known & ~known.T
    while True:
        directed, undirected = apply_meek_rules(directed, undirected)
        i, j = np.nonzero(undirected & (rank[:, None] < rank[None, :]))
        if not len(i):
            return directed
        first = np.lexsort((rank[j], rank[i]))[0]
        directed, undirected = directed.copy(), undirected.copy()
        directed[i[first], j[first]] = True
        undirected[i[first], j[first]] = undirected[j[first], i[first]] = False

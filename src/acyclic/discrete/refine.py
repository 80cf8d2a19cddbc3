"""Learning again near an answer, under other knowledge: what the report does inside of its page, and the same here.

Up to 20 columns the answer is the best graph there is, as that of `search_graph`. Beyond, one chain goes downhill from
the order of the answer, and on by kicks for a budget that is counted in work. All that it depends on is in `Nearby`:
the page holds its fields, runs the same kernels with them, and comes to the same graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from acyclic._native import ExactTables, Flag, OrderChain, run_watched
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.deadline import Deadline
from acyclic.discrete.exact import LARGEST_EXACT, estimate_rounding, read_parents
from acyclic.discrete.order import as_bytes, extend_order
from acyclic.discrete.search import canonical_order
from acyclic.discrete.selection import DETOURS, ParentCriterion, checked_order, noise_shares
from acyclic.graphs.equivalence import apply_meek_rules, find_cpdag
from acyclic.scores.local import TOLERANCE, Noise, PenaltyRule
from acyclic.scores.regression import least_squares
from acyclic.types import Bools, Floats, Integers

__all__ = ["Nearby", "Refined"]

# What a kick is and what is accepted after it, as in the search.
_INSERTIONS, _TEMPERATURE, _PATIENCE = 3, 5.0, 1000
# Units of work, of about a nanosecond, for kicks at 50 columns; a page takes about twice as long for one.
_WORK = 4e7
# The descent ends by itself; this only keeps a page from running for minutes.
_MOST_DESCENT = 1e10
_MOST_BRANCHES = 4e6
_EDGE_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Refined:
    """What was learned again.

    Attributes
    ----------
    adjacency : ndarray of bool, shape (d, d)
    weights : ndarray of shape (d, d)
        Least squares on the parents.
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
    >>> near.learn(moments).adjacency.astype(int).tolist()
    [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    """

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
        d = len(self.canon)
        return {
            "exact": int(d <= LARGEST_EXACT),
            "detours": DETOURS,
            "insertions": _INSERTIONS,
            "temperature": _TEMPERATURE * min(1.0, 50 / d),
            "patience": _PATIENCE,
            "descent": _MOST_DESCENT,
            "work": int(_WORK * max(1.0, d / 50) ** 1.25),
            "tolerance": TOLERANCE if d <= LARGEST_EXACT else _EDGE_TOLERANCE,
            "branches": _MOST_BRANCHES,
        }

    def learn(self, moments: Moments, mask: Mask | None = None, *, deadline: Deadline | None = None) -> Refined:
        """Learn again under a mask.

        Parameters
        ----------
        moments : Moments
            Those that the problem was made of, for the weights.
        mask : Mask, optional
        deadline : Deadline, optional
            Raises Stopped when it passes.
        """
        mask = Mask.unrestricted(len(moments.names), moments.names) if mask is None else mask
        own = mask.permuted(self.canon)
        found, score = self._prove(own, deadline) if self.settings["exact"] else self._descend(own, deadline)
        back = np.argsort(self.canon)
        adjacency = found[np.ix_(back, back)]
        return Refined(adjacency, least_squares(moments.covariance, adjacency, mask), score)

    def _prove(self, mask: Mask, deadline: Deadline | None) -> tuple[Bools, float]:
        moments = Moments(self.n, np.zeros(len(self.canon)), self.correlation, mask.names)
        criterion = ParentCriterion.of(moments, self.price, mask, None)
        rules = criterion.rules(np.arange(len(self.canon)))
        given = self.correlation, self.n, self.price, self.unit, *rules, criterion.max_parents
        tables = ExactTables(*given, deadline=deadline)
        first = read_parents(tables.best_parents(TOLERANCE))
        return read_parents(tables.best_parents(estimate_rounding(criterion, self.unit, first))), tables.score

    def _descend(self, mask: Mask, deadline: Deadline | None) -> tuple[Bools, float]:
        free, before, limits = mask.is_free, mask.precedence, self.settings
        allowed, required = (None if free else as_bytes(rule.T) for rule in (mask.allowed, mask.required))
        needed = 0 if free else int(mask.required.sum(axis=0).max())
        most = min(len(self.canon), int(self.n) - 2, self.most_parents + needed)
        precede = None if before is None else as_bytes(before)
        given = self.correlation, self.n, self.price, self.unit, allowed, required, precede, most, DETOURS
        start = extend_order(np.argsort(self.start), before).astype(np.int32)
        with OrderChain(*given, int(limits["branches"]), 0) as chain:

            def search(flag: Flag) -> None:
                chain.start(start, flag)
                chain.descend(int(limits["descent"]), limits["tolerance"], flag)
                kick = int(limits["insertions"]), limits["temperature"], int(limits["patience"])
                chain.kick(*kick, int(limits["work"]), limits["tolerance"], flag)

            run_watched(search, deadline)
            score, order = chain.best()
            chain.start(order)
            adjacency = chain.parents()
        return adjacency if self.unit is not None else choose_member(adjacency, mask, self.start), score


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

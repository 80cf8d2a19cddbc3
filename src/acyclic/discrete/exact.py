"""The best graph of few columns, proved best, and how much worse it is with each edge turned or left out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf, log, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acyclic._native import EXACT_NODES, Around, ExactTables, ScoredTables
from acyclic.data.dependence import EXPLAINED
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.deadline import Deadline
from acyclic.discrete.order import equal_variance_order
from acyclic.discrete.rivals import Alternative, Rivals
from acyclic.discrete.selection import ParentCriterion, checked_order, noise_shares
from acyclic.discrete.survey import MOST_ALTERNATIVES
from acyclic.errors import InputError
from acyclic.graphs.cycles import sort_topologically
from acyclic.graphs.equivalence import find_cpdag
from acyclic.scores.local import TOLERANCE, Noise, PenaltyRule
from acyclic.scores.regression import least_squares
from acyclic.scores.residuals import residual_variances
from acyclic.types import Bools, Floats, Integers

__all__ = ["LARGEST_EXACT", "BestGraph", "exact_memory", "find_best_graph", "prove_by_scores"]

LARGEST_EXACT = 20
"""Up to so many columns the best graph with all margins takes a second and 120 MB; each column more doubles both."""

_MOST_ALTERNATIVES = 100


@dataclass(frozen=True, eq=False)
class BestGraph:
    """What `find_best_graph` found.

    Attributes
    ----------
    order : ndarray of int, shape (d,)
    adjacency : ndarray of bool, shape (d, d)
    weights : ndarray of shape (d, d)
        Least squares on the parents.
    score : float
        The lowest there is. If noise variances are unequal it is `gaussian_bic` of the graph, except that a column
        which its parents determine counts as explained to 1e-12 here and to 1e-10 there.
    rounding : float
        Scores that are closer were not told apart: 2e-7, or more where columns are nearly functions of others, since
        the logarithm of a small share has few digits.
    penalty : float
        The cost of a parent that was used.
    with_edge : ndarray of shape (d, d)
        At (i, j) how much higher the lowest score of all graphs with i → j is: 0 for the edges of this one, inf where
        no graph may have it. NaN on the diagonal, and everywhere if no margins were asked for.
    without_edge : ndarray of shape (d, d)
        The same for graphs with no edge between i and j; symmetric, NaN on the diagonal.
    second : float
        How much higher the lowest score of all graphs of other classes is; NaN without margins. With equal noise
        variances, where directions count, a class is one graph.
    alternatives : tuple of Alternative
        Graphs of other classes within the limit, best first, one of each class, at most 100. Each is the best of all
        that differ from this one in a certain place; a class that differs in several need not be among them.
    """

    order: Integers
    adjacency: Bools
    weights: Floats
    score: float
    rounding: float
    penalty: float
    with_edge: Floats
    without_edge: Floats
    second: float
    alternatives: tuple[Alternative, ...]

    @property
    def turned(self) -> Floats:
        """How much higher the lowest score of all graphs with an edge turned is, (d, d); NaN where there is none."""
        return np.where(self.adjacency, self.with_edge.T, nan)

    @property
    def left_out(self) -> Floats:
        """How much higher the lowest score of all graphs without an edge is, (d, d); NaN where there is none."""
        return np.where(self.adjacency, self.without_edge, nan)


def exact_memory(d: int, *, threads: int = 1, margins: bool = True) -> int:
    """Bytes that `find_best_graph` takes for d columns.

    >>> exact_memory(20) // 10**6
    109
    """
    sets = 1 << (d - 1)
    return 8 * sets * (d + 2 + (2 + 2 * min(threads, d) if margins else 0))


def find_best_graph(
    moments: Moments,
    penalty: PenaltyRule = "ebic",
    *,
    noise: Noise = "unequal",
    mask: Mask | None = None,
    max_parents: int | None = None,
    order: ArrayLike | None = None,
    present: Iterable[tuple[int, int]] = (),
    absent: Iterable[tuple[int, int]] = (),
    margins: bool = True,
    within: float | None = None,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> BestGraph:
    """Find the graph with the lowest Gaussian BIC of all, by dynamic programming over sets of columns.

    All sets of parents of all columns are scored, and all orders are compared (Silander & Myllymäki 2006), in time and
    memory of d·2ᵈ; what is returned is no local optimum. The criterion is that of `select_parents` and `search_orders`.
    Columns that a set of others determines up to rounding are no parents beside these.

    Of scores that differ by rounding only, as those of equivalent graphs do, the positions of the columns decide. Put
    the columns in an order of their own first if the answer must not depend on the one in which they came.

    Parameters
    ----------
    moments : Moments
        Of at most 24 columns; see `exact_memory` and `LARGEST_EXACT`.
    penalty, noise, mask, max_parents
        As in `select_parents`.
    order : array_like of int, shape (d,), optional
        With equal noise variances, σ² is estimated from it; that of `equal_variance_order` if left out.
    present, absent : iterable of pairs of int
        Edges (source, target) that the graph has to have, and pairs of columns between which it must have none, beyond
        what the mask says: for the best graph with an edge turned, or left out.
    margins : bool
        Whether to find the best graphs with and without each edge too; without takes half of the time.
    within : float, optional
        How much higher the score of alternatives may be; log n if left out.
    threads : int, optional
        All processors if left out. The result does not depend on it.
    deadline : Deadline, optional
        Raises Stopped when it passes: there is no best graph so far.

    Examples
    --------
    >>> moments = Moments(500, [0, 0, 0], [[1, 0, 1], [0, 1, 1], [1, 1, 3]])
    >>> found = find_best_graph(moments)
    >>> found.adjacency.astype(int).tolist()
    [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    >>> found.turned.round(1).tolist()
    [[nan, nan, 8.4], [nan, nan, 8.4], [nan, nan, nan]]
    >>> round(find_best_graph(moments, present=[(2, 0)]).score - found.score, 1)
    8.4
    """
    criterion = ParentCriterion.of(moments, penalty, mask, max_parents)
    workers = _check_size(len(moments.names), threads)
    start = None
    if noise != "unequal":
        start = equal_variance_order(moments, mask) if order is None else checked_order(order, moments.names)
    unit = noise_shares(noise, criterion, np.arange(0) if start is None else start, workers, deadline)
    tables = ExactTables(
        np.ascontiguousarray(criterion.correlation),
        criterion.n,
        criterion.penalty,
        unit,
        *_rules(criterion, list(present), list(absent)),
        criterion.max_parents,
        threads=workers,
        deadline=deadline,
    )
    if tables.score == inf:
        raise InputError("no graph has all edges of 'present' and none of 'absent'; ask for fewer at once")
    rounding = estimate_rounding(criterion, unit, read_parents(tables.best_parents(TOLERANCE)))
    parents = tables.best_parents(rounding)
    adjacency = read_parents(parents)
    limit = tables.score + (log(criterion.n) if within is None else within)
    around = tables.look_around(parents, limit, rounding, deadline=deadline) if margins else None
    before = criterion.mask.precedence
    return BestGraph(
        sort_topologically(adjacency if before is None else adjacency | before),
        adjacency,
        least_squares(moments.covariance, adjacency, criterion.mask, deadline=deadline),
        tables.score,
        rounding,
        criterion.penalty,
        *_compare(adjacency, tables.score, around, limit, one_graph=unit is not None),
    )


def prove_by_scores(
    scores: Floats,
    n: float,
    before: Bools | None,
    *,
    by_class: bool,
    threads: int = 1,
    deadline: Deadline | None = None,
) -> tuple[Integers, Bools, float, Rivals]:
    """Order, graph, score and rivals of the best graph there is, for scores of all sets of parents.

    Parameters
    ----------
    scores : ndarray of shape (d, 2^(d - 1))
        As `ScoredTables` takes them.
    n : float
        Rows: alternatives are within log n.
    before : ndarray of bool, shape (d, d), optional
        Which columns have to come before which.
    by_class : bool
        Whether equivalent graphs have the same score.

    Examples
    --------
    >>> order, adjacency, score, rivals = prove_by_scores(np.array([[0.0, -2.0], [0.0, -3.0]]), 9, None, by_class=False)
    >>> adjacency.astype(int).tolist(), score, rivals.turned[0, 1]
    ([[0, 1], [0, 0]], -3.0, np.float64(1.0))
    """
    tables = ScoredTables(scores, threads=threads, deadline=deadline)
    size = np.abs(scores, where=np.isfinite(scores), out=np.zeros_like(scores)).max()
    rounding = TOLERANCE + 64 * len(scores) * float(np.finfo(np.float64).eps * size)
    parents = tables.best_parents(rounding)
    adjacency = read_parents(parents)
    limit = tables.score + log(n)
    around = tables.look_around(parents, limit, rounding, deadline=deadline)
    with_edge, without, second, others = _compare(adjacency, tables.score, around, limit, one_graph=not by_class)
    turned, left_out = (
        np.where(adjacency, np.where(margins <= rounding, 0.0, margins), nan) for margins in (with_edge.T, without)
    )
    rivals = Rivals(True, 0, 0, second, turned, left_out, others[:MOST_ALTERNATIVES])
    order = sort_topologically(adjacency if before is None else adjacency | before)
    return order, adjacency, tables.score, rivals


def _check_size(d: int, threads: int | None) -> int:
    """The number of threads, or why there is no exact search."""
    if d > EXACT_NODES:
        raise InputError(f"there are {d} columns; the exact search takes up to {EXACT_NODES}, search_orders more")
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads!r}; give a number >= 1, or None for all processors")
    return threads or os.cpu_count() or 1


def _rules(
    criterion: ParentCriterion, present: list[tuple[int, int]], absent: list[tuple[int, int]]
) -> tuple[NDArray[np.uint8] | None, NDArray[np.uint8] | None]:
    """Allowed and required parents, row = target, with what was asked for on top of the mask."""
    d = len(criterion.correlation)
    for pair in (*present, *absent):
        if not all(0 <= node < d for node in pair) or pair[0] == pair[1]:
            raise InputError(f"the edge {pair!r} is none; give two different positions of columns, 0 to {d - 1}")
    allowed, required = criterion.rules(np.arange(d))
    if not present and not absent:
        return allowed, required
    allowed = np.ones((d, d), dtype=np.uint8) if allowed is None else allowed.copy()
    required = np.zeros((d, d), dtype=np.uint8) if required is None else required.copy()
    refused = [(i, j) for i, j in present if not allowed[j, i]] + [
        (i, j) for i, j in absent if required[[j, i], [i, j]].any()
    ]
    if refused:
        raise InputError(f"the mask is against {refused[0]!r} in 'present' or 'absent'; ask for what it allows")
    for i, j in present:
        required[j, i] = 1
    for i, j in absent:
        allowed[j, i] = allowed[i, j] = 0
    return allowed, required


def estimate_rounding(criterion: ParentCriterion, unit: Floats | None, adjacency: Bools) -> float:
    """How far two sums of scores of the same graph may be apart: correlations hold shares to some units of 2e-16."""
    R = criterion.correlation
    shares = residual_variances(R, least_squares(R, adjacency)) if unit is None else unit
    varying = np.maximum(shares, EXPLAINED)[criterion.deviation > 0]
    return TOLERANCE + 32 * float(np.finfo(np.float64).eps * criterion.n * (1 / varying).sum())


def read_parents(parents: NDArray[np.uint32]) -> Bools:
    """Bits of parents (d,) as a matrix, source first."""
    return (parents[None, :] >> np.arange(len(parents), dtype=np.uint32)[:, None] & 1).astype(bool)


def _compare(
    adjacency: Bools, score: float, around: Around | None, limit: float, *, one_graph: bool
) -> tuple[Floats, Floats, float, tuple[Alternative, ...]]:
    """Margins with and without each edge, that of other classes, and the alternatives."""
    if around is None:
        unknown = np.full(adjacency.shape, nan)
        return unknown, unknown.copy(), nan, ()
    apart = np.where(adjacency | adjacency.T, np.minimum(around.apart, around.apart.T), score)
    with_edge, without_edge = (np.maximum(scores - score, 0.0) for scores in (around.edge, apart))
    np.fill_diagonal(with_edge, nan)
    np.fill_diagonal(without_edge, nan)
    others = sorted(_other_classes(adjacency, around, one_graph=one_graph), key=lambda other: other[0])
    second = max(others[0][0] - score, 0.0) if others else inf
    near = (other for other in others if other[0] <= limit and other[0] < inf)
    return with_edge, without_edge, second, _distinct(near, score, one_graph=one_graph)


def _other_classes(adjacency: Bools, around: Around, *, one_graph: bool) -> Iterator[tuple[float, NDArray[np.uint32]]]:
    """Scores and parents of the best graphs with a certain change; any graph of another class has one of these.

    Its skeleton is another, or a compelled edge of this class is turned, or it has a collider u → j ← v that is none
    here while u and v are apart. And no graph with one of these changes is of this class.
    """
    d = len(adjacency)
    joined = adjacency | adjacency.T
    compelled = adjacency if one_graph else find_cpdag(adjacency).directed
    for i, j in np.argwhere(~np.eye(d, dtype=bool)).tolist():
        if not joined[i, j] or compelled[j, i]:
            yield float(around.edge[i, j]), around.edge_parents[i, j]
        if joined[i, j]:
            yield float(around.apart[i, j]), around.apart_parents[i, j]
    for i, k in np.argwhere(np.triu(~joined, 1)).tolist():
        for j in np.flatnonzero(joined[i] & joined[k] & ~(adjacency[i] & adjacency[k])).tolist():
            yield float(around.collider[i, k, j]), around.collider_parents[i, k, j]


def _distinct(
    others: Iterable[tuple[float, NDArray[np.uint32]]], score: float, *, one_graph: bool
) -> tuple[Alternative, ...]:
    seen, classes, found = set[bytes](), set[bytes](), list[Alternative]()
    for total, parents in others:
        if parents.tobytes() in seen or len(found) == _MOST_ALTERNATIVES:
            continue
        seen.add(parents.tobytes())
        adjacency = read_parents(parents)
        key = (adjacency if one_graph else find_cpdag(adjacency).arcs).tobytes()
        if key not in classes:
            classes.add(key)
            found.append(Alternative(adjacency, max(total - score, 0.0)))
    return tuple(found)

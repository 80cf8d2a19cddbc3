"""Orders of the nodes: by equal noise variances, polished, and searched under the Gaussian BIC."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan, nan
from time import monotonic
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike, NDArray

from acyclic._native import library, pointer
from acyclic.data.knowledge import Mask
from acyclic.data.moments import Moments
from acyclic.discrete.selection import (
    Noise,
    ParentCriterion,
    PenaltyRule,
    checked_order,
    fit_parents,
    noise_shares,
    optional_pointer,
)
from acyclic.errors import InputError
from acyclic.types import Bools, Floats, Integers

__all__ = ["OrderSearch", "bic_order_search", "equal_variance_order", "equal_variance_score", "polish"]

Status: TypeAlias = Literal["complete", "time limit", "interrupted"]

_PANEL = 64
_MOVERS_PER_CALL = 32
_BLOCK = 30
# One detour of forward selection finds nearly all that five find, in a third of the time.
_DETOURS = 1
_TOLERANCE = 1e-6
_MOST_BRANCHES = 30_000_000


def equal_variance_order(moments: Moments, mask: Mask | None = None) -> Integers:
    """Order the nodes by taking, again and again, the one with the smallest variance given those taken.

    With equal noise variances that is a causal order (Chen, Drton & Wang 2019). It is the Cholesky
    factorisation of the covariance with minimum-diagonal pivoting, O(d³) in blocks.

    With n rows, at most as many predecessors are conditioned on as leave a tenth of the n − 1 degrees of freedom:
    with more, residual variances are mostly chance. Nodes after that come by their variance given these.
    A node that is a linear function of those taken comes next and adds nothing to them.

    Parameters
    ----------
    moments : Moments
    mask : Mask, optional
        A node is taken only after all that must precede it.

    Returns
    -------
    ndarray of int, shape (d,)

    Examples
    --------
    >>> moments = Moments(1000, [0, 0, 0], [[6, 2, 5], [2, 1, 2], [5, 2, 5]])
    >>> equal_variance_order(moments).tolist()
    [1, 2, 0]
    """
    S, d = moments.covariance, len(moments.names)
    blockers = _Blockers(None if mask is None else mask.must_precede, d)
    residual, nodes, order = S.copy(), np.arange(d), list[int]()
    used = _predecessors_used(moments.n, d)
    while len(nodes):
        width = min(_PANEL, used - len(order))
        rounding = (d + 10) * np.finfo(np.float64).eps * np.diag(S)[nodes]
        taken, factor = _take(residual, nodes, width if width > 0 else len(nodes), width > 0, rounding, blockers)
        order += nodes[taken].tolist()
        rest = np.setdiff1d(np.arange(len(nodes)), taken)
        nodes, residual = nodes[rest], residual[np.ix_(rest, rest)]
        residual -= factor[rest] @ factor[rest].T
    return np.array(order, dtype=np.intp)


def equal_variance_score(moments: Moments, order: ArrayLike) -> float:
    """Σ_k n/(n − k) σ̂²(k-th node | those before it): the unbiased total noise variance of an order, k = 0, 1, ….

    The sum ends where `equal_variance_order` stops conditioning.
    """
    nodes = checked_order(order, moments.names, None)[: _predecessors_used(moments.n, len(moments.names)) + 1]
    L = _factor(moments.covariance[np.ix_(nodes, nodes)])
    return float(np.diag(L) ** 2 @ _inflation(moments.n, len(nodes)))


def polish(
    moments: Moments, order: ArrayLike, mask: Mask | None = None, *, reach: int = 64, max_sweeps: int = 100
) -> Integers:
    """Lower `equal_variance_score` by moving one node at a time to its best place, until no such move helps.

    Places before a node are all seen at the cost of reading its row of the Cholesky factor L; places after it, up
    to `reach`, by Givens rotations. An order of n ≤ d rows is polished up to where its score ends.

    Parameters
    ----------
    moments : Moments
    order : array_like of int, shape (d,)
        The nodes, causes first; left unchanged.
    mask : Mask, optional
        What must precede a node stays before it.
    reach : int
        How many places later a node is tried.
    max_sweeps : int
        The most passes over all nodes.

    Returns
    -------
    ndarray of int, shape (d,)
    """
    if reach < 0 or max_sweeps < 0:
        raise InputError(f"reach is {reach!r} and max_sweeps {max_sweeps!r}; give numbers >= 0")
    nodes = checked_order(order, moments.names, mask)
    head = nodes[: _predecessors_used(moments.n, len(nodes)) + 1]
    m, L = len(head), _factor(moments.covariance[np.ix_(head, head)])
    weight, places = _inflation(moments.n, m), np.arange(m, dtype=np.int32)
    before = None if mask is None else np.ascontiguousarray(mask.must_precede[np.ix_(head, head)]).view(np.uint8)
    sweeps: int = library().polish_order(
        ctypes.c_int(m),
        *(pointer(array) for array in (L, places, weight)),
        optional_pointer(before),
        *(ctypes.c_int(number) for number in (min(reach, m), max_sweeps)),
        ctypes.c_double(1e-10 * float(np.diag(L) ** 2 @ weight)),
    )
    if sweeps < 0:
        raise MemoryError(f"not enough memory to polish an order of {m} columns")
    return np.concatenate([head[places], nodes[m:]])


@dataclass(frozen=True, eq=False)
class OrderSearch:
    """What `bic_order_search` found.

    Attributes
    ----------
    order : ndarray of int, shape (d,)
    weights : ndarray of shape (d, d)
        Least squares on the parents that `select_parents` chooses in this order.
    score : float
        The criterion at its end; `gaussian_bic` of the graph if noise variances are unequal.
    penalty : float
        The cost of a parent that was used.
    starts : tuple of float
        The score that each start reached before any escape: given ones first, then the random ones.
        Forward selection makes one detour here and five at the end, which may lower the score further.
    sweeps, escapes : int
        Passes over all nodes, and blocks that were shuffled and repaired.
    status : {"complete", "time limit", "interrupted"}
        Anything but "complete" means that a better order may be one move away.
    """

    order: Integers
    weights: Floats
    score: float
    penalty: float
    starts: tuple[float, ...]
    sweeps: int
    escapes: int
    status: Status


def bic_order_search(
    moments: Moments,
    starts: Sequence[ArrayLike] = (),
    penalty: PenaltyRule = "ebic",
    *,
    random_starts: int = 2,
    noise: Noise = "unequal",
    mask: Mask | None = None,
    max_parents: int | None = None,
    patience: int | None = None,
    time_limit: float | None = None,
    random_state: int | SeedSequence | Generator = 0,
) -> OrderSearch:
    """Search for the order whose graph has the lowest Gaussian BIC; parents are chosen as in `select_parents`.

    From each start, one node after the other is put where the total is lowest, over all places at once, until no such
    move helps. The best order is then shuffled within a random block of 30 places and repaired by moves of the nodes in
    it; what is not worse is kept, until `patience` blocks in a row have brought nothing.

    Only the correlation matrix is seen: units cannot change the result if they did not choose the starts.

    Parameters
    ----------
    moments : Moments
    starts : sequence of array_like of int, shape (d,)
        Orders to start from; repaired where they are against the mask.
    penalty, noise, mask, max_parents
        As in `select_parents`. With equal noise variances, σ² is estimated from the first start.
    random_starts : int
        Starts drawn in addition; at least one start is needed.
    patience : int, optional
        max(50, d) if left out.
    time_limit : float, optional
        Seconds after which the best order so far is returned, as it is on Ctrl-C.
    random_state : int, SeedSequence or Generator

    Examples
    --------
    >>> moments = Moments(500, [0, 0, 0], [[1, 0, 1], [0, 1, 1], [1, 1, 3]])
    >>> (bic_order_search(moments).weights != 0).astype(int).tolist()
    [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    """
    if len(starts) + random_starts < 1 or random_starts < 0:
        raise InputError("no order to start from; give starts, or random_starts >= 1")
    criterion, d = ParentCriterion.of(moments, penalty, mask, max_parents), len(moments.names)
    rng = np.random.default_rng(random_state)
    before = None if mask is None else mask.must_precede
    ranks = [np.argsort(checked_order(start, moments.names, None)) for start in starts]
    ranks += [rng.permutation(d) for _ in range(random_starts)]
    orders = [_extension(rank, before) for rank in ranks]
    unit = noise_shares(noise, criterion, orders[0])
    with _Search(criterion, unit, before, time_limit) as search:
        reached, status = search.run(orders, max(50, d) if patience is None else patience, rng)
        order = search.best[1]
    weights, score = fit_parents(moments, criterion, order, unit)
    return OrderSearch(order, weights, score, criterion.penalty, reached, search.sweeps, search.escapes, status)


class _Search:
    """The kernel's trees, the best order so far, and the clock."""

    def __init__(self, criterion: ParentCriterion, unit: Floats | None, before: Bools | None, time_limit: float | None):
        self.nodes = np.arange(len(criterion.correlation), dtype=np.int32)
        self.before = before
        self.deadline = inf if time_limit is None else monotonic() + time_limit
        self.best = (inf, self.nodes.astype(np.intp))
        self.sweeps = self.escapes = 0
        rules = (
            *criterion.rules(self.nodes.astype(np.intp)),
            None if before is None else np.ascontiguousarray(before).view(np.uint8),
        )
        self.arrays = (np.ascontiguousarray(criterion.correlation), unit, *rules)
        self.handle = self._open(criterion)

    def _open(self, criterion: ParentCriterion) -> ctypes.c_void_p:
        correlation, *others = self.arrays
        create = library().order_search_open
        create.restype = ctypes.c_void_p
        handle = create(
            ctypes.c_int(len(self.nodes)),
            optional_pointer(correlation),
            *(ctypes.c_double(number) for number in (criterion.n, criterion.penalty)),
            *(optional_pointer(array) for array in others),
            *(ctypes.c_int(number) for number in (criterion.max_parents, _DETOURS)),
            ctypes.c_int64(_MOST_BRANCHES),
        )
        if not handle:
            raise MemoryError(f"not enough memory to search orders of {len(self.nodes)} columns")
        return ctypes.c_void_p(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        library().order_search_close(self.handle)

    def run(self, orders: list[Integers], patience: int, rng: Generator) -> tuple[tuple[float, ...], Status]:
        reached: list[float] = []
        try:
            for order in orders:
                trial = order.astype(np.int32)
                self.consider(trial)
                self.descend(trial, self.nodes)
                self.consider(trial)
                reached.append(self.score(trial))
            self.escape(patience, rng)
        except KeyboardInterrupt:
            return tuple(reached), "interrupted"
        return tuple(reached), "time limit" if self.expired() else "complete"

    def expired(self) -> bool:
        return monotonic() > self.deadline

    def score(self, order: NDArray[np.int32]) -> float:
        total = library().order_search_score
        total.restype = ctypes.c_double
        return self._checked(float(total(self.handle, pointer(order))))

    def consider(self, order: NDArray[np.int32]) -> bool:
        """Keep an order that is not worse than the best; whether it is better."""
        score, best = self.score(order), self.best[0]
        if score <= best + _TOLERANCE:
            self.best = (min(score, best), order.astype(np.intp))
        return score < best - _TOLERANCE

    def descend(self, order: NDArray[np.int32], movers: NDArray[np.int32]) -> None:
        """Move nodes of `order`, in place, until none of the movers has a better place."""
        moved = True
        while moved and not self.expired():
            self.sweeps += len(movers) == len(order)
            calls = (movers[first : first + _MOVERS_PER_CALL] for first in range(0, len(movers), _MOVERS_PER_CALL))
            moved = sum(self._sweep(order, part) for part in calls if not self.expired()) > 0

    def escape(self, patience: int, rng: Generator) -> None:
        """Shuffle a block of the best order and repair it, until that has failed `patience` times in a row."""
        d, failures = len(self.nodes), 0
        width = min(_BLOCK, d, max(6, d // 3))
        while failures < patience and not self.expired():
            order = self.best[1].astype(np.int32)
            first = int(rng.integers(d - width + 1))
            block = order[first : first + width]
            inside = None if self.before is None else self.before[np.ix_(block, block)]
            order[first : first + width] = block = block[_extension(rng.permutation(width), inside)]
            self.descend(order, block)
            self.escapes += 1
            failures += 1
            if self.consider(order):
                failures = 0
                self.descend(order, self.nodes)
                self.consider(order)
        # What was kept for being as good may have a better place for a node outside of its block.
        order = self.best[1].astype(np.int32)
        self.descend(order, self.nodes)
        self.consider(order)

    def _sweep(self, order: NDArray[np.int32], movers: NDArray[np.int32]) -> int:
        part = np.ascontiguousarray(movers)
        moves: int = library().order_search_sweep(
            self.handle,
            *(pointer(array) for array in (order, part)),
            ctypes.c_int(len(part)),
            ctypes.c_double(_TOLERANCE),
        )
        return int(self._checked(nan if moves < 0 else moves))

    def _checked(self, value: float) -> float:
        if isnan(value):
            raise MemoryError(f"not enough memory for the search trees of {len(self.nodes)} columns")
        return value


def _predecessors_used(n: float, d: int) -> int:
    return max(0, min(d - 1, int(0.9 * (n - 1))))


def _inflation(n: float, count: int) -> Floats:
    return np.asarray(n / (n - np.arange(count)))


def _factor(S: Floats) -> Floats:
    """Cholesky factor; of S with as much on its diagonal as makes it positive definite."""
    ridge, scale = 0.0, float(np.diag(S).mean()) or 1.0
    while True:
        try:
            return np.asarray(np.linalg.cholesky(S + ridge * np.eye(len(S)) if ridge else S))
        except np.linalg.LinAlgError:
            ridge = max(100 * ridge, 1e-12 * scale)


def _take(
    residual: Floats, nodes: Integers, width: int, condition: bool, rounding: Floats, blockers: _Blockers
) -> tuple[Integers, Floats]:
    """Take `width` nodes by smallest residual variance; their positions in `nodes` and columns of the factor."""
    left, taken = np.diag(residual).copy(), np.empty(width, dtype=np.intp)
    factor = np.zeros((len(nodes), width))
    free = np.ones(len(nodes), dtype=bool)
    for step in range(width):
        j = taken[step] = np.argmin(np.where(free & blockers.open(nodes), left, np.inf))
        free[j] = False
        blockers.take(nodes[j])
        if condition and left[j] > rounding[j]:
            column = residual[:, j] - factor[:, :step] @ factor[j, :step]
            factor[:, step] = column / np.sqrt(left[j])
            left -= factor[:, step] ** 2
    return taken, factor


class _Blockers:
    """How many nodes still have to come before each."""

    def __init__(self, before: Bools | None, d: int) -> None:
        self.before = before
        self.count = np.zeros(d, dtype=np.intp) if before is None else before.sum(axis=0)

    def open(self, nodes: Integers) -> Bools:
        return np.asarray(self.count[nodes] == 0)

    def take(self, node: int) -> None:
        if self.before is not None:
            self.count -= self.before[node]


def _extension(rank: Integers, before: Bools | None) -> Integers:
    """The order of the ranks, with nodes put off until all that must precede them has come."""
    if before is None:
        return np.argsort(rank)
    residual = np.diag(rank.astype(np.float64))
    nodes = np.arange(len(rank))
    return _take(residual, nodes, len(rank), False, residual[0], _Blockers(before, len(rank)))[0]

"""Orders of the nodes: by equal noise variances, polished, and searched under the Gaussian BIC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike, NDArray

from acyclic._native import OrderTrees, polish_order
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.ties import find_smallest
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.selection import (
    ParentCriterion,
    checked_order,
    fit_parents,
    noise_shares,
)
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact
from acyclic.scores.local import Noise, PenaltyRule
from acyclic.types import Bools, Floats, Integers

__all__ = ["FoundOrder", "equal_variance_order", "equal_variance_score", "polish", "search_orders"]

_PANEL = 64
_BLOCK = 30
# One detour of forward selection finds nearly all that five find, in a third of the time.
_DETOURS = 1
_TOLERANCE = 1e-6
_MOST_BRANCHES = 30_000_000


def equal_variance_order(moments: Moments, mask: Mask | None = None, *, deadline: Deadline | None = None) -> Integers:
    """Order the nodes by taking, again and again, the one with the smallest variance given those taken.

    With equal noise variances that is a causal order (Chen, Drton & Wang 2019). It is the Cholesky
    factorisation of the covariance with minimum-diagonal pivoting, O(d³) in blocks.

    With n rows, at most as many predecessors are conditioned on as leave a tenth of the n − 1 degrees of freedom:
    with more, residual variances are mostly chance. Nodes after that come by their variance given these.
    A node that is a linear function of those taken comes next and adds nothing to them. Of variances that differ by
    rounding alone, as those of standardised columns do, the first counts as the smallest.

    Parameters
    ----------
    moments : Moments
    mask : Mask, optional
        A node is taken only after all that must precede it.
    deadline : Deadline, optional
        Raises Stopped when it passes.

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
    blockers = _Blockers(None if mask is None else mask.precedence, d)
    residual, nodes, order = S.copy(), np.arange(d), list[int]()
    used = _predecessors_used(moments.n, d)
    while len(nodes):
        if deadline is not None:
            deadline.check()
        width = min(_PANEL, used - len(order))
        rounding = ((d + 10) * np.finfo(np.float64).eps + moments.rounding) * np.diag(S)[nodes]
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
    nodes = checked_order(order, moments.names)[: _predecessors_used(moments.n, len(moments.names)) + 1]
    L, unit = _factor(moments.covariance[np.ix_(nodes, nodes)])
    return unit * float(np.diag(L) ** 2 @ _inflation(moments.n, len(nodes)))


def polish(
    moments: Moments,
    order: ArrayLike,
    mask: Mask | None = None,
    *,
    reach: int = 64,
    max_sweeps: int = 100,
    deadline: Deadline | None = None,
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
    deadline : Deadline, optional
        Raises Stopped when it passes.

    Returns
    -------
    ndarray of int, shape (d,)
    """
    if reach < 0 or max_sweeps < 0:
        raise InputError(f"reach is {reach!r} and max_sweeps {max_sweeps!r}; give numbers >= 0")
    nodes = checked_order(order, moments.names, mask)
    head = nodes[: _predecessors_used(moments.n, len(nodes)) + 1]
    L, _ = _factor(moments.covariance[np.ix_(head, head)])
    weight, before = _inflation(moments.n, len(head)), None if mask is None else mask.precedence
    precede = None if before is None else _as_bytes(before[np.ix_(head, head)])
    tolerance = 1e-10 * float(np.diag(L) ** 2 @ weight)
    places = polish_order(L, weight, precede, reach, max_sweeps, tolerance, deadline=deadline)
    return np.concatenate([head[places], nodes[len(head) :]])


@dataclass(frozen=True, eq=False)
class FoundOrder:
    """What `search_orders` found.

    Attributes
    ----------
    order : ndarray of int, shape (d,)
    weights : ndarray of shape (d, d)
        Least squares on the parents that `select_parents` chooses in this order.
    score : float
        The criterion at its end. If noise variances are unequal it is `gaussian_bic` of the graph, except that a column
        which its parents determine counts as explained to 1e-12 here and to 1e-10 there.
    penalty : float
        The cost of a parent that was used.
    starts : tuple of float
        The score that each start reached before any escape: given ones first, then the random ones.
        Forward selection makes one detour here and five at the end, which may lower the score further.
    sweeps, escapes : int
        Passes over all nodes, and blocks that were shuffled and repaired.
    end : Fact[Ended]
        NO_BETTER_MOVE, TIME_LIMIT or INTERRUPTED; after the last two a better order may be one move away.
    """

    order: Integers
    weights: Floats
    score: float
    penalty: float
    starts: tuple[float, ...]
    sweeps: int
    escapes: int
    end: Fact[Ended]


def search_orders(
    moments: Moments,
    starts: Sequence[ArrayLike] = (),
    penalty: PenaltyRule = "ebic",
    *,
    random_starts: int = 2,
    noise: Noise = "unequal",
    mask: Mask | None = None,
    max_parents: int | None = None,
    patience: int | None = None,
    deadline: Deadline | None = None,
    tell: Callable[[float], None] | None = None,
    random_state: int | SeedSequence | Generator = 0,
) -> FoundOrder:
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
    deadline : Deadline, optional
        When it passes, the best order so far is returned, as it is on Ctrl-C; only its weights are still computed.
    tell : callable, optional
        Called with the best score so far after each pass over nodes; it may raise Stopped to end the search.
    random_state : int, SeedSequence or Generator

    Examples
    --------
    >>> moments = Moments(500, [0, 0, 0], [[1, 0, 1], [0, 1, 1], [1, 1, 3]])
    >>> (search_orders(moments).weights != 0).astype(int).tolist()
    [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    """
    if len(starts) + random_starts < 1 or random_starts < 0:
        raise InputError("no order to start from; give starts, or random_starts >= 1")
    criterion, d = ParentCriterion.of(moments, penalty, mask, max_parents), len(moments.names)
    rng = np.random.default_rng(random_state)
    before = criterion.mask.precedence
    ranks = [np.argsort(checked_order(start, moments.names)) for start in starts]
    ranks += [rng.permutation(d) for _ in range(random_starts)]
    orders = [_extension(rank, before) for rank in ranks]
    unit = noise_shares(noise, criterion, orders[0])
    search = _Search(criterion, unit, before, orders[0], deadline, tell)
    reached, end = search.run(orders, max(50, d) if patience is None else patience, rng)
    order = search.best[1]
    try:
        weights, score = fit_parents(moments, criterion, order, unit)
    except KeyboardInterrupt:  # the weights are all that is missing: a second Ctrl-C would lose the search
        end = Fact.of(Ended.INTERRUPTED)
        weights, score = fit_parents(moments, criterion, order, unit)
    return FoundOrder(order, weights, score, criterion.penalty, reached, search.sweeps, search.escapes, end)


class _Search:
    """The kernel's trees, the best order so far, and the clock."""

    def __init__(
        self,
        criterion: ParentCriterion,
        unit: Floats | None,
        before: Bools | None,
        first: Integers,
        deadline: Deadline | None,
        tell: Callable[[float], None] | None,
    ) -> None:
        self.tell = tell
        self.nodes = np.arange(len(criterion.correlation), dtype=np.int32)
        self.before, self.deadline = before, deadline
        self.best, self.trial = (inf, first), first.astype(np.int32)
        self.sweeps = self.escapes = 0
        self.trees = OrderTrees(
            np.ascontiguousarray(criterion.correlation),
            criterion.n,
            criterion.penalty,
            unit,
            *criterion.rules(self.nodes.astype(np.intp)),
            None if before is None else _as_bytes(before),
            criterion.max_parents,
            _DETOURS,
            _MOST_BRANCHES,
        )

    def run(self, orders: list[Integers], patience: int, rng: Generator) -> tuple[tuple[float, ...], Fact[Ended]]:
        """The scores that the starts reached, and how the search ended; ``best`` has what it found."""
        reached: list[float] = []
        with self.trees:
            try:
                for order in orders:
                    self.consider(order.astype(np.int32))
                    self.descend(self.nodes)
                    self.consider(self.trial)
                    reached.append(self.score(self.trial))
                self.escape(patience, rng)
                return tuple(reached), Fact.of(Ended.NO_BETTER_MOVE)
            except Stopped as stop:
                end = stop.end
            except KeyboardInterrupt:
                end = Fact.of(Ended.INTERRUPTED)
            self.deadline = None  # it has passed; what was moved so far is still weighed
            if not np.array_equal(self.trial, self.best[1]):
                self.consider(self.trial)
        return tuple(reached), end

    def score(self, order: NDArray[np.int32]) -> float:
        if self.deadline is not None:
            self.deadline.check()
        return self.trees.score(order, self.deadline)

    def consider(self, order: NDArray[np.int32]) -> bool:
        """Go on from an order, and keep it if it is not worse than the best; whether it is better."""
        self.trial = order
        score, best = self.score(order), self.best[0]
        if score <= best + _TOLERANCE:
            self.best = (min(score, best), order.astype(np.intp))
        return score < best - _TOLERANCE

    def descend(self, movers: NDArray[np.int32]) -> None:
        """Move nodes of the trial, in place, until none of the movers has a better place."""
        moved = True
        while moved:
            if self.deadline is not None:
                self.deadline.check()
            self.sweeps += len(movers) == len(self.trial)
            moved = self.trees.sweep(self.trial, np.ascontiguousarray(movers), _TOLERANCE, self.deadline) > 0
            if self.tell is not None:
                self.tell(self.best[0])

    def escape(self, patience: int, rng: Generator) -> None:
        """Shuffle a block of the best order and repair it, until that has failed `patience` times in a row."""
        d, failures = len(self.nodes), 0
        width = min(_BLOCK, d, max(6, d // 3))
        while failures < patience:
            order = self.best[1].astype(np.int32)
            first = int(rng.integers(d - width + 1))
            block = order[first : first + width]
            inside = None if self.before is None else self.before[np.ix_(block, block)]
            order[first : first + width] = block = block[_extension(rng.permutation(width), inside)]
            self.trial = order
            self.descend(block)
            self.escapes += 1
            failures += 1
            if self.consider(self.trial):
                failures = 0
                self.descend(self.nodes)
                self.consider(self.trial)
        # What was kept for being as good may have a better place for a node outside of its block.
        self.trial = self.best[1].astype(np.int32)
        self.descend(self.nodes)
        self.consider(self.trial)


def _as_bytes(flags: Bools) -> NDArray[np.uint8]:
    return np.ascontiguousarray(flags).view(np.uint8)


def _predecessors_used(n: float, d: int) -> int:
    return max(0, min(d - 1, int(0.9 * (n - 1))))


def _inflation(n: float, count: int) -> Floats:
    return np.asarray(n / (n - np.arange(count)))


def _factor(S: Floats) -> tuple[Floats, float]:
    """Cholesky factor of S / unit, with as much on the diagonal as makes it positive definite, and the unit.

    The unit is 1, or for small variances a power of 4: that changes no bit of the factor, but keeps its squares and the
    ridge away from underflow.
    """
    _, exponent = np.frexp(np.sqrt(np.diag(S).max()))
    unit = float(np.ldexp(1.0, 2 * min(int(exponent), 0)))
    S = S / unit
    scale, ridge = float(np.diag(S).mean()) or 1.0, 0.0
    # The last ridge is 1e12 times the mean variance: with that, any finite matrix of covariances is positive definite.
    for _ in range(14):
        try:
            return np.asarray(np.linalg.cholesky(S + ridge * np.eye(len(S)) if ridge else S)), unit
        except np.linalg.LinAlgError:
            ridge = max(100 * ridge, 1e-12 * scale)
    raise InputError("the covariance has no Cholesky factor; its entries have to be finite")


def _take(
    residual: Floats, nodes: Integers, width: int, condition: bool, rounding: Floats, blockers: _Blockers
) -> tuple[Integers, Floats]:
    """Take `width` nodes by smallest residual variance, and the first of those that `rounding` cannot tell apart.

    Returns their positions in `nodes` and columns of the factor.
    """
    left, taken = np.diag(residual).copy(), np.empty(width, dtype=np.intp)
    factor = np.zeros((len(nodes), width))
    free = np.ones(len(nodes), dtype=bool)
    for step in range(width):
        j = taken[step] = find_smallest(np.where(free & blockers.open(nodes), left, np.inf), rounding)
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
    return _take(residual, nodes, len(rank), False, np.zeros(len(rank)), _Blockers(before, len(rank)))[0]

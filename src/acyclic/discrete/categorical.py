"""The search for the best graph of a table of categories, under the score of counts.

The chains, crossings and looks around the answer are those of `acyclic.discrete.search`; only the score is another one.
Equivalent graphs have equal scores, so that margins and alternatives are those of classes here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, log
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike

from acyclic._native import CountChain, OrderChain, count_all_sets
from acyclic.data.kinds import Coding
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.deadline import Deadline
from acyclic.discrete.search import FoundGraph, ScoreSearch, check_effort
from acyclic.discrete.selection import ParentCriterion, checked_order
from acyclic.errors import InputError
from acyclic.scores.counts import CountScore
from acyclic.types import Bools, Floats, Integers

__all__ = ["Distributions", "search_counts"]

# A proof may take so many units of work, some nanoseconds each; of sets of parents that are worse than one of their
# subsets by so many times log n, whatever they explain, nothing is counted.
_MOST_WORK, _SLACK = 1e9, 10


def search_counts(
    score: CountScore,
    names: Sequence[str] | None = None,
    starts: Sequence[ArrayLike] = (),
    *,
    mask: Mask | None = None,
    max_parents: int | None = None,
    effort: float | None = None,
    threads: int | None = None,
    deadline: Deadline | None = None,
    tell: Callable[[float], None] | None = None,
    random_state: int | SeedSequence | Generator = 0,
) -> FoundGraph:
    """Search for the order whose graph has the lowest score of counts.

    The weights of the graph are `CountScore.strength` of its edges. Neither the order of the columns nor that of their
    levels changes the answer. Parameters but the first two are those of `search_orders`; max_parents has no limit if
    left out, since every further parent multiplies the price. Up to 20 columns the answer is proved best where all sets
    of parents that could be can be counted in a second or two, unless effort is 0.

    Parameters
    ----------
    score : CountScore
    names : sequence of str, optional
        Of the columns: they decide between columns that are alike otherwise.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.integers(2, size=(2, 500))
    >>> either = np.where(rng.random(500) < 0.9, x | y, 1 - (x | y))
    >>> found = search_counts(CountScore.of(np.column_stack([x, either, y])))
    >>> (found.weights != 0).astype(int).tolist()
    [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    """
    check_effort(effort)
    d = score.n_nodes
    mask = Mask.unrestricted(d, names) if mask is None else mask
    if len(mask.names) != d:
        raise InputError(f"the mask was compiled for {len(mask.names)} columns; the score has {d}")
    if max_parents is not None and max_parents < 0:
        raise InputError(f"max_parents is {max_parents!r}; give a number >= 0, or None")
    given = [checked_order(start, mask.names) for start in starts]
    required = int(mask.required.sum(axis=0).max())
    most = d if max_parents is None else min(d, max_parents + required)
    # Nothing reads these moments: the chains have a score of their own.
    blank = Moments(max(score.n, 2), np.zeros(d), np.eye(d), mask.names)
    criterion = ParentCriterion(blank, score.n, score.unit + score.extra, np.ones(d), mask, most)
    canon = order_canonically(score, mask.names)
    with _CountSearch(score, criterion, canon, effort, threads, deadline, tell, random_state) as search:
        order, adjacency, total, rivals, end = search.find(given)
    tried = tuple(search.reached), sum(search.kicked), search.generations
    return FoundGraph(order, measure_strengths(score, adjacency), total, criterion.penalty, *tried, rivals, end)


def order_canonically(score: CountScore, names: Sequence[str]) -> Integers:
    """The columns by their entropies, then by their names: neither depends on the order of columns or levels."""
    entropy = [np.sort(part * np.log(part)).sum() for part in map(_shares, score.codes, [score] * score.n_nodes)]
    return np.lexsort((np.argsort(np.argsort(np.array(names, dtype=object))), np.round(entropy, 9)))


def _shares(codes: Any, score: CountScore) -> Floats:
    counts = np.bincount(codes, score.weight)
    return np.asarray(counts[counts > 0] / score.n)


def measure_strengths(score: CountScore, adjacency: Bools) -> Floats:
    """The weights (d, d) of a graph of categories: see `CountScore.strength`."""
    weights = np.zeros(adjacency.shape)
    least = np.finfo(float).tiny  # an edge keeps a weight, as one that is required may explain nothing
    for j, column in enumerate(adjacency.T):
        parents = np.flatnonzero(column).tolist()
        for i in parents:
            weights[i, j] = max(score.strength(j, parents, i), least)
    return weights


class _CountSearch(ScoreSearch):
    """The search with the score of counts in the place of the linear Gaussian one."""

    score: CountScore

    def __init__(self, score: CountScore, criterion: ParentCriterion, canon: Integers, *options: Any) -> None:
        super().__init__(score.in_order(canon), criterion, canon, *options)

    def open_chain(self, seed: int) -> OrderChain:
        return self.stack.enter_context(CountChain(self.score.criterion, *self.rules, seed))

    def score_sets(self, deadline: Deadline | None) -> Floats | None:
        """See ScoreSearch: margins up to the slack are exact, larger ones at least as large as the slack."""
        allowed, required, _, most, *_ = self.rules
        # All pairs are counted; BDeu has no price of parameters that would rule out any set.
        sets = self.d * (2.0 ** (self.d - 1) if self.score.sample_size else comb(self.d - 1, 2))
        if 2 * sets * len(self.score.weight) > _MOST_WORK:
            return None
        limits: dict[str, Any] = {"slack": _SLACK * log(self.n), "most_work": _MOST_WORK}
        rules = allowed, required, most
        return count_all_sets(self.score.criterion, *rules, **limits, threads=self.threads, deadline=deadline)


@dataclass(frozen=True, eq=False)
class Distributions:
    """The levels of each column given those of its parents, as shares of the rows of a table.

    Attributes
    ----------
    adjacency : ndarray of bool, shape (d, d)
    codings : tuple of Coding
        Of the columns: which number in the rows is which level.
    tables : tuple of mapping
        For each column the rows that had each level, by the codes of its parents; by () those of all.

    Examples
    --------
    >>> from acyclic.data.table import read_table
    >>> table = read_table(np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 10))
    >>> codings = [table.codings[name] for name in table.names]
    >>> fitted = Distributions.of(table.rows(), codings, np.array([[False, True], [False, False]]))
    >>> fitted.predict(np.array([[0.0, 0.0], [1.0, 0.0]])).tolist()
    [[0.5, 1.0], [0.5, 0.5]]
    """

    adjacency: Bools
    codings: tuple[Coding, ...]
    tables: tuple[Mapping[tuple[int, ...], Floats], ...]

    @classmethod
    def of(cls, rows: Floats, codings: Sequence[Coding], adjacency: Bools) -> Distributions:
        """Count the rows (n, d) of a table under a graph."""
        return cls.of_codes(_encode(codings, rows), codings, adjacency, None)

    @classmethod
    def of_codes(
        cls, codes: Integers, codings: Sequence[Coding], adjacency: Bools, rows: Integers | None
    ) -> Distributions:
        """Count rows of codes (m, d), each of which stands for so many (m,), or for one."""
        tables = []
        for j, coding in enumerate(codings):
            keys, places = _group_rows(codes[:, adjacency[:, j]])
            r = len(coding.levels)
            counts = np.bincount(places * r + codes[:, j], rows, minlength=len(keys) * r).reshape(-1, r)
            found = {tuple(key): count.astype(float) for key, count in zip(keys.tolist(), counts)}
            tables.append({**found, (): counts.sum(axis=0).astype(float)})
        return cls(adjacency, tuple(codings), tuple(tables))

    def refitted(self, rows: Floats, edges: Bools) -> Distributions:
        """Those of another graph."""
        return Distributions.of(rows, self.codings, edges)

    def predict(self, rows: Floats) -> Floats:
        """Expectation (n, d) of the numbers that stand for levels; that of all rows for parents never seen like this.

        Of columns of 0 and 1 it is the probability of 1.
        """
        codes = _encode(self.codings, rows)
        columns = []
        for j, coding in enumerate(self.codings):
            mean = np.array(
                [np.mean([v for v, c in zip(coding.values, coding.codes) if c == k]) for k in range(len(coding.levels))]
            )
            keys, places = _group_rows(codes[:, self.adjacency[:, j]])
            counts = np.array([self._counts(j, tuple(key)) for key in keys.tolist()])
            columns.append((counts @ mean / counts.sum(axis=1))[places])
        return np.column_stack(columns)

    def _counts(self, j: int, key: tuple[int, ...]) -> Floats:
        return self.tables[j].get(key, self.tables[j][()])


def _group_rows(codes: Integers) -> tuple[Integers, Integers]:
    """Different rows of codes (n, p), which may be −1, and which of them each row is (n,).

    >>> keys, places = _group_rows(np.array([[1, 0], [-1, 1], [1, 0]]))
    >>> keys.tolist(), places.tolist()
    ([[-1, 1], [1, 0]], [1, 0, 1])
    """
    n = len(codes)
    number, kinds = np.zeros(n, dtype=np.int64), 1
    for column in codes.T:
        q = int(column.max()) + 2
        if kinds * q >= 2**62:
            found, number = np.unique(number, return_inverse=True)
            kinds = len(found)
        number, kinds = number * q + (column + 1), kinds * q
    if kinds > 4 * n:  # numbers that are too far apart for a place each
        _, first, places = np.unique(number, return_index=True, return_inverse=True)
        return codes[first], places
    first = np.full(kinds, -1, dtype=np.intp)
    first[number] = np.arange(n)
    there = np.flatnonzero(first >= 0)
    return codes[first[there]], (np.cumsum(first >= 0) - 1)[number]


def _encode(codings: Sequence[Coding], rows: Floats) -> Integers:
    return np.column_stack([coding.encode(column) for coding, column in zip(codings, rows.T)])

"""The score of categories given categories: a distribution for every combination of the parents' levels.

All in units of −2 log-likelihood, lower is better, and relative to no parents: the empty graph has 0. With N_ab the
rows in which the parents have their a-th combination of levels and the child its b-th level, of r,

    −2 Σ N_ab log(N_ab / N_a)  +  c (r − 1)(Π q_i − 1)  +  c′ |parents|

for parents of q_i levels: the multinomial likelihood, the price c of a free parameter and c′ of a parent beyond those.
BDeu (Heckerman, Geiger & Chickering 1995) averages the likelihood over Dirichlet distributions instead of charging for
parameters. Equivalent graphs have equal totals under both: they have as many parameters and as many edges.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from acyclic._native import CountCriterion
from acyclic.errors import InputError
from acyclic.scores.local import LocalScore, PenaltyRule, price_of_parent
from acyclic.types import Floats, Integers

__all__ = ["CountRule", "CountScore"]

CountRule: TypeAlias = Literal["bic", "bdeu"]

# Logarithms of so many counts are tabulated: 8 MB.
_MOST_LOGS = 1 << 20
# Equal rows are put together where that leaves this share of them or less.
_WORTH_JOINING = 0.7
# Combinations of levels beyond so many are numbered by those that there are.
_MOST_PLACES = 1 << 16


@dataclass(frozen=True, eq=False)
class CountScore(LocalScore):
    """The score of a table of category codes.

    Attributes
    ----------
    codes : ndarray of uint8, shape (d, m)
        The levels of each column, from 0; no two of the m rows need to differ.
    weight : ndarray of int32, shape (m,)
        How many rows each one stands for.
    levels : ndarray of int32, shape (d,)
        How many levels each column has.
    unit, extra : float
        Price of a free parameter, and of a parent beyond its parameters.
    sample_size : float
        The equivalent sample size of BDeu, or 0 for the likelihood with a price of parameters.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.integers(3, size=(2, 500))
    >>> score = CountScore.of(np.column_stack([x, y, (x + y) % 3]))
    >>> score.score(2, []), score.score(2, [0]) > 0, score.score(2, [0, 1]) < 0
    (0.0, True, True)
    """

    codes: NDArray[np.uint8]
    weight: NDArray[np.int32]
    levels: NDArray[np.int32]
    unit: float
    extra: float
    sample_size: float = 0.0

    @classmethod
    def of(
        cls,
        codes: ArrayLike,
        levels: Sequence[int] | None = None,
        counts: Integers | None = None,
        *,
        rule: CountRule = "bic",
        penalty: PenaltyRule = "ebic",
        sample_size: float = 10.0,
    ) -> Self:
        """The score of codes (n, d), each from 0 to the number of levels of its column less 1.

        Parameters
        ----------
        codes : array_like of int, shape (n, d)
        levels : sequence of int, optional
            How many levels each column has; one more than its largest code if left out.
        counts : ndarray of int, shape (n,), optional
            How many rows each one stands for; 1 if left out.
        rule : {"bic", "bdeu"}
        penalty : {"ebic", "bic", "strong"} or float
            Of "bic": log n for each free parameter, 2 log n with "strong", a number as it is; with "ebic" log n, and
            2 log d for each parent. Of "bdeu" only these 2 log d count: 0 with anything but "ebic".
        sample_size : float
            The equivalent sample size of "bdeu".
        """
        rows = np.asarray(codes)
        if rows.ndim != 2 or rows.dtype.kind not in "iu" or not rows.size:
            raise InputError(f"codes are whole numbers (n, d); got {rows.dtype} of shape {rows.shape}")
        if rows.min() < 0:
            raise InputError("a code is negative; codes count the levels of a column from 0")
        q = rows.max(axis=0) + 1 if levels is None else np.asarray(levels)
        if q.shape != rows.shape[1:] or (rows.max(axis=0) >= q).any() or q.max() > 255:
            raise InputError("levels is the number of levels of each column, more than its largest code, at most 255")
        if rule not in ("bic", "bdeu"):
            raise InputError(f"rule is {rule!r}; give 'bic' or 'bdeu'")
        if rule == "bdeu" and not 0 < sample_size < inf:
            raise InputError(f"sample_size is {sample_size!r}; give a finite number > 0")
        n, d = len(rows) if counts is None else int(counts.sum()), rows.shape[1]
        if n > np.iinfo(np.int32).max:
            raise InputError(f"{n} rows are more than can be counted, {np.iinfo(np.int32).max}; count a sample of them")
        extra = 2 * log(d) if penalty == "ebic" else 0.0
        unit = log(n) if penalty == "ebic" or rule == "bdeu" else price_of_parent(penalty, n, d)
        joined, weight = _join_rows(rows, q) if counts is None or (counts == 1).all() else (rows, counts)
        parts = np.ascontiguousarray(joined.T, dtype=np.uint8), weight.astype(np.int32), q.astype(np.int32)
        return cls(*parts, unit, extra, float(sample_size) if rule == "bdeu" else 0.0)

    @property
    def n_nodes(self) -> int:  # type: ignore[override]
        """Of the columns."""
        return len(self.levels)

    @cached_property
    def n(self) -> int:
        """Rows."""
        return int(self.weight.sum(dtype=np.int64))

    @cached_property
    def criterion(self) -> CountCriterion:
        """The same as the kernel reads it."""
        codes = np.concatenate([self.codes, np.zeros((1, self.codes.shape[1]), dtype=np.uint8)])
        counts = np.arange(min(self.n + 1, _MOST_LOGS), dtype=float)
        logs = counts * np.log(np.maximum(counts, 1))
        return CountCriterion(codes, self.weight, self.levels, logs, self.unit, self.extra, self.sample_size)

    def in_order(self, columns: Integers) -> CountScore:
        """The same with the columns in another order."""
        codes = np.ascontiguousarray(self.codes[columns])
        return CountScore(codes, self.weight, self.levels[columns], self.unit, self.extra, self.sample_size)

    def score(self, node: int, parents: Collection[int]) -> float:
        """See LocalScore."""
        given = sorted(parents)
        if not given:
            return 0.0
        return self.misfit(node, given) - self.misfit(node, ()) + self.price(node, given)

    def gains(self, node: int, given: Collection[int]) -> Floats:
        """See LocalScore."""
        now = self.score(node, given)
        others = set(range(self.n_nodes)) - {node, *given}
        return np.array([now - self.score(node, {*given, x}) if x in others else -inf for x in range(self.n_nodes)])

    def price(self, node: int, parents: Collection[int]) -> float:
        """What parents cost."""
        combinations = np.prod(self.levels[list(parents)], dtype=float)
        free = 0.0 if self.sample_size else (self.levels[node] - 1) * (combinations - 1)
        return float(self.unit * free + self.extra * len(parents))

    def misfit(self, node: int, parents: Collection[int]) -> float:
        """−2 log-likelihood of a column given others: at the best distributions, or the mean over all."""
        N = self.table(node, parents)
        if not self.sample_size:
            whole = N.sum(axis=1, keepdims=True)
            return float(-2 * (N * np.log(np.where(N > 0, N, 1) / whole)).sum())
        group = self.sample_size / np.prod(self.levels[list(parents)], dtype=float)
        cell = group / self.levels[node]
        cells = (gammaln(cell + N) - gammaln(cell)).sum()
        return float(-2 * (cells - (gammaln(group + N.sum(axis=1)) - gammaln(group)).sum()))

    def table(self, node: int, parents: Collection[int]) -> Floats:
        """Rows (k, r) in which the parents have each combination of levels that there is, and the column each level."""
        place, kinds, r = np.zeros(len(self.weight), dtype=np.int64), 1, int(self.levels[node])
        for i in parents:
            place, kinds = place * self.levels[i] + self.codes[i], kinds * int(self.levels[i])
            if kinds > _MOST_PLACES:
                found, place = np.unique(place, return_inverse=True)
                kinds = len(found)
        N = np.bincount(place * r + self.codes[node], self.weight, minlength=kinds * r).reshape(kinds, r)
        return np.asarray(N[N.any(axis=1)], dtype=float)

    def strength(self, node: int, parents: Collection[int], source: int) -> float:
        """How much one of the parents explains beyond the others, in [0, 1].

        It is √(1 − D / D′), where D is the deviance, −2 log-likelihood, that all parents leave to the column and D′
        that which the others leave: 1 where the column is determined with this parent and not without it. Between two
        numbers with normal noise the same ratio of variances gives the partial correlation.
        """
        plain = CountScore(self.codes, self.weight, self.levels, 0.0, 0.0)
        all_left = plain.misfit(node, parents)
        others_left = plain.misfit(node, [i for i in parents if i != source])
        return float(np.sqrt(max(1 - all_left / others_left, 0.0))) if others_left > 0 else 0.0


def _join_rows(codes: Integers, levels: Integers) -> tuple[Integers, Integers]:
    """Different rows and how often each is there, or all of them where few are equal."""
    n = len(codes)
    key, kinds = np.zeros(n, dtype=np.int64), 1
    for column, q in zip(codes.T, levels.tolist()):
        if kinds * q >= 2**62:
            found, key = np.unique(key, return_inverse=True)
            kinds = len(found)
        if kinds > _WORTH_JOINING * n and kinds * q >= 2**62:
            return codes, np.ones(n, dtype=np.int64)
        key, kinds = key * q + column, kinds * q
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    return (codes[first], count) if len(first) <= _WORTH_JOINING * n else (codes, np.ones(n, dtype=np.int64))

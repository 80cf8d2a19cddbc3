"""Partial results: what is found in some of the rows, to be merged with what is found in those that follow."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.random import SeedSequence, default_rng

from acyclic.data.columns import ColumnValues
from acyclic.data.missing import Missing
from acyclic.data.moments import Accumulator, Moments
from acyclic.errors import InputError
from acyclic.types import Floats, Integers

__all__ = ["CodeCounts", "DrawnSums", "RowWeights", "SomeRows", "Summary"]

# Different rows of codes that are counted; more of them are nearer to rows than to counts.
MOST_ROWS_OF_CODES: Final = 1 << 18


class Summary:
    """What one pass over rows tells of them: values, sums, and how many rows of each partition count.

    ``kept`` are the rows themselves, as long as these are few and come from a file.
    """

    def __init__(
        self, columns: tuple[str, ...], many: Collection[str], missing: Missing, number: int, *, with_levels: bool
    ) -> None:
        self.values, self.sums = ColumnValues(columns, many), Accumulator(columns, missing, with_levels=with_levels)
        self.kept: list[Floats] | None = None
        self._number, self._lengths = number, {number: 0}

    def count(self, rows: int) -> None:
        """Count rows of the partition."""
        self._lengths[self._number] += rows

    def merge(self, later: Summary) -> None:
        """Add what was found in the rows that follow."""
        self.values.merge(later.values)
        self.sums.merge(later.sums)
        self._lengths |= later._lengths

    def lengths(self) -> Integers:
        """Rows that count in each partition, in order."""
        return np.array([self._lengths[number] for number in sorted(self._lengths)], dtype=np.int64)


@dataclass
class SomeRows:
    """Rows (k, d), one partition after the other, and the lengths of the partitions they are from."""

    rows: Floats
    lengths: dict[int, int]

    def merge(self, later: SomeRows) -> None:
        """Add the rows that follow."""
        self.rows = np.concatenate([self.rows, later.rows])
        self.lengths = self.lengths | later.lengths


@dataclass(frozen=True)
class RowWeights:
    """How often each row counts in one draw, whoever draws it: by seed and number of the partition.

    Parameters
    ----------
    seed : SeedSequence
    law : {"rows", "partitions", "fold"}
        A Poisson number with mean 1 for each row (the bootstrap without a fixed number of rows), one for all rows of a
        partition, or 1 for the rows that fall by chance into one of several parts, ``fold`` of ``folds``.

    Examples
    --------
    >>> weights = RowWeights(SeedSequence(1)).draw(0, 100_000)
    >>> bool(abs(weights.mean() - 1) < 0.02 and abs(weights.var() - 1) < 0.03)
    True
    """

    seed: SeedSequence
    law: Literal["rows", "partitions", "fold"] = "rows"
    fold: int = 0
    folds: int = 1

    def begin(self, number: int) -> np.random.Generator:
        """The random numbers of a partition."""
        return default_rng(SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, number)))

    def draw(self, number: int, count: int, rng: np.random.Generator | None = None) -> Floats:
        """The weights (count,) of the next rows of a partition."""
        rng = self.begin(number) if rng is None else rng
        if self.law == "partitions":
            return np.full(count, float(self.begin(number).poisson(1.0)))
        if self.law == "fold":
            return np.asarray(rng.integers(self.folds, size=count) == self.fold, dtype=float)
        return rng.poisson(1.0, count).astype(float)


class DrawnSums:
    """Sums of the same rows under the weights of B draws: numbers (B,), means (B, d) and scatters (B, d, d)."""

    def __init__(self, draws: Sequence[RowWeights], number: int, d: int) -> None:
        self._draws = [(draw, draw.begin(number)) for draw in draws]
        self._number, self._origin = number, np.full(d, np.nan)
        self._n, self._mean, self._scatter = (np.zeros((len(draws), *shape)) for shape in ((), (d,), (d, d)))

    def add(self, rows: Floats) -> None:
        """Add rows (k, d) without missing cells, as often as each draw says."""
        if not len(rows):
            return
        centre = rows.mean(axis=0)
        near = rows - centre
        if np.isnan(self._origin).any():
            self._origin = centre
        n, mean, scatter = np.zeros_like(self._n), np.zeros_like(self._mean), np.zeros_like(self._scatter)
        whole: Floats | None = None
        for at, (draw, rng) in enumerate(self._draws):
            if draw.law == "partitions":
                # All rows come as often: one product is enough for all draws.
                whole = near.T @ near if whole is None else whole
                often = draw.draw(self._number, 1)[0]
                n[at], scatter[at] = often * len(rows), often * whole
                continue
            weights = draw.draw(self._number, len(rows), rng)
            heavy = near * weights[:, None]
            n[at] = weights.sum()
            mean[at] = heavy.sum(axis=0) / max(n[at], 1.0)
            # The rows are centred, so that nothing is lost when their weighted mean is taken off.
            scatter[at] = heavy.T @ near - n[at] * np.outer(mean[at], mean[at])
        self._put(n, mean + (centre - self._origin), scatter)

    def _put(self, n: Floats, mean: Floats, scatter: Floats) -> None:
        """Add sums about the same origin (Chan, Golub & LeVeque)."""
        total, step = self._n + n, mean - self._mean
        share = n / np.maximum(total, 1.0)
        self._scatter += scatter + np.einsum("b,bi,bj->bij", self._n * share, step, step)
        self._mean += share[:, None] * step
        self._n = total

    def close(self) -> DrawnSums:
        """Forget how to draw, which nobody needs any more."""
        self._draws = []
        return self

    def merge(self, later: DrawnSums) -> None:
        """Add the sums of the rows that follow."""
        if np.isnan(later._origin).any():
            return
        if np.isnan(self._origin).any():
            self._origin = later._origin
        self._put(later._n, later._mean + (later._origin - self._origin), later._scatter)

    def moments(self, names: tuple[str, ...]) -> list[Moments]:
        """The moments of each draw."""
        if (self._n < 2).any():
            raise InputError("a draw has fewer than two rows; there are too few rows, or partitions, to draw from")
        sums = zip(self._n.tolist(), self._mean, self._scatter)
        return [Moments(n, self._origin + mean, scatter / n, names) for n, mean, scatter in sums]


@dataclass
class CodeCounts:
    """How often each row of codes comes, rows in order; None where different ones are too many."""

    codes: Integers | None
    counts: Integers

    @classmethod
    def of(cls, codes: Integers) -> CodeCounts:
        """Count rows of codes (n, d)."""
        return cls._joined(codes.astype(np.uint8), np.ones(len(codes), dtype=np.int64))

    @classmethod
    def _joined(cls, codes: Integers, counts: Integers) -> CodeCounts:
        if not len(codes):
            return cls(codes, counts)
        found, inverse = np.unique(codes, axis=0, return_inverse=True)
        if len(found) > MOST_ROWS_OF_CODES:
            return cls(None, np.zeros(0, dtype=np.int64))
        sums = np.bincount(inverse.ravel(), counts, minlength=len(found))
        return cls(found, np.rint(sums).astype(np.int64))

    def merge(self, later: CodeCounts) -> None:
        """Add the counts of the rows that follow."""
        if self.codes is None or later.codes is None:
            self.codes, self.counts = None, np.zeros(0, dtype=np.int64)
            return
        both = CodeCounts._joined(
            np.concatenate([self.codes, later.codes]), np.concatenate([self.counts, later.counts])
        )
        self.codes, self.counts = both.codes, both.counts

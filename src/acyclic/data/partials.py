"""Partial results: what is found in some of the rows, to be merged with what is found in those that follow."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.random import SeedSequence, default_rng

from acyclic.data.columns import ColumnValues
from acyclic.data.missing import Missing
from acyclic.data.moments import Accumulator, Moments, Sums, merge_sums
from acyclic.errors import InputError
from acyclic.types import Floats, Integers

__all__ = ["CodeCounts", "DrawnSums", "RowWeights", "SomeRows", "Summary"]

# Different rows of codes that are counted; more of them are nearer to rows than to counts.
MOST_ROWS_OF_CODES: Final = 1 << 18


class Summary:
    """What one pass over rows tells of them: values, sums, and how many rows of each partition count.

    ``kept`` are the rows themselves, as long as these are few and come from a file.
    """

    def __init__(self, columns: tuple[str, ...], many: Collection[str], missing: Missing, number: int) -> None:
        self.values, self.sums = ColumnValues(columns, many), Accumulator(columns, missing)
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
    """Sums of the same rows under the weights of many draws, in one pass."""

    def __init__(self, draws: Sequence[RowWeights], number: int) -> None:
        self._draws, self._number = tuple(draws), number
        self._rngs: list[np.random.Generator] | None = [draw.begin(number) for draw in draws]
        self._origin: Floats | None = None
        self._sums: list[Sums | None] = [None] * len(self._draws)

    def add(self, rows: Floats) -> None:
        """Add rows (k, d) without missing cells, as often as each draw says."""
        assert self._rngs is not None
        if not len(rows):
            return
        if self._origin is None:
            self._origin = rows.mean(axis=0)
        centre = rows.mean(axis=0)
        near = rows - centre
        for at, (draw, rng) in enumerate(zip(self._draws, self._rngs)):
            weights = draw.draw(self._number, len(rows), rng)
            if n := float(weights.sum()):
                self._put(at, _weighted_sums(near, weights, n, centre - self._origin))

    def _put(self, at: int, part: Sums) -> None:
        known = self._sums[at]
        self._sums[at] = part if known is None else merge_sums(known, part)

    def close(self) -> DrawnSums:
        """Forget the random numbers, which nobody else needs."""
        self._rngs = None
        return self

    def merge(self, later: DrawnSums) -> None:
        """Add the sums of the rows that follow."""
        if later._origin is None:
            return
        if self._origin is None:
            self._origin = later._origin
        step = later._origin - self._origin
        for at, part in enumerate(later._sums):
            if part is not None:
                self._put(at, Sums(part.n, part.mean + step, part.scatter.copy()))

    def moments(self, names: tuple[str, ...]) -> list[Moments]:
        """The moments of each draw."""
        if self._origin is None or any(part is None or part.n < 2 for part in self._sums):
            raise InputError("a draw has fewer than two rows; there are too few rows, or partitions, to draw from")
        return [part.copy().moments(names, self._origin) for part in self._sums if part is not None]


def _weighted_sums(near: Floats, weights: Floats, n: float, place: Floats) -> Sums:
    """Sums of rows that are centred, so that nothing is lost when their weighted mean is taken off."""
    heavy = near * weights[:, None]
    mean = heavy.sum(axis=0) / n
    return Sums(n, place + mean, heavy.T @ near - n * np.outer(mean, mean))


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

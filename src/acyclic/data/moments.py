"""Moments of a table: number of rows, mean and covariance; all that the linear learners see.

Hides how rows that come in blocks of any size are summed so that the bits of the moments depend on the rows alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acyclic.data.missing import Incomplete, Missing, check_missing
from acyclic.data.sources import ArraySource, Block, FrameSource, Place, Source, check_numbers, is_frame, weigh
from acyclic.errors import Argument, InputError
from acyclic.facts import Fact, Note
from acyclic.files import write_atomically
from acyclic.graphs.checks import check_names
from acyclic.types import Bools, Floats

__all__ = ["Accumulator", "Moments", "RangeError", "Sums", "as_moments", "merge_sums"]

# Values in the blocks that are multiplied: 8 MB. Another number changes the last bits of the moments of longer tables.
_BLOCK_VALUES: Final = 1 << 20
# A block has at least so many rows: sums of each are merged, which would take longer than to multiply fewer.
_LEAST_ROWS: Final = 512
_FORMAT: Final = "acyclic moments 1"


class RangeError(InputError):
    """Values, or their squares, are beyond the range of floats; other units may help."""


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Row count, mean and covariance of named columns, as read-only float64 arrays.

    Parameters
    ----------
    n : int or float
        Number of rows, or the sum of the weights that count them; at least 2.
    mean : array-like (d,)
    covariance : array-like (d, d)
        The maximum-likelihood one, ``S = (X - m)ᵀ(X - m) / n``; stored exactly symmetric.
    names : sequence of str, optional
        One name per column, all different; ``x0, x1, …`` if left out.

    Examples
    --------
    >>> moments = Moments.from_array([[1.0, 2.0], [3.0, 6.0]], names=["dose", "effect"])
    >>> moments
    Moments(n=2, d=2: dose, effect)
    >>> moments.covariance.tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """

    n: float
    mean: Floats
    covariance: Floats
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        mean, covariance = _numeric(self.mean, "mean"), _numeric(self.covariance, "covariance")
        if mean.ndim != 1 or mean.size == 0 or covariance.shape != (mean.size, mean.size):
            raise InputError(f"shapes {mean.shape} and {covariance.shape} are not (d,) and (d, d) with d >= 1")
        names = check_names(self.names or None, mean.size)
        if not isinstance(self.n, Real) or not 2 <= self.n < np.inf:
            raise InputError(f"n = {self.n!r}, but at least 2 rows are needed; weights must not be normalised to sum 1")
        _check_possible(mean, covariance, names)
        _symmetrise(covariance)
        for array in (mean, covariance):
            array.flags.writeable = False
        n = int(self.n) if float(self.n).is_integer() else float(self.n)
        for field, value in {"n": n, "mean": mean, "covariance": covariance, "names": names}.items():
            object.__setattr__(self, field, value)

    @classmethod
    def from_array(cls, X: ArrayLike, names: Sequence[str] | None = None, weights: ArrayLike | None = None) -> Moments:
        """Compute the moments of a table of numbers in one pass over blocks of rows.

        `Accumulator` does it, as for every other source of rows: equal rows have moments of equal bits.

        Parameters
        ----------
        X : array-like (n, d)
            Finite integers, booleans or floats; at least two rows; left unchanged.
        names : sequence of str, optional
        weights : array-like (n,), optional
            How many rows each row stands for; finite and not negative. Their sum becomes ``n``.
        """
        source = ArraySource.open(X, names)
        return _accumulate(source, weigh(source.blocks(source.names), weights))

    @classmethod
    def from_frame(cls, frame: Any) -> Moments:
        """Compute the moments of a pandas, Polars or PyArrow table of numbers and booleans, its names as str."""
        source = FrameSource.open(frame)
        check_numbers(source, source.names)
        return _accumulate(source, weigh(source.blocks(source.names), None))

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")
    def merged(cls, parts: Iterable[Moments]) -> Moments:
        """Moments of the rows of all parts (Chan, Golub & LeVeque), columns ordered as in the first."""
        moments = list(parts)
        if not moments:
            raise InputError("no moments to merge; give at least one")
        names = moments[0].names
        for extra in sorted({name for part in moments for name in part.names} - set(names)):
            raise InputError(f"column {extra!r} is in some parts but not in the first; select the same columns")
        matched = (part.select(names) for part in moments)
        return reduce(merge_sums, (Sums(part.n, part.mean, part.covariance * part.n) for part in matched)).moments(
            names
        )

    def merge(self, other: Moments) -> Moments:
        """Moments of the rows of both, matched by column name."""
        return Moments.merged([self, other])

    def select(self, names: Sequence[str]) -> Moments:
        """Moments of the named columns, in that order."""
        index = {name: position for position, name in enumerate(self.names)}
        wanted = check_names(names)
        unknown = [name for name in wanted if name not in index]
        if unknown:
            raise InputError(f"unknown columns {unknown}; the columns are {list(self.names)}")
        chosen = [index[name] for name in wanted]
        return Moments(self.n, self.mean[chosen], self.covariance[np.ix_(chosen, chosen)], wanted)

    @property
    def constant(self) -> Bools:
        """Which columns do not vary: their standard deviation is below the rounding of their mean."""
        # Centred moments resolve a deviation down to the rounding of the mean itself, not to its square root.
        rounding = 4 * np.finfo(np.float64).eps * np.abs(self.mean)
        return np.asarray(np.sqrt(np.diag(self.covariance)) <= rounding)

    @property
    def is_standardized(self) -> bool:
        """Whether all columns that vary, more than one, have the same variance: then units tell nothing.

        >>> moments = Moments(9, [0.0, 0.0, 5.0], [[4.0, 1.0, 0.0], [1.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
        >>> moments.is_standardized, moments.scaled([1, 2, 1]).is_standardized
        (True, False)
        """
        variances = np.diag(self.covariance)[~self.constant]
        # Whoever standardises in single precision, or writes six digits to a file, leaves a difference like this.
        return len(variances) > 1 and bool(np.ptp(variances) <= 1e-6 * variances.max())

    @property
    def rounding(self) -> float:
        """How far rounding may move an entry of the covariance, as a share of the deviations of its two columns.

        A sum of n products is off by n·ε of its size at most; rows are summed in blocks, so that longer tables round no
        more. It counts twice: columns that were standardised have a variance of 1 up to the same rounding. CPUs add up
        in different orders, and what differs by less than this is larger on one and smaller on another; chance, √(2/n)
        of a variance, is far larger.
        """
        return 2 * (min(float(self.n), _BLOCK_VALUES) + 4) * float(np.finfo(np.float64).eps)

    def correlation(self) -> Floats:
        """The correlations (d, d): 1 on the diagonal, 0 all over for constant columns."""
        constant = self.constant
        deviation = np.where(constant, 1.0, np.sqrt(np.diag(self.covariance)))
        correlation = self.covariance / deviation
        correlation /= deviation[:, None]
        np.clip(correlation, -1.0, 1.0, out=correlation)
        np.fill_diagonal(correlation, 1.0)
        correlation[constant] = correlation[:, constant] = 0.0
        return np.asarray(correlation)

    def standardized(self) -> Moments:
        """Moments of standardised columns: the covariance is the correlation, 0 for constant columns."""
        return Moments(self.n, np.zeros(len(self.names)), self.correlation(), self.names)

    def scaled(self, factors: ArrayLike) -> Moments:
        """Moments after column ``j`` is multiplied by ``factors[j]``, shape (d,), none of them 0."""
        factor = _numeric(factors, "factors")
        if factor.shape != self.mean.shape or not np.all(np.isfinite(factor) & (factor != 0)):
            raise InputError(f"factors must be {len(self.names)} finite numbers other than 0, one per column")
        with np.errstate(over="ignore"):
            mean, covariance = self.mean * factor, self.covariance * factor * factor[:, None]
        return Moments(self.n, mean, covariance, self.names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a NumPy ``.npz`` file without pickles; the old file stays until the new one is complete."""
        text = json.dumps({"format": _FORMAT, "names": self.names}).encode()
        header = np.frombuffer(text, dtype=np.uint8)
        with write_atomically(path) as file:
            np.savez(file, header=header, n=np.float64(self.n), mean=self.mean, covariance=self.covariance)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Moments:
        """Read a file that `save` wrote."""
        with Path(path).open("rb") as file:
            try:
                with np.load(file, allow_pickle=False) as stored:
                    header = json.loads(stored["header"].tobytes())
                    if header["format"] != _FORMAT:
                        raise ValueError(f"its format is {header['format']!r}")
                    return cls(stored["n"].item(), stored["mean"], stored["covariance"], header["names"])
            except (ValueError, LookupError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
                raise InputError(f"{os.fspath(path)} is not a whole file of moments: {error}") from error

    def digest(self) -> str:
        """SHA-256 of the content in hexadecimal: equal moments have equal digests on every machine."""
        content = hashlib.sha256(json.dumps([self.names, float(self.n)]).encode())
        for array in (self.mean, self.covariance):
            content.update(array.astype("<f8").tobytes())
        return content.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moments) and self.digest() == other.digest()

    def __hash__(self) -> int:
        return hash(self.digest())

    def __reduce__(self) -> tuple[type[Moments], tuple[object, ...]]:
        return Moments, (self.n, self.mean, self.covariance, self.names)

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:4]) + (", …" if len(self.names) > 4 else "")
        return f"Moments(n={self.n:.10g}, d={len(self.names)}: {shown})"


def as_moments(data: Any, names: Sequence[str] | None = None) -> Moments:
    """Moments of an array whose columns are `names`, of a data frame, or of moments, which stay as they are."""
    if not isinstance(data, Moments) and not is_frame(data):
        return Moments.from_array(data, names)
    moments = data if isinstance(data, Moments) else Moments.from_frame(data)
    if names is not None and tuple(names) != moments.names:
        raise InputError(f"names are {list(names)}, but the data has the columns {list(moments.names)}")
    return moments


def _accumulate(source: Source, blocks: Iterable[Block]) -> Moments:
    accumulator = Accumulator(source.names)
    for block in blocks:
        accumulator.add(*block)
    return accumulator.finish()[0]


def _name_row(row: int) -> str:
    return f"row {row}"


class Accumulator:
    """The one way from rows to moments: one pass over blocks of rows in which NaN marks a missing cell.

    The rows are first put into blocks of one size and one layout, so that the moments of the same rows have the same
    bits whatever the pieces in which they come. Blocks are centred on a mean of the first one and then on their own,
    and merged (Chan, Golub & LeVeque): a large mean costs no digits.

    Parameters
    ----------
    names : sequence of str
        The d columns.
    missing : str
        ``"error"``
            A missing cell is an error that names the column and the row.
        ``"drop-rows"``
            Only complete rows count; unbiased if cells are missing completely at random.
        ``"pairwise"``
            Entry (i, j) of the covariance is that of the rows that have both; also rests on cells that are missing
            completely at random. If the matrix has a negative eigenvalue it is repaired by `repaired_correlation`,
            which leaves the variances alone. ``n`` is the harmonic mean of the pairs' row counts: the sampling
            variance of an entry goes with 1/n_ij, and 1/n is the mean of these.
        ``"em"``
            Maximum likelihood of a Gaussian by `expectation_maximisation`; rests on cells that are missing at random
            given the observed ones. ``n`` is the harmonic mean of the rows that have all of three columns. Rows are
            grouped by the set of columns they have and each group is kept as a triangular factor, so that one pass is
            enough; memory grows with the number of different sets, at most d²/2 numbers for each, and never beyond the
            incomplete rows themselves.
        ``"impute"``
            Cells are filled with values of rows that resemble theirs, and the fullest rows are used:
            `acyclic.data.imputing`. The moments found here are those of pairs, until that is done.
    with_levels : bool
        Whether some columns are categories that need complete rows, so that ``"em"`` cannot be advised.

    Attributes
    ----------
    n_rows, n_incomplete, n_empty : int
        Rows that were added, those with a missing cell, and those without any value; all known after `finish`.

    Examples
    --------
    >>> accumulator = Accumulator(["dose", "effect"], "pairwise")
    >>> accumulator.add(np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]]))
    >>> moments, notes = accumulator.finish()
    >>> moments.mean.tolist(), moments.n
    ([3.0, 4.0], 2)
    >>> notes[0].kind.value, notes[0].about, notes[0]["count"]
    ('missing', ('effect',), 1)
    """

    def __init__(self, names: Sequence[str], missing: Missing = "error", *, with_levels: bool = False) -> None:
        check_missing(missing)
        self.names, self.missing = tuple(names), missing
        self._with_levels = with_levels
        d = len(self.names)
        self.n_rows = self.n_incomplete = self.n_empty = 0
        self._step = max(_BLOCK_VALUES // d, _LEAST_ROWS)
        self._waiting: list[_Piece] = []
        self._n_waiting = 0
        self._buffer = np.empty((0, d))
        self._absent = np.zeros(d, dtype=np.int64)
        self._origin, self._unsettled = np.zeros(d), np.ones(d, dtype=bool)
        self._complete: Sums | None = None
        self._incomplete = Incomplete(self.names, missing)
        self._has_holes = False

    def add(self, rows: Floats, weights: Floats | None = None, place: Place = _name_row) -> None:
        """Add rows (k, d), which may not change until `finish`, and their weights (k,), all above 0.

        ``place`` says where the k-th of them stands in the source.
        """
        self._waiting.append(_Piece(rows, weights, place, 0))
        self._n_waiting += len(rows)
        while self._n_waiting >= self._step:
            self._add_block(self._take(self._step))

    def finish(self) -> tuple[Moments, list[Fact[Note]]]:
        """Moments of all rows added, with notes on what was missing and what was done about it."""
        self.close()
        self._check_enough()
        notes = list(self._note_absences())
        with np.errstate(over="ignore", invalid="ignore"):
            if self._complete is not None and not self._has_holes:
                complete, self._complete = self._complete, None
                return complete.moments(self.names, self._origin), notes
            if self._complete is not None:
                self._incomplete.add_complete(*self._complete)
            found, done = self._incomplete.finish(self._origin)
            return Moments(*found, self.names), [*notes, *done]

    def close(self) -> None:
        """Add the rows that wait for a full block: what follows is merged, not added."""
        if self._n_waiting:
            self._add_block(self._take(self._n_waiting))
        self._buffer = np.empty((0, len(self.names)))

    @np.errstate(over="ignore", invalid="ignore")
    def merge(self, later: Accumulator) -> None:
        """Add the sums of the rows that follow, which were added elsewhere; both are closed, the other stays as it is.

        Each has sums about an origin of its own: where both have a value in a column, the other's are moved.
        """
        self.close()
        later.close()
        self.n_rows += later.n_rows
        self.n_incomplete += later.n_incomplete
        self.n_empty += later.n_empty
        self._absent += later._absent
        self._origin = np.where(self._unsettled, later._origin, self._origin)
        self._unsettled = self._unsettled & later._unsettled
        step = np.where(later._unsettled, 0.0, later._origin - self._origin)
        if later._complete is not None:
            moved = later._complete._replace(mean=later._complete.mean + step)
            self._complete = moved.copy() if self._complete is None else merge_sums(self._complete, moved)
        self._has_holes |= later._has_holes
        self._incomplete.merge(later._incomplete, step)

    def __getstate__(self) -> dict[str, Any]:
        # Of a symmetric matrix a half travels.
        sums = self._complete
        packed = None if sums is None else sums._replace(scatter=sums.scatter[np.triu_indices(len(self.names))])
        return {**self.__dict__, "_complete": packed, "_buffer": np.empty((0, len(self.names)))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._complete is not None:
            d = len(self.names)
            scatter, upper = np.empty((d, d)), np.triu_indices(d)
            scatter[upper] = self._complete.scatter
            scatter.T[upper] = self._complete.scatter
            self._complete = self._complete._replace(scatter=scatter)

    def _take(self, count: int) -> list[_Piece]:
        """So many of the rows that wait, in their pieces."""
        taken, self._n_waiting = [], self._n_waiting - count
        while count:
            piece = self._waiting.pop(0)
            if len(piece.rows) > count:
                self._waiting.insert(0, piece.cut(count, len(piece.rows)))
                piece = piece.cut(0, count)
            count -= len(piece.rows)
            taken.append(piece)
        return taken

    @np.errstate(over="ignore", invalid="ignore")
    def _add_block(self, pieces: list[_Piece]) -> None:
        rows, weights = self._gather(pieces)
        self.n_rows += len(rows)
        mean = rows.mean(axis=0)
        # A mean is finite only if every cell is: one pass tells whether a mask is needed at all.
        whole = bool(np.isfinite(mean).all())
        known = mean if whole and weights is None else None
        if not whole:
            rows, weights = self._examine(rows, weights, pieces)
            if not len(rows):
                return
        if self._unsettled.any():
            self._settle_origin(rows, mean if whole else rows.mean(axis=0))
            known = None
        if self.missing == "em":
            self._incomplete.add_patterns(rows, weights)
        if whole or not np.isnan(rows).any():
            part = _sum_block(rows, weights, known)
            self._complete = part if self._complete is None else merge_sums(self._complete, part)
        else:
            self._has_holes = True
            self._incomplete.add(rows, weights)

    def _gather(self, pieces: list[_Piece]) -> tuple[Floats, Floats | None]:
        """One block of the pieces, row after row in memory, as distances from what is known of the origin."""
        count, start = sum(len(piece.rows) for piece in pieces), 0
        if len(self._buffer) < count:
            self._buffer = np.empty((count, len(self.names)))
        for piece in pieces:
            np.subtract(piece.rows, self._origin, out=self._buffer[start : start + len(piece.rows)])
            start += len(piece.rows)
        weights = [piece.weights for piece in pieces if piece.weights is not None]
        return self._buffer[:count], np.concatenate(weights) if weights else None

    def _settle_origin(self, rows: Floats, mean: Floats) -> None:
        """Move rows and origin to the mean of these rows where there is none yet: sums lose no digits to it."""
        for column in np.flatnonzero(~np.isfinite(mean) | (rows[0] == rows[-1])):
            values = rows[np.isfinite(rows[:, column]), column]
            if values.size and np.all(values == values[0]):
                # A constant is subtracted as it is, for its mean may be rounded.
                mean[column] = values[0]
            elif values.size and not np.isfinite(mean[column]):
                mean[column] = values.mean()
        found = self._unsettled & np.isfinite(mean)
        step = np.where(found, mean, 0.0)
        rows -= step
        self._origin, self._unsettled = self._origin + step, self._unsettled & ~found

    def _examine(self, rows: Floats, weights: Floats | None, pieces: list[_Piece]) -> tuple[Floats, Floats | None]:
        """Count missing cells, refuse what the policy does not take, and leave out rows that do not count."""
        infinite, absent = np.isinf(rows), np.isnan(rows)
        if infinite.any():
            where = _find_first(infinite, self.names, pieces)
            raise RangeError(f"infinite or beyond the range of floats: {where}; correct or leave out these values")
        if self.missing == "error" and absent.any():
            where = _find_first(absent, self.names, pieces)
            # Categories of more than two levels need complete rows.
            em = () if self._with_levels else (", ", Argument("missing", "em"))
            advised = Argument("missing", "impute"), *em, " or ", Argument("missing", "drop-rows")
            without = ", or leave columns out with ", Argument("drop", ["…"])
            raise InputError(f"missing (NaN or null): {where}; say ", *advised, *without)
        self._absent += absent.sum(axis=0)
        self.n_incomplete += int(absent.any(axis=1).sum())
        self.n_empty += int(absent.all(axis=1).sum())
        kept = ~(absent.any(axis=1) if self.missing == "drop-rows" else absent.all(axis=1))
        return rows[kept], None if weights is None else weights[kept]

    def _check_enough(self) -> None:
        for column in np.flatnonzero(self._absent >= max(1, self.n_rows - 1)):
            name = self.names[column]
            found = f"column {name!r} has {self.n_rows - self._absent[column]} value(s)"
            raise InputError(f"{found}; ", Argument("drop", [name]))
        left = self.n_rows - (self.n_incomplete if self.missing == "drop-rows" else self.n_empty)
        if left < 2:
            without = f", {left} of them complete" if left < self.n_rows else ""
            raise InputError(f"the table has {self.n_rows} sample(s) (rows){without}; at least 2 are needed")

    def _note_absences(self) -> Iterator[Fact[Note]]:
        for column in np.flatnonzero(self._absent):
            yield Fact.of(Note.MISSING, self.names[column], count=int(self._absent[column]), rows=self.n_rows)
        if self.n_incomplete:
            left_out = self.n_incomplete if self.missing == "drop-rows" else self.n_empty
            counts = {"cells": int(self._absent.sum()), "incomplete": self.n_incomplete, "rows": self.n_rows}
            if left_out:
                yield Fact.of(Note.ROWS_LEFT_OUT, **counts, left_out=left_out)
            else:
                yield Fact.of(Note.MISSING, **counts)


class _Piece(NamedTuple):
    """Rows that wait until a block is full; the first of them is row ``start`` of what ``place`` knows."""

    rows: Floats
    weights: Floats | None
    place: Place
    start: int

    def cut(self, start: int, end: int) -> _Piece:
        weights = None if self.weights is None else self.weights[start:end]
        return _Piece(self.rows[start:end], weights, self.place, self.start + start)


def _find_first(found: Bools, names: Sequence[str], pieces: list[_Piece]) -> str:
    """The columns where something was found in a block, with the place of the first row of each."""
    columns, ends = np.flatnonzero(found.any(axis=0)), np.cumsum([len(piece.rows) for piece in pieces])
    said = []
    for column in columns[:5]:
        row = int(found[:, column].argmax())
        at = int(np.searchsorted(ends, row, side="right"))
        place = pieces[at].place(pieces[at].start + row - int(ends[at]) + len(pieces[at].rows))
        said.append(f"{names[column]!r} (first in {place})")
    return ", ".join(said) + (f" and {columns.size - 5} more columns" if columns.size > 5 else "")


class Sums(NamedTuple):
    """Number, mean (d,) and scatter about it (d, d) of some rows."""

    n: float
    mean: Floats
    scatter: Floats

    def copy(self) -> Sums:
        """Sums that may be changed."""
        return Sums(self.n, self.mean.copy(), self.scatter.copy())

    def moments(self, names: tuple[str, ...], origin: Floats | float = 0.0) -> Moments:
        """The moments; the scatter becomes the covariance, for of a wide table one more matrix would be felt."""
        np.divide(self.scatter, self.n, out=self.scatter)
        return Moments(self.n, origin + self.mean, self.scatter, names)


def merge_sums(left: Sums, right: Sums) -> Sums:
    """Sums of both; the scatter of the first becomes that of both."""
    n, step = left.n + right.n, right.mean - left.mean
    scatter, share = left.scatter, left.n * right.n / n
    scatter += right.scatter
    for rows in _bands(len(step)):
        scatter[rows] += np.outer(step[rows], step) * share
    return Sums(n, left.mean + step * (right.n / n), scatter)


def _bands(d: int) -> Iterator[slice]:
    """Bands of rows of a matrix (d, d): of a wide table one more matrix of this size would be felt."""
    for start in range(0, d, band := max(1, _BLOCK_VALUES // d)):
        yield slice(start, min(start + band, d))


def _symmetrise(matrix: Floats) -> None:
    """Replace a matrix by the mean of itself and its transpose, in place."""
    for rows in _bands(len(matrix)):
        right = slice(rows.start, None)
        mean = matrix[rows, right] + matrix[right, rows].T
        mean /= 2
        matrix[rows, right] = mean
        matrix[right, rows] = mean.T


def _sum_block(rows: Floats, weights: Floats | None, mean: Floats | None) -> Sums:
    """Sums of one block about its mean, which may be known; ``rows`` is overwritten."""
    mean = np.average(rows, axis=0, weights=weights) if mean is None else mean
    rows -= mean
    if weights is None:
        return Sums(len(rows), mean, rows.T @ rows)
    rows *= np.sqrt(weights)[:, None]
    return Sums(float(weights.sum()), mean, rows.T @ rows)


def _array(values: object, what: str) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"the {what} must be rectangular: {error}") from error
    if array.dtype.kind not in "biuf":
        held = "Complex data not supported" if array.dtype.kind == "c" else f"the {what} holds {array.dtype}"
        raise InputError(f"{held}; pass real numbers, and convert text, categories and dates first")
    return array


def _numeric(values: object, what: str) -> Floats:
    """Copy as float64, with -0.0 made 0.0 so that equal content has equal bytes."""
    array: Floats = _array(values, what).astype(np.float64)
    array += 0.0
    return array


def _check_possible(mean: Floats, covariance: Floats, names: tuple[str, ...]) -> None:
    """Check that the moments are finite, the covariance symmetric and no correlation beyond ±1."""
    finite = np.isfinite(mean) & np.isfinite(covariance).all(axis=1)
    if not finite.all():
        raise RangeError(f"the moments of column {names[finite.argmin()]!r} are not finite; rescale huge values")
    # The offset lets a variance underflow to 0 while the covariances with larger columns do not.
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0) + 1e-300)
    for part in _bands(len(names)):
        relative = covariance[part] / deviation / deviation[part, None]
        mirrored = (covariance[:, part] / deviation[part] / deviation[:, None]).T
        own = np.diagonal(covariance[part, part]) < 0
        wrong = (np.abs(relative - mirrored) > 1e-8) | (np.abs(relative) > 1 + 1e-8)
        wrong[np.arange(len(own)), np.arange(part.start, part.stop)] |= own
        if wrong.any():
            pair = np.argwhere(wrong)[0] + [part.start, 0]
            numbers, (one, other) = covariance[np.ix_(pair, pair)].tolist(), (names[column] for column in pair)
            raise InputError(f"{numbers} cannot be the covariance matrix of {one!r} and {other!r}")

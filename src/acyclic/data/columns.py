"""What can be said of columns: from their values as they are read, and from their moments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any, Final

import numpy as np
from scipy.linalg import lapack, solve_triangular

from acyclic._native import hash_values, join_hashes
from acyclic.data.dependence import NOTED
from acyclic.data.kinds import FEW_VALUES, MOST_LABELS, Seen
from acyclic.data.moments import Moments
from acyclic.facts import Fact, Note
from acyclic.types import Bools, Floats, Integers

__all__ = ["DIGEST", "ColumnValues", "column_notes"]

DIGEST: Final = "v2:"
"""How digests of the values of tables begin; results that were written earlier have others, of another kind."""
# Values that are looked at first: enough to tell that a column does not hold a few integers, if it does not.
_GLANCE: Final = 32
# Beyond it whole numbers are no codes.
_FAR: Final = 1e9
# Matrices of more columns than this are not copied to be factorised; the order of their entries in memory is turned.
_MANY: Final = 1000
# A relation between columns is written out up to so many terms.
_MOST_TERMS: Final = 6


class ColumnValues:
    """What is to be said of the values themselves: their digest, and how often each comes where they are few.

    Independent of the blocks in which the rows come, and of the source; what was seen of the rows that follow can be
    merged into it.

    Parameters
    ----------
    names : tuple of str
        The columns.
    many : collection of str
        Those of which up to `MOST_LABELS` values are counted, for they are text or were told to be categories; of
        others a few whole numbers, or two of any kind.
    """

    def __init__(self, names: tuple[str, ...], many: Collection[str] = ()) -> None:
        self.names, self.n_rows = names, 0
        # The last is that of the weights.
        self._hashes = np.zeros((len(names) + 1, 2), dtype=np.uint64)
        self._weighted = False
        self._counts: dict[int, dict[float, float]] = {column: {} for column in range(len(names))}
        self._most = [MOST_LABELS if name in many else FEW_VALUES for name in names]
        self._whole = np.ones(len(names), dtype=bool)
        self._negative = np.zeros(len(names), dtype=bool)

    def add(self, rows: Floats, weights: Floats | None, *, has_gaps: bool = True, complete_only: bool = False) -> None:
        """Add rows (k, d) as they are; ``has_gaps`` if NaN may stand in them, ``complete_only`` to count no others."""
        self.n_rows += len(rows)
        columns = np.ascontiguousarray(rows.T, dtype=np.float64)
        absent = np.isnan(columns) if has_gaps else None
        if absent is not None and absent.any():
            # There are many NaN, and which one marks a missing cell depends on the source.
            columns = np.where(absent, np.nan, columns)
        else:
            absent = None
        hash_values(columns, self._hashes[:-1])
        if weights is not None:
            self._weighted = True
            hash_values(np.ascontiguousarray(weights, dtype=np.float64)[None], self._hashes[-1:])
        if complete_only and absent is not None:
            whole = ~absent.any(axis=0)
            columns, weights = columns[:, whole], None if weights is None else weights[whole]
        if columns.shape[1]:
            self._look(columns)
            self._count(columns, weights)

    def merge(self, later: ColumnValues) -> None:
        """Add what was seen of the rows that follow, elsewhere."""
        self._hashes = join_hashes(self._hashes, later._hashes, later.n_rows)
        self.n_rows += later.n_rows
        self._weighted |= later._weighted
        self._whole &= later._whole
        self._negative |= later._negative
        for column in list(self._counts):
            self._add_counts(column, later._counts.get(column))

    def _look(self, columns: Floats) -> None:
        """Which columns still hold whole numbers only, and which negative ones."""
        for number in (_GLANCE, columns.shape[1]):
            still = np.flatnonzero(self._whole)
            values = columns[still, :number]
            # NaN differs from itself: a missing cell speaks neither for nor against.
            self._whole[still] = ~((values != np.rint(values)) & (values == values)).any(axis=1)
            self._negative[still] |= (values < 0).any(axis=1)

    def _count(self, columns: Floats, weights: Floats | None) -> None:
        for number in (_GLANCE, columns.shape[1]):
            last = number == columns.shape[1]
            for column in list(self._counts):
                found = _tally(columns[column, :number], None if weights is None else weights[:number])
                self._add_counts(column, found, only_look=not last)

    def _add_counts(self, column: int, found: Mapping[float, float] | None, *, only_look: bool = False) -> None:
        """Add counts of values, unless there are too many in all; None stands for too many."""
        counts, whole = self._counts[column], self._whole[column]
        most = self._most[column] if whole or self._most[column] > FEW_VALUES else 2
        if found is None or len(counts.keys() | found.keys()) > most:
            del self._counts[column]
        elif not only_look:
            for value, count in found.items():
                counts[value] = counts.get(value, 0) + count

    def find_zeros(self) -> Bools:
        """Which columns (d,) are 0 throughout."""
        return np.array([set(self._counts.get(column, ())) == {0.0} for column in range(len(self.names))])

    def digest(self, **steps: Any) -> str:
        """SHA-256 of names, number of rows, hashes of values and weights, and what is done with them."""
        done = {step: value for step, value in steps.items() if value}
        content = [self.names, self.n_rows, self._hashes.tolist(), self._weighted, *([done] if done else [])]
        return DIGEST + hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def seen(self) -> list[Seen]:
        """What was seen of each column."""
        return [
            Seen(self._counts.get(column), whole, negative)
            for column, (whole, negative) in enumerate(zip(self._whole.tolist(), self._negative.tolist()))
        ]


def _tally(values: Floats, weights: Floats | None) -> dict[float, float]:
    """How many rows each value has, NaN not counted."""
    if not (given := values == values).all():
        values, weights = values[given], None if weights is None else weights[given]
    if not values.size:
        return {}
    low, high = values.min(), values.max()
    if -_FAR < low <= high < min(low + _GLANCE, _FAR) and (values == (whole := values.astype(np.intp))).all():
        # Counting is several times as fast as sorting.
        counts = np.bincount(whole - int(low), weights)
        present = np.flatnonzero(np.bincount(whole - int(low)))
        return dict(zip((present + low).tolist(), counts[present].tolist()))
    if weights is None:
        found, counts = np.unique(values, return_counts=True)
    else:
        found, inverse = np.unique(values, return_inverse=True)
        counts = np.bincount(inverse, weights)
    return dict(zip(found.tolist(), counts.tolist()))


def column_notes(moments: Moments) -> list[Fact[Note]]:
    """Find constant, duplicate and collinear columns.

    A column is constant if its standard deviation is below the rounding of its mean, a duplicate if its
    correlation with an earlier column is ±1 to 1e-12, and collinear if the pivoted Cholesky factor of the
    correlation matrix leaves it less than ``1e-12 d`` of its variance. Where there are no more rows than columns
    some are bound to be collinear, and one fact tells how many.

    >>> X = [[1.0, 5.0, 2.0], [2.0, 5.0, 4.0], [4.0, 5.0, 8.0]]
    >>> [(note.kind.value, note.about) for note in column_notes(Moments.from_array(X))]
    [('constant', ('x1',)), ('duplicate', ('x2', 'x0'))]
    """
    constant, correlation = moments.constant, moments.correlation()
    twins = np.triu((correlation >= 1 - NOTED) | (correlation <= NOTED - 1), 1)
    doubled = twins.any(axis=0)
    notes = [
        Fact.of(Note.CONSTANT, moments.names[column], value=float(moments.mean[column]))
        for column in np.flatnonzero(constant)
    ]
    for column in np.flatnonzero(doubled).tolist():
        first = np.flatnonzero(twins[:, column])[:1]
        notes.append(_note_relation(Note.DUPLICATE, moments, column, first, correlation[first, column]))
    return notes + _collinear_notes(moments, correlation, np.flatnonzero(~constant & ~doubled))


def _collinear_notes(moments: Moments, correlation: Floats, columns: Integers) -> list[Fact[Note]]:
    if columns.size == 0:
        return []
    # All that follows is of the block, which is overwritten: of a wide table a copy of the matrix would be felt.
    block = correlation if columns.size == len(correlation) else correlation[np.ix_(columns, columns)]
    mirrored = block.T if columns.size > _MANY else block
    factor, pivots, rank, _ = lapack.dpstrf(mirrored, tol=NOTED * columns.size, lower=1, overwrite_a=True)
    order = columns[pivots - 1]
    if rank == columns.size:
        return []
    if moments.n <= columns.size:
        about = [moments.names[column] for column in sorted(order[rank:].tolist())]
        return [Fact.of(Note.FEW_ROWS_COLLINEAR, *about, rows=moments.n, columns=len(moments.names))]
    slopes = solve_triangular(factor[:rank, :rank], factor[rank:, :rank].T, lower=True, trans="T").T
    notes = []
    for column, slope in sorted(zip(order[rank:].tolist(), slopes), key=lambda pair: pair[0]):
        part = sorted(np.flatnonzero(np.abs(slope) > 1e-6 * np.abs(slope).max()), key=order.__getitem__)
        notes.append(_note_relation(Note.COLLINEAR, moments, column, order[part], slope[part]))
    return notes


def _note_relation(kind: Note, moments: Moments, column: int, others: Integers, slope: Floats) -> Fact[Note]:
    """Note that ``column`` is a linear function of ``others``; ``slope`` is in units of standard deviations.

    The values are the first coefficients, by the names of their columns.
    """
    deviation = np.sqrt(np.diag(moments.covariance))
    terms = slope * deviation[column] / deviation[others]
    names = tuple(moments.names[other] for other in others)
    return Fact(kind, (moments.names[column], *names), tuple(zip(names, terms[:_MOST_TERMS].tolist())))

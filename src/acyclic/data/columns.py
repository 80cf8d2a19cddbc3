"""What can be said of columns: from their values as they are read, and from their moments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import numpy as np
from scipy.linalg import lapack, solve_triangular

from acyclic.data.dependence import NOTED
from acyclic.data.moments import Moments
from acyclic.facts import Fact, Note
from acyclic.types import Bools, Floats, Integers

__all__ = ["ColumnValues", "Kind", "column_notes"]

# A column with so few values, all integers, may hold codes of categories.
_MOST_CODES: Final = 10
# Values that are looked at first: enough to tell that a column does not hold a few integers, if it does not.
_GLANCE: Final = 32
# A relation between columns is written out up to so many terms.
_MOST_TERMS: Final = 6


class Kind(StrEnum):
    """What a column holds."""

    CONTINUOUS = "continuous"
    BOOLEAN = "boolean"
    CODES = "codes"
    """A few integer values, which may be codes of categories."""


class ColumnValues:
    """What is to be said of the values themselves: their digest, and which columns hold a few integers only.

    Independent of the blocks in which the rows come, and of the source.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names, self.n_rows = names, 0
        self._hashes = [hashlib.sha256() for _ in names]
        self._weights = hashlib.sha256()
        self._codes: dict[int, set[float]] = {column: set() for column in range(len(names))}

    def add(self, rows: Floats, weights: Floats | None, *, has_gaps: bool = True) -> None:
        """Add rows (k, d) as they are; ``has_gaps`` if NaN may stand in them."""
        self.n_rows += len(rows)
        columns = np.ascontiguousarray(rows.T, dtype="<f8")
        if has_gaps and (absent := np.isnan(columns)).any():
            # There are many NaN, and which one marks a missing cell depends on the source.
            columns = np.where(absent, np.nan, columns)
        for digest, column in zip(self._hashes, columns):
            digest.update(column.data)
        if weights is not None:
            self._weights.update(np.ascontiguousarray(weights, dtype="<f8").data)
        if self._codes and len(rows):
            self._collect_codes(columns)

    def _collect_codes(self, columns: Floats) -> None:
        for number in (_GLANCE, columns.shape[1]):
            candidates = list(self._codes)
            values = columns[candidates, :number]
            # NaN differs from itself: a missing cell speaks neither for nor against.
            fractional = ((values != np.rint(values)) & (values == values)).any(axis=1)
            for column, part, odd in zip(candidates, values, fractional.tolist()):
                if not odd:
                    self._codes[column].update(np.unique(part[part == part]).tolist())
                if odd or len(self._codes[column]) > _MOST_CODES:
                    del self._codes[column]

    def find_zeros(self) -> Bools:
        """Which columns (d,) are 0 throughout."""
        return np.array([self._codes.get(column) == {0.0} for column in range(len(self.names))])

    def digest(self, **steps: Any) -> str:
        """SHA-256 of names, number of rows, the values of each column, weights, and what is done with them."""
        hashes = [digest.hexdigest() for digest in (*self._hashes, self._weights)]
        done = {step: value for step, value in steps.items() if value}
        content = [self.names, self.n_rows, hashes, *([done] if done else [])]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def kinds(self, booleans: frozenset[str]) -> dict[str, Kind]:
        """What each column holds; the source knows which are boolean."""
        kinds = dict.fromkeys(self.names, Kind.CONTINUOUS)
        kinds |= {self.names[column]: Kind.CODES for column in self._few()}
        return kinds | {name: Kind.BOOLEAN for name in self.names if name in booleans}

    def notes(self, kinds: Mapping[str, Kind]) -> Iterator[Fact[Note]]:
        """Remarks on boolean columns and on those that may hold codes."""
        for name in self.names:
            if kinds[name] is Kind.BOOLEAN:
                yield Fact.of(Note.BOOLEAN, name)
        for column, values in self._few().items():
            # Two values are an outcome or a group, which linear models take as well as any number.
            if kinds[self.names[column]] is Kind.CODES and len(values) > 2:
                listed = ", ".join(f"{value:g}" for value in sorted(values))
                yield Fact.of(Note.CODES, self.names[column], count=len(values), listed=listed)

    def _few(self) -> dict[int, set[float]]:
        return {column: values for column, values in self._codes.items() if 1 < len(values) <= self.n_rows / 5}


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
    twins = np.triu(np.abs(correlation) >= 1 - NOTED, 1)
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
    block = correlation[np.ix_(columns, columns)]
    factor, pivots, rank, _ = lapack.dpstrf(block, tol=NOTED * columns.size, lower=1)
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

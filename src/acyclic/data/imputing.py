"""Missing cells filled with values of rows that resemble theirs, for tables of any kinds of columns.

Chained regressions with predictive mean matching (van Buuren, *Flexible Imputation of Missing Data*, chapters 3 and 4):
each column with gaps is regressed on those it goes with, and a gap gets the value of one of the five rows whose
prediction is nearest to its own, drawn at random; the columns are gone through several times. Filled cells are thus
values that the column has, with the scatter that it has. All rests on ranks and levels: units do not matter, nor does
the order of the columns.

A filled cell repeats what other cells say, and must not count as one that was seen. `choose_rows` hence keeps only as
many rows as have three columns at once on average, those with the fewest gaps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from math import ceil
from typing import Final, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.spatial import cKDTree
from scipy.special import ndtri

from acyclic.data.missing import count_triples
from acyclic.types import Bools, Floats, Integers

__all__ = ["choose_rows", "impute"]

# From how many rows a value is drawn: the usual number; with one, rows would be copied over and over.
_DONORS: Final = 5
# Rows that a regression rests on, and whose values are drawn, at most; more would not fill better.
_TOGETHER: Final = 20_000
# Five to ten are usual (van Buuren, section 4.5); of rows that were filled before fewer are enough.
_ROUNDS: Final = 5
_ROUNDS_AGAIN: Final = 2
# A column is regressed on so many others, those that go with it most, and on a feature for each so many rows.
_MOST_PARENTS: Final = 20
_ROWS_FOR_EACH: Final = 5
# Rows by which it is found what goes with what: correlations are known to 0.02 then.
_ROWS_TO_RANK: Final = 2500
# Curves bend at these shares of the rows.
_BENDS: Final = (0.1, 0.35, 0.65, 0.9)
# Of the variance of features: enough for those that repeat each other, little for those that are nearly collinear.
_RIDGE: Final = 1e-6
# Far below any difference that predictions have, and above their rounding.
_JITTER: Final = 1e-9


def choose_rows(present: Bools) -> Integers:
    """Positions, in rising order, of the rows (of n, d) to use: the fullest, as many as have three columns at once.

    >>> choose_rows(np.array([[True, True, True], [True, False, True], [True, True, True], [False, False, True]]))
    array([0, 2])
    """
    patterns, which, counts = np.unique(np.packbits(present, axis=1), axis=0, return_inverse=True, return_counts=True)
    of_patterns = np.unpackbits(patterns, axis=1, count=present.shape[1]).astype(bool)
    full = np.count_nonzero(of_patterns, axis=1)[which.ravel()]
    # A mean that is a whole number must not lose a row by rounding.
    most = int(round(count_triples(of_patterns, counts.astype(np.float64)), 6))
    most = max(most, int(np.sum(full == present.shape[1])))
    order = np.argsort(-full, kind="stable")[:most]
    return np.sort(order[full[order] > 0])


def impute(
    rows: Floats, names: Sequence[str], codes: Sequence[Integers | None], seed: int, start: Floats | None = None
) -> Floats:
    """Rows (n, d) with every NaN filled.

    Parameters
    ----------
    rows : array (n, d)
        At least one value in every column.
    names : sequence of str
        The columns; draws depend on them and not on their order.
    codes : sequence of arrays (n,) or None
        The levels 0, 1, … of columns that are categories, anything where a cell is missing; None for numbers.
    seed : int
    start : array (n, d), optional
        Rows that were filled before, from which two rounds are enough; five from random values.
    """
    order = sorted(range(len(names)), key=lambda k: names[k])
    columns = [_Column.of(rows[:, k], codes[k], names[k]) for k in order]
    _fill(columns, seed, None if start is None else [start[:, k] for k in order])
    filled = np.empty(rows.shape)
    for k, column in zip(order, columns):
        filled[:, k] = column.values[column.which]
    return filled


class _Column(NamedTuple):
    """The different values (u,) of a column, each in lines (u, t) and in curves (u, b), and which one a row has (n,).

    A number is its normal score in lines, and what that exceeds some others by in curves; a category is its levels.
    """

    name: str
    values: Floats
    lines: Floats
    bends: Floats
    which: Integers
    gaps: Integers

    @classmethod
    def of(cls, cells: Floats, codes: Integers | None, name: str) -> _Column:
        """A column of numbers, or of categories with these codes (n,)."""
        seen = np.flatnonzero(~np.isnan(cells))
        values, first, inverse, counts = np.unique(
            cells[seen], return_index=True, return_inverse=True, return_counts=True
        )
        which = np.full(len(cells), -1)
        which[seen] = inverse.ravel()
        if codes is not None:
            level = codes[seen[first]]
            # Of a single level there is nothing to tell, in one column all the same.
            others = np.unique(level)[1:] if len(np.unique(level)) > 1 else np.array([-1])
            lines, bends = (level[:, None] == others).astype(np.float64), np.empty((len(values), 0))
        else:
            score = ndtri((np.cumsum(counts) - counts / 2) / len(seen))
            lines, bends = score[:, None], np.maximum(score[:, None] - ndtri(_BENDS), 0.0)
        share = counts / len(seen)
        return cls(name, values, lines - share @ lines, bends - share @ bends, which, np.flatnonzero(which < 0))


def _fill(columns: list[_Column], seed: int, start: list[Floats] | None) -> None:
    """Go through the columns with gaps, those with the fewest first, round after round."""
    order = sorted((k for k, column in enumerate(columns) if len(column.gaps)), key=lambda k: len(columns[k].gaps))
    if not order:
        return
    ranked = _rank_others(columns)
    draws = {k: _generator(seed, columns[k].name) for k in order}
    for k in order:
        column = columns[k]
        if start is None:
            seen = column.which[column.which >= 0]
            column.which[column.gaps] = draws[k].choice(seen, size=len(column.gaps))
        else:
            column.which[column.gaps] = np.searchsorted(column.values[:-1], start[k][column.gaps])
    for _ in range(_ROUNDS if start is None else _ROUNDS_AGAIN):
        for k in order:
            _draw(columns[k], [columns[j] for j in ranked[k]], draws[k])


def _rank_others(columns: list[_Column]) -> list[Integers]:
    """For each column the others, those first that go with it most, by the largest correlation of their features."""
    n = len(columns[0].which)
    some = slice(None, None, ceil(n / _ROWS_TO_RANK))
    blocks = []
    for column in columns:
        which = column.which[some]
        # A number also goes with another's distance from the middle.
        bent = [] if len(column.lines[0]) != 1 else [np.abs(column.lines)]
        features = np.column_stack([column.lines, *bent])
        seen = which[which >= 0]
        centre = features[seen].mean(axis=0) if len(seen) else 0.0
        blocks.append(np.where(which[:, None] < 0, 0.0, (features - centre)[which]))
    joined = np.column_stack(blocks)
    scale = np.sqrt(np.square(joined).sum(axis=0))
    size = np.abs(joined.T @ joined) / np.where(scale > 0, scale, 1.0) / np.where(scale > 0, scale, 1.0)[:, None]
    starts = np.cumsum([0, *(block.shape[1] for block in blocks)])[:-1]
    strength = np.maximum.reduceat(np.maximum.reduceat(size, starts, axis=0), starts, axis=1)
    np.fill_diagonal(strength, -1.0)
    return [order[:-1] for order in np.argsort(-strength, axis=1, kind="stable")]


def _draw(column: _Column, others: list[_Column], rng: Generator) -> None:
    """Draw the gaps of a column again, given the others, the best first."""
    seen = np.setdiff1d(np.arange(len(column.which)), column.gaps, assume_unique=True)
    if len(seen) > _TOGETHER:
        seen = rng.choice(seen, _TOGETHER, replace=False)
    features = _Features(others[:_MOST_PARENTS], max(len(seen) // _ROWS_FOR_EACH, 1))
    F = features.of(seen)
    G = F.T @ F
    G[np.diag_indices_from(G)] += _RIDGE * (np.diag(G) + 1.0)
    slopes = np.linalg.solve(G, F.T @ column.lines[column.which[seen]])
    # Rows with equal predictions are equally near: which of them are found must be chance, not their order.
    near = cKDTree(F @ slopes + _JITTER * rng.standard_normal((len(seen), slopes.shape[1])))
    for begin in range(0, len(column.gaps), _TOGETHER):
        gaps = column.gaps[begin : begin + _TOGETHER]
        predicted = features.of(gaps) @ slopes + _JITTER * rng.standard_normal((len(gaps), slopes.shape[1]))
        found = near.query(predicted, k=min(_DONORS, len(seen)))[1].reshape(len(gaps), -1)
        donors = seen[found[np.arange(len(gaps)), rng.integers(found.shape[1], size=len(gaps))]]
        column.which[gaps] = column.which[donors]


class _Features:
    """What a column is regressed on: lines of the others, so many at most, then bends, those of the best first."""

    def __init__(self, others: list[_Column], most: int) -> None:
        self._lines: list[_Column] = []
        self._bends: list[_Column] = []
        for other in others:
            most -= other.lines.shape[1]
            if most < 0 and self._lines:
                break
            self._lines.append(other)
        for other in self._lines:
            most -= other.bends.shape[1]
            if most < 0:
                break
            self._bends.append(other)

    def of(self, rows: Integers) -> Floats:
        """Those of some rows (k, f), and 1 before them."""
        lines = [other.lines[other.which[rows]] for other in self._lines]
        return np.column_stack([np.ones(len(rows)), *lines, *(other.bends[other.which[rows]] for other in self._bends)])


def _generator(seed: int, name: str) -> Generator:
    return np.random.default_rng([seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")])

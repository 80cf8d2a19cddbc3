"""Any table as moments: arrays, data frames, and CSV or Parquet files of any length, read in blocks of rows.

Hides what is done with the columns between a source and its moments: choice, weights, logarithms, scale and remarks.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from acyclic.data.missing import Accumulator, Missing
from acyclic.data.moments import ColumnNote, Moments, column_notes
from acyclic.data.sources import ArraySource, FrameSource, Place, Source, scanned_parquet
from acyclic.data.text import TextFormat, TextSource
from acyclic.errors import InputError
from acyclic.graphs.checks import check_names
from acyclic.types import Floats, Integers

__all__ = ["Table", "read_table"]

_MOST_CODES: Final = 10
_ROWS_LIMIT: Final = 1 << 28


@dataclass(frozen=True, eq=False)
class Table:
    """What `read_table` found in a table.

    Attributes
    ----------
    moments : Moments
        All that the linear learners need.
    notes : tuple of ColumnNote
        Remarks for the reader; `kind` is "constant", "duplicate", "collinear", "codes", "boolean", "dropped", "log",
        "standardized", "weights", "missing" or "not converged", and `column` is empty if the whole table is meant.
    n_rows : int
        Rows read, incomplete ones included, those of weight 0 not; `moments.n` is what they amount to.
    digest : str
        SHA-256 of the names and values of the columns used, before any transformation: the same for the same
        content, whatever the kind of source.
    """

    moments: Moments
    notes: tuple[ColumnNote, ...]
    n_rows: int
    digest: str
    _: KW_ONLY
    _plan: _Plan | None = field(default=None, repr=False)

    def rows(self, *, limit: int = _ROWS_LIMIT) -> Floats:
        """Read the source again and give the rows (n, d) that the moments describe, transformed like them.

        Parameters
        ----------
        limit : int
            The most values, n times d, that may be put in memory; 2 GiB of them if left out.
        """
        if self._plan is None:
            raise InputError("there are no rows behind moments; pass the table itself to methods that need rows")
        if self.n_rows * len(self.moments.names) > limit:
            size = f"{self.n_rows} rows of {len(self.moments.names)} columns"
            raise InputError(f"{size} are more than the limit of {limit} values; sample the rows, or raise the limit")
        rows, digest = self._plan.rows()
        if digest != self.digest:
            raise InputError("the table has changed since its moments were read; read it again")
        return rows


def read_table(
    source: Any,
    *,
    names: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    log: Sequence[str] | bool | None = None,
    standardize: bool = False,
    weights: str | ArrayLike | None = None,
    missing: Missing = "error",
    header: bool = True,
    separator: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
    null_values: str | Sequence[str] = (),
) -> Table:
    """Read any table of numbers as moments, with remarks on its columns.

    Numbers and booleans are accepted; text, dates and categories are refused by column name. Files, Polars lazy frames
    and Dask frames are read in blocks, so that they may be larger than the memory.

    Parameters
    ----------
    source : array, data frame, path or Moments
        A two-dimensional array; a pandas, Polars, PyArrow or Dask table; the path of a CSV or other separated text file
        (``.csv``, ``.tsv``, ``.txt``, also with ``.gz``), of a ``.parquet`` file or of a folder of them.
    names : sequence of str, optional
        Column names for an array or a text file, in place of those in its header; ``x0, x1, …`` if there are none.
    columns, drop : sequences of str, optional
        The columns to use, in that order (all), and those to leave out (none).
    log : sequence of str or True, optional
        The columns to replace by their natural logarithm.
    standardize : bool
        Scale every column to mean 0 and variance 1 after that: the covariance is the correlation.
    weights : str or array-like (n,), optional
        How many rows each row stands for: a column, which is then no longer one of the table's, or numbers.
    missing : {"error", "drop-rows", "pairwise", "em"}
        What to do about missing cells (null or NaN); `acyclic.data.missing.Accumulator` defines each.
    header : bool
        Whether the first line of a text file names the columns.
    separator : str, optional
        Between the fields of a text file; if left out, the one of tab, ``;``, ``|`` and ``,`` that fits.
    decimal : {".", ","}
        The decimal mark in a text file.
    encoding : str, optional
        Of a text file; UTF-8, with or without byte order mark, if left out.
    null_values : str or sequence of str
        What marks a missing cell in a text file besides an empty field, NA, NaN and null.

    Examples
    --------
    >>> table = read_table([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]], names=["dose", "effect"], log=["dose"])
    >>> table.moments
    Moments(n=3, d=2: dose, effect)
    >>> [note.message for note in table.notes]
    ["'dose' was replaced by its natural logarithm"]
    """
    marks = (null_values,) if isinstance(null_values, str) else tuple(null_values)
    text = TextFormat(header, separator, decimal, encoding, marks)
    if isinstance(source, Moments):
        given = [names, log, weights, None if missing == "error" else missing, None if text == TextFormat() else text]
        return _of_moments(source, columns, drop, standardize, [option for option in given if option is not None])
    opened = _opened(source, names, text)
    plan = _Plan.made(opened, columns, drop, log, standardize, weights, missing)
    return plan.read()


def _of_moments(
    moments: Moments, columns: Sequence[str] | None, drop: Sequence[str] | None, standardize: bool, other: list[object]
) -> Table:
    if other:
        raise InputError(f"moments have no rows to which {other} could apply; columns, drop and standardize can")
    used = _selected(moments.names, columns, drop)
    chosen = moments if used == moments.names else moments.select(used)
    chosen = chosen.standardized() if standardize else chosen
    return Table(chosen, tuple(column_notes(chosen)), int(chosen.n), chosen.digest())


def _selected(names: tuple[str, ...], columns: Sequence[str] | None, drop: Sequence[str] | None) -> tuple[str, ...]:
    """The columns to use, in order."""
    wanted = names if columns is None else _known("columns", columns, names)
    dropped = () if drop is None else _known("drop", drop, names)
    left = tuple(name for name in wanted if name not in dropped)
    if not left:
        raise InputError(f"no column is left to use; the columns are {_shown(names)}")
    return left


def _known(option: str, given: Sequence[str], names: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise InputError(f"{option} is the single string {given!r}; give a list, {option}=[{given!r}]")
    for name in given:
        if name not in names:
            raise InputError(f"{option} names {name!r}; the columns are {_shown(names)}")
    return check_names(given) if given else ()


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


@dataclass(frozen=True, eq=False)
class _Plan:
    """Which columns of a source to read, and what to do with them on the way."""

    source: Source
    columns: tuple[str, ...]
    dropped: tuple[str, ...]
    logged: tuple[str, ...]
    standardize: bool
    weights: str | Floats | None
    missing: Missing

    @classmethod
    def made(
        cls,
        source: Source,
        columns: Sequence[str] | None,
        drop: Sequence[str] | None,
        log: Sequence[str] | bool | None,
        standardize: bool,
        weights: str | ArrayLike | None,
        missing: Missing,
    ) -> _Plan:
        used = _selected(source.names, columns, drop)
        if isinstance(weights, str):
            _known("weights", [weights], source.names)
            used = _selected(used, None, [weights]) if weights in used else used
        elif weights is not None:
            weights = _row_weights(weights)
        logged = used if log is True else _known("log", log or (), used)
        read = (*used, weights) if isinstance(weights, str) else used
        if bad := [name for name in read if name in source.refused]:
            reasons = "; ".join(f"{name!r} {source.refused[name]}" for name in bad[:5])
            rest = f"; and {len(bad) - 5} more" if len(bad) > 5 else ""
            raise InputError(f"not numbers: {reasons}{rest}; leave out with drop={bad}, or list others as columns=[…]")
        dropped = tuple(name for name in source.names if name not in read)
        return cls(source, used, dropped, logged, standardize, weights, missing)

    def blocks(self) -> Iterator[tuple[Floats, Floats | None, Place]]:
        """Rows as they are, their weights, and where they stand; rows of weight 0 do not count."""
        named, start = isinstance(self.weights, str), 0
        read = (*self.columns, str(self.weights)) if named else self.columns
        for rows, place in self.source.blocks(read):
            start += len(rows)
            if self.weights is None:
                yield rows, None, place
                continue
            share = rows[:, -1] if isinstance(self.weights, str) else self.weights[start - len(rows) : start]
            _check_weights(share, len(rows), place)
            kept = np.flatnonzero(share > 0)
            yield rows[kept, : len(self.columns)], share[kept], partial(_place_of_kept, place, kept)
        if isinstance(self.weights, np.ndarray) and self.weights.shape != (start,):
            raise InputError(f"weights have shape {self.weights.shape}; one weight per row, ({start},), is needed")

    def transformed(self, rows: Floats, place: Place) -> Floats:
        """Rows with logarithms taken, in place."""
        for column in map(self.columns.index, self.logged):
            values = rows[:, column]
            if (low := values <= 0).any():
                what = f"{self.columns[column]!r} is {values[low][0]:g} in {place(int(low.argmax()))}"
                raise InputError(f"{what}: only values above 0 have a logarithm; correct it or leave log out")
            np.log(values, out=values)
        return rows

    def read(self) -> Table:
        contents, accumulator = _Contents(self.columns), Accumulator(self.columns, self.missing)
        for rows, weights, place in self.blocks():
            contents.add(rows, weights)
            accumulator.add(self.transformed(rows, place), weights, place)
        moments, absences = accumulator.result()
        notes = [*self._notes(), *contents.notes(self.source.booleans), *column_notes(moments), *absences]
        moments = moments.standardized() if self.standardize else moments
        return Table(moments, tuple(notes), accumulator.n_rows, contents.digest(), _plan=self)

    def rows(self) -> tuple[Floats, str]:
        if self.weights is not None:
            raise InputError("the rows have weights, which only moments can express; leave weights out")
        contents, parts = _Contents(self.columns), []
        for rows, _, place in self.blocks():
            contents.add(rows, None)
            parts.append(self.transformed(rows, place))
        table = np.concatenate(parts)
        complete = ~np.isnan(table).any(axis=1)
        if not complete.all() and self.missing != "drop-rows":
            raise InputError("some rows have missing cells; only missing='drop-rows' gives complete rows")
        table = table[complete]
        if self.standardize:
            table -= table.mean(axis=0)
            deviation = np.sqrt(np.mean(table**2, axis=0))
            constant = [note.column for note in column_notes(Moments.from_array(table, self.columns))]
            table /= np.where(np.isin(self.columns, constant) | (deviation == 0), np.inf, deviation)
        return table, contents.digest()

    def _notes(self) -> Iterator[ColumnNote]:
        for name in self.dropped:
            yield ColumnNote("dropped", name, (), f"{name!r} was left out")
        for name in self.logged:
            yield ColumnNote("log", name, (), f"{name!r} was replaced by its natural logarithm")
        if isinstance(self.weights, str):
            yield ColumnNote("weights", self.weights, (), f"{self.weights!r} counts the rows")
        if self.standardize:
            yield ColumnNote("standardized", "", (), "every column was scaled to mean 0 and variance 1")


def _place_of_kept(place: Place, kept: Integers, row: int) -> str:
    return place(int(kept[row]))


def _row_weights(weights: ArrayLike) -> Floats:
    try:
        values = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"weights must be numbers or the name of a column: {error}") from error
    if values.ndim != 1:
        raise InputError(f"weights have shape {values.shape}; one weight per row, (n,), is needed")
    return values


def _check_weights(share: Floats, rows: int, place: Place) -> None:
    if len(share) < rows:
        raise InputError(f"there is no weight for {place(len(share))} and what follows; one per row is needed")
    good = np.isfinite(share) & (share >= 0)
    if not good.all():
        at = int(good.argmin())
        raise InputError(f"the weight of {place(at)} is {share[at]}; weights must be finite and not negative")


class _Contents:
    """What is to be said of the values themselves: their digest, and which columns hold a few integers only."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names, self.n_rows = names, 0
        self._hashes = [hashlib.sha256() for _ in (*names, "weights")]
        self._codes: dict[int, set[float]] = {column: set() for column in range(len(names))}

    def add(self, rows: Floats, weights: Floats | None) -> None:
        self.n_rows += len(rows)
        for column, digest in enumerate(self._hashes[:-1]):
            digest.update(np.ascontiguousarray(rows[:, column], dtype="<f8").data)
        if weights is not None:
            self._hashes[-1].update(np.ascontiguousarray(weights, dtype="<f8").data)
        for column in list(self._codes):
            values = rows[~np.isnan(rows[:, column]), column]
            if np.all(values == np.rint(values)):
                self._codes[column].update(np.unique(values).tolist())
            else:
                del self._codes[column]
            if len(self._codes.get(column, ())) > _MOST_CODES:
                del self._codes[column]

    def digest(self) -> str:
        hashes = [digest.hexdigest() for digest in self._hashes]
        return hashlib.sha256(json.dumps([self.names, self.n_rows, hashes]).encode()).hexdigest()

    def notes(self, booleans: frozenset[str]) -> Iterator[ColumnNote]:
        for name in self.names:
            if name in booleans:
                yield ColumnNote("boolean", name, (), f"{name!r} is boolean; true counts as 1 and false as 0")
        for column, values in self._codes.items():
            name, shown = self.names[column], ", ".join(f"{value:g}" for value in sorted(values))
            if name not in booleans and 1 < len(values) <= self.n_rows / 5:
                text = f"{name!r} has only the {len(values)} values {shown}: if these are codes of categories, drop it"
                yield ColumnNote("codes", name, (), text)


def _opened(source: Any, names: Sequence[str] | None, text: TextFormat) -> Source:
    """Find out what kind of table it is."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        kind = _file_kind(path)
        if kind == "text":
            return TextSource.opened(path, names, text)
        source = scanned_parquet(path)
    if text != TextFormat():
        raise InputError("header, separator, decimal, encoding and null_values are for text files only")
    if not hasattr(type(source), "columns"):
        return ArraySource.opened(source, names)
    if names is not None:
        raise InputError("names are for arrays and text files; a data frame has its own: rename its columns")
    return FrameSource.opened(source)


def _file_kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.is_dir() or suffixes[-1:] in ([".parquet"], [".pq"]):
        return "parquet"
    if suffixes[-1:] not in ([".csv"], [".tsv"], [".txt"]):
        raise InputError(f"{path} is no .csv, .tsv, .txt (also with .gz) or .parquet file and no folder of the latter")
    return "text"

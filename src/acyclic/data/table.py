"""The one Table that everything is learned from, made from arrays, frames, files of any length, or moments."""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from inspect import signature
from typing import Any, Literal

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import ArrayLike

from acyclic.data.columns import DIGEST, column_notes
from acyclic.data.kinds import Coding, Told, read_kinds, show_number
from acyclic.data.missing import Missing
from acyclic.data.moments import Moments
from acyclic.data.outliers import find_outliers
from acyclic.data.partials import RowWeights
from acyclic.data.partitions import PartedSource
from acyclic.data.reading import (
    ROWS_LIMIT,
    Content,
    Reading,
    Where,
    join_rows,
    open_source,
    select_columns,
    too_large,
)
from acyclic.data.resampling import wishart
from acyclic.data.sources import Misread, Source, check_numbers
from acyclic.data.text import TextFormat
from acyclic.deadline import Deadline
from acyclic.errors import Argument, InputError, Part, show_name
from acyclic.facts import Fact, NoRows, Note
from acyclic.ranges import FLAG, MAPPING, NAMES, NONE, PATH, TEXT, takes
from acyclic.types import Bools, Floats, Integers, Kind

__all__ = ["READING", "Kind", "Table", "encode", "explain_no_rows", "read_table"]

_OF_READING = (
    *(Note.ENCODING, Note.ZERO_BYTES, Note.COMMENTS, Note.HEADER_OF_NUMBERS, Note.NO_HEADER, Note.RENAMED),
    *(Note.WRITTEN, Note.LEFT_OUT, Note.ONE_LEVEL, Note.MIXED, Note.DROPPED, Note.RESCALED, Note.LOG, Note.WEIGHTS),
)
# Of more values than this, 400 MB, nobody has to wait for a look at outliers.
MOST_VALUES = 5e7
_OF_MOMENTS = (Note.CONSTANT, Note.DUPLICATE, Note.COLLINEAR, Note.FEW_ROWS_COLLINEAR)


class Table(ABC):
    """What every learner sees of a table; `Table.open` and `read_table` make it from anything.

    Attributes
    ----------
    names : tuple of str
        The columns, in order.
    n_rows : int
        Rows read, incomplete ones included, those of weight 0 not; ``moments.n`` is what they amount to.
    kinds : tuple of Kind
        What each column holds, in order; `acyclic.data.kinds` has the rules.
    codings : mapping of str to Coding
        Of categorical columns, and of ordinal ones that came as text: which number in the rows is which level. Numbers
        stay as they are in the rows, text is the position of its label; `codes` are 0, 1, … without gaps.
    levels : mapping of str to tuple of str
        The names of their levels, in the order of their codes.
    why_no_rows : Fact or None
        Why `rows` would fail, of a kind in `acyclic.facts.NoRows`.
    moments : Moments
        All that the linear learners need.
    notes : tuple of Fact
        Remarks on columns, of kinds in `acyclic.facts.Note`; ``about`` is empty if the whole table is meant.
    digest : str
        SHA-256 of the names of the columns, hashes of their values and of the weights, and what was done with them: the
        same for the same content on every machine, whatever the kind of source and the parts that it was read in. It
        tells tables apart that differ by mistake; who wants to can make two of one digest.

    Examples
    --------
    >>> table = Table.open([[1.0, 2.0], [2.0, 4.0], [4.0, 9.0]], names=["dose", "effect"])
    >>> table
    Table(3 rows, d=2: dose, effect)
    >>> Table.open([["red", 1.0], ["blue", 2.0]] * 5, names=["colour", "size"])
    Table(10 rows, d=2: colour (2 levels), size (2 levels))
    >>> Table.open(table) is table, table.has_rows, table.rows().shape
    (True, True, (3, 2))
    """

    exponents: Integers | None = None
    """By which powers of two (d,) the values that were read were multiplied, if they were near the ends of floats."""

    repeats: float = 1.0
    """How often its row is there, for a row on average: 2 or nearly so if they were drawn with replacement."""

    def __init__(
        self,
        names: tuple[str, ...],
        n_rows: int,
        kinds: tuple[Kind, ...],
        why_no_rows: Fact[NoRows] | None,
        codings: Mapping[str, Coding] | None = None,
    ) -> None:
        self.names, self.n_rows, self.kinds, self.why_no_rows = names, n_rows, kinds, why_no_rows
        self.codings: Mapping[str, Coding] = codings or {}

    @property
    def levels(self) -> dict[str, tuple[str, ...]]:
        """The names of the levels of each column that has some."""
        return {name: coding.levels for name, coding in self.codings.items()}

    def codes(self, name: str) -> Integers:
        """Codes (n,) of a column with levels, positions in ``levels[name]``; −1 where it is missing.

        >>> table = Table.open([["red", 1.5], ["blue", 2.5], ["red", 0.5]] * 4, names=["colour", "size"])
        >>> table.levels["colour"], table.codes("colour")[:3].tolist()
        (('blue', 'red'), [1, 0, 1])
        """
        if name not in self.codings:
            raise InputError(
                f"{name!r} has no levels; those with levels: {', '.join(map(repr, self.codings)) or 'none'}"
            )
        return self.codings[name].encode(self.rows()[:, self.names.index(name)])

    @classmethod
    def open(cls, source: Any, **options: Any) -> Table:
        """Make a table from anything, with the options of `read_table`; a Table stays the same object."""
        return read_table(source, **options)

    @cached_property
    def moments(self) -> Moments:
        """Row count, mean and covariance."""
        return self._find_moments()

    @cached_property
    def notes(self) -> tuple[Fact[Note], ...]:
        """Remarks on the columns."""
        return tuple(self._note())

    @cached_property
    def digest(self) -> str:
        """What identifies the content."""
        return self._hash()

    @property
    def has_rows(self) -> bool:
        """Whether `rows` will give them."""
        return self.why_no_rows is None

    def rows(self, *, limit: int = ROWS_LIMIT) -> Floats:
        """The rows (n, d) that the moments describe, read-only, row after row in memory.

        Parameters
        ----------
        limit : int
            The most values, n times d, that may be put in memory; 2 GiB of them if left out.
        """
        why = self.why_no_rows
        if why is None or why.kind is NoRows.TOO_LARGE:
            why = too_large(self.n_rows, len(self.names), limit)
        if why is not None:
            raise InputError(*explain_no_rows(why))
        return self._rows

    @property
    def has_sample(self) -> bool:
        """Whether `sample` and `take` will give some of the rows, also where these are too many or not here."""
        return self.why_no_rows is None or self.why_no_rows.kind in (NoRows.TOO_LARGE, NoRows.ELSEWHERE)

    @property
    def is_elsewhere(self) -> bool:
        """Whether the rows are in partitions on a cluster, and too many to be brought here."""
        return self.why_no_rows is not None and self.why_no_rows.kind is NoRows.ELSEWHERE

    def take(self, positions: Integers) -> Floats:
        """Rows (k, d) by their positions in rising order; of a table that is elsewhere they are picked there."""
        return np.asarray(self.rows()[positions])

    def sample(self, most: int) -> Floats:
        """At most so many rows (k, d), in their order; the same ones for the same table, wherever it is."""
        n = int(self.moments.n)
        return self.rows() if n <= most and self.has_rows else self.take(_draw_positions(n, most))

    def sampled(self, most: int) -> Table:
        """A table of at most so many rows, the same ones for the same table; notes say of how many they are."""
        n = int(self.moments.n)
        return self if n <= most and self.has_rows else _Sampled(self, _draw_positions(n, most))

    def count_codes(self) -> tuple[Integers, Integers] | None:
        """Different rows of codes (m, d) of a table of categories and how often each comes; None of very many."""
        codings = [self.codings[name] for name in self.names]
        rows = self.rows()
        codes = np.column_stack([coding.encode(rows[:, k]) for k, coding in enumerate(codings)])
        return codes, np.ones(len(codes), dtype=np.int64)

    def redraw(
        self, seeds: Sequence[SeedSequence], *, partitions: bool = False, deadline: Deadline | None = None
    ) -> list[Moments]:
        """Moments for `redrawn`: of all rows, each as often as a Poisson number with mean 1 says, for each seed.

        They are made where the rows are, all draws in one pass. With ``partitions`` all rows of a partition come as
        often as each other: right where partitions are alike, as those of shuffled rows, and nearly free.
        """
        raise InputError("only rows that are elsewhere are drawn all at once; resampled(…) draws from those here")

    def redrawn(self, moments: Moments, seed: SeedSequence) -> Table:
        """A draw of a table whose rows are elsewhere, of what `redraw` gave for the seed.

        Whoever needs rows gets some of the sample that was taken of the table, if one was, drawn with replacement.
        """
        raise InputError("only rows that are elsewhere are drawn all at once; resampled(…) draws from those here")

    def resampled(self, rng: Generator) -> Table:
        """As many rows drawn with replacement; without rows, moments from their Wishart distribution.

        The moments are those of the rows weighted by how often each was drawn, the rows are made when asked for.
        """
        if not self.has_rows:
            return _OfMoments(wishart(self.moments, self.moments.n, rng))
        n = int(self.moments.n)
        return _Drawn(self, rng.integers(n, size=n))

    def halved(self, rng: Generator) -> Table:
        """Half of the rows, drawn without replacement; without rows, moments of so many from their distribution."""
        if not self.has_rows:
            return _OfMoments(wishart(self.moments, max(self.moments.n / 2, 2.0), rng))
        n = int(self.moments.n)
        return _Drawn(self, np.sort(rng.permutation(n)[: max(n // 2, 2)]))

    def split(self, rng: Generator) -> tuple[Table, Table]:
        """Two halves of the rows, drawn at random: one to learn from, one to test on."""
        order = rng.permutation(int(self.moments.n))
        half = len(order) // 2
        return _Drawn(self, np.sort(order[:half])), _Drawn(self, np.sort(order[half:]))

    def folds(self, count: int, rng: Generator) -> list[Moments]:
        """Moments of ``count`` parts of the rows, of sizes that differ by one at most."""
        if not self.has_rows:
            choose = Argument("criterion", "ebic")
            raise InputError("cross-validation needs rows, but only moments were given; choose ", choose)
        n = int(self.moments.n)
        if not 2 <= count <= n // 2:
            raise InputError(f"folds = {count!r}; give a number from 2 to {n // 2}, half of the rows")
        part = rng.permutation(n) % count
        return [Moments.from_array(self.rows(), self.names, part == k) for k in range(count)]

    @cached_property
    def inliers(self) -> Table:
        """The table without rows that are far from all others, with a note on them; itself where there are none.

        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> X[3] = 1000.0
        >>> kept = Table.open(X).inliers
        >>> kept.n_rows, kept.notes[-1].kind.value, kept.inliers is kept
        (199, 'outliers', True)
        """
        numeric = np.array([kind is Kind.CONTINUOUS for kind in self.kinds])
        if not self.has_rows or not numeric.any() or self.n_rows * len(self.names) > MOST_VALUES:
            return self
        far, columns = find_outliers(self.rows(), numeric)
        return _Inliers(self, far, columns) if far.any() else self

    def select(self, names: Sequence[str]) -> Table:
        """The named columns, in that order."""
        return self if tuple(names) == self.names else _Selected(self, names)

    def standardized(self) -> Table:
        """The same rows with every column at mean 0 and variance 1, 0 if it is constant."""
        return _Standardized(self)

    def scaled(self, factors: ArrayLike) -> Table:
        """The same rows with column ``j`` multiplied by ``factors[j]``, shape (d,), none of them 0."""
        return _Scaled(self, factors)

    @cached_property
    def _rows(self) -> Floats:
        rows = np.ascontiguousarray(self._make_rows())
        rows.flags.writeable = False
        return rows

    @abstractmethod
    def _find_moments(self) -> Moments: ...

    @abstractmethod
    def _make_rows(self) -> Floats: ...

    @abstractmethod
    def _hash(self) -> str: ...

    def _note(self) -> Sequence[Fact[Note]]:
        return column_notes(self.moments)

    def _describe(self, name: str, kind: Kind) -> str:
        if kind is Kind.CONTINUOUS:
            return show_name(name)
        levels = self.levels.get(name)
        said = kind.value if levels is None or kind is Kind.ORDINAL else f"{len(levels)} levels"
        return f"{show_name(name)} ({said})"

    def __repr__(self) -> str:
        shown = ", ".join(map(self._describe, self.names[:4], self.kinds)) + (", …" if len(self.names) > 4 else "")
        return f"Table({self.n_rows} rows, d={len(self.names)}: {shown})"


# The most rows that stand for a table whose rows are elsewhere, where a method needs rows.
MOST_SAMPLED = 100_000


def _draw_positions(n: int, most: int) -> Integers:
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


@takes(
    names=NAMES | NONE,
    columns=NAMES | NONE,
    drop=NAMES | NONE,
    log=FLAG | NAMES | NONE,
    standardize=FLAG,
    header=FLAG | NONE,
    separator=TEXT | NONE,
    decimal=TEXT | NONE,
    encoding=TEXT | NONE,
    null_values=TEXT | NAMES,
    kinds=MAPPING | NONE,
    partials=PATH | NONE,
)
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
    strict: bool = False,
    header: bool | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    null_values: str | Sequence[str] = (),
    sheet: str | None = None,
    kinds: Mapping[str, str] | None = None,
    cluster: Any = None,
    partials: str | os.PathLike[str] | None = None,
) -> Table:
    """Read any table as a `Table`: moments, digest, remarks on its columns, rows when they are asked for.

    Numbers, truth values and categories are used, also numbers written as ``1.234,5``, ``10.3%`` or ``€ 5``. Dates,
    free text and identifiers, which are text with more than 30 levels, are left out. The notes say what was left out,
    and whatever was assumed. `acyclic.data.kinds` has the rules by which a column is found to be continuous,
    categorical, ordinal or a count.

    Files and Polars lazy frames are read in blocks, so that they may be longer than the memory; Dask frames, and with
    ``cluster`` folders of Parquet files, stay where they are, and sums come home. A table so
    wide that the covariances of its columns cannot be held is refused before its rows are read: see
    `acyclic.data.memory.check_memory`.

    Parameters
    ----------
    source : array, data frame, mapping, path, Moments or Table
        A two-dimensional array; a mapping of names to columns; a pandas, Polars, PyArrow or Dask table; the path of a
        CSV or other separated text file, of a ``.parquet``, ``.feather``, ``.arrow``, ``.jsonl``, ``.json`` or
        ``.xlsx`` file, also packed as ``.gz``, ``.bz2``, ``.xz``, ``.zst`` or ``.zip``, or of a folder of ``.parquet``
        files; ``"-"`` for the standard input. A Table stays as it is.
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
        What to do about missing cells (null or NaN); `acyclic.data.moments.Accumulator` defines each.
    strict : bool
        Refuse a table with columns that hold no numbers, rather than leave these out.
    header : bool, optional
        Whether the first line of a text file, or of a sheet, names the columns; if left out, it does unless it holds
        numbers like those below it.
    separator : str, optional
        Between the fields of a text file; if left out, the one of tab, ``;``, ``|``, ``,`` and blanks that fits.
    decimal : {".", ","}, optional
        The decimal mark in a text file; if left out, the one that the cells show.
    encoding : str, optional
        Of a text file; if left out, UTF-8 or UTF-16 where the bytes are that, else the likeliest of cp1252, latin-1
        and MacRoman.
    null_values : str or sequence of str
        What marks a missing cell in a text file besides an empty field, NA, N/A, NaN, null and the like.
    sheet : str, optional
        The sheet of a workbook, or the file in a ``.zip``, where there are several.
    kinds : mapping of str to str, optional
        What some columns hold, where the rules are wrong: ``"continuous"``, ``"categorical"``, ``"ordinal"`` or
        ``"count"``, or the levels of a column of text in their order, as ``"low<middle<high"``.
    cluster : str, Scheduler or distributed.Client, optional
        Whose workers read a folder of Parquet files, or one such file, or a Dask frame, and send sums home: rows stay
        where they are. An address such as ``"tcp://host:8786"``; see `acyclic.data.cluster` for whom that trusts. A
        Dask frame without it is computed by the client of this process, if it has one.
    partials : path, optional
        Folder that keeps partial results of such a table: the same call goes on from them where one was killed.

    Examples
    --------
    >>> table = read_table([[1.0, 2.0], [2.0, 4.0], [4.0, 8.0]], names=["dose", "effect"], log=["dose"])
    >>> table.moments
    Moments(n=3, d=2: dose, effect)
    >>> [(note.kind.value, note.about) for note in table.notes]
    [('log', ('dose',))]
    """
    given = _given(locals())
    if isinstance(source, Table):
        if given:
            raise InputError(f"the table was read already; say {', '.join(given)} where it is read")
        return source
    if isinstance(source, Moments):
        table: Table = _OfMoments(_select_moments(source, columns, drop, given))
    else:
        marks, told = (null_values,) if isinstance(null_values, str) else tuple(null_values), read_kinds(kinds)
        text, where = TextFormat(header, separator, decimal, encoding, marks), Where(cluster, partials)
        opened = open_source(source, names, text, sheet, told, where)
        table = _read(opened, (columns, drop, log, weights, missing, strict, told))
    return table.standardized() if standardize else table


def _read(source: Source, options: tuple[Any, ...]) -> Table:
    """Read a source; where later rows show that its columns were misjudged, begin again."""
    while True:
        try:
            kind = _Elsewhere if isinstance(source, PartedSource) else _Read
            return kind(*Reading.prepare(source, *options).read())
        except Misread as found:
            source = found.source


_USUAL = {name: one.default for name, one in signature(read_table).parameters.items() if name != "source"}
READING = tuple(_USUAL)
"""The options of `read_table`."""


def _given(options: Mapping[str, Any]) -> list[str]:
    """The names of those options of `read_table` that are not left out."""
    return [
        name
        for name, usual in _USUAL.items()
        if options[name] is not usual and not (isinstance(usual, str) and options[name] == usual)
    ]


def _select_moments(
    moments: Moments, columns: Sequence[str] | None, drop: Sequence[str] | None, given: Sequence[str]
) -> Moments:
    if other := [option for option in given if option not in ("columns", "drop", "standardize")]:
        raise InputError(f"moments have no rows to which {', '.join(other)} could apply; columns and drop can")
    used = select_columns(moments.names, columns, drop)
    return moments if used == moments.names else moments.select(used)


def encode(
    source: Any,
    codings: Mapping[str, Coding],
    names: Sequence[str] | None = None,
    given: Sequence[str] | None = None,
) -> Floats:
    """Rows (n, d) with the numbers that another table has for its levels, as a model that was fitted to it needs them.

    Parameters
    ----------
    source : Table, or anything with rows that `read_table` takes
        New rows, of any number; missing cells are NaN.
    codings : mapping of str to Coding
        Of the table that was learned from.
    names : sequence of str, optional
        Its columns; if left out, those of the source.
    given : sequence of str, optional
        The columns of a source that is an array.

    Raises
    ------
    InputError
        For a level that the other table did not have, by its column and its name.

    Examples
    --------
    >>> learned = Table.open([["red", 1.5], ["blue", 2.5], ["red", 0.5]] * 4, names=["colour", "size"])
    >>> import pandas
    >>> encode(pandas.DataFrame({"size": [0.1], "colour": ["red"]}), learned.codings, learned.names)
    array([[1. , 0.1]])
    """
    if isinstance(source, Table):
        found, rows, own = source.names, source.rows(), source.codings
    else:
        told = {name: Told(Kind.CATEGORICAL) for name, coding in codings.items() if coding.nominal}
        opened = open_source(source, given, TextFormat(), told=told)
        check_numbers(opened, opened.names if names is None else [n for n in names if n in opened.names], labels=True)
        found = opened.names if names is None else tuple(name for name in opened.names if name in set(names))
        rows = join_rows([block for block, _ in opened.blocks(found)], len(found))
        own = {name: _coding_of(labels) for name, labels in opened.labels.items()}
        own |= {name: _coding_of(("false", "true")) for name in opened.booleans}
    wanted = found if names is None else tuple(names)
    if absent := [name for name in wanted if name not in found]:
        raise InputError(f"the rows have no column {absent[0]!r}; they have {', '.join(map(repr, found))}")
    rows = np.array(rows[:, [found.index(name) for name in wanted]])
    for column, name in enumerate(wanted):
        if name in codings:
            rows[:, column] = _translate(name, rows[:, column], own.get(name), codings[name])
    return rows


def _coding_of(labels: Sequence[str]) -> Coding:
    codes = tuple(range(len(labels)))
    return Coding(tuple(labels), tuple(map(float, codes)), codes, tuple(labels))


def _translate(name: str, values: Floats, own: Coding | None, other: Coding) -> Floats:
    """The numbers of another coding for values of this one, or for plain numbers."""
    found, inverse = np.unique(values, return_inverse=True)
    known = dict(zip(other.labels, other.values))
    numbers = []
    for value in found.tolist():
        label = show_number(value) if own is None else own.name(value)
        # Where true and false were learned from, or two numbers, the same numbers will do.
        number = known.get(label, value if not other.nominal and own is None and value in other.values else None)
        if number is None and not np.isnan(value):
            listed = ", ".join(map(repr, other.labels[:12])) + (" …" if len(other.labels) > 12 else "")
            raise InputError(f"column {name!r} has the level {label!r}, which was not learned from; known are {listed}")
        numbers.append(np.nan if number is None else number)
    return np.array(numbers)[inverse]


def explain_no_rows(fact: Fact[NoRows]) -> tuple[Part, ...]:
    """Say why a table has no rows, and what to do, in the parts of an error."""
    if fact.kind is NoRows.TOO_LARGE:
        size = f"{fact['rows']} rows of {fact['columns']} columns"
        return (f"{size} are more than the limit of {fact['limit']} values; sample the rows, or raise the limit",)
    if fact.kind is NoRows.ELSEWHERE:
        return (
            f"the {fact['rows']} rows are in partitions on a cluster, and stay there; table.sampled(1000) has some",
        )
    if fact.kind is NoRows.WEIGHTED:
        return "the rows have weights, which only moments can express; leave out ", Argument("weights")
    if fact.kind is NoRows.INCOMPLETE:
        return "some rows have missing cells; only ", Argument("missing", "drop-rows"), " gives complete rows"
    return ("there are no rows behind moments; pass the table itself to methods that need rows",)


class _Read(Table):
    """A table that was read from rows."""

    def __init__(self, reading: Reading, content: Content) -> None:
        super().__init__(reading.columns, content.n_rows, content.kinds, content.why_no_rows, content.codings)
        self._reading: Reading | None = reading
        self.exponents = reading.exponents
        self._content = content

    def _find_moments(self) -> Moments:
        return self._content.moments

    def _hash(self) -> str:
        return self._content.digest

    def _note(self) -> Sequence[Fact[Note]]:
        return (*self._content.notes, *column_notes(self.moments), *self._content.absences)

    def _make_rows(self) -> Floats:
        kept = self._content.kept
        if kept is not None:
            rows, digest = join_rows(kept, len(self.names)), self._content.digest
            self._content = self._content._replace(kept=None)
        elif self._reading is not None:
            rows, digest = self._reading.read_rows()
        if digest != self._content.digest:
            raise InputError("the table has changed since its moments were read; read it again")
        return rows if len(rows) == self.moments.n else rows[~np.isnan(rows).any(axis=1)]

    def take(self, positions: Integers) -> Floats:
        if self.why_no_rows is None or self._reading is None:
            return super().take(positions)
        if not self.has_sample:
            raise InputError(*explain_no_rows(self.why_no_rows))
        return self._reading.take_rows(positions, self._content.lengths)

    def __getstate__(self) -> dict[str, Any]:
        # Rows travel as an array, for frames of other libraries may not travel at all; what is too long is read again.
        if self.has_rows and self._reading is not None and (self._reading.source.in_memory or self._content.kept):
            self.rows()
        return {**self.__dict__, **({"_reading": None} if "_rows" in self.__dict__ else {})}


class _Elsewhere(_Read):
    """A table in partitions that are not here: sums come, and rows only where they are few or a sample."""

    _samples: dict[int, Floats]
    _counted: tuple[Integers, Integers] | None

    def sample(self, most: int) -> Floats:
        known: dict[int, Floats] = self.__dict__.setdefault("_samples", {})
        if most not in known:
            known[most] = super().sample(most)
        return known[most]

    def count_codes(self) -> tuple[Integers, Integers] | None:
        if self.has_rows:
            return super().count_codes()
        if "_counted" not in self.__dict__:
            assert self._reading is not None
            found = self._reading.count_codes([self.codings[name] for name in self.names])
            whole = found.codes is not None and int(found.counts.sum()) <= np.iinfo(np.int32).max
            self._counted = (found.codes, found.counts) if found.codes is not None and whole else None
        return self._counted

    def redraw(
        self, seeds: Sequence[SeedSequence], *, partitions: bool = False, deadline: Deadline | None = None
    ) -> list[Moments]:
        if self._reading is None:
            raise InputError(*explain_no_rows(Fact.of(NoRows.ELSEWHERE, rows=self.n_rows)))
        law: Literal["rows", "partitions"] = "partitions" if partitions else "rows"
        return self._reading.redraw([RowWeights(seed, law) for seed in seeds], deadline)

    def redrawn(self, moments: Moments, seed: SeedSequence) -> Table:
        known = self.__dict__.get("_samples", {})
        return _Redrawn(self, moments, seed, known[max(known)] if known else None)

    def folds(self, count: int, rng: Generator) -> list[Moments]:
        if self.has_rows or not self.has_sample or self._reading is None:
            return super().folds(count, rng)
        seed = SeedSequence(int(rng.integers(2**63)))
        return self._reading.redraw([RowWeights(seed, "fold", fold, count) for fold in range(count)])

    def __getstate__(self) -> dict[str, Any]:
        if self.has_rows:
            return super().__getstate__()
        return {**self.__dict__, "_reading": None}


class _Redrawn(Table):
    """A draw of a table that is elsewhere: moments of all its rows drawn again, and a draw of a sample of them."""

    def __init__(self, base: Table, moments: Moments, seed: SeedSequence, sample: Floats | None) -> None:
        n = int(moments.n)
        why = Fact.of(NoRows.MOMENTS_ONLY) if sample is None else Fact.of(NoRows.ELSEWHERE, rows=n)
        super().__init__(base.names, n, base.kinds, why, base.codings)
        self._given, self._seed, self._base, self._known = moments, seed, base, sample
        # As many rows drawn of the sample as it has come twice on average; fewer less often.
        self.repeats = 2.0 if sample is None else 1 + n / len(sample)

    def _find_moments(self) -> Moments:
        return self._given

    def take(self, positions: Integers) -> Floats:
        if self._known is None:
            raise InputError(*explain_no_rows(Fact.of(NoRows.MOMENTS_ONLY)))
        size = min(len(positions), len(self._known))
        return np.asarray(self._known[np.random.default_rng(self._seed).integers(len(self._known), size=size)])

    def count_codes(self) -> tuple[Integers, Integers] | None:
        counted = self._base.count_codes()
        if counted is None:
            return None
        # Rows that are equal need not be drawn one by one.
        codes, counts = counted
        drawn = np.random.default_rng(self._seed).multinomial(int(counts.sum()), counts / counts.sum())
        return codes[drawn > 0], drawn[drawn > 0]

    def _make_rows(self) -> Floats:
        raise InputError(*explain_no_rows(Fact.of(NoRows.ELSEWHERE, rows=self.n_rows)))

    def _hash(self) -> str:
        return _hash_step(self._base, "redrawn", str(self._seed.entropy), list(self._seed.spawn_key))


class _OfMoments(Table):
    """Moments that were given, or drawn, without rows."""

    def __init__(self, moments: Moments) -> None:
        kinds = (Kind.CONTINUOUS,) * len(moments.names)
        super().__init__(moments.names, int(moments.n), kinds, Fact.of(NoRows.MOMENTS_ONLY))
        self._given = moments

    def _find_moments(self) -> Moments:
        return self._given

    def _hash(self) -> str:
        return self._given.digest()

    def _make_rows(self) -> Floats:
        raise InputError(*explain_no_rows(Fact.of(NoRows.MOMENTS_ONLY)))


class _Drawn(Table):
    """Some rows of another table, by their positions, each as often as it is drawn."""

    def __init__(self, base: Table, drawn: Integers) -> None:
        super().__init__(base.names, len(drawn), base.kinds, None, base.codings)
        self._base, self._positions = base, drawn
        own = float(np.square(np.bincount(drawn), dtype=float).sum()) / len(drawn)
        self.repeats = own + (base.repeats - 1) * len(drawn) / base.n_rows

    def _find_moments(self) -> Moments:
        rows = self._base.rows()
        return Moments.from_array(rows, self.names, np.bincount(self._positions, minlength=len(rows)))

    def take(self, positions: Integers) -> Floats:
        return self._base.take(self._positions)[positions]

    def _make_rows(self) -> Floats:
        return self._base.take(self._positions)

    def _hash(self) -> str:
        return _hash_step(self._base, "rows", hashlib.sha256(self._positions.astype("<i8").data).hexdigest())


class _Inliers(_Drawn):
    """The rows of another table without those that are far from all others."""

    def __init__(self, base: Table, far: Bools, columns: Bools) -> None:
        super().__init__(base, np.flatnonzero(~far))
        names = np.array(base.names, dtype=object)[columns]
        found = {"count": int(far.sum()), "rows": len(far), "first": int(far.argmax())}
        self._said = Fact.of(Note.OUTLIERS, **found, columns=len(names), column=str(names[0]))
        self.exponents = base.exponents

    @property
    def inliers(self) -> Table:
        """Itself: what was far from these rows is gone."""
        return self

    def _note(self) -> Sequence[Fact[Note]]:
        rest = [note for note in self._base.notes if note.kind not in _OF_MOMENTS]
        return (*rest, *column_notes(self.moments), self._said)


class _Sampled(Table):
    """Some rows of another table, which may be elsewhere, each once."""

    def __init__(self, base: Table, positions: Integers) -> None:
        super().__init__(base.names, len(positions), base.kinds, None, base.codings)
        self._base, self._positions, self.repeats = base, positions, base.repeats

    def _find_moments(self) -> Moments:
        return Moments.from_array(self.rows(), self.names)

    def _make_rows(self) -> Floats:
        return self._base.take(self._positions)

    def _note(self) -> Sequence[Fact[Note]]:
        first = [note for note in self._base.notes if note.kind not in _OF_MOMENTS]
        return (*first, Fact.of(Note.SAMPLED, rows=self.n_rows, of=self._base.n_rows), *column_notes(self.moments))

    def _hash(self) -> str:
        return _hash_step(self._base, "sampled", self.n_rows)


class _Selected(Table):
    """Some columns of another table, in another order."""

    def __init__(self, base: Table, names: Sequence[str]) -> None:
        chosen = base.moments.select(names).names
        kinds = dict(zip(base.names, base.kinds))
        codings = {name: base.codings[name] for name in chosen if name in base.codings}
        super().__init__(chosen, base.n_rows, tuple(kinds[name] for name in chosen), base.why_no_rows, codings)
        self._base, self.repeats = base, base.repeats

    def _find_moments(self) -> Moments:
        return self._base.moments.select(self.names)

    def _make_rows(self) -> Floats:
        return self._base.rows()[:, self._columns]

    @property
    def _columns(self) -> list[int]:
        return [self._base.names.index(name) for name in self.names]

    def take(self, positions: Integers) -> Floats:
        return self._base.take(positions)[:, self._columns]

    def sample(self, most: int) -> Floats:
        return self._base.sample(most)[:, self._columns]

    def redraw(
        self, seeds: Sequence[SeedSequence], *, partitions: bool = False, deadline: Deadline | None = None
    ) -> list[Moments]:
        return self._base.redraw(seeds, partitions=partitions, deadline=deadline)

    def redrawn(self, moments: Moments, seed: SeedSequence) -> Table:
        return self._base.redrawn(moments, seed).select(self.names)

    def _hash(self) -> str:
        return _hash_step(self._base, "select", list(self.names))


class _Rescaled(Table):
    """The rows of another table in other units."""

    def __init__(self, base: Table) -> None:
        super().__init__(base.names, base.n_rows, base.kinds, base.why_no_rows)
        self._base, self.repeats = base, base.repeats
        self.codings = {
            name: coding.in_units(partial(self._change, column=base.names.index(name)))
            for name, coding in base.codings.items()
        }

    @abstractmethod
    def _again(self, base: Table) -> Table:
        """A draw of the base, in the new units."""

    @abstractmethod
    def _change(self, values: Floats, column: int | slice = slice(None)) -> Floats:
        """Values of the base, of one column or (n, d) of all, in the new units."""

    def _make_rows(self) -> Floats:
        return self._change(self._base.rows())

    def take(self, positions: Integers) -> Floats:
        return self._change(self._base.take(positions))

    def sample(self, most: int) -> Floats:
        return self._change(self._base.sample(most))

    def count_codes(self) -> tuple[Integers, Integers] | None:
        return self._base.count_codes()

    def redraw(
        self, seeds: Sequence[SeedSequence], *, partitions: bool = False, deadline: Deadline | None = None
    ) -> list[Moments]:
        return self._base.redraw(seeds, partitions=partitions, deadline=deadline)

    def redrawn(self, moments: Moments, seed: SeedSequence) -> Table:
        return self._again(self._base.redrawn(moments, seed))

    def _note(self) -> Sequence[Fact[Note]]:
        # What moments tell of columns is told in the new units; the rest is about the values that were read.
        rest = [note for note in self._base.notes if note.kind not in _OF_MOMENTS]
        return (*rest, *column_notes(self.moments))


class _Standardized(_Rescaled):
    """The rows of another table with every column at mean 0 and variance 1."""

    def _again(self, base: Table) -> Table:
        return _Scaled(
            base, 1 / np.where(self._base.moments.constant, 1.0, np.sqrt(np.diag(self._base.moments.covariance)))
        )

    def _find_moments(self) -> Moments:
        return self._base.moments.standardized()

    def _change(self, values: Floats, column: int | slice = slice(None)) -> Floats:
        moments = self._base.moments
        deviation = np.where(moments.constant, np.inf, np.sqrt(np.diag(moments.covariance)))
        return np.asarray((values - moments.mean[column]) / deviation[column])

    def _note(self) -> Sequence[Fact[Note]]:
        # Relations are those between the columns as they were read, for the same columns are constant or determined.
        first = [note for note in self._base.notes if note.kind in _OF_READING]
        rest = [note for note in self._base.notes if note.kind not in (*_OF_READING, Note.STANDARDIZED)]
        return (*first, Fact.of(Note.STANDARDIZED), *rest)

    def _hash(self) -> str:
        if isinstance(self._base, _OfMoments):
            return self.moments.digest()
        return _hash_step(self._base, "standardized")


class _Scaled(_Rescaled):
    """The rows of another table with every column multiplied by a number."""

    def __init__(self, base: Table, factors: ArrayLike) -> None:
        self._scaled = base.moments.scaled(factors)
        self._factors = np.array(factors, dtype=np.float64)
        super().__init__(base)

    def _find_moments(self) -> Moments:
        return self._scaled

    def _again(self, base: Table) -> Table:
        return _Scaled(base, self._factors)

    def _change(self, values: Floats, column: int | slice = slice(None)) -> Floats:
        return np.asarray(values * self._factors[column])

    def _hash(self) -> str:
        return _hash_step(self._base, "scaled", *self._factors.tolist())


def _hash_step(base: Table, *step: Any) -> str:
    return DIGEST + hashlib.sha256(json.dumps([base.digest, *step]).encode()).hexdigest()

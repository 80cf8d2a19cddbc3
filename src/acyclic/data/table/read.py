"""A table from anything: `read_table`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

from numpy.typing import ArrayLike

from acyclic.data.kinds import read_kinds
from acyclic.data.missing import Missing
from acyclic.data.moments import Moments
from acyclic.data.partitions import PartedSource
from acyclic.data.reading import Reading, Where, open_source, select_columns
from acyclic.data.sources import Misread, Source
from acyclic.data.table.elsewhere import Elsewhere
from acyclic.data.table.here import OfMoments, Read
from acyclic.data.table.imputed import Imputed
from acyclic.data.table.table import Table
from acyclic.data.text import TextFormat
from acyclic.errors import InputError
from acyclic.ranges import FLAG, MAPPING, NAMES, NONE, PATH, TEXT, takes

__all__ = ["READING", "read_table"]


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
    missing : {"error", "drop-rows", "pairwise", "em", "impute"}
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
        table = Table(OfMoments(_select_moments(source, columns, drop, given)))
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
            kind = Elsewhere if isinstance(source, PartedSource) else Read
            read = kind(*Reading.prepare(source, *options).read())
            return Table(Imputed(read) if read.has_gaps else read)
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

"""Arrays and data frames as sources: blocks of rows of floats, and the columns that hold no numbers.

Hides the frames of the table libraries: whoever reads a source sees names, arrays of floats and the place of each row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acyclic.errors import Argument, InputError, MissingExtraError
from acyclic.graphs.checks import check_names
from acyclic.types import Floats, Integers

__all__ = [
    "SAMPLE",
    "ArraySource",
    "Block",
    "FrameSource",
    "Place",
    "Source",
    "as_float",
    "check_numbers",
    "is_frame",
    "scan_parquet",
    "weigh",
    "why_text",
]

SAMPLE: Final = 200
# Values that are read at once: 8 MB, so that what is done with a block one after the other finds it in the cache.
_BLOCK_VALUES: Final = 1 << 20
_DATE: Final = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?([./-])\d\d?\1\d{2,4}")

Place = Callable[[int], str]


class Block(NamedTuple):
    """Some rows (k, d), not to be written to, their weights (k,), and what to call the k-th of them."""

    rows: Floats
    weights: Floats | None
    place: Place


class Source(Protocol):
    """Rows of named columns, some of which may hold no numbers; can be read more than once."""

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, in order."""

    @property
    def refused(self) -> Mapping[str, str]:
        """The columns that hold no numbers, and what they hold."""

    @property
    def booleans(self) -> frozenset[str]:
        """The columns of true and false, read as 1 and 0."""

    @property
    def in_memory(self) -> bool:
        """Whether reading again costs next to nothing."""

    def blocks(self, columns: tuple[str, ...]) -> Iterator[tuple[Floats, Place]]:
        """Read the columns, in that order: some rows each, and what to call a row of theirs.

        The arrays may be the source's own memory: nobody may write to them.
        """


def is_frame(data: Any) -> bool:
    """Whether it is a data frame of some library, with columns of its own, and not an array."""
    return hasattr(type(data), "columns") or (hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__array__"))


def check_numbers(source: Source, columns: Sequence[str]) -> None:
    """Raise an InputError if some of the columns hold no numbers."""
    if bad := [name for name in columns if name in source.refused]:
        reasons = "; ".join(f"{name!r} {source.refused[name]}" for name in bad[:5])
        rest = f"; and {len(bad) - 5} more" if len(bad) > 5 else ""
        drop, others = Argument("drop", bad), Argument("columns", ["…"])
        raise InputError(f"not numbers: {reasons}{rest}; leave out with ", drop, ", or list others as ", others)


def weigh(blocks: Iterable[tuple[Floats, Place]], weights: ArrayLike | None, last: bool = False) -> Iterator[Block]:
    """Give the rows of blocks their weights; rows of weight 0 do not count and are left out.

    ``weights`` are one number for each row of all blocks, or the last column of each block if ``last``.
    """
    given, start = None if weights is None else _numbers_of_rows(weights), 0
    for rows, place in blocks:
        start += len(rows)
        if given is None and not last:
            yield Block(rows, None, place)
            continue
        share = rows[:, -1] if given is None else given[start - len(rows) : start]
        _check_weights(share, len(rows), place)
        values, kept = rows[:, :-1] if last else rows, np.flatnonzero(share)
        if len(kept) == len(rows):
            yield Block(values, share, place)
        else:
            yield Block(values[kept], share[kept], partial(_place_of_kept, place, kept))
    if given is not None and given.shape != (start,):
        raise InputError(f"weights have shape {given.shape}; one weight per row, ({start},), is needed")


def _numbers_of_rows(weights: ArrayLike) -> Floats:
    try:
        values = np.asarray(weights, dtype=np.float64)
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


def _place_of_kept(place: Place, kept: Integers, row: int) -> str:
    return place(int(kept[row]))


@dataclass(frozen=True, eq=False)
class ArraySource:
    """A two-dimensional array of numbers, or of objects that are numbers."""

    names: tuple[str, ...]
    array: NDArray[Any]
    refused: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, values: Any, names: Sequence[str] | None = None) -> ArraySource:
        """Check that it is a table of numbers, and name its columns."""
        if hasattr(values, "toarray"):
            raise InputError("the table is sparse; pass table.toarray()")
        if isinstance(values, np.ma.MaskedArray):
            values = np.ma.filled(values.astype(np.float64), np.nan)
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise InputError(f"the rows of the table differ in length: {error}") from error
        if array.dtype.kind == "c":
            raise InputError(f"Complex data not supported: the array holds {array.dtype}; pass real numbers")
        if array.ndim != 2 or array.shape[1] == 0:
            raise InputError(f"{type(values).__name__} of shape {array.shape} is no table{_why_no_table(array)}")
        if array.dtype.kind not in "biufO":
            raise InputError(
                f"the array holds {array.dtype}; numbers are needed, or an array of objects that are numbers"
            )
        return cls(check_names(names, array.shape[1]), array)

    @property
    def in_memory(self) -> bool:
        """Always."""
        return True

    @property
    def booleans(self) -> frozenset[str]:
        """All columns or none: an array has one type."""
        return frozenset(self.names if self.array.dtype == bool else ())

    def blocks(self, columns: tuple[str, ...]) -> Iterator[tuple[Floats, Place]]:
        """Read the columns in blocks of rows, as `Source` says."""
        array, step = self.array, max(1, _BLOCK_VALUES // len(columns))
        chosen = None if columns == self.names else [self.names.index(name) for name in columns]
        for start in range(0, len(array), step):
            part, place = array[start : start + step], partial(_row, start)
            part = part if chosen is None else part[:, chosen]
            if part.dtype == object:
                part = np.column_stack([_from_objects(part[:, j], name, place) for j, name in enumerate(columns)])
            yield np.asarray(part, dtype=np.float64), place


def _why_no_table(array: NDArray[Any]) -> str:
    if array.ndim == 2:
        return f": 0 feature(s) (shape={array.shape}) while a minimum of 1 is required."
    return (
        "; pass an array (n, d) with d >= 1, a pandas, Polars, PyArrow or Dask frame, moments, or the path of a CSV or "
        "Parquet file. Reshape your data: X.reshape(-1, 1) is one column"
    )


def _row(start: int, row: int) -> str:
    return f"row {start + row}"


def _from_objects(values: Iterable[Any], name: str, place: Place) -> Floats:
    """Numbers that came as Python objects; None and NA are missing."""
    numbers = []
    for row, value in enumerate(values):
        if value is None or type(value).__name__ == "NAType":
            numbers.append(np.nan)
            continue
        if not isinstance(value, Real | Decimal | np.bool_):
            what, drop = f"column {name!r} holds {value!r} in {place(row)}", Argument("drop", [name])
            raise InputError(f"{what}, which is no number; correct it or leave the column out with ", drop)
        try:
            numbers.append(float(value))
        except (OverflowError, ValueError) as error:
            raise InputError(f"column {name!r} holds a number in {place(row)} that no float can be: {error}") from error
    return np.array(numbers)


@dataclass(frozen=True, eq=False)
class FrameSource:
    """A narwhals frame, eager or lazy; `natives` are the names as the frame spells them."""

    frame: Any
    natives: Mapping[str, Any]
    refused: Mapping[str, str]
    booleans: frozenset[str]
    objects: frozenset[str]
    floats: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, as strings."""
        return tuple(self.natives)

    @property
    def in_memory(self) -> bool:
        """Whether the frame is eager; lazy ones are computed when they are read."""
        import narwhals.stable.v2 as nw

        return isinstance(self.frame, nw.DataFrame)

    @classmethod
    def open(cls, native: Any) -> FrameSource:
        """Look at the types of the columns, and at the first rows."""
        import narwhals.stable.v2 as nw

        try:
            frame: Any = nw.from_native(native)
            schema = frame.collect_schema()
            whole = isinstance(frame, nw.DataFrame)
            sample = frame if whole else frame.head(SAMPLE).collect()
        except Exception as error:
            raise InputError(f"{type(native).__name__} cannot be read as a table: {error}") from error
        names = check_names(map(str, schema)) if len(schema) else ()
        if not names:
            raise InputError("the table has no columns")
        reasons = {name: _why_refused(sample, key, kind, whole) for name, (key, kind) in zip(names, schema.items())}
        refused = {name: why for name, why in reasons.items() if why is not None}
        kinds = dict(zip(names, schema.values()))
        booleans = frozenset(name for name, kind in kinds.items() if kind == nw.Boolean)
        objects = frozenset(name for name, kind in kinds.items() if not kind.is_numeric()) - booleans
        floats = frozenset(name for name, kind in kinds.items() if kind == nw.Float64)
        return cls(frame, dict(zip(names, schema)), refused, booleans, objects, floats)

    def blocks(self, columns: tuple[str, ...]) -> Iterator[tuple[Floats, Place]]:
        """Read the columns in blocks of rows, as `Source` says."""
        import narwhals.stable.v2 as nw

        start, chosen = 0, self.frame
        if columns != self.names:
            # By position, for the names of a pandas frame may be anything.
            chosen = chosen.select(nw.nth([self.names.index(name) for name in columns]))
        for frame in _eager_pieces(chosen, max(1, _BLOCK_VALUES // len(columns))):
            place = partial(_row, start)
            start += len(frame)
            yield self._floats(frame, columns, place), place

    def _floats(self, frame: Any, columns: tuple[str, ...], place: Place) -> Floats:
        import narwhals.stable.v2 as nw

        if not self.objects.intersection(columns):
            plain = frame if self.floats.issuperset(columns) else frame.select(nw.all().cast(nw.Float64))
            return np.asarray(plain.to_numpy(), dtype=np.float64)
        parts = []
        for name in columns:
            series = frame.get_column(self.natives[name])
            found = name in self.objects
            parts.append(_from_objects(series.to_list(), name, place) if found else series.cast(nw.Float64).to_numpy())
        return np.column_stack(parts)


def _why_refused(sample: Any, key: Any, kind: Any, whole: bool) -> str | None:
    """Say why a column of a frame is not numbers; None if it is, or if its objects have to be looked at."""
    import narwhals.stable.v2 as nw

    if kind.is_numeric() or kind in (nw.Boolean, nw.Object):
        return None
    values = sample.get_column(key)
    empty = values.null_count() == len(values)
    if empty and (whole or kind == nw.Unknown):
        return None
    if kind.is_temporal():
        return f"holds dates or times ({kind})"
    if kind != nw.String or empty:
        return f"holds {kind}"
    return why_text(enumerate(values.to_list()), "row")


def why_text(values: Iterable[tuple[int, Any]], unit: str) -> str:
    """Say what a column of text holds, with the first that is no number and the row or line it stands in."""
    given = [(at, value) for at, value in values if isinstance(value, str)]
    strays = [(at, value) for at, value in given if as_float(value) is None]
    if not strays:
        return f"holds numbers written as text, first {given[0][1]!r}: convert them"
    at, value = strays[0]
    if len(strays) < len(given):
        return f"holds {value!r} in {unit} {at} among numbers written as text"
    return f"holds {'dates' if _DATE.match(value) else 'text'}, first {value!r} in {unit} {at}"


def as_float(text: str, decimal: str = ".") -> float | None:
    """The number that a text is; None if it is none."""
    if "_" in text or (decimal == "," and "." in text):
        return None
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return None


def _eager_pieces(frame: Any, step: int) -> Iterator[Any]:
    """Cut a frame into eager ones of `step` rows; Polars and Dask compute lazy ones piece by piece."""
    import narwhals.stable.v2 as nw

    if isinstance(frame, nw.DataFrame):
        yield from (frame[start : start + step] for start in range(0, len(frame), step))
        return
    native = frame.to_native()
    if frame.implementation.is_dask():
        for part in range(native.npartitions):
            yield from _eager_pieces(nw.from_native(native.partitions[part].compute()), step)
    elif frame.implementation.is_polars():
        import polars

        try:
            yield from map(nw.from_native, native.collect_batches(chunk_size=step))
        except (polars.exceptions.PolarsError, OSError) as error:
            raise InputError(f"Polars could not read the table: {error}") from error
    else:
        raise InputError(f"{type(native).__name__} is lazy; collect it first")


def scan_parquet(path: Path) -> Any:
    """A Polars lazy frame of one file, or of all files in a folder."""
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} is a folder without .parquet files")
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError("reading Parquet files", "polars", "files") from error
    return polars.scan_parquet(files)

"""Arrays and data frames as sources: blocks of rows of floats, and the columns that hold no numbers.

Hides the frames of the table libraries: whoever reads a source sees names, arrays of floats and the place of each row.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from numbers import Real
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acyclic.data.cells import NULLS, Evidence, Form, Held, Look, Reason, may_be_labels, settle_decimal
from acyclic.data.kinds import Told, show_number
from acyclic.data.naming import name_columns
from acyclic.errors import Argument, InputError
from acyclic.facts import Fact, Note
from acyclic.graphs.checks import check_names
from acyclic.types import Floats, Integers, Kind

__all__ = [
    "SAMPLE",
    "ArraySource",
    "Block",
    "FrameSource",
    "Misread",
    "Place",
    "Source",
    "as_label",
    "block_rows",
    "check_numbers",
    "is_category",
    "is_frame",
    "is_missing",
    "note_forms",
    "sample_rows",
    "unknown_level",
    "weigh",
]

# Rows by which columns are judged, and cells: of a wide table fewer rows tell as much.
SAMPLE: Final = 200
_SAMPLE_CELLS: Final = 400_000
# Values that are read at once: 8 MB, so that what is done with a block one after the other finds it in the cache.
_BLOCK_VALUES: Final = 1 << 20

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
    def refused(self) -> Mapping[str, Reason]:
        """The columns that are not used as numbers, and why."""

    @property
    def facts(self) -> tuple[Fact[Note], ...]:
        """What was assumed in order to read it."""

    @property
    def booleans(self) -> frozenset[str]:
        """The columns of true and false, read as 1 and 0."""

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """The columns of text that are categories, read as positions among these labels."""

    @property
    def ordered(self) -> frozenset[str]:
        """Those of them whose labels have an order."""

    @property
    def in_memory(self) -> bool:
        """Whether reading again costs next to nothing."""

    def blocks(self, columns: tuple[str, ...]) -> Iterator[tuple[Floats, Place]]:
        """Read the columns, in that order: some rows each, and what to call a row of theirs.

        The arrays may be the source's own memory: nobody may write to them.
        """


class Misread(Exception):  # noqa: N818 - not an error: it carries the source that knows better
    """Raised while a source is read when later rows show that it was judged wrongly; read ``source`` instead."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source


def sample_rows(columns: int) -> int:
    """By how many rows so many columns are judged."""
    return min(SAMPLE, max(20, _SAMPLE_CELLS // max(columns, 1)))


def block_rows(columns: int) -> int:
    """How many rows of so many columns are read at once."""
    return max(1, _BLOCK_VALUES // columns)


def note_forms(looks: Iterable[tuple[str, Look]]) -> Iterator[Fact[Note]]:
    """One fact for all columns whose numbers are written in the same way, unless that is the plain one."""
    alike: dict[tuple[Form, bool], list[tuple[str, str]]] = {}
    for name, look in looks:
        if look.example and look.reason is None:
            alike.setdefault((look.form, look.certain), []).append((name, look.example))
    for (form, certain), columns in alike.items():
        example = columns[0][1]
        marks = {**form._asdict(), "example": example, "value": form.number(example), "certain": certain}
        yield Fact.of(Note.WRITTEN, *(name for name, _ in columns), **marks)


def is_frame(data: Any) -> bool:
    """Whether it is a data frame of some library, with columns of its own, and not an array."""
    return hasattr(type(data), "columns") or (hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__array__"))


def is_mapping(data: Any) -> bool:
    """Whether it is a mapping of names to columns; a sparse matrix may be one of places to numbers."""
    return isinstance(data, Mapping) and not hasattr(data, "toarray")


def check_numbers(source: Source, columns: Sequence[str], *, labels: bool = False) -> None:
    """Raise an InputError if some of the columns hold no numbers, nor ``labels`` where these will do."""
    why = {} if labels else {name: f"holds text such as {known[0]!r}" for name, known in source.labels.items()}
    why |= {name: reason.why for name, reason in source.refused.items()}
    if bad := [name for name in columns if name in why]:
        reasons = "; ".join(f"{name!r} {why[name]}" for name in bad[:5])
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
    """A two-dimensional array of numbers, or of objects that are numbers or text."""

    names: tuple[str, ...]
    array: NDArray[Any]
    looks: Mapping[str, Look] = field(default_factory=dict)

    @classmethod
    def open(
        cls, values: Any, names: Sequence[str] | None = None, told: Mapping[str, Told] | None = None
    ) -> ArraySource:
        """Check that it is a table of numbers, and name its columns."""
        if hasattr(values, "toarray"):
            raise InputError("the table is sparse; pass table.toarray()")
        if isinstance(values, np.ma.MaskedArray):
            values = np.ma.filled(values.astype(np.float64), np.nan)
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise InputError(f"the rows of the table differ in length: {error}") from error
        if array.dtype.kind in "US" and isinstance(values, list | tuple):
            # Numbers beside text stay numbers.
            array = np.array(values, dtype=object)
        if array.dtype.kind == "c":
            raise InputError(f"Complex data not supported: the array holds {array.dtype}; pass real numbers")
        if array.ndim != 2 or array.shape[1] == 0:
            raise InputError(f"{type(values).__name__} of shape {array.shape} is no table{_why_no_table(array)}")
        if array.dtype.kind not in "biufO":
            raise InputError(
                f"the array holds {array.dtype}; numbers are needed, or an array of objects that are numbers"
            )
        named = check_names(names, array.shape[1])
        looks = _look_at_objects(dict(zip(named, array.T)), told or {}) if array.dtype == object else {}
        return cls(named, array, looks)

    @property
    def in_memory(self) -> bool:
        """Always."""
        return True

    @property
    def booleans(self) -> frozenset[str]:
        """All columns or none, unless they hold objects: an array has one type."""
        words = frozenset(name for name, look in self.looks.items() if look.boolean)
        return frozenset(self.names if self.array.dtype == bool else ()) | words

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """Those of columns of objects."""
        return {name: look.labels for name, look in self.looks.items() if look.labels}

    @property
    def ordered(self) -> frozenset[str]:
        """None: an array declares no order."""
        return frozenset()

    @property
    def refused(self) -> Mapping[str, Reason]:
        """Columns of objects that are no numbers."""
        return {name: look.reason for name, look in self.looks.items() if look.reason is not None}

    @property
    def facts(self) -> tuple[Fact[Note], ...]:
        """How numbers in text are written."""
        return tuple(note_forms(self.looks.items()))

    def blocks(self, columns: tuple[str, ...]) -> Iterator[tuple[Floats, Place]]:
        """Read the columns in blocks of rows, as `Source` says."""
        array, step = self.array, block_rows(len(columns))
        chosen = None if columns == self.names else [self.names.index(name) for name in columns]
        for start in range(0, len(array), step):
            part, place = array[start : start + step], partial(_row, start)
            part = part if chosen is None else part[:, chosen]
            if part.dtype == object:
                found = [_from_objects(part[:, j], name, place, self.looks.get(name)) for j, name in enumerate(columns)]
                part = np.column_stack(found)
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


def is_missing(value: Any) -> bool:
    """Whether a cell is empty, or says that nothing is there."""
    if isinstance(value, str):
        return value.strip() in NULLS
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _from_objects(values: Iterable[Any], name: str, place: Place, look: Look | None = None) -> Floats:
    """Numbers that came as Python objects, or as text in the form of the column; what marks missing cells is NaN."""
    if look is not None and look.labels:
        return _from_labels(values, name, place, look.labels)
    numbers = []
    for row, value in enumerate(values):
        number = np.nan if is_missing(value) else _from_object(value, look)
        if number is None:
            what = f"column {name!r} holds {_show(value)} in {place(row)}, which is no number; correct it"
            category, drop = Argument("kinds", {name: "categorical"}), Argument("drop", [name])
            raise InputError(what, ", say ", category, ", or leave the column out with ", drop)
        numbers.append(number)
    return np.array(numbers)


def _from_labels(values: Iterable[Any], name: str, place: Place, labels: tuple[str, ...]) -> Floats:
    """Positions of cells among the labels."""
    cells, known = list(values), {label: float(code) for code, label in enumerate(labels)}
    try:
        found = [known.get(cell) for cell in cells]
    except TypeError:
        # Something that cannot be looked up, such as a list.
        found = [None] * len(cells)
    for row, cell in enumerate(cells):
        if found[row] is None:
            label = None if is_missing(cell) else as_label(cell)
            if label is not None and label not in known:
                raise unknown_level(name, label, place(row), labels)
            found[row] = np.nan if label is None else known[label]
    return np.array(found, dtype=np.float64)


def as_label(value: Any) -> str:
    """What a cell is called where it is a level."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    number = _from_object(value, None)
    return _show(value) if number is None else show_number(number)


def unknown_level(name: str, label: str, place: str, labels: Sequence[str]) -> InputError:
    """What to say of a cell that is none of the levels of its column."""
    listed = ", ".join(map(repr, labels[:12])) + (f" and {len(labels) - 12} more" if len(labels) > 12 else "")
    return InputError(f"column {name!r} holds {label[:80]!r} in {place}, which is none of its levels: {listed}")


def _from_object(value: Any, look: Look | None) -> float | None:
    if isinstance(value, str) and look is not None:
        if look.boolean:
            return {"true": 1.0, "false": 0.0}.get(value.strip().lower())
        return look.form.number(value.strip())
    if not isinstance(value, Real | Decimal | np.bool_):
        return None
    try:
        return float(value)
    except OverflowError:
        return np.inf
    except ValueError:
        return None


def _show(value: Any) -> str:
    try:
        return repr(value)[:80]
    except Exception:
        return f"an object of {type(value).__name__}"


def _look_at_objects(columns: Mapping[str, Iterable[Any]], told: Mapping[str, Told]) -> dict[str, Look]:
    """What columns of Python objects hold: numbers, numbers written as text, labels, or something that is not used."""
    evidence, looks = {}, {}
    for name, values in columns.items():
        given = [(row, value) for row, value in enumerate(values) if not is_missing(value)]
        words = [(row, value.strip()) for row, value in given if isinstance(value, str)]
        if words and len(words) < len(given) and is_category(told.get(name)):
            evidence[name] = Evidence(unit="row")
            evidence[name].add((row, as_label(value)) for row, value in given)
        elif len(words) < len(given) and not any(isinstance(value, Real | Decimal | np.bool_) for _, value in given):
            looks[name] = Look(reason=_why_object(*next(pair for pair in given if not isinstance(pair[1], str))))
        elif words:
            evidence[name] = Evidence(unit="row", n_plain=len(given) - len(words), n_given=len(given) - len(words))
            evidence[name].add(words)
    decimal = settle_decimal(evidence.values())
    found = {name: _as_text(one.look(decimal, stated=told.get(name)), one) for name, one in evidence.items()}
    return looks | found


def is_category(told: Told | None) -> bool:
    """Whether the user says that a column has levels."""
    return told is not None and told.kind in (Kind.CATEGORICAL, Kind.ORDINAL)


def _as_text(look: Look, evidence: Evidence) -> Look:
    """Numbers that came as text are to be mentioned, however plain."""
    if look == Look() and evidence.first:
        look.example = evidence.first
    return look


def _why_object(row: int, value: Any) -> Reason:
    if isinstance(value, datetime.date | datetime.time | datetime.timedelta | np.datetime64 | np.timedelta64):
        return Reason(Held.DATES, f"holds dates or times, first {_show(value)} in row {row}")
    return Reason(Held.OTHER, f"holds {_show(value)} in row {row}, which is no number")


@dataclass(frozen=True, eq=False)
class FrameSource:
    """A narwhals frame, eager or lazy; `natives` are the names as the frame spells them."""

    frame: Any
    natives: Mapping[str, Any]
    refused: Mapping[str, Reason]
    booleans: frozenset[str]
    looks: Mapping[str, Look]
    floats: frozenset[str]
    assumed: tuple[Fact[Note], ...]
    ordered: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, as strings."""
        return tuple(self.natives)

    @property
    def in_memory(self) -> bool:
        """Whether the frame is eager; lazy ones are computed when they are read."""
        import narwhals.stable.v2 as nw

        return isinstance(self.frame, nw.DataFrame)

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """Those of columns of text, and of declared categories."""
        return {name: look.labels for name, look in self.looks.items() if look.labels}

    @property
    def facts(self) -> tuple[Fact[Note], ...]:
        """What was assumed, and how numbers in text are written."""
        return (*self.assumed, *note_forms(self.looks.items()))

    @classmethod
    def open(cls, native: Any, told: Mapping[str, Told] | None = None) -> FrameSource:
        """Look at the types of the columns, at all text, and at the first rows."""
        import narwhals.stable.v2 as nw

        try:
            frame: Any = _from_stream(native)
            schema = frame.collect_schema()
            head = frame.head(sample_rows(len(schema)))
            sample = head if isinstance(frame, nw.DataFrame) else head.collect()
        except Exception as error:
            raise InputError(f"{type(native).__name__} cannot be read as a table: {error}") from error
        whole = frame if isinstance(frame, nw.DataFrame) else None
        return cls.judge(frame, schema, sample, whole, told, partial(_tally_each, frame))

    @classmethod
    def judge(
        cls,
        frame: Any,
        schema: Any,
        sample: Any,
        whole: Any,
        told: Mapping[str, Told] | None,
        tally: Callable[[Sequence[Any]], Mapping[Any, Evidence]],
    ) -> FrameSource:
        """Find out what columns hold.

        Parameters
        ----------
        frame
            What will be read.
        schema
            Its columns and their types.
        sample : eager frame
            The first rows.
        whole : eager frame or None
            All rows, where they are at hand.
        told
            What the user says of some columns.
        tally
            Gives the evidence of all cells of some columns of text or categories.
        """
        import narwhals.stable.v2 as nw

        if not len(schema):
            raise InputError("the table has no columns")
        at_hand = sample if whole is None else whole
        named = check_names(map(str, schema))
        naming = name_columns(named, len(schema), _first_cells(sample, schema))
        kinds = dict(zip(naming.names, schema.values()))
        keys = dict(zip(naming.names, schema))
        stated = told or {}
        loose = [name for name, kind in kinds.items() if _is_loose(kind)]
        looks = {name: Look() for name in loose}
        looks |= _look_at_objects({name: at_hand.get_column(keys[name]).to_list() for name in loose}, stated)
        wordy = [name for name in loose if is_category(stated.get(name)) or may_be_labels(looks[name])]
        wordy = wordy if whole is None else []
        declared = {name: kind for name, kind in kinds.items() if kind in (nw.Categorical, nw.Enum)}
        shown = tally([keys[name] for name in (*wordy, *declared)])
        looks |= {name: _look_at_all(shown[keys[name]], looks[name], stated.get(name)) for name in wordy}
        looks |= {name: _look_at_declared(shown[keys[name]], kind, stated.get(name)) for name, kind in declared.items()}
        refused = {name: look.reason for name, look in looks.items() if look.reason is not None}
        refused |= {name: why for name, kind in kinds.items() if (why := _why_refused(kind, at_hand, keys[name]))}
        booleans = frozenset(name for name, kind in kinds.items() if kind == nw.Boolean)
        booleans |= {name for name, look in looks.items() if look.boolean}
        floats = frozenset(name for name, kind in kinds.items() if kind == nw.Float64)
        ordered = frozenset(name for name, kind in declared.items() if kind == nw.Enum and looks[name].labels)
        return cls(frame, keys, {**refused, **naming.refused}, booleans, looks, floats, naming.facts, ordered)

    def blocks(self, columns: tuple[str, ...]) -> Iterator[tuple[Floats, Place]]:
        """Read the columns in blocks of rows, as `Source` says."""
        import narwhals.stable.v2 as nw

        start, chosen = 0, self.frame
        if columns != self.names:
            # By position, for the names of a pandas frame may be anything.
            chosen = chosen.select(nw.nth([self.names.index(name) for name in columns]))
        for frame in _eager_pieces(chosen, block_rows(len(columns))):
            place = partial(_row, start)
            start += len(frame)
            yield self.to_floats(frame, columns, place), place

    def to_floats(self, frame: Any, columns: tuple[str, ...], place: Place) -> Floats:
        """The rows (n, d) of an eager frame of these columns."""
        import narwhals.stable.v2 as nw

        if not self.looks.keys() & set(columns):
            plain = frame if self.floats.issuperset(columns) else frame.select(nw.all().cast(nw.Float64))
            return np.asarray(plain.to_numpy(), dtype=np.float64)
        parts = []
        for name in columns:
            series = frame.get_column(self.natives[name])
            if name in self.looks:
                series = series if _is_loose(series.dtype) else series.cast(nw.String)
                parts.append(_from_objects(series.to_list(), name, place, self.looks[name]))
            else:
                parts.append(series.cast(nw.Float64).to_numpy())
        return np.column_stack(parts)


def _first_cells(sample: Any, schema: Any) -> list[list[tuple[int, Any]]]:
    """The first cells of each column that are given; only integers and text can be row numbers or labels."""
    import narwhals.stable.v2 as nw

    cells = []
    for kind, key in zip(schema.values(), schema):
        wanted = kind.is_integer() or kind == nw.String
        values = sample.get_column(key).to_list() if wanted else [] if kind == nw.Unknown else [None, 0.5]
        cells.append([(row, value) for row, value in enumerate(values) if not is_missing(value)])
    return cells


def _is_loose(kind: Any) -> bool:
    """Whether the cells of a type have to be looked at one by one."""
    import narwhals.stable.v2 as nw

    return bool(kind in (nw.String, nw.Object))


def _why_refused(kind: Any, whole: Any, key: Any) -> Reason | None:
    """Say why a type of columns is not numbers; None if it is, or if its cells have to be looked at."""
    import narwhals.stable.v2 as nw

    if kind.is_numeric() or kind in (nw.Boolean, nw.Categorical, nw.Enum) or _is_loose(kind):
        return None
    if kind == nw.Unknown and whole.get_column(key).null_count() == len(whole):
        return None
    if kind.is_temporal():
        return Reason(Held.DATES, f"holds dates or times ({kind})")
    return Reason(Held.OTHER, f"holds {kind}")


def _look_at_all(evidence: Evidence, first: Look, told: Told | None) -> Look:
    """What a column of text in a lazy frame holds, by all of its cells."""
    look = evidence.look(None, stated=told)
    return first if look.reason is not None and first.reason is not None else _as_text(look, evidence)


def _look_at_declared(evidence: Evidence, kind: Any, told: Told | None) -> Look:
    """The levels of declared categories, in their order if they have one."""
    import narwhals.stable.v2 as nw

    if not evidence.tally:
        return Look(reason=Reason(Held.CATEGORIES, f"holds {kind} and no value"))
    if told is None and len(evidence.tally) == 1:
        (level,) = evidence.tally
        return Look(reason=Reason(Held.ONE_LEVEL, f"holds {level!r} and nothing else", level))
    if told is None and len(evidence.tally) == evidence.n_given:
        return Look(reason=Reason(Held.IDENTIFIER, f"holds {kind}, all different"))
    look = evidence.label(told)
    if kind == nw.Enum and look.reason is None and not (told and told.order):
        look.labels = tuple(as_label(level) for level in kind.categories)
    return look


def _tally_each(frame: Any, keys: Sequence[Any]) -> dict[Any, Evidence]:
    return {key: _tally(frame, key) for key in keys}


def _tally(frame: Any, key: Any) -> Evidence:
    """How often each cell of a column of text or categories comes."""
    import narwhals.stable.v2 as nw

    evidence = Evidence(unit="row")
    if isinstance(frame, nw.DataFrame):
        cells = frame.get_column(key).cast(nw.String).to_list()
        evidence.add((row, cell.strip()) for row, cell in enumerate(cells) if not is_missing(cell))
        return evidence
    text = frame.select(nw.col(key).cast(nw.String).alias("cell"))
    counted = text.group_by("cell").agg(nw.len().alias("rows")).collect()
    found = zip(counted.get_column("cell").to_list(), counted.get_column("rows").to_list())
    for cell, count in sorted((cell.strip(), count) for cell, count in found if not is_missing(cell)):
        evidence.add_cell(cell, 0, count)
    return evidence


def _pieces_of_relation(relation: Any, step: int) -> Iterator[Any]:
    """Eager frames of what a DuckDB relation computes, which passes by as an Arrow stream."""
    import duckdb
    import narwhals.stable.v2 as nw
    import pyarrow

    try:
        for batch in relation.to_arrow_reader(step):
            yield nw.from_native(pyarrow.Table.from_batches([batch]))
    except duckdb.Error as error:
        raise InputError(f"DuckDB could not read the table: {error}".splitlines()[0]) from error


def _from_stream(native: Any) -> Any:
    """A frame; what is only an Arrow stream passes by once, so that its rows are kept."""
    import narwhals.stable.v2 as nw

    known = nw.from_native(native, pass_through=True)
    if known is not native or not hasattr(native, "__arrow_c_stream__"):
        return nw.from_native(native)
    for backend in ("polars", "pyarrow"):
        try:
            return nw.from_arrow(native, backend=backend)
        except ImportError:
            continue
    raise InputError("an Arrow stream is read by Polars or PyArrow, and neither is installed")


def _eager_pieces(frame: Any, step: int) -> Iterator[Any]:
    """Cut a frame into eager ones of `step` rows; Polars and DuckDB compute lazy ones piece by piece."""
    import narwhals.stable.v2 as nw

    if isinstance(frame, nw.DataFrame):
        yield from (frame[start : start + step] for start in range(0, len(frame), step))
        return
    native = frame.to_native()
    if frame.implementation.is_polars():
        import polars

        try:
            yield from map(nw.from_native, native.collect_batches(chunk_size=step))
        except (polars.exceptions.PolarsError, OSError) as error:
            raise InputError(f"Polars could not read the table: {error}") from error
    elif frame.implementation.is_duckdb():
        yield from _pieces_of_relation(native, step)
    else:
        raise InputError(f"{type(native).__name__} is lazy; read_table(…).moments are its moments, or collect it first")

"""From a source to what is known of a table: its columns chosen, weighted, transformed, described and summed.

Hides what is done with the rows on their way, all of it in one pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from acyclic.data.cells import Held
from acyclic.data.columns import ColumnValues
from acyclic.data.dask_engine import DaskEngine, is_dask_frame, open_folder, open_frame
from acyclic.data.kinds import Coding, Told, find_kinds
from acyclic.data.memory import check_memory
from acyclic.data.missing import Missing, check_missing
from acyclic.data.moments import Accumulator, Moments, RangeError
from acyclic.data.opening import find_kind, open_stream, read_frame, scan_parquet
from acyclic.data.partials import CodeCounts, DrawnSums, RowWeights, SomeRows, Summary
from acyclic.data.partitions import Engine, Mergeable, PartedSource, Partition, PartSource
from acyclic.data.sources import ArraySource, Block, FrameSource, Source, check_numbers, is_frame, is_mapping, weigh
from acyclic.data.spark_engine import SparkEngine, is_spark_frame
from acyclic.data.text import TextFormat, TextSource
from acyclic.data.units import Extent, is_extreme
from acyclic.deadline import Deadline
from acyclic.errors import Argument, InputError, suggest
from acyclic.facts import Fact, NoRows, Note
from acyclic.graphs.checks import check_names
from acyclic.types import Bools, Floats, Integers, Kind

__all__ = [
    "ROWS_LIMIT",
    "Content",
    "Reading",
    "Where",
    "join_rows",
    "open_source",
    "select_columns",
    "stays_elsewhere",
    "too_large",
]

# The most values that are put in memory without being asked: 2 GiB.
ROWS_LIMIT: Final = 1 << 28
# The most values of a file that are kept while it is read, lest it be parsed again for its rows: 256 MB, which every
# machine has to spare; a table that is longer is more often wanted for its moments alone.
_KEPT_VALUES: Final = 1 << 25
# The most values that are brought here from partitions elsewhere, as rows: 32 MB.
_BROUGHT_VALUES: Final = 1 << 22


# Columns that are left out with a note of their own, which names a level.
_NOTED: Final = {Held.ONE_LEVEL: Note.ONE_LEVEL, Held.MIXED: Note.MIXED}


class Content(NamedTuple):
    """What was found in a table; ``notes`` are those that its moments do not tell, ``kept`` the rows read so far.

    ``lengths`` are the rows that count in each partition, of a table that is in partitions. ``keeps_gaps``: rows have
    missing cells, which are to be filled.
    """

    moments: Moments
    notes: tuple[Fact[Note], ...]
    absences: tuple[Fact[Note], ...]
    n_rows: int
    digest: str
    kinds: tuple[Kind, ...]
    codings: Mapping[str, Coding]
    why_no_rows: Fact[NoRows] | None
    kept: list[Floats] | None
    zeros: Bools
    lengths: Integers
    keeps_gaps: bool = False


Work = TypeVar("Work", bound=Mergeable)


@dataclass(frozen=True, eq=False)
class Reading:
    """Which columns of a source to read, and what to do with them on the way."""

    source: Source
    columns: tuple[str, ...]
    dropped: tuple[str, ...]
    logged: tuple[str, ...]
    weights: str | ArrayLike | None
    missing: Missing
    left_out: tuple[str, ...] = ()
    told: Mapping[str, Told] = field(default_factory=dict)
    exponents: Integers | None = None

    @classmethod
    def prepare(
        cls,
        source: Source,
        columns: Sequence[str] | None,
        drop: Sequence[str] | None,
        log: Sequence[str] | bool | None,
        weights: str | ArrayLike | None,
        missing: Missing,
        strict: bool = False,
        told: Mapping[str, Told] | None = None,
    ) -> Reading:
        """Check the options against the columns that there are; those without numbers are left out unless asked for."""
        check_missing(missing)
        used = select_columns(source.names, columns, drop)
        if isinstance(weights, str):
            _check_known("weights", [weights], source.names)
            used = select_columns(used, None, [weights]) if weights in used else used
        told = told or {}
        _check_known("kinds", tuple(told), source.names)
        wanted = {*(columns or ()), *(() if log is True else log or ()), *told}
        left_out = tuple(name for name in used if name in source.refused and name not in wanted and not strict)
        if len(left_out) == len(used):
            check_numbers(source, used, labels=True)
        used = tuple(name for name in used if name not in set(left_out)) if left_out else used
        numbers = tuple(name for name in used if name not in source.labels)
        logged = numbers if log is True else _check_known("log", log or (), used)
        if text := [name for name in logged if name in source.labels]:
            raise InputError(f"{text[0]!r} holds text, which has no logarithm; leave it out of ", Argument("log"))
        read = (*used, weights) if isinstance(weights, str) else used
        check_numbers(source, read, labels=True)
        if isinstance(weights, str):
            check_numbers(source, [weights])
        if weights is not None and not isinstance(weights, str) and isinstance(source, PartedSource):
            raise InputError(Argument("weights"), " of a table in partitions are a column of it; name that")
        check_memory(len(used), missing)
        kept = {*read, *left_out}
        dropped = tuple(name for name in source.names if name not in kept)
        return cls(source, used, dropped, logged, weights, missing, left_out, told)

    def read(self) -> tuple[Reading, Content]:
        """Read all of it, once; again, in other units, only where squares leave the range of floats."""
        try:
            content = self._read()
        except RangeError:
            exponents = self._ask(Reading._reach).find_exponents()
            if exponents is None:
                raise
        else:
            if not is_extreme(content.moments, content.zeros):
                return self, content
            exponents = self._ask(Reading._reach).find_exponents()
            if exponents is None:
                return self, content
        rescaled = replace(self, exponents=exponents)
        return rescaled, rescaled._read()

    def _ask(
        self,
        question: Callable[[Reading, int, Any], Work],
        given: Mapping[int, Any] | None = None,
        keep: str = "",
        deadline: Deadline | None = None,
    ) -> Work:
        """What one pass over the rows tells: here or, where these are in partitions elsewhere, there.

        ``question`` takes the reading of a partition, its number, and what is given for it.
        """
        source = self.source
        if isinstance(source, PartedSource):
            job = _OfPart(replace(self, source=source.form), question)
            return source.engine.reduce(job, given, keep=keep, deadline=deadline)
        return question(self, 0, None if given is None else given[0])

    def _read(self) -> Content:
        found = self._ask(Reading._summarise, keep=self._describe())
        values, accumulator = found.values, found.sums
        moments, absences = accumulator.finish()
        kinds, codings, told = find_kinds(
            self.columns,
            values.seen(),
            # A logarithm is no count, whatever its mean.
            [np.inf if name in self.logged else mean for name, mean in zip(self.columns, moments.mean.tolist())],
            rows=values.n_rows,
            labels=self.source.labels,
            booleans=self.source.booleans,
            ordered=self.source.ordered,
            told=self.told,
        )
        return Content(
            moments,
            (*self._notes(), *told),
            tuple(absences),
            accumulator.n_rows,
            self._digest(values, accumulator.n_incomplete),
            kinds,
            {name: coding.in_units(self._units_of(name)) for name, coding in codings.items()},
            self._why_no_rows(accumulator),
            found.kept,
            values.find_zeros(),
            found.lengths(),
            self.missing == "impute" and accumulator.n_incomplete > 0,
        )

    def _describe(self) -> str:
        """What partial results depend on besides the table itself."""
        told = sorted((name, told.kind.value, told.order) for name, told in self.told.items())
        units = None if self.exponents is None else self.exponents.tolist()
        labels = sorted(self.source.labels.items())
        return repr(
            (
                self.columns,
                self.logged,
                self.weights if isinstance(self.weights, str) else None,
                self.missing,
                told,
                units,
                labels,
            )
        )

    def _summarise(self, number: int, _: Any) -> Summary:
        known = self.source.labels
        with_levels = any(len(known.get(name, ())) > 2 for name in self.columns)
        found = Summary(self.columns, {*known, *self.told}, self.missing, number, with_levels=with_levels)
        dropping = self.missing == "drop-rows"
        kept: list[Floats] | None = None if self.source.in_memory or self.weights is not None else []
        for block in self._blocks():
            found.values.add(block.rows, block.weights, has_gaps=self.missing != "error", complete_only=dropping)
            rows = self._transform(block)
            found.sums.add(rows, block.weights, block.place)
            if kept is not None:
                kept.append(rows)
            if found.values.n_rows * len(self.columns) > _KEPT_VALUES:
                kept = None
        found.sums.close()
        found.count(found.sums.n_rows - (found.sums.n_incomplete if dropping else 0))
        found.kept = kept
        return found

    def _reach(self, number: int, _: Any) -> Extent:
        extent = Extent(len(self.columns))
        for block in self._blocks():
            extent.add(self._transform(block))
        return extent

    def take_rows(self, positions: Integers, lengths: Integers) -> Floats:
        """Rows (k, d) by their positions, in rising order, among those that count; ``lengths`` are as `Content` has."""
        starts = np.concatenate([[0], np.cumsum(lengths)])
        cuts = np.searchsorted(positions, starts)
        given = {
            number: positions[cuts[number] : cuts[number + 1]] - starts[number]
            for number in range(len(lengths))
            if cuts[number] < cuts[number + 1]
        }
        if not given:
            return np.empty((0, len(self.columns)))
        found = self._ask(Reading._pick, given)
        if any(found.lengths[number] != lengths[number] for number in given):
            raise InputError("the table has changed since its moments were read; read it again")
        return found.rows

    def _pick(self, number: int, positions: Integers) -> SomeRows:
        start, parts = 0, [np.empty((0, len(self.columns)))]
        for block in self._blocks():
            rows = self._complete(block)
            inside = positions[(positions >= start) & (positions < start + len(rows))] - start
            parts.append(rows[inside])
            start += len(rows)
        return SomeRows(np.concatenate(parts), {number: start})

    def _complete(self, block: Block) -> Floats:
        """The rows of a block that count, transformed."""
        rows = self._transform(block)
        return rows if self.missing == "error" else rows[~np.isnan(rows).any(axis=1)]

    def redraw(self, draws: Sequence[RowWeights], deadline: Deadline | None = None) -> list[Moments]:
        """Moments of all draws, in one pass over the rows."""
        return self._ask(partial(Reading._redraw, draws=tuple(draws)), deadline=deadline).moments(self.columns)

    def _redraw(self, number: int, _: Any, draws: tuple[RowWeights, ...]) -> DrawnSums:
        sums = DrawnSums(draws, number, len(self.columns))
        for block in self._blocks():
            sums.add(self._complete(block))
        return sums.close()

    def count_codes(self, codings: Sequence[Coding]) -> CodeCounts:
        """How often each row of codes comes in a table of categories."""
        return self._ask(partial(Reading._count_codes, codings=tuple(codings)))

    def _count_codes(self, number: int, _: Any, codings: tuple[Coding, ...]) -> CodeCounts:
        found = CodeCounts.of(np.empty((0, len(codings)), dtype=np.uint8))
        for block in self._blocks():
            rows = self._complete(block)
            found.merge(CodeCounts.of(np.column_stack([one.encode(rows[:, k]) for k, one in enumerate(codings)])))
        return found

    def read_rows(self) -> tuple[Floats, str]:
        """Read all of it again: the rows, transformed, with their gaps, and the digest of the values."""
        values, parts = ColumnValues(self.columns), []
        for block in self._blocks():
            values.add(block.rows, block.weights)
            parts.append(self._transform(block))
        rows = join_rows(parts, len(self.columns))
        return rows, self._digest(values, int(np.isnan(rows).any()))

    def _units_of(self, name: str) -> Callable[[Floats], Floats]:
        """What is done with the values of a column."""

        def change(values: Floats) -> Floats:
            values = np.log(values) if name in self.logged else values
            return values if self.exponents is None else np.ldexp(values, self.exponents[self.columns.index(name)])

        return change

    def _blocks(self) -> Iterator[Block]:
        if isinstance(self.weights, str):
            return weigh(self.source.blocks((*self.columns, self.weights)), None, last=True)
        return weigh(self.source.blocks(self.columns), self.weights)

    def _transform(self, block: Block) -> Floats:
        """Rows with logarithms taken, in other units where these are needed; else as they are."""
        if not self.logged:
            return block.rows if self.exponents is None else np.ldexp(block.rows, self.exponents)
        rows = block.rows.copy()
        for column in map(self.columns.index, self.logged):
            values = rows[:, column]
            if (low := values <= 0).any():
                what = f"{self.columns[column]!r} is {values[low][0]:g} in {block.place(int(low.argmax()))}"
                raise InputError(
                    f"{what}: only values above 0 have a logarithm; correct it, or leave it out of ", Argument("log")
                )
            np.log(values, out=values)
        return rows if self.exponents is None else np.ldexp(rows, self.exponents)

    def _digest(self, values: ColumnValues, n_incomplete: int) -> str:
        # What would have been done about missing cells makes no difference where there are none.
        known = self.source.labels
        labels = {name: known[name] for name in self.columns if name in known}
        told = {name: self.told[name] for name in self.columns if name in self.told}
        missing = self.missing if n_incomplete else None
        return values.digest(log=self.logged, missing=missing, labels=labels, kinds=told)

    def _why_no_rows(self, read: Accumulator) -> Fact[NoRows] | None:
        if self.weights is not None:
            return Fact.of(NoRows.WEIGHTED)
        if read.n_incomplete and self.missing not in ("drop-rows", "impute"):
            return Fact.of(NoRows.INCOMPLETE, rows=read.n_incomplete)
        if isinstance(self.source, PartedSource) and read.n_rows * len(self.columns) > _BROUGHT_VALUES:
            return Fact.of(NoRows.ELSEWHERE, rows=read.n_rows, partitions=self.source.engine.count)
        return too_large(read.n_rows, len(self.columns), ROWS_LIMIT)

    @property
    def _read_names(self) -> frozenset[str]:
        return frozenset((*self.columns, *([self.weights] if isinstance(self.weights, str) else [])))

    def _notes(self) -> Iterator[Fact[Note]]:
        used = self._read_names
        for fact in self.source.facts:
            about = tuple(name for name in fact.about if name in used)
            if about or not fact.about:
                yield replace(fact, about=about)
        why = {name: self.source.refused[name] for name in self.left_out}
        if held := {name: reason.held.value for name, reason in why.items() if reason.held not in _NOTED}:
            yield Fact(Note.LEFT_OUT, tuple(held), tuple(held.items()))
        yield from (
            Fact.of(_NOTED[reason.held], name, level=reason.example)
            for name, reason in why.items()
            if reason.held in _NOTED
        )
        yield from (Fact.of(Note.DROPPED, name) for name in self.dropped)
        if self.exponents is not None:
            for name, exponent in zip(self.columns, self.exponents.tolist()):
                if exponent:
                    yield Fact.of(Note.RESCALED, name, exponent=exponent)
        yield from (Fact.of(Note.LOG, name) for name in self.logged)
        if isinstance(self.weights, str):
            yield Fact.of(Note.WEIGHTS, self.weights)


@dataclass(frozen=True, eq=False)
class _OfPart(Generic[Work]):
    """A question on the rows of a partition, as a job; the source of the reading says how they are read."""

    reading: Reading
    question: Callable[[Reading, int, Any], Work]

    def __call__(self, number: int, partition: Partition, given: Any) -> Work:
        form = self.reading.source
        assert isinstance(form, FrameSource)
        return self.question(replace(self.reading, source=PartSource(form, partition)), number, given)


def too_large(rows: int, columns: int, limit: int) -> Fact[NoRows] | None:
    """The fact that there are more values than the limit, if there are."""
    if rows * columns <= limit:
        return None
    return Fact.of(NoRows.TOO_LARGE, rows=rows, columns=columns, limit=limit)


def join_rows(parts: Sequence[Floats], d: int) -> Floats:
    """One array (n, d) of them all, row after row in memory."""
    return np.concatenate(parts, out=np.empty((sum(map(len, parts)), d)))


def open_source(
    source: Any,
    names: Sequence[str] | None,
    text: TextFormat,
    sheet: str | None = None,
    told: Mapping[str, Told] | None = None,
    where: Where | None = None,
) -> Source:
    """Find out what kind of table it is, and where."""
    if is_mapping(source):
        if names is not None:
            raise InputError("names are for arrays and text files; a mapping has its own")
        names, source = tuple(map(str, source)), _join_columns(source)
    usual, in_file = text._replace(header=None) == TextFormat(), False
    facts: tuple[Fact[Note], ...] = ()
    if isinstance(source, str | os.PathLike):
        in_file = True
        if where is not None and where.cluster is not None:
            source = open_folder(source, *where)
        elif Path(source).is_dir():
            source = scan_parquet(Path(source))
        else:
            stream = open_stream(Path(source), sheet)
            kind = find_kind(stream)
            if kind == "text":
                return TextSource.open(stream, names, text, told)
            source, facts = read_frame(stream, kind, sheet, text.header)
            usual = text == TextFormat() or (kind == "workbook" and usual)
    if not (usual if in_file else text == TextFormat() and sheet is None):
        given = {**text._asdict(), "sheet": sheet}
        asked = [name for name, value in given.items() if value != TextFormat._field_defaults.get(name)]
        raise InputError(Argument(asked[0]), " is for text files only; leave it out")
    elsewhere = open_elsewhere(source, where)
    if elsewhere is None and not is_frame(source):
        return ArraySource.open(source, names, told)
    if names is not None:
        raise InputError("names are for arrays and text files; a data frame has its own: rename its columns")
    if elsewhere is not None:
        return PartedSource.open(elsewhere, told)
    opened = FrameSource.open(source, told)
    return replace(opened, assumed=(*facts, *opened.assumed))


class Where(NamedTuple):
    """Where a table is that is not here: the cluster whose workers see it, and a folder for partial results."""

    cluster: Any = None
    partials: str | os.PathLike[str] | None = None


def stays_elsewhere(source: Any) -> bool:
    """Whether a cluster reads it where it is: a folder, a path that only workers know, or a frame in partitions."""
    if not isinstance(source, str | os.PathLike):
        return is_dask_frame(source)
    return Path(source).is_dir() or not (os.fspath(source) == "-" or Path(source).exists())


def open_elsewhere(source: Any, where: Where | None) -> Engine | None:
    """The engine on which the partitions of a table are; None for a table that is here."""
    if isinstance(source, DaskEngine):
        return source
    if is_dask_frame(source):
        return open_frame(source, *(where or ()))
    if is_spark_frame(source) and (where is None or where == Where()):
        return SparkEngine(source)
    if where is not None and where != Where():
        what, advice = type(source).__name__, "a folder of Parquet files or a Dask frame"
        option = Argument("partials" if where.cluster is None else "cluster")
        raise InputError(option, f" is for {advice}, which stay where they are; got {what}")
    return None


def _join_columns(columns: Mapping[Any, Any]) -> Any:
    """The columns of a mapping beside each other, each with the values that it has."""
    if len(sizes := {np.shape(column) for column in columns.values()}) != 1 or len(next(iter(sizes))) != 1:
        raise InputError("the columns of the mapping differ in length, or are none; give as many values for each")
    parts = [np.asarray(column) for column in columns.values()]
    plain = all(part.dtype.kind in "biuf" for part in parts)
    return np.column_stack([part if plain else part.astype(object) for part in parts])


def select_columns(
    names: tuple[str, ...], columns: Sequence[str] | None, drop: Sequence[str] | None
) -> tuple[str, ...]:
    """The columns to use, in order."""
    wanted = names if columns is None else _check_known("columns", columns, names)
    dropped = () if drop is None else _check_known("drop", drop, names)
    left = tuple(name for name in wanted if name not in set(dropped)) if dropped else wanted
    if not left:
        raise InputError(f"no column is left to use; the columns are {_list_some(names)}")
    return left


def _check_known(option: str, given: Sequence[str], names: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise InputError(f"{option} is the single string {given!r}; give a list, ", Argument(option, [given]))
    known = set(names)
    for name in given:
        if name not in known:
            listed = f"{suggest(name, names)}; the columns are {_list_some(names)}"
            raise InputError(Argument(option), f" names {name!r}{listed}")
    return check_names(given) if given else ()


def _list_some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")

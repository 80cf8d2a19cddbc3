"""From a source to what is known of a table: its columns chosen, weighted, transformed, described and summed.

Hides what is done with the rows on their way, all of it in one pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from acyclic.data.cells import Held
from acyclic.data.columns import ColumnValues
from acyclic.data.kinds import Coding, Told, find_kinds
from acyclic.data.memory import check_memory
from acyclic.data.missing import Missing, check_missing
from acyclic.data.moments import Accumulator, Moments, RangeError
from acyclic.data.opening import find_kind, open_stream, read_frame, scan_parquet
from acyclic.data.sources import ArraySource, Block, FrameSource, Source, check_numbers, is_frame, weigh
from acyclic.data.text import TextFormat, TextSource
from acyclic.data.units import find_exponents, is_extreme
from acyclic.errors import Argument, InputError, suggest
from acyclic.facts import Fact, NoRows, Note
from acyclic.graphs.checks import check_names
from acyclic.types import Bools, Floats, Integers, Kind

__all__ = ["ROWS_LIMIT", "Content", "Reading", "join_rows", "open_source", "select_columns", "too_large"]

# The most values that are put in memory without being asked: 2 GiB.
ROWS_LIMIT: Final = 1 << 28
# The most values of a file that are kept while it is read, lest it be parsed again for its rows: 256 MB, which every
# machine has to spare; a table that is longer is more often wanted for its moments alone.
_KEPT_VALUES: Final = 1 << 25


# Columns that are left out with a note of their own, which names a level.
_NOTED: Final = {Held.ONE_LEVEL: Note.ONE_LEVEL, Held.MIXED: Note.MIXED}


class Content(NamedTuple):
    """What was found in a table; ``notes`` are those that its moments do not tell, ``kept`` the rows read so far."""

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
        check_memory(len(used), missing)
        kept = {*read, *left_out}
        dropped = tuple(name for name in source.names if name not in kept)
        return cls(source, used, dropped, logged, weights, missing, left_out, told)

    def read(self) -> tuple[Reading, Content]:
        """Read all of it, once; again, in other units, only where squares leave the range of floats."""
        try:
            content = self._read()
        except RangeError:
            exponents = find_exponents(self._blocks_transformed(), len(self.columns))
            if exponents is None:
                raise
        else:
            if not is_extreme(content.moments, content.zeros):
                return self, content
            exponents = find_exponents(self._blocks_transformed(), len(self.columns))
            if exponents is None:
                return self, content
        rescaled = replace(self, exponents=exponents)
        return rescaled, rescaled._read()

    def _read(self) -> Content:
        values, accumulator = self._values(), Accumulator(self.columns, self.missing)
        dropping = self.missing == "drop-rows"
        kept: list[Floats] | None = None if self.source.in_memory or self.weights is not None else []
        for block in self._blocks():
            values.add(block.rows, block.weights, has_gaps=self.missing != "error", complete_only=dropping)
            rows = self._transform(block)
            accumulator.add(rows, block.weights, block.place)
            if kept is not None:
                kept.append(rows)
            if values.n_rows * len(self.columns) > _KEPT_VALUES:
                kept = None
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
            kept,
            values.find_zeros(),
        )

    def read_rows(self) -> tuple[Floats, str]:
        """Read all of it again: the rows, transformed, with their gaps, and the digest of the values."""
        values, parts = self._values(), []
        for block in self._blocks():
            values.add(block.rows, block.weights)
            parts.append(self._transform(block))
        rows = join_rows(parts, len(self.columns))
        return rows, self._digest(values, int(np.isnan(rows).any()))

    def _values(self) -> ColumnValues:
        return ColumnValues(self.columns, {*self.source.labels, *self.told})

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

    def _blocks_transformed(self) -> Iterator[Floats]:
        return (self._transform(block) for block in self._blocks())

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
        if read.n_incomplete and self.missing != "drop-rows":
            return Fact.of(NoRows.INCOMPLETE, rows=read.n_incomplete)
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
) -> Source:
    """Find out what kind of table it is."""
    usual, in_file = text._replace(header=None) == TextFormat(), False
    facts: tuple[Fact[Note], ...] = ()
    if isinstance(source, str | os.PathLike):
        in_file = True
        if Path(source).is_dir():
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
    if not is_frame(source):
        return ArraySource.open(source, names, told)
    if names is not None:
        raise InputError("names are for arrays and text files; a data frame has its own: rename its columns")
    opened = FrameSource.open(source, told)
    return replace(opened, assumed=(*facts, *opened.assumed))


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

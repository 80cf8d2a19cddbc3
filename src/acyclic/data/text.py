"""CSV and other separated text files as a source: blocks of rows of floats from a file of any length.

Hides how a text file is cut into lines and fields, and which library parses it.
"""

from __future__ import annotations

import codecs
import io
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Final

import numpy as np

from acyclic.data.cells import NULLS, PLAIN, Evidence, Form, Look, Reason, may_be_labels, settle_decimal
from acyclic.data.dialect import BLANK, Record, TextFormat, find_encoding, find_heading, guess_encoding, split_records
from acyclic.data.kinds import Told
from acyclic.data.naming import name_columns
from acyclic.data.opening import Stream
from acyclic.data.sources import SAMPLE, Misread, Place, is_category, note_forms, sample_rows, unknown_level
from acyclic.errors import Argument, InputError, MissingExtraError, Part
from acyclic.facts import Fact, Note
from acyclic.graphs.csv_text import restore
from acyclic.types import Floats

__all__ = ["TextFormat", "TextSource"]

_CHUNK_BYTES: Final = 1 << 22
_KINDS: Final = {PLAIN: "number", Form(","): "comma"}


@dataclass(frozen=True, eq=False)
class TextSource:
    """A file of separated values, read in chunks of whole lines; a line that a fast parser rejects is found slowly.

    What its columns hold is judged by the first rows; where a later cell does not fit, all of the file is looked at.
    """

    stream: Stream
    names: tuple[str, ...]
    format: TextFormat
    skipped: int
    looks: tuple[Look, ...]
    refused: Mapping[str, Reason]
    assumed: tuple[Fact[Note], ...]
    told: Mapping[str, Told]
    surveyed: bool = False

    @classmethod
    def open(
        cls, stream: Stream, names: Sequence[str] | None, text: TextFormat, told: Mapping[str, Told] | None = None
    ) -> TextSource:
        """Find the separator, the names and the kinds of the columns in the first lines."""
        text, facts = text.checked(), []
        named = text.encoding is not None
        if not named:
            start = stream.begin(_CHUNK_BYTES)
            text = text._replace(encoding=find_encoding(start, stream.name))
            facts += _note_encoding(start, str(text.encoding))
        _, chunk = next(_chunks(stream, str(text.encoding)), (1, b""))
        try:
            head = _decoded(chunk)
        except UnicodeDecodeError as error:
            if named:
                raise InputError(f"{stream.name} is not {text.encoding}: {error}") from error
            text = text._replace(encoding=guess_encoding(chunk))
            facts = _note_encoding(chunk, str(text.encoding))
            _, chunk = next(_chunks(stream, str(text.encoding)), (1, b""))
            head = _decoded(chunk)
        heading = find_heading(head, text, stream.name, names, SAMPLE)
        width = len(heading.names if heading.names is not None else heading.sample[0][1])
        sample = heading.sample[: sample_rows(width)]
        nulls = NULLS.union(text.null_values)
        columns = [_given(sample, column, nulls) for column in range(width)]
        found = None if heading.names is None else [restore(name) for name in heading.names]
        naming = name_columns(found if names is None else names, width, columns)
        source = cls(
            stream,
            naming.names,
            text._replace(separator=heading.separator),
            heading.skipped,
            (),
            naming.refused,
            (*facts, *heading.facts, *naming.facts),
            told or {},
        )
        evidence = [Evidence() for _ in range(width)]
        for one, cells in zip(evidence, columns):
            one.add(cells)
        judged = source._judged(evidence)
        # Whether 1,234 is a decimal or a thousand is decided by the whole column.
        unsure = any(one.is_ambiguous for one in evidence) and text.decimal is None
        while True:
            try:
                judged = judged._survey_words(evidence)
                return judged._survey() if unsure else judged
            except Misread as found:
                judged = found.source  # type: ignore[assignment]

    def _judged(self, evidence: Sequence[Evidence]) -> TextSource:
        """What each column holds, by the evidence."""
        decimal = self.format.decimal or settle_decimal(evidence)
        usual, told = "," if self.format.separator == ";" else ".", self.format.decimal is not None
        looks = tuple(
            one.look(decimal, usual, told=told, stated=self.told.get(name)) for name, one in zip(self.names, evidence)
        )
        found = {name: look.reason for name, look in zip(self.names, looks) if look.reason is not None}
        return replace(self, looks=looks, refused={**found, **self.refused})

    def _survey(self) -> TextSource:
        """The same source, judged by all of its cells."""
        evidence = [Evidence() for _ in self.names]
        for line, chunk in self._body():
            records = [record for record in self._records(chunk, line) if len(record[1]) == len(self.names)]
            for column, one in enumerate(evidence):
                if self.names[column] not in self.refused:
                    one.add(_given(records, column, self._nulls))
        return replace(self._judged(evidence), surveyed=True)

    def _survey_words(self, sample: Sequence[Evidence]) -> TextSource:
        """The same source, with columns of text judged by all of their cells: they may be categories, or none."""
        wordy = [
            column
            for column, name in enumerate(self.names)
            # What a column is called may be reason enough to leave it out.
            if self.refused.get(name) in (None, self.looks[column].reason)
            and (may_be_labels(self.looks[column]) or is_category(self.told.get(name)))
        ]
        if not wordy:
            return self
        names = {self.names[column] for column in wordy}
        others = {name: why for name, why in self.refused.items() if name not in names}
        evidence = [Evidence() if column in set(wordy) else one for column, one in enumerate(sample)]
        nulls = self._nulls
        for line, chunk in self._body():
            for column, cells in zip(wordy, self._count_cells(chunk, line, wordy)):
                places = sample[column].odd
                # Those of the first rows first, for these have a place to be told.
                for cell in sorted(cells, key=lambda cell: places.get(cell, 1 << 62)):
                    if cell not in nulls:
                        evidence[column].add_cell(cell, places.get(cell, line), cells[cell])
        return replace(self, refused=others)._judged(evidence)

    def _count_cells(self, chunk: bytes, line: int, columns: Sequence[int]) -> list[Counter[str]]:
        """How often each cell of the columns comes in a chunk, stripped; lines of another width are passed over."""
        found = None if self.format.separator == BLANK else _counted_by_polars(chunk, self, columns)
        if found is not None:
            return found
        records = [record for _, record in self._records(chunk, line) if len(record) == len(self.names)]
        return [Counter(record[column].strip() for record in records) for column in columns]

    @property
    def in_memory(self) -> bool:
        """Never: the file is parsed when it is read."""
        return False

    @property
    def booleans(self) -> frozenset[str]:
        """The columns of true and false."""
        return frozenset(name for name, look in zip(self.names, self.looks) if look.boolean)

    @property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """Those of columns of text."""
        return {name: look.labels for name, look in zip(self.names, self.looks) if look.labels}

    @property
    def ordered(self) -> frozenset[str]:
        """None: a text file declares no order."""
        return frozenset()

    @property
    def facts(self) -> tuple[Fact[Note], ...]:
        """What was assumed of the file, and how its numbers are written."""
        return (*self.assumed, *note_forms(zip(self.names, self.looks)))

    @property
    def _nulls(self) -> frozenset[str]:
        return NULLS.union(self.format.null_values)

    def _body(self) -> Iterator[tuple[int, bytes]]:
        """Chunks of rows, the lines above them cut off."""
        for line, chunk in _chunks(self.stream, str(self.format.encoding)):
            if line == 1 and self.skipped:
                chunk = b"".join(chunk.splitlines(keepends=True)[self.skipped :])
                line += self.skipped
            if chunk.strip():
                yield line, chunk

    def _records(self, chunk: bytes, line: int) -> Iterator[Record]:
        try:
            text = _decoded(chunk)
        except UnicodeDecodeError:
            encoding = guess_encoding(chunk)
            assumed = (*self.assumed, *_note_encoding(chunk, encoding))
            raise Misread(replace(self, format=self.format._replace(encoding=encoding), assumed=assumed)) from None
        return split_records(text, str(self.format.separator), line, self.stream.name)

    def blocks(self, columns: tuple[str, ...]) -> Iterator[tuple[Floats, Place]]:
        """Read the columns in blocks of rows, as `Source` says."""
        place_of = {name: position for position, name in enumerate(self.names)}
        positions, parse = [place_of[name] for name in columns], _fast_parser(self.stream.name)
        for line, chunk in self._body():
            rows = self._fast(parse, chunk, positions)
            rows = self._careful(chunk, line, positions) if rows is None else rows
            yield np.asarray(rows, dtype=np.float64), partial(self._place, chunk, line)

    def _fast(self, parse: _Parser, chunk: bytes, positions: list[int]) -> Floats | None:
        """The numbers of a chunk, or None if it has to be read with care."""
        separator, quoted = str(self.format.separator), b'"' in chunk
        if separator == BLANK:
            if quoted:
                return None
            chunk, separator = b"\n".join(b"\t".join(row.split()) for row in chunk.split(b"\n")), "\t"
        characters = np.frombuffer(chunk, dtype=np.uint8)
        ends = np.flatnonzero(characters == ord("\n"))
        marks = np.count_nonzero(characters == ord(separator))
        if np.any(np.diff(ends, prepend=-1) == 1) or (marks != (len(self.names) - 1) * ends.size and not quoted):
            return None
        kinds = ["text"] * len(self.names)
        for position in positions:
            look = self.looks[position]
            kinds[position] = (
                "boolean" if look.boolean else "written" if look.labels else _KINDS.get(look.form, "written")
            )
        text = self.format._replace(separator=separator, null_values=tuple(sorted(self._nulls)))
        return parse(chunk, kinds, positions, text, quoted, partial(self._written, positions))

    def _written(self, positions: list[int], at: int, cells: list[str | None]) -> list[float] | None:
        """The numbers of a column that a fast parser gave as text; None if a cell is none."""
        look, nulls, found = self.looks[positions[at]], self._nulls, []
        number: Callable[[str], float | None] = look.form.number
        if look.labels:
            number = {label: float(code) for code, label in enumerate(look.labels)}.get
        for cell in cells:
            value = np.nan if cell is None or (text := cell.strip()) in nulls else number(text)
            if value is None:
                return None
            found.append(value)
        return found

    def _careful(self, chunk: bytes, line: int, positions: list[int]) -> Floats:
        """The same as `_fast`, cell by cell, with the line in the message if a cell or the line is wrong."""
        rows = []
        for number, record in self._records(chunk, line):
            if len(record) != len(self.names):
                where = f"line {number} of {self.stream.name} has {len(record)} fields"
                advice = f"correct the line, or name another separator than {self.format.separator!r}"
                raise InputError(f"{where}, but there are {len(self.names)} columns; {advice}")
            rows.append([self._number(record[position], position, number) for position in positions])
        return np.array(rows).reshape(-1, len(positions))

    def _number(self, cell: str, position: int, line: int) -> float:
        text, name, look = cell.strip(), self.names[position], self.looks[position]
        if text in self._nulls:
            return np.nan
        if look.labels:
            if text not in look.labels:
                raise unknown_level(name, text, f"line {line}", look.labels)
            return float(look.labels.index(text))
        if look.boolean and text.lower() in ("true", "false"):
            return float(text.lower() == "true")
        number = None if look.boolean else look.form.number(text)
        if number is None:
            if not self.surveyed:
                raise Misread(self._survey())
            shown, like = repr(text[:80]), f" like {look.example!r}" if look.example else ""
            marks, drop = Argument("null_values", [text[:80]]), Argument("drop", [name])
            category = Argument("kinds", {name: "categorical"})
            advice: tuple[Part, ...] = ("if it marks a missing value say ", marks, ", if all are levels ", category)
            advice = (*advice, ", or leave out with ", drop)
            if look.form.percent or look.form.currency or Evidence.of(text).has_numbers:
                advice = ("write all numbers of a column alike",)
            what = f"column {name!r} of {self.stream.name} holds {shown} in line {line} among numbers"
            raise InputError(f"{what}{like}; ", *advice)
        return number

    def _place(self, chunk: bytes, line: int, row: int) -> str:
        return f"line {next(islice(self._records(chunk, line), row, None))[0]}"


def _given(sample: Sequence[Record], column: int, nulls: Container[str]) -> list[tuple[int, str]]:
    """The cells of a column that are not missing, with their lines."""
    cells = ((line, record[column].strip()) for line, record in sample if column < len(record))
    return [(line, cell) for line, cell in cells if cell not in nulls]


def _note_encoding(start: bytes, encoding: str) -> list[Fact[Note]]:
    facts = [] if encoding == "utf-8" else [Fact.of(Note.ENCODING, encoding=encoding)]
    zeros = 0 if encoding.startswith(("utf-16", "utf-32")) else start.count(0)
    return [*facts, *([Fact.of(Note.ZERO_BYTES, count=zeros)] if zeros else [])]


def _decoded(chunk: bytes) -> str:
    return chunk.decode("utf-8")


def _chunks(stream: Stream, encoding: str) -> Iterator[tuple[int, bytes]]:
    """Cut a text at ends of records: the number of the first line, and UTF-8 with \\n after every line."""
    line, rest = 1, b""
    for piece in _utf8_pieces(stream, encoding):
        rest += piece
        cut = _end_of_records(rest)
        if cut:
            yield line, rest[:cut]
            line, rest = line + rest.count(b"\n", 0, cut), rest[cut:]
        elif len(rest) > 16 * _CHUNK_BYTES:
            raise InputError(f"{stream.name} has no end of line, or a quote without end, after line {line}")
    if rest:
        yield line, rest.removesuffix(b"\n") + b"\n"


def _end_of_records(text: bytes) -> int:
    """The position after the last line end that is outside quotes; 0 if there is none."""
    quotes = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord('"'))
    cut = text.rfind(b"\n") + 1
    while cut and (inside := np.searchsorted(quotes, cut)) % 2:
        cut = text.rfind(b"\n", 0, int(quotes[inside - 1])) + 1
    return cut


def _utf8_pieces(stream: Stream, encoding: str) -> Iterator[bytes]:
    """The text as UTF-8 without byte order mark and zero bytes, its line ends made \\n."""
    plain = codecs.lookup(encoding).name == "utf-8"
    decoder, first, held = codecs.getincrementaldecoder(encoding)(), True, b""
    with stream.open() as file:
        while True:
            piece = file.read(_CHUNK_BYTES)
            last = not piece
            if not plain:
                piece = piece.removeprefix(codecs.BOM_UTF8) if first else piece
                try:
                    piece = decoder.decode(piece, last).encode()
                except (UnicodeError, ValueError) as error:
                    raise InputError(f"{stream.name} is not {encoding}: {error}") from error
            piece, held = held + (piece.replace(b"\0", b"") if b"\0" in piece else piece), b""
            if first and piece:
                piece, first = piece.removeprefix(codecs.BOM_UTF8), False
            if piece.endswith(b"\r") and not last:
                piece, held = piece[:-1], b"\r"
            if piece:
                yield piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in piece else piece
            if last:
                return


_Parser = Callable[
    [bytes, list[str], list[int], TextFormat, bool, Callable[[int, list[str | None]], list[float] | None]],
    Floats | None,
]


def _counted_by_polars(chunk: bytes, source: TextSource, columns: Sequence[int]) -> list[Counter[str]] | None:
    """How often each cell of some columns comes; None if a slower reader has to look."""
    try:
        import polars
    except ImportError:
        return None
    try:
        frame = polars.read_csv(
            chunk,
            has_header=False,
            separator=str(source.format.separator),
            schema={str(position): polars.String for position in range(len(source.names))},
            columns=sorted({*columns, len(source.names) - 1}),
        )
    except polars.exceptions.PolarsError:
        return None
    if frame[str(len(source.names) - 1)].null_count():
        # The line may be too short, or its last field empty.
        return None
    found = []
    for column in columns:
        cells, counts = frame[str(column)].value_counts(name="rows").get_columns()
        stripped: Counter[str] = Counter()
        for cell, count in zip(cells.to_list(), counts.to_list()):
            stripped[(cell or "").strip()] += count
        found.append(stripped)
    return found


def _fast_parser(name: str) -> _Parser:
    try:
        import polars  # noqa: F401
    except ImportError:
        pass
    else:
        return _parsed_by_polars
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f"reading {name}", "polars", "files") from error
    return _parsed_by_pandas


def _parsed_by_polars(
    chunk: bytes,
    kinds: list[str],
    positions: list[int],
    text: TextFormat,
    quoted: bool,
    written: Callable[[int, list[str | None]], list[float] | None],
) -> Floats | None:
    import polars

    types = {"number": polars.Float64, "boolean": polars.Boolean}
    try:
        frame = polars.read_csv(
            chunk,
            has_header=False,
            separator=str(text.separator),
            null_values=list(text.null_values),
            schema={str(position): types.get(kind, polars.String) for position, kind in enumerate(kinds)},
            columns=sorted({*positions, len(kinds) - 1}),
        )
    except polars.exceptions.PolarsError:
        return None
    # Polars fills lines that are too short with nulls; where quotes forbid counting, a null at the end may be one.
    if quoted and frame[str(len(kinds) - 1)].null_count():
        return None
    if all(kinds[position] in types for position in positions):
        return frame.select(polars.col([str(position) for position in positions]).cast(polars.Float64)).to_numpy()
    parts = []
    for at, position in enumerate(positions):
        part = _numbers_of_series(frame[str(position)], kinds[position], partial(written, at))
        if part is None:
            return None
        parts.append(part)
    return np.column_stack(parts)


def _numbers_of_series(series: Any, kind: str, written: Callable[[list[str | None]], Any]) -> Any:
    """The numbers of a Polars series; None if a cell is none."""
    import polars

    if kind == "written":
        return written(series.to_list())
    if kind == "comma":
        # Polars itself would take a point in such a column for a decimal mark, too.
        if series.str.contains(".", literal=True).any():
            return None
        series = series.str.strip_chars().str.replace(",", ".", literal=True)
    try:
        return series.cast(polars.Float64).to_numpy()
    except polars.exceptions.PolarsError:
        return None


def _parsed_by_pandas(
    chunk: bytes,
    kinds: list[str],
    positions: list[int],
    text: TextFormat,
    quoted: bool,
    written: Callable[[int, list[str | None]], list[float] | None],
) -> Floats | None:
    import pandas

    if not {"number", "boolean", "text"}.issuperset(kinds):
        return None
    types = {"number": "float64", "boolean": "boolean", "text": "object"}
    try:
        frame = pandas.read_csv(
            io.BytesIO(chunk),
            header=None,
            names=list(range(len(kinds))),
            index_col=False,
            usecols=sorted({*positions, len(kinds) - 1}),
            dtype={position: types[kind] for position, kind in enumerate(kinds)},
            sep=text.separator,
            na_values=list(text.null_values),
            keep_default_na=False,
        )
    except ValueError:
        return None
    # Pandas lets lines pass that are too short or too long; both leave a gap at the end of some line.
    if frame[len(kinds) - 1].isna().any():
        return None
    return np.asarray(frame[positions].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))

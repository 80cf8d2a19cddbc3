"""CSV and other separated text files as a source: blocks of rows of floats from a file of any length.

Hides how a text file is cut into lines and fields, what it is encoded in, and which library parses it.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Final, NamedTuple

import numpy as np

from acyclic.data.sources import SAMPLE, Place, as_float, why_text
from acyclic.errors import Argument, InputError, MissingExtraError, Part
from acyclic.graphs.checks import check_names
from acyclic.types import Floats

__all__ = ["TextFormat", "TextSource"]

_CHUNK_BYTES: Final = 1 << 22
_NULLS: Final = ("", "NA", "NaN", "nan", "null")


class TextFormat(NamedTuple):
    """How a text file is written, as `read_table` defines it."""

    header: bool = True
    separator: str | None = None
    decimal: str = "."
    encoding: str | None = None
    null_values: tuple[str, ...] = ()

    def checked(self) -> TextFormat:
        """The same, or an error if some part of it cannot be."""
        if self.separator is not None and not (len(self.separator) == 1 and self.separator.isascii()):
            raise InputError(f"separator is {self.separator!r}; give one ASCII character, such as ',' or '\\t'")
        if self.decimal not in (".", ",") or self.decimal == self.separator:
            raise InputError(f"decimal is {self.decimal!r}; give '.' or ',', and not the separator")
        if not all(isinstance(mark, str) and mark.isprintable() for mark in self.null_values):
            raise InputError(f"null_values is {self.null_values!r}; give a list of strings that can be printed")
        try:
            # Unlike a look-up this refuses codecs that make bytes of bytes, such as hex.
            "".encode(self.encoding or "utf-8")
        except (LookupError, ValueError) as error:
            raise InputError(f"encoding {self.encoding!r} is unknown; give one such as 'utf-8' or 'latin-1'") from error
        return self


@dataclass(frozen=True, eq=False)
class TextSource:
    """A file of separated values, read in chunks of whole lines; a line that a fast parser rejects is found slowly."""

    path: Path
    names: tuple[str, ...]
    format: TextFormat
    skipped: int
    refused: Mapping[str, str]
    booleans: frozenset[str]

    @classmethod
    def open(cls, path: Path, names: Sequence[str] | None, text: TextFormat) -> TextSource:
        """Find the separator, the names and the kinds of the columns in the first lines."""
        text = text.checked()
        _, chunk = next(_chunks(path, text.encoding), (1, b""))
        head = _decoded(chunk, 1, path)
        separator = text.separator or ("\t" if ".tsv" in path.name.lower() else _sniffed(head))
        lines = list(islice(_records(head, separator, 1, path), SAMPLE))
        if not lines:
            raise InputError(f"{path} is empty")
        text, sample = text._replace(separator=separator), lines[1:] if text.header else lines
        found = _header_names(lines[0][1], path, text.decimal, names) if text.header else None
        named = check_names(names if names is not None else found, len(lines[0][1]))
        source = cls(path, named, text, lines[0][0] if text.header else 0, {}, frozenset())
        return source._with_kinds(sample)

    def _with_kinds(self, sample: list[tuple[int, list[str]]]) -> TextSource:
        """Find the columns of text and of booleans in the first lines."""
        refused, booleans = {name: "has no name (row numbers?)" for name in self.names if not name.strip()}, set()
        for column, name in enumerate(self.names):
            cells = [(line, record[column].strip()) for line, record in sample if column < len(record)]
            given = [(line, cell) for line, cell in cells if cell not in self._nulls]
            if given and all(cell.lower() in ("true", "false") for _, cell in given):
                booleans.add(name)
            elif given and all(as_float(cell, self.format.decimal) is None for _, cell in given):
                refused.setdefault(name, why_text(given, "line"))
        return TextSource(self.path, self.names, self.format, self.skipped, refused, frozenset(booleans))

    @property
    def in_memory(self) -> bool:
        """Never: the file is parsed when it is read."""
        return False

    @property
    def _nulls(self) -> tuple[str, ...]:
        return (*_NULLS, *self.format.null_values)

    def blocks(self, columns: tuple[str, ...]) -> Iterator[tuple[Floats, Place]]:
        """Read the columns in blocks of rows, as `Source` says."""
        positions, parse = [self.names.index(name) for name in columns], _fast_parser()
        for line, chunk in _chunks(self.path, self.format.encoding):
            if line == 1:
                chunk = b"".join(chunk.splitlines(keepends=True)[self.skipped :])
                line += self.skipped
            if chunk.strip():
                rows = self._fast(parse, chunk, positions)
                rows = self._careful(chunk, line, positions) if rows is None else rows
                yield np.asarray(rows, dtype=np.float64), partial(self._place, chunk, line)

    def _fast(self, parse: _Parser, chunk: bytes, positions: list[int]) -> Floats | None:
        """The numbers of a chunk, or None if it has to be read with care."""
        characters, quoted = np.frombuffer(chunk, dtype=np.uint8), b'"' in chunk
        ends = np.flatnonzero(characters == ord("\n"))
        commas = np.count_nonzero(characters == ord(str(self.format.separator)))
        if np.any(np.diff(ends, prepend=-1) == 1) or (commas != (len(self.names) - 1) * ends.size and not quoted):
            return None
        kinds = ["text"] * len(self.names)
        for position in positions:
            kinds[position] = "boolean" if self.names[position] in self.booleans else "number"
        return parse(chunk, kinds, positions, self.format._replace(null_values=self._nulls), quoted)

    def _careful(self, chunk: bytes, line: int, positions: list[int]) -> Floats:
        """The same as `_fast`, cell by cell, with the line in the message if a cell or the line is wrong."""
        rows = []
        separator = str(self.format.separator)
        for number, record in _records(_decoded(chunk, line, self.path), separator, line, self.path):
            if len(record) != len(self.names):
                what = f"line {number} of {self.path} has {len(record)} fields, but there are {len(self.names)} columns"
                raise InputError(f"{what}; correct the line, or name another separator than {separator!r}")
            rows.append([self._number(record[position], position, number) for position in positions])
        return np.array(rows).reshape(-1, len(positions))

    def _number(self, cell: str, position: int, line: int) -> float:
        text, name = cell.strip(), self.names[position]
        if text in self._nulls:
            return np.nan
        if name in self.booleans and text.lower() in ("true", "false"):
            return float(text.lower() == "true")
        number = as_float(text, self.format.decimal)
        if number is None:
            marks, drop = Argument("null_values", [text]), Argument("drop", [name])
            advice: tuple[Part, ...] = ("if it marks a missing value say ", marks, ", or leave out with ", drop)
            if self.format.decimal == "." and as_float(text, ",") is not None:
                advice = ("say ", Argument("decimal", ","), " if that is the decimal mark")
            raise InputError(f"column {name!r} of {self.path} holds {cell!r} in line {line} among numbers; ", *advice)
        return number

    def _place(self, chunk: bytes, line: int, row: int) -> str:
        records = _records(_decoded(chunk, line, self.path), str(self.format.separator), line, self.path)
        return f"line {next(islice(records, row, None))[0]}"


def _header_names(record: list[str], path: Path, decimal: str, names: Sequence[str] | None) -> list[str]:
    found = [name.strip() for name in record]
    if names is None and all(as_float(name, decimal) is not None for name in found):
        say = Argument("header", False)
        raise InputError(f"the first line of {path} is all numbers; say ", say, ", or give the columns' names")
    twice = [name for position, name in enumerate(found) if name in found[:position]]
    if names is None and twice:
        raise InputError(f"the first line of {path} has the column {twice[0]!r} twice; rename one, or give all names")
    return found


def _sniffed(head: str) -> str:
    """The separator that cuts the first lines into equally many fields, or else the first line into most."""
    lines = [line for line in head.split("\n", 21)[:20] if line.strip()]
    widths = {mark: [len(record) for record in csv.reader(lines, delimiter=mark)] for mark in "\t;|,"}
    for mark, width in widths.items():
        if min(width, default=0) == max(width, default=0) > 1:
            return mark
    return max(reversed(widths), key=lambda mark: (widths[mark] or [0])[0])


def _records(text: str, separator: str, line: int, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Records with the number of their last line; blank lines are passed over."""
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=separator)
    try:
        for record in reader:
            if record and (len(record) > 1 or record[0].strip()):
                yield line + reader.line_num - 1, record
    except csv.Error as error:
        raise InputError(f"line {line + reader.line_num - 1} of {path} cannot be split into fields: {error}") from error


def _decoded(chunk: bytes, line: int, path: Path) -> str:
    try:
        return chunk.decode("utf-8")
    except UnicodeDecodeError as error:
        number = line + chunk.count(b"\n", 0, error.start)
        say = Argument("encoding", "latin-1")
        raise InputError(f"line {number} of {path} is not UTF-8; say ", say, ", or what it is") from error


def _chunks(path: Path, encoding: str | None) -> Iterator[tuple[int, bytes]]:
    """Cut a text file at ends of records: the number of the first line, and UTF-8 with \\n after every line."""
    line, rest = 1, b""
    with _bytes_of(path) as file:
        for piece in _utf8_pieces(file, encoding, path):
            rest += piece
            cut = _end_of_records(rest)
            if cut:
                yield line, rest[:cut]
                line, rest = line + rest.count(b"\n", 0, cut), rest[cut:]
            elif len(rest) > 16 * _CHUNK_BYTES:
                raise InputError(f"{path} has no end of line, or a quote without end, after line {line}")
    if rest:
        yield line, rest.removesuffix(b"\n") + b"\n"


def _end_of_records(text: bytes) -> int:
    """The position after the last line end that is outside quotes; 0 if there is none."""
    quotes = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord('"'))
    cut = text.rfind(b"\n") + 1
    while cut and (inside := np.searchsorted(quotes, cut)) % 2:
        cut = text.rfind(b"\n", 0, int(quotes[inside - 1])) + 1
    return cut


def _utf8_pieces(file: IO[bytes], encoding: str | None, path: Path) -> Iterator[bytes]:
    decoder, first = codecs.getincrementaldecoder(encoding)() if encoding else None, True
    while piece := file.read(_CHUNK_BYTES):
        piece += file.read(1) if piece.endswith(b"\r") else b""
        if first and encoding is None:
            _check_text(piece, path)
            piece = piece.removeprefix(codecs.BOM_UTF8)
        if decoder is not None:
            try:
                piece = decoder.decode(piece).removeprefix("\ufeff").encode()
            except UnicodeError as error:
                raise InputError(f"{path} is not {encoding}: {error}") from error
        first = False
        yield piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in piece else piece


def _check_text(piece: bytes, path: Path) -> None:
    if piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{path} looks like UTF-16; say ", Argument("encoding", "utf-16"))
    if b"\0" in piece[:65536]:
        raise InputError(f"{path} is a binary file, not text; save the table as CSV or Parquet")


@contextmanager
def _bytes_of(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, unpacked if it is gzipped."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield gzip.GzipFile(fileobj=file) if packed else file  # type: ignore[misc]
    except (EOFError, zlib.error, OSError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error


_Parser = Callable[[bytes, list[str], list[int], TextFormat, bool], Floats | None]


def _fast_parser() -> _Parser:
    try:
        import polars  # noqa: F401
    except ImportError:
        pass
    else:
        return _parsed_by_polars
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("reading CSV files", "polars", "files") from error
    return _parsed_by_pandas


def _parsed_by_polars(
    chunk: bytes, kinds: list[str], positions: list[int], text: TextFormat, quoted: bool
) -> Floats | None:
    import polars

    types = {"number": polars.Float64, "boolean": polars.Boolean, "text": polars.String}
    try:
        frame = polars.read_csv(
            chunk,
            has_header=False,
            separator=str(text.separator),
            null_values=list(text.null_values),
            decimal_comma=text.decimal == ",",
            schema={str(position): types[kind] for position, kind in enumerate(kinds)},
            columns=sorted({*positions, len(kinds) - 1}),
        )
    except polars.exceptions.PolarsError:
        return None
    # Polars fills lines that are too short with nulls; where quotes forbid counting, a null at the end may be one.
    if quoted and frame[str(len(kinds) - 1)].null_count():
        return None
    return frame.select(polars.col([str(position) for position in positions]).cast(polars.Float64)).to_numpy()


def _parsed_by_pandas(
    chunk: bytes, kinds: list[str], positions: list[int], text: TextFormat, quoted: bool
) -> Floats | None:
    import pandas

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
            decimal=text.decimal,
            na_values=list(text.null_values),
            keep_default_na=False,
        )
    except ValueError:
        return None
    # Pandas lets lines pass that are too short or too long; both leave a gap at the end of some line.
    if frame[len(kinds) - 1].isna().any():
        return None
    return np.asarray(frame[positions].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))

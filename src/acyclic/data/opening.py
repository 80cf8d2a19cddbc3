"""From a path to a table's bytes or its frame: formats, packed files, archives, pipes and workbooks.

Hides what a file is, which its first bytes tell better than its name, and which library reads it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import select
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, Literal, NamedTuple

from acyclic.data.cells import as_float
from acyclic.data.dialect import judge_header
from acyclic.deadline import Deadline
from acyclic.errors import Argument, InputError, MissingExtraError
from acyclic.facts import Fact, Note

__all__ = [
    "FileCut",
    "Kind",
    "Stream",
    "cut_parquet",
    "find_kind",
    "open_stream",
    "read_frame",
    "read_parquet_part",
    "scan_parquet",
]

Kind = Literal["text", "parquet", "arrow", "arrow stream", "json lines", "json", "workbook"]

_PACKED: Final = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zst"}
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_OLD_EXCEL: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAGIC: Final[dict[bytes, Kind]] = {b"PAR1": "parquet", b"ARROW1": "arrow", _OLD_EXCEL: "workbook"}
_SUFFIXES: Final[dict[str, Kind]] = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "arrow"),
    **dict.fromkeys((".jsonl", ".ndjson"), "json lines"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "workbook"),
    ".arrows": "arrow stream",
    ".json": "json",
}
_ACCEPTED: Final = (
    "a text file of separated values (.csv, .tsv, .txt), .jsonl, .json, .parquet, .feather, .arrow, .xlsx, one of them "
    "packed as .gz, .bz2, .xz, .zst or .zip, or a folder of .parquet files"
)
_BROKEN: Final = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError)
# A Parquet file of more bytes is read in pieces, by as many workers.
_PIECE_BYTES: Final = 1 << 28
# Rows that a piece has at least for each column: sums of fewer take longer to be merged than to be made.
_PIECE_ROWS: Final = 32
# Values that are read at once.
_BATCH_VALUES: Final = 1 << 20
# Seconds that a named pipe may be silent: nobody may ever write to it.
_PATIENCE: Final = 5.0


@dataclass(frozen=True)
class Stream:
    """Bytes that can be read again and again: of a file, of what came through a pipe, or packed in them.

    ``packing`` unpacks from outside to inside: "gz", "bz2", "xz", "zst", or "zip:" and a member.
    """

    name: str
    path: Path | None
    spool: _Spool | None = None
    packing: tuple[str, ...] = ()

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The bytes, unpacked, from the beginning."""
        try:
            with self._base() as base:
                file = base
                for step in self.packing:
                    file = _unpack(file, step, self.name)
                yield file
        except _BROKEN as error:
            raise InputError(f"{self.name} cannot be read: {_say(error)}") from error

    @contextmanager
    def _base(self) -> Iterator[IO[bytes]]:
        if self.spool is not None:
            self.spool.file.seek(0)
            yield self.spool.file
        elif self.path is not None:
            with self.path.open("rb") as file:
                yield file

    def begin(self, count: int) -> bytes:
        """The first bytes."""
        with self.open() as file:
            return file.read(count)

    @property
    def inner_name(self) -> str:
        """The name of what is inside of the packing."""
        inner = PurePosixPath(next((s[4:] for s in reversed(self.packing) if s.startswith("zip:")), self.name))
        return inner.stem if inner.suffix.lower() in (".gz", ".bz2", ".xz", ".zst", ".zip") else inner.name

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            raise InputError(f"{self.name} came through a pipe, too long to send to other processes; save it as a file")
        return Stream, (self.name, self.path, None, self.packing)


def open_stream(path: Path, sheet: str | None = None) -> Stream:
    """The bytes behind a path, "-" for the standard input; unpacked as often as they are packed.

    Pipes are read to their end, into a file without name. A named pipe to which nobody writes for some seconds is
    refused, and so is a device: it has no end.
    """
    if str(path) == "-":
        return _unpacked(Stream("the standard input", None, _drain_input()), sheet)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise InputError(
            f"there is no file {path}" if _is_absent(error) else f"{path} cannot be read: {_say(error)}"
        ) from error
    if stat.S_ISFIFO(mode):
        return _unpacked(Stream(str(path), None, _drain_pipe(path)), sheet)
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is a device, a socket or a folder, not a file; give {_ACCEPTED}")
    return _unpacked(Stream(str(path), path), sheet)


def find_kind(stream: Stream) -> Kind:
    """What is in a stream: by its first bytes where these tell, else by its name."""
    start, suffix = stream.begin(8), PurePosixPath(stream.inner_name).suffix.lower()
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return kind
    if start.startswith(_ZIP):
        return "workbook"
    expected = _SUFFIXES.get(suffix, "text")
    if expected in ("parquet", "workbook") or (expected == "arrow" and not start.startswith(b"\xff\xff\xff\xff")):
        raise InputError(f"{stream.name} is no {suffix} file: it begins with {start!r}; give {_ACCEPTED}")
    return "arrow stream" if expected == "arrow" else expected


def read_frame(
    stream: Stream, kind: Kind, sheet: str | None, header: bool | None
) -> tuple[Any, tuple[Fact[Note], ...]]:
    """A Polars frame of anything but text, lazy where the file lies open on a disk, and what was assumed."""
    polars = _import_polars(stream.name)
    plain = stream.path if not stream.packing else None
    try:
        if kind == "workbook":
            return _read_workbook(polars, stream, sheet, header)
        if kind == "parquet" and plain is not None:
            return polars.scan_parquet(plain), ()
        if kind == "arrow" and plain is not None:
            return polars.scan_ipc(plain), ()
        with stream.open() as file:
            content = file.read()
        readers: dict[str, Callable[[bytes], Any]] = {
            "parquet": polars.read_parquet,
            "arrow": polars.read_ipc,
            "arrow stream": polars.read_ipc_stream,
            "json lines": lambda given: polars.read_ndjson(given, infer_schema_length=None),
            "json": lambda given: polars.read_json(given, infer_schema_length=None),
        }
        return readers[kind](content), ()
    except (InputError, MissingExtraError):
        raise
    except BaseException as error:
        # A broken file makes Polars raise its own errors, and Rust a panic, which is no Exception.
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        raise InputError(f"{stream.name} cannot be read as a table ({kind}): {_say(error)}") from error


def scan_parquet(folder: Path) -> Any:
    """A Polars lazy frame of all files in a folder."""
    files = sorted(folder.rglob("*.parquet"))
    if not files:
        raise InputError(f"{folder} is a folder without .parquet files")
    return _import_polars(str(folder)).scan_parquet(files)


class FileCut(NamedTuple):
    """Some rows of a Parquet file, all of them if ``rows`` is None; size and time tell if it is still the same."""

    path: str
    start: int
    rows: int | None
    size: int
    time: int


def cut_parquet(path: str) -> list[FileCut]:
    """The Parquet files of a folder, or one of them, each cut into pieces of rows if it is large."""
    polars, place = _import_polars(path), Path(path)
    if not place.exists():
        raise InputError(f"the workers of the cluster see no file or folder {path}; they need a disk that has it")
    files = sorted(place.rglob("*.parquet")) if place.is_dir() else [place]
    if not files:
        raise InputError(f"{path} is a folder without .parquet files")
    cuts = []
    for file in files:
        told = file.stat()
        pieces = -(-told.st_size // _PIECE_BYTES)
        if pieces > 1:
            lazy = polars.scan_parquet(file)
            rows, columns = lazy.select(polars.len()).collect().item(), len(lazy.collect_schema())
            pieces = min(pieces, rows // (_PIECE_ROWS * columns))
        if pieces <= 1:
            cuts.append(FileCut(str(file), 0, None, told.st_size, told.st_mtime_ns))
            continue
        step = -(-rows // pieces)
        cuts += [FileCut(str(file), at * step, step, told.st_size, told.st_mtime_ns) for at in range(pieces)]
    return cuts


def read_parquet_part(path: str, start: int, count: int | None, columns: Sequence[str] | None) -> Iterator[Any]:
    """Polars frames of some rows of a Parquet file; one of all columns where these are not chosen."""
    polars = _import_polars(path)
    lazy = polars.scan_parquet(path)
    lazy = lazy if columns is None else lazy.select(list(columns))
    lazy = lazy if count is None else lazy.slice(start, count)
    try:
        if columns is None:
            yield lazy.collect()
        else:
            yield from lazy.collect_batches(chunk_size=max(1, _BATCH_VALUES // len(columns)))
    except (polars.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path} cannot be read: {_say(error)}") from error


def _import_polars(name: str) -> Any:
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError(f"reading {name}", "polars", "files") from error
    return polars


def _read_workbook(
    polars: Any, stream: Stream, sheet: str | None, header: bool | None
) -> tuple[Any, tuple[Fact[Note], ...]]:
    try:
        import fastexcel
    except ImportError as error:
        raise MissingExtraError(f"reading the workbook {stream.name}", "fastexcel", "excel") from error
    with stream.open() as file:
        content = file.read()
    book = fastexcel.read_excel(content)
    filled = [name for name in book.sheet_names if book.load_sheet(name, header_row=None, n_rows=2).total_height]
    chosen = _choose(stream.name, "sheet", filled or book.sheet_names, sheet)
    frame = polars.read_excel(content, sheet_name=chosen, has_header=header is not False, infer_schema_length=None)
    facts: tuple[Fact[Note], ...] = ()
    if header is None and all(as_float(name) is not None for name in frame.columns):
        lines = [[str(cell) for cell in row] for row in frame.head(200).rows()]
        header, why = judge_header(frame.columns, lines, stream.name, None)
        facts = (Fact.of(why),) if why else ()
        if not header:
            frame = polars.read_excel(content, sheet_name=chosen, has_header=False, infer_schema_length=None)
    if header is False:
        return frame.rename({name: f"x{position}" for position, name in enumerate(frame.columns)}), facts
    unnamed = {name: f"Unnamed: {name[11:]}" for name in frame.columns if name.startswith("__UNNAMED__")}
    return frame.rename(unnamed | {"__UNNAMED__0": ""} if "__UNNAMED__0" in unnamed else unnamed), facts


def _choose(name: str, what: str, parts: list[str], sheet: str | None) -> str:
    """One of the sheets of a workbook or of the files in an archive."""
    listed = ", ".join(map(repr, parts[:20])) + (f" and {len(parts) - 20} more" if len(parts) > 20 else "")
    if sheet is not None:
        if sheet not in parts:
            raise InputError(f"{name} has no {what} {sheet!r}; it has {listed or 'none'}")
        return sheet
    if len(parts) != 1:
        how = ("say ", Argument("sheet", parts[0]), " or another") if parts else (f"give {_ACCEPTED}",)
        raise InputError(f"{name} has {len(parts)} {what}s{': ' if parts else ''}{listed}; ", *how)
    return parts[0]


def _unpacked(stream: Stream, sheet: str | None) -> Stream:
    """The stream with all its packings found."""
    for _ in range(4):
        start = stream.begin(8)
        packing = next((kind for magic, kind in _PACKED.items() if start.startswith(magic)), None)
        if packing is None and start.startswith(_ZIP):
            packing = _find_member(stream, sheet)
        if packing is None:
            return stream
        stream = replace(stream, packing=(*stream.packing, packing))
    raise InputError(f"{stream.name} is packed more than four times; unpack it first")


def _find_member(stream: Stream, sheet: str | None) -> str | None:
    """The one table in an archive; None for a workbook, which is an archive too."""
    with stream.open() as file, zipfile.ZipFile(_seekable(file)) as archive:
        names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    if any(name in ("[Content_Types].xml", "mimetype") for name in names):
        return None
    hidden = ("__MACOSX/", ".", "_")
    tables = [name for name in names if not name.startswith(hidden) and not PurePosixPath(name).name.startswith(".")]
    named = [name for name in tables if is_table_name(name)]
    return "zip:" + _choose(stream.name, "file", named or tables, sheet)


def is_table_name(name: str) -> bool:
    """Whether a file has the name of a table, packed or not, rather than of a text about one."""
    suffixes = [suffix.lower() for suffix in PurePosixPath(name).suffixes]
    known = {*_SUFFIXES, ".csv", ".tsv", ".txt", ".tab", ".dat", ".data"}
    return any(suffix in known for suffix in suffixes[-2:]) and "readme" not in name.lower()


def _unpack(file: IO[bytes], step: str, name: str) -> IO[bytes]:
    if step.startswith("zip:"):
        return zipfile.ZipFile(_seekable(file)).open(step.removeprefix("zip:"))
    if step == "zst":
        return _unpack_zstd(file, name)
    openers: dict[str, Any] = {"gz": gzip.GzipFile, "bz2": bz2.BZ2File, "xz": lzma.LZMAFile}
    return openers[step](fileobj=file) if step == "gz" else openers[step](file)  # type: ignore[no-any-return]


def _seekable(file: IO[bytes]) -> IO[bytes]:
    return file if file.seekable() else io.BytesIO(file.read())


def _unpack_zstd(file: IO[bytes], name: str) -> IO[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.ZstdFile(file)  # type: ignore[return-value]
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtraError(f"reading {name}", "zstandard", "zstd") from error
    return _Zstandard(zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True), zstandard.ZstdError)


class _Zstandard(io.RawIOBase, IO[bytes]):
    """What zstandard unpacks, with errors that files have."""

    def __init__(self, reader: Any, error: type[Exception]) -> None:
        self._reader, self._error = reader, error

    def read(self, count: int = -1) -> bytes:
        try:
            return bytes(self._reader.read(count))
        except self._error as error:
            raise EOFError(str(error)) from error


def _drain_input() -> _Spool:
    given: Any = getattr(sys.stdin, "buffer", sys.stdin)
    if given is None or given.closed or sys.stdin.isatty():
        raise InputError(
            "the standard input is no table; pipe one into the command, as in: cat t.csv | acyclic learn -"
        )
    return _Spool(iter(lambda: given.read(1 << 20), b""))


def _drain_pipe(path: Path) -> _Spool:
    # A pipe that a shell made, as in <(zcat t.gz), has a writer that may take its time.
    if str(path).startswith(("/dev/fd/", "/proc/self/fd/", "/dev/stdin")):
        with path.open("rb") as pipe:
            return _Spool(iter(lambda: pipe.read(1 << 20), b""))
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return _Spool(_patiently(handle, path))
    finally:
        os.close(handle)


def _patiently(handle: int, path: Path) -> Iterator[bytes]:
    patience, begun = Deadline(_PATIENCE), False
    while True:
        ready = bool(select.select([handle], [], [], 0.05)[0])
        try:
            piece = os.read(handle, 1 << 20) if ready else None
        except BlockingIOError:
            piece = None
        if piece:
            patience, begun = Deadline(_PATIENCE), True
            yield piece
        elif piece == b"" and begun:
            return
        elif patience.passed():
            raise InputError(f"nothing came through the pipe {path} for {_PATIENCE:g} s; save the table as a file")
        elif piece == b"":
            select.select([], [], [], 0.05)


class _Spool:
    """A file without name that holds what came through a pipe, for as long as anybody reads it."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the object
        for piece in pieces:
            self.file.write(piece)

    def __del__(self) -> None:
        self.file.close()


def _is_absent(error: Exception) -> bool:
    return isinstance(error, FileNotFoundError | NotADirectoryError)


def _say(error: BaseException) -> str:
    """The first line of what a library says."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines or [type(error).__name__])[0][:300]

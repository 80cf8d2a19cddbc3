"""The one way to write: a file, a folder or a line of a journal is there whole, or not at all."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import stat
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import IO, Any, Self

from acyclic.errors import InputError

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed by others
    fcntl = None  # type: ignore[assignment]

_SCRATCH = re.compile(r"\.acyclic-[0-9a-f]{16}\.part")
# Made by us alone, never through a link that somebody else has put there.
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_EXCHANGE = 2
_AT_WORKING_FOLDER = -100
# What a system or a file system says to what it does not have.
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write to, which takes its place when the block ends well; the old one stays until then.

    The scratch file has a name of its own beside the target, is made exclusively, flushed to the disk and renamed; a
    block that raises leaves nothing behind. What killed processes left in the folder is removed: a scratch is locked as
    long as its process lives. A link is replaced, not followed; a device or a pipe is written to as it is.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> with write_atomically(target) as file:
    ...     _ = file.write(b"whole")
    >>> target.read_text(), len(list(target.parent.iterdir()))
    ('whole', 1)
    """
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as file:
            yield file
        return
    folder = target.absolute().parent
    collect_leftovers(folder)
    scratch, handle = _make_scratch(folder)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:  # under the lock, so that nobody takes it for a leftover
                os.replace(scratch, target)
        if fcntl is None:
            os.replace(scratch, target)
        _sync_folder(folder)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text as `write_atomically` does; what UTF-8 cannot hold becomes a question mark."""
    with write_atomically(path) as file:
        file.write(text.encode("utf-8", errors="replace"))


class NewFolder:
    """A folder that appears at once, in the place of an older one if there is one: always one of the two is whole.

    To make it proves that its place can be written to, before the work that fills it. It is filled in a scratch folder
    beside its place; `put` brings it there. As a context it goes without a trace unless it was put.

    Parameters
    ----------
    target : path
        Its place; missing folders above it are made. A link is followed, once, here.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> place = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> with NewFolder(place) as folder:
    ...     folder.write("note.txt", b"whole")
    ...     _ = folder.put()
    >>> [entry.name for entry in place.iterdir()], [entry.name for entry in place.parent.iterdir()]
    (['note.txt'], ['run'])
    """

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self.target = Path(os.path.realpath(target))
        if os.path.ismount(self.target) or self.target == Path.cwd():
            raise InputError(f"{target} cannot be replaced as a whole; name a new folder in it")
        self._made = _make_parents(self.target.parent)
        collect_leftovers(self.target.parent)
        self._scratch, self._lock = self._begin()

    def _begin(self) -> tuple[Path, int]:
        """A scratch folder: ``target`` in it names the place and is locked, ``new`` is what will be there."""
        try:
            while True:
                scratch = _scratch_in(self.target.parent)
                os.mkdir(scratch, 0o700)
                try:
                    lock = os.open(scratch / "target", _NEW | _FLAGS, 0o600)
                except FileNotFoundError:  # taken for a leftover before it was locked
                    continue
                if not _claim(lock, scratch / "target"):
                    os.close(lock)
                    continue
                try:
                    _write(lock, os.fsencode(self.target.name))
                    os.mkdir(scratch / "new")
                except BaseException:
                    os.close(lock)
                    raise
                return scratch, lock
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            _remove_empty(self._made)
            raise

    def write(self, name: str, content: bytes) -> None:
        """Add a file."""
        handle = os.open(self._scratch / "new" / name, _NEW | _FLAGS, 0o666)
        try:
            _write(handle, content)
        finally:
            os.close(handle)

    def put(self, *, replace: bool = False) -> Path:
        """Bring the folder to its place; what it replaces, if so asked, goes when the new one has come."""
        new = self._scratch / "new"
        _sync_folder(new)
        if replace and self.target.exists():
            self._replace(new)
        else:
            os.rename(new, self.target)
        self._made = []
        _sync_folder(self.target.parent)
        return self.target

    def _replace(self, new: Path) -> None:
        if _exchange(new, self.target):
            return
        # A process that is killed between these two has them finished by `collect_leftovers`.
        old = self._scratch / "old"
        os.rename(self.target, old)
        try:
            os.rename(new, self.target)
        except BaseException:
            os.rename(old, self.target)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)
        os.close(self._lock)
        _remove_empty(self._made)


class Journal:
    """Lines that are kept as they come, in a file whose first line says what they belong to.

    A line that a killed process left half written, or that was damaged since, is left out; the others stay.

    Parameters
    ----------
    path : path
    head : mapping
        Plain values for JSON. Given to a new file; that of an old one is in `head`, for the caller to compare.

    Attributes
    ----------
    head : mapping
    entries : list
        What was in the file.
    """

    def __init__(self, path: str | os.PathLike[str], head: Mapping[str, Any]) -> None:
        self.path = Path(path)
        if not self.path.absolute().parent.is_dir():
            raise InputError(f"there is no folder for {self.path}; make it, or name another file")
        if not self.path.exists():
            write_text(self.path, _line(head))
        self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND | _FLAGS)
        try:
            if fcntl is not None and not _claim(self._handle, self.path):
                raise InputError(f"{self.path} is in use by another process; wait for it, or name another file")
            self.head, self.entries, size = self._read()
            # A line may only follow on a whole one.
            os.ftruncate(self._handle, size)
            self._synced = True
        except BaseException:
            os.close(self._handle)
            raise

    def _read(self) -> tuple[Mapping[str, Any], list[Any], int]:
        content = self.path.read_bytes()
        lines = content.splitlines(keepends=True)
        whole = [_entry(line) for line in lines]
        if not whole or not isinstance(whole[0], Mapping):
            raise InputError(f"{self.path} is no journal of acyclic; name another file")
        return whole[0], [entry for entry in whole[1:] if entry is not None], content.rfind(b"\n") + 1

    def append(self, entry: Any) -> None:
        """Add a line, which outlives this process from now on, and the machine's power after `sync`."""
        line, before = _line(entry).encode(), os.fstat(self._handle).st_size
        try:
            _write_all(self._handle, line)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(self._handle, before)
            raise
        self._synced = False

    def sync(self) -> None:
        """Flush what was added to the disk."""
        if not self._synced:
            os.fsync(self._handle)
            self._synced = True

    def close(self) -> None:
        """Let go of the file."""
        with suppress(OSError):
            self.sync()
        os.close(self._handle)

    def remove(self) -> None:
        """Delete the file, which is needed no more, and let go of it."""
        self.path.unlink(missing_ok=True)
        os.close(self._handle)


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Raise the OSError that writing into a folder would raise."""
    collect_leftovers(folder)
    scratch, handle = _make_scratch(Path(folder))
    os.close(handle)
    scratch.unlink(missing_ok=True)


def collect_leftovers(folder: str | os.PathLike[str]) -> None:
    """Remove the scratch of processes that are gone, and finish an exchange of folders that one of them had begun."""
    if fcntl is None:
        return
    try:
        names = [name for name in os.listdir(folder) if _SCRATCH.fullmatch(name)]
    except OSError:
        return
    for name in names:
        with suppress(OSError):  # what cannot be removed, as that of another user, stays
            _collect(Path(folder) / name)


def _collect(scratch: Path) -> None:
    is_folder = stat.S_ISDIR(os.lstat(scratch).st_mode)
    lock = scratch / "target" if is_folder else scratch
    try:
        handle = os.open(lock, os.O_RDWR | _FLAGS)
    except FileNotFoundError:
        os.rmdir(scratch)
        return
    try:
        # Where locks cannot be had, nobody can know that it is a leftover.
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not is_folder:
            os.unlink(scratch)
            return
        target = scratch.parent / Path(os.fsdecode(os.read(handle, 4096))).name
        if (scratch / "old").exists() and not os.path.lexists(target):
            # The new folder is whole: the old one was not moved before that.
            os.rename(scratch / "new", target)
        shutil.rmtree(scratch)
    finally:
        os.close(handle)


def _scratch_in(folder: Path) -> Path:
    return folder / f".acyclic-{token_hex(8)}.part"


def _make_scratch(folder: Path) -> tuple[Path, int]:
    while True:
        scratch = _scratch_in(folder)
        handle = os.open(scratch, _NEW | _FLAGS, 0o666)
        try:
            if _claim(handle, scratch):
                return scratch, handle
        except BaseException:
            os.close(handle)
            scratch.unlink(missing_ok=True)
            raise
        os.close(handle)


def _claim(handle: int, path: Path) -> bool:
    """Lock a file for as long as it is open; False where another process was first."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: others cannot take it for a leftover either
        return True
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _make_parents(folder: Path) -> list[Path]:
    """Make a folder and those above it; those that were missing, the deepest first."""
    missing = []
    above = folder
    while not above.exists():
        missing.append(above)
        above = above.parent
    made: list[Path] = []
    try:
        for path in reversed(missing):
            os.mkdir(path)
            made.insert(0, path)
    except FileExistsError:
        pass
    except BaseException:
        _remove_empty(made)
        raise
    folder.mkdir(parents=True, exist_ok=True)
    return made


def _remove_empty(folders: list[Path]) -> None:
    with suppress(OSError):
        for folder in folders:
            os.rmdir(folder)


def _write(handle: int, content: bytes) -> None:
    _write_all(handle, content)
    os.fsync(handle)


def _write_all(handle: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _line(entry: Any) -> str:
    text = json.dumps(entry, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def _entry(line: bytes) -> Any:
    """What a line holds; None if it is not whole."""
    check, _, text = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or check != b"%08x" % zlib.crc32(text):
        return None
    return json.loads(text)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system has none for that."""
    call = _renameat2()
    if call is None:
        return False
    import ctypes

    here = _AT_WORKING_FOLDER
    if call(here, os.fsencode(one), here, os.fsencode(other), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(other))


@cache
def _renameat2() -> Any:
    """The call of glibc on Linux, if it is there."""
    if os.name != "posix":
        return None
    import ctypes

    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def _sync_folder(folder: Path) -> None:
    """Make a rename last: on POSIX the folder's entry is written with the folder."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
    finally:
        os.close(handle)

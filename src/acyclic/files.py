"""The one way to write a file: whole and at its place, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write to, which takes its place when the block ends well; the old one stays until then.

    The scratch file has a name of its own beside the target, is made exclusively, flushed to the disk and renamed; a
    block that raises leaves nothing behind.

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
    scratch = target.with_name(f".{target.name}.{token_hex(8)}.part")
    try:
        with scratch.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, target)
        _sync_folder(target.absolute().parent)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text as `write_atomically` does; what UTF-8 cannot hold becomes a question mark."""
    with write_atomically(path) as file:
        file.write(text.encode("utf-8", errors="replace"))


def _sync_folder(folder: Path) -> None:
    """Make a rename last: on POSIX the folder's entry is written with the folder."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

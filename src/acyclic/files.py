"""The one way to write a file, whole and at its place, or not at all; and to read the documents that people write."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from acyclic.errors import InputError

# No number that means anything has more digits; Python would take long over some millions of them.
_MOST_DIGITS = 400
# A key of so many parts, a.b.c and on: tables as deep as that mean nothing, and tomllib takes minutes over them.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""")


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


def read_text(path: str | os.PathLike[str]) -> str:
    """The UTF-8 text of a file, which may begin with a byte order mark."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except ValueError as error:
        raise InputError(f"{os.fspath(path)!r} is no path: {error}") from None


def parse_json(text: str) -> Any:
    """The value of JSON text; an InputError says why there is none.

    Examples
    --------
    >>> parse_json('{"a": [1, 2')
    Traceback (most recent call last):
    acyclic.errors.InputError: line 1: this is not JSON (Expecting ',' delimiter)
    """
    try:
        return json.loads(text, parse_int=_parse_int)
    except RecursionError:
        raise InputError("the JSON text is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno}: this is not JSON ({error.msg})") from None


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of TOML text; an InputError says why there are none."""
    try:
        if _LONG_KEY.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except RecursionError:
        raise InputError("the TOML text is nested too deeply") from None
    except ValueError as error:  # beside what TOML has no grammar for, dates and numbers that Python has no value for
        raise InputError(f"this is not valid TOML: {error}") from None


def _parse_int(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise InputError(f"the JSON text holds a whole number of {len(digits)} digits")
    return int(digits)


def _sync_folder(folder: Path) -> None:
    """Make a rename last: on POSIX the folder's entry is written with the folder."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

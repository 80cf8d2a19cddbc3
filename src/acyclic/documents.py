"""The one way to read the documents that people write: text, JSON and TOML, or a sentence on why there is none."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

from acyclic.errors import InputError

# No number that means anything has more digits; Python would take long over some millions of them.
_MOST_DIGITS = 400
# A key of so many parts, a.b.c and on: tables as deep as that mean nothing, and tomllib takes minutes over them.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""")


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

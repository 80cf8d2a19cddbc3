"""Partial results in a folder, from which a run that was killed goes on.

A file holds plain arrays and a text that says where they belong: reading one runs no code, unlike a pickle.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acyclic.data.columns import ColumnValues
from acyclic.data.missing import Incomplete
from acyclic.data.moments import Accumulator, Sums
from acyclic.data.partials import Summary
from acyclic.data.partitions import Failure, Mergeable
from acyclic.errors import InputError
from acyclic.files import check_writable, write_atomically
from acyclic.running import digest

__all__ = ["KeptResults"]

_FORMAT: Final = "acyclic partial result 1"
_KINDS: Final[dict[str, type[Any]]] = {
    kind.__name__: kind for kind in (Summary, ColumnValues, Accumulator, Incomplete, Sums)
}


class KeptResults:
    """A folder for partial results; those of other tables, or of other options, are left alone there.

    Parameters
    ----------
    folder : path
        Made where there is none.
    key : mapping of str to str
        What identifies the table, as its files with their sizes and times.
    """

    def __init__(self, folder: str | os.PathLike[str], key: Mapping[str, str]) -> None:
        self._folder, self._key = Path(folder), dict(key)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            check_writable(self._folder)
        except OSError as error:
            raise InputError(f"{folder} cannot be a folder for partial results: {error.strerror or error}") from error
        self.count = 0
        """How many results were found or written."""

    def load(self, name: str, total: int) -> dict[int, Mergeable]:
        """The results that are there, by their place among the total."""
        found = {}
        for at in range(total):
            path = self._path(name, at, total)
            if path.exists():
                try:
                    found[at] = _read(path)
                except (ValueError, LookupError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
                    raise InputError(f"{path} is no whole partial result: {error}; remove it") from error
        self.count += len(found)
        self._total = total
        return found

    def save(self, name: str, at: int, result: Mergeable | Failure) -> None:
        """Write a result; a failure is none."""
        if isinstance(result, Failure):
            return
        arrays: list[NDArray[Any]] = []
        text = json.dumps({"format": _FORMAT, "content": _to_plain(result, arrays)})
        named: dict[str, Any] = {f"a{number}": array for number, array in enumerate(arrays)}
        try:
            with write_atomically(self._path(name, at, self._total)) as file:
                np.savez(file, header=np.frombuffer(text.encode(), dtype=np.uint8), **named)
            self.count += 1
        except OSError as error:
            # A disk that is full now must not cost the run.
            said = f"partial results could not be kept in {self._folder} ({error.strerror or error}); the run goes on"
            warnings.warn(said, RuntimeWarning, stacklevel=2)

    def _path(self, name: str, at: int, total: int) -> Path:
        return self._folder / f"{digest(sorted(self._key.items()), name, total)[:24]}-{at}.npz"


def _read(path: Path) -> Any:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        header = json.loads(stored["header"].tobytes())
        if header["format"] != _FORMAT:
            raise ValueError(f"its format is {header['format']!r}")
        return _from_plain(header["content"], stored)


def _to_plain(value: Any, arrays: list[NDArray[Any]]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if type(value) in (list, tuple):
        return {type(value).__name__: [_to_plain(one, arrays) for one in value]}
    if type(value) is dict:
        return {"dict": [[_to_plain(key, arrays), _to_plain(one, arrays)] for key, one in value.items()]}
    if isinstance(value, Sums):
        return {"Sums": [_to_plain(one, arrays) for one in value]}
    state = value.__getstate__()
    return {type(value).__name__: _to_plain(state, arrays)} if type(value).__name__ in _KINDS else _refuse(value)


def _refuse(value: Any) -> Any:
    raise TypeError(f"{type(value).__name__} is no part of a partial result")


def _from_plain(plain: Any, stored: Any) -> Any:
    if not isinstance(plain, dict):
        return plain
    [(kind, content)] = plain.items()
    if kind == "array":
        return stored[f"a{int(content)}"]
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind in ("list", "tuple", "Sums"):
        parts = [_from_plain(one, stored) for one in content]
        return Sums(*parts) if kind == "Sums" else parts if kind == "list" else tuple(parts)
    if kind == "dict":
        return {_from_plain(key, stored): _from_plain(one, stored) for key, one in content}
    made: Any = object.__new__(_KINDS[kind])
    state = _from_plain(content, stored)
    made.__setstate__(state) if hasattr(made, "__setstate__") else made.__dict__.update(state)
    return made

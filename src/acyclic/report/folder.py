"""The folder that a run leaves: the result, the graph in formats for other programs, the report."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from acyclic.errors import Argument, InputError
from acyclic.files import NewFolder, write_text
from acyclic.findings import Findings
from acyclic.graphs.csv_text import defuse
from acyclic.graphs.dot import write_dot
from acyclic.report.page import report

__all__ = ["FILES", "check_free", "edge_list", "open_folder", "rescue_result", "write_files", "write_folder"]

PAGE = "report.html"


def open_folder(folder: str | os.PathLike[str], *, force: bool = False) -> NewFolder:
    """The folder of a run, for `write_folder`: that it can be written is known from here on, before any work.

    Parameters
    ----------
    folder : path
        It must not exist, or be empty; see `force`.
    force : bool
        Replace the folder of an earlier run. A folder that holds anything else is never replaced.
    """
    return NewFolder(check_free(folder, force=force))


def write_folder(
    result: Findings, folder: str | os.PathLike[str] | NewFolder, *, force: bool = False, **page: Any
) -> Path:
    """Write `FILES` into a new folder: all of them, or nothing.

    Parameters
    ----------
    result : Result
    folder : path, or what `open_folder` returned
    force : bool
        As for `open_folder`.
    **page
        Options of `acyclic.report.report`, such as ``rows`` and ``title``.
    """
    texts = {name: make(result) for name, make in _TEXTS.items() if name != PAGE}
    texts[PAGE] = report(result, **page) or ""
    return write_files(texts, folder, force=force)


def rescue_result(result: Findings) -> Path:
    """Write what can be written of a result to a folder in a place for temporary files; where that is.

    For a result whose own place cannot be written to: the file of the result first, then what else there is room for.
    """
    folder = Path(tempfile.mkdtemp(prefix="acyclic-"))
    write_text(folder / "result.json", result.to_json())
    for name, make in _TEXTS.items():
        with suppress(OSError, MemoryError):
            write_text(folder / name, make(result))
    return folder


def edge_list(result: Findings) -> str:
    """The edges as CSV, with what is known of each."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    columns = result.edge_columns()
    writer.writerow(columns)
    writer.writerows([_show_cell(row[name]) for name in columns] for row in result.edges())
    return text.getvalue()


def _show_cell(value: Any) -> str:
    return "" if value is None else defuse(value) if isinstance(value, str) else repr(value)


def check_free(folder: str | os.PathLike[str], files: tuple[str, ...] | None = None, *, force: bool = False) -> Path:
    """The folder as a path if `write_files` may write to it; an InputError otherwise."""
    target = Path(folder)
    if not target.exists():
        return target
    if not target.is_dir():
        raise InputError(f"{target} is a file; name a folder for the results")
    found = sorted(entry.name for entry in target.iterdir())
    foreign = [name for name in found if name not in (files or FILES)]
    if foreign:
        raise InputError(f"{target} holds other files ({foreign[0]}); name another ", Argument("folder"))
    if found and not force:
        replace = Argument("force", True)
        raise InputError(
            f"{target} holds an earlier run; name another ", Argument("folder"), ", or replace it: ", replace
        )
    return target


def write_files(texts: Mapping[str, str], folder: str | os.PathLike[str] | NewFolder, *, force: bool = False) -> Path:
    """Write texts by file name into a folder that appears at once, when all of them are written."""
    if not isinstance(folder, NewFolder):
        with NewFolder(check_free(folder, tuple(texts), force=force)) as new:
            return write_files(texts, new, force=force)
    for name, text in texts.items():
        folder.write(name, text.encode("utf-8", errors="replace"))
    # Since it was opened somebody may have put something there.
    check_free(folder.target, tuple(texts), force=force)
    return folder.put(replace=force)


_TEXTS: Final[Mapping[str, Callable[[Findings], str]]] = {
    "result.json": lambda result: result.to_json(),
    "graph.graphml": lambda result: result.graph.to_graphml(),
    "graph.dot": lambda result: write_dot(result.graph.list_edges(), result.undecided),
    "edges.csv": edge_list,
    PAGE: lambda result: report(result) or "",
}
FILES = tuple(_TEXTS)

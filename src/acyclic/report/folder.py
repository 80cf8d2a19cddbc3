"""The folder that a run leaves: the result, the graph in formats for other programs, the report."""

from __future__ import annotations

import csv
import io
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acyclic.errors import Argument, InputError
from acyclic.findings import Findings
from acyclic.graphs.csv_text import defuse
from acyclic.report.page import report

__all__ = ["FILES", "check_free", "edge_list", "write_files", "write_folder"]

FILES = ("result.json", "graph.graphml", "graph.dot", "edges.csv", "report.html")


def write_folder(result: Findings, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write `FILES` into a new folder: all of them, or nothing.

    Parameters
    ----------
    result : Result
    folder : path
        It must not exist, or be empty; see `force`.
    force : bool
        Replace the folder of an earlier run. A folder that holds anything else is never replaced.
    """
    texts = {
        "result.json": result.to_json(),
        "graph.graphml": result.graph.to_graphml(),
        "graph.dot": result.graph.to_dot(),
        "edges.csv": edge_list(result),
        "report.html": report(result) or "",
    }
    return write_files(texts, folder, force=force)


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


def check_free(folder: str | os.PathLike[str], files: tuple[str, ...] = FILES, *, force: bool = False) -> Path:
    """The folder as a path if `write_files` may write to it; an InputError otherwise."""
    target = Path(folder)
    if not target.exists():
        return target
    if not target.is_dir():
        raise InputError(f"{target} is a file; name a folder for the results")
    found = sorted(entry.name for entry in target.iterdir())
    foreign = [name for name in found if name not in files]
    if foreign:
        raise InputError(f"{target} holds other files ({foreign[0]}); name another ", Argument("folder"))
    if found and not force:
        replace = Argument("force", True)
        raise InputError(
            f"{target} holds an earlier run; name another ", Argument("folder"), ", or replace it: ", replace
        )
    return target


def write_files(texts: Mapping[str, str], folder: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write texts by file name into a folder that appears at once, when all of them are written."""
    target = check_free(folder, tuple(texts), force=force)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        for name, text in texts.items():
            (scratch / name).write_bytes(text.encode("utf-8", errors="replace"))
        scratch.chmod(0o755)
        _put(scratch, target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    return target


def _put(new: Path, target: Path) -> None:
    """Rename a folder to its place; what is there goes only when the new one has come."""
    if not target.exists():
        new.rename(target)
        return
    old = new.with_name(f"{new.name}.old")
    target.rename(old)
    try:
        new.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old)

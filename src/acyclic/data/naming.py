"""Names for columns that have none, or that of another, and the first column that only counts the rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from acyclic.data.cells import Held, Reason, as_float, is_identifier
from acyclic.facts import Fact, Note
from acyclic.graphs.checks import check_names

__all__ = ["Naming", "name_columns"]

# What pandas and our reader of workbooks call a column without a name.
_UNNAMED: Final = re.compile(r"\s*|Unnamed: \d+")


class Naming(NamedTuple):
    """Names of all columns, all different; columns that are not used for what they are called; what was assumed."""

    names: tuple[str, ...]
    refused: Mapping[str, Reason]
    facts: tuple[Fact[Note], ...]


def name_columns(found: Sequence[str] | None, width: int, columns: Sequence[Sequence[tuple[int, Any]]]) -> Naming:
    """Name the columns; ``columns`` are the first cells of each that are given, with their places.

    A first column without a name is taken for row numbers or labels if its cells are integers or words, all different.
    Others are called after their position. A name that comes again gets a number, as in pandas: ``a``, ``a.1``.
    """
    if found is None or len(found) != width:
        return Naming(check_names(found, width), {}, ())
    check_names([f"{place}{name}" if isinstance(name, str) else name for place, name in enumerate(found)], width)
    names: list[str] = []
    taken: set[str] = set()
    again: Counter[str] = Counter()
    refused: dict[str, Reason] = {}
    changed: list[str] = []
    for position, name in enumerate(found):
        cells = [cell for _, cell in columns[position]]
        if _UNNAMED.fullmatch(name):
            if position == 0 and _labels_rows(cells):
                refused[name] = Reason(Held.ROW_NUMBERS, "has no name and numbers or labels the rows")
                names.append(name)
                continue
            name = f"column {position + 1}"
            if not cells:
                refused[name] = Reason(Held.NOTHING, "has no name and no values")
        called = name
        while called in taken:
            again[name] += 1
            called = f"{name}.{again[name]}"
        taken.add(called)
        if called != found[position] and called not in refused:
            changed.append(called)
        if called not in refused and is_identifier(called, _integers(cells)):
            refused[called] = Reason(Held.IDENTIFIER, "numbers the rows, by its name and its rising integers")
        names.append(called)
    return Naming(tuple(names), refused, (Fact.of(Note.RENAMED, *changed),) if changed else ())


def _labels_rows(cells: Sequence[Any]) -> bool:
    whole = _integers(cells)
    words = [cell for cell in cells if isinstance(cell, str) and as_float(cell) is None]
    return 0 < len(cells) == len(set(cells)) and (len(whole) == len(cells) or (not whole and len(words) == len(cells)))


def _integers(cells: Sequence[Any]) -> list[float]:
    """The cells as integers; none if one of them is none."""
    found = []
    for cell in cells:
        text = str(cell)
        if isinstance(cell, bool) or len(text) > 18 or not re.fullmatch(r"[+-]?\d+(\.0)?", text, re.ASCII):
            return []
        found.append(float(text))
    return found

"""Tables as lines of text that fit into a terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from rich.cells import cell_len, chop_cells, set_cell_size

from acyclic.errors import make_legible

__all__ = ["lay_out"]

# A text is not made narrower than this, and is what goes to a line of its own set in by.
_NARROWEST, _INDENT = 8, 4


def lay_out(header: Mapping[str, str], rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    """The lines of a table that is no wider than a terminal; None is a file or a pipe, which has any width.

    Where it does not fit titles are broken at spaces, then the last column, if it is a text, goes to a line of its own
    below each row, and at last the other texts are broken. Numbers never are.

    Parameters
    ----------
    header : mapping of str to {"left", "right"}
        The titles; texts are on the left of their columns, numbers on the right.
    rows : sequence of sequences of str
    width : int, optional

    Examples
    --------
    >>> header = {"from": "left", "to": "left", "weight": "right", "rests on": "left"}
    >>> for line in lay_out(header, [["age", "pressure", "+0.5", "independence"]], 30):
    ...     print(line)
    from  to        weight
        rests on
    ────  ────────  ──────
    age   pressure    +0.5
        independence
    """
    heads, text = list(header), [justify == "left" for justify in header.values()]
    cells = [[make_legible(cell) for cell in row] for row in rows]
    below = [""] * (1 + len(cells))
    if width is not None and _measure(heads, cells) > width:
        heads = [head if broken else head.replace(" ", "\n") for head, broken in zip(heads, text)]
        if len(heads) > 2 and text[-1] and _measure(heads, cells) > width:
            below = [heads.pop(), *(row.pop() for row in cells)]
            text.pop()
    widths = _fit(_widths(heads, cells), text, width)
    blocks = [
        [*_join(row, widths, text), *(" " * _INDENT + part for part in _break(more, (width or 0) - _INDENT) if part)]
        for row, more in zip([heads, *cells], below)
    ]
    blocks.insert(1, ["  ".join("─" * wide for wide in widths)])
    return [line for block in blocks for line in block]


def _widths(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> list[int]:
    """How many places each column takes."""
    return [max(cell_len(line) for cell in column for line in cell.split("\n")) for column in zip(heads, *cells)]


def _measure(heads: Sequence[str], cells: Sequence[Sequence[str]]) -> int:
    """How many places a row takes, two of them between columns."""
    widths = _widths(heads, cells)
    return sum(widths) + 2 * (len(widths) - 1)


def _fit(widths: list[int], text: Sequence[bool], width: int | None) -> list[int]:
    """The widths of columns that fit into a terminal: the widest texts give way, down to a few places."""
    spare = None if width is None else width - 2 * (len(widths) - 1)
    widths = list(widths)
    while spare is not None and sum(widths) > spare:
        widest = max((k for k, broken in enumerate(text) if broken), key=lambda k: widths[k], default=None)
        if widest is None or widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    return widths


def _join(cells: Sequence[str], widths: Sequence[int], text: Sequence[bool]) -> list[str]:
    """The lines of one row."""
    parts = [[part for line in cell.split("\n") for part in _break(line, wide)] for cell, wide in zip(cells, widths)]
    lines = []
    for line in zip_longest(*parts, fillvalue=""):
        padded = [
            set_cell_size(part, wide) if broken else " " * (wide - cell_len(part)) + part
            for part, wide, broken in zip(line, widths, text)
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def _break(line: str, width: int) -> list[str]:
    """Parts of a line that fit into a width: broken after spaces and signs in names, inside of words where none helps.

    Examples
    --------
    >>> _break("od280/od315_of_diluted_wines", 16)
    ['od280/od315_of_', 'diluted_wines']
    """
    parts, width = [""], max(width, _NARROWEST)
    for word in re.findall(r"[^\s_/.-]*[\s_/.-]?", line):
        if cell_len(parts[-1] + word.rstrip()) <= width:
            parts[-1] += word
        else:
            parts += chop_cells(word, width)
    return [part.rstrip() for part in parts if part] or [""]

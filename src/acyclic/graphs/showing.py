"""How what acyclic returns shows itself in notebooks, and becomes a frame: the one home of both."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from html import escape
from importlib.util import find_spec
from typing import Any

from acyclic.errors import MissingExtraError

__all__ = ["Shown", "make_frame", "write_table"]

MOST_ROWS = 30


class Shown:
    """What has a table of rows: notebooks show its text and the table, and `to_frame` gives the latter as a frame."""

    def table(self) -> list[dict[str, Any]]:
        """The rows, each with the same names."""
        raise NotImplementedError

    def prose(self) -> list[str]:
        """What is said of it beside the table."""
        return str(self).splitlines()

    def to_frame(self) -> Any:
        """The table as a frame of pandas or Polars; see `make_frame` for which."""
        return make_frame(self.table())

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(line)}</p>" for line in self.prose() if line.strip())
        return f"<div>{said}{write_table(self.table())}</div>"


def make_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a frame: of pandas or Polars, whichever the session has imported, else whichever is installed.

    Examples
    --------
    >>> list(make_frame([{"a": 1, "b": 2.0}]).columns)
    ['a', 'b']
    """
    at_hand = [name for name in ("pandas", "polars") if name in sys.modules]
    installed = at_hand or [name for name in ("pandas", "polars") if find_spec(name) is not None]
    if not installed:
        raise MissingExtraError("to_frame", "pandas or Polars", "files")
    columns = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    if installed[0] == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    import polars

    return polars.DataFrame(columns)


def write_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as HTML, the first thirty of them; whatever they hold is text in it."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escape(str(name).replace("_", " "))}</th>' for name in rows[0])
    body = "".join(f"<tr>{''.join(map(_cell, row.values()))}</tr>" for row in rows[:MOST_ROWS])
    rest = f"<p>and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "<td>–</td>"
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"<td>{escape(shown)}</td>"

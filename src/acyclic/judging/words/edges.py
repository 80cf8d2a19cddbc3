"""The table of edges as people read it: titles and texts of cells, the same in terminal, page and notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["SIGNED", "TITLES", "show_cell"]

# The columns that are shown, of those that `Findings.edge_columns` has; files and frames hold the others too.
TITLES = {
    "source": "from",
    "decided": "way",
    "target": "to",
    "weight": "weight",
    "standardised": "standardised",
    "this_way": "this way",
    "either_way": "either way",
    "probability": "likely",
    "direction_probability": "this way if so",
    "margin": "margin",
    "rests_on": "rests on",
}
SIGNED, SHARES = ("weight", "standardised"), ("this_way", "either_way", "probability", "direction_probability")


def show_cell(row: Mapping[str, Any], column: str) -> str:
    """The text of a cell.

    Examples
    --------
    >>> show_cell({"weight": -0.1234}, "weight"), show_cell({"this_way": 0.876}, "this_way")
    ('−0.123', '88%')
    """
    value = row[column]
    if value is None:
        return "–"
    if column == "decided":
        return "→" if value else "–"
    if column in SHARES:
        return f"{value:.0%}"
    if isinstance(value, float):
        text = "∞" if math.isinf(value) else f"{value:{'+' if column in SIGNED else ''}.3g}"
        return text.replace("-", "−")
    return str(value)

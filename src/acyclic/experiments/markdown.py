"""Text, tables and footnotes in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["NONE", "Footnotes", "cell", "table"]

# Stands where there is no number yet.
NONE = "–"
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$])")
_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


class Footnotes:
    """Sources in the order of their first mention."""

    def __init__(self) -> None:
        self._sources: list[str] = []

    def mark(self, source: str) -> str:
        """What stands beside a number from this source."""
        if not source:
            return ""
        if source not in self._sources:
            self._sources.append(source)
        return f"[^{self._sources.index(source) + 1}]"

    def lines(self) -> list[str]:
        """The notes at the foot of the page."""
        return [f"[^{place}]: {cell(source)}" for place, source in enumerate(self._sources, start=1)]


def cell(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", _SPACE.sub(" ", text).strip())


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, without the columns that are empty in every row."""
    body = [list(row) for row in rows]
    kept = [place for place in range(len(header)) if place == 0 or any(row[place] for row in body)]
    lines = [[row[place] for place in kept] for row in [list(header), ["---"] * len(header), *body]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

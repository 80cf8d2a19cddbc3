"""Templates filled with the values of facts, of which a file may lack some."""

from __future__ import annotations

import string
from typing import Any

__all__ = ["FORMATTER", "Values"]


class Values(dict[str, Any]):
    """Values by name; those that are not there are None."""

    def __missing__(self, name: str) -> None:
        return None


class _Formatter(string.Formatter):
    """Says "unknown" of a value that a file did not hold, such as a number that was not finite."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return "unknown" if value is None else str(super().format_field(value, format_spec))


FORMATTER = _Formatter()

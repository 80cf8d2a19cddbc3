"""What learn() returns: what a run found, which can also be drawn and reported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from acyclic.errors import InputError
from acyclic.findings import Findings
from acyclic.report.figure import plot
from acyclic.report.page import report


class Result(Findings):
    """A learned graph and what it rests on; see `Findings` for its attributes."""

    def report(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write the result as one self-contained HTML page; see `acyclic.report.report` for the options."""
        report(self, path, **options)

    def plot(self, **options: Any) -> Any:
        """Draw the graph as a matplotlib figure; see `acyclic.report.figure.plot` for the options."""
        return plot(self, **options)


def load(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a result file of acyclic: it is not UTF-8 text") from None
    return Result.from_json(text)

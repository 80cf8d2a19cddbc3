"""Where a result comes from: versions of what computed it, and the rows that it was learned from."""

import platform

import numpy as np
import scipy

from acyclic._version import __version__
from acyclic.data.table import Table
from acyclic.facts import Note
from acyclic.judging.verdict import Verdict


def rows_used(table: Table, verdict: Verdict) -> Table:
    """What a graph was learned from: the table, without the rows that were set aside if the verdict says so."""
    return table.inliers if any(note.kind is Note.OUTLIERS for note in verdict.notes) else table


def list_versions() -> dict[str, str]:
    """Versions of what computed it."""
    return {
        "acyclic": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }

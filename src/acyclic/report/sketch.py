"""What the page shows of the columns themselves: histograms, missing cells, and some rows for scatter plots."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from acyclic.data.table import MOST_SAMPLED, Table
from acyclic.errors import InputError
from acyclic.facts import Note
from acyclic.types import Floats

__all__ = ["sketch_table"]

# Rows that are embedded, fewer of them where columns are many: two bytes a cell.
MOST_ROWS, MOST_CELLS = 500, 100_000
# Beyond so many cells the rows may have to be read from a disk again, and a picture is not worth that.
MOST_READ = 30_000_000
BINS, LEVELS = 24, 65_535


def sketch_table(table: Table | None, *, rows: bool = True) -> dict[str, Any]:
    """Kind, missing share and moments of each column, and where rows are at hand histograms and a sample of them.

    The sample is the same for the same table: its seed is fixed.
    """
    if table is None:
        return {"variables": [], "sample": None}
    absent = {note.about[0]: note["count"] / note["rows"] for note in table.notes if _is_of_column(note)}
    moments = table.moments
    deviation = np.sqrt(np.diag(moments.covariance))
    variables: list[dict[str, Any]] = [
        {"kind": kind.value, "missing": absent.get(name, 0.0), "mean": mean, "deviation": spread}
        for name, kind, mean, spread in zip(table.names, table.kinds, moments.mean.tolist(), deviation.tolist())
    ]
    values = _rows_at_hand(table) if rows else None
    if values is None:
        return {"variables": variables, "sample": None}
    low, high = values.min(axis=0), values.max(axis=0)
    for k, variable in enumerate(variables):
        counts = np.histogram(values[:, k], BINS, (low[k], high[k] if high[k] > low[k] else low[k] + 1.0))[0]
        variable.update(low=float(low[k]), high=float(high[k]), counts=counts.tolist())
    return {"variables": variables, "sample": _sample(values, low, high)}


def _rows_at_hand(table: Table) -> Floats | None:
    """Rows to make pictures of: all, or of a table that is elsewhere a sample, as long as its cluster answers."""
    if table.is_elsewhere:
        try:
            return table.sample(MOST_SAMPLED)
        except InputError:
            return None
    return None if not table.has_rows or table.n_rows * len(table.names) > MOST_READ else table.rows()


def _is_of_column(note: Any) -> bool:
    return note.kind is Note.MISSING and bool(note.about)


def _sample(rows: Floats, low: Floats, high: Floats) -> dict[str, Any]:
    """Some rows, column after column, each value as a step between the lowest and the highest of its column."""
    count = min(len(rows), MOST_ROWS, max(20, MOST_CELLS // len(low)))
    chosen = np.sort(np.random.default_rng(0).choice(len(rows), count, replace=False))
    span = np.where(high > low, high - low, 1.0)
    steps = np.rint((rows[chosen] - low) / span * LEVELS).astype("<u2")
    return {"rows": count, "cells": base64.b64encode(np.ascontiguousarray(steps.T).tobytes()).decode()}

"""What the page needs to learn again by itself: the kernels as WebAssembly, and the problem as numbers."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np

from acyclic._native.build import FOLDER, WASM, digest_wasm, find_inputs
from acyclic.data.features import Curves, Indicators
from acyclic.discrete.refine import Nearby, NearbyBlocks, NearbyCounts, Problem
from acyclic.findings import Findings
from acyclic.findings.origin import rows_used
from acyclic.learners.auto import has_categories
from acyclic.scores.blocks import BlockScore
from acyclic.scores.counts import CountScore
from acyclic.trust.pricing import Again, find_lines, find_problem, find_way
from acyclic.types import Floats

__all__ = ["NotLive", "pack_problem", "read_kernel", "why_not_live"]

# Of the arrays of a problem, before base64: the correlations of some 860 columns, the curves of some 80.
MOST_BYTES = 3_000_000
# A curve is drawn through so many places.
_PLACES = 25


class NotLive(StrEnum):
    """Why a page cannot learn again by itself."""

    NO_TABLE = "no-table"
    """The result was read from a file, or has no moments at hand."""
    NO_KERNEL = "no-kernel"
    """The package was installed without the WebAssembly module, or with that of other sources."""
    TOO_LARGE = "too-large"
    OTHER_METHOD = "other-method"
    """Not a search over orders, or one of numbers and categories together: the page has no kernel for it."""
    THRESHOLD = "threshold"
    """Weights were cut, which the page does not do."""
    NO_ROWS = "no-rows"
    """Categories are counted from rows, of which the page shall hold none."""
    KNOWLEDGE = "knowledge"
    """The run had signs, bounds, or a file of knowledge that is not at hand."""


_STATEMENTS = {"forbidden", "required", "tiers", "closed_tiers", "roots", "sinks"}


@cache
def read_kernel() -> str:
    """The WebAssembly module in base64; empty where there is none of the sources that lie beside it."""
    path = FOLDER / WASM
    if not path.exists():
        return ""
    module = path.read_bytes()
    fresh = not find_inputs(FOLDER) or f"sources {digest_wasm(FOLDER)}".encode() in module
    return base64.b64encode(module).decode() if fresh else ""


def why_not_live(result: Findings, *, rows: bool = True) -> NotLive | None:
    """Why the page of a result cannot learn again, not even by lines; None where it can.

    ``rows`` is whether it may hold rows, which categories are counted from.
    """
    stated, table, way = result.provenance.get("knowledge"), result.table, find_way(result)
    if way is None and not _has_lines(result):
        return NotLive.OTHER_METHOD
    if result.verdict.threshold > 0:
        return NotLive.THRESHOLD
    if table is None or table.moments.n < 3:
        return NotLive.NO_TABLE
    d = len(result.graph.names)
    if 4 * d * (d + 1) > MOST_BYTES or (way is Again.COUNTS and (d + 5) * table.n_rows > MOST_BYTES):
        return NotLive.TOO_LARGE
    if way is Again.COUNTS and not rows:
        return NotLive.NO_ROWS
    if stated is not None and (not isinstance(stated, Mapping) or not set(stated) <= _STATEMENTS):
        return NotLive.KNOWLEDGE
    return None if read_kernel() else NotLive.NO_KERNEL


def _has_lines(result: Findings) -> bool:
    """Whether the graph of a search over orders is of numbers, so that lines can be searched at least."""
    numbers = result.table is None or not has_categories(result.table)
    return numbers and result.verdict.method in ("auto", "order-search")


def pack_problem(result: Findings, *, rows: bool = True) -> dict[str, Any]:
    """The problem of a result that can be live, as plain values; see `acyclic.discrete.refine`.

    Where its world takes more than a page may hold, or rows that it shall not hold, it is that of lines alone, which
    "lines" says.
    """
    assert result.table is not None
    moments = rows_used(result.table, result.verdict).moments
    near = find_problem(result)
    if isinstance(near, NearbyBlocks) and not _fits(near.score, rows):
        near = find_lines(result)
    return {
        "canon": near.canon.tolist(),
        "start": near.start.tolist(),
        **_pack_score(near, rows),
        "lines": isinstance(near, Nearby) and find_way(result) is not Again.LINES,
        "deviation": np.sqrt(np.diag(moments.covariance)).tolist(),
        "most_parents": near.most_parents,
        "settings": dict(near.settings),
        "knowledge": dict(result.provenance.get("knowledge") or {}),
    }


def _pack_score(near: Problem, rows: bool) -> dict[str, Any]:
    if isinstance(near, NearbyBlocks):
        return _pack_blocks(near.score, rows)
    return _pack_counts(near.score) if isinstance(near, NearbyCounts) else _pack_lines(near)


def _fits(score: BlockScore, rows: bool) -> bool:
    F, m = len(score.moments), score.shape_rows
    return 4 * F * (F + 1) + 8 * F * m <= MOST_BYTES and (rows or not m)


def _pack_lines(near: Nearby) -> dict[str, Any]:
    return {
        "correlation": _encode(near.correlation[np.triu_indices(len(near.canon))]),
        "unit": None if near.unit is None else _encode(near.unit),
        "n": float(near.n),
        "price": near.price,
    }


def _pack_blocks(score: BlockScore, rows: bool) -> dict[str, Any]:
    """The fields of a `BlockCriterion`, and the features at some places, by which curves are drawn."""
    given, places = score.criterion, [_find_places(own, rows) for own in score.features.maps]
    drawn = [own(at).T for own, at in zip(score.features.maps, places)]
    whole = {
        name: getattr(given, name).tolist() for name in ("at", "level_at", "levels", "responses", "bent", "shaped")
    }
    return {
        "n": float(given.n),
        "price": given.cost,
        "blocks": {
            **whole,
            "moments": _encode(given.G[np.triu_indices(len(given.G))]),
            "prices": _encode(given.prices),
            "rows": None if given.rows is None else _encode(given.rows),
            "n_rows": score.shape_rows,
            "shape_price": given.shape_price,
            "places": _encode(np.array(places)),
            "drawn": _encode(np.vstack(drawn)),
        },
    }


def _pack_counts(score: CountScore) -> dict[str, Any]:
    """The fields of a `CountCriterion` but for the logarithms."""
    given = score.criterion
    numbers = {name: getattr(given, name) for name in ("unit", "extra", "sample_size")}
    codes = base64.b64encode(given.codes.tobytes()).decode()
    counts = {"codes": codes, "weight": given.weight.tolist(), "levels": given.levels.tolist(), **numbers}
    return {"n": float(score.n), "counts": counts}


def _find_places(own: Curves | Indicators, rows: bool) -> Floats:
    """Where the curves of a number are drawn; the ends of its knots are values of rows, which a page may not hold."""
    assert isinstance(own, Curves)
    if rows and len(own.knots):
        return np.linspace(own.knots[0], own.knots[-1], _PLACES)
    return own.mean + own.deviation * np.linspace(-2.0, 2.0, _PLACES)


def _encode(array: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode()

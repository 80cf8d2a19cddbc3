"""What the page needs to learn again by itself: the kernels as WebAssembly, and the problem as numbers."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any

import numpy as np

from acyclic._native.build import FOLDER, WASM, digest_wasm, find_inputs
from acyclic.findings import Findings
from acyclic.findings.origin import rows_used
from acyclic.trust.pricing import find_problem, is_linear_search
from acyclic.types import Floats

__all__ = ["NotLive", "pack_problem", "read_kernel", "why_not_live"]

# Of the upper triangle of the correlations, before base64: some 880 columns.
MOST_BYTES = 3_000_000


class NotLive(StrEnum):
    """Why a page cannot learn again by itself."""

    NO_TABLE = "no-table"
    """The result was read from a file, or has no moments at hand."""
    NO_KERNEL = "no-kernel"
    """The package was installed without the WebAssembly module, or with that of other sources."""
    TOO_LARGE = "too-large"
    OTHER_METHOD = "other-method"
    """Not the linear search: what it learned rests on something that correlations do not hold."""
    THRESHOLD = "threshold"
    """Weights were cut, which the page does not do."""
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


def why_not_live(result: Findings) -> NotLive | None:
    """Why the page of a result cannot learn again; None where it can."""
    stated = result.provenance.get("knowledge")
    if not is_linear_search(result):
        return NotLive.OTHER_METHOD
    if result.verdict.threshold > 0:
        return NotLive.THRESHOLD
    if result.table is None or result.table.moments.n < 3:
        return NotLive.NO_TABLE
    if 4 * len(result.graph.names) * (len(result.graph.names) + 1) > MOST_BYTES:
        return NotLive.TOO_LARGE
    if stated is not None and (not isinstance(stated, Mapping) or not set(stated) <= _STATEMENTS):
        return NotLive.KNOWLEDGE
    return None if read_kernel() else NotLive.NO_KERNEL


def pack_problem(result: Findings) -> dict[str, Any]:
    """The problem of a result that can be live, as plain values; see `acyclic.discrete.refine.Nearby`."""
    assert result.table is not None
    moments = rows_used(result.table, result.verdict).moments
    near = find_problem(result)
    d = len(near.canon)
    return {
        "canon": near.canon.tolist(),
        "start": near.start.tolist(),
        "correlation": _encode(near.correlation[np.triu_indices(d)]),
        "unit": None if near.unit is None else _encode(near.unit),
        "deviation": np.sqrt(np.diag(moments.covariance)).tolist(),
        "n": float(near.n),
        "price": near.price,
        "most_parents": near.most_parents,
        "settings": dict(near.settings),
        "knowledge": dict(result.provenance.get("knowledge") or {}),
    }


def _encode(array: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode()

"""What prior knowledge costs: how much lower the best score is without it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np

from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.categorical import order_canonically
from acyclic.discrete.fitted import LINEAR, World
from acyclic.discrete.refine import Nearby, NearbyBlocks, NearbyCounts, Problem
from acyclic.discrete.worlds import Worlds
from acyclic.facts import Fact, Orientation, Standing
from acyclic.findings import Findings
from acyclic.findings.origin import rows_used
from acyclic.learners.auto import has_categories
from acyclic.learners.categorical import read_codes
from acyclic.scores.counts import CountScore
from acyclic.types import Kind

__all__ = ["Again", "find_lines", "find_problem", "find_way", "price_knowledge"]

# Seconds for both searches; up to 20 columns of lines and normal noise these are exact, and take less.
SECONDS = 3.0
_METHODS = {"auto", "order-search", "equal-variance"}


class Again(StrEnum):
    """How the search of a result can be made again near its answer."""

    LINES = "lines"
    BLOCKS = "blocks"
    """With curves, or noise of any shape."""
    COUNTS = "counts"


def find_way(found: Findings) -> Again | None:
    """How the search that found a graph can be made again; None for other methods.

    Beside numbers categories have likelihoods of their own, and functions of all parents together are no blocks.
    """
    verdict, table = found.verdict, found.table
    settings = verdict.settings
    if verdict.method not in _METHODS:
        return None
    if "criterion" in settings:
        return Again.COUNTS if table is not None else None
    world = _find_world(found)
    way = Again.LINES if world == LINEAR else Again.BLOCKS if world.mechanisms in ("linear", "curved") else None
    if table is None:
        return way if way is Again.LINES else None
    by_kind = verdict.method == "auto" and verdict.orientation is not Orientation.EQUAL_VARIANCES
    if Kind.CATEGORICAL in table.kinds and (by_kind or way is not Again.LINES or has_categories(table)):
        return None
    return way if way is Again.LINES or table.has_sample else None


def find_problem(found: Findings) -> Problem:
    """The problem that a search solved in its world, around its answer, without knowledge; needs the table."""
    assert found.table is not None
    way, table, order = find_way(found), rows_used(found.table, found.verdict), found.graph.order
    if way is Again.COUNTS:
        score = _score_counts(found, table)
        canon = order_canonically(score, table.names)
        return NearbyCounts(table.names, canon, score.in_order(canon), np.argsort(canon)[order])
    if way is Again.BLOCKS:
        worlds = Worlds(table, _price(found))
        start = np.argsort(worlds.canon)[order]
        return NearbyBlocks(worlds.rows, worlds.names, worlds.canon, worlds.score(_find_world(found)), start)
    return find_lines(found)


def find_lines(found: Findings) -> Nearby:
    """The same problem for lines and normal noise, whatever world the answer is of."""
    assert found.table is not None
    equal = found.verdict.orientation is Orientation.EQUAL_VARIANCES
    noise = "equal" if equal else "unequal"
    moments = rows_used(found.table, found.verdict).moments
    return Nearby.of(moments, found.graph.order, _price(found), noise=noise)  # type: ignore[arg-type]


def _find_world(found: Findings) -> World:
    settings = found.verdict.settings
    return World(settings.get("mechanisms", "linear"), settings.get("noise", "gaussian"))


def _score_counts(found: Findings, table: Table) -> CountScore:
    settings: Mapping[str, Any] = found.provenance.get("settings", {})
    codes, rows = read_codes(table)
    return CountScore.of(
        codes,
        [len(table.codings[name].levels) for name in table.names],
        rows,
        rule="bdeu" if found.verdict.settings["criterion"] == "bdeu" else "bic",
        penalty=settings.get("penalty", "ebic"),
        sample_size=settings.get("sample_size", 10.0),
    )


def price_knowledge(found: Findings, mask: Mask, seconds: float = SECONDS) -> Fact[Standing]:
    """How much lower the best score is without the knowledge of a mask, which is not free.

    Both scores are those of the search that the report's page does too, so that they are compared at equal effort:
    up to 20 columns the best there is, beyond the best that is met from the answer's order on.

    Parameters
    ----------
    found : Findings
    mask : Mask
    seconds : float
        After which it is not priced.
    """
    table = found.table
    if find_way(found) is None or found.verdict.threshold > 0 or table is None or table.moments.n < 3:
        return Fact.of(Standing.KNOWLEDGE_UNPRICED)
    problem, deadline = find_problem(found), Deadline(seconds)
    try:
        held, free = (problem.learn(one, deadline=deadline).score for one in (mask, None))
    except Stopped:
        return Fact.of(Standing.KNOWLEDGE_UNPRICED)
    # Beyond 20 columns the search without knowledge may be the unluckier one.
    return Fact.of(Standing.KNOWLEDGE_PRICED, price=max(held - free, 0.0))


def _price(found: Findings) -> Any:
    """What the method found to be the price, or else the penalty that it was given, if it takes one."""
    settings: Mapping[str, Any] = found.provenance.get("settings", {})
    return found.verdict.details.get("price of a parent", settings.get("penalty", "ebic"))

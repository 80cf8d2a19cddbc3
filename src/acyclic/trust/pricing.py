"""What prior knowledge costs: how much lower the best score is without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from acyclic.data.mask import Mask
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.fitted import LINEAR, World
from acyclic.discrete.refine import Nearby, NearbyBlocks
from acyclic.discrete.worlds import Worlds
from acyclic.facts import Fact, Orientation, Standing
from acyclic.findings import Findings
from acyclic.findings.origin import rows_used
from acyclic.learners.auto import has_categories
from acyclic.types import Kind

__all__ = ["find_lines", "find_problem", "find_world", "price_knowledge"]

# Seconds for both searches; up to 20 columns of lines and normal noise these are exact, and take less.
SECONDS = 3.0
_METHODS = {"auto", "order-search", "equal-variance"}
_MECHANISMS = {"linear", "curved"}


def find_world(found: Findings) -> World | None:
    """The world that a search over orders chose, if it can be searched again; None for other methods.

    Categories are counted, or have likelihoods of their own, and functions of all parents together are no blocks.
    """
    verdict, table = found.verdict, found.table
    settings = verdict.settings
    world = World(settings.get("mechanisms", "linear"), settings.get("noise", "gaussian"))
    if verdict.method not in _METHODS or world.mechanisms not in _MECHANISMS or "criterion" in settings:
        return None
    if table is None:
        return world if world == LINEAR else None
    by_kind = verdict.method == "auto" and verdict.orientation is not Orientation.EQUAL_VARIANCES
    if Kind.CATEGORICAL in table.kinds and (by_kind or world != LINEAR or has_categories(table)):
        return None
    return world if world == LINEAR or table.has_sample else None


def find_problem(found: Findings) -> Nearby | NearbyBlocks:
    """The problem that a search solved in its world, around its answer, without knowledge; needs the table."""
    world = find_world(found)
    if world is None or world == LINEAR:
        return find_lines(found)
    assert found.table is not None
    worlds = Worlds(rows_used(found.table, found.verdict), _price(found))
    start = np.argsort(worlds.canon)[found.graph.order]
    return NearbyBlocks(worlds.rows, worlds.names, worlds.canon, worlds.score(world), start)


def find_lines(found: Findings) -> Nearby:
    """The same problem for lines and normal noise, whatever world the answer is of."""
    assert found.table is not None
    equal = found.verdict.orientation is Orientation.EQUAL_VARIANCES
    noise = "equal" if equal else "unequal"
    moments = rows_used(found.table, found.verdict).moments
    return Nearby.of(moments, found.graph.order, _price(found), noise=noise)  # type: ignore[arg-type]


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
    if find_world(found) is None or found.verdict.threshold > 0 or table is None or table.moments.n < 3:
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

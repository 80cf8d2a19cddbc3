"""What prior knowledge costs: how much lower the best score is without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acyclic.data.mask import Mask
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.refine import Nearby
from acyclic.facts import Fact, Orientation, Standing
from acyclic.findings import Findings
from acyclic.findings.origin import rows_used

__all__ = ["find_problem", "is_linear_search", "price_knowledge"]

# Seconds for both searches; up to 20 columns these are exact, and take less.
SECONDS = 3.0
_METHODS = {"auto", "order-search", "equal-variance"}


def is_linear_search(found: Findings) -> bool:
    """Whether a result comes from the search for lines and normal noise, which is all that correlations tell."""
    plain = {"mechanisms": "linear", "noise": "gaussian"}
    settings = found.verdict.settings
    return found.verdict.method in _METHODS and all(settings.get(name, value) == value for name, value in plain.items())


def find_problem(found: Findings) -> Nearby:
    """The problem that a linear search solved, around its answer, without knowledge; needs the table."""
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
    if not is_linear_search(found) or found.verdict.threshold > 0 or table is None or table.moments.n < 3:
        return Fact.of(Standing.KNOWLEDGE_UNPRICED)
    problem, deadline = find_problem(found), Deadline(seconds)
    moments = rows_used(table, found.verdict).moments
    try:
        held, free = (problem.learn(moments, one, deadline=deadline).score for one in (mask, None))
    except Stopped:
        return Fact.of(Standing.KNOWLEDGE_UNPRICED)
    # Beyond 20 columns the search without knowledge may be the unluckier one.
    return Fact.of(Standing.KNOWLEDGE_PRICED, price=max(held - free, 0.0))


def _price(found: Findings) -> Any:
    """What the method found to be the price, or else the penalty that it was given, if it takes one."""
    settings: Mapping[str, Any] = found.provenance.get("settings", {})
    return found.verdict.details.get("price of a parent", settings.get("penalty", "ebic"))

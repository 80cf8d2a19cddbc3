"""What the page needs to answer what drives a column: the graphs of the draws, and bounds over the class."""

from __future__ import annotations

from typing import Any

import numpy as np

from acyclic.facts import Fact, Remark
from acyclic.findings import Findings
from acyclic.judging import words
from acyclic.judging.words.effects import MOST
from acyclic.trust.bootstrap import LEVEL
from acyclic.trust.explaining import FEWEST_DRAWS, bound_effects, is_linear, remark_draws

__all__ = ["pack_questions"]

# Pairs of columns whose bounds are embedded; beyond, the page leaves the bounds out and says so.
MOST_BOUNDS = 10_000


def pack_questions(result: Findings, target: str | None) -> dict[str, Any]:
    """Numbers and templates from which the page answers as `acyclic.trust.explaining.explain` does, a target first."""
    drawn = (result.confidence or {}).get("drawn")
    count = len(drawn["counts"]) if isinstance(drawn, dict) else 0
    least, most = bound_effects(result)
    pairs = np.argwhere(least < most)
    return {
        "say": dict(words.EFFECTS),
        "most": MOST,
        "level": LEVEL,
        "target": target,
        "draws": drawn if count >= FEWEST_DRAWS else None,
        "deviations": list(result.deviations) if all(scale > 0 for scale in result.deviations) else [],
        "bounds": [[i, j, float(least[i, j]), float(most[i, j])] for i, j in pairs.tolist()[:MOST_BOUNDS]],
        "notes": [words.say(remark) for remark in _remark(result, count)],
    }


def _remark(result: Findings, draws: int) -> list[Fact[Remark]]:
    said = remark_draws(draws)
    return said if is_linear(result) else [*said, Fact.of(Remark.AVERAGE_SLOPES)]

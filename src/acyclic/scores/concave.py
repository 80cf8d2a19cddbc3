"""The minimax concave penalty (Zhang 2010), as a part of the score beside the L1 term of a problem.

For one weight it is l1·|w| − w²/2γ up to γ·l1 and γ·l1²/2 beyond. That is l1·|w| less a function r(w) with a continuous
derivative, so that every minimiser of a score with an L1 term minimises it exactly: r goes into the score.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from acyclic.data.mask import Mask
from acyclic.scores.continuous import Score
from acyclic.types import Floats


class WithMcp(Score):
    """A score less r(w) = w²/2γ up to γ·l1 and l1·|w| − γ·l1²/2 beyond, summed over the weights.

    ``l1`` is one number or (d, d); where it is 0, as for edges that are required, r is too.
    """

    def __init__(self, score: Score, l1: float | Floats, gamma: float) -> None:
        self.inside, self.l1, self.gamma = score, l1, gamma
        self.n_nodes, self.scale = score.n_nodes, score.scale

    def value_and_gradient(self, W: Floats) -> tuple[float, Floats]:
        """See Score."""
        value, gradient = self.inside.value_and_gradient(W)
        size = np.abs(W)
        # r' in absolute value; r is the area under it.
        slope = np.minimum(size / self.gamma, self.l1)
        return value - float(np.sum(slope * (size - 0.5 * self.gamma * slope))), gradient - np.copysign(slope, W)

    def curvature(self, W: Floats) -> tuple[Floats, Floats]:
        """See Score: that of the score alone, as r only bends the other way."""
        return self.inside.curvature(W)

    def size(self, value: float) -> float:
        """See Score."""
        return self.inside.size(value)

    def rounded(self, dtype: type[np.floating[Any]]) -> Score:
        """See Score."""
        return WithMcp(self.inside.rounded(dtype), self.l1, self.gamma)


def with_mcp(score: Score, l1: float, gamma: float | None, mask: Mask) -> Score:
    """The score with which an L1 term is a minimax concave penalty; the score itself without a γ."""
    if gamma is None:
        return score
    return WithMcp(score, l1 if mask.is_free else np.where(mask.required, 0.0, l1), gamma)

"""Constraints whose coefficients follow the spectral radius, so that they neither explode nor vanish along a path.

h_s(B) = Σ s⁻ⁱ tr Bⁱ is bounded where s exceeds the spectral radius ρ(B), and a cycle of any length still counts where s
is not far above it. Before each minimisation the outer loops set s to (1 + margin)·ρ at the point where it starts;
within one, s is a constant, so that a line search sees one function.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TypeVar

import numpy as np

from acyclic.constraints.base import Matrix
from acyclic.constraints.perron import perron
from acyclic.errors import InputError

Own = TypeVar("Own", bound="Following")


def check_s(s: float) -> None:
    """Refuse a scale that is not positive and finite."""
    if not 0 < s < inf:
        raise InputError(f"s has to be positive; got {s}")


class Following:
    """Sets s to (1 + ``margin``)·ρ(B), at least to ``least``, for a minimisation that starts at B.

    Where B is zero, as at the usual start, nothing is known of the radius to come, and s stays as it was given. So it
    does with a ``margin`` of None.
    Without a floor s falls with ρ to zero, and the barrier at ρ = s closes in before edges have found their direction.
    """

    s: float
    margin: float | None
    least: float

    def for_point(self: Own, B: Matrix) -> Own:
        """See Constraint."""
        if self.margin is None or not 0 < B.max() < inf:
            return self
        radius = perron(B.astype(np.float64))[0]
        return replace(self, s=max((1 + self.margin) * radius, self.least))  # type: ignore[type-var]

    def _check_following(self) -> None:
        check_s(self.s)
        if not (self.margin is None or 0 < self.margin < inf) or not 0 < self.least < inf:
            raise InputError(f"margin and least have to be positive; got {self.margin} and {self.least}")

"""Constraints whose coefficients follow the spectral radius, so that they neither explode nor vanish along a path.

h_s(B) = Σ s⁻ⁱ tr Bⁱ is bounded where s exceeds the spectral radius ρ(B), and a cycle of any length still counts where s
is not far above it. Before each minimisation the outer loops set s to (1 + margin)·ρ at the point where it starts;
within one, s is a constant, so that a line search sees one function.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TypeVar

import numpy as np

from acyclic.constraints.base import Evaluation, Matrix
from acyclic.constraints.geometric import FastTmpi
from acyclic.constraints.perron import perron
from acyclic.constraints.resolvents import InverseTrace, check_s
from acyclic.errors import InputError

Own = TypeVar("Own", bound="Following")


class Following:
    """Sets s to (1 + ``margin``)·ρ(B), at least to ``least``, for a minimisation that starts at B.

    Where B is zero, as at the usual start, nothing is known of the radius to come, and s stays as it was given.
    Without a floor s falls with ρ to zero, and the barrier at ρ = s closes in before edges have found their direction.
    """

    s: float
    margin: float
    least: float

    def for_point(self: Own, B: Matrix) -> Own:
        """See Constraint."""
        if not 0 < B.max() < inf:
            return self
        radius = perron(B.astype(np.float64))[0]
        return replace(self, s=max((1 + self.margin) * radius, self.least))  # type: ignore[type-var]

    def _check_following(self) -> None:
        check_s(self.s)
        if not (0 < self.margin < inf and 0 < self.least < inf):
            raise InputError(f"margin and least have to be positive; got {self.margin} and {self.least}")


@dataclass(frozen=True)
class Adaptive(Following, InverseTrace):
    """tr (I − B/s)⁻¹ − d = Σ s⁻ⁱ tr Bⁱ, where s follows the spectral radius: see `Following`.

    By itself it is the inverse trace with ``s``, and a learner tells the value of that one at the end. `Notears`,
    `Golem`, `NoCurl` and `NotearsMlp` move s; DAG-GNN and GraN-DAG, which have no inner minimisation, do not.

    Examples
    --------
    >>> import numpy as np
    >>> B = 0.04 * np.roll(np.eye(20), 1, axis=1)  # a cycle of 20 edges of weight 0.2
    >>> made = Adaptive(least=0.01)
    >>> f"{made.value_and_gradient(B)[0]:.0e}, {made.for_point(B).value_and_gradient(B)[0]:.0e}"
    '2e-27, 6e-03'
    """

    name = "adaptive"
    margin: float = 0.5
    least: float = 0.1

    def __post_init__(self) -> None:
        self._check_following()


@dataclass(frozen=True)
class AdaptiveTmpi(Following, FastTmpi):
    """Fast TMPI on B/s: Σ_{i ≤ k} s⁻ⁱ tr Bⁱ, cut at max (B/s)ⁱ ≤ eps, where s follows the spectral radius.

    See `Following`; by itself it is fast TMPI on B/``s``.
    """

    name = "adaptive-tmpi"
    s: float = 1.0
    margin: float = 0.5
    least: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_following()

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return 1 / self.s

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        if self.s == 1:
            return super().evaluate_block(B, size)
        scale = B.dtype.type(1 / self.s)
        found = super().evaluate_block(B * scale, size)
        np.multiply(found.gradient, scale, out=found.gradient)
        return found

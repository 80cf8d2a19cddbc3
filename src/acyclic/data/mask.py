"""Mask: what is known of the edges, as arrays over the columns that solvers read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from acyclic.errors import InputError, show_name
from acyclic.graphs.checks import check_names
from acyclic.graphs.reachability import close_transitively
from acyclic.types import Bools, Floats, Integers


@dataclass(frozen=True, eq=False)
class Mask:
    """Knowledge as read-only arrays over the d columns `names`; entry (i, j) is the edge i → j.

    Attributes
    ----------
    allowed : bool array (d, d)
        False on the diagonal, for forbidden edges, and for edges against a path of required ones.
    lower, upper : float array (d, d)
        Interval of the weight if the edge is present; infinite where nothing is known.
    tier : int array (d,) or None
        Position of each column's tier, -1 for columns in none; None without tiers.
    """

    names: tuple[str, ...]
    allowed: Bools
    required: Bools
    lower: Floats
    upper: Floats
    tier: Integers | None = None

    def __post_init__(self) -> None:
        for name in ("allowed", "required", "lower", "upper", "tier"):
            if getattr(self, name) is not None:
                given = np.asarray(getattr(self, name))
                # One number for all edges stays one number: at large d it is memory for nothing.
                array = given if given.strides == (0, 0) else np.array(given)
                array.flags.writeable = False
                object.__setattr__(self, name, array)

    @classmethod
    def unrestricted(cls, d: int, names: Sequence[str] | None = None) -> Mask:
        """Allow every edge between d columns."""
        limits = (np.broadcast_to(limit, (d, d)) for limit in (-np.inf, np.inf))
        return cls(check_names(names, d), ~np.eye(d, dtype=bool), np.zeros((d, d), dtype=bool), *limits)

    @cached_property
    def is_free(self) -> bool:
        """Whether nothing is restricted but self-loops: solvers then do as if there were no mask."""
        restricted = ~self.allowed | self.required | np.isfinite(self.lower) | np.isfinite(self.upper)
        return not restricted[~np.eye(len(self.names), dtype=bool)].any()

    @cached_property
    def has_bounds(self) -> bool:
        """Whether a weight has a bound: an edge that is only forbidden or required has none."""
        free = self.allowed & ~self.required
        bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        return bool((bounded & free).any() or (bounded & self.required).any())

    def permuted(self, order: Integers) -> Mask:
        """The same knowledge with the columns in another order."""
        pairs = np.ix_(order, order)
        return Mask(
            tuple(self.names[i] for i in order),
            self.allowed[pairs],
            self.required[pairs],
            self.lower[pairs],
            self.upper[pairs],
            None if self.tier is None else self.tier[order],
        )

    @property
    def box(self) -> tuple[Floats, Floats]:
        """Lower and upper limits, each (d, d), for a solver that moves every weight continuously.

        [0, 0] where an edge is not allowed, the interval of the weight where it is required, and elsewhere the
        interval widened to hold 0, since an absent edge has weight 0.
        """
        lower = np.where(self.required, self.lower, np.minimum(self.lower, 0.0))
        upper = np.where(self.required, self.upper, np.maximum(self.upper, 0.0))
        return np.where(self.allowed, lower, 0.0), np.where(self.allowed, upper, 0.0)

    @property
    def precedence(self) -> Bools | None:
        """`must_precede`, or None where it is empty since nothing is restricted: then it is not even computed."""
        return None if self.is_free else self.must_precede

    @cached_property
    def must_precede(self) -> Bools:
        """Strict partial order (d, d) that an order of the columns may be held to without loss.

        Entry (i, j) is True if a path of required edges leads from i to j, or if allowed edges lead from i to j
        and none back. Every acyclic graph that obeys the knowledge has a topological order that agrees with it:
        pairs of the second kind are on no cycle of allowed edges, and pairs of the first are paths of the graph.
        Tiers, roots and sinks come in their order, except where columns in no tier offer a way back.
        """
        reach = close_transitively(self.allowed)
        order = (reach & ~reach.T) | close_transitively(self.required)
        order.flags.writeable = False
        return order

    def fill_required(self, weights: Floats) -> Floats:
        """Weights with the smallest possible one for each required edge that has none."""
        smallest = np.finfo(np.float64).eps
        above, below = np.clip(smallest, self.lower, self.upper), np.clip(-smallest, self.lower, self.upper)
        return np.where(self.required & (weights == 0), np.where(above == 0, below, above), weights)

    def check(self, weights: ArrayLike) -> list[str]:
        """Name every violation by a matrix of weights, or by a boolean adjacency, whose weights are unknown."""
        matrix, d = np.asarray(weights), len(self.names)
        if matrix.shape != (d, d) or matrix.dtype.kind not in "biuf" or not np.isfinite(matrix).all():
            raise InputError(f"{matrix.dtype} of shape {matrix.shape} given; ({d}, {d}) finite numbers needed")
        present = matrix != 0
        outside = present & ((matrix < self.lower) | (matrix > self.upper)) & (matrix.dtype != bool)
        found = []
        for i, j in np.argwhere((present & ~self.allowed) | (self.required & ~present) | outside):
            edge = arrow((self.names[i], self.names[j]))
            if outside[i, j]:
                interval = f"[{self.lower[i, j]:g}, {self.upper[i, j]:g}]"
                found.append(f"{edge} has the weight {matrix[i, j]:.6g} outside {interval}")
            if not (present & self.allowed)[i, j]:
                found.append(f"{edge} is {'present but not allowed' if present[i, j] else 'required but absent'}")
        return found

    def __reduce__(self) -> tuple[type[Mask], tuple[object, ...]]:
        return Mask, tuple(getattr(self, entry.name) for entry in fields(self))


def arrow(edge: tuple[str, str]) -> str:
    """An edge in words."""
    return f"{show_name(edge[0])} → {show_name(edge[1])}"

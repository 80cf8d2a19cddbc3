"""What layout, pictures and equivalence classes read of a `Dag`, which imports them."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from acyclic.types import Floats, Integers


@runtime_checkable
class AcyclicGraph(Protocol):
    """Names, weights and a topological order of d nodes; entry (i, j) of the weights is the edge i → j."""

    @property
    def names(self) -> tuple[str, ...]:
        """One name per node."""

    @property
    def weights(self) -> Floats:
        """Weights, shape (d, d); acyclic."""

    @property
    def order(self) -> Integers:
        """Node indices, parents before children, shape (d,)."""

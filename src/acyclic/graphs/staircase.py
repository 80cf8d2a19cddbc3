"""Matrices that strong components make block-triangular, and products and inverses that skip the blocks of zeros.

Weights near a DAG have small strong components. With the nodes in the order of these a matrix of edges has nothing
below a staircase of blocks, nor have its powers and the inverse of I less it: a product then costs up to a sixth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.lapack import dgetrf, dgetri

from acyclic._native import strong_components
from acyclic.types import Floats

WIDTH = 96
"""Nodes that small components are put together to: fewer make products of blocks slow, more leave out fewer zeros."""

WORTH = 0.6
"""Of the operations of whole products those of the blocks may be so many; with more, blocks gain nothing."""


@dataclass(frozen=True, eq=False)
class Staircase:
    """The nodes in an order in which all edges lead inside of a block or to a later one, and where the blocks end."""

    order: NDArray[np.intp]
    ends: tuple[int, ...]

    @classmethod
    def find(cls, edges: Floats) -> Staircase | None:
        """That of a matrix, or None where its components are too large for it to be of use.

        Examples
        --------
        >>> Staircase.find(np.ones((300, 300))) is None, Staircase.find(np.triu(np.ones((300, 300)), 1)).ends
        (True, (96, 192, 300))
        """
        d = len(edges)
        _, largest, labels = strong_components(np.ascontiguousarray(edges != 0).view(np.uint8))
        if largest**3 > WORTH * d**3:
            return None
        # An edge between components leads to a smaller label.
        order = np.argsort(-labels, kind="stable")
        borders = np.append(np.flatnonzero(np.diff(labels[order])) + 1, d)
        ends, begun = [], 0
        for at, border in enumerate(borders.tolist()):
            following = borders[at + 1] - border if at + 1 < len(borders) else 0
            # A block ends when it is wide enough, and before a component that is a block by itself.
            if border - begun >= WIDTH or following >= WIDTH or border == d:
                ends.append(border)
                begun = border
        if (
            len(ends) > 1
            and ends[-1] - ends[-2] < WIDTH / 2
            and ends[-2] - (ends[-3] if len(ends) > 2 else 0) < 2 * WIDTH
        ):
            del ends[-2]
        found = cls(order, tuple(ends))
        return found if found.share() <= WORTH else None

    def _blocks(self) -> list[tuple[int, int]]:
        return list(zip((0, *self.ends[:-1]), self.ends, strict=True))

    def share(self) -> float:
        """Operations of a product, as a share of those of a product of whole matrices."""
        blocks = self._blocks()
        total = sum(
            (a_end - a) * (b_end - b) * (b_end - a) for at, (a, a_end) in enumerate(blocks) for b, b_end in blocks[at:]
        )
        return float(total / self.ends[-1] ** 3)

    def arrange(self, matrix: Floats) -> Floats:
        """A matrix with its nodes in this order."""
        return np.ascontiguousarray(matrix[np.ix_(self.order, self.order)])

    def restore(self, matrix: Floats) -> Floats:
        """A matrix in this order with its nodes in their own."""
        result = np.empty_like(matrix)
        result[np.ix_(self.order, self.order)] = matrix
        return result

    def multiply(self, left: Any, right: Any, out: Any) -> Any:
        """The product of two matrices in this order, both without entries below the staircase."""
        blocks = self._blocks()
        for at, (a, a_end) in enumerate(blocks):
            out[a:a_end, :a] = 0
            for b, b_end in blocks[at:]:
                np.matmul(left[a:a_end, a:b_end], right[a:b_end, b:b_end], out=out[a:a_end, b:b_end])
        return out

    def invert(self, weights: Floats) -> tuple[float, Floats] | None:
        """log|det(I − W)| and (I − W)⁻¹, for W in its own order; None where I − W is singular."""
        W = self.arrange(weights)
        rows: Any = sparse.csr_array(W)
        inverse, logarithm = np.zeros_like(W), 0.0
        for a, end in reversed(self._blocks()):
            own = np.asfortranarray(-W[a:end, a:end])
            own.flat[:: end - a + 1] += 1
            factor, pivots, singular = dgetrf(own, overwrite_a=1)
            if singular:
                return None
            logarithm += float(np.log(np.abs(factor.diagonal())).sum())
            # What the later blocks give: the rows of this one are still zero.
            given = rows[a:end] @ inverse
            given[:, a:end].flat[:: end - a + 1] = 1
            inverse[a:end] = dgetri(factor, pivots, overwrite_lu=1)[0] @ given
        return logarithm, self.restore(inverse)

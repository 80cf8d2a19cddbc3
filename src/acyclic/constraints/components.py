"""Constraints on strongly connected components only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from acyclic._native import strong_components
from acyclic.constraints.base import Constraint, Evaluation, Matrix
from acyclic.errors import InputError
from acyclic.graphs.reachability import find_reached


@dataclass(frozen=True)
class OnComponents(Constraint):
    """Any constraint, evaluated on the strongly connected components of B only, where all of its value comes from.

    The value is that of the plain form, and so is the gradient wherever B is non-zero or inside a component; between
    components it is zero here (there B is zero, hence ∂h/∂W too). Truncated constraints choose their order for each
    component. For the single term the block is all that lies on a walk through a cycle. Below ``SMALLEST`` nodes, or
    where one component holds most of the work, the plain form is cheaper and is used.
    """

    name = "on-components"
    _parts = ("constraint",)
    SMALLEST: ClassVar[int] = 128
    constraint: Constraint = field(kw_only=True)

    def __post_init__(self) -> None:
        if self.constraint.support == "all":
            raise InputError("this constraint depends on edges outside of the components; leave components=True away")

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        inner = self.constraint
        if len(B) < self.SMALLEST:
            return inner.evaluate_block(B, size)
        support = np.ascontiguousarray(B > 0).view(np.uint8)
        _, largest, labels = strong_components(support)
        if 2 * largest**3 > len(B) ** 3:
            return inner.evaluate_block(B, size)
        cyclic = (np.bincount(labels)[labels] > 1) | (support.diagonal() > 0)
        if inner.support == "walks":
            edges = support.view(np.bool_)
            through = cyclic | find_reached(edges, cyclic) | find_reached(edges.T, cyclic)
            blocks = [np.flatnonzero(through)]
        elif inner.support == "cyclic nodes":
            blocks = [np.flatnonzero(cyclic)]
        else:
            blocks = [np.flatnonzero(labels == label) for label in np.unique(labels[cyclic])]
        return self._assemble(B, size, [block for block in blocks if len(block)])

    def _assemble(self, B: Matrix, size: int, blocks: list[NDArray[np.intp]]) -> Evaluation:
        gradient = np.zeros_like(B)
        gradient.flat[:: len(B) + 1] = self.constraint.linear_coefficient(size)
        value, order, in_domain = 0.0, None, True
        for block in blocks:
            cross = np.ix_(block, block)
            part = self.constraint.evaluate_block(np.ascontiguousarray(B[cross]), size)
            gradient[cross] = part.gradient
            value += part.value
            order = part.order if order is None else max(order, part.order or 0)
            in_domain &= part.in_domain
        return Evaluation(value, gradient, order, in_domain)

"""Caps on evaluations, of a constraint or of tests: ends of fits that are the same on every machine, however busy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from acyclic.constraints.base import Constraint, Evaluation, Matrix, Support
from acyclic.data.moments import Moments
from acyclic.deadline import Stopped
from acyclic.discrete.skeleton import Mmpc
from acyclic.facts import Ended, Fact
from acyclic.types import Floats

__all__ = ["Capped", "CappedMmpc", "Count"]


@dataclass
class Count:
    """How many evaluations were made, and how many may be."""

    most: int | None = None
    used: int = 0

    def add(self) -> None:
        """Count one more; the first beyond the last one allowed ends the fit.

        It does so once: what a learner asks for afterwards, to say where it ended, is answered.
        """
        self.used += 1
        if self.most is not None and self.used == self.most + 1:
            raise Stopped(Fact.of(Ended.EVALUATIONS_SPENT, evaluations=self.most))


@dataclass(frozen=True)
class Capped(Constraint):
    """Another constraint, whose evaluations are counted.

    Examples
    --------
    >>> from acyclic.constraints.catalogue import constraint
    >>> from acyclic.learners import Notears
    >>> capped = Capped(inside=constraint("fast-tmpi"), count=Count(most=3))
    >>> model = Notears(constraint=capped).fit([[0.1, 1.2], [1.0, 2.0], [0.3, 0.1], [2.0, 3.1]])
    >>> model.verdict_.end.kind.value, capped.count.used
    ('evaluations-spent', 5)
    """

    inside: Constraint = field(kw_only=True)
    count: Count = field(kw_only=True)

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the constraint inside."""
        return self.inside.name

    @property
    def support(self) -> Support:  # type: ignore[override]
        """That of the constraint inside."""
        return self.inside.support

    def for_point(self, B: Matrix) -> Constraint:
        """See Constraint; the count goes on."""
        moved = self.inside.for_point(B)
        return self if moved is self.inside else replace(self, inside=moved)

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return self.inside.linear_coefficient(size)

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        self.count.add()
        return self.inside.evaluate_block(B, size)


class CappedMmpc(Mmpc):
    """Max-min parents and children, whose tests of one column with all others, given a set, are counted."""

    def __init__(self, moments: Moments, count: Count, **settings: Any) -> None:
        super().__init__(moments, **settings)
        self.count = count

    def _association(self, target: int, given: tuple[int, ...]) -> Floats:
        self.count.add()
        return super()._association(target, given)

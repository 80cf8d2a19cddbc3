"""Caps on evaluations, of a constraint or of tests: ends of fits that are the same on every machine, however busy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from acyclic.constraints.base import Constraint, Evaluation, Matrix, Support
from acyclic.data.moments import Moments
from acyclic.deadline import Stopped
from acyclic.discrete.skeleton import Mmpc
from acyclic.facts import Ended, Fact
from acyclic.types import Floats

__all__ = ["Capped", "CappedMmpc", "Count", "Trail"]


@dataclass
class Count:
    """How many evaluations were made, and how many may be."""

    most: int | None = None
    used: int = 0

    def add(self, B: Matrix | None = None) -> None:
        """Count one more, of the matrix B; the first beyond the last one allowed ends the fit.

        It does so once: what a learner asks for afterwards, to say where it ended, is answered.
        """
        self.used += 1
        if self.most is not None and self.used == self.most + 1:
            raise Stopped(Fact.of(Ended.EVALUATIONS_SPENT, evaluations=self.most))


@dataclass
class Trail(Count):
    """A count that keeps some of the matrices: evenly spaced ones from the first to the last, however many there are.

    Those that are zero, as at the usual start, are not on the way yet.

    Examples
    --------
    >>> import numpy as np
    >>> trail = Trail(room=4)
    >>> for k in range(10):
    ...     trail.add(np.array([[float(k)]]))
    >>> [float(B[0, 0]) for B in trail.kept]
    [1.0, 5.0, 9.0]
    """

    room: int = 64
    kept: list[Matrix] = field(default_factory=list)
    _seen: int = 0
    _every: int = 1

    def add(self, B: Matrix | None = None) -> None:
        """See Count."""
        super().add(B)
        if B is None or not B.any():
            return
        if self._seen % self._every == 0:
            self.kept.append(B.copy())
        self._seen += 1
        if len(self.kept) > self.room:
            self.kept, self._every = self.kept[::2], 2 * self._every


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

    _parts = ("inside",)
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

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return self.inside.linear_coefficient(size)

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        self.count.add(B)
        return self.inside.evaluate_block(B, size)


class CappedMmpc(Mmpc):
    """Max-min parents and children, whose tests of one column with all others, given a set, are counted."""

    def __init__(self, moments: Moments, count: Count, **settings: Any) -> None:
        super().__init__(moments, **settings)
        self.count = count

    def _association(self, target: int, given: tuple[int, ...]) -> Floats:
        self.count.add()
        return super()._association(target, given)

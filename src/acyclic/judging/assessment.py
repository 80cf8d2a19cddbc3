"""What everything that is known of a result amounts to: one grade, what was weighed for it, what to do next."""

from __future__ import annotations

from dataclasses import dataclass

from acyclic.facts import Fact, Grade, Ground, Step

Pair = tuple[str, str]


@dataclass(frozen=True)
class Assessment:
    """The verdict in facts; `acyclic.judging.words.say_assessment` makes three paragraphs of it.

    Attributes
    ----------
    grade : Grade
        How far what is claimed can be believed; the rule is in `acyclic.judging.weighing`.
    grounds : tuple of Fact of Ground
        What was weighed, the gravest first.
    steps : tuple of Fact of Step
        What to do next, the most useful first.
    links, decided : int
        Edges, and those of them whose direction is decided.
    strongest : tuple of (source, target, decided)
        The links of the largest standardised weights.
    apart : tuple of str
        Columns without a link.
    rows : float or None
        How many rows the table had.
    """

    grade: Grade
    grounds: tuple[Fact[Ground], ...]
    steps: tuple[Fact[Step], ...]
    links: int
    decided: int
    strongest: tuple[tuple[str, str, bool], ...] = ()
    apart: tuple[str, ...] = ()
    rows: float | None = None

    @property
    def open(self) -> int:
        """Edges whose direction is not decided."""
        return self.links - self.decided

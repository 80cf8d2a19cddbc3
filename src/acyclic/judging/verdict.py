"""The verdict that comes with every graph: how the fit ended, what was removed, what orients the edges. Facts only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

from acyclic.facts import Caution, Empty, Ended, Fact, Note, Orientation, Removal, Standing, in_words
from acyclic.judging import words
from acyclic.judging.assessment import Assessment
from acyclic.judging.assessment import Pair as Pair


class Margin(NamedTuple):
    """How much higher the lowest score that was met is with an edge turned, and without it.

    In units of the BIC: −2 log-likelihood and price. None where it was not looked for, inf where nothing was met.
    """

    turned: float | None = None
    left_out: float | None = None

    @property
    def least(self) -> float | None:
        """The smaller of the two, as far as they are known."""
        return min((margin for margin in self if margin is not None), default=None)


@dataclass(frozen=True)
class Verdict:
    """How far a learned graph can be believed; ``str(verdict)`` says it in prose.

    Attributes
    ----------
    method : str
        The name of the learner, as `acyclic.learn` takes it.
    settings : mapping
        The settings that make the method what it is.
    end : Fact of Ended
        How the solver ended; ``verdict.converged`` sums it up.
    orientation : Orientation
        What orients the edges.
    n_nodes, n_edges : int
        Of the graph that is returned, which is acyclic: checked combinatorially, since nothing else is returned.
    h : float
        Exact geometric constraint Σ_{i ≤ d} tr (W∘W)ⁱ of the weights before any cut; nan where there is no such matrix,
        and where a run of hundreds of columns was stopped.
    threshold : float
        Absolute cut that was applied to the weights.
    n_cut : int
        Edges below the threshold.
    removed : tuple of Fact of Removal
        Edges removed beyond the threshold, with their weights, because they lay on cycles, broke prior knowledge or
        failed a test.
    empty : Fact of Empty or None
        Why the graph has no edge; None where it has one.
    notes : tuple of Fact of Note
        What was found in the columns: constant, duplicated, collinear.
    cautions : tuple of Fact of Caution
        What a reader should know before using the graph.
    support : mapping of (source, target) to Orientation
        What orients each edge: prior knowledge that fixes it, independence where the class compels it, else what the
        method rests on, or nothing; where another class that is a near-tie turns it, it says so.
    standing : tuple of Fact of Standing
        How the answer stands against other graphs: whether it is proved best, or how many chains of the search ended in
        its class, and how far the next class is behind. Empty where the method compares none.
    margins : mapping of (source, target) to Margin
        How far each edge is ahead of its being turned or left out, where that is known.
    details : mapping
        Numbers behind the verdict.
    assessment : Assessment or None
        What all of this amounts to, with bootstrap and audit where there were such: a grade, the grounds for it, what
        to do next. The verdict of a `Result` has it, and ``str()`` begins with it; that of a fitted learner has none.

    Examples
    --------
    >>> import acyclic
    >>> verdict = acyclic.learn(acyclic.simulate(n_nodes=4, n=500, graph="ER1", random_state=1).X).verdict
    >>> verdict.converged, verdict.end.kind.value, verdict.orientation.value
    (True, 'complete', 'equal-variances')
    """

    method: str
    settings: Mapping[str, Any]
    end: Fact[Ended]
    orientation: Orientation
    n_nodes: int
    n_edges: int
    h: float = math.nan
    threshold: float = 0.0
    n_cut: int = 0
    removed: tuple[Fact[Removal], ...] = ()
    empty: Fact[Empty] | None = None
    notes: tuple[Fact[Note], ...] = ()
    cautions: tuple[Fact[Caution], ...] = ()
    support: Mapping[Pair, Orientation] = field(default_factory=dict)
    standing: tuple[Fact[Standing], ...] = ()
    margins: Mapping[Pair, Margin] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    assessment: Assessment | None = field(default=None, compare=False)

    @property
    def converged(self) -> bool:
        """Whether the solver came to its own, good end."""
        return self.end.kind.converged

    def __str__(self) -> str:
        facts = "\n".join(line.text for line in words.say_verdict(self))
        return "\n\n".join([*self.paragraphs(), facts])

    def paragraphs(self) -> list[str]:
        """What was found, how far it can be believed, what to do next; empty without an assessment."""
        return [] if self.assessment is None else words.say_assessment(self.assessment, self)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in str(self).splitlines() if line)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a result file holds them; ``support`` and ``margins`` are kept with the edges there."""
        return {
            "method": self.method,
            "settings": dict(self.settings),
            "end": self.end.to_dict(),
            "orientation": self.orientation.value,
            "n_nodes": self.n_nodes,
            "n_edges": self.n_edges,
            "h": self.h,
            "threshold": self.threshold,
            "n_cut": self.n_cut,
            "removed": [fact.to_dict() for fact in self.removed],
            "empty": self.empty and self.empty.to_dict(),
            "notes": [fact.to_dict() for fact in self.notes],
            "cautions": [fact.to_dict() for fact in self.cautions],
            "standing": [fact.to_dict() for fact in self.standing],
            "details": dict(self.details),
        }

    @classmethod
    def from_dict(
        cls,
        plain: Mapping[str, Any],
        support: Mapping[Pair, Orientation] | None = None,
        margins: Mapping[Pair, Margin] | None = None,
    ) -> Verdict:
        """The inverse of `to_dict`."""
        return cls(
            method=str(plain["method"]),
            settings=dict(plain["settings"]),
            end=Fact.from_dict(Ended, plain["end"]),
            orientation=Orientation(plain["orientation"]),
            n_nodes=int(plain["n_nodes"]),
            n_edges=int(plain["n_edges"]),
            h=_float(plain["h"]),
            threshold=float(plain["threshold"]),
            n_cut=int(plain["n_cut"]),
            removed=tuple(Fact.from_dict(Removal, fact) for fact in plain["removed"]),
            empty=None if plain["empty"] is None else Fact.from_dict(Empty, plain["empty"]),
            notes=tuple(Fact.from_dict(Note, fact) for fact in plain["notes"]),
            cautions=tuple(Fact.from_dict(Caution, fact) for fact in plain["cautions"]),
            support=dict(support or {}),
            # Not in files that were written before searches told it.
            standing=tuple(Fact.from_dict(Standing, fact) for fact in plain.get("standing", ())),
            margins=dict(margins or {}),
            details=dict(plain["details"]),
        )

    @classmethod
    def from_format_1(cls, plain: Mapping[str, Any], support: Mapping[Pair, Orientation]) -> Verdict:
        """The verdict of a file of format 1, whose sentences become facts of the kind UNKNOWN that carry them."""
        end = in_words(Ended, str(plain["reason"]))
        removed = (
            Fact.of(Removal.UNKNOWN, str(source), str(target), weight=float(weight), rule=str(plain["rule"]))
            for source, target, weight in plain["removed"]
        )
        return cls(
            method=str(plain["method"]),
            settings={},
            end=Fact.of(Ended.COMPLETE, text=end["text"]) if plain["converged"] else end,
            orientation=_orientation_of_format_1(support),
            n_nodes=int(plain["n_nodes"]),
            n_edges=int(plain["n_edges"]),
            h=_float(plain["h"]),
            threshold=float(plain["threshold"]),
            n_cut=int(plain["n_cut"]),
            removed=tuple(removed),
            empty=in_words(Empty, str(plain["empty"])) if plain["empty"] else None,
            notes=tuple(in_words(Note, str(text)) for text in plain["notes"]),
            cautions=tuple(in_words(Caution, str(text)) for text in plain["warnings"]),
            support=dict(support),
            details=dict(plain["details"]),
        )


def _orientation_of_format_1(support: Mapping[Pair, Orientation]) -> Orientation:
    """Format 1 held what orients each edge as a word, and what orients all of them as a sentence."""
    for orientation in (Orientation.EQUAL_VARIANCES, Orientation.UNDETERMINED):
        if orientation in support.values():
            return orientation
    return Orientation.INDEPENDENCE if support else Orientation.NO_EDGE


def _float(value: float | None) -> float:
    return math.nan if value is None else float(value)

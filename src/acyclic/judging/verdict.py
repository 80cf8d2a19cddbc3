"""The verdict that comes with every graph: did the fit converge, what was removed, what orients the edges."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

Edge = tuple[str, str, float]


@dataclass(frozen=True)
class Verdict:
    """How far a learned graph can be believed; ``str(verdict)`` says it in prose.

    Attributes
    ----------
    method : str
        The learner and what it minimised.
    converged : bool
    reason : str
        Why the solver stopped.
    assumption : str
        What orients the edges.
    n_nodes, n_edges : int
        Of the graph that is returned.
    h : float
        Exact geometric constraint Σ_{i ≤ d} tr (W∘W)ⁱ of the weights before any cut; nan where there is no such matrix.
    threshold : float
        Absolute cut that was applied to the weights.
    n_cut : int
        Edges below the threshold.
    removed : tuple of (source, target, weight)
        Edges removed beyond the threshold because they lay on cycles, or broke prior knowledge.
    rule : str
        How those were chosen.
    empty : str
        Why the graph has no edge; an empty string where it has one.
    notes : tuple of str
        What was found in the columns: constant, duplicated, collinear.
    warnings : tuple of str
        What a reader should know before using the graph.
    acyclic : bool
        Checked combinatorially; always True, since nothing else is returned.
    """

    method: str
    converged: bool
    reason: str
    assumption: str
    n_nodes: int
    n_edges: int
    h: float = float("nan")
    threshold: float = 0.0
    n_cut: int = 0
    removed: tuple[Edge, ...] = ()
    rule: str = ""
    empty: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    acyclic: bool = True

    def __str__(self) -> str:
        end = "It converged" if self.converged else "It did NOT converge"
        lines = [
            f"{self.method} found {_count(self.n_edges, 'edge')} between {_count(self.n_nodes, 'variable')}; "
            "the graph is acyclic (checked edge by edge).",
            f"{end}: {self.reason}.",
        ]
        if self.empty:
            lines.append(f"The graph is empty because {self.empty}.")
        if self.threshold > 0:
            lines.append(
                f"{_count(self.n_cut, 'weight')} below {self.threshold:g} in absolute value {_were(self.n_cut)} cut."
            )
        if self.removed:
            shown = ", ".join(f"{source} → {target} ({weight:.3g})" for source, target, weight in self.removed[:5])
            more = f" and {len(self.removed) - 5} more" if len(self.removed) > 5 else ""
            lines.append(f"Beyond that {_count(len(self.removed), 'edge')} had to go ({self.rule}): {shown}{more}.")
        lines.append(f"Directions: {self.assumption}.")
        lines += [f"Note: {note}." for note in self.notes]
        lines += [f"Warning: {warning}." for warning in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in str(self).splitlines())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a result file holds them."""
        return {**dataclasses.asdict(self), "removed": [list(edge) for edge in self.removed]}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Verdict:
        """The inverse of `to_dict`."""
        listed = {name: tuple(plain[name]) for name in ("notes", "warnings")}
        removed = tuple((source, target, float(weight)) for source, target, weight in plain["removed"])
        return cls(**{**plain, **listed, "removed": removed})


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"

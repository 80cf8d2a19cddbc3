"""The one table of edges that terminal, page, CSV and Python show: its rows, its columns, and those that are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acyclic.facts import Orientation
from acyclic.graphs.dag import Dag
from acyclic.judging import words
from acyclic.judging.verdict import Margin, Pair, Verdict
from acyclic.judging.weighing import ENOUGH_DRAWS
from acyclic.learners.edge_effects import EdgeEffect, Form

# Columns of the table of edges that come from the bootstrap.
SHARES = ("this_way", "either_way", "lower", "upper")
# Those that the fitted mechanisms tell: the two first where an edge is no line between numbers.
EFFECTS = ("effect", "slope", "share")
# Those that a rule makes of its shares, where that reaches.
PROBABILITIES = ("probability", "direction_probability")
# Those that come from a search which compares graphs.
MARGINS = ("margin", "turned", "left_out")
# A direction is decided only if draws of the rows agree with it twice as often as not, where there are enough of them.
STEADY = 2 / 3


@dataclass(frozen=True)
class EdgeTable:
    """The edges of a graph with what is known of each.

    Attributes
    ----------
    graph : Dag
    verdict : Verdict
        It has the margins and what orients each edge.
    confidence : mapping, optional
        What a bootstrap found, as ``to_dict`` gives it.
    deviations : tuple of float
        Standard deviations of the columns; empty where they are not known.
    effects : mapping of (str, str) to EdgeEffect
    """

    graph: Dag
    verdict: Verdict
    confidence: Mapping[str, Any] | None
    deviations: tuple[float, ...]
    effects: Mapping[Pair, EdgeEffect]

    @property
    def standardised(self) -> Mapping[Pair, float]:
        """The weight of each edge between columns of variance 1; empty where deviations are not known."""
        if not self.deviations:
            return {}
        scale = dict(zip(self.graph.names, self.deviations))
        edges = self.graph.edges()
        return {(a, b): weight * scale[a] / scale[b] if scale[b] > 0 else 0.0 for a, b, weight in edges}

    def rows(self) -> list[dict[str, Any]]:
        """One row per edge, the strongest first; `Findings.edges` says what its columns are."""
        found, support = self._drawn(), self.support
        strength = self.standardised
        return [
            {
                "source": source,
                "target": target,
                "weight": weight,
                "standardised": strength.get((source, target)),
                **_effect(self.effects.get((source, target))),
                **_confidence(found, source, target, known=self.confidence is not None),
                **_likely(self.confidence or {}, found, source, target),
                **_margins(self.verdict.margins.get((source, target), Margin())),
                **self._rest(source, target, support.get((source, target), Orientation.UNDETERMINED)),
            }
            for source, target, weight in sorted(
                self.graph.edges(), key=lambda edge: -abs(strength.get(edge[:2], edge[2]))
            )
        ]

    @property
    def support(self) -> Mapping[Pair, Orientation]:
        """What orients each edge: what the verdict says, unless draws of the rows turn it nearly as often as not."""
        confidence, found, said = self.confidence or {}, self._drawn(), self.verdict.support
        if confidence.get("draws", 0) < ENOUGH_DRAWS:
            return said
        shares = {pair: _agreement(confidence, found, *pair) for pair, kind in said.items() if kind.is_claimed}
        return {pair: Orientation.UNSTEADY if shares.get(pair, 1.0) < STEADY else kind for pair, kind in said.items()}

    def _drawn(self) -> dict[Pair, Mapping[str, Any]]:
        return {(row["source"], row["target"]): row for row in (self.confidence or {}).get("edges", ())}

    def _rest(self, source: str, target: str, support: Orientation) -> dict[str, Any]:
        turned = self.verdict.margins.get((source, target), Margin()).turned
        told = {"support": support.value, "rests_on": words.say_support(support, turned)}
        return {"decided": support.is_decided, **told}

    def columns(self) -> list[str]:
        """Columns of the table of edges, as files hold them: those of bootstrap and search where there was one."""
        shares, margins, scaled = self.confidence is not None, bool(self.verdict.margins), bool(self.deviations)
        return [
            "source",
            "target",
            "weight",
            *(["standardised"] * scaled),
            *(EFFECTS[:2] * any(one.form is not Form.LINE for one in self.effects.values())),
            *(EFFECTS[2:] * bool(self.effects)),
            *(SHARES * shares),
            *(PROBABILITIES * self.is_calibrated),
            *(MARGINS * margins),
            "decided",
            "support",
            "rests_on",
        ]

    def shown(self) -> dict[str, str]:
        """Columns of the table of edges that people are shown, with their titles: probabilities rather than shares."""
        held = set(self.columns()) - (set(SHARES) if self.is_calibrated else set())
        return {name: title for name, title in words.TITLES.items() if name in held}

    @property
    def is_calibrated(self) -> bool:
        """Whether the shares of a bootstrap were turned into probabilities."""
        return self.confidence is not None and self.confidence.get("unseen") is not None


def _confidence(found: Mapping[Pair, Mapping[str, Any]], source: str, target: str, *, known: bool) -> dict[str, Any]:
    if not known:
        return dict.fromkeys(SHARES)
    own, other = found.get((source, target), {}), found.get((target, source), {})
    return {
        "this_way": float(own.get("frequency", 0.0)),
        "either_way": float((own or other).get("adjacency", 0.0)),
        "lower": own.get("lower"),
        "upper": own.get("upper"),
    }


def _agreement(
    confidence: Mapping[str, Any], found: Mapping[Pair, Mapping[str, Any]], source: str, target: str
) -> float:
    """How likely an edge points this way by the draws that have it: 1 where none has it, and none contradicts."""
    likely = _likely(confidence, found, source, target)["direction_probability"]
    if likely is not None:
        return likely
    shares = _confidence(found, source, target, known=True)
    return shares["this_way"] / shares["either_way"] if shares["either_way"] else 1.0


def _effect(found: EdgeEffect | None) -> dict[str, Any]:
    if found is None:
        return dict.fromkeys(EFFECTS)
    return {"effect": found.form.value, "slope": found.slope, "share": found.share}


def _likely(
    confidence: Mapping[str, Any], found: Mapping[Pair, Mapping[str, Any]], source: str, target: str
) -> dict[str, float | None]:
    """Probabilities of an edge; of one that no draw has, those of a pair that none joins."""
    unseen, own, other = confidence.get("unseen"), found.get((source, target)), found.get((target, source))
    if unseen is None:
        return dict.fromkeys(PROBABILITIES)
    if own is None and other is not None and other.get("direction_probability") is not None:
        own = {**other, "direction_probability": 1 - other["direction_probability"]}
    usual = dict(zip(PROBABILITIES, (unseen, 0.5)))
    return {name: float(usual[name] if own is None or own.get(name) is None else own[name]) for name in PROBABILITIES}


def _margins(margin: Margin) -> dict[str, float | None]:
    return {"margin": margin.least, **margin._asdict()}

"""Effects in sentences: what drives a column, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acyclic.errors import show_name
from acyclic.facts import Fact, Remark

__all__ = ["say_effect", "say_explanation"]

MOST = 10


def say_effect(effect: Any, deviation: float | None = None) -> str:
    """The effect of one column on another, as a sentence without full stop."""
    cause, outcome = show_name(effect.cause), show_name(effect.outcome)
    if not effect.effect:
        ways = f"{_number(effect.least)} to {_number(effect.most)}"
        return f"{cause} may act on {outcome}: its direction is open, and the effect of one unit is {ways}"
    unit, size = "one unit", _number(effect.effect)
    if effect.standardised is not None:
        unit = "one standard deviation" + (f" ({deviation:.3g})" if deviation is not None else "")
        size = f"{_number(effect.standardised)} standard deviations"
    said = f"raising {cause} by {unit} changes {outcome} by {size}{_say_interval(effect)}"
    if effect.confidence is not None:
        said += f"; {effect.confidence:.0%} of the draws have it as a cause"
    if effect.is_bounded:
        scale = 1.0 if effect.standardised is None else effect.standardised / effect.effect
        low, high = effect.least * scale, effect.most * scale
        said += f"; {_number(low)} to {_number(high)} over the graphs that fit equally well"
    return f"{said}; hold fixed {', '.join(map(show_name, effect.adjustment))}" if effect.adjustment else said


def say_explanation(explanation: Any, say: Callable[[Fact[Remark]], str]) -> str:
    """What drives a column and what follows from it, a sentence for each effect."""
    target = show_name(explanation.target)
    parts = []
    for effects, title, none in (
        (explanation.causes, f"What drives {target}:", f"Nothing in the table drives {target}."),
        (explanation.follows, f"What follows if {target} is raised:", f"Nothing in the table follows from {target}."),
    ):
        deviation = explanation.deviations.get
        lines = [f"  {say_effect(effect, deviation(effect.cause))}." for effect in effects[:MOST]]
        more = [f"  and {len(effects) - MOST} more."] if len(effects) > MOST else []
        parts.append("\n".join([title, *lines, *more]) if effects else none)
    return "\n".join([*parts, *(f"Note: {say(remark)}." for remark in explanation.remarks)])


def _say_interval(effect: Any) -> str:
    if effect.lower is None or effect.upper is None:
        return ""
    scale = 1.0 if effect.standardised is None else effect.standardised / effect.effect
    low, high = sorted((effect.lower * scale, effect.upper * scale))
    return f" (from {_number(low)} to {_number(high)})"


def _number(value: float) -> str:
    return f"{value:+.2g}".replace("-", "−") if value else "0"

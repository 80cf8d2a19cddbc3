"""Effects in sentences: what drives a column, and what follows from it. The page fills the same templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acyclic.errors import show_name
from acyclic.facts import Fact, Remark

__all__ = ["EFFECTS", "say_effect", "say_explanation"]

EFFECTS = {
    "raise": "raising {cause} by {unit} changes {outcome} by {size}",
    "maybe": "{cause} may act on {outcome}: a direction is open, and the effect of {unit} is {low} to {high}",
    "unit": "one unit",
    "deviation": "one standard deviation ({value})",
    "deviations": "{size} standard deviations",
    "interval": " (from {low} to {high})",
    "confidence": "; {share}% of the draws have it as a cause",
    "bounds": "; {low} to {high} over the graphs that fit equally well",
    "adjust": "; hold fixed {names}",
    "drives": "What drives {target}:",
    "drives-none": "Nothing in the table drives {target}.",
    "follows": "What follows if {target} is raised:",
    "follows-none": "Nothing in the table follows from {target}.",
    "more": "and {count} more.",
}
# Sentences that are said; the rest is in the table.
MOST = 10


def say_effect(effect: Any, deviation: float | None = None) -> str:
    """The effect of one column on another, as a sentence without full stop.

    Parameters
    ----------
    effect : Effect
    deviation : float, optional
        The standard deviation of the cause.
    """
    ends = {"cause": show_name(effect.cause), "outcome": show_name(effect.outcome)}
    scale, in_deviations = effect.scale or 1.0, effect.scale is not None and deviation is not None
    unit = EFFECTS["deviation"].format(value=_short(deviation, 3)) if in_deviations else EFFECTS["unit"]
    scale = scale if in_deviations else 1.0

    def between(low: float, high: float) -> dict[str, str]:
        return {"low": _number(low * scale), "high": _number(high * scale)}

    if not effect.effect:
        return EFFECTS["maybe"].format(**ends, unit=unit, **between(effect.least, effect.most))
    size = _number(effect.effect * scale)
    size = EFFECTS["deviations"].format(size=size) if in_deviations else size
    said = EFFECTS["raise"].format(**ends, unit=unit, size=size)
    if effect.lower is not None:
        said += EFFECTS["interval"].format(**between(effect.lower, effect.upper))
    if effect.confidence is not None:
        said += EFFECTS["confidence"].format(share=_percent(effect.confidence))
    if effect.is_bounded:
        said += EFFECTS["bounds"].format(**between(effect.least, effect.most))
    held = ", ".join(map(show_name, effect.adjustment))
    return said + EFFECTS["adjust"].format(names=held) if held else said


def say_explanation(explanation: Any, say: Callable[[Fact[Remark]], str]) -> str:
    """What drives a column and what follows from it, a sentence for each effect."""
    target, parts = show_name(explanation.target), []
    for effects, key in ((explanation.causes, "drives"), (explanation.follows, "follows")):
        deviation = explanation.deviations.get
        lines = [f"  {say_effect(effect, deviation(effect.cause))}." for effect in effects[:MOST]]
        more = [f"  {EFFECTS['more'].format(count=len(effects) - MOST)}"] if len(effects) > MOST else []
        title = EFFECTS[key if effects else f"{key}-none"].format(target=target)
        parts.append("\n".join([title, *lines, *more]))
    return "\n".join([*parts, *(f"Note: {say(remark)}." for remark in explanation.remarks)])


def _number(value: float) -> str:
    return f"{'+' if value > 0 else ''}{_short(value, 2)}"


def _short(value: float | None, digits: int) -> str:
    """A number of few digits, as JavaScript shows it too: without an exponent unless it is very large or small."""
    rounded = float(f"{value or 0.0:.{digits}g}")
    return f"{rounded:.15g}".replace("-", "−")


def _percent(share: float) -> int:
    return int(100 * share + 0.5)

"""Small charts as SVG text; colours come from the style sheet of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from acyclic.types import Floats

__all__ = ["line_chart", "ticks"]

WIDTH, HEIGHT, LEFT, BOTTOM, MARGIN = 460.0, 240.0, 64.0, 44.0, 14.0


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers from `low` to `high`, about `count` of them.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    span = high - low
    if not span > 0:
        return [low]
    raw = span / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [
        round(k * step, 12 - math.floor(math.log10(step))) for k in range(first, math.floor(high / step + 1e-9) + 1)
    ]


def line_chart(
    x: Sequence[float],
    y: Sequence[float],
    x_label: str,
    y_label: str,
    *,
    marked: float | None = None,
    logarithmic: bool = False,
) -> str:
    """A line through points (x, y), one x marked by a vertical line; points that are not finite are left out."""
    across = np.log10(np.asarray(x, dtype=float)) if logarithmic else np.asarray(x, dtype=float)
    down = np.asarray([np.nan if value is None else value for value in y], dtype=float)
    kept = np.isfinite(across) & np.isfinite(down)
    across, down = across[kept], down[kept]
    if not len(across):
        return ""
    to_x = _Scale(across, LEFT, WIDTH - MARGIN)
    to_y = _Scale(down, HEIGHT - BOTTOM, MARGIN)
    points = [(to_x(a), to_y(b)) for a, b in zip(across.tolist(), down.tolist())]
    parts = [*_axes(across, down, to_x, to_y, x_label, y_label, logarithmic)]
    parts.append(f'<polyline class="line" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>')
    parts += [f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="2.6"/>' for a, b in points]
    if marked is not None and (marked > 0 or not logarithmic):
        place = to_x(math.log10(marked) if logarithmic else marked)
        parts.append(f'<path class="mark" d="M{place:.1f} {MARGIN}V{HEIGHT - BOTTOM}"/>')
    title = escape(f"{y_label} against {x_label}, {len(points)} points")
    opening = f'<svg class="chart" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="{title}">'
    return f"{opening}{''.join(parts)}</svg>"


class _Scale:
    """A linear map from the range of some values to pixels."""

    def __init__(self, values: Floats, start: float, end: float) -> None:
        self.low, self.span = float(values.min()), float(np.ptp(values)) or 1.0
        self.start, self.length = start, end - start

    def __call__(self, value: float) -> float:
        return self.start + self.length * (value - self.low) / self.span


def _axes(
    across: Floats,
    down: Floats,
    to_x: _Scale,
    to_y: _Scale,
    x_label: str,
    y_label: str,
    logarithmic: bool,
) -> list[str]:
    floor = HEIGHT - BOTTOM
    parts = [f'<path class="axis" d="M{LEFT} {MARGIN}V{floor}H{WIDTH - MARGIN}"/>']
    for tick in ticks(float(across.min()), float(across.max())):
        shown = f"{10**tick:.2g}" if logarithmic else f"{tick:g}"
        parts.append(f'<text class="tick" x="{to_x(tick):.1f}" y="{floor + 16}" text-anchor="middle">{shown}</text>')
    for tick in ticks(float(down.min()), float(down.max())):
        place = to_y(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {place:.1f}H{WIDTH - MARGIN}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{place + 4:.1f}" text-anchor="end">{tick:g}</text>')
    middle_x, middle_y = (LEFT + WIDTH - MARGIN) / 2, (MARGIN + floor) / 2
    parts.append(f'<text class="name" x="{middle_x}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_label)}</text>')
    turned = f"translate(13 {middle_y}) rotate(-90)"
    parts.append(f'<text class="name" transform="{turned}" text-anchor="middle">{escape(y_label)}</text>')
    return parts

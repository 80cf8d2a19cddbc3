"""Small charts as SVG text; colours come from the style sheet of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

from acyclic.graphs.dag import Dag
from acyclic.graphs.layout import shorten_name
from acyclic.types import Floats

__all__ = ["heat_map", "line_chart", "ticks"]

WIDTH, HEIGHT, LEFT, BOTTOM, MARGIN = 460.0, 240.0, 64.0, 44.0, 14.0
# At 20 pixels for a name, 60 columns are as wide as a screen.
SHADES, LARGEST_LABELLED = 5, 60


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


def heat_map(dag: Dag) -> str:
    """The matrix of weights in topological order, one path for each sign and strength; names where they fit."""
    d = dag.n_nodes
    names = [shorten_name(dag.names[node]) for node in dag.order.tolist()]
    room = 7.0 * max(map(len, names)) + 10 if d <= LARGEST_LABELLED else 4.0
    cell = 20.0 if d <= LARGEST_LABELLED else max(600.0 / d, 0.5)
    side = room + cell * d + 2
    parts = [
        f'<svg class="matrix" id="matrix" data-room="{room:g}" data-cell="{cell:g}" role="img" '
        f'viewBox="0 0 {side:.0f} {side:.0f}" width="{side:.0f}" height="{side:.0f}" aria-label="Weights of '
        f'{dag.n_edges} edges as a matrix of {d} rows and columns; the table of edges lists them">',
        f'<g transform="translate({room:g} {room:g}) scale({cell:g})">',
        f'<path class="back" d="M0 0H{d}V{d}H0z"/>',
        *_cells(dag),
        "</g>",
    ]
    for place, name in enumerate(names if d <= LARGEST_LABELLED else []):
        middle = room + cell * (place + 0.5)
        parts.append(f'<text x="{room - 5:g}" y="{middle + 4:g}" text-anchor="end">{escape(name)}</text>')
        turned = f"translate({middle + 4:g} {room - 5:g}) rotate(-90)"
        parts.append(f'<text transform="{turned}">{escape(name)}</text>')
    return "".join([*parts, "</svg>"])


def _cells(dag: Dag) -> list[str]:
    weights = dag.weights[np.ix_(dag.order, dag.order)]
    largest = float(np.abs(weights).max()) or 1.0
    shade = np.ceil(SHADES * np.sqrt(np.abs(weights) / largest)).astype(int)
    paths = []
    for sign, name in ((1, "positive"), (-1, "negative")):
        for strength in range(1, SHADES + 1):
            found = np.argwhere((shade == strength) & (np.sign(weights) == sign)).tolist()
            squares = "".join(f"M{column} {row}h1v1h-1z" for row, column in found)
            if squares:
                paths.append(f'<path class="{name}" fill-opacity="{strength / SHADES:g}" d="{squares}"/>')
    return paths

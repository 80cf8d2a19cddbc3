"""The graph of a result as a matplotlib figure."""

from __future__ import annotations

import io
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from acyclic.errors import MissingExtraError
from acyclic.facts import Orientation
from acyclic.findings import Findings
from acyclic.graphs.drawing import NEGATIVE, POSITIVE, scale_stroke
from acyclic.graphs.layout import Layout, place_nodes, shorten_name

PIXELS_PER_INCH = 110.0


def plot(result: Findings, ax: Any = None) -> Any:
    """Draw the graph from left to right: blue positive, orange negative, dashed where only an assumption orients.

    The wider an edge, the larger its standardised weight. An edge whose direction is not decided has no arrowhead.
    Notebooks show the figure without any magic, since it can draw itself.

    Parameters
    ----------
    result : Result
    ax : matplotlib axes, optional
        Where to draw; a new figure of a fitting size by default.

    Returns
    -------
    matplotlib.figure.Figure
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("Result.plot", "matplotlib", "plot") from None
    placed, graph = place_nodes(result.graph), result.graph
    if ax is None:
        size = (max(placed.width / PIXELS_PER_INCH, 2.0), max(placed.height / PIXELS_PER_INCH, 1.5))
        ax = _extend(Figure)(figsize=size, layout="constrained").add_subplot()
    # Widths that units do not change, where deviations are known.
    strength, kinds = result.standardised, result.support
    largest = max(map(abs, strength.values()), default=0.0) or float(np.abs(graph.weights).max())
    for i, j in np.argwhere(graph.weights).tolist():
        pair = graph.names[i], graph.names[j]
        weight = strength.get(pair, float(graph.weights[i, j]))
        _draw_edge(ax, placed, (i, j), weight, largest, kinds.get(pair, Orientation.UNDETERMINED))
    box = {"boxstyle": "round,pad=0.4", "facecolor": "#f6f7f9", "edgecolor": "#7a828c"}
    for name, x, y in zip(graph.names, placed.x, placed.y):
        # A dollar sign in a name is a dollar sign, not mathematics.
        ax.text(x, y, shorten_name(name), ha="center", va="center", fontsize=9, bbox=box, zorder=3, parse_math=False)
    ax.set(xlim=(-12, placed.width + 12), ylim=(placed.height + 12, -12), aspect="equal")
    ax.set_axis_off()
    return ax.figure


@cache
def _extend(figure: Any) -> Any:
    """matplotlib's figure, which notebooks show as text unless pyplot was told otherwise, as one that draws itself."""

    class Drawing(figure):  # type: ignore[misc]
        def _repr_png_(self) -> bytes:
            picture = io.BytesIO()
            self.savefig(picture, format="png", dpi=PIXELS_PER_INCH)
            return picture.getvalue()

    return Drawing


def _draw_edge(
    ax: Any, placed: Layout, edge: tuple[int, int], weight: float, largest: float, support: Orientation
) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    points = placed.route(*edge)
    vertices, codes = [points[0]], [Path.MOVETO]
    for (x, y), (right, low) in pairwise(points if placed.layered else []):
        middle = (x + right) / 2
        vertices += [(middle, y), (middle, low), (right, low)]
        codes += [Path.CURVE4] * 3
    if not placed.layered:
        vertices, codes = points, [Path.MOVETO, Path.CURVE3, Path.CURVE3]
    colour, width = POSITIVE if weight > 0 else NEGATIVE, scale_stroke(weight, largest) / 1.4
    ax.add_patch(
        FancyArrowPatch(
            path=Path(vertices, codes),
            arrowstyle="-|>" if support.is_decided else "-",
            mutation_scale=9,
            color=colour,
            linewidth=width,
            linestyle="solid" if support is Orientation.INDEPENDENCE or not support.is_decided else (0, (4, 2)),
        )
    )

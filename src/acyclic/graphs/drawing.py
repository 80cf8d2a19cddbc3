"""A DAG as a small static picture: SVG without scripts, for notebooks and pages."""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape

import numpy as np

from acyclic.graphs.layout import NODE_HEIGHT, Layout, Point, place_nodes, shorten_name
from acyclic.graphs.protocols import AcyclicGraph

__all__ = ["NEGATIVE", "POSITIVE", "draw_curve", "draw_edge", "draw_node", "draw_picture", "scale_stroke", "to_svg"]

POSITIVE, NEGATIVE, INK, PAPER, BORDER = "#1f5fa8", "#b3471d", "#1b1f24", "#f6f7f9", "#7a828c"
LARGEST_PICTURE = 150
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ARROW = (
    '<marker id="{id}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="9" markerHeight="9" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5L8 4L0 7.5z" fill="{colour}"/></marker>'
)


def to_svg(
    dag: AcyclicGraph, assumed: Collection[tuple[str, str]] = (), undecided: Collection[tuple[str, str]] = ()
) -> str:
    """Draw a DAG from left to right as one SVG element.

    Blue edges have positive weights, orange ones negative; the wider, the larger the weight. Names are text, whatever
    they hold.

    Parameters
    ----------
    dag : Dag
    assumed : collection of (source, target)
        Edges to dash, such as those whose direction rests on an assumption only.
    undecided : collection of (source, target)
        Edges without an arrowhead.

    Examples
    --------
    >>> from acyclic import Dag
    >>> to_svg(Dag.from_edges([("a", "b", 0.5)], names=["a", "b"]))[:4]
    '<svg'
    """
    placed = place_nodes(dag)
    width, height = placed.width + 16, placed.height + 16
    summary = f"{len(dag.names)} variables, {np.count_nonzero(dag.weights)} edges"
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="Directed acyclic graph: {summary}" '
        'style="max-width:100%;height:auto" font-family="system-ui, sans-serif" font-size="13">',
        "<defs>",
        *(_ARROW.format(id=f"acyclic-{sign}", colour=colour) for sign, colour in _COLOURS.items()),
        "</defs>",
        *_draw_edges(dag, placed, assumed, undecided),
        *_draw_nodes(dag, placed),
        "</svg>",
    ]
    return "".join(body)


_COLOURS = {"positive": POSITIVE, "negative": NEGATIVE}


def draw_picture(
    dag: AcyclicGraph, assumed: Collection[tuple[str, str]] = (), undecided: Collection[tuple[str, str]] = ()
) -> str:
    """What a notebook shows for a DAG: its picture, or one line where it is too large for one."""
    if len(dag.names) > LARGEST_PICTURE:
        return f"<pre>{escape(repr(dag))}</pre>"
    return to_svg(dag, assumed, undecided)


def scale_stroke(weight: float, largest: float) -> float:
    """Width of an edge in pixels."""
    return 1.2 + 2.6 * float(np.sqrt(abs(weight) / largest))


def draw_edge(placed: Layout, source: int, target: int) -> str:
    """The path of an edge: level at each bend where nodes are in layers, else one curve."""
    points = placed.route(source, target)
    if placed.layered:
        return draw_curve(points)
    (x, y), (middle, height), (right, low) = points
    return f"M{x:.1f} {y:.1f}Q{middle:.1f} {height:.1f} {right:.1f} {low:.1f}"


def draw_curve(points: list[Point]) -> str:
    """A path through the points that is level at each of them."""
    (x, y), parts = points[0], [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for right, low in points[1:]:
        middle = (x + right) / 2
        parts.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {low:.1f} {right:.1f} {low:.1f}")
        x, y = right, low
    return "".join(parts)


def _escape_text(text: str) -> str:
    """Text for XML, which has no place for most control characters, escaped or not."""
    return escape(_NOT_IN_XML.sub("\ufffd", text))


def _draw_edges(
    dag: AcyclicGraph, placed: Layout, assumed: Collection[tuple[str, str]], undecided: Collection[tuple[str, str]]
) -> list[str]:
    largest = float(np.abs(dag.weights).max())
    drawn = []
    for i, j in np.argwhere(dag.weights).tolist():
        source, target, weight = dag.names[i], dag.names[j], float(dag.weights[i, j])
        sign = "positive" if weight > 0 else "negative"
        is_open = (source, target) in undecided
        dashes = ' stroke-dasharray="6 4"' if (source, target) in assumed and not is_open else ""
        head = "" if is_open else f' marker-end="url(#acyclic-{sign})"'
        title = f"{source} {'–' if is_open else '→'} {target}: {weight:.4g}"
        drawn.append(
            f'<path d="{draw_edge(placed, i, j)}" fill="none" stroke="{_COLOURS[sign]}" '
            f'stroke-width="{scale_stroke(weight, largest):.2f}"{dashes}{head}>'
            f"<title>{_escape_text(title)}</title></path>"
        )
    return drawn


def _draw_nodes(dag: AcyclicGraph, placed: Layout) -> list[str]:
    return [draw_node(name, placed, place) for place, name in enumerate(dag.names)]


def draw_node(name: str, placed: Layout, place: int) -> str:
    """A node as a box with its name, which is text whatever it holds."""
    x, y, width = placed.x[place], placed.y[place], placed.widths[place]
    return (
        f'<g transform="translate({x:.1f} {y:.1f})"><title>{_escape_text(name)}</title>'
        f'<rect x="{-width / 2:.1f}" y="{-NODE_HEIGHT / 2:.1f}" width="{width:.1f}" height="{NODE_HEIGHT:.0f}" rx="7" '
        f'fill="{PAPER}" stroke="{BORDER}"/><text text-anchor="middle" y="4.5" fill="{INK}">'
        f"{_escape_text(shorten_name(name))}</text></g>"
    )

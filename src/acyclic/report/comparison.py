"""Two graphs over the same columns side by side: what one has, what the other has, and by how much."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from html import escape
from importlib.resources import files
from math import isinf
from typing import Any

import numpy as np

from acyclic.facts import Orientation
from acyclic.files import write_text
from acyclic.findings import Findings
from acyclic.graphs.dag import Dag
from acyclic.graphs.drawing import draw_edge, draw_node, scale_stroke
from acyclic.graphs.layout import Layout, place_nodes
from acyclic.graphs.reachability import close_transitively
from acyclic.types import Bools

__all__ = ["Change", "Difference", "find_differences", "report_comparison"]

Pair = tuple[str, str]


class Change(StrEnum):
    """What became of an edge between two graphs."""

    GAINED = "gained"
    LOST = "lost"
    TURNED = "turned"
    DECIDED = "decided"
    """It is in both, and only the second graph decides its direction."""
    UNDECIDED = "undecided"
    """It is in both, and only the first graph decides its direction."""


@dataclass(frozen=True)
class Difference:
    """One edge that differs: as the second graph has it, or as the first had it where it is lost.

    Weights are standardised where both results know the deviations of their columns; margins are how far the edge is
    ahead of being turned or left out. None where there is no such edge, or it is not known.
    """

    change: Change
    source: str
    target: str
    weights: tuple[float | None, float | None]
    margins: tuple[float | None, float | None]


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the two graphs, with its edges by name."""

    title: str
    graph: Dag
    weights: Mapping[Pair, float]
    support: Mapping[Pair, Orientation] = field(default_factory=dict)
    margins: Mapping[Pair, float | None] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Findings | Dag, title: str, *, scaled: bool) -> _Side:
        graph = given if isinstance(given, Dag) else given.graph
        weights = {(a, b): weight for a, b, weight in graph.edges()}
        if isinstance(given, Dag):
            return cls(title, graph, weights)
        margins = {pair: margin.least for pair, margin in given.verdict.margins.items()}
        return cls(
            title, graph, given.standardised if scaled else weights, given.support, margins, _describe_origin(given)
        )

    def decides(self, pair: Pair) -> bool:
        """Whether the direction of an edge can be relied on; that of a mere graph is taken as it is."""
        return self.support.get(pair, Orientation.KNOWLEDGE).is_decided


def find_differences(first: Findings | Dag, second: Findings | Dag) -> list[Difference]:
    """The edges in which two graphs differ, matched by the names of their ends; turned ones first, then by weight.

    An edge whose direction neither graph decides does not count as turned.

    Examples
    --------
    >>> one = Dag.from_edges([("a", "b"), ("b", "c")], names=["a", "b", "c"])
    >>> other = Dag.from_edges([("b", "a"), ("a", "c")], names=["a", "b", "c"])
    >>> [(found.change.value, found.source, found.target) for found in find_differences(one, other)]
    [('turned', 'b', 'a'), ('gained', 'a', 'c'), ('lost', 'b', 'c')]
    """
    return _differences(*_sides(first, second, ("first", "second")))


def report_comparison(
    first: Findings | Dag,
    second: Findings | Dag,
    path: str | os.PathLike[str] | None = None,
    *,
    titles: tuple[str, str] = ("first", "second"),
) -> str | None:
    """Write two results, or graphs, as one page: the same layout for both, and a table of the edges that differ.

    Parameters
    ----------
    first, second : Result or Dag
    path : path, optional
        Where to write the page, atomically; without it the page is returned as text.
    titles : pair of str
        What to call them.
    """
    page = _page(*_sides(first, second, titles))
    if path is None:
        return page
    write_text(path, page)
    return None


def _sides(first: Findings | Dag, second: Findings | Dag, titles: tuple[str, str]) -> tuple[_Side, _Side]:
    scaled = all(isinstance(given, Findings) and given.deviations for given in (first, second))
    return _Side.of(first, titles[0], scaled=scaled), _Side.of(second, titles[1], scaled=scaled)


def _differences(first: _Side, second: _Side) -> list[Difference]:
    found = [*_changes_of_second(first, second), *_lost(first, second)]
    rank = {change: place for place, change in enumerate((Change.TURNED, Change.GAINED, Change.LOST))}
    return sorted(found, key=lambda each: (rank.get(each.change, len(rank)), -max(map(_size, each.weights))))


def _size(weight: float | None) -> float:
    return abs(weight or 0.0)


def _changes_of_second(first: _Side, second: _Side) -> Iterator[Difference]:
    for pair in second.weights:
        back = pair[::-1]
        before = pair if pair in first.weights else back if back in first.weights else None
        decided = second.decides(pair)
        if before is None:
            change = Change.GAINED
        elif before == back and (decided or first.decides(back)):
            change = Change.TURNED
        elif decided != first.decides(before):
            change = Change.DECIDED if decided else Change.UNDECIDED
        else:
            continue
        yield Difference(
            change,
            *pair,
            (None if before is None else first.weights[before], second.weights[pair]),
            (None if before is None else first.margins.get(before), second.margins.get(pair)),
        )


def _lost(first: _Side, second: _Side) -> Iterator[Difference]:
    for pair, weight in first.weights.items():
        if pair not in second.weights and pair[::-1] not in second.weights:
            yield Difference(Change.LOST, *pair, (weight, None), (first.margins.get(pair), None))


def _describe_origin(result: Findings) -> dict[str, Any]:
    settings = dict(result.provenance.get("run") or result.provenance.get("settings", {}))
    settings.pop("table", None)
    known = {"rows": result.provenance.get("rows"), "data": result.provenance.get("data")}
    stated = {"knowledge": result.provenance.get("knowledge")}
    return {**known, **settings, **stated, "orientation": result.verdict.orientation.value}


def _page(first: _Side, second: _Side) -> str:
    found = _differences(first, second)
    names = tuple(dict.fromkeys((*second.graph.names, *first.graph.names)))
    placed = place_nodes(_union(first, second, names), aspect=1.1)
    heading = f"{first.title} and {second.title}"
    style = (files("acyclic.report") / "static" / "report.css").read_text(encoding="utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    pictures = "".join(_picture(side, placed, names, found, late=side is second) for side in (first, second))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(heading)}</title>\n<style>\n{style}\n</style>\n</head>\n<body>\n<header><div>"
        f'<p class="kicker">acyclic comparison</p><h1>{escape(heading)}</h1>'
        f'<ul class="facts">{_count(first, second, found)}</ul></div></header>\n<main>\n'
        '<section aria-labelledby="graphs"><h2 id="graphs">Graphs</h2><ul class="legend" aria-label="Legend">'
        + "".join(f'<li><span class="mark {change}">{change}</span></li>' for change in ("gained", "turned", "lost"))
        + '<li>fainter: in both</li><li>no head: direction not decided</li></ul><div class="pair">'
        + f'{pictures}</div></section>\n<section aria-labelledby="changes-heading">'
        + f'<h2 id="changes-heading">Edges that differ</h2>{_table(first, second, found)}</section>\n'
        + f"{_origins(first, second)}</main>\n</body>\n</html>\n"
    )


def _count(first: _Side, second: _Side, found: list[Difference]) -> str:
    kinds = [difference.change for difference in found]
    said = [f"{len(first.weights)} and {len(second.weights)} edges"]
    said += [f"{kinds.count(change)} {_WORDS[change]}" for change in Change]
    return "".join(f"<li>{escape(text)}</li>" for text in said)


_WORDS = {
    Change.GAINED: "gained",
    Change.LOST: "lost",
    Change.TURNED: "turned",
    Change.DECIDED: "newly decided",
    Change.UNDECIDED: "no longer decided",
}


def _union(first: _Side, second: _Side, names: tuple[str, ...]) -> Dag:
    """The second graph with as much of the first as leaves it acyclic, for one layout of both."""
    index = {name: place for place, name in enumerate(names)}
    edges = np.zeros((len(names), len(names)))
    for source, target in second.weights:
        edges[index[source], index[target]] = 1.0
    reach = close_transitively(edges != 0)
    for source, target in first.weights:
        i, j = index[source], index[target]
        if not reach[j, i] and not edges[j, i]:
            edges[i, j] = 1.0
            above: Bools = reach[:, i].copy()
            above[i] = True
            below: Bools = reach[j].copy()
            below[j] = True
            reach |= above[:, None] & below[None, :]
    return Dag(edges, names)


def _picture(side: _Side, placed: Layout, names: tuple[str, ...], found: list[Difference], *, late: bool) -> str:
    index = {name: place for place, name in enumerate(names)}
    changes = {frozenset((each.source, each.target)): each.change for each in found}
    largest = max(map(abs, side.weights.values()), default=1.0) or 1.0
    parts = []
    for pair, weight in side.weights.items():
        i, j = index[pair[0]], index[pair[1]]
        back = placed.x[j] < placed.x[i]
        change = changes.get(frozenset(pair))
        head = "" if not side.decides(pair) else f' marker-{"start" if back else "end"}="url(#head-{int(late)})"'
        sign = "positive" if weight > 0 else "negative"
        path = draw_edge(placed, j, i) if back else draw_edge(placed, i, j)
        if change in (Change.GAINED, Change.LOST, Change.TURNED):
            parts.append(f'<path class="under {change}" d="{path}"/>')
        said = escape(f"{pair[0]} → {pair[1]}: {weight:.3g}{f', {_WORDS[change]}' if change else ''}")
        width = scale_stroke(weight, largest)
        parts.append(
            f'<path class="edge {sign}{"" if change else " same"}" d="{path}" stroke-width="{width:.1f}"{head}>'
            f"<title>{said}</title></path>"
        )
    parts += [draw_node(name, placed, place) for place, name in enumerate(names)]
    marker = (
        f'<defs><marker id="head-{int(late)}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="10" markerHeight="10" '
        'markerUnits="userSpaceOnUse" orient="auto-start-reverse"><path class="tip-of-edge" d="M0 0.5L8 4L0 7.5z"/>'
        "</marker></defs>"
    )
    box = f"-8 -8 {placed.width + 16:.0f} {placed.height + 16:.0f}"
    label = escape(f"{side.title}: {len(names)} variables, {len(side.weights)} edges")
    return (
        f'<figure><figcaption>{escape(side.title)}</figcaption><svg viewBox="{box}" role="img" aria-label="{label}" '
        f'font-family="system-ui, sans-serif" font-size="13">{marker}{"".join(parts)}</svg></figure>'
    )


def _table(first: _Side, second: _Side, found: list[Difference]) -> str:
    if not found:
        return "<p>None: both have the same edges, and decide the same directions.</p>"
    titles = "".join(
        f'<th scope="col" class="number">{what}, {escape(side.title)}</th>'
        for what in ("weight", "margin")
        for side in (first, second)
    )
    rows = "".join(
        f'<tr><td><span class="mark {each.change}">{_WORDS[each.change]}</span></td><td>{escape(each.source)}</td>'
        f"<td>{escape(each.target)}</td>"
        + "".join(f'<td class="number">{_show(value)}</td>' for value in (*each.weights, *each.margins))
        + "</tr>"
        for each in found
    )
    return (
        '<div class="scroll" tabindex="0" role="group" aria-label="Table of the edges that differ"><table id="edges">'
        '<thead><tr><th scope="col">change</th><th scope="col">from</th><th scope="col">to</th>'
        f"{titles}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _origins(first: _Side, second: _Side) -> str:
    """What was different in how the two were made."""
    keys = list(dict.fromkeys((*first.origin, *second.origin)))
    rows = "".join(
        f'<tr><th scope="row">{escape(key.replace("_", " "))}</th><td>{escape(str(first.origin.get(key, "–")))}</td>'
        f"<td>{escape(str(second.origin.get(key, '–')))}</td></tr>"
        for key in keys
        if first.origin.get(key) != second.origin.get(key)
    )
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in ("setting", first.title, second.title))
    return (
        '<section aria-labelledby="made"><h2 id="made">How they were made differently</h2>'
        f"<table class=plain><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></section>\n"
    )


def _show(value: float | None) -> str:
    if value is None:
        return "–"
    return "∞" if isinf(value) else f"{value:.3g}".replace("-", "−")

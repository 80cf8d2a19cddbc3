"""Panels of means with standard errors against the number of nodes, under one legend."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from acyclic.experiments.styles import (
    NOTE,
    WIDTH,
    Style,
    count_scale,
    label_text,
    legend,
    log_scale,
    node_ticks,
    note_hollow,
    published_key,
    style,
)
from acyclic.experiments.summary import Mean, Results, mean_of, n_cut, n_failed, unfinished
from acyclic.experiments.tables import METRICS, published_for

if TYPE_CHECKING:
    from acyclic.experiments.plans import Plan, Setting

__all__ = [
    "Curve",
    "Panel",
    "Point",
    "by_label",
    "draw_curves",
    "legend_of",
    "new_figure",
    "panels",
    "say_empty",
    "share_scale",
]


OURS = ("EqualVariance", "SortnRegress", "learn")


@dataclass(frozen=True)
class Panel:
    """One pair of axes: a metric of some settings against the number of nodes."""

    title: str
    settings: Sequence[Setting]
    metric: str = "shd"


# Letters that fit above a panel.
LONG_TITLE = 32


def panels(rows: Sequence[Sequence[Panel]], records: Results, plan: Plan) -> Any:
    """A figure of panels under one legend; those of a row that show the same metric share its scale.

    Methods that are not in the paper have panels of their own below the others.
    """
    rows = _apart(rows)
    figure, axes = new_figure(len(rows), max(map(len, rows)))
    drawn = [draw_curves(ax, panel, records, plan) for some, line in zip(rows, axes) for ax, panel in zip(line, some)]
    for some, line in zip(rows, axes):
        for metric in dict.fromkeys(panel.metric for panel in some):
            share_scale([ax for ax, panel in zip(line, some) if panel.metric == metric], metric)
    shown = [(s, panel.metric) for some in rows for panel in some for s in panel.settings]
    published = any(published_for(plan, setting, metric) for setting, metric in shown)
    legend_of(figure, [curve for curves in drawn for curve in curves], published)
    distinct = dict.fromkeys(s for some in rows for panel in some for s in panel.settings)
    note_hollow(figure, [records.get(setting, ()) for setting in distinct])
    return figure


def _apart(rows: Sequence[Sequence[Panel]]) -> list[list[Panel]]:
    theirs = [[replace(p, settings=[s for s in p.settings if not _is_ours(s)]) for p in row] for row in rows]
    ours = [
        [replace(p, title=f"{p.title}: others", settings=[s for s in p.settings if _is_ours(s)]) for p in row]
        for row in rows
    ]
    return [row for row in (*theirs, *ours) if any(panel.settings for panel in row)]


def _is_ours(setting: Setting) -> bool:
    """Whether the paper has nothing like it: simple methods that use what the data give away, and our KKT search."""
    return setting.method.get("learner") in OURS or setting.method.get("then") == "kkt_search"


def new_figure(rows: int, columns: int, height: float = 2.0) -> tuple[Any, list[list[Any]]]:
    """A figure of empty panels."""
    from matplotlib.figure import Figure

    width = WIDTH if columns > 1 else 0.7 * WIDTH
    figure = Figure(figsize=(width, height * rows + 0.9), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False).tolist()


def legend_of(figure: Any, curves: Sequence[Curve], published: bool = False) -> None:
    """One legend for curves of several panels."""
    legend(figure, {curve.label: curve.look for curve in curves}, published)


def share_scale(axes: Sequence[Any], metric: str) -> None:
    """One vertical scale for panels side by side, named at the first."""
    axes[0].set_ylabel(METRICS[metric])
    if not any(ax.has_data() for ax in axes):
        for ax in axes:
            ax.set_yticks([])
        return
    for ax in axes[1:]:
        ax.sharey(axes[0])
        ax.tick_params(labelleft=False)
    axes[0].autoscale(axis="y")
    if metric == "cpu_seconds":
        log_scale(axes[0])
    elif metric in ("shd", "shd_cpdag"):
        count_scale(axes[0])


@dataclass(frozen=True)
class Point:
    """A mean at a place, over runs that came to their own end; ``hollow`` is that with those that were cut, if any.

    Where most were cut, it is all that there is: those that ended by themselves are the easy ones.
    """

    x: float
    mean: Mean | None
    hollow: Mean | None = None


@dataclass(frozen=True)
class Curve:
    """The points of one method."""

    label: str
    look: Style
    points: Sequence[Point]

    def draw(self, ax: Any) -> None:
        """A line through the means with their standard errors."""
        x = [point.x for point in self.points]
        y = [point.mean.value if point.mean else math.nan for point in self.points]  # where the line has a gap
        errors = [point.mean.error if point.mean and point.mean.error > 0 else 0.0 for point in self.points]
        ax.errorbar(x, y, errors, capsize=1.8, elinewidth=0.8, **self.look.key())
        for point in self.points:
            if point.hollow:
                ax.plot([point.x], [point.hollow.value], zorder=3, **self.look.key(hollow=True))


def draw_curves(ax: Any, panel: Panel, records: Results, plan: Plan) -> list[Curve]:
    """Draw the metric of each method against the number of nodes, and the values that are published."""
    title = label_text(panel.title)
    ax.set_title(title, fontsize="x-small" if len(title) > LONG_TITLE else None)
    curves = []
    methods = by_label(panel.settings)
    for place, (label, settings) in enumerate(methods.items()):
        # Methods stand a little beside each other, so that no error bar hides another.
        shift = math.exp(0.014 * (place - (len(methods) - 1) / 2))
        points = [_point(setting, panel.metric, records, shift) for setting in settings]
        curves.append(Curve(label, style(settings[0].method), [point for point in points if point]))
    drawn = [curve for curve in curves if curve.points]
    for curve in drawn:
        curve.draw(ax)
    for setting in panel.settings:
        for theirs in published_for(plan, setting, panel.metric):
            ax.plot([setting.data["n_nodes"]], [theirs.value], **published_key(style(setting.method).colour))
    _nodes_axis(ax, panel.settings)
    if not drawn:
        say_empty(ax, ticks=True)
    return drawn


def _point(setting: Setting, metric: str, records: Results, shift: float) -> Point | None:
    some = records.get(setting, ())
    everything = mean_of(some, metric, cut=True)
    if everything is None:
        return None
    hollow = everything if unfinished(some) else None
    mean = None if 2 * (n_cut(some) + n_failed(some)) > len(some) else mean_of(some, metric)
    return Point(float(setting.data["n_nodes"]) * shift, mean, hollow)


def by_label(settings: Iterable[Setting]) -> dict[str, list[Setting]]:
    """Settings of each method, in the order of the plan."""
    groups: dict[str, list[Setting]] = {}
    for setting in settings:
        groups.setdefault(setting.label, []).append(setting)
    return groups


def _nodes_axis(ax: Any, settings: Iterable[Setting]) -> None:
    ax.set_xlabel("Number of nodes d")
    node_ticks(ax, sorted({float(setting.data["n_nodes"]) for setting in settings}))


def say_empty(ax: Any, ticks: bool = False) -> None:
    """Tell that there is nothing to draw; ticks stay where they say what will be."""
    ax.text(0.5, 0.5, "no runs yet", transform=ax.transAxes, ha="center", va="center", color=NOTE)
    if not ticks:
        ax.set(xticks=[], yticks=[])

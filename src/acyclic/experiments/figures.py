"""The figures of the paper's experiments, drawn from whatever part of the runs is there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from acyclic.experiments.constraint_tables import CURVES, MEASURED, SERIES, sweeps
from acyclic.experiments.panels import (
    Curve,
    Panel,
    Point,
    by_label,
    draw_curves,
    legend_of,
    new_figure,
    panels,
    say_empty,
    share_scale,
)
from acyclic.experiments.styles import INK, NOTE, PAPER, label_text, log_scale, manner, node_ticks, note_hollow, style
from acyclic.experiments.summary import Mean, Results, blocks, describe, finished_values, mean_of, unfinished
from acyclic.experiments.tables import METRICS, page, published_for, shown_metrics
from acyclic.files import write_atomically, write_text

if TYPE_CHECKING:
    from acyclic.experiments.plans import Plan, Setting

__all__ = ["draw"]

# Where an axis of gradients or errors ends: what is smaller has vanished in double precision.
SMALLEST = 1e-32
FOLDER = "figures"
AXES = {"d": "Number of nodes d", "k": "Order k that the truncation needs"}


def draw(plan: Plan, records: Results, folder: Path) -> list[Path]:
    """Draw a plan and write its tables: figures/<name>.svg, .pdf and .png, and <name>.md.

    The same records give the same bytes. Settings without runs are left out, and a panel without any says so.

    Parameters
    ----------
    plan : Plan
    records : mapping of Setting to its records
    folder : Path
        Made if missing.

    Returns
    -------
    list of Path
        The files, in the order above.
    """
    drawn, text = folder / FOLDER, folder / f"{plan.name}.md"
    drawn.mkdir(parents=True, exist_ok=True)
    vector, printed, pixels = (drawn / f"{plan.name}.{ending}" for ending in ("svg", "pdf", "png"))
    with manner():
        figure = _DRAWINGS[plan.drawing](plan, records)
        with write_atomically(pixels) as file:
            figure.savefig(file, format="png", metadata={"Software": None})
        figure.set_layout_engine("none")  # the layout stays as it is: one for all files
        with write_atomically(vector) as file:
            figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
        with write_atomically(printed) as file:
            figure.savefig(file, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    write_text(text, page(plan, records))
    return [vector, printed, pixels, text]


def _grid(plan: Plan, records: Results) -> Any:
    """A row for each graph, a column for each noise, or for known and unknown scale."""
    rows = [
        [Panel(_title(column), column) for column in blocks(row)]
        for row in blocks(plan.settings(), ["noise", "standardize", "n_nodes"])
    ]
    return panels(rows, records, plan)


def _row(plan: Plan, records: Results) -> Any:
    """A panel for each noise; for a single one a panel for each metric."""
    return _grid(plan, records) if len(shown_metrics(plan)) == 1 else _by_metric(plan, records)


def _by_metric(plan: Plan, records: Results) -> Any:
    """A row for each kind of data and loss, a column for each metric."""
    rows = []
    for block in blocks(plan.settings()):
        for loss, settings in _losses(block).items():
            title = ", ".join(filter(None, [_title(block), loss]))
            rows.append([Panel(title, settings, metric) for metric in shown_metrics(plan)])
    return panels(rows, records, plan)


def _title(block: Sequence[Setting]) -> str:
    return describe(block[0].data, ["n", "n_nodes"]).removesuffix(" noise")


def _losses(settings: Sequence[Setting]) -> dict[str, list[Setting]]:
    """Settings by their loss where there are both, with the methods that have none in each."""
    families = {"Notears": "least squares", "Golem": "likelihood"}
    losses = [families.get(str(setting.method.get("learner")), "") for setting in settings]
    found = [loss for loss in families.values() if loss in losses]
    if len(found) < 2:
        return {"": list(settings)}
    return {loss: [s for s, own in zip(settings, losses) if own in (loss, "")] for loss in found}


def _gradient_norms(plan: Plan, records: Results) -> Any:
    """Norms by order on the left, SHD of the fits on the right."""
    figure, [[left, right]] = new_figure(1, 2, height=2.6)
    found = [values for some in records.values() for values in finished_values(some) if "orders" in values]
    if found:
        for name in SERIES:
            # The first two all but coincide: one shows through the other.
            key = {**style({"constraint": name}).key(), "marker": "", "linestyle": "--" if name == "binomial" else "-"}
            _band(left, found, "orders", name, label=name.capitalize(), **key)
        _end_scale(left)
        left.legend()
    left.set(
        title=f"Gradients by order, along {len(found)} fits" if len(found) > 1 else "Gradients by order, along a fit",
        xlabel="Order i",
        ylabel="‖∇ cᵢ tr Bⁱ‖",
    )
    fits = [setting for setting in plan.settings() if "learner" in setting.method]
    curves = draw_curves(right, Panel(_title(fits) if fits else "", fits), records, plan)
    share_scale([right], "shd")
    legend_of(figure, curves, any(published_for(plan, setting, "shd") for setting in fits))
    note_hollow(figure, [records.get(setting, ()) for setting in fits])
    if not found:
        say_empty(left)
    return figure


def _truncation(plan: Plan, records: Results) -> Any:
    """For each kind of data: ‖Bᵏ‖∞ and both errors against k; the iteration stops within the grey band."""
    groups = blocks(plan.settings(), ())
    figure, axes = new_figure(len(groups), len(CURVES))
    for group, line in zip(groups, axes):
        runs = [values for setting in group for values in finished_values(records.get(setting, ()))]
        for ax, (name, words) in zip(line, CURVES.items()):
            ax.set(title=label_text(describe(group[0].data, ["noise", "n"])), xlabel="Order k", ylabel=words)
            _runs(ax, runs, name)
    note_hollow(figure, [records.get(setting, ()) for setting in plan.settings()])
    return figure


def _runs(ax: Any, runs: Sequence[Mapping[str, Any]], name: str) -> None:
    """Along the ways of all runs: the curves, and where the iteration stops."""
    colour = style({"constraint": "fast-tmpi"}).colour
    if runs:
        first, last = (pick(v[end]["stop"] for v in runs) for end, pick in (("low", min), ("high", max)))
        ax.axvspan(first, last, color=NOTE, alpha=0.15, linewidth=0)
        ax.axvline(median(values["stop"] for values in runs), linestyle="--", linewidth=0.8, color=NOTE)
        _band(ax, runs, "k", name, linewidth=1.2, color=colour)
        _end_scale(ax)
    else:
        say_empty(ax)


def _end_scale(ax: Any) -> None:
    """A logarithmic scale of what is drawn, as far down as double precision sees it."""
    low, high = ax.dataLim.intervaly
    ax.set_ylim(max(low, SMALLEST) / 3, high * 3)
    log_scale(ax)


def _band(ax: Any, runs: Sequence[Mapping[str, Any]], x: str, name: str, **key: Any) -> None:
    """The median of the runs' medians over x, and the band from their least tenth to their largest."""
    import numpy as np

    orders, alike = runs[0][x], [values for values in runs if values[x] == runs[0][x]]
    middle, low, high = (
        np.array([_positive(part[name]) for part in parts])
        for parts in (alike, [values["low"] for values in alike], [values["high"] for values in alike])
    )
    # Where a run has nothing to see on the scale the others do; where none has, there is a gap.
    some = ~np.isnan(middle).all(axis=0)
    at = np.array(orders)[some]
    ax.plot(at, np.nanmedian(middle[:, some], axis=0), **key)
    # A tenth that is zero lies below any scale.
    bottom, top = np.nan_to_num(low[:, some], nan=SMALLEST).min(axis=0), np.fmax.reduce(high[:, some])
    ax.fill_between(at, bottom, top, color=key["color"], alpha=0.2, linewidth=0)


def _positive(numbers: Iterable[float | None]) -> list[float]:
    """Numbers for a logarithmic scale, with gaps where there is nothing to see on it."""
    return [number if number is not None and number > 0 else math.nan for number in numbers]


def _products(plan: Plan, records: Results) -> Any:
    """Counted products above, time below; against d on the left, against k on the right."""
    figure, axes = new_figure(2, 2)
    drawn = []
    for line, (words, measured) in zip(axes, MEASURED.items()):
        for ax, sweep in zip(line, sweeps(plan.settings())):
            ax.set(title=label_text(sweep.title), ylabel=words, xlabel=AXES[sweep.key])
            drawn += _measured_curves(ax, sweep.settings, records, sweep.key, measured)
    legend_of(figure, drawn)
    return figure


def _measured_curves(
    ax: Any, settings: Iterable[Setting], records: Results, key: str, measured: Callable[[Mapping[str, Any]], float]
) -> list[Curve]:
    curves = []
    for label, some in by_label(settings).items():
        runs = [values for values in (finished_values(records.get(setting, ())) for setting in some) if values]
        means = [(Mean.over(run[key] for run in values), Mean.over(map(measured, values))) for values in runs]
        points = sorted((Point(x.value, mean) for x, mean in means if x and mean), key=lambda point: point.x)
        curves += [Curve(label, style(some[0].method), points)] if points else []
    for curve in curves:
        curve.draw(ax)
    if curves:
        log_scale(ax)
        if key == "d":
            node_ticks(ax, sorted({point.x for curve in curves for point in curve.points}))
        else:
            log_scale(ax, "x")
    else:
        say_empty(ax)
    return curves


def _bars(plan: Plan, records: Results) -> Any:
    """A bar for each method, a column for each metric, a row for each kind of data."""
    from matplotlib.lines import Line2D

    groups = blocks(plan.settings(), ())
    columns = [m for m in METRICS if m == "shd" or any(published_for(plan, s, m) for s in plan.settings())]
    figure, axes = new_figure(len(groups), len(columns), height=0.6 + 0.2 * max(map(len, groups)))
    for group, line in zip(groups, axes):
        for ax, metric in zip(line, columns):
            ax.set(title=label_text(describe(group[0].data)), xlabel=METRICS[metric])
            _bar_panel(ax, plan, group, records, metric)
            ax.tick_params(left=False, labelleft=ax is line[0])
    if any(published_for(plan, setting, metric) for setting in plan.settings() for metric in columns):
        figure.legend([Line2D([], [], **_PUBLISHED)], ["published"], loc="outside upper center")
    note_hollow(figure, [records.get(setting, ()) for setting in plan.settings()])
    return figure


def _bar_panel(ax: Any, plan: Plan, settings: Sequence[Setting], records: Results, metric: str) -> None:
    """Horizontal bars with standard errors, hollow where runs failed or were cut; published numbers beside."""
    for place, setting in enumerate(settings):
        some, colour = records.get(setting, ()), style(setting.method).colour
        if mean := mean_of(some, metric) or mean_of(some, metric, cut=True):
            error, face = 0.0 if math.isnan(mean.error) else mean.error, PAPER if unfinished(some) else colour
            bar = {"color": face, "edgecolor": colour, "height": 0.7, "capsize": 2, "ecolor": INK}
            ax.barh(place, mean.value, xerr=error, error_kw={"elinewidth": 0.8}, **bar)
        for theirs in published_for(plan, setting, metric):
            ax.plot([theirs.value], [place], zorder=3, **_PUBLISHED)
    ax.set_yticks(range(len(settings)), [label_text(setting.label) for setting in settings])
    ax.set_ylim(len(settings) - 0.4, -0.6)
    ax.margins(x=0.08)
    ax.set_xlim(0, max(ax.get_xlim()[1], 1))
    ax.grid(axis="y", visible=False)
    if not any(mean_of(records.get(setting, ()), metric, cut=True) for setting in settings):
        say_empty(ax, ticks=True)


_PUBLISHED: Mapping[str, Any] = MappingProxyType(
    {"marker": "D", "linestyle": "none", "color": PAPER, "markeredgecolor": INK, "markersize": 5}
)
_DRAWINGS: Mapping[str, Callable[[Plan, Results], Any]] = MappingProxyType(
    {
        "grid": _grid,
        "row": _row,
        "metrics": _by_metric,
        "times": _by_metric,
        "gradient-norms": _gradient_norms,
        "truncation": _truncation,
        "products": _products,
        "table": _bars,
    }
)

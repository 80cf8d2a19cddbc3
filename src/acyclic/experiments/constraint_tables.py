"""What was measured on the constraints themselves, without a fit: gradients by order, products, truncation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from acyclic.experiments.markdown import NONE, cell, table
from acyclic.experiments.summary import Mean, Results, blocks, describe, finished_values, number

if TYPE_CHECKING:
    from acyclic.experiments.plans import Setting
    from acyclic.experiments.store import Record

__all__ = ["COMPLEXITY", "CURVES", "MEASURED", "SERIES", "Sweep", "constraint_tables", "sweeps"]

# Table 2 of the paper, in products of d × d matrices.
COMPLEXITY = {
    "exponential": "O(d)",
    "binomial": "O(log d)",
    "polynomial": "O(d)",
    "spectral-radius": "O(1)",
    "single-term": "O(log d)",
    "geometric": "O(d)",
    "fast-geometric": "O(log d)",
    "tmpi": "O(k)",
    "fast-tmpi": "O(log k)",
}
SERIES, SHOWN_ORDERS = ("exponential", "binomial", "geometric"), (1, 2, 3, 5, 10, 20, 50, 100)
CURVES = {"power": "‖Bᵏ‖∞", "value_error": "Error of h", "gradient_error": "Error of the gradient"}
MEASURED: Mapping[str, Callable[[Mapping[str, Any]], float]] = MappingProxyType(
    {
        "Products of d × d matrices": lambda values: float(values["products"]),
        "Time in products": lambda values: float(values["seconds"] / values["product_seconds"]),
    }
)


@dataclass(frozen=True)
class Sweep:
    """Settings along which one number grows: the size d, or the order k that the truncation needs."""

    key: Literal["d", "k"]
    title: str
    settings: list[Setting]


def sweeps(settings: Sequence[Setting]) -> list[Sweep]:
    """Settings against d at the middle spectral radius, and against k at the largest d."""
    radii = [key for key in settings[0].data if key == "spectral_radius"]
    against_d, against_k = blocks(settings), blocks(settings, radii)
    middle, last = against_d[len(against_d) // 2], against_k[-1]
    return [
        Sweep("d", f"Against d; {describe(middle[0].data, ['n_nodes'])}", middle),
        Sweep("k", f"Against k; {describe(last[0].data, radii)}", last),
    ]


def constraint_tables(drawing: str, settings: Sequence[Setting], records: Results) -> list[str]:
    """The tables of a drawing that shows more than fits; none for the others.

    Parameters
    ----------
    drawing : str
    settings : sequence of Setting
        Those that are no fits.
    records : mapping of Setting to its records

    Returns
    -------
    list of str
        Paragraphs of Markdown.
    """
    return _TABLES[drawing](settings, records) if drawing in _TABLES else []


def _norms(settings: Sequence[Setting], records: Results) -> list[str]:
    """Norms of the gradients of some orders, one row for each constraint."""
    parts = []
    for setting in settings:
        for values in finished_values(records.get(setting, ()))[:1]:
            at = [place for place, order in enumerate(values["orders"]) if order in SHOWN_ORDERS]
            rows = [[name, *(_text(values[name][place]) for place in at)] for name in SERIES]
            header = ["Constraint", *(f"order {values['orders'][place]}" for place in at)]
            radius = f"median of {values['points']} points, spectral radius {number(values['spectral_radius'])}"
            parts += [f"## Norms of gradients along a way: {cell(values['way'])}; {radius}", table(header, rows)]
    return parts or ["No runs yet."]


def _products(settings: Sequence[Setting], records: Results) -> list[str]:
    """Counted products beside the class of the paper, then the time of an evaluation in products."""
    parts = []
    for sweep in sweeps(settings):
        columns = blocks(sweep.settings, ())
        header = ["Constraint", "class in the paper", *(_column(sweep, column, records) for column in columns)]
        parts.append(f"## {cell(sweep.title)}")
        for title, measured in MEASURED.items():
            rows = []
            for label, constraint in {s.label: str(s.method.get("constraint")) for s in sweep.settings}.items():
                at = [[s for s in column if s.label == label] for column in columns]
                cells = [_measured(records.get(some[0], ()), measured) if some else "" for some in at]
                rows.append([cell(label), COMPLEXITY.get(constraint, "not in the paper"), *cells])
            parts += [f"**{title}**, mean", table(header, rows)]
    return parts


def _column(sweep: Sweep, settings: Sequence[Setting], records: Results) -> str:
    """What sets a column apart, and the order that the truncation needs there."""
    orders = [float(values["k"]) for setting in settings for values in finished_values(records.get(setting, ()))]
    mean, fixed = Mean.over(orders), "spectral_radius" if sweep.key == "d" else "n_nodes"
    return describe(settings[0].data, ["graph", fixed]) + (f", k = {mean.value:.0f}" if mean else "")


def _measured(records: Sequence[Record], measured: Callable[[Mapping[str, Any]], float]) -> str:
    mean = Mean.over(measured(values) for values in finished_values(records))
    return NONE if mean is None else number(mean.value)


def _truncation(settings: Sequence[Setting], records: Results) -> list[str]:
    """Where the iteration stops along each way, and what it leaves out there at the median."""
    rows = []
    for setting in settings:
        for run, values in enumerate(finished_values(records.get(setting, ()))):
            at = [place for place, k in enumerate(values["k"]) if k <= values["stop"]][-1:]
            cells = [_text(values[name][place]) for name in CURVES for place in at]
            stops = f"{values['stop']} ({values['low']['stop']} to {values['high']['stop']})"
            rows.append([cell(describe(setting.data)), str(run), stops, *cells])
    header = ["Data", "run", "k at the stop, median and tenths", *CURVES.values()]
    return [table(header, rows)] if rows else ["No runs yet."]


def _text(value: float | None) -> str:
    return NONE if value is None else number(value)


_TABLES: Mapping[str, Callable[[Sequence[Setting], Results], list[str]]] = MappingProxyType(
    {"gradient-norms": _norms, "products": _products, "truncation": _truncation}
)

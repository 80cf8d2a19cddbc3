"""The results of a plan as one page of Markdown: every mean beside its error, its runs and the published number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from acyclic.experiments.constraint_tables import constraint_tables
from acyclic.experiments.markdown import NONE, Footnotes, cell, table
from acyclic.experiments.summary import (
    Mean,
    Ratio,
    Results,
    blocks,
    cut_share,
    describe,
    mean_of,
    n_cut,
    n_failed,
    number,
    paired_ratio,
    rival,
    runs_of,
)

if TYPE_CHECKING:
    from acyclic.experiments.cases import Scalar
    from acyclic.experiments.plans import Plan, Published, Setting
    from acyclic.experiments.store import Record

__all__ = ["METRICS", "page", "provenance", "published_for", "shown_metrics"]

_Text: TypeAlias = "Callable[[Setting], str]"

METRICS = {
    "shd": "SHD",
    "shd_cpdag": "SHD of CPDAG",
    "fdr": "False discovery rate",
    "tpr": "True positive rate",
    "fpr": "False positive rate",
    "cpu_seconds": "CPU seconds",
}


def page(plan: Plan, records: Results) -> str:
    """The Markdown page of a plan.

    Parameters
    ----------
    plan : Plan
    records : mapping of Setting to its records
        Settings may lack records, or be missing.

    Returns
    -------
    str
    """
    notes, settings = Footnotes(), plan.settings()
    fits = [setting for setting in settings if "learner" in setting.method]
    others = [setting for setting in settings if "learner" not in setting.method]
    body = constraint_tables(plan.drawing, others, records)
    if plan.drawing == "table":
        body += [part for block in blocks(fits, ()) for part in _wide(plan, block, records, notes)]
    else:
        body += [part for block in blocks(fits) for part in _by_nodes(plan, block, records, notes)]
    head = [
        f"# {cell(plan.title)}",
        f"{cell(plan.paper)}. {cell(plan.about)}",
        f"![{cell(plan.title)}](figures/{plan.name}.svg)",
        provenance(plan, records),
    ]
    return "\n\n".join([*head, *body, *notes.lines()]) + "\n"


def shown_metrics(plan: Plan) -> tuple[str, ...]:
    """The metrics that the panels of a plan show; a single kind of data leaves room for more of them."""
    if plan.drawing == "times":
        return ("cpu_seconds", "shd")
    if plan.drawing in ("row", "metrics") and len(blocks(plan.settings())) == 1:
        return ("shd", "fdr", "tpr")
    return ("fdr", "tpr", "fpr") if plan.drawing == "metrics" else ("shd",)


def provenance(plan: Plan, records: Results) -> str:
    """What the numbers come from: versions, runs, threads, and when the rows were computed."""
    rows = [record for some in records.values() for record in some]
    if not rows:
        return "Nothing has been computed yet."
    counts = [sum(record.status == "done" for record in records.get(setting, ())) for setting in plan.settings()]
    runs = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    versions = sorted({(name, version) for record in rows for name, version in record.versions.items()})
    threads = sorted({record.threads for record in rows})
    dates = sorted(record.finished for record in rows if record.finished)
    quick = ", quick form" if plan.quick else ""
    lines = [
        f"- Runs: {runs} per setting of {plan.runs} planned{quick}; {len(rows)} rows, "
        f"{sum(map(n_failed, records.values()))} failed, {sum(map(n_cut, records.values()))} cut by a limit",
        f"- Versions: {', '.join(f'{cell(name)} {cell(version)}' for name, version in versions) or 'not recorded'}",
        f"- Threads: {', '.join(map(str, threads))}",
        f"- Computed: {dates[0]} to {dates[-1]}" if dates else "- Computed: not recorded",
    ]
    return "\n".join(lines)


def published_for(plan: Plan, setting: Setting, metric: str) -> list[Published]:
    """The published numbers for a setting; seconds stand beside our CPU seconds."""
    names = ("seconds", "cpu_seconds") if metric == "cpu_seconds" else (metric,)
    return [
        published
        for published in plan.published
        if published.method == setting.label and published.metric in names and _same_data(plan, published, setting)
    ]


def _same_data(plan: Plan, published: Published, setting: Setting) -> bool:
    # A number that names no size is of the sizes of the full form, which the quick one may not have.
    if plan.quick and "n_nodes" in setting.data and "n_nodes" not in published.data:
        return False
    return all(setting.data.get(key) == value for key, value in published.data.items())


def _published(plan: Plan, setting: Setting, metric: str, notes: Footnotes) -> str:
    found = []
    for published in published_for(plan, setting, metric):
        error = f" ± {published.error:g}" if published.error else ""
        found.append(f"{published.value:g}{error}{notes.mark(published.source)}")
    return ", ".join(found)


def _or_none(number: Mean | Ratio | None) -> str:
    return NONE if number is None else str(number)


def _nodes(settings: Iterable[Setting]) -> list[Scalar]:
    return list(dict.fromkeys(setting.data.get("n_nodes", "") for setting in settings))


def _labels(settings: Iterable[Setting]) -> list[str]:
    return list(dict.fromkeys(setting.label for setting in settings))


def _by_nodes(plan: Plan, block: list[Setting], records: Results, notes: Footnotes) -> list[str]:
    """A row for each method, a column for each number of nodes, a table for each metric."""
    parts = [f"## {cell(describe(block[0].data, ['n_nodes']))}"]
    for metric in shown_metrics(plan):
        rows = _rows(block, partial(_measured, plan, records, metric, notes))
        rows += _ratio_rows(block, records) if metric == "shd" else []
        parts += [f"**{METRICS[metric]}**: mean ± standard error (runs)", _table(block, rows)]
    if plan.drawing != "times":
        rows = _rows(block, lambda setting: _mean_only(records.get(setting, ()), "cpu_seconds"))
        parts += ["**CPU seconds**: mean", _table(block, rows)]
    return parts + _health(block, records)


def _health(block: list[Setting], records: Results) -> list[str]:
    """Sortability of the data, cycles that the threshold left, and runs without a proper end."""
    nodes = _nodes(block)
    sorted_by = [
        f"{mean.value:.2f} at d = {d}"
        for d in nodes
        if (mean := _varsortability([s for s in block if s.data.get("n_nodes", "") == d], records))
    ]
    parts = [f"Varsortability of the data, mean: {', '.join(sorted_by)}."] if sorted_by else []
    cut = _rows(block, lambda setting: _share(cut_share(records.get(setting, ()))), only_filled=True)
    if cut:
        parts += ["**Thresholding alone left a cycle**: share of runs", _table(block, cut)]
    lost = _rows(block, lambda setting: _losses(records.get(setting, ())), only_filled=True)
    if lost:
        return [*parts, "**Failed or cut by a limit**: runs", _table(block, lost)]
    return [*parts, "No run failed or was cut by a limit."]


def _rows(block: list[Setting], text: _Text, only_filled: bool = False) -> list[list[str]]:
    """For each method the text of its setting at each number of nodes; empty where the plan has no such setting."""
    at = {(setting.label, setting.data.get("n_nodes", "")): setting for setting in block}
    rows = []
    for label in _labels(block):
        cells = [text(at[label, d]) if (label, d) in at else "" for d in _nodes(block)]
        if any(cells) or not only_filled:
            rows.append([cell(label), *cells])
    return rows


def _table(block: list[Setting], rows: Iterable[Sequence[str]]) -> str:
    return table(["Method", *(f"d = {d}" for d in _nodes(block))], rows)


def _measured(plan: Plan, records: Results, metric: str, notes: Footnotes, setting: Setting) -> str:
    ours, theirs = _mean(records.get(setting, ()), metric), _published(plan, setting, metric, notes)
    return f"{ours}; published {theirs}" if theirs else ours


def _mean(records: Sequence[Record], metric: str) -> str:
    """The mean over runs that came to their own end, and where some were cut, that with them."""
    whole, everything = mean_of(records, metric), mean_of(records, metric, cut=True)
    cut = n_cut(records)
    return f"{_or_none(whole)}; {_or_none(everything)} with {cut} cut" if cut else _or_none(whole)


def _mean_only(records: Sequence[Record], metric: str) -> str:
    mean, cut = mean_of(records, metric), n_cut(records)
    alone = NONE if mean is None else number(mean.value)
    least = mean_of(records, metric, cut=True) if cut and metric == "cpu_seconds" else None
    return f"{alone}; at least {number(least.value)} with {cut} cut" if least else alone


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _losses(records: Sequence[Record]) -> str:
    counts = {"failed": n_failed(records), "cut": n_cut(records)}
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def _varsortability(settings: Iterable[Setting], records: Results) -> Mean | None:
    runs = [runs_of(records.get(setting, ()), "varsortability", cut=True) for setting in settings]
    return Mean.over({run: value for some in runs for run, value in some.items()}.values())


def _ratios(block: list[Setting], records: Results, metric: str) -> list[tuple[Setting, Setting, Ratio | None]]:
    pairs = [(setting, rival(setting, block)) for setting in block]
    runs = {setting: runs_of(records.get(setting, ()), metric) for setting in block}
    return [(ours, theirs, paired_ratio(runs[ours], runs[theirs])) for ours, theirs in pairs if theirs is not None]


def _ratio_rows(block: list[Setting], records: Results) -> list[list[str]]:
    found: dict[str, dict[Scalar, str]] = {}
    for ours, theirs, ratio in _ratios(block, records, "shd"):
        name = f"*{cell(ours.label)} over {cell(theirs.label)}, paired ratio [95 %] (runs)*"
        found.setdefault(name, {})[ours.data.get("n_nodes", "")] = _or_none(ratio)
    return [[name, *(cells.get(d, "") for d in _nodes(block))] for name, cells in found.items()]


def _wide(plan: Plan, block: list[Setting], records: Results, notes: Footnotes) -> list[str]:
    """A row for each method, a column for each number: for data of one size."""
    header, rows = ["Method"], [[cell(setting.label)] for setting in block]
    for metric in ("shd", "shd_cpdag", "cpu_seconds"):
        header += [METRICS[metric], "best run", "published"]
        for row, setting in zip(rows, block):
            row += [*_numbers(records.get(setting, ()), metric), _published(plan, setting, metric, notes)]
    header += ["edges", "cycle after threshold", "failed, cut"]
    for row, setting in zip(rows, block):
        some = records.get(setting, ())
        row += [_mean_only(some, "n_edges"), _share(cut_share(some)), _losses(some)]
    parts = [f"## {cell(describe(block[0].data))}", table(header, rows)]
    for metric in ("shd", "shd_cpdag"):
        parts += [
            f"{METRICS[metric]}, {cell(ours.label)} over {cell(theirs.label)}, paired ratio [95 %] (runs): {ratio}"
            for ours, theirs, ratio in _ratios(block, records, metric)
            if ratio
        ]
    mean = _varsortability(block, records)
    return [*parts, f"Varsortability of the data, mean: {mean.value:.2f}."] if mean else parts


def _numbers(records: Sequence[Record], metric: str) -> list[str]:
    mean = mean_of(records, metric)
    best = number(mean.best) if mean and metric != "cpu_seconds" else ""
    return [_mean(records, metric), best]

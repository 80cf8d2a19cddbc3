"""The parts of the page that are text: verdict, notes, audit, curves, provenance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from acyclic.judging.verdict import Verdict
from acyclic.report.charts import line_chart
from acyclic.result import Result

__all__ = ["confidence_by_edge", "evidence_sections", "facts", "provenance", "verdict"]


def facts(result: Result) -> str:
    """The few numbers under the heading, as list items."""
    rows = result.provenance.get("rows")
    shown = [
        f"{result.graph.n_nodes} variables",
        f"{result.graph.n_edges} edges",
        *([f"{rows:g} rows"] if rows is not None else []),
        "converged" if result.verdict.converged else "did not converge",
    ]
    return "".join(f"<li>{escape(fact)}</li>" for fact in shown)


def verdict(judgement: Verdict) -> str:
    """The verdict's sentences; what went wrong and what to beware of stand out."""
    parts = []
    for line in str(judgement).splitlines():
        warns = line.startswith(("Warning: ", "The graph is empty")) or "did NOT" in line
        parts.append(f"<p{' class=warning' if warns else ''}>{escape(line)}</p>")
    return "".join(parts)


def confidence_by_edge(result: Result) -> dict[tuple[str, str], dict[str, float]]:
    """How often the bootstrap found each edge, in its direction and in either, and the interval of its weight."""
    if not result.confidence:
        return {}
    found = {(row["source"], row["target"]): row for row in result.confidence["edges"]}
    never = {"frequency": 0.0, "adjacency": 0.0}
    return {
        (source, target): {
            "confidence": _number(found.get((source, target), never)["frequency"]),
            "either": _number(found.get((source, target), found.get((target, source), never))["adjacency"]),
            "lower": _number(found.get((source, target), {}).get("lower")),
            "upper": _number(found.get((source, target), {}).get("upper")),
        }
        for source, target, _ in result.graph.edges()
    }


def evidence_sections(result: Result, notes: Iterable[str]) -> str:
    """Data notes, confidence, audit and curve: each where there is something to say."""
    confidence, audit = result.confidence or {}, result.audit or {}
    return "".join(
        [
            _section("Data", _list([*result.verdict.notes, *notes])),
            _section("Confidence", _confidence(confidence) if confidence else ""),
            _section("Audit", _prose(audit.get("text", "")) if audit else ""),
            _section("Curve", _curve(result.curve or {})),
        ]
    )


def provenance(result: Result) -> str:
    """Settings, versions, digest of the data: all that is needed to repeat the run."""
    settings = dict(result.provenance.get("run") or result.provenance.get("settings", {}))
    # The page may travel further than the path of the table should.
    settings.pop("table", None)
    rest = {key: value for key, value in result.provenance.items() if key not in ("settings", "run", "versions")}
    return "".join(
        [
            _table("Settings", settings),
            _table("Data and run", rest),
            _table("Versions", result.provenance.get("versions", {})),
            _table("Numbers behind the verdict", result.verdict.details),
        ]
    )


def _confidence(plain: Mapping[str, Any]) -> str:
    said = (
        f"{plain['draws']} of {plain['requested']} draws of the rows were learned from again. The confidence of an "
        "edge is the share of the draws that have it in this direction; “either way” counts both directions."
    )
    return f"<p>{escape(said)}</p>" + _list(plain.get("notes", ()))


def _curve(plain: Mapping[str, Any]) -> str:
    if "trace" in plain:
        return _trace(plain["trace"])
    if "scores" not in plain:
        return ""
    column = plain["thresholds"].index(plain["threshold"])
    chosen = f"The penalty λ = {plain['chosen']:.4g} with the threshold {plain['threshold']:g}"
    said = f"{chosen} was chosen by {plain['criterion']}."
    charts = [
        line_chart(
            plain["values"],
            [row[column] for row in plain[key]],
            "penalty λ",
            name,
            marked=plain["chosen"],
            logarithmic=True,
        )
        for key, name in (("scores", plain["criterion"]), ("edges", "edges"))
    ]
    return f'<p>{escape(said)}</p><div class="charts">{"".join(charts)}</div>{_list(plain["notes"])}'


def _trace(trace: Iterable[Mapping[str, Any]]) -> str:
    points = list(trace)
    steps = [point["step"] for point in points]
    charts = [
        line_chart(steps, [point[key] for point in points], "steps", name)
        for key, name in (("objective", "objective"), ("h", "constraint h"))
        if any(math.isfinite(_number(point[key])) for point in points)
    ]
    return f'<div class="charts">{"".join(charts)}</div>' if charts else ""


def _section(title: str, content: str) -> str:
    if not content:
        return ""
    name = f"{title.lower()}-heading"
    return f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(title)}</h2>{content}</section>\n'


def _list(items: Iterable[str]) -> str:
    listed = "".join(f"<li>{escape(str(item))}</li>" for item in dict.fromkeys(items))
    return f"<ul>{listed}</ul>" if listed else ""


def _prose(text: str) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in text.splitlines() if line.strip())


def _table(title: str, values: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(str(key).replace("_", " "))}</th><td>{escape(_shown(value))}</td></tr>'
        for key, value in values.items()
        if value is not None
    )
    return f"<table class=plain><caption>{escape(title)}</caption><tbody>{rows}</tbody></table>" if rows else ""


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_shown(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return str(value)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)

"""The parts of the page that are text: verdict, notes, audit, curves, provenance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from acyclic.facts import Fact, Remark
from acyclic.findings import Findings
from acyclic.judging import words
from acyclic.judging.verdict import Verdict
from acyclic.report.charts import line_chart
from acyclic.trust.audit import Audit

__all__ = ["evidence_sections", "facts", "glossary", "provenance", "verdict"]

MOST_ALTERNATIVES = 10


def facts(result: Findings) -> str:
    """The few numbers under the heading, as list items."""
    rows, assessment = result.provenance.get("rows"), result.verdict.assessment
    grade = "" if assessment is None else assessment.grade.value
    shown = [
        f"{result.graph.n_nodes} variables",
        f"{result.graph.n_edges} edges",
        *([f"{rows:g} rows"] if rows is not None else []),
        "converged" if result.verdict.converged else "did not converge",
    ]
    last = f'<li class="grade-{escape(grade)}">grade: {escape(grade)}</li>' if result.graph.n_edges else ""
    return "".join(f"<li>{escape(fact)}</li>" for fact in shown) + last


def verdict(judgement: Verdict) -> str:
    """The verdict in its paragraphs, with its terms explained, and the facts behind it to unfold."""
    paragraphs = "".join(f"<p>{_lead(text)}</p>" for text in judgement.paragraphs())
    lines = words.say_verdict(judgement)
    facts = "".join(f"<p{' class=warning' if line.warns else ''}>{escape(line.text)}</p>" for line in lines)
    return f'{paragraphs}<details id="behind"><summary>The facts behind it</summary>{facts}</details>'


def _lead(paragraph: str) -> str:
    """A paragraph whose first words, up to the colon, stand out."""
    head, _, rest = paragraph.partition(": ")
    return f"<strong>{escape(head)}:</strong> {words.mark_terms(rest, _mark_term, escape)}"


def _mark_term(form: str, term: words.Term) -> str:
    described = f'href="#{term.anchor}" aria-describedby="{term.anchor}" data-meaning="{escape(term.meaning)}"'
    return f'<a class="term" {described}>{escape(form)}</a>'


def glossary() -> str:
    """Every term of the page, explained."""
    entries = (f'<dt>{escape(t.name)}</dt><dd id="{t.anchor}">{escape(t.meaning)}</dd>' for t in words.TERMS.values())
    return f"<dl>{''.join(entries)}</dl>"


def evidence_sections(result: Findings, notes: Iterable[str]) -> str:
    """Data notes, confidence, nearest alternatives, audit and curve: each where there is something to say."""
    confidence, audit = result.confidence or {}, result.audit or {}
    return "".join(
        [
            _section("Data", _list([*_kinds(result), *words.say_notes(result.verdict.notes), *notes])),
            _section("Confidence", _confidence(confidence) if confidence else ""),
            _section("Alternatives", _list(map(words.say_alternative, result.alternatives[:MOST_ALTERNATIVES]))),
            _section("Audit", _audit(audit) if audit else ""),
            _section("Curve", _curve(result.curve or {})),
        ]
    )


def _audit(plain: Mapping[str, Any]) -> str:
    """What the audit found; what follows from it, the verdict says."""
    audit = Audit.from_dict(plain)
    claims = "" if audit.adequacy is None else str(audit.adequacy)
    said = [*words.say_audit(audit, conclude=False).splitlines(), *claims.splitlines()]
    return _prose("\n".join(dict.fromkeys(said)))


def _kinds(result: Findings) -> list[str]:
    said = words.say_kinds(result.graph.names, result.kinds, result.levels)
    return [said] if said else []


def provenance(result: Findings) -> str:
    """Settings, versions, digest of the data: all that is needed to repeat the run."""
    settings = dict(result.provenance.get("run") or result.provenance.get("settings", {}))
    # The page may travel further than the path of the table should.
    settings.pop("table", None)
    settings.pop("knowledge", None)
    rest = {
        key: value
        for key, value in result.provenance.items()
        if key not in ("settings", "run", "versions", "knowledge")
    }
    return "".join(
        [
            _table("Settings", settings),
            _table("Prior knowledge", _stated(result)),
            _table("Data and run", rest),
            _table("Versions", result.provenance.get("versions", {})),
            _table("Numbers behind the verdict", result.verdict.details),
        ]
    )


def _stated(result: Findings) -> Mapping[str, Any]:
    stated = result.provenance.get("knowledge")
    return stated if isinstance(stated, Mapping) else {} if stated is None else {"file": stated}


def _confidence(plain: Mapping[str, Any]) -> str:
    said = (
        f"{plain['draws']} of {plain['requested']} draws of the rows were learned from again. “This way” is the share "
        "of the draws that have an edge in its direction, “either way” counts both directions."
    )
    return f"<p>{escape(said)}</p>" + _list(_say_remarks(plain))


def _say_remarks(plain: Mapping[str, Any]) -> list[str]:
    return [words.say(Fact.from_dict(Remark, note)) for note in plain.get("notes", ())]


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
    return f'<p>{escape(said)}</p><div class="charts">{"".join(charts)}</div>{_list(_say_remarks(plain))}'


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

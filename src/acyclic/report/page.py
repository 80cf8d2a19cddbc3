"""A result as one HTML page that holds everything it needs and asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from acyclic.facts import Orientation
from acyclic.files import write_text
from acyclic.findings import Findings
from acyclic.findings.edge_table import EFFECTS, MARGINS, PROBABILITIES, SHARES
from acyclic.graphs.layout import Layout, place_nodes, shorten_name
from acyclic.judging import words
from acyclic.learners.edge_effects import Form
from acyclic.report.asking import pack_questions
from acyclic.report.live import NotLive, pack_problem, read_kernel, why_not_live
from acyclic.report.sections import evidence_sections, facts, glossary, provenance, verdict
from acyclic.report.sketch import sketch_table
from acyclic.trust.explaining import find_target

# Columns of the table of edges that the page has no other name for.
SHOWN = ("support", "standardised", *EFFECTS, *SHARES, *PROBABILITIES, *MARGINS)
SCRIPTS = (
    *("model.js", "formats.js", "graph.js", "overview.js", "matrix.js", "plots.js"),
    *("learner.js", "live.js", "ask.js", "report.js"),
)
# An edge that nobody would miss is drawn as faint as this.
FAINTEST = 0.3


def report(
    result: Findings,
    path: str | os.PathLike[str] | None = None,
    *,
    confidence: Any = None,
    audit: Any = None,
    curve: Any = None,
    notes: Iterable[str] = (),
    title: str = "",
    rows: bool = True,
    target: str | None = None,
) -> str | None:
    """Write a result as one self-contained HTML page.

    The page draws the graph, which can be searched, filtered and saved in several formats, and says beside it what the
    graph rests on. It makes no request, and column names are text in it, whatever they hold.

    Parameters
    ----------
    result : Result
    path : path, optional
        Where to write the page, atomically; without it the page is returned as text.
    confidence, audit, curve : optional
        What `acyclic.bootstrap`, `acyclic.audit` and `acyclic.choose_l1` returned, or the ``to_dict()`` of it; what the
        result itself holds is the default.
    notes : iterable of str
        Remarks on the data, shown beside those of the verdict.
    title : str
        Heading of the page; the name of the table by default.
    rows : bool
        Whether the page holds a sample of the rows and the histograms, and, where the shape of the noise decides, what
        it takes of them to learn again; without them it still holds means, deviations and, where it can learn again,
        correlations or those of curves.
    target : str, optional
        The column that the page tells the causes of first; if left out, the one with the most ancestors.

    Examples
    --------
    >>> from acyclic import learn, simulate
    >>> page = report(learn(simulate(n_nodes=5, n=200).X), title="Five variables")
    >>> "<title>Five variables</title>" in page
    True
    """
    whole = result.with_evidence(confidence=confidence, audit=audit, curve=curve)
    if target is not None:
        find_target(result.graph.names, target)
    page = _page(whole, tuple(notes), title, rows, target)
    if path is None:
        return page
    # A name may hold half of a surrogate pair, which no file can.
    write_text(path, page)
    return None


def _page(result: Findings, notes: tuple[str, ...], title: str, rows: bool, target: str | None) -> str:
    style, live = _static("report.css"), why_not_live(result, rows=rows)
    library, script = _static("cytoscape.min.js"), "\n".join(map(_static, SCRIPTS))
    heading = title or str(result.provenance.get("table_name", "")) or "Learned graph"
    return Template(_static("page.html")).substitute(
        policy=_policy(library, script),
        version=escape(str(result.provenance.get("versions", {}).get("acyclic", ""))),
        title=escape(heading),
        style=style,
        facts=facts(result),
        verdict=verdict(result.verdict),
        sections=evidence_sections(result, notes),
        provenance=provenance(result),
        glossary=glossary(),
        data=_embedded(_data(result, heading, live, rows, target)),
        kernel="" if live else read_kernel(),
        library=library,
        script=script,
    )


def _static(name: str) -> str:
    return (files("acyclic.report") / "static" / name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """A content security policy under which these scripts run, and nothing is fetched from anywhere."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed} 'wasm-unsafe-eval'; worker-src blob:; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _embedded(data: Mapping[str, Any]) -> str:
    """JSON that holds no character with a meaning in HTML."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(result: Findings, heading: str, not_live: NotLive | None, rows: bool, target: str | None) -> dict[str, Any]:
    graph, placed = result.graph, place_nodes(result.graph)
    nodes = [
        {
            "name": name,
            "label": shorten_name(name),
            "x": round(x, 1),
            "y": round(y, 1),
            "width": round(width, 1),
            "layer": layer,
        }
        for name, x, y, width, layer in zip(
            graph.names, placed.x.tolist(), placed.y.tolist(), placed.widths.tolist(), placed.layers.tolist()
        )
    ]
    return {
        "title": heading,
        "order": graph.order.tolist(),
        "columns": result.edge_columns(),
        "shown": list(result.shown_columns().items()),
        "layered": placed.layered,
        "nodes": nodes,
        "edges": _edges(result, placed),
        **sketch_table(result.table, rows=rows),
        "live": {"why": not_live.value} if not_live else pack_problem(result, rows=rows),
        "ask": pack_questions(result, target),
        "say": {kind.value: words.say_support(kind, None) for kind in _ORIENTATIONS},
    }


# What can orient an edge that the page learned by itself.
_ORIENTATIONS = (
    Orientation.KNOWLEDGE,
    Orientation.INDEPENDENCE,
    Orientation.EQUAL_VARIANCES,
    Orientation.CURVATURE,
    Orientation.NOISE_SHAPE,
    Orientation.UNDETERMINED,
)


def _edges(result: Findings, placed: Layout) -> list[dict[str, Any]]:
    graph = result.graph
    rows = {(row["source"], row["target"]): row for row in result.edges()}
    near = math.log(max(float(result.provenance.get("rows") or 0.0), 3.0))
    shown = [name for name in result.shown_columns() if name not in ("source", "target", "rests_on")]
    edges = []
    for i, j in np.argwhere(graph.weights).tolist():
        weight, row = float(graph.weights[i, j]), rows[graph.names[i], graph.names[j]]
        support, reversible = Orientation(row["support"]), bool(result.cpdag.undirected[i, j])
        edges.append(
            {
                "source": i,
                "target": j,
                "weight": weight,
                **{name: _finite(value) for name, value in row.items() if name in SHOWN and value is not None},
                **_told(result, graph.names[i], graph.names[j]),
                "rests_on": row["rests_on"],
                "shown": {name: words.show_cell(row, name) for name in shown},
                "reversible": reversible,
                "open": reversible or support.is_near_tie,
                "decided": support.is_decided,
                "opacity": round(_opacity(row, near), 2),
                "bends": [[round(x, 1), round(y, 1)] for x, y in placed.bends.get((i, j), ())],
            }
        )
    return edges


def _told(result: Findings, source: str, target: str) -> dict[str, Any]:
    """The curve of an edge or the effects of its levels, and which numbers in the rows are which level."""
    effect = result.effects.get((source, target))
    if effect is None or not effect.at:
        return {}
    told = {name: getattr(effect, name) for name in ("at", "of", "values", "errors")}
    if effect.form is Form.LEVELS and result.fitted is not None:
        coding = result.fitted.codings[source]
        told |= {"numbers": coding.values, "codes": coding.codes}
    return {"told": told}


def _opacity(row: Mapping[str, Any], near: float) -> float:
    """How strongly an edge is drawn: by the share of draws that have it, else by how far it is ahead of being left out.

    A margin of ``near`` is that of a near-tie; from four times that on an edge is drawn in full.
    """
    if row["either_way"] is not None:
        sure = float(row["either_way"])
    elif row["left_out"] is not None:
        sure = min(float(row["left_out"]) / (4 * near), 1.0)
    else:
        return 1.0
    return FAINTEST + (1 - FAINTEST) * sure


def _finite(value: Any) -> Any:
    """A value for JSON, which has no infinity: that is a word there, as in CSV."""
    return "inf" if value == np.inf else value

"""A result as one HTML page that holds everything it needs and asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from acyclic.facts import Orientation
from acyclic.files import write_text
from acyclic.findings import MARGINS, SHARES, Findings
from acyclic.graphs.drawing import scale_stroke
from acyclic.graphs.layout import place_nodes, shorten_name
from acyclic.judging import words
from acyclic.report.charts import heat_map
from acyclic.report.sections import evidence_sections, facts, provenance, verdict

# Columns of the table of edges that the page has no other name for.
SHOWN = ("support", *SHARES, *MARGINS)
SCRIPTS = ("model.js", "formats.js", "graph.js", "report.js")


def report(
    result: Findings,
    path: str | os.PathLike[str] | None = None,
    *,
    confidence: Any = None,
    audit: Any = None,
    curve: Any = None,
    notes: Iterable[str] = (),
    title: str = "",
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

    Examples
    --------
    >>> from acyclic import learn, simulate
    >>> page = report(learn(simulate(n_nodes=5, n=200).X), title="Five variables")
    >>> "<title>Five variables</title>" in page
    True
    """
    page = _page(result.with_evidence(confidence=confidence, audit=audit, curve=curve), tuple(notes), title)
    if path is None:
        return page
    # A name may hold half of a surrogate pair, which no file can.
    write_text(path, page)
    return None


def _page(result: Findings, notes: tuple[str, ...], title: str) -> str:
    style = _static("report.css")
    library, script = _static("cytoscape.min.js"), "\n".join(map(_static, SCRIPTS))
    heading = title or str(result.provenance.get("table_name", "")) or "Learned graph"
    return Template(_static("page.html")).substitute(
        policy=_policy(library, script),
        version=escape(str(result.provenance.get("versions", {}).get("acyclic", ""))),
        title=escape(heading),
        style=style,
        facts=facts(result),
        verdict=verdict(result.verdict),
        matrix=heat_map(result.graph),
        sections=evidence_sections(result, notes),
        provenance=provenance(result),
        data=_embedded(_data(result, heading)),
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
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _embedded(data: Mapping[str, Any]) -> str:
    """JSON that holds no character with a meaning in HTML."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(result: Findings, heading: str) -> dict[str, Any]:
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
    rows = {(row["source"], row["target"]): row for row in result.edges()}
    largest = float(np.abs(graph.weights).max())
    edges = []
    for i, j in np.argwhere(graph.weights).tolist():
        weight, row = float(graph.weights[i, j]), rows[graph.names[i], graph.names[j]]
        support, reversible = Orientation(row["support"]), bool(result.cpdag.undirected[i, j])
        edges.append(
            {
                "source": i,
                "target": j,
                "weight": weight,
                "stroke": round(scale_stroke(weight, largest), 2),
                **{name: _finite(value) for name, value in row.items() if name in SHOWN and value is not None},
                "rests_on": words.say_support(support, row["turned"]),
                "reversible": reversible,
                "open": reversible or support.is_near_tie,
                "bends": [[round(x, 1), round(y, 1)] for x, y in placed.bends.get((i, j), ())],
            }
        )
    order, columns = graph.order.tolist(), result.edge_columns()
    return {"title": heading, "order": order, "columns": columns, "nodes": nodes, "edges": edges}


def _finite(value: Any) -> Any:
    """A value for JSON, which has no infinity: that is a word there, as in CSV."""
    return "inf" if value == np.inf else value

"""What ``--json`` prints, as a JSON Schema: each document says in ``format`` which of these it is, and its version.

A version counts up when something is removed or changes its meaning; new fields may come at any time.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from acyclic.facts import Caution, Difference, Doubt, Empty, Ended, Note, Orientation, Remark, Removal, Standing

DRAFT = "https://json-schema.org/draft/2020-12/schema"

# The commands and the formats of what they print.
FORMATS = {
    "learn": "acyclic result 2",
    "bootstrap": "acyclic bootstrap 2",
    "audit": "acyclic audit 2",
    "compare": "acyclic comparison 1",
    "simulate": "acyclic simulation 1",
    "report": "acyclic page 1",
    "datasets": "acyclic datasets 1",
    "plugins": "acyclic plugins 1",
    "reproduce": "acyclic reproduction 1",
}
ERROR = "acyclic error 1"

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
# JSON has no infinity and no nan: they are null.
OPEN: Schema = {"type": ["number", "null"]}
ANYTHING: Schema = {"type": "object"}


def make_schema(name: str | None = None) -> Schema:
    """The schema of what one command prints, of "error", or of any document.

    Examples
    --------
    >>> make_schema("compare")["properties"]["format"]
    {'const': 'acyclic comparison 1'}
    """
    documents = {**{command: _DOCUMENTS[command]() for command in FORMATS}, "error": _error()}
    if name is not None:
        return {"$schema": DRAFT, "$id": f"urn:acyclic:{name}", **documents[name]}
    references = [{"$ref": f"#/$defs/{command}"} for command in documents]
    return {"$schema": DRAFT, "$id": "urn:acyclic:documents", "oneOf": references, "$defs": documents}


def _record(needed: Schema, optional: Schema | None = None, form: str | None = None) -> Schema:
    first = {} if form is None else {"format": {"const": form}}
    properties = {**first, **needed, **(optional or {})}
    return {"type": "object", "required": [*first, *needed], "properties": properties}


def _each(one: Schema) -> Schema:
    return {"type": "array", "items": one}


def _or_null(one: Schema) -> Schema:
    return {"anyOf": [one, {"type": "null"}]}


def _member(kinds: type[StrEnum]) -> Schema:
    return {"enum": [kind.value for kind in kinds]}


def _fact(kinds: type[StrEnum]) -> Schema:
    value = {"type": ["string", "number", "boolean", "null"]}
    optional = {"about": _each(TEXT), "values": {"type": "object", "additionalProperties": value}}
    return _record({"kind": _member(kinds)}, optional)


PAIRS = _each({"type": "array", "prefixItems": [TEXT, TEXT], "minItems": 2, "maxItems": 2})
EDGES = _each({"type": "array", "prefixItems": [TEXT, TEXT, NUMBER], "minItems": 3, "maxItems": 3})


def _verdict() -> Schema:
    facts = {"removed": Removal, "notes": Note, "cautions": Caution, "standing": Standing}
    return _record(
        {
            "method": TEXT,
            "settings": ANYTHING,
            "end": _fact(Ended),
            "orientation": _member(Orientation),
            "n_nodes": COUNT,
            "n_edges": COUNT,
            "h": OPEN,
            "threshold": NUMBER,
            "n_cut": COUNT,
            "empty": _or_null(_fact(Empty)),
            "details": ANYTHING,
            **{name: _each(_fact(kinds)) for name, kinds in facts.items()},
        }
    )


def _result() -> Schema:
    from acyclic.types import Kind  # here, as the command starts without NumPy

    edge = _record(
        {"source": TEXT, "target": TEXT, "weight": NUMBER, "support": _member(Orientation)},
        {"turned": OPEN, "left_out": OPEN},
    )
    changes = dict.fromkeys(("with", "without", "turned", "fixed", "removed", "added"), PAIRS)
    point = _record({"step": NUMBER, "objective": OPEN, "h": OPEN})
    return _record(
        {
            "names": _each(TEXT),
            "edges": _each(edge),
            "undirected": PAIRS,
            "directed": PAIRS,
            "verdict": _verdict(),
            "provenance": ANYTHING,
        },
        {
            "kinds": _each(_member(Kind)),
            "levels": {"type": "object", "additionalProperties": _each(TEXT)},
            "deviations": _each(NUMBER),
            "alternatives": _each(_record({"excess": NUMBER, **changes})),
            "confidence": _bootstrap(),
            "audit": _audit(),
            "curve": _record({}, {"trace": _each(point)}),
        },
        FORMATS["learn"],
    )


def _bootstrap() -> Schema:
    shares = dict.fromkeys(("frequency", "adjacency", "direction"), SHARE)
    spread = dict.fromkeys(("weight", "lower", "upper"), OPEN)
    row = _record({"source": TEXT, "target": TEXT, **shares, **spread, "learned": FLAG})
    counts = {"draws": COUNT, "requested": COUNT}
    told = {"end": _fact(Ended), "notes": _each(_fact(Remark))}
    return _record(
        {"names": _each(TEXT), **counts, "edges": _each(row), "graph": EDGES, **told}, {}, FORMATS["bootstrap"]
    )


def _audit() -> Schema:
    fates = dict.fromkeys(("surviving", "turning", "undetermined", "vanishing"), PAIRS)
    return _record(
        {
            "sound": FLAG,
            "reasons": _each(_fact(Doubt)),
            "end": _fact(Ended),
            "notes": _each(_fact(Remark)),
            "names": _each(TEXT),
            "edges": EDGES,
            **fates,
            "refits": COUNT,
            "varsortability": OPEN,
            "r2sortability": OPEN,
            "sorting_alone": COUNT,
            "equal_variances": ANYTHING,
        },
        {},
        FORMATS["audit"],
    )


def _comparison() -> Schema:
    counts = ("shd", "n_true", "n_estimated", "true_positive", "reversed", "false_positive", "missing")
    scores = {**dict.fromkeys(counts, COUNT), **dict.fromkeys(("fdr", "tpr", "fpr"), NUMBER)}
    distances = ("shd_cpdag", "sid", "parent_aid", "ancestor_aid", "oset_aid")
    return _record(
        {
            **scores,
            **dict.fromkeys(distances, _or_null(COUNT)),
            "favourable": _record(scores),
            "notes": _each(TEXT),
            "differences": _each(_fact(Difference)),
            "only_in_truth": _each(TEXT),
            "only_in_estimate": _each(TEXT),
        },
        {"page": TEXT},
        FORMATS["compare"],
    )


def _error() -> Schema:
    """What is printed in the place of an answer; a result that could not be written is printed all the same."""
    kinds = {"enum": ["usage", "input", "missing-extra", "fault", "interrupted"]}
    codes = {"enum": [1, 2, 70, 130]}
    return _record({"kind": kinds, "message": TEXT, "exit_code": codes}, {"extra": TEXT}, ERROR)


def _simulation() -> Schema:
    return _record({"folder": TEXT, "rows": COUNT, "nodes": COUNT, "edges": COUNT}, {}, FORMATS["simulate"])


def _page() -> Schema:
    return _record({"page": TEXT}, {}, FORMATS["report"])


def _datasets() -> Schema:
    """The list, or the folder that one was written to."""
    listed = _each(_record({"name": TEXT, "what": TEXT}))
    either = [{"required": ["datasets"]}, {"required": ["folder"]}]
    return {**_record({}, {"datasets": listed, "folder": TEXT}, FORMATS["datasets"]), "oneOf": either}


def _plugins() -> Schema:
    group = {"enum": ["acyclic.learners", "acyclic.constraints"]}
    texts = dict.fromkeys(("name", "package", "target", "why"), TEXT)
    return _record({"plugins": _each(_record({"group": group, **texts, "usable": FLAG}))}, {}, FORMATS["plugins"])


def _reproduction() -> Schema:
    """The list of plans, or what was computed, or computed again."""
    plan = _record({"name": TEXT, "paper": TEXT, "title": TEXT})
    counts = dict.fromkeys(("computed", "stored", "failed", "cut"), COUNT)
    either = [{"required": ["plans"]}, {"required": ["folder", *counts]}, {"required": ["checked", "same", "stale"]}]
    distance = _or_null(COUNT)
    other = {"method": TEXT, "data": ANYTHING, "run": COUNT, "stored_shd": distance, "shd": distance}
    again = {"checked": COUNT, "same": COUNT, "stale": FLAG}
    again["differing"] = _each(_record({**other, "failed": _or_null(TEXT)}))
    optional = {"plans": _each(plan), "folder": TEXT, **counts, "left": COUNT, **again}
    return {**_record({}, optional, FORMATS["reproduce"]), "oneOf": either}


_DOCUMENTS = {
    "learn": _result,
    "bootstrap": _bootstrap,
    "audit": _audit,
    "compare": _comparison,
    "simulate": _simulation,
    "report": _page,
    "datasets": _datasets,
    "plugins": _plugins,
    "reproduce": _reproduction,
}

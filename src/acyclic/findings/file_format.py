"""The file format of results (writes 2, reads 1): what a file holds, how it is written, read and checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from acyclic.data.model import SHAPE as MODEL
from acyclic.data.model import Model
from acyclic.documents import parse_json
from acyclic.errors import InputError, show_name
from acyclic.facts import Caution, Empty, Ended, Note, Orientation, Removal, Standing
from acyclic.findings.edge_table import PROBABILITIES
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag
from acyclic.judging.alternatives import CHANGES, NamedAlternative
from acyclic.judging.verdict import Margin, Pair, Verdict
from acyclic.learners.edge_effects import SHAPE as EFFECT
from acyclic.learners.edge_effects import EdgeEffect
from acyclic.ranges import (
    ANYTHING,
    EDGES,
    FLAG,
    MAPPING,
    NONE,
    PAIRS,
    SHARE,
    TEXT,
    Range,
    a_fact,
    check_document,
    each,
    member,
    number,
    one_of,
    record,
    whole,
)
from acyclic.types import Kind

if TYPE_CHECKING:
    from acyclic.findings import Findings

FORMAT, FORMAT_1 = "acyclic result 2", "acyclic result 1"
EVIDENCE = ("confidence", "audit", "curve")
# The words of format 1 for what orients an edge.
_SUPPORT_1 = {"equal variances": Orientation.EQUAL_VARIANCES, "": Orientation.UNDETERMINED}
NO_RESULT = "this is not a result file of acyclic"
_NO_WEIGHT = Range("a finite number, not 0", lambda value: number().accepts(value) and value != 0)
_SHARES = {"frequency": SHARE, "adjacency": SHARE, "lower": number() | NONE, "upper": number() | NONE}
_COUNTS = {"n_nodes": whole(least=1), "n_edges": whole(least=0), "n_cut": whole(least=0)}
_OF_VERDICT = {**_COUNTS, "method": TEXT, "h": number() | NONE, "threshold": number(least=0), "details": MAPPING}
_FACTS = {"removed": Removal, "notes": Note, "cautions": Caution}
_VERDICT = record(
    {
        **_OF_VERDICT,
        "settings": MAPPING,
        "end": a_fact(Ended),
        "orientation": member(Orientation),
        "empty": a_fact(Empty) | NONE,
        **{name: each(a_fact(kinds)) for name, kinds in _FACTS.items()},
    },
    {**{entry.name: ANYTHING for entry in fields(Verdict)}, "standing": each(a_fact(Standing))},
    closed=True,
)
_VERDICT_1 = record(
    {
        **_OF_VERDICT,
        **dict.fromkeys(("reason", "rule", "empty"), TEXT),
        **dict.fromkeys(("notes", "warnings"), each(TEXT)),
        "converged": FLAG,
        "removed": EDGES,
    }
)
_POINT = record({"step": number(), "objective": number() | NONE, "h": number() | NONE})
_PROVENANCE = record(
    {},
    {
        "versions": MAPPING,
        "settings": MAPPING,
        "run": MAPPING | NONE,
        "rows": number(least=0) | NONE,
        "seconds": number() | NONE,
        **dict.fromkeys(("data", "table_name"), TEXT | NONE),
    },
)


_LEVELS = Range(
    MAPPING.words, MAPPING.accepts, lambda given, at: ((f"{at}.{k}", v, each(TEXT)) for k, v in given.items())
)


def _shape(form: str, support: Range, verdict: Range, remarks: Mapping[str, Range]) -> Range:
    """What a result file of a format holds."""
    margins = dict.fromkeys(Margin._fields, number(least=0) | NONE)
    edge = record({"source": TEXT, "target": TEXT, "weight": _NO_WEIGHT, "support": support}, margins, closed=True)
    other = record({"excess": number(least=0), **dict.fromkeys(("with", "without", *CHANGES), PAIRS)})
    shares = each(record({"source": TEXT, "target": TEXT}, _SHARES | dict.fromkeys(PROBABILITIES, SHARE | NONE)))
    needed = {"format": one_of(form), "names": each(TEXT), "edges": each(edge)}
    needed |= {"undirected": PAIRS, "directed": PAIRS, "verdict": verdict, "provenance": _PROVENANCE}
    evidence = {
        "confidence": record({"edges": shares}, {"unseen": SHARE | NONE, **remarks}),
        "audit": record({}, remarks),
        "curve": record({}, {"trace": each(_POINT), **remarks}),
    }
    optional = {name: part | NONE for name, part in evidence.items()}
    optional |= {"alternatives": each(other), "deviations": each(number(least=0))}
    optional |= {"kinds": each(member(Kind)), "levels": _LEVELS, "model": MODEL, "effects": each(EFFECT)}
    return record(needed, optional, closed=True)


SHAPE = _shape(FORMAT, member(Orientation), _VERDICT, {"notes": each(MAPPING), "end": a_fact(Ended)})
_SENTENCES = dict.fromkeys(("notes", "reasons"), each(TEXT))
SHAPE_1 = _shape(FORMAT_1, member(Orientation) | one_of(*_SUPPORT_1), _VERDICT_1, _SENTENCES)
# What has another name in the provenance since format 1, whose digest was that of the moments, not of the values.
_ORIGIN_1 = {"data": "moments", "table": "table_name"}


def write_result(found: Findings) -> str:
    """All of a result as text in the format that `read_result` takes."""
    pairs = [(source, target) for source, target, _ in found.graph.edges()]
    plain = {
        "format": FORMAT,
        "names": found.graph.names,
        **({"kinds": found.kinds, "levels": found.levels} if found.kinds else {}),
        "edges": [
            {
                "source": source,
                "target": target,
                "weight": weight,
                "support": found.verdict.support.get((source, target), Orientation.UNDETERMINED).value,
                **_known(found.verdict.margins.get((source, target), Margin())),
            }
            for source, target, weight in found.graph.edges()
        ],
        "undirected": found.cpdag.undirected_edges(),
        "directed": found.cpdag.directed_edges(),
        "verdict": found.verdict.to_dict(),
        "provenance": dict(found.provenance),
        **({"deviations": list(found.deviations)} if found.deviations else {}),
        **({"alternatives": [other.to_dict(pairs) for other in found.alternatives]} if found.alternatives else {}),
        **{name: dict(getattr(found, name)) for name in EVIDENCE if getattr(found, name) is not None},
    }
    text = json.dumps(make_plain(plain), indent=1, allow_nan=False)
    # Long lists of numbers are for programs: each part on a line of its own.
    parts: dict[str, Any] = {} if found.fitted is None else {"model": found.fitted.to_dict()}
    if found.effects:
        parts["effects"] = [found.effects[pair].to_dict() for pair in pairs]
    lines = [f',\n "{name}": {json.dumps(part, separators=(",", ":"))}' for name, part in parts.items()]
    return text.removesuffix("\n}") + "".join(lines) + "\n}"


def is_findings(text: str) -> bool:
    """Whether a JSON text says that it is a result, whatever else it holds."""
    return FORMAT in text or FORMAT_1 in text


def read_result(text: str) -> dict[str, Any]:
    """What a file holds, by the names of the attributes of `Findings`: each part well-formed, or an InputError."""
    plain, old = _parse(text)
    names, edges = plain["names"], plain["edges"]
    pairs = [(edge["source"], edge["target"]) for edge in edges]
    held = _read_graph(plain, pairs)
    support = {pair: _support(edge["support"], old) for pair, edge in zip(pairs, edges)}
    margins = {pair: _read_margin(edge) for pair, edge in zip(pairs, edges) if edge.keys() & set(Margin._fields)}
    stated = plain["verdict"]
    evidence = {name: plain[name] for name in EVIDENCE if plain.get(name) is not None}
    return {
        **held,
        "verdict": Verdict.from_format_1(stated, support) if old else Verdict.from_dict(stated, support, margins),
        "provenance": {_ORIGIN_1.get(name, name) if old else name: part for name, part in plain["provenance"].items()},
        **{name: _upgrade(part) if old else part for name, part in evidence.items()},
        "deviations": tuple(map(float, plain.get("deviations", ()))),
        "kinds": tuple(map(Kind, plain.get("kinds", ()))),
        "levels": {name: tuple(known) for name, known in plain.get("levels", {}).items()},
        "fitted": _read_model(plain.get("model"), names, held["graph"]),
        "effects": _read_effects(plain.get("effects", ()), pairs),
    }


def _parse(text: str) -> tuple[dict[str, Any], bool]:
    """The fields of a file, each of its shape, and whether it is of format 1."""
    try:
        plain = parse_json(text)
    except InputError as error:
        raise InputError(f"{NO_RESULT}: ", *error.parts) from None
    check_document(plain, record({"format": one_of(FORMAT, FORMAT_1)}), NO_RESULT)
    old = plain["format"] == FORMAT_1
    check_document(plain, SHAPE_1 if old else SHAPE, NO_RESULT)
    return plain, old


def _read_graph(plain: Mapping[str, Any], pairs: Sequence[Pair]) -> dict[str, Any]:
    """The graph, its class and the other classes, which name nodes."""
    names = plain["names"]
    try:
        graph = Dag.from_edges([(*pair, edge["weight"]) for pair, edge in zip(pairs, plain["edges"])], names)
        cpdag = Cpdag.from_edges(plain["directed"], plain["undirected"], names)
        others = [NamedAlternative.from_dict(other, names, pairs) for other in plain.get("alternatives", ())]
    except KeyError as error:
        raise InputError(f"{NO_RESULT}: alternatives name the unknown node {show_name(str(error.args[0]))}") from None
    except InputError as error:
        raise InputError(f"{NO_RESULT}: ", *error.parts) from None
    return {"graph": graph, "cpdag": cpdag, "alternatives": tuple(others)}


def check_whole(found: Findings) -> None:
    """Raise an InputError where parts of a file, each well-formed, do not belong together."""
    graph, verdict = found.graph, found.verdict
    joined = graph.adjacency | graph.adjacency.T
    if len(found.deviations) not in (0, graph.n_nodes):
        raise InputError(f"{NO_RESULT}: deviations has to hold {graph.n_nodes} numbers; got {len(found.deviations)}")
    if not np.array_equal(joined, found.cpdag.arcs | found.cpdag.arcs.T):
        raise InputError(f"{NO_RESULT}: directed and undirected have to join the nodes that edges join")
    for name, count in (("n_nodes", graph.n_nodes), ("n_edges", graph.n_edges)):
        if getattr(verdict, name) != count:
            raise InputError(f"{NO_RESULT}: verdict.{name} has to be {count}; got {getattr(verdict, name)}")
    if len(found.kinds) not in (0, graph.n_nodes):
        raise InputError(f"{NO_RESULT}: kinds has to have {graph.n_nodes} values; got {len(found.kinds)}")
    if unknown := [name for name in found.levels if name not in graph.names]:
        raise InputError(f"{NO_RESULT}: levels name the unknown node {show_name(unknown[0])}")
    try:
        str(verdict)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{NO_RESULT}: the values of a fact in verdict do not fit its kind ({error})") from None


def _read_model(plain: Mapping[str, Any] | None, names: Sequence[str], graph: Dag) -> Model | None:
    if plain is None:
        return None
    try:
        model = Model.from_dict(plain, names)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{NO_RESULT}: model: {error}") from None
    if not np.array_equal(model.adjacency, graph.adjacency):
        raise InputError(f"{NO_RESULT}: model: its parents are not those of edges")
    return model


def _read_effects(plain: Sequence[Mapping[str, Any]], pairs: Sequence[Pair]) -> dict[Pair, EdgeEffect]:
    if len(plain) not in (0, len(pairs)):
        raise InputError(f"{NO_RESULT}: effects has to have {len(pairs)} values; got {len(plain)}")
    try:
        return dict(zip(pairs, map(EdgeEffect.from_dict, plain)))
    except ValueError as error:
        raise InputError(f"{NO_RESULT}: effects: {error}") from None


def _known(margin: Margin) -> dict[str, float]:
    """The margins that a file holds: one that is infinite becomes null there, one that is not known is left out."""
    return {name: value for name, value in margin._asdict().items() if value is not None}


def _read_margin(edge: Mapping[str, Any]) -> Margin:
    read = {name: math.inf if edge[name] is None else float(edge[name]) for name in Margin._fields if name in edge}
    return Margin(**read)


def _support(word: str, old: bool) -> Orientation:
    return _SUPPORT_1[word] if old and word in _SUPPORT_1 else Orientation(word)


def _upgrade(part: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence of format 1, whose notes and reasons were sentences."""
    plain = {name: value for name, value in part.items() if name != "text"}
    if "format" in plain:
        plain["format"] = str(plain["format"]).replace(" 1", " 2")
    for name in ("notes", "reasons"):
        if name in plain:
            plain[name] = [{"kind": "unknown", "values": {"text": str(text)}} for text in plain[name]]
    return plain


def make_plain(value: Any) -> Any:
    """Values that every reader of JSON takes: numbers that are not finite, which it does not have, become null."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): make_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [make_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"{type(value).__name__} cannot be written to a result file")

"""GraphML text, with node names as identifiers, as networkx reads and writes it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from math import isfinite

from acyclic.errors import InputError, show_name
from acyclic.graphs.checks import check_names
from acyclic.graphs.edge_list import EdgeList, ListedEdge

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
# What XML 1.0 cannot hold, and what would read like its replacement.
_TO_ESCAPE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]|_(?=x[0-9A-F]{4}_)")
_ESCAPED = re.compile("_x([0-9A-F]{4})_")


def write_graphml(graph: EdgeList) -> str:
    """Write GraphML, weights exact; of an equivalence class, the graph ``cpdag`` with some edges undirected.

    Characters that XML cannot hold are written ``_xHHHH_`` (their code in hexadecimal). The graph attribute
    ``escaped`` says where that was done, so that other names which look like it are left alone.
    """
    names = {name: _TO_ESCAPE.sub(lambda match: f"_x{ord(match[0]):04X}_", name) for name in graph.names}
    escaped = any(name != written for name, written in names.items())
    root = ElementTree.Element("graphml", xmlns=_NAMESPACE)
    if not graph.is_class:
        _declare(root, "weight", "edge", "double")
    if escaped:
        _declare(root, "escaped", "graph", "boolean")
    mark = {"id": "cpdag"} if graph.is_class else {}
    parent = ElementTree.SubElement(root, "graph", mark, edgedefault="directed")
    if escaped:
        ElementTree.SubElement(parent, "data", key="escaped").text = "true"
    for written in names.values():
        ElementTree.SubElement(parent, "node", id=written)
    for source, target, weight, directed in graph.edges:
        edge = ElementTree.SubElement(parent, "edge", source=names[source], target=names[target])
        if not directed:
            edge.set("directed", "false")
        if not graph.is_class:
            ElementTree.SubElement(edge, "data", key="weight").text = repr(weight)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _declare(root: ElementTree.Element, name: str, subject: str, kind: str) -> None:
    attributes = {"id": name, "for": subject, "attr.name": name, "attr.type": kind}
    ElementTree.SubElement(root, "key", attributes)


def read_graphml(text: str) -> EdgeList:
    """Read a GraphML graph; see `acyclic.graphs.formats.from_graphml`."""
    if "<!DOCTYPE" in text:
        raise InputError("the GraphML text has a DOCTYPE, which is not read; remove it")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(f"line {error.position[0]}: this is not well-formed GraphML ({error})") from None
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise InputError(f"line {line}: half of a surrogate pair is not text; remove it") from None
    graphs = list(_list_children(root, "graph"))
    if _strip_namespace(root) != "graphml" or len(graphs) != 1:
        raise InputError(f"expected <graphml> with one <graph>, found <{_strip_namespace(root)}> with {len(graphs)}")
    return _read_graph(root, graphs[0])


def _read_graph(root: ElementTree.Element, graph: ElementTree.Element) -> EdgeList:
    edges = list(_list_children(graph, "edge"))
    default = "true" if graph.get("edgedefault") == "directed" else "false"
    escaped = _find_data(root, graph, "graph", "escaped") == "true"

    def read_name(element: ElementTree.Element, attribute: str) -> str:
        written = element.get(attribute)
        if written is None:
            raise InputError(f"a <{_strip_namespace(element)}> has no {attribute}")
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), written) if escaped else written

    names = check_names([read_name(node, "id") for node in _list_children(graph, "node")])
    ends = [(read_name(edge, "source"), read_name(edge, "target")) for edge in edges]
    weights = [_read_weight(pair, _find_data(root, edge, "edge", "weight")) for pair, edge in zip(ends, edges)]
    directed = [edge.get("directed", default) == "true" for edge in edges]
    listed = [ListedEdge(*pair, weight, arrow) for pair, weight, arrow in zip(ends, weights, directed)]
    return EdgeList(names, listed, is_class=graph.get("id") == "cpdag")


def _find_data(root: ElementTree.Element, element: ElementTree.Element, subject: str, name: str) -> str | None:
    """Find the attribute `name` of an element: its own value, or the declared default."""
    for key in _list_children(root, "key"):
        if key.get("attr.name") == name and key.get("for", "all") in (subject, "all"):
            own = (data.text for data in _list_children(element, "data") if data.get("key") == key.get("id"))
            declared = (default.text for default in _list_children(key, "default"))
            return next(own, next(declared, None))
    return None


def _read_weight(ends: tuple[str, str], text: str | None) -> float:
    try:
        weight = 1.0 if text is None else float(text)
    except ValueError:
        weight = 0.0
    if weight == 0 or not isfinite(weight):
        edge = f"{show_name(ends[0])} → {show_name(ends[1])}"
        raise InputError(f"the edge {edge} has the weight {text!r}; it must be a finite number, not 0")
    return weight


def _strip_namespace(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _list_children(element: ElementTree.Element, tag: str) -> Iterator[ElementTree.Element]:
    return (child for child in element if _strip_namespace(child) == tag)

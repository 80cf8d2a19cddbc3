"""JSON text of a graph."""

from __future__ import annotations

import json
from typing import Any

from acyclic.documents import parse_json
from acyclic.errors import InputError
from acyclic.graphs.edge_list import EdgeList, ListedEdge
from acyclic.ranges import number, show_value


def write_json(graph: EdgeList) -> str:
    """Write a list ``nodes`` of names and a list ``edges`` of objects with source, target and weight.

    An equivalence class is marked ``"graph": "cpdag"``, and its edges have ``directed`` in place of the weight.

    Examples
    --------
    >>> print(write_json(EdgeList(["a", "b"], [ListedEdge("a", "b", 0.5)])), end="")
    {
     "nodes": [
      "a",
      "b"
     ],
     "edges": [
      {
       "source": "a",
       "target": "b",
       "weight": 0.5
      }
     ]
    }
    """
    mark = {"graph": "cpdag"} if graph.is_class else {}
    edges = [
        {
            "source": edge.source,
            "target": edge.target,
            **({"directed": edge.directed} if graph.is_class else {"weight": edge.weight}),
        }
        for edge in graph.edges
    ]
    return json.dumps({**mark, "nodes": list(graph.names), "edges": edges}, ensure_ascii=False, indent=1) + "\n"


def read_json(text: str) -> EdgeList:
    """Read what `write_json` writes; see `acyclic.graphs.formats.from_json`."""
    document = parse_json(text)
    names, edges = (document.get(key) if isinstance(document, dict) else None for key in ("nodes", "edges"))
    if not isinstance(names, list) or not isinstance(edges, list):
        raise InputError('the JSON text must be an object with the lists "nodes" and "edges"')
    listed = [_read_edge(position, edge) for position, edge in enumerate(edges)]
    return EdgeList(names, listed, document.get("graph") == "cpdag")


def _read_edge(position: int, edge: Any) -> ListedEdge:
    if isinstance(edge, dict):
        source, target, weight = edge.get("source"), edge.get("target"), edge.get("weight", 1)
        directed = edge.get("directed", True)
        named = isinstance(source, str) and isinstance(target, str)
        if named and number().accepts(weight) and isinstance(directed, bool):
            return ListedEdge(str(source), str(target), float(weight), directed)
    raise InputError(
        f'edges[{position}] is {show_value(edge)}; expected {{"source": name, "target": name, "weight": number}}, '
        'or "directed": false for an edge without direction'
    )

"""Graphs of networkx, which is imported when it is needed."""

from __future__ import annotations

from typing import Any

from acyclic.errors import InputError, MissingExtraError
from acyclic.graphs.edge_list import EdgeList, ListedEdge


def make_networkx(graph: EdgeList) -> Any:
    """Make a ``networkx.DiGraph`` with the names as nodes, in order, and the edge attribute ``weight``."""
    made = _import_networkx().DiGraph()
    made.add_nodes_from(graph.names)
    made.add_weighted_edges_from(edge[:3] for edge in graph.edges)
    return made


def list_networkx(graph: Any, weight: str = "weight") -> EdgeList:
    """List nodes and edges of a ``networkx.DiGraph``; an edge without the attribute `weight` has the weight 1."""
    if not isinstance(graph, _import_networkx().DiGraph) or graph.is_multigraph():
        raise InputError(f"expected a networkx.DiGraph, not {type(graph).__name__}; convert it first")
    try:
        edges = [
            ListedEdge(str(source), str(target), float(value))
            for source, target, value in graph.edges(data=weight, default=1)
        ]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the edge attribute {weight!r} must be a number on every edge that has it ({error})"
        ) from None
    return EdgeList([str(node) for node in graph], edges)


def _import_networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise MissingExtraError("exchange with networkx", "networkx", "graphs") from None
    return networkx

"""Graphs from text and files: JSON, CSV, GraphML, DOT, DAGitty, and from networkx; every round trip is exact.

A graph writes itself: `Dag.to_json`, `Cpdag.to_json` and their like. A text that calls itself an equivalence class, or
holds an edge without direction, is read as a `Cpdag`, any other as a `Dag`: an undirected edge never becomes an arrow.
The weights of a class, which other programs may write, are not kept.

Names keep every character and weights every bit. A file is UTF-8, so a name with half of a surrogate pair, which is not
text, cannot be saved.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from acyclic.errors import InputError
from acyclic.files import write_atomically
from acyclic.graphs.csv_text import read_csv, write_csv
from acyclic.graphs.dag import Dag
from acyclic.graphs.dot import read_dagitty, read_dot, write_dagitty, write_dot
from acyclic.graphs.edge_list import EdgeList
from acyclic.graphs.equivalence import Cpdag
from acyclic.graphs.exchange import list_networkx
from acyclic.graphs.graphml import read_graphml, write_graphml
from acyclic.graphs.json_text import read_json, write_json

__all__ = ["from_csv", "from_dagitty", "from_dot", "from_graphml", "from_json", "from_networkx", "read", "save"]


def save(graph: Dag | Cpdag, path: str | PathLike[str]) -> None:
    """Write a graph to a file in the format of its suffix: .json .csv .graphml .dot .gv .dagitty .txt (DAGitty).

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "graph.dot"
    >>> save(Dag.from_edges([("a", "b", 0.5)], names=["a", "b"]), path)
    >>> read(path).edges()
    [('a', 'b', 0.5)]
    """
    write, _ = _choose_format(Path(path))
    text = write(graph.list_edges())
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        name = next(name for name in graph.names if not _is_text(name))
        raise InputError(
            f"the name {name!r} holds half of a surrogate pair and cannot be saved as UTF-8; rename the node"
        ) from error
    with write_atomically(path) as file:
        file.write(content)


def read(path: str | PathLike[str]) -> Dag | Cpdag:
    """Read a graph from a file in the format of its suffix, as `save` writes it: a Cpdag if it says so, else a Dag."""
    _, parse = _choose_format(Path(path))
    try:
        return parse(Path(path).read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except InputError as error:
        error.add_note(f"while reading {path}")
        raise


def _choose_format(path: Path) -> tuple[Callable[[EdgeList], str], Callable[[str], Dag | Cpdag]]:
    formats = {
        ".json": (write_json, from_json),
        ".csv": (write_csv, from_csv),
        ".graphml": (write_graphml, from_graphml),
        ".dot": (write_dot, from_dot),
        ".gv": (write_dot, from_dot),
        ".dagitty": (write_dagitty, from_dagitty),
        ".txt": (write_dagitty, from_dagitty),
    }
    if path.suffix.lower() not in formats:
        raise InputError(f"{path} has the suffix {path.suffix!r}; a graph file ends in {' '.join(formats)}")
    return formats[path.suffix.lower()]


def _is_text(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _make_graph(listed: EdgeList) -> Dag | Cpdag:
    undirected = [edge[:2] for edge in listed.edges if not edge.directed]
    if undirected or listed.is_class:
        return Cpdag.from_edges([edge[:2] for edge in listed.edges if edge.directed], undirected, listed.names)
    return Dag.from_edges([edge[:3] for edge in listed.edges], listed.names)


def from_json(text: str) -> Dag | Cpdag:
    """Read the JSON that `Dag.to_json` writes: a list ``nodes`` of names, a list ``edges`` of objects.

    An edge without ``weight`` has the weight 1. ``"graph": "cpdag"``, or an edge with ``"directed": false``, makes
    it an equivalence class.

    Examples
    --------
    >>> from_json('{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "directed": false}]}')
    Cpdag(2 nodes, 0 directed and 1 undirected edges)
    """
    return _make_graph(read_json(text))


def from_csv(text: str) -> Dag | Cpdag:
    """Read a CSV edge list with the columns source, target and, if there is one, weight; others are ignored.

    A row with neither target nor weight names a node; a row with a target but no weight is an edge of weight 1.
    Nodes come in order of appearance. A column ``directed``, true or false for each edge, makes it an equivalence
    class.
    """
    return _make_graph(read_csv(text))


def from_graphml(text: str) -> Dag | Cpdag:
    """Read a GraphML graph; the weight is the edge attribute called ``weight``, 1 where there is none.

    The graph ``id="cpdag"``, and any with an undirected edge, is an equivalence class.
    """
    return _make_graph(read_graphml(text))


def from_dot(text: str) -> Dag | Cpdag:
    """Read a DOT digraph, nodes in order of appearance.

    The weight of an edge is its ``beta``, ``weight`` or numeric label, the first there is; otherwise 1.
    Groups ``a -> {b c}`` and ``edge [...]`` defaults are understood; layout attributes are ignored; ports,
    subgraphs and undirected graphs are refused. The digraph called ``cpdag``, and any with an edge that is drawn
    without arrowhead (``dir=none``), is an equivalence class.

    Examples
    --------
    >>> from_dot('digraph g { a -> b -> c [weight=2]; "x y" }').edges()
    [('a', 'b', 2.0), ('b', 'c', 2.0)]
    """
    return _make_graph(read_dot(text))


def from_dagitty(text: str) -> Dag | Cpdag:
    """Read DAGitty model code ``dag { … }``, or ``pdag { … }`` for an equivalence class, with edges ``a -- b``.

    Roles and positions are ignored, bidirected edges refused.

    Examples
    --------
    >>> from_dagitty('dag { a [exposure,pos="0,1"] b <- a [beta=0.5] }').edges()
    [('a', 'b', 0.5)]
    """
    return _make_graph(read_dagitty(text))


def from_networkx(graph: Any, weight: str = "weight") -> Dag:
    """Make a DAG from a ``networkx.DiGraph``.

    Nodes become names by ``str``; if two then agree, say 1 and "1", that is an error. An edge without the
    attribute `weight` has the weight 1.
    """
    listed = list_networkx(graph, weight)
    return Dag.from_edges([edge[:3] for edge in listed.edges], listed.names)

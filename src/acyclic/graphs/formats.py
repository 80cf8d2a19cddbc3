"""Graphs in and out: networkx, JSON and CSV here, GraphML, DOT and DAGitty beside; every round trip is exact.

Names keep every character and weights every bit. A file is UTF-8, so a name with half of a surrogate pair,
which is not text, cannot be saved.
"""

import csv
import io
import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from acyclic.errors import InputError, MissingExtraError
from acyclic.graphs.checks import check_names
from acyclic.graphs.dag import Dag
from acyclic.graphs.dot import from_dagitty, from_dot, to_dagitty, to_dot
from acyclic.graphs.graphml import from_graphml, to_graphml

__all__ = [
    "from_csv",
    "from_dagitty",
    "from_dot",
    "from_graphml",
    "from_json",
    "from_networkx",
    "read",
    "save",
    "to_csv",
    "to_dagitty",
    "to_dot",
    "to_graphml",
    "to_json",
    "to_networkx",
]


def save(dag: Dag, path: str | PathLike[str]) -> None:
    """Write a DAG to a file in the format of its suffix: .json .csv .graphml .dot .gv .dagitty .txt (DAGitty)."""
    write, _ = _format_of(Path(path))
    text = write(dag)
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        name = next(name for name in dag.names if not _is_text(name))
        raise InputError(
            f"the name {name!r} holds half of a surrogate pair and cannot be saved as UTF-8; rename the node"
        ) from error
    Path(path).write_bytes(content)


def read(path: str | PathLike[str]) -> Dag:
    """Read a DAG from a file in the format of its suffix, as `save` writes it."""
    _, parse = _format_of(Path(path))
    try:
        return parse(Path(path).read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except InputError as error:
        error.add_note(f"while reading {path}")
        raise


def _format_of(path: Path) -> tuple[Callable[[Dag], str], Callable[[str], Dag]]:
    formats = {
        ".json": (to_json, from_json),
        ".csv": (to_csv, from_csv),
        ".graphml": (to_graphml, from_graphml),
        ".dot": (to_dot, from_dot),
        ".gv": (to_dot, from_dot),
        ".dagitty": (to_dagitty, from_dagitty),
        ".txt": (to_dagitty, from_dagitty),
    }
    if path.suffix.lower() not in formats:
        raise InputError(f"{path} has the suffix {path.suffix!r}; a graph file ends in {' '.join(formats)}")
    return formats[path.suffix.lower()]


def _is_text(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


def to_networkx(dag: Dag) -> Any:
    """Give a ``networkx.DiGraph`` with the names as nodes, in order, and the edge attribute ``weight``."""
    graph = _networkx().DiGraph()
    graph.add_nodes_from(dag.names)
    graph.add_weighted_edges_from(dag.edges())
    return graph


def from_networkx(graph: Any, weight: str = "weight") -> Dag:
    """Make a DAG from a ``networkx.DiGraph``.

    Nodes become names by ``str``; if two then agree, say 1 and "1", that is an error. An edge without the
    attribute `weight` has the weight 1.
    """
    if not isinstance(graph, _networkx().DiGraph) or graph.is_multigraph():
        raise InputError(f"expected a networkx.DiGraph, not {type(graph).__name__}; convert it first")
    try:
        edges = [
            (str(source), str(target), float(value)) for source, target, value in graph.edges(data=weight, default=1)
        ]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the edge attribute {weight!r} must be a number on every edge that has it ({error})"
        ) from None
    return Dag.from_edges(edges, [str(node) for node in graph])


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise MissingExtraError("exchange with networkx", "networkx", "graphs") from None
    return networkx


def to_json(dag: Dag) -> str:
    """Write a DAG as JSON.

    Examples
    --------
    >>> print(to_json(Dag.from_edges([("a", "b", 0.5)], names=["a", "b"])), end="")
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
    edges = [{"source": source, "target": target, "weight": weight} for source, target, weight in dag.edges()]
    return json.dumps({"nodes": list(dag.names), "edges": edges}, ensure_ascii=False, indent=1) + "\n"


def from_json(text: str) -> Dag:
    """Read the JSON that `to_json` writes: a list ``nodes`` of names, a list ``edges`` of objects.

    An edge without ``weight`` has the weight 1.
    """
    try:
        document = json.loads(text, parse_int=float)
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno}: this is not JSON ({error.msg})") from None
    except RecursionError:
        raise InputError("the JSON text is nested too deeply to be a graph") from None
    names, edges = (document.get(key) if isinstance(document, dict) else None for key in ("nodes", "edges"))
    if not isinstance(names, list) or not isinstance(edges, list):
        raise InputError('the JSON text must be an object with the lists "nodes" and "edges"')
    return Dag.from_edges([_json_edge(position, edge) for position, edge in enumerate(edges)], names)


def _json_edge(position: int, edge: Any) -> tuple[str, str, float]:
    if isinstance(edge, dict):
        source, target, weight = edge.get("source"), edge.get("target"), edge.get("weight", 1)
        is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if isinstance(source, str) and isinstance(target, str) and is_number:
            return source, target, float(weight)
    raise InputError(
        f'edges[{position}] is {json.dumps(edge)[:80]}; expected {{"source": name, "target": name, "weight": number}}'
    )


def to_csv(dag: Dag) -> str:
    """Write a DAG as a CSV edge list with the columns source, target, weight.

    Every node has first a row of its own, with no target and no weight: this keeps isolated nodes and the order
    of the nodes. An edge always has a weight, which tells an edge to a node with the empty name from a node.
    Text is quoted as RFC 4180 asks and otherwise left as it is, also where a spreadsheet would see a formula.

    Examples
    --------
    >>> to_csv(Dag.from_edges([("a", "b", 0.5)], names=["a", "b"])).split()
    ['source,target,weight', 'a,,', 'b,,', 'a,b,0.5']
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["source", "target", "weight"])
    writer.writerows([name, "", ""] for name in dag.names)
    writer.writerows([source, target, repr(weight)] for source, target, weight in dag.edges())
    return text.getvalue()


def from_csv(text: str) -> Dag:
    """Read a CSV edge list with the columns source, target and, if there is one, weight; others are ignored.

    A row with neither target nor weight names a node; a row with a target but no weight is an edge of weight 1.
    Nodes come in order of appearance.
    """
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    declared: list[str] = []
    names: dict[str, None] = {}
    edges: list[tuple[str, str, float]] = []
    try:
        columns = _csv_columns(next(rows, []))
        for row in filter(None, rows):
            source, target, weight = _csv_cells(row, columns, rows.line_num)
            names[source] = None
            if target or weight:
                names[target] = None
                edges.append((source, target, _csv_weight(weight, rows.line_num)))
            else:
                declared.append(source)
    except csv.Error as error:
        raise InputError(f"line {rows.line_num}: this is not CSV ({error})") from None
    check_names(declared or names)
    return Dag.from_edges(edges, names)


def _csv_columns(header: list[str]) -> list[int | None]:
    columns = [header.index(name) if name in header else None for name in ("source", "target", "weight")]
    if None in columns[:2]:
        raise InputError(f"line 1: the columns are {', '.join(header) or 'none'}; there must be source and target")
    return columns


def _csv_cells(row: list[str], columns: list[int | None], line: int) -> list[str]:
    try:
        return ["" if column is None else row[column] for column in columns]
    except IndexError:
        raise InputError(f"line {line}: the row has only {len(row)} cells, fewer than the header") from None


def _csv_weight(text: str, line: int) -> float:
    try:
        return float(text or 1)
    except ValueError:
        raise InputError(f"line {line}: the weight is {text!r}; it must be a number") from None

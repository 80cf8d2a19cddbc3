"""CSV text of a graph: a table of edges."""

from __future__ import annotations

import csv
import io
import re

from acyclic.errors import InputError
from acyclic.graphs.checks import check_names
from acyclic.graphs.edge_list import EdgeList, ListedEdge

# What makes a spreadsheet take a cell for a formula, also where it was defused before.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def defuse(text: str) -> str:
    """A cell that a spreadsheet shows and does not run: one that begins as a formula does gets an apostrophe before it.

    Examples
    --------
    >>> defuse("=1+1"), restore(defuse("=1+1")), restore(defuse("'=1")), defuse("it's")
    ("'=1+1", '=1+1', "'=1", "it's")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def restore(cell: str) -> str:
    """The text of a cell that `defuse` made."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def write_csv(graph: EdgeList) -> str:
    """Write an edge list with the columns source, target, weight; an equivalence class has ``directed`` for the weight.

    Every node has first a row of its own, with the name alone: this keeps isolated nodes and the order of the nodes.
    An edge always has a third cell, which tells an edge to a node with the empty name from a node.
    Text is quoted as RFC 4180 asks; a name that a spreadsheet would run is defused, and restored on reading.

    Examples
    --------
    >>> write_csv(EdgeList(["a", "b"], [ListedEdge("a", "b", 0.5)])).split()
    ['source,target,weight', 'a,,', 'b,,', 'a,b,0.5']
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["source", "target", "directed" if graph.is_class else "weight"])
    writer.writerows([defuse(name), "", ""] for name in graph.names)
    for source, target, weight, directed in graph.edges:
        writer.writerow([defuse(source), defuse(target), str(directed).lower() if graph.is_class else repr(weight)])
    return text.getvalue()


def read_csv(text: str) -> EdgeList:
    """Read an edge list; see `acyclic.graphs.formats.from_csv`."""
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    declared: list[str] = []
    names: dict[str, None] = {}
    edges: list[ListedEdge] = []
    try:
        columns = _find_columns(next(rows, []))
        for row in filter(None, rows):
            source, target, weight, directed = _pick_cells(row, columns, rows.line_num)
            source, target = restore(source), restore(target)
            names[source] = None
            if target or weight or directed:
                names[target] = None
                is_directed = columns[3] is None or _read_truth(directed, rows.line_num)
                edges.append(ListedEdge(source, target, _read_weight(weight, rows.line_num), is_directed))
            else:
                declared.append(source)
    except csv.Error as error:
        raise InputError(f"line {rows.line_num}: this is not CSV ({error})") from None
    check_names(declared or names)
    return EdgeList(list(names), edges, is_class=columns[3] is not None)


def _find_columns(header: list[str]) -> list[int | None]:
    known = ("source", "target", "weight", "directed")
    columns = [header.index(name) if name in header else None for name in known]
    if None in columns[:2]:
        raise InputError(f"line 1: the columns are {', '.join(header) or 'none'}; there must be source and target")
    return columns


def _pick_cells(row: list[str], columns: list[int | None], line: int) -> list[str]:
    try:
        return ["" if column is None else row[column] for column in columns]
    except IndexError:
        raise InputError(f"line {line}: the row has only {len(row)} cells, fewer than the header") from None


def _read_weight(text: str, line: int) -> float:
    try:
        return float(text or 1)
    except ValueError:
        raise InputError(f"line {line}: the weight is {text!r}; it must be a number") from None


def _read_truth(text: str, line: int) -> bool:
    if text.lower() not in ("true", "false"):
        raise InputError(f"line {line}: directed is {text!r}; it must be true or false")
    return text.lower() == "true"

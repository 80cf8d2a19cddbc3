"""CSV text of a graph: a table of edges."""

from __future__ import annotations

import csv
import io

from acyclic.errors import InputError
from acyclic.graphs.checks import check_names
from acyclic.graphs.edge_list import EdgeList, ListedEdge


def write_csv(graph: EdgeList) -> str:
    """Write an edge list with the columns source, target, weight.

    Every node has first a row of its own, with no target and no weight: this keeps isolated nodes and the order
    of the nodes. An edge always has a weight, which tells an edge to a node with the empty name from a node.
    Text is quoted as RFC 4180 asks and otherwise left as it is, also where a spreadsheet would see a formula.

    Examples
    --------
    >>> write_csv(EdgeList(["a", "b"], [ListedEdge("a", "b", 0.5)])).split()
    ['source,target,weight', 'a,,', 'b,,', 'a,b,0.5']
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["source", "target", "weight"])
    writer.writerows([name, "", ""] for name in graph.names)
    writer.writerows([source, target, repr(weight)] for source, target, weight in graph.edges)
    return text.getvalue()


def read_csv(text: str) -> EdgeList:
    """Read an edge list with the columns source, target and, if there is one, weight; others are ignored.

    A row with neither target nor weight names a node; a row with a target but no weight is an edge of weight 1.
    Nodes come in order of appearance.
    """
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    declared: list[str] = []
    names: dict[str, None] = {}
    edges: list[ListedEdge] = []
    try:
        columns = _find_columns(next(rows, []))
        for row in filter(None, rows):
            source, target, weight = _pick_cells(row, columns, rows.line_num)
            names[source] = None
            if target or weight:
                names[target] = None
                edges.append(ListedEdge(source, target, _read_weight(weight, rows.line_num)))
            else:
                declared.append(source)
    except csv.Error as error:
        raise InputError(f"line {rows.line_num}: this is not CSV ({error})") from None
    check_names(declared or names)
    return EdgeList(list(names), edges)


def _find_columns(header: list[str]) -> list[int | None]:
    columns = [header.index(name) if name in header else None for name in ("source", "target", "weight")]
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

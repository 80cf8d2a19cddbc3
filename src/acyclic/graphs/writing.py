"""Writable: the text formats that a graph with named nodes can be written in."""

from __future__ import annotations

from acyclic.graphs.csv_text import write_csv
from acyclic.graphs.dot import write_dagitty, write_dot
from acyclic.graphs.edge_list import EdgeList
from acyclic.graphs.graphml import write_graphml
from acyclic.graphs.json_text import write_json


class Writable:
    """A graph that can list its edges, and so be written; `acyclic.graphs.formats` reads all of these texts."""

    def list_edges(self) -> EdgeList:
        """Give names and edges as writers take them."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Give JSON text; see `acyclic.graphs.json_text.write_json`."""
        return write_json(self.list_edges())

    def to_csv(self) -> str:
        """Give a CSV edge list; see `acyclic.graphs.csv_text.write_csv`."""
        return write_csv(self.list_edges())

    def to_graphml(self) -> str:
        """Give GraphML text; see `acyclic.graphs.graphml.write_graphml`."""
        return write_graphml(self.list_edges())

    def to_dot(self) -> str:
        """Give DOT text; see `acyclic.graphs.dot.write_dot`."""
        return write_dot(self.list_edges())

    def to_dagitty(self) -> str:
        """Give DAGitty model code; see `acyclic.graphs.dot.write_dagitty`."""
        return write_dagitty(self.list_edges())

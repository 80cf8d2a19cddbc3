"""EdgeList: what a file holds of a graph; every writer takes one and every reader gives one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ListedEdge(NamedTuple):
    """An edge by the names of its ends; an undirected one has them in any order and no weight of its own."""

    source: str
    target: str
    weight: float = 1.0
    directed: bool = True


class EdgeList(NamedTuple):
    """Nodes in order and the edges between them, as they stand in a file: nothing about them is checked.

    ``is_class`` says that the file calls itself an equivalence class: its edges may be undirected and have no weights.
    """

    names: Sequence[str]
    edges: Sequence[ListedEdge]
    is_class: bool = False

"""EdgeList: what a file holds of a graph; every writer takes one and every reader gives one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ListedEdge(NamedTuple):
    """An edge by the names of its ends."""

    source: str
    target: str
    weight: float = 1.0


class EdgeList(NamedTuple):
    """Nodes in order and the edges between them, as they stand in a file: nothing about them is checked."""

    names: Sequence[str]
    edges: Sequence[ListedEdge]

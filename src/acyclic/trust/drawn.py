"""The graphs of the draws of a bootstrap, kept so that any effect can be asked of all of them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from acyclic.ranges import TEXT, check_document, each, record, whole
from acyclic.types import Floats, Integers

__all__ = ["Drawn"]

# Draws that are kept, and edges of all of them together: so many are some hundred kilobytes in a file.
MOST_DRAWS, MOST_EDGES = 100, 30_000
SHAPE = record({"counts": each(whole(least=0)), "places": TEXT, "weights": TEXT})
# The share of what paths carry that is left where they cancel each other.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Drawn:
    """Edges and weights of several graphs over the same nodes.

    Attributes
    ----------
    counts : ndarray of int, shape (k,)
        Edges of each graph.
    places : ndarray of int
        Of all edges, one graph after the other, in the flat (d, d) matrix.
    weights : ndarray
    """

    counts: Integers
    places: Integers
    weights: Floats

    @classmethod
    def of(cls, graphs: Iterable[tuple[Integers, Floats]]) -> Drawn:
        """The first of some graphs, each as the places and weights of its edges."""
        kept, room = [], MOST_EDGES
        for places, weights in list(graphs)[:MOST_DRAWS]:
            room -= len(places)
            if room < 0:
                break
            kept.append((places, weights))
        counts = np.array([len(places) for places, _ in kept], dtype=np.intp)
        none = np.zeros(0)
        return cls(
            counts,
            np.concatenate([none, *(places for places, _ in kept)]).astype(np.intp),
            np.concatenate([none, *(weights for _, weights in kept)]),
        )

    def effects(self, size: int, node: int, *, onto: bool) -> Floats:
        """Total effects (k, d) on a node, or of it, in each graph; those between a node and itself are 0.

        Parameters
        ----------
        size : int
            Number of nodes, d.
        node : int
        onto : bool
            Whether the effects on the node are wanted, else those of it.
        """
        graph = np.repeat(np.arange(len(self.counts)), self.counts)
        sources, targets = self.places // size, self.places % size
        near, far = (targets, sources) if onto else (sources, targets)
        start = np.zeros((len(self.counts), size))
        start[:, node] = 1.0

        def add_paths(weights: Floats) -> Floats:
            total = start
            # Along a path of so many edges; after the longest path nothing changes any more.
            for _ in range(size):
                step = start.copy()
                np.add.at(step, (graph, far), weights * total[graph, near])
                if np.array_equal(step, total):
                    break
                total = step
            return total

        total = add_paths(self.weights)
        # What is left where paths cancel each other is rounding.
        total = np.where(np.abs(total) > ROUNDING * add_paths(np.abs(self.weights)), total, 0.0)
        total[:, node] = 0.0
        return total

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; weights keep seven digits."""
        return {
            "counts": self.counts.tolist(),
            "places": _encode(self.places, "<u4"),
            "weights": _encode(self.weights, "<f4"),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], size: int) -> Drawn:
        """The inverse of `to_dict`, for graphs of so many nodes; a ValueError where it is none."""
        check_document(plain, SHAPE, "these are no graphs of draws")
        counts = np.array(plain["counts"], dtype=np.intp)
        places, weights = _decode(plain["places"], "<u4").astype(np.intp), _decode(plain["weights"], "<f4")
        whole = len(places) == len(weights) == int(counts.sum())
        if not whole or not np.isfinite(weights).all() or (len(places) and int(places.max()) >= size * size):
            raise ValueError("the graphs of the draws do not fit their counts and nodes")
        return cls(counts, places, weights.astype(float))


def _encode(values: Any, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()


def _decode(text: str, kind: str) -> Any:
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype=kind)
    except binascii.Error as error:
        raise ValueError(str(error)) from None

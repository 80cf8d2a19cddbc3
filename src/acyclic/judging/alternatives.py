"""Other classes that are nearly as good as the answer, by the names of what they would change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from acyclic.discrete.rivals import Alternative, Rivals
from acyclic.facts import Orientation
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag, find_cpdag
from acyclic.judging.verdict import Pair, Verdict
from acyclic.types import Bools

CHANGES = ("turned", "fixed", "removed", "added")


@dataclass(frozen=True)
class NamedAlternative:
    """A class whose score is within log n of that of the answer, and what it would change.

    Where the method claims more than a class, so that directions count, a class is one graph.

    Attributes
    ----------
    excess : float
        How much higher its score is, in units of the BIC: −2 log-likelihood and price.
    names : tuple of str
        The nodes.
    edges : tuple of (source, target)
        One of its graphs.
    turned : tuple of (source, target)
        Edges that the class of the answer compels, and that this one has, or may have, the other way round.
    fixed : tuple of (source, target)
        Edges that this class compels and that of the answer leaves open. What prior knowledge fixes is in neither.
    removed : tuple of (source, target)
        Edges of the answer without an edge between their ends here.
    added : tuple of (source, target)
        Edges here without an edge between their ends in the answer.

    Examples
    --------
    >>> other = NamedAlternative(1.8, ("a", "b", "c"), (("a", "b"), ("b", "c")), turned=(("c", "b"),))
    >>> other.cpdag.undirected_edges()
    [('a', 'b'), ('b', 'c')]
    """

    excess: float
    names: tuple[str, ...]
    edges: tuple[Pair, ...]
    turned: tuple[Pair, ...] = ()
    fixed: tuple[Pair, ...] = ()
    removed: tuple[Pair, ...] = ()
    added: tuple[Pair, ...] = ()

    @property
    def adjacency(self) -> Bools:
        """Its graph as a matrix of shape (d, d): entry (i, j) is the edge i → j."""
        at = {name: position for position, name in enumerate(self.names)}
        adjacency = np.zeros((len(at), len(at)), dtype=bool)
        for source, target in self.edges:
            adjacency[at[source], at[target]] = True
        return adjacency

    @property
    def cpdag(self) -> Cpdag:
        """The equivalence class of its graph."""
        return find_cpdag(self.adjacency, self.names)

    def to_dict(self, answer: Iterable[Pair]) -> dict[str, Any]:
        """Plain values: its graph as the edges that it has and the answer has not, and the reverse."""
        answered = list(answer)
        has, had = set(self.edges), set(answered)
        return {
            "excess": self.excess,
            "with": [edge for edge in self.edges if edge not in had],
            "without": [edge for edge in answered if edge not in has],
            **{name: list(getattr(self, name)) for name in CHANGES},
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], names: Iterable[str], answer: Iterable[Pair]) -> NamedAlternative:
        """The inverse of `to_dict`."""
        labels = tuple(names)
        at = {name: position for position, name in enumerate(labels)}
        edges = (set(answer) - set(_pairs(plain["without"]))) | set(_pairs(plain["with"]))
        in_order = tuple(sorted(edges, key=lambda edge: (at[edge[0]], at[edge[1]])))
        return cls(float(plain["excess"]), labels, in_order, *(_pairs(plain[name]) for name in CHANGES))


def name_alternatives(rivals: Rivals | None, graph: Dag, verdict: Verdict) -> tuple[NamedAlternative, ...]:
    """The alternatives to a graph, best first, with what each would change.

    Equivalence classes are compared where the verdict claims no more than these, and graphs elsewhere.

    Parameters
    ----------
    rivals : Rivals or None
        What a search met beside the graph.
    graph : Dag
        The answer.
    verdict : Verdict
        That on the answer.
    """
    if rivals is None or not rivals.alternatives:
        return ()
    by_class = verdict.orientation in (Orientation.INDEPENDENCE, Orientation.NO_EDGE)
    known = {frozenset(edge) for edge, kind in verdict.support.items() if kind is Orientation.KNOWLEDGE}
    mine = _arcs(graph.adjacency, by_class)
    return tuple(_name(graph, mine, other, _arcs(other.adjacency, by_class), known) for other in rivals.alternatives)


def _name(
    graph: Dag, mine: Bools, other: Alternative, theirs: Bools, known: Collection[frozenset[str]]
) -> NamedAlternative:
    def name(chosen: Bools) -> tuple[Pair, ...]:
        return tuple((graph.names[i], graph.names[j]) for i, j in np.argwhere(chosen).tolist())

    turned, fixed = (
        tuple(edge for edge in name(chosen) if frozenset(edge) not in known)
        for chosen in (mine & ~mine.T & theirs.T, mine & mine.T & theirs & ~theirs.T)
    )
    return NamedAlternative(
        excess=float(other.excess),
        names=graph.names,
        edges=name(other.adjacency),
        turned=turned,
        fixed=fixed,
        removed=name(graph.adjacency & ~(theirs | theirs.T)),
        added=name(other.adjacency & ~(mine | mine.T)),
    )


def _arcs(adjacency: Bools, by_class: bool) -> Bools:
    """Both directions of an edge that the class leaves open, or the edges of the graph."""
    return find_cpdag(adjacency).arcs if by_class else adjacency


def _pairs(listed: Iterable[Iterable[str]]) -> tuple[Pair, ...]:
    return tuple((str(source), str(target)) for source, target in listed)

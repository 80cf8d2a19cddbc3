"""What is around the answer of a search: how much worse it is with each edge turned or left out, and near-ties."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, nan
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from acyclic._native import Flag, OrderChain
from acyclic.data.dependence import EXPLAINED
from acyclic.discrete.rivals import Alternative, Rivals
from acyclic.graphs.equivalence import find_cpdag
from acyclic.types import Bools, Floats, Integers

__all__ = ["MOST_ALTERNATIVES", "TIE", "Ground", "Neighbourhood", "share_left"]

TIE = 1e-6
"""Scores that are closer are ties: equivalent graphs differ by rounding only."""
MOST_ALTERNATIVES = 20
# Parts of a survey that ends with something better.
_PARTS = 6

Order = NDArray[np.int32]


class Ground(Protocol):
    """What a survey uses of the search whose answer it is about; columns are in canonical order.

    Attributes
    ----------
    chains, population, reached
        The chains, the best orders that they met with their scores, and the score that each reached on its own.
    n : float
        Rows.
    back : ndarray of int, shape (d,)
        The places of the columns of the table.
    by_class, free : bool
        Whether equivalent graphs have the same score, and whether nothing is known beforehand.
    """

    chains: list[OrderChain]
    population: list[tuple[float, Order]]
    reached: list[float]
    n: float
    back: Integers
    by_class: bool
    free: bool

    @property
    def survey_work(self) -> float:
        """Units of work for all rivals together."""

    def do(self, task: Callable[[int, Flag], None], count: int) -> None:
        """Run tasks 0..count-1 on the threads of the search."""

    def price_of_edge(self, parents: Integers | Order, source: int, target: int) -> float:
        """How much the score rises if a column is one of the parents; inf where it may be none."""


def share_left(R: Floats, target: int, parents: Integers | Order) -> float:
    """The share of its variance that parents leave to a column."""
    both: Floats = R[parents, target]
    slopes = np.linalg.lstsq(R[np.ix_(parents, parents)], both)[0]
    return max(float(R[target, target] - both @ slopes), EXPLAINED)


class Neighbourhood:
    """The graphs around the best one: with each edge turned or left out, and those of the population."""

    def __init__(self, search: Ground, order: Order, adjacency: Bools, score: float) -> None:
        self.search, self.order, self.adjacency, self.score = search, order, adjacency, score
        self.limit = log(search.n)
        self.turned, self.left_out = np.full(adjacency.shape, nan), np.full(adjacency.shape, nan)
        self.turned[adjacency] = self.left_out[adjacency] = inf
        self.compelled = find_cpdag(adjacency).directed if search.by_class else adjacency
        # Prior knowledge may compel what the class does not: then every edge is tried.
        self.tried = self.compelled if search.free else adjacency
        self.turned[adjacency & ~self.tried] = 0.0
        self.near: list[tuple[float, Bools]] = []
        self.better: tuple[float, Bools] | None = None

    def survey(self, *, to_the_end: bool = True) -> Rivals:
        """Margins and alternatives; ``better`` is a graph with a lower score if one was met.

        Where it need not go to its end, it is made in parts and looks no further once one has met such a graph.
        """
        self.weigh_population()
        self.weigh_edges(to_the_end)
        self.near.sort(key=lambda pair: (pair[0], pair[1].tobytes()))
        if self.near and self.near[0][0] < -TIE:
            self.better = self.score + self.near[0][0], self.near[0][1]
        alternatives = self.distinct()
        for other in alternatives:
            self.note(other.adjacency, other.excess)
        return self.rivals(alternatives)

    def weigh_population(self) -> None:
        """Other orders that chains ended with."""
        search = self.search
        for score, order in search.population[1:]:
            if score - self.score <= self.limit:
                search.chains[0].start(order)
                self.near.append((score - self.score, search.chains[0].parents()))

    def weigh_edges(self, to_the_end: bool) -> None:
        """Every edge left out, and every one turned that the class compels, each repaired by moves near it."""
        search = self.search
        tasks = [(u, v, False) for u, v in np.argwhere(self.adjacency).tolist()]
        tasks += [(u, v, True) for u, v in np.argwhere(self.tried).tolist()]
        work = int(np.clip(search.survey_work / max(len(tasks), 1), 2e5, 5e6))
        parts = 1 if to_the_end else _PARTS
        for part in range(parts):
            self.weigh_part(tasks[part::parts], work)
            if parts > 1 and any(excess < -TIE for excess, _ in self.near):
                break

    def weigh_part(self, tasks: list[tuple[int, int, bool]], work: int) -> None:
        """Each chain takes every so manieth task: what it does must not depend on the threads."""
        chains = self.search.chains
        self.search.do(lambda k, flag: self.weigh(chains[k], tasks[k :: len(chains)], work, flag), len(chains))

    def weigh(self, chain: OrderChain, tasks: list[tuple[int, int, bool]], work: int, flag: Flag) -> None:
        """The best graphs near the answer with an edge turned, or left out, by one chain."""
        chain.start(self.order, flag)
        for u, v, turned in tasks:
            excess = chain.rival(u, v, turned, work, TIE, flag) - self.score
            if excess == inf:
                continue
            if excess <= self.limit:
                self.near.append((excess, chain.parents()))
            if turned:
                excess += self.search.price_of_edge(chain.parents_of(u), v, u)
            margins = self.turned if turned else self.left_out
            margins[u, v] = min(margins[u, v], max(excess, 0.0))

    def distinct(self) -> tuple[Alternative, ...]:
        """One graph of each other class within the limit, best first."""
        seen = {self.key(self.adjacency)}
        found: list[Alternative] = []
        for excess, adjacency in self.near:
            key = self.key(adjacency)
            if key not in seen and len(found) < MOST_ALTERNATIVES:
                seen.add(key)
                found.append(Alternative(adjacency, max(excess, 0.0)))
        return tuple(found)

    def key(self, adjacency: Bools) -> bytes:
        """What equivalent graphs share."""
        return (find_cpdag(adjacency).arcs if self.search.by_class else adjacency).tobytes()

    def note(self, other: Bools, excess: float) -> None:
        """Lower the margins of the edges that another graph has turned or lacks."""
        turned, gone = self.adjacency & other.T, self.adjacency & ~other & ~other.T
        self.turned[turned] = np.minimum(self.turned[turned], excess)
        self.left_out[gone] = np.minimum(self.left_out[gone], excess)

    def rivals(self, alternatives: tuple[Alternative, ...]) -> Rivals:
        """All of it, with the columns as in the table."""
        search = self.search
        back = np.ix_(search.back, search.back)
        margins = np.concatenate([self.turned[self.compelled], self.left_out[self.adjacency], [inf]])
        return Rivals(
            proved=False,
            chains=len(search.reached),
            agreeing=sum(score <= self.score + TIE for score in search.reached),
            gap=min([float(margins.min()), *(other.excess for other in alternatives)]),
            turned=self.turned[back],
            left_out=self.left_out[back],
            alternatives=tuple(Alternative(other.adjacency[back], other.excess) for other in alternatives),
        )

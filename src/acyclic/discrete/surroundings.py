"""Hill climbing from several graphs, and once more around its end with each edge turned or left out.

Whatever is better on the way is the new answer, and what is not tells by how much the answer is ahead. For scores that
are too dear for a search over orders, from graphs that are nearly right.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import product
from math import inf, log, nan

import numpy as np

from acyclic.data.mask import Mask
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.hill_climbing import HillClimbing
from acyclic.discrete.rivals import Alternative, Rivals
from acyclic.discrete.survey import MOST_ALTERNATIVES, TIE
from acyclic.facts import Ended, Fact
from acyclic.graphs.equivalence import find_cpdag
from acyclic.graphs.reachability import close_transitively
from acyclic.scores.local import DearScore
from acyclic.types import Bools, Floats

__all__ = ["Climb", "climb_all", "look_around"]

# How often a better graph that is met around the answer starts another look around.
_ROUNDS = 10


def climb_all(score: DearScore, starts: Sequence[Bools], mask: Mask, deadline: Deadline | None) -> list[Climb]:
    """The ends of hill climbing from each start, the best first."""
    found = []
    for start in starts:
        climb = Climb(score, mask, start)
        climb.rise(deadline)
        found.append(climb)
    return sorted(found, key=lambda climb: climb.total)


def look_around(
    met: Sequence[Climb], mask: Mask, deadline: Deadline | None, far: tuple[Floats, Floats] | None = None
) -> tuple[Bools, float, Rivals | None, Fact[Ended]]:
    """The best graph, its score, how far it is ahead of others unless the time is up before, and how it ended."""
    top, met = min(met, key=lambda climb: climb.total), list(met)
    try:
        for _ in range(_ROUNDS):
            if deadline is not None:
                deadline.check()
            around = _Around(mask, top, deadline, far)
            around.survey()
            if around.better is None:
                break
            top = around.better
            met.append(top)
        return top.dag, top.total, around.rivals(met), Fact.of(Ended.NO_BETTER_MOVE)
    except Stopped as stop:
        return top.dag, top.total, None, stop.end
    except KeyboardInterrupt:
        return top.dag, top.total, None, Fact.of(Ended.INTERRUPTED)


class Climb(HillClimbing):
    """Hill climbing whose tables can be taken over by another one that differs at few nodes."""

    scores: DearScore

    @property
    def total(self) -> float:
        """The score of its graph."""
        return self.scores.total(self.dag)

    def rise(self, deadline: Deadline | None) -> None:
        """Climb to the top, or until the time is up."""
        while (move := self._best()) is not None and not (deadline is not None and deadline.passed()):
            self.take(move)

    def fork(self, dag: Bools, mask: Mask, asked: Bools | None = None) -> Climb:
        """One from another graph under another mask, which asks for gains of some pairs only."""
        other = copy(self)
        if asked is not None:
            other.scores = self.scores.among(asked)
        changed = (dag != self.dag) | (mask.allowed != self.mask.allowed) | (mask.required != self.mask.required)
        other.dag, other.mask = np.array(dag), mask
        other.addition, other.deletion = self.addition.copy(), self.deletion.copy()
        for node in np.flatnonzero(changed.any(axis=0)).tolist():
            other.weigh(node)
        return other


class _Around:
    """The graphs around the best one: with each edge turned, and left out."""

    def __init__(
        self, mask: Mask, top: Climb, deadline: Deadline | None, far: tuple[Floats, Floats] | None = None
    ) -> None:
        self.mask, self.total, self.top, self.deadline = mask, top.total, top, deadline
        turned, left_out = (np.full(top.dag.shape, nan),) * 2 if far is None else far
        self.known = top.dag & ~np.isnan(turned) & ~np.isnan(left_out)
        self.turned, self.left_out = (
            np.where(top.dag, np.where(self.known, margins, inf), nan) for margins in (turned, left_out)
        )
        self.near: list[tuple[float, Bools]] = []
        self.better: Climb | None = None

    def survey(self) -> None:
        """Look at all edges, until a better graph is met; raises Stopped when the time is up."""
        for (u, v), turned in product(np.argwhere(self.top.dag & ~self.known).tolist(), (False, True)):
            self.weigh(u, v, turned)
            if self.deadline is not None:
                self.deadline.check()
            if self.better is not None:
                return

    def weigh(self, u: int, v: int, turned: bool) -> None:
        """The best graph near this one with an edge turned or left out."""
        allowed, required = np.array(self.mask.allowed), np.array(self.mask.required)
        if required[u, v] or (turned and not allowed[v, u]):
            return
        dag = self.turn(u, v) if turned else self.top.dag & ~_edge(len(allowed), u, v)
        allowed[u, v] = False
        allowed[v, u] &= turned
        required[v, u] |= turned
        if (dag & ~allowed).any() or (required & ~dag).any():
            return
        climb = self.top.fork(dag, replace(self.mask, allowed=allowed, required=required), self.near_to(u, v))
        climb.rise(self.deadline)
        excess = climb.total - self.total
        if excess < -TIE:
            self.better = Climb(self.top.scores, self.mask, climb.dag)
            self.better.rise(self.deadline)
            return
        self.near.append((max(excess, 0.0), climb.dag))

    def near_to(self, u: int, v: int) -> Bools:
        """The pairs among two columns and those that are joined with one of them: where repairs are looked for."""
        dag = self.top.dag
        near = dag[u] | dag[:, u] | dag[v] | dag[:, v]
        return np.asarray(np.logical_and.outer(near, near))

    def turn(self, u: int, v: int) -> Bools:
        """The graph with u → v turned, and with it all edges from u into what leads on to v."""
        dag = np.array(self.top.dag)
        reach = close_transitively(dag)
        between = dag[u] & (reach[:, v] | (np.arange(len(dag)) == v))
        dag[u, between] = False
        dag[between, u] = True
        return dag

    def turns(self, other: Bools) -> Bools:
        """The edges (d, d) that another graph has turned, or that its class leaves open where scores are of classes."""
        if not (self.mask.is_free and self.top.scores.is_equivalent):
            return other.T
        return (other | other.T) & ~find_cpdag(other).directed

    def rivals(self, met: Sequence[Climb]) -> Rivals:
        """How far the best graph is ahead of all others that were met."""
        dag, seen = self.top.dag, {self.top.dag.tobytes()}
        self.near += [(max(climb.total - self.total, 0.0), climb.dag) for climb in met if (climb.dag != dag).any()]
        for excess, other in self.near:
            turned, gone = dag & self.turns(other), dag & ~other & ~other.T
            self.turned[turned] = np.minimum(self.turned[turned], excess)
            self.left_out[gone] = np.minimum(self.left_out[gone], excess)
        kept: list[Alternative] = []
        for excess, other in sorted(self.near, key=lambda pair: (pair[0], pair[1].tobytes())):
            if excess <= log(self.top.scores.n) and other.tobytes() not in seen and len(kept) < MOST_ALTERNATIVES:
                seen.add(other.tobytes())
                kept.append(Alternative(other, excess))
        gap = min((excess for excess, _ in self.near), default=inf)
        return Rivals(False, 0, 0, gap, self.turned, self.left_out, tuple(kept))


def _edge(d: int, u: int, v: int) -> Bools:
    one = np.zeros((d, d), dtype=bool)
    one[u, v] = True
    return one

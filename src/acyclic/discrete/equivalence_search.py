"""Greedy equivalence search (Chickering 2002; turning after Hauser & Bühlmann 2012) under any local score.

The state is a CPDAG. An operator acts on a pair (x, y) and a clique C of undirected neighbours of y: after it x → y is
an edge, or no longer one, and of the neighbours of y those in C come before it, the others after. Each operator changes
the parents of y alone (when turning, those of x too), so its gain is a difference of local scores. All gains of one y
stay as they are until something around y changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

import numpy as np

from acyclic.data.mask import Mask
from acyclic.errors import InputError
from acyclic.facts import Ended
from acyclic.graphs.equivalence import Cpdag, extend_consistently, find_cpdag
from acyclic.graphs.reachability import find_reached, follow_edges
from acyclic.running import Monitor, State
from acyclic.scores.local import TOLERANCE, LocalScore
from acyclic.types import Bools

Nodes = frozenset[int]

GLANCE = 32
"""After so many nodes the clock is looked at: among some hundred nodes the operators of one take milliseconds."""


@dataclass(frozen=True, order=True)
class Operator:
    """Insert, delete or turn the edge x → y with C the neighbours of y that come before it; sorts by falling gain."""

    loss: float
    x: int
    y: int
    C: tuple[int, ...]


class EquivalenceClass:
    """A CPDAG by sets, with one of its members."""

    def __init__(self, dag: Bools) -> None:
        self.dag = dag
        self.graph = find_cpdag(dag)
        self.arcs, self.joined = self.graph.arcs, self.graph.skeleton
        self.parents = [frozenset(np.flatnonzero(column).tolist()) for column in self.graph.directed.T]
        self.children = [frozenset(np.flatnonzero(row).tolist()) for row in self.graph.directed]
        self.neighbours = [frozenset(np.flatnonzero(row).tolist()) for row in self.graph.undirected]
        self.adjacent = [p | c | b for p, c, b in zip(self.parents, self.children, self.neighbours)]
        self.following = [c | b for c, b in zip(self.children, self.neighbours)]
        self._reached: dict[tuple[int, tuple[int, ...]], set[int]] = {}

    def cliques(self, nodes: Collection[int]) -> Iterator[Nodes]:
        """Every clique among the nodes, the empty one first."""
        pending: list[tuple[Nodes, list[int]]] = [(frozenset(), sorted(nodes))]
        while pending:
            clique, candidates = pending.pop()
            yield clique
            for position, node in enumerate(candidates):
                later = [other for other in candidates[position + 1 :] if other in self.adjacent[node]]
                pending.append((clique | {node}, later))

    def leads(self, start: int, end: int, avoiding: tuple[int, ...]) -> bool:
        """Whether a path along directed and undirected edges leads from `start` to `end` and avoids some nodes."""
        if (start, avoiding) not in self._reached:
            self._reached[start, avoiding] = follow_edges(self.following, start, avoiding)
        return end in self._reached[start, avoiding]

    def member(self, before: dict[int, Nodes]) -> Bools | None:
        """A DAG of the class in which, for each node named, exactly these of its neighbours come before it."""
        directed, undirected = np.array(self.graph.directed), np.array(self.graph.undirected)
        for node, first in before.items():
            for other in self.neighbours[node]:
                directed[(other, node) if other in first else (node, other)] = True
                undirected[node, other] = undirected[other, node] = False
        return _extended(directed, undirected)

    def changed(self, other: EquivalenceClass) -> set[int]:
        """Nodes whose operators may differ from those they had in another class."""
        arcs = self.arcs != other.arcs
        nodes = np.flatnonzero(arcs.any(axis=0) | arcs.any(axis=1)).tolist()
        joined = np.flatnonzero((self.joined != other.joined).any(axis=0)).tolist()
        return {*nodes, *(near for node in joined for near in self.neighbours[node] | other.neighbours[node])}


def _extended(directed: Bools, undirected: Bools) -> Bools | None:
    try:
        return extend_consistently(Cpdag(None, directed, undirected))
    except InputError:
        return None


class GreedyEquivalenceSearch:
    """Phases of insertions, deletions and turns, each of best moves only, until none of them finds a gain.

    Prior knowledge holds for the edge an operator draws and for those it directs; the rest of the class may still
    break it. Required edges are there from the start and are not deleted.

    Parameters
    ----------
    scores : LocalScore
    mask : Mask
    """

    def __init__(self, scores: LocalScore, mask: Mask) -> None:
        self.scores, self.mask = scores, mask
        self.current = EquivalenceClass(np.array(mask.required))
        self.total = scores.total(self.current.dag)

    def __call__(self, monitor: Monitor, state: State) -> None:
        """Run to the end, the DAG in `state.weights` at every step."""
        state.accept(weights=self.current.dag.astype(float))
        phases = {"forward": (self.inserts, self.insert), "backward": (self.deletes, self.delete)}
        phases["turning"] = self.turns, self.turn
        steps = -1
        while steps < state.steps:
            steps = state.steps
            for name, (operators, apply) in phases.items():
                self._phase(name, operators, apply, monitor, state)
            state.accept(round=state.round + 1)
        state.finish(Ended.NO_BETTER_MOVE)

    def _phase(
        self,
        name: str,
        operators: Callable[[int], list[Operator]],
        apply: Callable[[Operator], Bools | None],
        monitor: Monitor,
        state: State,
    ) -> None:
        """Take the best operators until there is none."""
        table = {}
        for y in range(self.scores.n_nodes):
            table[y] = operators(y)
            if y % GLANCE == GLANCE - 1:
                monitor.deadline.check()
        while (dag := self._best(table, apply)) is not None:
            before, self.current = self.current, EquivalenceClass(dag)
            self.total = self.scores.total(dag)
            for y in self.current.changed(before):
                table[y] = operators(y)
            state.accept(weights=dag.astype(float), steps=state.steps + 1)
            monitor.tick(state, name, self.total, 0.0, 0.0)

    def _best(self, table: dict[int, list[Operator]], apply: Callable[[Operator], Bools | None]) -> Bools | None:
        """The DAG after the first operator, by falling gain, that is valid."""
        heap = [(operators[0], 0) for operators in table.values() if operators]
        heapify(heap)
        while heap:
            operator, position = heap[0]
            dag = apply(operator)
            if dag is not None:
                return dag
            operators = table[operator.y]
            if position + 1 < len(operators):
                heapreplace(heap, (operators[position + 1], position + 1))
            else:
                heappop(heap)
        return None

    def inserts(self, y: int) -> list[Operator]:
        """Insertions of x → y: C holds the neighbours of y that x is joined to, and others if they form a clique."""
        now, found = self.current, []
        apart = ~now.joined[y] & self.mask.allowed[:, y]
        neighbours = now.neighbours[y]
        for C in now.cliques(neighbours):
            # What x is joined to already may lie before y whatever is known; the edge to it is directed later.
            fits = apart & ~now.joined[sorted(neighbours - C)].any(axis=0)
            newly = [c for c in C if not self.mask.allowed[c, y]]
            fits &= now.joined[newly].all(axis=0)
            gains = self.scores.gains(y, C | now.parents[y])
            for x in np.flatnonzero(fits & (gains > TOLERANCE)).tolist():
                found.append(Operator(-float(gains[x]), x, y, tuple(sorted(C))))
        return sorted(found)

    def insert(self, operator: Operator) -> Bools | None:
        """Draw x → y and C → y, unless a path leads from y to x around C."""
        x, y, C, now = operator.x, operator.y, operator.C, self.current
        if now.leads(y, x, C):
            return None
        directed, undirected = np.array(now.graph.directed), np.array(now.graph.undirected)
        directed[[x, *(c for c in C if c not in now.adjacent[x])], y] = True
        undirected[directed | directed.T] = False
        return _extended(directed, undirected)

    def deletes(self, y: int) -> list[Operator]:
        """Deletions of x → y or x – y: C is a clique of the neighbours of y that x is joined to."""
        now, found = self.current, []
        fixed = self.mask.required[:, y] | self.mask.required[y]
        for x in sorted(now.parents[y] | now.neighbours[y]):
            if fixed[x]:
                continue
            others = now.parents[y] - {x}
            for C in now.cliques(now.neighbours[y] & now.adjacent[x]):
                gain = self.scores.score(y, others | C | {x}) - self.scores.score(y, others | C)
                if gain > TOLERANCE:
                    found.append(Operator(-gain, x, y, tuple(sorted(C))))
        return sorted(found)

    def delete(self, operator: Operator) -> Bools | None:
        """Take the edge away; the common neighbours outside of C come after x and y."""
        x, y, now = operator.x, operator.y, self.current
        directed, undirected = np.array(now.graph.directed), np.array(now.graph.undirected)
        directed[x, y] = undirected[x, y] = undirected[y, x] = False
        for after in (now.neighbours[y] & now.adjacent[x]).difference(operator.C):
            directed[y, after] = True
            directed[x, after] |= undirected[x, after]
        undirected[directed | directed.T] = False
        return _extended(directed, undirected)

    def turns(self, y: int) -> list[Operator]:
        """Turns of y → x or y – x into x → y."""
        now, found = self.current, []
        s, parents, allowed = self.scores.score, now.parents[y], self.mask.allowed[:, y]
        for x in sorted(now.children[y] | now.neighbours[y]):
            if self.mask.required[y, x] or not allowed[x]:
                continue
            near, undirected = now.neighbours[y] & now.adjacent[x], x in now.neighbours[y]
            for C in now.cliques(now.neighbours[y] - {x}):
                # Without these the turn would close a cycle, or stay in the class.
                if (C <= near if undirected else not near <= C) or not all(allowed[c] for c in C - near):
                    continue
                of_x = now.parents[x] | (C & near) if undirected else now.parents[x] - {y}
                gain = s(y, parents | C) - s(y, parents | C | {x}) + s(x, of_x | {y}) - s(x, of_x)
                if gain > TOLERANCE:
                    found.append(Operator(-gain, x, y, tuple(sorted(C))))
        return sorted(found)

    def turn(self, operator: Operator) -> Bools | None:
        """Turn y → x in a DAG of the class in which C comes before y, and x before its own neighbours."""
        x, y, C, now = operator.x, operator.y, frozenset(operator.C), self.current
        first = {y} | (C & now.neighbours[x]) if x in now.neighbours[y] else frozenset()
        dag = now.member({y: C, x: frozenset(first)})
        if dag is None:
            return None
        dag[y, x], dag[x, y] = False, True
        return None if find_reached(dag, y)[y] else dag

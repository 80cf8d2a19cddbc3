"""The search under the score of mixed tables, near the answers of other searches.

Under the degenerate Gaussian score of the search over orders the levels of a category are numbers. Its answers
are where hill climbing begins under the likelihoods of the columns' own kinds; and once more with each edge of its end
turned or left out: whatever is better on the way is the new answer, and what is not tells by how much it is ahead.
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
from acyclic.discrete.fitted import LINEAR, Fitted, World, in_own_order
from acyclic.discrete.hill_climbing import HillClimbing
from acyclic.discrete.rivals import Alternative, Rivals
from acyclic.discrete.search import FoundGraph
from acyclic.discrete.survey import MOST_ALTERNATIVES, TIE
from acyclic.discrete.worlds import Answer, Worlds
from acyclic.facts import Ended, Fact
from acyclic.graphs.cycles import sort_topologically
from acyclic.graphs.equivalence import find_cpdag
from acyclic.graphs.reachability import close_transitively
from acyclic.scores.blocks import Mechanisms, NoiseShape
from acyclic.scores.mixed import Known, MixedScore
from acyclic.types import Bools, Floats, Integers

__all__ = ["find_mixed", "near_pairs", "polish_mixed"]

# How often a better graph that is met around the answer starts another look around.
_ROUNDS = 10
# Rows times pairs of a category and what may be its parent, and so many for each pair of a number, whose parents are
# lines or may be curves. Beyond the first limit, some seconds, only pairs near a category are looked at; beyond the
# other, up to a minute, none.
_FEW, _MOST_WORK, _LINE, _CURVE = 1e6, 3e6, 300, 3000
# Curves have to gain so many times log n over lines, and this share of what the shape of the noise gains: see `worlds`.
_CONVINCING, _MISSED = 3, 0.1


def polish_mixed(
    worlds: Worlds,
    graphs: Sequence[Bools],
    others: Sequence[Bools] = (),
    *,
    curved: bool = False,
    rivals: Rivals | None = None,
    deadline: Deadline | None = None,
) -> tuple[Answer, dict[World, float]] | None:
    """The best graph near some graphs with every column by the likelihood of its kind, and the scores of the worlds.

    Numbers have normal noise or noise of any shape. None where so many rows and columns would take long, or no column
    is a category.

    Parameters
    ----------
    worlds : Worlds
    graphs : sequence of ndarray of bool, shape (d, d)
        The answers of searches in some of them.
    others : sequence of ndarray of bool, shape (d, d)
        Graphs that are nearly as good as these: they may be better here, or tell how far the best is ahead.
    curved : bool
        Whether curves are tried beside lines.
    rivals : Rivals, optional
        Those of the last of the graphs: they tell how far edges are ahead that are far from every category, where the
        columns are too many to look at them again.
    deadline : Deadline, optional
    """
    canon, counts = worlds.canon, tuple(worlds.counts[k] for k in worlds.canon)
    starts = [graph[np.ix_(canon, canon)] for graph in graphs]
    asked, n = ~np.eye(len(canon), dtype=bool), len(worlds.sorted_rows)
    far: tuple[Floats, Floats] | None = None
    if _find_work(asked, counts, n, curved) > _FEW:
        asked = near_pairs(starts) & _near_categories(starts, counts)
        far = None if rivals is None else _margins_of(rivals, canon, starts[-1], asked)
    late = deadline is not None and deadline.passed()
    if not any(counts) or _find_work(asked, counts, n, curved) > _MOST_WORK or late:
        return None
    mask = worlds.parents.mask.permuted(canon)
    known: Known = {}
    tops: dict[World, list[_Climb]] = {}
    for world in _list_worlds(worlds, curved):
        score = MixedScore(worlds.score(world), worlds.sorted_rows, counts, asked, known)
        tops[world] = _climb_all(score, starts, mask, deadline)
    totals = {world: found[0].total for world, found in tops.items()}
    chosen = _choose(totals, log(worlds.parents.n))
    more = [graph[np.ix_(canon, canon)] for graph in others]
    met = [*tops[chosen], *_climb_all(tops[chosen][0].scores, more, mask, deadline)]
    adjacency, total, ahead, end = _look_around(met, mask, deadline, far)
    blocks = worlds.score(chosen)
    families = [blocks.family(j, np.flatnonzero(adjacency[:, j]).tolist()) for j in range(len(canon))]
    features, renamed = in_own_order(blocks.features, families, canon, worlds.back)
    fitted = Fitted(features, renamed, worlds.codings)
    order = canon[sort_topologically(adjacency)]
    found = FoundGraph(
        order, fitted.slopes(worlds.rows), total, worlds.parents.penalty, (total,), 0, 0, _outward(ahead, worlds), end
    )
    if found.rivals is not None and rivals is not None:
        found = replace(found, rivals=replace(found.rivals, opposed=rivals.opposed))
    return Answer(chosen, found, fitted), totals


def _find_work(asked: Bools, counts: Sequence[int], n: int, curved: bool) -> float:
    levels = np.array(counts) > 0
    return n * int(asked[:, levels].sum()) + (_CURVE if curved else _LINE) * int(asked[:, ~levels].sum())


def _near_categories(starts: Sequence[Bools], counts: Sequence[int]) -> Bools:
    """The pairs (d, d) of categories and of columns that are joined with one in some of the graphs.

    Scores of numbers are those of the search that found the graphs: what is better here begins at a category.
    """
    levels = np.array(counts) > 0
    near = levels | np.any([(graph | graph.T)[:, levels].any(axis=1) for graph in starts], axis=0)
    return np.asarray(near[:, None] & near[None, :])


def _margins_of(rivals: Rivals, canon: Integers, graph: Bools, asked: Bools) -> tuple[Floats, Floats]:
    """What is known of the edges of a graph that are not asked for, in canonical order: NaN elsewhere."""
    pairs, far = np.ix_(canon, canon), graph & ~asked
    return np.where(far, rivals.turned[pairs], nan), np.where(far, rivals.left_out[pairs], nan)


def _list_worlds(worlds: Worlds, curved: bool) -> list[World]:
    shaped = any(worlds.score(LINEAR).features.shaped)
    mechanisms: list[Mechanisms] = ["linear", "curved"] if curved else ["linear"]
    noises: list[NoiseShape] = ["gaussian", "any"] if shaped else ["gaussian"]
    return [World(*pair) for pair in product(mechanisms, noises)]


def _choose(totals: dict[World, float], unit: float) -> World:
    """The world with the lowest score, if it is convincing."""
    straight = {world: total for world, total in totals.items() if world.mechanisms == "linear"}
    best = LINEAR
    for world, total in straight.items():
        if total < straight[best] - unit:
            best = world
    least = max(_CONVINCING * unit, _MISSED * (straight[LINEAR] - straight[best]))
    bent = min(totals, key=lambda world: totals[world])
    return bent if totals[bent] < straight[best] - least else best


def _outward(rivals: Rivals | None, worlds: Worlds) -> Rivals | None:
    """The same with the columns in their own order."""
    if rivals is None:
        return None
    back = np.ix_(worlds.back, worlds.back)
    others = tuple(Alternative(other.adjacency[back], other.excess) for other in rivals.alternatives)
    return replace(rivals, turned=rivals.turned[back], left_out=rivals.left_out[back], alternatives=others)


def near_pairs(starts: Sequence[Bools], reach: int = 2) -> Bools:
    """The pairs (d, d) that are joined in some of the graphs, or both joined with a third column in one.

    >>> near_pairs([np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)]).astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """
    found = np.zeros_like(starts[0])
    for graph in starts:
        joined = (graph | graph.T).astype(np.int32)
        found |= (joined + joined @ joined * (reach > 1)) > 0
    np.fill_diagonal(found, False)
    return found


def find_mixed(
    score: MixedScore, starts: Sequence[Bools], mask: Mask, deadline: Deadline | None = None
) -> tuple[Bools, float, Rivals | None]:
    """The best graph near some graphs, its score, and how far it is ahead; None where the clock ends the look around.

    Parameters
    ----------
    score : MixedScore
    starts : sequence of ndarray of bool, shape (d, d)
        Acyclic graphs that obey the mask.
    mask : Mask
    deadline : Deadline, optional

    Examples
    --------
    >>> from acyclic.scores.blocks import BlockScore
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 1000))
    >>> rows = np.column_stack([x, y, x + y + rng.logistic(size=1000) > 0]).astype(float)
    >>> score = MixedScore(BlockScore.of(rows, (0, 0, 2), mechanisms="linear"), rows, (0, 0, 2))
    >>> graph, _, rivals = find_mixed(score, [np.zeros((3, 3), dtype=bool)], Mask.unrestricted(3))
    >>> graph.astype(int).tolist(), bool(rivals.turned[0, 2] > 5)
    ([[0, 0, 1], [0, 0, 1], [0, 0, 0]], True)
    """
    return _look_around(_climb_all(score, starts, mask, deadline), mask, deadline)[:3]


def _climb_all(score: MixedScore, starts: Sequence[Bools], mask: Mask, deadline: Deadline | None) -> list[_Climb]:
    """The ends of hill climbing from each start, the best first."""
    found = []
    for start in starts:
        climb = _Climb(score, mask, start)
        climb.rise(deadline)
        found.append(climb)
    return sorted(found, key=lambda climb: climb.total)


def _look_around(
    met: Sequence[_Climb], mask: Mask, deadline: Deadline | None, far: tuple[Floats, Floats] | None = None
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


class _Climb(HillClimbing):
    """Hill climbing whose tables can be taken over by another one that differs at few nodes."""

    scores: MixedScore

    @property
    def total(self) -> float:
        """The score of its graph."""
        return self.scores.total(self.dag)

    def _weigh(self, node: int) -> None:
        parents = np.flatnonzero(self.dag[:, node]).tolist()
        allowed, kept = self.mask.allowed[:, node], self.mask.required[:, node]
        self.addition[:, node] = np.where(allowed, self.scores.gains(node, parents), -inf)
        self.deletion[:, node] = np.where(kept, -inf, self.scores.losses(node, parents))

    def rise(self, deadline: Deadline | None) -> None:
        """Climb to the top, or until the time is up."""
        while (move := self._best()) is not None and not (deadline is not None and deadline.passed()):
            self.take(move)

    def fork(self, dag: Bools, mask: Mask, asked: Bools | None = None) -> _Climb:
        """One from another graph under another mask, which asks for gains of some pairs only."""
        other = copy(self)
        if asked is not None:
            other.scores = replace(self.scores, asked=asked)
        changed = (dag != self.dag) | (mask.allowed != self.mask.allowed) | (mask.required != self.mask.required)
        other.dag, other.mask = np.array(dag), mask
        other.addition, other.deletion = self.addition.copy(), self.deletion.copy()
        for node in np.flatnonzero(changed.any(axis=0)).tolist():
            other._weigh(node)
        return other


class _Around:
    """The graphs around the best one: with each edge turned, and left out."""

    def __init__(
        self, mask: Mask, top: _Climb, deadline: Deadline | None, far: tuple[Floats, Floats] | None = None
    ) -> None:
        self.mask, self.total, self.top, self.deadline = mask, top.total, top, deadline
        turned, left_out = (np.full(top.dag.shape, nan),) * 2 if far is None else far
        self.known = top.dag & ~np.isnan(turned) & ~np.isnan(left_out)
        self.turned, self.left_out = (
            np.where(top.dag, np.where(self.known, margins, inf), nan) for margins in (turned, left_out)
        )
        self.near: list[tuple[float, Bools]] = []
        self.better: _Climb | None = None

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
            self.better = _Climb(self.top.scores, self.mask, climb.dag)
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
        if not (self.mask.is_free and self.top.scores.blocks.is_equivalent):
            return other.T
        return (other | other.T) & ~find_cpdag(other).directed

    def rivals(self, met: Sequence[_Climb]) -> Rivals:
        """How far the best graph is ahead of all others that were met."""
        dag, seen = self.top.dag, {self.top.dag.tobytes()}
        self.near += [(max(climb.total - self.total, 0.0), climb.dag) for climb in met if (climb.dag != dag).any()]
        for excess, other in self.near:
            turned, gone = dag & self.turns(other), dag & ~other & ~other.T
            self.turned[turned] = np.minimum(self.turned[turned], excess)
            self.left_out[gone] = np.minimum(self.left_out[gone], excess)
        kept: list[Alternative] = []
        for excess, other in sorted(self.near, key=lambda pair: (pair[0], pair[1].tobytes())):
            if (
                excess <= log(len(self.top.scores.rows))
                and other.tobytes() not in seen
                and len(kept) < MOST_ALTERNATIVES
            ):
                seen.add(other.tobytes())
                kept.append(Alternative(other, excess))
        gap = min((excess for excess, _ in self.near), default=inf)
        return Rivals(False, 0, 0, gap, self.turned, self.left_out, tuple(kept))


def _edge(d: int, u: int, v: int) -> Bools:
    one = np.zeros((d, d), dtype=bool)
    one[u, v] = True
    return one

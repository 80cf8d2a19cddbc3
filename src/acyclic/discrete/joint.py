"""The search where columns are functions of all their parents together: very many sets of parents, each of them dear.

Of few columns the best graph is found under the score with kernels that few rows tell: what comes before what is clear
from these. Then each column chooses its parents among those before it under the score with kernels of all rows, which
see one of many parents. Of more columns it is hill climbing under the first of the two scores, from graphs of curves
that add up; the second was seen to move one edge in ten graphs there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf
from typing import Any

import numpy as np

from acyclic._native import BlockChain
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.interactions import find_products, look_together
from acyclic.discrete.rivals import Rivals
from acyclic.discrete.search import ScoreSearch
from acyclic.discrete.selection import ParentCriterion
from acyclic.discrete.surroundings import Climb, look_around
from acyclic.facts import Ended, Fact
from acyclic.graphs.reachability import find_reached
from acyclic.scores.blocks import Family
from acyclic.scores.joint import JointScore, Reach
from acyclic.scores.local import TOLERANCE, DearScore
from acyclic.types import Bools, Floats, Integers

__all__ = ["LARGEST_JOINT", "LARGEST_PROVED", "JointSearch", "score_all_sets"]

# Up to so many columns all sets of parents are scored, in some ten seconds; up to so many it is hill climbing.
LARGEST_PROVED, LARGEST_JOINT = 10, 50
# Sets of parents, of a millisecond or three, beyond which the look around the answer ends.
_MOST_AROUND = 5000


class JointSearch(ScoreSearch):
    """The search of joint functions; `families` are those of its answer, columns in canonical order.

    Hill climbing takes the score of a ``sample`` of the rows, and looks only for what comes ``below`` a score of these.
    """

    score: JointScore
    families: list[Family]

    def __init__(
        self,
        score: JointScore,
        sample: JointScore,
        criterion: ParentCriterion,
        canon: Integers,
        below: float,
        *options: Any,
    ) -> None:
        super().__init__(score, criterion, canon, *options)
        self.by_class, self.mask = False, criterion.mask.permuted(canon)
        self.sample, self.below = sample, below

    def open_chain(self, seed: int) -> BlockChain:
        """A chain under the score of curves that add up: for what is returned if there is no time."""
        return self.stack.enter_context(BlockChain(self.score.additive.criterion, *self.rules, seed))

    def score_sets(self, deadline: Deadline | None) -> Floats | None:
        """See ScoreSearch."""
        allowed, required, _, most, *_ = self.rules
        return score_all_sets(self.d, (allowed, required, most), self.score.score, deadline)

    def find(self, starts: list[Integers]) -> tuple[Integers, Bools, float, Rivals | None, Fact[Ended]]:
        """Order, graph, score and rivals; without effort no proof and no look around."""
        order = self.obey(np.argsort(self.back[starts[0]]) if starts else np.arange(self.d)).astype(np.intp)
        chain, rivals, end = self.open_chain(0), None, Fact.of(Ended.NO_BETTER_MOVE)
        chain.start(order.astype(np.int32))
        inward = chain.parents()
        self.families = [self._add_up(j, np.flatnonzero(inward[:, j]).tolist()) for j in range(self.d)]
        try:
            if self.d > LARGEST_PROVED:
                rivals, end = self._climb(starts or [self.canon[order]])
            else:
                rivals, end = self._prove_and_refine(inward)
        except Stopped as stop:
            end = self.explain(stop)
        except KeyboardInterrupt:
            end = Fact.of(Ended.INTERRUPTED)
        edges = np.zeros((self.d, self.d), dtype=bool)
        for j, family in enumerate(self.families):
            edges[list(family.parents), j] = True
        total = sum(family.score for family in self.families)
        return self.canon[self.order_of(edges)], edges[np.ix_(self.back, self.back)], total, rivals, end

    def _prove_and_refine(self, inward: Bools) -> tuple[Rivals | None, Fact[Ended]]:
        end = Fact.of(Ended.NO_BETTER_MOVE)
        try:
            proved = self.prove() if self.budget > 0 else None
        except Stopped as stop:  # there is time left for the parents of the start
            proved, end = None, stop.end
        if proved is not None:
            inward = proved[1][np.ix_(self.canon, self.canon)]
        left_out = self._refine(inward)
        return None if proved is None else self._compare(proved[1], proved[3], left_out), end

    def _climb(self, starts: list[Integers]) -> tuple[Rivals | None, Fact[Ended]]:
        """The best graph near those that curves have in each order; without effort, in the first.

        Where joint functions of the parents there are far from the score that is to be beaten, nothing is looked for.
        """
        score = _ScoreOfFew(self.sample, self.rules[3], self.deadline)
        met: list[Climb] = []
        best: Bools | None = None
        try:
            for start in starts if self.budget > 0 else starts[:1]:
                chain = self.open_chain(0)
                chain.start(self.obey(np.argsort(self.back[start])))
                if look_together(self.sample, chain.parents()) < self.below:
                    met.append(Climb(score, self.mask, chain.parents()))
                    self._rise(met[-1])
                    if self.tell is not None:
                        self.tell(met[-1].total)
            if self.budget == 0 or not any(climb.total < self.below for climb in met):
                return None, Fact.of(Ended.NO_BETTER_MOVE)
            for climb in met:
                climb.scores = replace(score, room=len(score.known) + _MOST_AROUND)
            best, _, rivals, end = look_around(met, self.mask, self.deadline)
            return None if rivals is None else rivals.permuted(self.back), end
        finally:
            if met:
                best = min(met, key=lambda climb: climb.total).dag if best is None else best
                self.families = [self._fit(j, tuple(np.flatnonzero(best[:, j]).tolist())) for j in range(self.d)]

    def _rise(self, climb: Climb) -> None:
        """To the top: where no single parent helps, two whose product does."""
        climb.rise(self.deadline)
        while self._add_product(climb):
            climb.rise(self.deadline)

    def _add_product(self, climb: Climb) -> bool:
        for j, two, _ in find_products(self.sample, climb.dag):
            parents = np.flatnonzero(climb.dag[:, j]).tolist()
            both = sorted({*parents, *two})
            allowed = self.mask.allowed[both, j].all() and len(both) <= self.rules[3]
            if allowed and climb.scores.score(j, both) < climb.scores.score(j, parents) - TOLERANCE:
                climb.dag[both, j] = True
                climb.weigh(j)
                return True
        return False

    def _fit(self, j: int, parents: tuple[int, ...]) -> Family:
        """Curves that add up, or the joint function if its score is lower."""
        found = self._add_up(j, list(parents))
        if len(parents) < 2 or self.score.rough(j, parents)[0] >= found.score:
            return found
        fine = self.budget > 0 and (self.deadline is None or not self.deadline.passed())
        reach = (self.score.fine if fine else self.score.rough)(j, parents)[1]
        return min(found, self.score.family(j, parents, reach), key=lambda family: family.score)

    def _add_up(self, j: int, parents: list[int]) -> Family:
        return self.score.additive.family(j, parents, most=1)

    def _refine(self, rough: Bools) -> Floats:
        """Choose parents under the fine score; how much higher it is without each (d, d).

        A column may have parents among all that do not follow from it. Those that gain most over the rough graph come
        first: its weak columns, of which it cannot tell where they belong, follow those that it can place.
        """
        edges, left_out = rough.copy(), np.full((self.d, self.d), np.nan)
        usual = [self.score.score(j, np.flatnonzero(rough[:, j]).tolist()) for j in range(self.d)]
        choices = {j: self._choose(j, edges, rough) for j in range(self.d)}
        while choices:
            j = min(choices, key=lambda k: choices[k].family.score - usual[k])
            family = choices[j].family
            if self._following(j, edges)[list(family.parents)].any():
                choices[j] = self._choose(j, edges, rough)
                continue
            edges[:, j] = np.isin(np.arange(self.d), family.parents)
            self.families[j] = family
            for i in family.parents:
                left_out[i, j] = choices[j].without(i)
            del choices[j]
        return left_out

    def _following(self, j: int, edges: Bools) -> Bools:
        """What comes after a column: (d,)."""
        return find_reached(edges if self.before is None else edges | self.before, [j])

    def _choose(self, j: int, edges: Bools, rough: Bools) -> _Choice:
        allowed, required, _, most, *_ = self.rules
        may = ~self._following(j, edges)
        may[j] = False
        must = np.zeros(self.d, dtype=bool) if required is None else required[j].astype(bool)
        if allowed is not None:
            may &= allowed[j].astype(bool) | must
        return _Choice(self.score, j, may, must, most, np.flatnonzero(rough[:, j] & (may | must)), self.deadline)

    def _compare(self, rough: Bools, rivals: Rivals, left_out: Floats) -> Rivals:
        """What the rough score knows of the fine graph: who comes before whom, by the weakest link of the best path."""
        firm = np.where(rough, np.fmin(rivals.turned, rivals.left_out), 0.0)
        for k in range(self.d):
            firm = np.maximum(firm, np.minimum.outer(firm[:, k], firm[k]))
        outward = np.ix_(self.back, self.back)
        missed = left_out[outward]
        turned = np.where(rough, np.fmax(rivals.turned, firm), firm)
        return replace(
            rivals, proved=False, chains=0, agreeing=0, gap=inf, alternatives=(), left_out=missed,
            turned=np.where(np.isnan(missed), np.nan, turned),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _ScoreOfFew(DearScore):
    """The score with kernels that few rows tell, of some parents at most, until time or room are used up."""

    inside: JointScore
    most: int
    deadline: Deadline | None
    asked: Bools | None = None
    known: dict[tuple[int, tuple[int, ...]], float] = field(default_factory=dict)
    room: float = inf
    is_equivalent = False

    @property
    def n_nodes(self) -> int:  # type: ignore[override]
        """Of the columns."""
        return len(self.inside.Z.T)

    @property
    def n(self) -> int:
        """Of the rows."""
        return len(self.inside.Z)

    def among(self, asked: Bools) -> _ScoreOfFew:
        """See DearScore."""
        return replace(self, asked=asked)

    def score(self, node: int, parents: Collection[int]) -> float:
        """See LocalScore."""
        key = node, tuple(sorted(parents))
        if key not in self.known:
            self.known[key] = self.inside.score(*key)
        return self.known[key]

    def gains(self, node: int, given: Collection[int]) -> Floats:
        """See LocalScore; raises Stopped when the deadline passes, or enough sets of parents were looked at."""
        now, found = self.score(node, given), np.full(self.n_nodes, -inf)
        others = range(self.n_nodes) if self.asked is None else np.flatnonzero(self.asked[:, node]).tolist()
        for other in set(others) - {node, *given} if len(given) < self.most else ():
            if self.deadline is not None:
                self.deadline.check()
            if len(self.known) > self.room:
                raise Stopped(Fact.of(Ended.NO_BETTER_MOVE))
            found[other] = now - self.score(node, [*given, other])
        return found


class _Choice:
    """The parents of one column under the fine score."""

    def __init__(
        self,
        score: JointScore,
        j: int,
        may: Bools,
        must: Bools,
        most: int,
        rough: Integers,
        deadline: Deadline | None,
    ) -> None:
        self.score, self.j, self.may, self.must, self.most, self.deadline = score, j, may | must, must, most, deadline
        self.reach: Reach | None = None
        self.family = score.additive.family(j, rough.tolist(), most=1)
        for start in {tuple(rough.tolist()), tuple(np.flatnonzero(self.may).tolist())}:
            if 2 <= len(start) <= most:
                self._improve(start)

    def _improve(self, start: tuple[int, ...]) -> None:
        """Go on from a set, one parent in or out at a time, with the kernel that is best for it."""
        score, before = self.score, self.reach
        self._check()
        self.reach = score.fine(self.j, start)[1]
        chosen = self._descend(start)
        found = score.additive.family(self.j, chosen, most=1)
        if len(chosen) > 1:
            joint = score.family(self.j, chosen, score.fine(self.j, chosen)[1])
            found = min(found, joint, key=lambda family: family.score)
        if found.score < self.family.score:
            self.family = found
        else:
            self.reach = before

    def without(self, i: int) -> float:
        """How much higher the score is without a parent, the others as they are."""
        family, rest = self.family, tuple(k for k in self.family.parents if k != i)
        if family.together is None or len(rest) < 2:
            return self.score.score(self.j, rest) - family.score
        return self._value(rest) - self._value(tuple(family.parents))

    def _descend(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        value, improved = self._value(chosen), True
        while improved:
            improved = False
            values = {other: self._value(other) for other in self._neighbours(chosen)}
            if values and min(values.values()) < value:
                chosen = min(values, key=lambda other: values[other])
                value, improved = values[chosen], True
        return chosen

    def _neighbours(self, chosen: tuple[int, ...]) -> list[tuple[int, ...]]:
        fewer = [tuple(k for k in chosen if k != i) for i in chosen if not self.must[i]]
        others = np.flatnonzero(self.may).tolist() if len(chosen) < self.most else []
        return fewer + [tuple(sorted((*chosen, i))) for i in others if i not in chosen]

    def _value(self, parents: tuple[int, ...]) -> float:
        if len(parents) < 2:
            return self.score.score(self.j, parents)
        self._check()
        return self.score.fine(self.j, parents, self.reach)[0]

    def _check(self) -> None:
        if self.deadline is not None:
            self.deadline.check()


def score_all_sets(
    d: int,
    rules: tuple[Any, Any, int],
    score: Callable[[int, tuple[int, ...]], float],
    deadline: Deadline | None,
) -> Floats:
    """The scores of all sets of parents, as `ScoredTables` takes them; inf where a set is not allowed."""
    allowed, required, most = rules
    scores = np.full((d, 2 ** (d - 1)), np.inf)
    for j in range(d):
        wanted = set() if required is None else set(np.flatnonzero(required[j]).tolist())
        row = np.ones(d, dtype=bool) if allowed is None else allowed[j].astype(bool)
        row[list(wanted)] = True
        row[j] = False
        for size in range(len(wanted), min(int(row.sum()), most) + 1):
            for parents in combinations(np.flatnonzero(row).tolist(), size):
                if wanted <= set(parents):
                    scores[j, sum(1 << (i - (i > j)) for i in parents)] = score(j, parents)
            if deadline is not None:
                deadline.check()
    return scores

"""The learner behind learn(): it lets the table decide what orients the edges, and composes the others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import log, nan
from typing import Any, ClassVar

import numpy as np

from acyclic.data.features import FEWEST_ROWS_FOR_CURVES
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.table import Table, explain_no_rows
from acyclic.discrete.fitted import LINEAR, World
from acyclic.discrete.mixed import polish_mixed
from acyclic.discrete.order import polish
from acyclic.discrete.rivals import Rivals, rivals_without_units
from acyclic.discrete.screening import MANY_COLUMNS
from acyclic.discrete.search import FoundGraph, search_graph, search_orders
from acyclic.discrete.worlds import LARGEST_CURVED, LARGEST_SHAPED, Answer, Worlds, choose_world, pass_lines
from acyclic.errors import InputError
from acyclic.facts import Caution, Ended, Fact, NoRows, Orientation
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import find_cpdag
from acyclic.judging.judge import Found
from acyclic.learners.base import DagLearner, Outliers
from acyclic.learners.categorical import can_count, find_by_counts
from acyclic.learners.equal_variance import EqualVariance
from acyclic.learners.golem import Golem
from acyclic.learners.ordering import (
    EFFORT,
    PENALTY_OR_ADAPTIVE,
    caution_together,
    caution_uncompared,
    name_penalty,
    order_of_start,
    orient_by_edge,
    orient_world,
    resolve_effort,
    resolve_price,
)
from acyclic.ranges import Range
from acyclic.running import Monitor, State
from acyclic.scores.equal_variances import EqualVariances
from acyclic.scores.local import PenaltyChoice, PenaltyRule, bic_of_weights, price_of_parent
from acyclic.scores.regression import least_squares
from acyclic.scores.residuals import residual_variances
from acyclic.types import Callback, Floats, Integers, Kind

# Beyond this size a search over orders takes minutes.
LARGEST_SEARCH = 500
# With fewer rows than this for each column, a second start from the continuous solution is worth its time, as is more
# than a descent.
FEW_ROWS_PER_COLUMN, LARGEST_CONTINUOUS = 5, 50
EFFORT_FEW_ROWS = 0.1
# Edges more speak against equal variances only where there is room for many of them, and where the variance of each
# column by itself is told well: with fewer columns or rows true graphs that are nearly complete lost to sparser ones.
FEWEST_TO_COUNT, ROWS_TO_COUNT = 6, 20
# Below this lead over unequal variances a whole search for those is worth its time: it gains up to some tens.
CLOSE_LEAD = 30.0


class Auto(DagLearner):
    """Learn a DAG by what the table allows: the data decide which assumption orients its edges.

    First a graph is learned under equal noise variances (order, polish, selection, and a search over orders up to 500
    columns). If the residual variances of that graph agree with each other, and neither a curve nor fewer edges explain
    more, it is the answer, and its directions rest on this. Otherwise units carry no information about directions: the
    best graph under the Gaussian BIC follows, which sees correlations only, proved best up to 20 columns and by several
    chains of a search over orders beyond (among screened candidates beyond 1000 columns). Where rows show that curves
    (up to 200 columns) or noise that is not normal (up to 500) explain more, by the same penalised likelihood, the best
    graph of that world is the answer; where that is more than a search among lines could gain, it is left out. Up to
    50 columns and 5000 rows, functions of all parents together are looked for where curves that add up leave something
    that goes with products of columns, or that one of the same parents explains. Categories of more than two levels
    enter by their levels, and a table of categories alone is counted. ``rivals_`` tells how far the answer is ahead of
    others, ``cpdag_`` its class where independence alone decides.

    Parameters
    ----------
    threshold : float
        Weights below it, in absolute value, are cut; 0 leaves the choice of edges to the selection rule, which follows
        n, d and the noise and does not depend on units.
    effort : float, optional
        How much to search where units carry no information: 1 is a second or two for 50 columns; 0 only goes downhill
        from one order. None is 1, or with a time limit as much as it allows: until many generations of orders found
        nothing better, or the limit is near. Under equal variances with few rows, a tenth of it.
    penalty : {"ebic", "bic", "strong", "adaptive"} or float
        Price of a parent, in units of −2 log-likelihood: that of the extended BIC by default, which few false edges
        pass at any number of columns; see `price_of_parent`. "adaptive" lowers it where effects are small or
        edges many, and conditional independence decides; see `price_by_evidence`.
    outliers : {"set-aside", "keep"}
        Whether rows that are far from all others are left out, with a note, lest they make edges, curves and arrows;
        heavy tails alone are none: see `acyclic.data.outliers`.
    start : array_like (d, d), optional
        Weights of a similar graph, as that of the whole table for a bootstrap draw: the search is one descent from its
        order then.
    knowledge : Knowledge or path, optional
        Prior knowledge; the result always obeys it.
    time_limit : float, optional
        Seconds after which the best so far is returned; an effort that is given may end before.
    callback : callable, optional
        Called with a `Progress` at each stage; a true answer ends the run with the best so far.
    random_state : int
        Seed of the random starts.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=1000, random_state=1)
    >>> Auto().fit(data.X).verdict_.orientation
    <Orientation.EQUAL_VARIANCES: 'equal-variances'>
    """

    method = "auto"
    version = 5
    kinds_seen: ClassVar[frozenset[Kind]] = frozenset(Kind)
    RANGES: ClassVar[Mapping[str, Range]] = {"penalty": PENALTY_OR_ADAPTIVE, "effort": EFFORT}

    def __init__(
        self,
        *,
        threshold: float = 0.0,
        effort: float | None = None,
        penalty: PenaltyChoice = "ebic",
        start: Floats | None = None,
        outliers: Outliers = "set-aside",
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        random_state: int = 0,
    ) -> None:
        self.threshold = threshold
        self.effort = effort
        self.penalty = penalty
        self.start = start
        self.outliers = outliers
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback
        self.random_state = random_state

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        if can_count(table):
            return find_by_counts(self, table, mask, monitor)
        near = None if self.start is None else order_of_start(self.start, table.names)
        effort = resolve_effort(self.effort, self.time_limit)
        if table.why_no_rows is not None and not table.has_sample and has_categories(table):
            raise InputError("categories of more than two levels need rows: ", *explain_no_rows(table.why_no_rows))
        if mask.has_bounds and has_categories(table):
            raise InputError("bounds and signs are of weights between numbers; leave them out beside categories")
        run = _Run(table, mask, monitor, self.random_state, effort, self.penalty, near)
        start = least_squares(table.moments.covariance, mask.required, mask)
        state = monitor.run(run.stages, State(start))
        best = run.best or run.weigh(start, equal=True)
        return Found(
            solution=state.solution(
                0.5 * float(residual_variances(table.moments.covariance, state.weights).sum()), 0.0
            ),
            method=self.method,
            orientation=_orientation(best, run.answer),
            settings={
                "noise variances": "equal" if best.equal else "unequal",
                **({} if run.answer is None else run.answer.fitted.world._asdict()),
                **name_penalty(self.penalty),
            },
            threshold=self.threshold,
            cautions=(
                *_caution(table.moments, best, self.threshold),
                *run.caution_worlds(),
                *caution_together(None if run.answer is None else run.answer.fitted, table.names),
            ),
            details={**_details(run.price, best), **run.describe_worlds()},
            rivals=run.rivals,
            paid=run.price if run.answer is None else None,
            by_edge={} if run.answer is None else orient_by_edge(run.answer.fitted),
            mechanisms=None if run.answer is None else run.answer.fitted,
        )


@dataclass(frozen=True, eq=False)
class _Candidate:
    """One way to explain the table: weights, their price, and the test of equal noise variances on their residuals."""

    equal: bool
    weights: Floats
    price: float
    test: EqualVariances


class _Run:
    """The stages of one fit, and the best explanation so far."""

    def __init__(
        self,
        table: Table,
        mask: Mask,
        monitor: Monitor,
        seed: int,
        effort: float | None,
        penalty: PenaltyChoice,
        near: Integers | None,
    ) -> None:
        self.table, self.moments, self.mask, self.monitor, self.seed = table, table.moments, mask, monitor, seed
        self.effort, self.penalty, self.near = effort, penalty, near
        # Until a first graph says how many edges there are, and how strong.
        usual: PenaltyRule = "ebic" if penalty == "adaptive" else penalty
        self.price = price_of_parent(usual, self.moments.n, len(self.moments.names))
        self.best: _Candidate | None = None
        self.rivals: Rivals | None = None
        self.answer: Answer | None = None
        self.scores: dict[World, float] = {}

    def stages(self, state: State) -> None:
        """All stages in turn, the best weights so far in the state."""
        self._explain(state)
        if state.end is None:
            state.finish(Ended.COMPLETE)

    def _explain(self, state: State) -> None:
        if has_categories(self.table):
            self._search_mixed(state)
            return
        # Of many columns in equal units the order by variances is not worth to be polished.
        plain = self.moments.is_standardized and len(self.moments.names) > MANY_COLUMNS
        first = EqualVariance(penalty=self.price, polished=not plain)._find(
            self.table, self.mask, Monitor(self.monitor.deadline, self.monitor.callback)
        )
        self._accept(state, self.weigh(first.solution.weights, equal=True), first.solution.end)
        if not first.solution.converged:
            return
        assert self.best is not None
        equal = self.best.test.accepted and not self.moments.is_standardized and not self._looks_curved(self.best)
        if equal:
            self._search_equal(state, self.best)
            if state.end is not None or self._stands(state, self.best):
                return
        self._search_unequal(state, self.best)

    def _accept(self, state: State, candidate: _Candidate, end: Fact[Ended]) -> None:
        self.best = candidate
        # Only the last stage ends the run: Ctrl-C between two of them has to find it unfinished.
        stopped = None if end.kind.converged else end
        state.accept(weights=candidate.weights, steps=state.steps + 1, end=stopped)

    def _search_equal(self, state: State, start: _Candidate) -> None:
        """Search orders from the start and, where rows are few, from a continuous solution."""
        moments, d = self.moments, len(self.moments.names)
        if not 3 <= d <= LARGEST_SEARCH:
            return
        orders = [Dag(start.weights).order]
        few = moments.n < FEW_ROWS_PER_COLUMN * d and d <= LARGEST_CONTINUOUS
        if few and self.mask.is_free:
            self.monitor.tick(state, "continuous search", nan, 0.0, 0.0)
            limits = {"time_limit": self.monitor.deadline, "callback": self.monitor.callback}
            golem = Golem().set_params(**limits).fit(self.table)
            if golem.solution_.end.kind.stopped:
                self._accept(state, start, golem.solution_.end)
                return
            orders.append(polish(moments, golem.causal_graph_.order, self.mask, deadline=self.monitor.deadline))
        effort = EFFORT_FEW_ROWS * (1.0 if self.effort is None else self.effort) if few and self.near is None else 0.0
        found = search_orders(moments, orders, self.price, noise="equal", effort=effort, **self._options(state))
        other = self.weigh(found.weights, equal=True)
        # Among so many orders some look better by chance: another one has to gain as much as an edge costs.
        better = other.price < start.price - self.price
        self._accept(state, other if better else start, found.end)

    def _search_unequal(self, state: State, start: _Candidate) -> None:
        """Search by what correlations alone say; the start does not depend on units either."""
        moments, starts = self.moments, [] if self.near is None else [self.near]
        effort = self.effort if self.near is None else 0.0
        self.price = resolve_price(self.penalty, moments, starts, self.mask, self.monitor.deadline)
        self.__dict__.pop("worlds", None)  # the price may be another one than that of the first look
        if self._pass_lines(state, start, effort):
            return
        found = search_graph(moments, starts, self.price, effort=effort, **self._options(state))
        self.rivals = found.rivals
        # The test that decided is the one on the graph under equal variances.
        self._accept(state, replace(self.weigh(found.weights, equal=False), test=start.test), found.end)
        if not found.end.kind.stopped:
            self._choose_world(state, start, found, effort)
            self._polish_mixed(state, start, found)

    def _pass_lines(self, state: State, start: _Candidate, effort: float | None) -> bool:
        """Go on from a mere descent where curves or shapes of noise gain more than any search among lines can."""
        if effort == 0 or not self._has_worlds or len(self.moments.names) > MANY_COLUMNS:
            return False
        first = search_orders(self.moments, (), self.price, effort=0.0, **self._options(state))
        self._accept(state, replace(self.weigh(first.weights, equal=False), test=start.test), first.end)
        if first.end.kind.stopped:
            return True
        passed = pass_lines(self.worlds, first, effort=effort, **self._options(state, mask=False))
        if passed is not None:
            self._take(state, start, *passed)
        return passed is not None

    def weigh(self, weights: Floats, *, equal: bool) -> _Candidate:
        """What weights cost, and whether their residuals have equal variances."""
        cost = bic_of_weights(self.moments, weights, "equal" if equal else "unequal", self.price)
        return _Candidate(equal, weights, cost, EqualVariances.of(self.moments, weights))

    def _search_mixed(self, state: State) -> None:
        """Search with the levels of categories; where a line between numbers is not enough, with curves and shapes."""
        effort = self.effort if self.near is None else 0.0
        starts = [] if self.near is None else [self.near]
        answer = self.worlds.search(LINEAR, starts, effort=effort, **self._options(state, mask=False))
        self.answer, self.rivals = answer, answer.found.rivals
        start = self.weigh(answer.found.weights, equal=False)
        self._accept(state, start, answer.found.end)
        if not answer.found.end.kind.stopped:
            self._choose_world(state, start, answer.found, effort)
            self._polish_mixed(state, start, answer.found)

    def _polish_mixed(self, state: State, start: _Candidate, linear: FoundGraph) -> None:
        """Go on under the likelihoods of the columns' own kinds, where there are categories."""
        if self.near is not None or state.end is not None or self.effort == 0 or not self._has_worlds:
            return
        graphs, curved = [linear.weights != 0], False
        if self.answer is not None:
            curved = bool(self.answer.fitted.curved.any())
            graphs.append(self.answer.fitted.adjacency)
        others = [] if linear.rivals is None else [other.adjacency for other in linear.rivals.alternatives]
        polished = polish_mixed(
            self.worlds, graphs, others, curved=curved, rivals=self.rivals, deadline=self.monitor.deadline
        )
        if polished is not None:
            self.answer, self.scores = polished
            self.rivals = self.answer.found.rivals
            other = self.weigh(self.answer.found.weights, equal=False)
            self._accept(state, replace(other, test=start.test), self.answer.found.end)

    def _choose_world(self, state: State, start: _Candidate, linear: FoundGraph, effort: float | None) -> None:
        """Go on where curves or the shape of the noise explain more than lines and normal noise."""
        if not self._has_worlds:
            return
        answer, scores = choose_world(
            self.worlds, linear, near=self.near, effort=effort, **self._options(state, mask=False)
        )
        self.scores = scores
        if answer is not None:
            self._take(state, start, answer, scores)

    def _take(self, state: State, start: _Candidate, answer: Answer, scores: dict[World, float]) -> None:
        self.answer, self.rivals, self.scores = answer, answer.found.rivals, scores
        other = self.weigh(answer.found.weights, equal=False)
        self._accept(state, replace(other, test=start.test), answer.found.end)

    @property
    def _has_worlds(self) -> bool:
        """Whether there are rows, and enough of them, and weights without bounds: those are of lines."""
        return self.table.has_sample and self._could_tell and not self.mask.has_bounds

    @property
    def _could_tell(self) -> bool:
        """Whether so many rows of so many columns could tell curves or the shape of the noise."""
        return self.moments.n >= FEWEST_ROWS_FOR_CURVES and 2 <= len(self.moments.names) <= LARGEST_SHAPED

    def caution_worlds(self) -> tuple[Fact[Caution], ...]:
        """That only lines were looked at, where what the user asked for is the reason."""
        why = self.table.why_no_rows
        if self.mask.has_bounds and why is None and self._could_tell:
            return (Fact.of(Caution.LINES_FOR_BOUNDS),)
        kinds = {NoRows.WEIGHTED: Caution.LINES_FOR_WEIGHTS, NoRows.INCOMPLETE: Caution.LINES_FOR_MISSING}
        told = why is not None and why.kind in kinds and self._could_tell
        return (Fact.of(kinds[why.kind]),) if told and why is not None else ()

    def describe_worlds(self) -> dict[str, float]:
        """The scores of the worlds that were tried, and how many rows they are of."""
        if not self.scores:
            return {}
        told = {f"score: {_say(world)}": score for world, score in self.scores.items()}
        return {**told, "rows that tell curves and shapes": float(len(self.worlds.rows))}

    @cached_property
    def worlds(self) -> Worlds:
        return Worlds(self.table, self.price, mask=self.mask)

    def _stands(self, state: State, equal: _Candidate) -> bool:
        """Whether equal variances remain the answer beside what correlations say, and how far it is ahead of that.

        In an order against the causal one, many edges more make residuals of about any variances equal: the answer
        falls where a mere descent by correlations is better by more than the test lets unequal variances gain. Where
        rows or columns are few, variances in any units may agree by chance: then directions are as sure as the lead.
        """
        moments, d = self.moments, len(self.moments.names)
        countable = FEWEST_TO_COUNT <= d <= LARGEST_SEARCH and moments.n >= ROWS_TO_COUNT * d
        if not countable and (d > LARGEST_CONTINUOUS or self.near is not None):
            return True
        other = search_orders(moments, (), self.price, effort=0.0, **self._options(state))
        if other.end.kind.stopped:
            return True
        if countable and self.weigh(other.weights, equal=False).price + equal.test.limit < equal.price:
            return False
        lead = self._lead(equal, other)
        if lead < CLOSE_LEAD and self.near is None:
            # A descent would flatter the lead, and has no margins of its own.
            effort = 1.0 if self.effort is None else self.effort
            best = search_graph(moments, (), self.price, effort=effort, **self._options(state))
            if not best.end.kind.stopped:
                lead, other = self._lead(equal, best), best
        self.rivals = rivals_without_units(equal.weights != 0, other.weights != 0, lead, log(moments.n), other.rivals)
        return True

    def _lead(self, equal: _Candidate, other: FoundGraph) -> float:
        """How much higher the score of a graph with unequal variances is, by the BIC, than that of one with equal ones.

        The other needs a variance more for each further column; but units have chosen the directions that its class
        leaves open, one of two for each: an advantage of 2 log 2 for an edge is what the best of any would have.
        """
        varying = int((~self.moments.constant).sum())
        chosen = np.count_nonzero((equal.weights != 0) & ~find_cpdag(other.weights != 0).directed)
        score = self.weigh(other.weights, equal=False).price + log(self.moments.n) * max(varying - 1, 0)
        return max(score - equal.price - 2 * log(2) * chosen, 0.0)

    def _looks_curved(self, equal: _Candidate) -> bool:
        """Whether curves explain so much at the order under equal variances that its test says nothing."""
        d = len(self.moments.names)
        if not self._has_worlds or d > LARGEST_CURVED:
            return False
        order = Dag(equal.weights).order
        usual, curved = (self.worlds.look(w, order, self.monitor.deadline) for w in (LINEAR, World("curved")))
        gain = usual - curved
        return gain > 2 * price_of_parent("ebic", self.moments.n, d)

    def _options(self, state: State, *, mask: bool = True) -> dict[str, Any]:
        monitor = self.monitor
        return {
            **({"mask": self.mask} if mask else {}),
            "deadline": monitor.deadline,
            "tell": monitor.tell(state, "order search"),
            "random_state": self.seed,
        }


def has_categories(table: Table) -> bool:
    """Whether a column is a category of more than two levels."""
    columns = zip(table.kinds, (table.codings.get(name) for name in table.names))
    return any(kind is Kind.CATEGORICAL and coding and len(coding.levels) > 2 for kind, coding in columns)


def _orientation(best: _Candidate, answer: Answer | None) -> Orientation:
    if best.equal:
        return Orientation.EQUAL_VARIANCES
    return Orientation.INDEPENDENCE if answer is None else orient_world(answer.fitted)


def _say(world: World) -> str:
    return f"{world.mechanisms} mechanisms, {world.noise} noise"


def _details(price: float, best: _Candidate) -> dict[str, Any]:
    return {
        "price of a parent": price,
        "noise variances": "equal" if best.equal else "unequal",
        "equal variances: likelihood ratio": best.test.statistic,
        "equal variances: accepted up to": best.test.limit,
        "equal variances: largest to smallest": best.test.spread,
    }


def _caution(moments: Moments, best: _Candidate, threshold: float) -> list[Fact[Caution]]:
    # Of very many columns a matrix of numbers more would be felt.
    kept, said = (best.weights != 0) & ((best.weights >= threshold) | (best.weights <= -threshold)), []
    if kept.any() and not best.equal and not best.test.accepted:
        said.append(Fact.of(Caution.UNEQUAL_VARIANCES, spread=best.test.spread))
    if moments.is_standardized:
        said.append(Fact.of(Caution.STANDARDIZED))
    if not best.equal:
        said.extend(caution_uncompared(len(moments.names)))
    if moments.n <= 2 * len(moments.names):
        said.append(Fact.of(Caution.FEW_ROWS, rows=moments.n, columns=len(moments.names)))
    return said

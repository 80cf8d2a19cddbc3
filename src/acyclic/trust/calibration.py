"""From shares of bootstrap draws to probabilities.

How often an edge comes back when rows are drawn again is no probability that it is there: drawn rows repeat, so that
chance looks like an edge; what the search misses in the table it misses in the draws. Two logistic regressions, fitted
on simulated tables, make good for that. The first says how likely an edge joins two columns, from the share of draws
that have it, whether the answer has it, n, d, and what the answer looks like: how many edges it has, how sure those
are, how many others the draws offer and how many pairs are open, which tells how common small effects are. The second
says how likely an edge, if there is one, points this way, from the draws, from how much the answer's score would rise
with it turned, and, where both directions fit the same, from how many graphs of the class have it so; each of its terms
changes its sign with the direction, so that both ways add up to 1.

`benchmarks/calibration.py` makes the coefficients, and checks them on other kinds of tables. They are not used beyond
the tables that they were fitted on: see `find_obstacle`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.sparse.csgraph import shortest_path
from scipy.special import gammaincc

from acyclic.data.table import Table
from acyclic.facts import Fact, Orientation, Remark, Unreached
from acyclic.graphs.dag import Dag
from acyclic.judging.verdict import Verdict
from acyclic.learners.auto import has_categories
from acyclic.learners.categorical import can_count
from acyclic.types import Bools, Floats

__all__ = ["Known", "Probabilities", "calibrate", "describe_directions", "describe_pairs", "find_obstacle"]

# What the rule was fitted on.
ROWS, ROWS_PER_COLUMN, COLUMNS, FEWEST_DRAWS = (80, 20_000), 5, (6, 60), 40
_METHODS = ("auto", "order-search")
_ORIENTATIONS = (Orientation.INDEPENDENCE, Orientation.EQUAL_VARIANCES, Orientation.NO_EDGE)
# Scores that rise by more than this tell no more.
_MOST_LEAD = 60.0
# Equal variances that are less likely than this are none.
_STRAINED = 0.01
# 130410 pairs of 263 tables with Erdős–Rényi graphs.
JOINED = np.array(
    [
        -0.0027, 0.8333, 0.3928, 0.4717, -0.5651, 0.0360, -0.6906, -0.2769, 0.0271, -0.1307,
        0.1684, -0.2657, 1.7130, 0.2284, 0.1610, 0.3605, 0.1157, -0.4157, 1.2642, 0.6834,
        -0.8447, -0.3446, 0.6376,
    ]
)  # fmt: skip
"""Coefficients of `describe_pairs`."""
# 17129 pairs, of 355 tables with graphs of two kinds, that are joined in truth and in some draw.
POINTED = np.array(
    [
        0.1930, -0.0170, -0.0230, 0.0518, 0.4269, 0.5283, -0.3904, -0.0392, 0.2846, -0.6728,
        0.9416, 0.5761, 2.9412, 0.0566, -3.5705, 0.5906, 0.3171, 0.7133, 0.8433,
    ]
)  # fmt: skip
"""Coefficients of `describe_directions`."""

# Which terms of the first regression are multiples of the log-odds of the share.
_WITH_SHARE = [1, 8, 9, 10, 14, 17]
# Where, in log-odds of the share, the slope changes.
_BENDS = (-2.0, 0.0, 2.0)
# The bends take 0.51 from it at most.
_LEAST_SLOPE = 0.6


class Probabilities(NamedTuple):
    """Shape (d, d) each: that an edge joins i and j, symmetric; that it points from i to j if there is one."""

    joined: Floats
    pointed: Floats


@dataclass(frozen=True, eq=False)
class Known:
    """What the rule knows of a bootstrap.

    Attributes
    ----------
    edge : ndarray (d, d)
        Share of the draws with i → j, half of those that leave the direction open.
    draws : int
    learned, oriented, firm : ndarray of bool, shape (d, d)
        The edges of the answer, those of them that something orients, and those whose direction is decided: no graph
        that is nearly as good turns them.
    lead : ndarray (d, d)
        How much the score of the answer would rise with one of its edges turned, as far as that is known, else 0.
    n : float
        Rows.
    by_variances : bool
        Whether equal noise variances orient the answer, rather than conditional independence.
    """

    edge: Floats
    draws: int
    learned: Bools
    oriented: Bools
    firm: Bools
    lead: Floats
    n: float
    by_variances: bool

    @classmethod
    def of(cls, edge: Floats, draws: int, graph: Dag, verdict: Verdict, n: float) -> Self:
        """From shares, and the answer with its verdict."""
        at, learned = {name: k for k, name in enumerate(graph.names)}, graph.adjacency
        oriented, firm, lead = learned.copy(), np.zeros_like(learned), np.zeros(learned.shape)
        for (source, target), support in verdict.support.items():
            place = at[source], at[target]
            oriented[place] &= support is not Orientation.UNDETERMINED
            firm[place] = learned[place] and support.is_decided
        for (source, target), margin in verdict.margins.items():
            lead[at[source], at[target]] = margin.turned or 0.0
        by_variances = verdict.orientation is Orientation.EQUAL_VARIANCES
        return cls(edge, draws, learned, oriented, firm, np.where(learned, lead, 0.0), n, by_variances)


def calibrate(known: Known) -> Probabilities:
    """Probabilities by the fitted rule."""
    d = len(known.edge)
    i, j = np.triu_indices(d, 1)
    joined, pointed = np.zeros((d, d)), np.full((d, d), 0.5)
    terms = describe_pairs(known)
    L = terms[:, 1]
    rising = terms[:, _WITH_SHARE] @ JOINED[_WITH_SHARE]
    # Whatever a table looks like, more draws with an edge speak for it.
    slope = max(float(np.median(rising[L != 0] / L[L != 0])), _LEAST_SLOPE) if (L != 0).any() else _LEAST_SLOPE
    likely = _expit(terms @ JOINED - rising + slope * L)
    joined[i, j], joined[j, i] = likely, likely
    this_way = _expit(describe_directions(known) @ POINTED)
    pointed[i, j], pointed[j, i] = this_way, 1 - this_way
    return Probabilities(joined, pointed)


def describe_pairs(known: Known) -> Floats:
    """What the first regression knows of each pair i < j: (d (d − 1) / 2, 23)."""
    d = len(known.edge)
    above = np.triu_indices(d, 1)
    share, there = (known.edge + known.edge.T)[above], (known.learned | known.learned.T)[above].astype(float)
    L = _logit(share, known.draws)
    rows, columns, few, sure, offered, doubtful = _describe_table(share, there, known.draws, known.n, d)
    one, by_variances = np.ones_like(L), known.by_variances
    terms = (
        *(one, L, there),
        *(one * rows, one * columns, one * few, one * sure, one * offered),
        *(L * rows, L * sure, L * offered, there * rows, there * sure),
        *(one * by_variances, L * by_variances, there * by_variances),
        *(one * doubtful, L * doubtful, there * doubtful),
        # What more draws add is not the same everywhere between none and all.
        *(np.maximum(L - bend, 0.0) for bend in _BENDS),
        L * there,
    )
    return np.column_stack(terms)


def describe_directions(known: Known) -> Floats:
    """What the second regression knows of i → j for each pair i < j: (d (d − 1) / 2, 19), odd under a swap of both."""
    d = len(known.edge)
    above = np.triu_indices(d, 1)
    both = known.edge + known.edge.T
    this_way = np.divide(known.edge, both, out=np.full_like(both, 0.5), where=both > 0)[above]
    share, there = both[above], (known.learned | known.learned.T)[above].astype(float)
    rows, _, few, sure, *_ = _describe_table(share, there, known.draws, known.n, d)
    D = _logit(this_way, known.draws * share)
    drawn, firm = (each.astype(float)[above] - each.T.astype(float)[above] for each in (known.oriented, known.firm))
    often = share - 0.5
    # What the answer leaves open the draws tell more of.
    left_open = D * (1 - np.abs(drawn))
    of_draws = D, D * rows, D * few, D * sure, D * often, left_open
    of_answer = drawn, drawn * rows, drawn * sure, drawn * often
    lead = np.log1p(np.minimum(np.maximum(known.lead, known.lead.T), _MOST_LEAD))[above]
    of_lead = firm, firm * rows, firm * known.by_variances, (drawn - firm) * lead, firm * lead
    terms = *of_draws, *of_answer, D * known.by_variances, drawn * known.by_variances, *of_lead
    return np.column_stack([*terms, *(each[above] for each in _describe_class(known))])


def _describe_class(known: Known) -> tuple[Floats, Floats]:
    """For the edges that the answer leaves open, log-odds that i → j has among the graphs of its class, and by draws.

    Each column of those that open edges connect may come first, and edges then lead away from it: i → j has the share
    of columns that are nearer to i, and half of those that are as near to j, which is exact where the open edges form a
    tree. The draws tell how many edges each end has besides: a column with many of them is rather the cause.
    """
    unsettled = known.learned & ~known.oriented
    unsettled |= unsettled.T
    steps = shortest_path(unsettled, unweighted=True)
    less = np.array([(row < steps).sum(axis=1) for row in steps])
    nearer = np.where(unsettled, np.isfinite(steps).sum(axis=1)[:, None] + less - less.T, 1.0)
    both = known.edge + known.edge.T
    besides = np.where(unsettled, both.sum(axis=1)[:, None] - both + 0.5, 1.0)
    return np.log(nearer / nearer.T), np.log(besides / besides.T)


def _describe_table(share: Floats, there: Floats, draws: int, n: float, d: int) -> tuple[float, ...]:
    """Logarithms of n and d, edges for each column, how sure these are, how much else draws offer, how much is open."""
    edges = float(there.sum())
    sure = float((share * there).sum() / edges) if edges else 0.5
    offered, doubtful = float((share * (1 - there)).sum()), int(((share > 0.3) & (share < 0.98)).sum())
    return (
        float(np.log(n)) - 6.5,
        float(np.log(d)) - 2.7,
        float(np.log((edges + 1) / d)),
        float(_logit(np.array(sure), draws)) - 2.5,
        float(np.log((offered + 0.5) / (edges + 1))) + 1.5,
        float(np.log((doubtful + 0.5) / (edges + 1))) + 1.0,
    )


def _logit(share: Floats, draws: Floats | float) -> Floats:
    """The log-odds of a share of so many draws, none quite 0 or 1."""
    moved = (share * draws + 0.5) / (draws + 1)
    return np.asarray(np.log(moved / (1 - moved)))


def _expit(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -30, 30))))


def find_obstacle(table: Table, verdict: Verdict | None, draws: int, *, informed: bool) -> Fact[Remark] | None:
    """Why the rule does not reach a bootstrap; None if it does."""
    n, d = float(table.moments.n), len(table.names)
    if verdict is None or verdict.method not in _METHODS:
        return _unreached(Unreached.METHOD)
    if verdict.threshold > 0 or verdict.settings.get("penalty", "ebic") != "ebic":
        return _unreached(Unreached.SETTINGS)
    if informed:
        return _unreached(Unreached.KNOWLEDGE)
    if has_categories(table) or can_count(table) or verdict.orientation not in _ORIENTATIONS:
        return _unreached(Unreached.WORLD)
    ratio = verdict.details.get("equal variances: likelihood ratio", 0.0)
    by_variances = verdict.orientation is Orientation.EQUAL_VARIANCES
    # A wrong assumption gives the same wrong edges in every draw. This likelihood ratio is χ² if it is right.
    if by_variances and gammaincc((d - 1) / 2, float(ratio) / 2) < _STRAINED:
        return _unreached(Unreached.VARIANCES)
    for why, value, (least, most) in (
        (Unreached.ROWS, n, (max(ROWS[0], ROWS_PER_COLUMN * d), ROWS[1])),
        (Unreached.COLUMNS, d, COLUMNS),
        (Unreached.DRAWS, draws, (FEWEST_DRAWS, np.inf)),
    ):
        if not least <= value <= most:
            return _unreached(why, value=value, least=least, **({} if most == np.inf else {"most": most}))
    return None


def _unreached(why: Unreached, **values: float) -> Fact[Remark]:
    return Fact.of(Remark.UNCALIBRATED, why=why.value, **values)

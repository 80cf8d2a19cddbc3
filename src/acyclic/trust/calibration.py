"""From shares of bootstrap draws to probabilities.

How often an edge comes back when rows are drawn again is no probability that it is there: drawn rows repeat, so that
chance looks like an edge; what the search misses in the table it misses in the draws. Two logistic regressions, fitted
on simulated tables, make good for that. The first says how likely an edge joins two columns, from the share of draws
that have it, whether the answer has it, n, d, and what the answer looks like: how many edges it has, how sure those
are, how many others the draws offer and how many pairs are open, which tells how common small effects are. The second
says how likely an edge, if there is one, points this way; each of its terms changes its sign with the direction, so
that both ways add up to 1.

`benchmarks/calibration.py` makes the coefficients, and checks them on other kinds of tables. They are not used beyond
the tables that they were fitted on: see `find_obstacle`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acyclic.data.table import Table
from acyclic.facts import Fact, Orientation, Remark, Unreached
from acyclic.judging.verdict import Verdict
from acyclic.learners.auto import has_categories
from acyclic.learners.categorical import can_count
from acyclic.types import Bools, Floats

__all__ = ["Probabilities", "calibrate", "describe_directions", "describe_pairs", "find_obstacle"]

# What the rule was fitted on.
ROWS, ROWS_PER_COLUMN, COLUMNS, FEWEST_DRAWS = (80, 20_000), 5, (6, 60), 40
_METHODS = ("auto", "order-search")
_ORIENTATIONS = (Orientation.INDEPENDENCE, Orientation.EQUAL_VARIANCES, Orientation.NO_EDGE)
# 73695 pairs of 112 tables.
JOINED = np.array(
    [
        0.4058,
        1.1663,
        1.6239,
        -0.0953,
        -0.3535,
        0.0123,
        0.5734,
        -0.2602,
        -0.0228,
        0.2515,
        0.4598,
        0.1964,
        -0.3203,
        0.1639,
        0.1270,
        -0.6151,
        1.0656,
        -0.1961,
        -0.5107,
    ]
)
"""Coefficients of `describe_pairs`."""
# 6751 pairs of the same tables that are joined in truth and in some draw.
POINTED = np.array([0.8785, 0.0083, 0.0396, 0.3198, 0.0978, 0.1837, -0.1381, -0.2490, -0.1931, 0.1834, 0.1476, 0.0026])
"""Coefficients of `describe_directions`."""

# Which terms of the first regression are multiples of the log-odds of the share.
_WITH_SHARE = [1, 8, 9, 10, 14, 17]
_LEAST_SLOPE = 0.5


class Probabilities(NamedTuple):
    """Shape (d, d) each: that an edge joins i and j, symmetric; that it points from i to j if there is one."""

    joined: Floats
    pointed: Floats


def calibrate(
    edge: Floats, draws: int, learned: Bools, decided: Bools, n: float, *, by_variances: bool
) -> Probabilities:
    """Probabilities by the fitted rule.

    Parameters
    ----------
    edge : ndarray (d, d)
        Share of the draws with i → j, half of those that leave the direction open.
    draws : int
    learned, decided : ndarray of bool, shape (d, d)
        The edges of the answer, and those of them whose direction something decides.
    n : float
        Rows.
    by_variances : bool
        Whether equal noise variances orient the answer, rather than conditional independence.
    """
    d = len(edge)
    i, j = np.triu_indices(d, 1)
    joined, pointed = np.zeros((d, d)), np.full((d, d), 0.5)
    known = describe_pairs(edge, draws, learned, n, by_variances)
    L = known[:, 1]
    rising = known[:, _WITH_SHARE] @ JOINED[_WITH_SHARE]
    # Whatever a table looks like, more draws with an edge speak for it.
    slope = max(float(np.median(rising[L != 0] / L[L != 0])), _LEAST_SLOPE) if (L != 0).any() else _LEAST_SLOPE
    likely = _expit(known @ JOINED - rising + slope * L)
    joined[i, j], joined[j, i] = likely, likely
    this_way = _expit(describe_directions(edge, draws, learned, decided, n, by_variances) @ POINTED)
    pointed[i, j], pointed[j, i] = this_way, 1 - this_way
    return Probabilities(joined, pointed)


def describe_pairs(edge: Floats, draws: int, learned: Bools, n: float, by_variances: bool) -> Floats:
    """What the first regression knows of each pair i < j: (d (d − 1) / 2, 19)."""
    d = len(edge)
    above = np.triu_indices(d, 1)
    share, there = (edge + edge.T)[above], (learned | learned.T)[above].astype(float)
    L = _logit(share, draws)
    rows, columns, few, sure, offered, doubtful = _describe_table(share, there, draws, n, d)
    one = np.ones_like(L)
    terms = (
        *(one, L, there),
        *(one * rows, one * columns, one * few, one * sure, one * offered),
        *(L * rows, L * sure, L * offered, there * rows, there * sure),
        *(one * by_variances, L * by_variances, there * by_variances),
        *(one * doubtful, L * doubtful, there * doubtful),
    )
    return np.column_stack(terms)


def describe_directions(
    edge: Floats, draws: int, learned: Bools, decided: Bools, n: float, by_variances: bool
) -> Floats:
    """What the second regression knows of i → j for each pair i < j: (d (d − 1) / 2, 12), odd under a swap of both."""
    d = len(edge)
    above = np.triu_indices(d, 1)
    both = edge + edge.T
    this_way = np.divide(edge, both, out=np.full_like(both, 0.5), where=both > 0)[above]
    share, there = both[above], (learned | learned.T)[above].astype(float)
    rows, _, few, sure, *_ = _describe_table(share, there, draws, n, d)
    D = _logit(this_way, draws * share)
    drawn = decided.astype(float)[above] - decided.T.astype(float)[above]
    often = share - 0.5
    # What the answer leaves open the draws tell more of.
    left_open = D * (1 - np.abs(drawn))
    of_draws = D, D * rows, D * few, D * sure, D * often, left_open
    of_answer = drawn, drawn * rows, drawn * sure, drawn * often
    return np.column_stack([*of_draws, *of_answer, D * by_variances, drawn * by_variances])


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

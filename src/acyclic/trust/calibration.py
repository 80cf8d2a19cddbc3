"""From shares of bootstrap draws to probabilities.

How often an edge comes back when rows are drawn again is no probability that it is there: drawn rows repeat, so that
chance looks like an edge; what the search misses in the table it misses in the draws. Two logistic regressions, fitted
on simulated tables, make good for that. The first says how likely an edge joins two columns, from the share of draws
that have it, whether the answer has it, n, d, and what the answer looks like: how many edges it has, how sure those
are, and how many others the draws offer, which together tell how large effects are. The second says how likely an edge,
if there is one, points this way; each of its terms changes its sign with the direction, so that both ways add up to 1.

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
# 55275 pairs of 80 tables.
JOINED = np.array(
    [
        0.5245,
        1.4970,
        1.1836,
        -0.2799,
        -0.5649,
        -0.1967,
        -0.4143,
        0.0137,
        -0.3713,
        0.0634,
        0.4988,
        0.2974,
        0.3481,
        -0.5553,
    ]
)
"""Coefficients of `describe_pairs`."""
# 5127 pairs of the same tables that are joined in truth and in some draw.
POINTED = np.array([0.8271, 0.0199, 0.1217, 0.3717, 0.1392, 0.4053, -0.0002, -0.2709, -0.3205, 0.2092])
"""Coefficients of `describe_directions`."""


class Probabilities(NamedTuple):
    """Shape (d, d) each: that an edge joins i and j, symmetric; that it points from i to j if there is one."""

    joined: Floats
    pointed: Floats


def calibrate(edge: Floats, draws: int, learned: Bools, decided: Bools, n: float) -> Probabilities:
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
    """
    d = len(edge)
    i, j = np.triu_indices(d, 1)
    joined, pointed = np.zeros((d, d)), np.full((d, d), 0.5)
    likely = _expit(describe_pairs(edge, draws, learned, n) @ JOINED)
    joined[i, j], joined[j, i] = likely, likely
    this_way = _expit(describe_directions(edge, draws, learned, decided, n) @ POINTED)
    pointed[i, j], pointed[j, i] = this_way, 1 - this_way
    return Probabilities(joined, pointed)


def describe_pairs(edge: Floats, draws: int, learned: Bools, n: float) -> Floats:
    """What the first regression knows of each pair i < j: (d (d − 1) / 2, 14)."""
    d = len(edge)
    above = np.triu_indices(d, 1)
    share, there = (edge + edge.T)[above], (learned | learned.T)[above].astype(float)
    L = _logit(share, draws)
    rows, columns, few, sure, offered = _describe_table(share, there, draws, n, d)
    one = np.ones_like(L)
    terms = (
        *(one, L, there, L * there),
        *(one * rows, one * columns, one * few, one * sure, one * offered),
        *(L * rows, L * sure, L * offered, there * rows, there * sure),
    )
    return np.column_stack(terms)


def describe_directions(edge: Floats, draws: int, learned: Bools, decided: Bools, n: float) -> Floats:
    """What the second regression knows of i → j for each pair i < j: (d (d − 1) / 2, 10), odd under a swap of both."""
    d = len(edge)
    above = np.triu_indices(d, 1)
    both = edge + edge.T
    this_way = np.divide(edge, both, out=np.full_like(both, 0.5), where=both > 0)[above]
    share, there = both[above], (learned | learned.T)[above].astype(float)
    rows, _, few, sure, _ = _describe_table(share, there, draws, n, d)
    D = _logit(this_way, draws * share)
    drawn = decided.astype(float)[above] - decided.T.astype(float)[above]
    often = share - 0.5
    # What the answer leaves open the draws tell more of.
    left_open = D * (1 - np.abs(drawn))
    of_draws = D, D * rows, D * few, D * sure, D * often, left_open
    return np.column_stack([*of_draws, drawn, drawn * rows, drawn * sure, drawn * often])


def _describe_table(share: Floats, there: Floats, draws: int, n: float, d: int) -> tuple[float, ...]:
    """Logarithms of n and d, edges for each column, how sure they are, and how many others the draws offer."""
    edges = float(there.sum())
    sure = float((share * there).sum() / edges) if edges else 0.5
    offered = float((share * (1 - there)).sum())
    rows, columns = np.log(n) - 6.5, np.log(d) - 2.7
    few = np.log((edges + 1) / d)
    return rows, columns, few, float(_logit(np.array(sure), draws)) - 2.5, np.log((offered + 0.5) / (edges + 1)) + 1.5


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

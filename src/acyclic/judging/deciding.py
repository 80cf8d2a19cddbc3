"""How far ahead a direction has to be to be called decided."""

from __future__ import annotations

from math import log

import numpy as np

from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.discrete.search import canonical_order
from acyclic.graphs.cycles import sort_topologically
from acyclic.scores.evidence import price_by_evidence
from acyclic.types import Floats

__all__ = ["decided_beyond", "find_worth"]

_AHEAD = 4.0
"""A lead of 4 is odds of e² = 7 to 1 if the price is right."""
_AT_STAKE = 2
"""Edges that a graph with another direction has more than the answer: one, as a rule, and another for what follows."""


def decided_beyond(moments: Moments, paid: float | None, worth: float | None) -> float:
    """How much higher the best score with an edge turned has to be for its direction to be decided.

    Directions that look firm and are wrong come from edges that are too weak for their price: without them the class
    has colliders that are none. The table itself tells what edges are ``worth``; where that is less than what was
    ``paid`` for a parent, a lead is counted as if two edges more had been sold too dear. Chosen on 300 simulated
    tables, confirmed on others (`benchmarks/margins.py`). Where scores are not of lines and normal noise, both are None
    and it is what an edge costs in the extended BIC, log n + 2 log d. Where units direct edges, nothing is ``worth``
    less than its price: what is ahead is that variances agree.

    >>> decided_beyond(Moments(500, [0, 0], [[1, 0], [0, 1]]), 8.4, 7.4)
    6.0
    """
    if paid is None:
        return log(max(moments.n, 1)) + 2 * log(len(moments.names))
    return _AHEAD + (0.0 if worth is None else _AT_STAKE * max(paid - worth, 0.0))


def find_worth(moments: Moments, weights: Floats, mask: Mask) -> float:
    """What the table makes of an edge of this graph, by `price_by_evidence`.

    Examples
    --------
    >>> moments = Moments(500, [0, 0, 0], [[1, 0, 1], [0, 1, 1], [1, 1, 3]])
    >>> weights = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    >>> round(find_worth(moments, weights, Mask.unrestricted(3)), 1)
    8.4
    """
    # The order of the columns must not matter, where the graph leaves a choice between orders.
    canon = canonical_order(moments.correlation(), moments.names)
    order = canon[sort_topologically(weights[np.ix_(canon, canon)] != 0)]
    return price_by_evidence(moments, order, weights, None if mask.is_free else np.asarray(mask.allowed))

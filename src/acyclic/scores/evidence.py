"""The price of an edge that the table itself suggests: by how many pairs of columns show an effect, and how large."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from acyclic.data.dependence import DEPENDENT
from acyclic.data.moments import Moments
from acyclic.scores.local import GaussianScore, price_of_parent
from acyclic.types import Bools, Floats, Integers

__all__ = ["price_by_evidence", "weigh_pairs"]

# No edge costs less than in Akaike's criterion.
_LEAST = 2.0
# Variances of effects, in units of the noise: doubled from 4, below which an effect looks like chance, to four million.
_SPREADS = 4.0 * 2.0 ** np.arange(21)
# Far narrower than the noise, and beyond 20 deviations than the effect; what is beyond the last counts as the last.
_BINS = np.concatenate([np.linspace(0.0, 20.0, 401), np.geomspace(20.0, 4000.0, 160)[1:]])
# As if so many pairs more had been seen without an effect: what few pairs say is not taken at its word.
_UNRELATED = 10.0
_ROUNDS = 300


def price_by_evidence(moments: Moments, order: Integers, weights: Floats, allowed: Bools | None = None) -> float:
    """Price of a parent at which an edge is as likely to be there as not, given a graph that is about right.

    Each pair of columns shows what one explains of the other beside its parents (`weigh_pairs`). These are fitted by a
    mixture: chance alone for pairs without an edge, chance and an effect of one of several scales for the others (as in
    adaptive shrinkage, Stephens 2017). Where effects are small or edges are many, the price is below that of the
    extended BIC, which is the most that it can be; the least is 2.

    Parameters
    ----------
    moments : Moments
    order : ndarray of int, shape (d,)
    weights : ndarray of shape (d, d)
        Of a graph that agrees with the order.
    allowed : ndarray of bool, shape (d, d), optional
        Edges that may be; pairs that may have none say nothing.

    Examples
    --------
    >>> moments = Moments(1000, [0, 0, 0], [[1, 0.1, 0], [0.1, 1, 0.1], [0, 0.1, 1]])
    >>> weights = np.array([[0, 0.1, 0], [0, 0, 0.1], [0, 0, 0]])
    >>> round(price_by_evidence(moments, np.arange(3), weights), 1)
    6.8
    """
    most = price_of_parent("ebic", moments.n, len(weights))
    shown = weigh_pairs(moments, order, weights, allowed)
    if not len(shown) or most <= _LEAST:
        return most
    centres, counts = (_BINS[1:] + _BINS[:-1]) / 2, np.histogram(np.minimum(np.sqrt(shown), _BINS[-1]), _BINS)[0]
    centres, counts = centres[counts > 0], counts[counts > 0]
    scales = np.concatenate([[1.0], 1.0 + _SPREADS])
    densities = np.exp(-0.5 * centres[:, None] ** 2 / scales) / np.sqrt(scales)
    shares = np.concatenate([[0.9], np.full(len(_SPREADS), 0.1 / len(_SPREADS))])
    for _ in range(_ROUNDS):
        joint = densities * shares
        shares = counts @ (joint / joint.sum(axis=1, keepdims=True))
        shares[0] += _UNRELATED
        shares /= shares.sum()

    def excess(price: float) -> float:
        """By how much an edge is more likely than none between a pair that shows as much as the price."""
        related = shares[1:] @ (np.exp(0.5 * price * (1 - 1 / scales[1:])) / np.sqrt(scales[1:]))
        return float(related - shares[0])

    if excess(most) <= 0:
        return most
    return _LEAST if excess(_LEAST) >= 0 else float(brentq(excess, _LEAST, most, xtol=1e-9))


def weigh_pairs(moments: Moments, order: Integers, weights: Floats, allowed: Bools | None = None) -> Floats:
    """For each pair of columns, how much −2 log-likelihood the earlier one explains of the later beside its parents.

    Of a pair without an edge it is about a squared standard normal number. One value for each pair of the order, or for
    each that is allowed.

    Examples
    --------
    >>> moments = Moments(100, [0, 0], [[1.0, 0.8], [0.8, 1.0]])
    >>> weigh_pairs(moments, np.arange(2), np.array([[0, 0.8], [0, 0]])).round(1).tolist()
    [99.1]
    """
    score, found = GaussianScore(moments, 0.0), []
    for place, node in enumerate(order.tolist()):
        before = order[:place] if allowed is None else order[:place][allowed[order[:place], node]]
        parents = np.flatnonzero(weights[:, node])
        # What is explained by chance grows as the parents take rows away.
        scale = max(moments.n - len(parents) - 2, 1.0) / moments.n
        others = np.setdiff1d(before, parents)
        gains = score.gains(node, parents.tolist())[others]
        found.append(scale * gains[np.isfinite(gains)])
        found.append(scale * moments.n * np.log1p(_effect_sizes(score.R, node, parents)))
    return np.maximum(np.concatenate(found), 0.0) if found else np.zeros(0)


def _effect_sizes(R: Floats, node: int, parents: Integers) -> Floats:
    """f² = r² / (1 − r²) of each parent given the others, for its partial correlation r with the node."""
    gram, both = R[np.ix_(parents, parents)], R[parents, node]
    inverse = np.linalg.pinv(gram, hermitian=True)
    slopes = inverse @ both
    left = max(float(R[node, node] - both @ slopes), DEPENDENT)
    return np.asarray(slopes**2 / (np.maximum(inverse.diagonal(), 1.0) * left))

"""Whether parents act together: what is left by curves that add up, held against products of two columns."""

from __future__ import annotations

from itertools import combinations
from math import log
from typing import NamedTuple

import numpy as np

from acyclic.data.dependence import EXPLAINED
from acyclic.graphs.reachability import find_reached
from acyclic.scores.joint import JointScore
from acyclic.types import Bools

__all__ = ["Pair", "find_products", "look_together", "shows_interaction"]

# A joint function has to gain so many times log n over curves that add up: where these do it was 4 at most, elsewhere
# 50 and more.
_CONVINCING = 3
# Products of two columns are those of numbers up to so many deviations: one wild row must not make an interaction.
_CLIP = 3.0


class Pair(NamedTuple):
    """Two columns that explain another one together, and how much lower its score is with them."""

    target: int
    two: tuple[int, int]
    gain: float


def shows_interaction(score: JointScore, edges: Bools) -> bool:
    """Whether a column is rather a joint function of its parents, or of these and two whose product explains more.

    Parameters
    ----------
    score : JointScore
    edges : ndarray of bool, shape (d, d)
        A graph whose parents add up.
    """
    for j in range(len(edges)):
        family = score.additive.family(j, np.flatnonzero(edges[:, j]).tolist(), most=1)
        least = _CONVINCING * log(score.n)
        if len(family.parents) > 1 and score.rough(j, family.parents)[0] < family.score - least:
            return True
    return bool(find_products(score, edges))


def look_together(score: JointScore, edges: Bools) -> float:
    """The score of a graph with joint functions of its parents, and of two more where their product explains more."""
    return score.total(edges) - sum(pair.gain for pair in find_products(score, edges))


def find_products(score: JointScore, edges: Bools) -> list[Pair]:
    """Columns that are rather a joint function of their parents and two more, whose product explains what is left.

    What gains most comes first: of three columns that a product links, each goes with the product of the others. The
    products are a look that costs next to nothing; a joint function of the parents and these two confirms it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, z = rng.normal(size=(2, 500))
    >>> score = JointScore(np.column_stack([x, z, x * z + rng.normal(size=500)]))
    >>> [pair.target for pair in find_products(score, np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool))]
    [2]
    """
    n, d = score.n, len(edges)
    Z = np.clip(score.Z, -_CLIP, _CLIP)
    pairs = np.array(list(combinations(range(d), 2)))
    products = Z[:, pairs[:, 0]] * Z[:, pairs[:, 1]]
    products = (products - products.mean(axis=0)) / np.maximum(products.std(axis=0), EXPLAINED)
    limit, found = log(n) + 2 * log(d * len(pairs)), []
    for j in range(d):
        family = score.additive.family(j, np.flatnonzero(edges[:, j]).tolist(), most=1)
        left = np.clip(score.additive.residual(j, family, score.rows), -_CLIP, _CLIP)
        gains = n * ((left - left.mean()) @ products / n / max(left.std(), EXPLAINED)) ** 2
        # What follows from a column goes with it in ways that no sum of curves has, wherever its causes add up.
        gains[(pairs == j).any(axis=1) | find_reached(edges, [j])[pairs].any(axis=1)] = 0.0
        strongest = int(np.argmax(gains))
        if gains[strongest] > limit:
            two = int(pairs[strongest, 0]), int(pairs[strongest, 1])
            both = tuple(sorted({*family.parents, *two}))
            usual = min(family.score, score.additive.family(j, both, most=1).score)
            together = score.rough(j, both)[0]
            if together < usual - log(n):
                found.append(Pair(j, two, usual - together))
    return sorted(found, key=lambda pair: (-pair.gain, pair.target))

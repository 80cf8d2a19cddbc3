"""What else a search met beside its answer: graphs that are nearly as good, and how sure it is that none is better."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan

import numpy as np

from acyclic.types import Bools, Floats, Integers

__all__ = ["Alternative", "Rivals", "rivals_without_units"]


@dataclass(frozen=True, eq=False)
class Alternative:
    """A graph of another class: the best one met with some edge turned, left out or added, or with another collider.

    ``excess`` is how much higher its score is than that of the best graph.
    """

    adjacency: Bools
    excess: float


@dataclass(frozen=True, eq=False)
class Rivals:
    """How far the answer of a search is ahead of other graphs.

    Attributes
    ----------
    proved : bool
        Whether no graph has a lower score; all that follows is exact then.
    chains, agreeing : int
        How many independent chains searched, and how many of them ended in the class of the answer; 0 if proved.
    gap : float
        How much higher the lowest score of another class that was met is; inf where none was.
    turned, left_out : ndarray of shape (d, d)
        For each edge how much higher the lowest score that was met is with it turned, and without an edge between its
        nodes; NaN where there is no edge, or where it was not looked for.
    alternatives : tuple of Alternative
        Graphs of other classes within log n of the best score, best first.
    opposed : ndarray of bool, shape (d, d), optional
        Entry (i, j): whether an independent chain ended with j → i, where no two of them ended alike and there was no
        work left to go on from what they found. None where that is not so.
    """

    proved: bool
    chains: int
    agreeing: int
    gap: float
    turned: Floats
    left_out: Floats
    alternatives: tuple[Alternative, ...]
    opposed: Bools | None = None

    def permuted(self, order: Integers) -> Rivals:
        """The same with the columns in another order."""
        pairs = np.ix_(order, order)
        return replace(
            self,
            turned=self.turned[pairs],
            left_out=self.left_out[pairs],
            alternatives=tuple(replace(other, adjacency=other.adjacency[pairs]) for other in self.alternatives),
            opposed=None if self.opposed is None else self.opposed[pairs],
        )


def rivals_without_units(answer: Bools, other: Bools, lead: float, near: float, around: Rivals | None) -> Rivals:
    """What an answer whose directions rest on units is ahead of: a graph for which these tell nothing.

    Parameters
    ----------
    answer, other : ndarray of bool, shape (d, d)
        The graphs.
    lead : float
        How much higher the score of the other is. Directions are as sure as this, or as they are without units.
    near : float
        Up to this lead the other is kept as an alternative.
    around : Rivals, optional
        Those of the other graph.

    Examples
    --------
    >>> chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> rivals = rivals_without_units(chain, chain, 2.5, 4.6, None)  # nothing but units directs a chain
    >>> rivals.turned[chain], len(rivals.alternatives)
    (array([2.5, 2.5]), 1)
    """
    turned = np.where(answer, lead, nan)
    if around is not None:
        shared = answer & other & ~np.isnan(around.turned)
        turned[shared] = np.maximum(lead, around.turned[shared])
    unknown = np.full(answer.shape, nan)
    return Rivals(False, 0, 0, lead, turned, unknown, (Alternative(other, lead),) if lead <= near else ())

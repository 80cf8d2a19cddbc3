"""Max-min parents and children: which pairs of columns no set of others makes independent (Tsamardinos et al. 2006)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

import numpy as np
from scipy.stats import t as student

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.errors import InputError
from acyclic.graphs.equivalence import Cpdag
from acyclic.running import Monitor, State
from acyclic.scores.local import GaussianScore
from acyclic.types import Bools, Floats


class Mmpc:
    """The skeleton of a Bayesian network by partial correlations, from `Moments` alone.

    For a target T, the candidates CPC grow by the column whose least association with T, given any subset of CPC, is
    largest; a column that is independent of T given some subset is out for good. Then members that are independent of T
    given a subset of the others are dropped. An edge needs both its ends to choose each other. Independence is judged
    by the exact t test of the partial correlation r given k columns, t = r√(ν/(1 − r²)) with ν = n − 2 − k degrees of
    freedom; association is its p-value to leading order, −ν log(1 − r²), in the units of scores.

    Parameters
    ----------
    moments : Moments
    alpha : float
        Level of the test.
    max_conditioning : int or None
        Largest subset to condition on; None for all sizes, which is exponential in the number of parents and children
        of a column.
    mask : Mask, optional
        Pairs whose edge is allowed in neither direction are left out; those with a required edge are in.
    """

    def __init__(
        self, moments: Moments, alpha: float = 0.05, max_conditioning: int | None = 3, mask: Mask | None = None
    ) -> None:
        if not 0 < alpha < 1:
            raise InputError(f"alpha has to be between 0 and 1; got {alpha}")
        if max_conditioning is not None and not max_conditioning >= 0:
            raise InputError(f"max_conditioning has to be at least 0; got {max_conditioning}")
        d = len(moments.names)
        mask = Mask.unrestricted(d, moments.names) if mask is None else mask
        self.possible, self.required = mask.allowed | mask.allowed.T, mask.required | mask.required.T
        self.scores = GaussianScore(moments, penalty=0.0)
        self.n, self.chosen = float(moments.n), np.zeros((d, d), dtype=bool)
        largest = int(min(d - 2, max(self.n - 3, 0), np.inf if max_conditioning is None else max_conditioning))
        self.largest = max(largest, 0)
        freedom = np.maximum(self.n - 2 - np.arange(self.largest + 1), 1e-9)
        quantile = student.isf(alpha / 2, freedom)
        self.bars = freedom * np.log1p(quantile**2 / freedom)
        self.freedom = freedom

    def __call__(self, monitor: Monitor, state: State) -> None:
        """Choose for every column, the skeleton so far in `skeleton`."""
        for target in range(len(self.chosen)):
            members: list[int] = []
            for member in self._candidates(target):
                members.append(member)
                monitor.tick(state, "skeleton", np.nan, 0.0, 0.0)
            self.chosen[target, self._needed(target, members)] = True

    @property
    def skeleton(self) -> Bools:
        """Symmetric (d, d): pairs that chose each other."""
        return (self.chosen & self.chosen.T & self.possible) | self.required

    def _candidates(self, target: int) -> Iterator[int]:
        """Columns by falling least association given any subset of those before them."""
        members: list[int] = []
        least = np.where(self.possible[target], self._association(target, ()), -np.inf)
        while len(members) < len(least) and least.max() > 0:
            newest = int(least.argmax())
            least[newest] = -np.inf
            # Of the subsets of the members, those with the newest are new.
            for subset in self._subsets(members, self.largest - 1):
                alive = least > 0
                if not alive.any():
                    break
                least[alive] = np.minimum(least, self._association(target, (*subset, newest)))[alive]
            members.append(newest)
            yield newest

    def _needed(self, target: int, members: list[int]) -> list[int]:
        """Members that depend on the target given every subset of the others that remain."""
        for member in sorted(members):
            others = [other for other in members if other != member]
            subsets = self._subsets(others, self.largest)
            if any(self._association(target, subset)[member] <= 0 for subset in subsets):
                members = others
        return members

    def _subsets(self, members: list[int], largest: int) -> Iterator[tuple[int, ...]]:
        return chain.from_iterable(combinations(members, size) for size in range(min(len(members), largest) + 1))

    def _association(self, target: int, given: tuple[int, ...]) -> Floats:
        """How far the association of the target with each column is above what independence would show, (d,)."""
        # Where parents cost nothing, a gain is −n log(1 − r²).
        above = self.scores.gains(target, given) * (self.freedom[len(given)] / self.n) - self.bars[len(given)]
        return np.asarray(above)


def mmpc(
    moments: Moments, alpha: float = 0.05, *, max_conditioning: int | None = 3, knowledge: Knowledge | None = None
) -> Cpdag:
    """Find the skeleton of a Bayesian network by max-min parents and children: all its edges are undirected.

    Parameters
    ----------
    moments : Moments
    alpha : float
        Level of the exact t test of partial correlation.
    max_conditioning : int or None
        Largest set that a test conditions on; None for all sizes, as for `Mmhc`.
    knowledge : Knowledge, optional
        Pairs that may not be joined are left out; pairs with a required edge are in.

    Examples
    --------
    >>> chain = Moments(500, mean=[0, 0, 0], covariance=[[1, 1, 1], [1, 2, 2], [1, 2, 3]], names=["a", "b", "c"])
    >>> mmpc(chain).undirected_edges()
    [('a', 'b'), ('b', 'c')]
    """
    mask = (Knowledge() if knowledge is None else knowledge).compile(moments.names)
    choice = Mmpc(moments, alpha, max_conditioning, mask)
    choice(Monitor(), State(np.zeros(mask.allowed.shape)))
    return Cpdag(moments.names, np.zeros(mask.allowed.shape, dtype=bool), choice.skeleton)

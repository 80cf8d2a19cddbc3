"""The score of a column that is any smooth function of all its parents together, interactions and all.

    s(j, Pa) = min over ℓ, ρ of  n log (y'(I + ρK)⁻¹y / n) + log det(I + ρK) + |Pa| (c − log n) + 2 log n

is −2 log marginal likelihood of a Gaussian process with the kernel K = exp(−|x − x'|² / 2ℓ²) of the standardised
parents, ρ times as strong as the noise, in the units of `scores.blocks`: log det stands where each coefficient costs
log n there, the rest of the price c of a parent says which sets there are to choose from, and ℓ and ρ are two more
parameters. The lower of this and the score of curves that add up counts, so that interactions have to pay for
themselves. Kernels are centred: the mean of the column is free.

To compare very many sets, K is told by few rows (Nyström): enough to find what comes before what, too few to see one of
many parents; each set is factored once, for all columns. For the sets of an answer K is told by all rows, or as many as
take some hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from math import inf, log
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from acyclic.data.dependence import EXPLAINED
from acyclic.data.parts import Waves
from acyclic.scores.blocks import BlockScore, Family, choose_by_turns, draw_rows
from acyclic.scores.local import LocalScore, PenaltyRule
from acyclic.types import Floats, Integers

__all__ = ["MOST_JOINT_ROWS", "JointScore"]

# Rows beyond which a sample tells joint functions.
MOST_JOINT_ROWS = 5000
# How far functions reach, in deviations of the parents, and how much stronger than the noise they are.
_LENGTHS = (0.5, 1.0, 2.0, 4.0)
_RATIOS = (1.0, 4.0)
# Rows that tell K when very many sets are compared, and products of numbers that may be spent on one set otherwise.
_FEW_ROWS, _PRODUCTS = 60, 5e8
# Beyond so many rows K is told by a part of them.
_ALL_ROWS = 1000
_JITTER = 1e-6
# Waves of which a fitted function is the sum.
_WAVES = 150


class Reach(NamedTuple):
    """Which kernel: the places of ℓ and ρ."""

    length: int
    ratio: int


class JointScore(LocalScore):
    """See the module.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, z = rng.normal(size=(2, 300))
    >>> score = JointScore(np.column_stack([x, z, x * z + 0.5 * rng.normal(size=300)]))
    >>> score.additive.score(2, [0, 1]) > 0 > score.score(2, [0, 1])
    True
    """

    def __init__(self, rows: Floats, penalty: PenaltyRule = "ebic", *, additive: BlockScore | None = None) -> None:
        self.rows = rows = draw_rows(rows, MOST_JOINT_ROWS)
        self.additive = additive if additive is not None else BlockScore.of(rows, penalty=penalty)
        self.n, self.n_nodes = rows.shape
        deviations = rows.std(axis=0)
        self.mean, self.deviations = rows.mean(axis=0), np.where(deviations > 0, deviations, 1.0)
        self.Z = (rows - self.mean) / self.deviations
        self._known: dict[tuple[int, tuple[int, ...]], tuple[float, Reach]] = {}
        self._of_few: dict[tuple[tuple[int, ...], int], Floats] = {}
        self._left_by_curves: dict[tuple[tuple[int, ...], tuple[int, ...]], Floats] = {}
        self._fine: dict[tuple[int, tuple[int, ...], Reach], float] = {}

    def score(self, node: int, parents: Collection[int]) -> float:
        """See LocalScore: K told by few rows."""
        given = tuple(sorted(parents))
        together = self.rough(node, given)[0] if len(given) > 1 else inf
        if together < inf and together <= self._least_of_curves(node, given):
            return together
        offered = [self.additive.offered(node, i) for i in given]
        best = choose_by_turns(offered, lambda levels: self._add_up(node, given, levels))
        return min(self._add_up(node, given, best), together)

    def _least_of_curves(self, node: int, parents: tuple[int, ...]) -> float:
        """What the score of curves that add up cannot fall below: as rough as they get, at the price of lines."""
        roughest = tuple(self.additive.features.levels[i][-1] for i in parents)
        return self._misfit(node, parents, roughest) + len(parents) * self.additive.cost

    def _add_up(self, node: int, parents: tuple[int, ...], levels: tuple[int, ...]) -> float:
        """The score of curves that add up."""
        return self._misfit(node, parents, levels) + self.additive.price(parents, levels)

    def _misfit(self, node: int, parents: tuple[int, ...], levels: tuple[int, ...]) -> float:
        if (parents, levels) not in self._left_by_curves:
            self._left_by_curves[parents, levels] = self.additive.left_by(parents, levels)
        return float(self.n * log(max(self._left_by_curves[parents, levels][node], EXPLAINED)))

    def rough(self, node: int, parents: tuple[int, ...]) -> tuple[float, Reach]:
        """The score of a joint function and its reach, K told by few rows."""
        key = node, parents
        if key not in self._known:
            # One parent fewer had about the same reach.
            near = self._known.get((node, parents[:-1]), (0.0, Reach(1, 0)))[1]
            value, reach = self._walk(lambda length: self._evidence_of_few(node, parents, length), near.length)
            self._known[key] = value + self.price(len(parents)), reach
        return self._known[key]

    def fine(self, node: int, parents: tuple[int, ...], reach: Reach | None = None) -> tuple[float, Reach]:
        """The same with K of all rows, or many; of one reach only, if it is given."""
        if reach is None:
            # Far from the few rows that tell it a kernel is 0, so that they like it to reach far.
            start = min(self.rough(node, parents)[1].length, 1)
            both = range(len(_RATIOS))
            value, reach = self._walk(lambda length: self._evidence(node, parents, length, both), start)
        else:
            value = self._evidence(node, parents, reach.length, [reach.ratio])[0]
        return value + self.price(len(parents)), reach

    def price(self, parents: int) -> float:
        """What a joint function of so many parents costs beside log det."""
        return parents * (self.additive.cost - log(self.n)) + 2 * log(self.n)

    def family(self, node: int, parents: Sequence[int], reach: Reach) -> Family:
        """A column with the joint function of its parents, as a sum of waves."""
        value, _ = self.fine(node, tuple(parents), reach)
        price = self.price(len(parents))
        waves = self._fit_waves(node, list(parents), reach)
        return Family(tuple(parents), (), np.empty((0, 1)), value - price, 0.0, price, waves)

    def _walk(self, evidence: Callable[[int], Sequence[float]], start: int) -> tuple[float, Reach]:
        """The lowest of neighbouring lengths, downhill from a start."""
        known: dict[int, Sequence[float]] = {}

        def lowest(length: int) -> float:
            if length not in known:
                known[length] = evidence(length)
            return min(known[length])

        at, before = start, -1
        while at != before:
            before = at
            at = min((b for b in (at, at - 1, at + 1) if 0 <= b < len(_LENGTHS)), key=lowest)
        return lowest(at), Reach(at, int(np.argmin(known[at])))

    @cached_property
    def _few(self) -> tuple[Integers, list[list[Floats]]]:
        """Some rows, and for each length and column the kernel of all rows with these."""
        some = _choose(self.n, _FEW_ROWS)
        return some, [[self._kernel_of(i, some, length) for i in range(self.n_nodes)] for length in _LENGTHS]

    def _kernel_of(self, i: int, some: Integers, length: float) -> Floats:
        x = self.Z[:, i]
        return np.asfortranarray(np.exp(-0.5 * ((x[:, None] - x[some]) / length) ** 2))

    def _evidence_of_few(self, node: int, parents: tuple[int, ...], length: int) -> list[float]:
        if (parents, length) not in self._of_few:
            some, kernels = self._few
            C = kernels[length][parents[0]].copy(order="F")
            for i in parents[1:]:
                C *= kernels[length][i]
            self._of_few[parents, length] = self._low_rank(C, some, range(self.n_nodes), range(len(_RATIOS)))
        return [float(each) for each in self._of_few[parents, length][node]]

    def _evidence(self, node: int, parents: tuple[int, ...], length: int, ratios: Sequence[int]) -> list[float]:
        keys = [(node, parents, Reach(length, ratio)) for ratio in ratios]
        missing = [key[2].ratio for key in keys if key not in self._fine]
        if missing:
            found = self._compute(node, parents, length, missing)
            self._fine.update({(node, parents, Reach(length, ratio)): one for ratio, one in zip(missing, found)})
        return [self._fine[key] for key in keys]

    def _compute(self, node: int, parents: tuple[int, ...], length: int, ratios: Sequence[int]) -> list[float]:
        X = self.Z[:, list(parents)]
        if self.n <= _ALL_ROWS:
            return self._full_rank(_kernel(X, X, _LENGTHS[length]), node, ratios)
        some = _choose(self.n, int((_PRODUCTS / self.n) ** 0.5))
        return [float(each) for each in self._low_rank(_kernel(X, X[some], _LENGTHS[length]), some, [node], ratios)[0]]

    def _full_rank(self, K: Floats, node: int, ratios: Sequence[int]) -> list[float]:
        y, found, middle = self.Z[:, node], [], K.mean(axis=0)
        K += middle.mean() - middle - middle[:, None]
        for ratio in ratios:
            A = _RATIOS[ratio] * K
            A.flat[:: self.n + 1] += 1.0
            factor, _ = lapack.dpotrf(A, lower=1, overwrite_a=1)
            u = lapack.dtrtrs(factor, y, lower=1)[0]
            found.append(self.n * log(max(float(u @ u), self.n * 1e-12) / self.n) + _log_det(factor))
        return found

    def _low_rank(self, C: Floats, some: Integers, nodes: Sequence[int], ratios: Sequence[int]) -> Floats:
        """K = C W⁻¹ C' for the kernel C of all rows with some, W among these: for each of the nodes by ratio."""
        W = C[some]
        W.flat[:: len(some) + 1] += _JITTER
        C -= C.mean(axis=0)
        S, c = blas.dsyrk(1.0, C, trans=1, lower=1), C.T @ self.Z[:, nodes]
        base, found = _log_det(lapack.dpotrf(W, lower=1)[0]), np.empty((len(nodes), len(ratios)))
        for k, ratio in enumerate(ratios):
            rho = _RATIOS[ratio]
            factor, _ = lapack.dpotrf(W + rho * S, lower=1, overwrite_a=1)
            left = self.n - rho * (c * lapack.dpotrs(factor, c, lower=1)[0]).sum(axis=0)
            found[:, k] = self.n * np.log(np.maximum(left / self.n, 1e-12)) + _log_det(factor) - base
        return found

    def _fit_waves(self, node: int, parents: list[int], reach: Reach) -> Waves:
        """The function as the mean of the process, its kernel told by random waves: these hold no rows."""
        frequencies = np.random.default_rng(0).normal(size=(_WAVES, len(parents))) / _LENGTHS[reach.length]
        phase = self.Z[:, parents] @ frequencies.T
        Phi = np.hstack([np.cos(phase), np.sin(phase)])
        middle = Phi.mean(axis=0)
        Phi -= middle
        A = Phi.T @ Phi * (_RATIOS[reach.ratio] / _WAVES) + np.eye(2 * _WAVES)
        beta = np.linalg.solve(A, Phi.T @ self.Z[:, node]) * (_RATIOS[reach.ratio] / _WAVES) * self.deviations[node]
        return Waves(
            self.mean[parents], frequencies / self.deviations[parents], beta.reshape(2, -1), -float(middle @ beta)
        )


def _kernel(X: Floats, Y: Floats, length: float) -> Floats:
    squares = np.add.outer((X**2).sum(axis=1), (Y**2).sum(axis=1)) - 2 * X @ Y.T
    return np.asfortranarray(np.exp(np.maximum(squares, 0.0) * (-0.5 / length**2)))


def _choose(n: int, some: int) -> Integers:
    return np.sort(np.random.default_rng(0).choice(n, min(some, n), replace=False))


def _log_det(factor: Floats) -> float:
    return 2 * float(np.log(factor.diagonal()).sum())

"""Tests of conditional independence, of numbers by the products of residuals and of categories by counts.

Numbers: given Z, x and y leave residuals whose products have mean 0 if x and y are independent given Z (the generalised
covariance measure of Shah & Peters 2020). Their variance is that of the products themselves, so that neither the shape
of the noise nor its spread, which may change, has to be known. The bias is the product of two misfits: curves need not
fit exactly. Where other columns turn the dependence round, the products cancel; those of rows that are alike in these
columns do not (as in the weighted measures of Scheidegger, Hörrmann & Bühlmann 2022, with a kernel for the weights).

Categories: within each combination of the levels of Z, rows of x are exchangeable if x and y are independent given Z.
Mean and variance of Pearson's χ² over all permutations are known exactly (Kazi-Aoual et al. 1995, for projections), and
so are those of its sum over the combinations, however sparse these are. Where these moments make a p-value small, the
skewness of some permutations is asked too: sparse counts have a longer tail than χ² of the same mean and variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.special import fdtrc, gammaincc, stdtr

from acyclic.types import Floats, Integers

__all__ = [
    "Dependence",
    "Given",
    "combine_dependences",
    "combine_p_values",
    "compare_alike",
    "compare_correlations",
    "compare_counts",
    "compare_products",
]

# What is left of a column is rounding where it is less than this share of it.
_DEPENDENT = 1e-7
# A combination of levels with fewer rows tells next to nothing, and its variance has no formula.
_FEWEST_IN_STRATUM = 4
# So many rows more weaken the rare levels in a test by counts.
_MORE_ROWS = 5.0
# Below this p-value by two moments a third is found, of so many permutations: its error is then about 0.1.
_CLOSER, _PERMUTATIONS = 0.1, 500
# Signs that tell the shape of a sum over rows that are alike; that of the square of one normal number.
_SIGNS, _MOST_SKEWED = 16, 8**0.5
# Where the density of a normal variable is summed.
_NORMAL = np.linspace(-9, 9, 361)
_DENSITY = np.exp(-(_NORMAL**2) / 2) / np.exp(-(_NORMAL**2) / 2).sum()
# p-values of one claim count as at most this.
_LARGEST = 1 - 1e-4
# Of large tables fewer: where strata are full the skewness is that of χ².
_MOST_CELLS = 2e7


class Dependence(NamedTuple):
    """The p-value of an independence, and how strong the dependence looks: a partial correlation, or the like of it."""

    p_value: float
    strength: float


class Given:
    """What is given: an orthonormal basis of its features and the constant, and the leverage of each row.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=200)
    >>> given = Given(z[:, None])
    >>> bool(abs(given.residuals(z[:, None])).max() < 1e-12)
    True
    """

    def __init__(self, features: Floats) -> None:
        design = np.column_stack([np.ones(len(features)), features])
        scale = np.linalg.norm(design, axis=0)
        Q, R, _ = qr(design / np.where(scale > 0, scale, 1.0), mode="economic", pivoting=True)
        self.basis = np.asarray(Q[:, np.abs(np.diag(R)) > _DEPENDENT], dtype=float)
        # A row that alone decides a coefficient leaves no residual: it says nothing, and must not be divided by 0.
        self.left: Floats = np.maximum(1 - (self.basis**2).sum(axis=1), 1e-3)

    @property
    def freedom(self) -> int:
        """Rows less coefficients."""
        return int(self.basis.shape[0] - self.basis.shape[1])

    def residuals(self, columns: Floats) -> Floats:
        """Columns (n, k) less their regression; exactly 0 where nothing but rounding is left."""
        rest = columns - self.basis @ (self.basis.T @ columns)
        centred = columns - columns.mean(axis=0)
        size = np.sqrt((centred**2).sum(axis=0))
        return np.where(np.sqrt((rest**2).sum(axis=0)) > _DEPENDENT * size, rest, 0.0)


def compare_products(one: Floats, others: Floats, at: Sequence[int], given: Given) -> list[Dependence]:
    """Whether residuals (n, r) of a column depend on those of others, whose features are ``others[:, at[i]:at[i+1]]``.

    Hotelling's test of the products' mean, with the variance of residuals made good for their leverage (HC2).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 500))
    >>> given = Given(np.empty((500, 0)))
    >>> related, apart = compare_products(x[:, None], np.column_stack([x + y, y]), [0, 1, 2], given)
    >>> related.p_value < 1e-9, apart.p_value > 0.01
    (True, True)
    """
    scaled = one / np.sqrt(given.left)[:, None]
    if one.shape[1] == 1 and len(at) == others.shape[1] + 1:
        T, V = others.T @ one[:, 0], (others**2).T @ scaled[:, 0] ** 2
        squares = np.divide(T**2, V, out=np.zeros_like(T), where=V > 0)
        size = np.sqrt((one**2).sum() * (others**2).sum(axis=0))
        strengths = np.abs(np.divide(T, size, out=np.zeros_like(T), where=size > 0))
        return [_hotelling(float(s), int(v > 0), given.freedom, float(r)) for s, v, r in zip(squares, V, strengths)]
    found = []
    for start, stop in pairwise(at):
        rest = others[:, start:stop]
        T = (one.T @ rest).ravel()
        products = (scaled[:, :, None] * rest[:, None, :]).reshape(len(one), -1)
        statistic, rank = _quadratic(T, products.T @ products)
        found.append(_hotelling(statistic, rank, given.freedom, np.sqrt(statistic / len(one))))
    return found


def _quadratic(T: Floats, C: Floats) -> tuple[float, int]:
    """TᵀC⁻¹T and the rank of C."""
    scale = np.sqrt(np.diag(C))
    used = scale > 0
    if not used.any():
        return 0.0, 0
    T, C = T[used] / scale[used], C[np.ix_(used, used)] / np.outer(scale[used], scale[used])
    values, vectors = np.linalg.eigh(C)
    kept = values > 1e-8 * values[-1]
    return float(((vectors[:, kept].T @ T) ** 2 / values[kept]).sum()), int(kept.sum())


def _hotelling(statistic: float, rank: int, freedom: int, strength: float) -> Dependence:
    """The F-test of a mean of products whose second moments, about 0, made the statistic."""
    if rank == 0 or freedom <= rank:
        return Dependence(1.0, 0.0)
    about_mean = statistic / max(1 - statistic / freedom, 1e-12)
    p_value = float(fdtrc(rank, freedom - rank, about_mean * (freedom - rank) / (rank * (freedom - 1))))
    return Dependence(p_value, min(strength, 1.0))


def compare_alike(products: Floats, alike: NDArray[np.float32]) -> Dependence:
    """Whether products of residuals go together in rows that are alike (n, n), whatever their sign in others.

    The statistic is Σ Aᵢⱼ pᵢ pⱼ over the pairs of different rows. If the mean of a product is 0 wherever the row is,
    its sign is as good as random, which gives the moments: with Kᵢⱼ = Aᵢⱼpᵢpⱼ and 0 for i = j, the cumulants are
    2 tr K², 8 tr K³ and at most 48 tr K⁴, as of normal numbers in the place of signs. Both ends matter: a p-value too
    near to 1 hides small ones of other claims.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> h, z, x, y = rng.normal(size=(4, 500))
    >>> turned, alike = (x + h * np.sign(z)) * (y + h), (np.sign(z) == np.sign(z)[:, None]).astype(np.float32)
    >>> compare_alike(turned, alike).p_value < 1e-6, compare_alike(turned, np.ones_like(alike)).p_value > 0.01
    (True, True)
    """
    size = np.sqrt((products**2).sum())
    if not size > 0:
        return Dependence(1.0, 0.0)
    p = (products / size).astype(np.float32)
    own = np.diag(alike) * p**2
    variance = 2 * (float(p**2 @ (alike * alike) @ p**2) - float((own**2).sum()))
    if not variance > 0:
        return Dependence(1.0, 0.0)
    least, deviation = -float(own.sum()), np.sqrt(variance)
    statistic = float(p @ alike @ p) + least
    cubes, fourths = _trace_powers(lambda X: p[:, None] * (alike @ (p[:, None] * X)) - own[:, None] * X, len(p))
    # A gamma variable of more than this skewness does not fall below the least sum there is.
    skewness = float(np.clip(8 * cubes / deviation**3, min(-2 * deviation / least, _MOST_SKEWED), _MOST_SKEWED))
    p_value = _exceed(statistic / deviation, skewness, 48 * fourths / variance**2)
    return Dependence(p_value, float(np.sqrt(min(max(statistic, 0.0), 1.0))))


def _trace_powers(multiply: Callable[[NDArray[np.float32]], NDArray[np.float32]], n: int) -> tuple[float, float]:
    """tr K³ and tr K⁴ of a symmetric K (n, n) that multiplies columns, by random signs.

    E[eᵀKᵏe] = tr Kᵏ; the part along the largest eigenvectors, for which a few signs are too few, is exact (Hutch++).
    """
    signs = np.random.default_rng(0).integers(2, size=(2, n, _SIGNS), dtype=np.int8) * np.float32(2) - np.float32(1)
    Q = np.linalg.qr(multiply(signs[0]))[0]
    rest = (signs[1] - Q @ (Q.T @ signs[1])) / np.float32(np.sqrt(_SIGNS))
    once = multiply(np.hstack([Q, rest]))
    twice = multiply(once)
    return float((once * twice).sum()), float((twice**2).sum())


def compare_correlations(
    covariance: Floats, n: float, node: int, others: Integers, given: Integers
) -> list[Dependence]:
    """The classical t-test of partial correlations, for where there are only moments: exact under normal rows.

    Examples
    --------
    >>> S = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> compare_correlations(S, 12, 0, np.array([1]), np.array([], dtype=int))[0].p_value  # r = ½, n = 12
    0.0978...
    """
    ends = np.concatenate([[node], others])
    S = covariance[np.ix_(ends, ends)]
    if len(given):
        across = covariance[np.ix_(given, ends)]
        S = S - across.T @ np.linalg.lstsq(covariance[np.ix_(given, given)], across)[0]
    own, freedom = np.diag(covariance)[ends], n - len(given) - 2
    left = np.where(np.diag(S) > _DEPENDENT * own, np.diag(S), np.inf)
    r = np.clip(S[0, 1:] / np.sqrt(left[0] * left[1:]), -1.0, 1.0)
    if freedom <= 0:
        return [Dependence(1.0, float(abs(each))) for each in r]
    t = np.abs(r) * np.sqrt(freedom / np.maximum(1 - r**2, 1e-300))
    return [Dependence(float(2 * stdtr(freedom, -each)), float(abs(size))) for each, size in zip(t, r)]


def compare_counts(one: Integers, other: Integers, stratum: Integers) -> Dependence:
    """Whether two columns of codes are independent within strata; p-value by mean, variance and skewness of Σχ².

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z, a, b = rng.integers(3, size=(3, 500))
    >>> compare_counts(a, b, z).p_value > 0.01, compare_counts((a + b) % 3, b, a).p_value < 1e-9
    (True, True)
    """
    counts = _Counts.of(one, other, stratum)
    told = counts.variance > 1e-9 * np.maximum(counts.mean, 1)
    if not told.any():
        return Dependence(1.0, 0.0)
    statistic, mean, variance = (part[..., told].sum() for part in (counts.statistic(), counts.mean, counts.variance))
    levels = min(counts.left.weights.shape[1], counts.right.weights.shape[1])
    strength = np.sqrt(max(statistic - mean, 0.0) / counts.total[told].sum() / max(levels - 1, 1))
    # That of a multiple of χ² with the same mean and variance.
    skewness = 2 * np.sqrt(variance) / mean
    p_value = _exceed((statistic - mean) / np.sqrt(variance), skewness)
    if p_value < _CLOSER:
        drawn = (counts.permuted()[:, told].sum(axis=1) - mean) / np.sqrt(variance)
        p_value = _exceed((statistic - mean) / np.sqrt(variance), max(skewness, float((drawn**3).mean())))
    return Dependence(p_value, float(min(strength, 1.0)))


def _exceed(z: float, skewness: float, kurtosis: float = 0.0) -> float:
    """How likely a standardised gamma variable of this skewness exceeds z, or the sum of one and a normal variable.

    The gamma variable alone has an excess kurtosis of 3/2 of the squared skewness; the sum may have more, as weighted
    sums of χ² do of which one outweighs many others.

    >>> round(_exceed(1.96, 1e-3), 3)  # hardly skewed: normal
    0.025
    >>> rng = np.random.default_rng(0)
    >>> x = (rng.chisquare(1, 100_000) - 1) / 2 + rng.normal(size=100_000) / np.sqrt(2)
    >>> bool(abs(_exceed(-1.5, 1.0, 3.0) - (x > -1.5).mean()) < 0.002), _exceed(-2.1, 1.0)
    (True, 1.0)
    """
    share = min(1.5 * skewness**2 / kurtosis, 1.0) if kurtosis > 0 else 1.0
    shape = 4 * share**3 / skewness**2
    at = z - np.sqrt(1 - share) * _NORMAL
    return float(_DENSITY @ gammaincc(shape, np.maximum(shape + at / np.sqrt(share) * np.sqrt(shape), 0.0)))


class _Counts:
    """Two columns of codes within strata of at least four rows."""

    def __init__(self, one: Integers, other: Integers, stratum: Integers, shape: tuple[int, int, int]) -> None:
        self.one, self.other, self.stratum, self.shape = one, other, stratum, shape
        N = self._count(one)[0]
        self.rows, self.columns, self.total = N.sum(axis=2), N.sum(axis=1), N.sum(axis=(1, 2))
        self.left, self.right = _Kernel(self.rows, self.total), _Kernel(self.columns, self.total)
        self.mean, self.variance = _permuted(self.left, self.right, self.total)

    @classmethod
    def of(cls, one: Integers, other: Integers, stratum: Integers) -> Self:
        kept = np.bincount(stratum)[stratum] >= _FEWEST_IN_STRATUM
        found, places = np.unique(stratum[kept], return_inverse=True)
        return cls(one[kept], other[kept], places, (len(found), int(one.max()) + 1, int(other.max()) + 1))

    def statistic(self, one: Integers | None = None) -> Floats:
        """χ² of each stratum: (k, strata), for k columns (k, n) in the place of the first, or for itself."""
        N = self._count(self.one if one is None else one)
        apart = N - self.rows[:, :, None] * self.columns[:, None, :] / self.total[:, None, None]
        weights = self.left.weights[:, :, None] * self.right.weights[:, None, :]
        return np.asarray(self.total * (weights * apart**2).sum(axis=(-2, -1)))

    def permuted(self) -> Floats:
        """χ² of each stratum for permutations of the first column within the strata."""
        rng, by_stratum = np.random.default_rng(0), np.argsort(self.stratum, kind="stable")
        size = max(len(self.one), int(np.prod(self.shape)))
        wanted, at_once = int(np.clip(_MOST_CELLS / size, 50, _PERMUTATIONS)), max(int(1e6 / size), 1)
        found = []
        for start in range(0, wanted, at_once):
            keys = self.stratum + rng.random((min(at_once, wanted - start), len(self.one)))
            shuffled = np.empty(keys.shape, dtype=self.one.dtype)
            shuffled[:, by_stratum] = self.one[np.argsort(keys, axis=1)]
            found.append(self.statistic(shuffled))
        return np.concatenate(found)

    def _count(self, one: Integers) -> Floats:
        strata, r, q = self.shape
        many = np.atleast_2d(one)
        cells = (self.stratum * r + many) * q + self.other + strata * r * q * np.arange(len(many))[:, None]
        return (
            np.bincount(cells.ravel(), minlength=len(many) * strata * r * q)
            .reshape(len(many), *self.shape)
            .astype(float)
        )


class _Kernel:
    """How alike two rows of a stratum are: A = Σ w_a c_a c_aᵀ, where c_a is the centred indicator of level a.

    With w_a = 1 / (rows of the level) the products of two kernels would make Pearson's χ², which one row of a rare
    level can dominate; with a few rows more that is no longer so, and where rows are many it is nearly the same.
    """

    def __init__(self, margin: Floats, n: Floats) -> None:
        w = self.weights = np.where(margin > 0, 1 / (margin + _MORE_ROWS), 0.0)
        share = margin / n[:, None]
        overlap = np.eye(margin.shape[1]) * margin[:, :, None] - margin[:, :, None] * share[:, None, :]
        own = ((np.eye(margin.shape[1]) - share[:, None, :]) ** 2 * w[:, None, :]).sum(axis=2)
        self.trace = (margin * own).sum(axis=1)
        self.square = (w[:, :, None] * w[:, None, :] * overlap**2).sum(axis=(1, 2))
        self.diagonal = (margin * own**2).sum(axis=1)


def _permuted(left: _Kernel, right: _Kernel, n: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of n tr(A P B Pᵀ) over the permutations P of n ≥ 4 rows."""
    mean = n * left.trace * right.trace / (n - 1)
    even = 2.0 / ((n - 1) ** 2 * (n + 1) * (n - 2))
    odd = 1.0 / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    for side in (left, right):
        even = even * ((n - 1) * side.square - side.trace**2)
        odd = odd * (n * (n + 1) * side.diagonal - (n - 1) * (side.trace**2 + 2 * side.square))
    return mean, np.maximum(n**2 * (even + odd), 0.0)


def combine_p_values(p_values: Floats, most: float | None = None) -> float:
    """One p-value of many, whatever the dependence between them (Cauchy combination, Liu & Xie 2020); nan of none.

    Those above ``most`` count as that: a p-value of 1 is minus infinity among its likes, and would hide all others.

    >>> round(combine_p_values(np.array([0.3, 0.5, 0.6])), 3), combine_p_values(np.array([1e-12, 0.9])) < 1e-11
    (0.458, True)
    """
    if not len(p_values):
        return float("nan")
    p = np.clip(p_values, 1e-300, 1 - 0.25 / len(p_values) if most is None else most)
    # tan is −1/(πp) where p is so small that ½ − p is rounded.
    terms = np.where(p < 1e-15, 1 / (np.pi * p), np.tan((0.5 - p) * np.pi))
    mean = float(terms.mean())
    return 1 / (np.pi * mean) if mean > 1e15 else 0.5 - float(np.arctan(mean)) / np.pi


def combine_dependences(told: Sequence[Dependence]) -> Dependence:
    """What several tests of one independence say together; those that could not tell anything, p = 1, do not count.

    >>> combine_dependences([Dependence(1e-6, 0.3), Dependence(1.0, 0.0)])
    Dependence(p_value=1e-06, strength=0.3)
    """
    telling = [one for one in told if one.p_value < 1]
    if len(telling) < 2:
        return (telling or told)[0]
    # Nearly all large values stay as they are: many claims are combined once more, and have to be uniform till then.
    p_value = combine_p_values(np.array([one.p_value for one in telling]), _LARGEST)
    return Dependence(p_value, min(telling).strength)

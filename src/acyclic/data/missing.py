"""Moments of rows with missing cells: from pairs of columns, or by maximum likelihood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from acyclic.errors import InputError
from acyclic.facts import Fact, Note
from acyclic.types import Bools, Floats, Integers

__all__ = [
    "MISSING",
    "Incomplete",
    "Missing",
    "RawMoments",
    "check_missing",
    "count_triples",
    "expectation_maximisation",
    "repaired_correlation",
]

Missing = Literal["error", "drop-rows", "pairwise", "em", "impute"]
MISSING: Final[tuple[Missing, ...]] = ("error", "drop-rows", "pairwise", "em", "impute")

# Below this eigenvalue of the correlations (collinear columns), inverting them would cost half of the digits.
_SINGULAR: Final = 1e-8
# What is then added to the diagonal, so that regressions on collinear columns can be solved.
_RIDGE: Final = 1e-12
# Triples of columns are counted with each of so many as the first: of wide tables these stand for all.
_MOST_FIRST: Final = 100


def check_missing(missing: object) -> None:
    """Raise an InputError unless it is one of the policies."""
    if missing not in MISSING:
        raise InputError(f"missing is {missing!r}; give one of {', '.join(map(repr, MISSING))}")


class RawMoments(NamedTuple):
    """Row count, mean (d,) and covariance (d, d), before anybody looked whether they can be."""

    n: float
    mean: Floats
    covariance: Floats


class Incomplete:
    """Sums of rows in which NaN marks a missing cell, for the policies "pairwise", "em" and "impute".

    All rows are distances from one origin (d,), which may be any point near their mean.
    """

    def __init__(self, names: Sequence[str], missing: Missing) -> None:
        self._names, self._missing = names, missing
        self._sums: Floats | None = None
        self._patterns: dict[bytes, Floats] = {}
        self._n: float = 0

    @property
    def _of_pairs(self) -> Floats:
        """Counts, first and second sums (3, d, d) of pairs of columns; most tables need none."""
        if self._sums is None:
            self._sums = np.zeros((3, len(self._names), len(self._names)))
        return self._sums

    def add(self, rows: Floats, weights: Floats | None) -> None:
        """Add rows (k, d), of which each pair of columns counts where both have a value."""
        present = ~np.isnan(rows)
        mask, values = present.astype(np.float64), np.where(present, rows, 0.0)
        share = np.ones(len(rows)) if weights is None else weights
        counts, first, second = self._of_pairs
        counts += mask.T @ (mask * share[:, None])
        first += values.T @ (mask * share[:, None])
        second += values.T @ (values * share[:, None])

    def add_complete(self, n: float, mean: Floats, scatter: Floats) -> None:
        """Add the sums of complete rows: their count, mean and scatter about that mean."""
        counts, first, second = self._of_pairs
        counts += n
        first += n * mean[:, None]
        second += scatter + n * np.outer(mean, mean)

    def merge(self, later: Incomplete, step: Floats) -> None:
        """Add sums of rows about another origin, which is ``step`` (d,) further than this one."""
        if later._sums is not None:
            counts, first, second = later._sums
            moved = second + step[:, None] * first.T + first * step + np.outer(step, step) * counts
            self._of_pairs[...] += np.array([counts, first + step[:, None] * counts, moved])
        self._n += later._n
        for key, factor in later._patterns.items():
            moved = factor.copy()
            moved[:, 1:] += factor[:, :1] * step[_present(key, len(step))]
            self._extend(key, moved)

    def add_patterns(self, rows: Floats, weights: Floats | None) -> None:
        """Extend each pattern's factor of [√w, √w·x], x its observed columns; only its Gram matrix matters."""
        self._n += len(rows) if weights is None else float(weights.sum())
        present, root = ~np.isnan(rows), np.ones(len(rows)) if weights is None else np.sqrt(weights)
        keys, group, sizes = np.unique(np.packbits(present, axis=1), axis=0, return_inverse=True, return_counts=True)
        members = np.split(np.argsort(group, kind="stable"), np.cumsum(sizes)[:-1])
        for key, chosen in zip(keys, members):
            values = rows[np.ix_(chosen, np.flatnonzero(present[chosen[0]]))]
            factor = np.column_stack([np.ones(len(chosen)), values]) * root[chosen, None]
            self._extend(key.tobytes(), factor)

    def _extend(self, key: bytes, factor: Floats) -> None:
        """Add rows to the factor of a pattern."""
        if (old := self._patterns.get(key)) is not None:
            factor = np.vstack([old, factor])
        tall = len(factor) > factor.shape[1]
        self._patterns[key] = np.asarray(np.linalg.qr(factor, mode="r")) if tall else factor

    def finish(self, origin: Floats) -> tuple[RawMoments, list[Fact[Note]]]:
        """Moments of all rows added, and what was done about the missing cells."""
        counts, first, second = self._of_pairs
        for one, other in np.argwhere(counts < 2)[:1]:
            pair = f"{self._names[one]!r} and {self._names[other]!r}"
            raise InputError(f"fewer than 2 rows have both {pair}: their covariance is unknown; drop one of them")
        mean = np.diag(first / counts)
        covariance = (second - first * first.T / counts) / counts
        np.fill_diagonal(covariance, np.maximum(np.diag(covariance), 0.0))
        # Moments refuse what is not finite, and say so better than an eigenvalue solver would.
        if not np.isfinite(covariance).all():
            return RawMoments(counts[0, 0], origin + mean, covariance), []
        complete = self._from_patterns if self._missing == "em" else self._from_pairs
        found, facts = complete(mean, covariance)
        if self._missing == "impute":
            # Only whoever fills the cells knows the moments.
            facts = []
        return found._replace(mean=origin + found.mean), facts

    def _from_pairs(self, mean: Floats, covariance: Floats) -> tuple[RawMoments, list[Fact[Note]]]:
        d, pairs = len(mean), self._of_pairs[0][np.triu_indices(len(mean), 1 if len(mean) > 1 else 0)]
        n = float(len(pairs) / np.sum(1 / pairs))
        facts = [Fact.of(Note.PAIRWISE, fewest=float(pairs.min()), most=float(pairs.max()), n=n)]
        deviation = np.sqrt(np.diag(covariance))
        scale = np.where(deviation > 0, deviation, 1.0)
        correlation = covariance / scale / scale[:, None]
        smallest = float(np.linalg.eigvalsh(correlation)[0])
        if smallest < -_RIDGE * d:
            repaired = repaired_correlation(correlation)
            covariance = repaired * scale * scale[:, None]
            change = float(np.abs(repaired - correlation).max())
            facts.append(Fact.of(Note.REPAIRED, eigenvalue=smallest, change=change))
        return RawMoments(n, mean, covariance), facts

    def _from_patterns(self, start: Floats, covariance: Floats) -> tuple[RawMoments, list[Fact[Note]]]:
        deviation = np.sqrt(np.diag(covariance))
        scale = np.where(deviation > 0, deviation, 1.0)
        fit = expectation_maximisation(list(self._standardise_patterns(start, scale)), np.diag(covariance) > 0)
        kind = Note.EM if fit.converged else Note.EM_NOT_CONVERGED
        present = np.array([_present(key, len(start)) for key in self._patterns])
        n = count_triples(present, np.array([factor[:, 0] @ factor[:, 0] for factor in self._patterns.values()]))
        fact = Fact.of(kind, rows=self._n, n=n, iterations=fit.iterations, step=fit.step)
        return RawMoments(n, start + scale * fit.mean, fit.covariance * scale * scale[:, None]), [fact]

    def _standardise_patterns(self, shift: Floats, scale: Floats) -> Iterator[tuple[Bools, Floats]]:
        for key, factor in self._patterns.items():
            present = _present(key, len(scale))
            values = (factor[:, 1:] - factor[:, :1] * shift[present]) / scale[present]
            yield present, np.column_stack([factor[:, 0], values])


def count_triples(present: Bools, weights: Floats) -> float:
    """Harmonic mean, over three different columns, of the rows that have all three; of fewer columns the rows with all.

    Whether an edge is needed shows where both its ends and another parent are there. With all rows in the place of
    these, chance among the filled cells would count as often as what was seen, and pass for edges.

    Parameters
    ----------
    present : array of bool (p, d)
        The columns that each pattern has.
    weights : array (p,)
        How many rows have each pattern.
    """
    mask, d = present.astype(np.float64), present.shape[1]
    if d < 3:
        return float(weights @ present.all(axis=1))
    inverse, number = 0.0, 0
    for first in np.unique(np.linspace(0, d - 1, min(d, _MOST_FIRST)).round().astype(int)).tolist():
        rest = np.delete(mask[present[:, first]], first, axis=1)
        counts = (rest.T * weights[present[:, first]]) @ rest
        of_pairs = counts[np.triu_indices(d - 1, 1)]
        # Three columns that are never together tell nothing of each other, but the others go on.
        inverse, number = inverse + float(np.sum(1 / np.maximum(of_pairs, 1.0))), number + len(of_pairs)
    return max(number / inverse, 2.0)


def _present(key: bytes, d: int) -> Bools:
    """The columns (d,) that a pattern has."""
    return np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=d).astype(bool)


class GaussianFit(NamedTuple):
    """Maximum-likelihood moments: row count, mean (d,), covariance (d, d), and how the iteration ended."""

    n: float
    mean: Floats
    covariance: Floats
    iterations: int
    step: float
    converged: bool


def expectation_maximisation(
    patterns: Sequence[tuple[Bools, Floats]], varying: Bools, *, tolerance: float = 1e-9, max_iterations: int = 1000
) -> GaussianFit:
    """Fit a Gaussian to rows with missing cells by EM (Dempster, Laird & Rubin), exactly as if row by row.

    With the precision matrix ``K = S⁻¹`` each iteration fills the missing part M of a row from its observed part O,
    ``x_M = m_M - K_MM⁻¹ K_MO (x_O - m_O)``, adds ``K_MM⁻¹`` to the scatter for what this leaves open, and takes the
    moments of the completed rows. The likelihood never falls. Rows with the same O share the inverse.

    Parameters
    ----------
    patterns : sequence of (mask (d,), factor (k, 1 + o))
        The mask of the o observed columns, and any matrix with the Gram matrix of the rows [√w, √w x_O]; columns
        are about standardised.
    varying : array of bool (d,)
        The columns that are not constant.
    tolerance : float
        Converged when no mean and no covariance moves by more, in standard deviations.
    max_iterations : int
    """
    stack, groups = _stacked(patterns, len(varying)), _by_number_missing(patterns)
    both, identity = varying & varying[:, None], np.eye(len(varying))
    mean, covariance = np.zeros(len(varying)), identity
    n, step, iterations = float(stack.root @ stack.root), np.inf, 0
    while step > tolerance and iterations < max_iterations:
        first, second = _expected_sums(stack, groups, mean, covariance)
        change = first / n
        updated = second / n - np.outer(change, change)
        # Constant columns keep variance 1 on the way: a 0 would make every matrix singular.
        updated = np.where(both, (updated + updated.T) / 2, identity)
        step = float(max(np.abs(change).max(), np.abs(updated - covariance).max()))
        mean, covariance, iterations = mean + change, updated, iterations + 1
    return GaussianFit(n, mean, np.where(both, covariance, 0.0), iterations, step, step <= tolerance)


class _Stack(NamedTuple):
    """The factors of all patterns below each other: √w (k,), √w·x (k, d) with 0 where missing, and where not."""

    root: Floats
    values: Floats
    present: Bools


class _Group(NamedTuple):
    """Patterns that miss equally many columns: which (p, m), their weights (p,), and the stack's rows (q,) in them."""

    missing: Integers
    weights: Floats
    rows: Integers
    pattern: Integers


def _stacked(patterns: Sequence[tuple[Bools, Floats]], d: int) -> _Stack:
    root = np.concatenate([factor[:, 0] for _, factor in patterns])
    present = np.repeat([mask for mask, _ in patterns], [len(factor) for _, factor in patterns], axis=0)
    values = np.zeros((len(root), d))
    values[present] = np.concatenate([factor[:, 1:].ravel() for _, factor in patterns])
    return _Stack(root, values, present)


def _by_number_missing(patterns: Sequence[tuple[Bools, Floats]]) -> list[_Group]:
    ends = np.cumsum([len(factor) for _, factor in patterns])
    weights = np.array([factor[:, 0] @ factor[:, 0] for _, factor in patterns])
    number = np.array([np.count_nonzero(~mask) for mask, _ in patterns])
    groups = []
    for m in np.unique(number[number > 0]):
        chosen = np.flatnonzero(number == m)
        missing = np.array([np.flatnonzero(~patterns[at][0]) for at in chosen.tolist()])
        rows = [np.arange(ends[at] - len(patterns[at][1]), ends[at]) for at in chosen.tolist()]
        pattern = np.repeat(np.arange(len(chosen)), [len(part) for part in rows])
        groups.append(_Group(missing, weights[chosen], np.concatenate(rows), pattern))
    return groups


def _expected_sums(stack: _Stack, groups: list[_Group], mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Expected first and second sums of all rows about `mean`."""
    deviations = np.where(stack.present, stack.values - np.outer(stack.root, mean), 0.0)
    values, vectors = np.linalg.eigh(covariance)
    regular = values[0] > _SINGULAR
    precision = (vectors / values) @ vectors.T if regular else None
    pull = deviations @ precision if precision is not None else deviations
    second = np.zeros_like(covariance)
    for group in groups:
        if precision is not None:
            left, filled = _from_precision(group, pull, precision)
        else:
            left, filled = _from_regression(group, deviations, covariance)
        deviations[group.rows[:, None], group.missing[group.pattern]] = filled
        np.add.at(second, _blocks(group.missing, group.missing), left * group.weights[:, None, None])
    return stack.root @ deviations, second + deviations.T @ deviations


def _from_precision(group: _Group, pull: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Conditional covariance (p, m, m) and filled deviations (q, m); fast, for few columns are missing in a row."""
    left = np.asarray(np.linalg.inv(precision[_blocks(group.missing, group.missing)]), dtype=np.float64)
    pulled = pull[group.rows[:, None], group.missing[group.pattern]]
    return left, -np.einsum("qab,qb->qa", left[group.pattern], pulled)


def _from_regression(group: _Group, deviations: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """The same as `_from_precision` by regression on the observed columns: ``B = S_OO⁻¹ S_OM``."""
    absent = np.zeros((len(group.missing), len(covariance)), dtype=bool)
    np.put_along_axis(absent, group.missing, True, axis=1)
    observed = np.nonzero(~absent)[1].reshape(len(absent), -1)
    crossed = covariance[_blocks(observed, group.missing)]
    ridge = _RIDGE * np.eye(observed.shape[1])
    slopes = np.linalg.solve(covariance[_blocks(observed, observed)] + ridge, crossed)
    left = covariance[_blocks(group.missing, group.missing)] - np.swapaxes(crossed, 1, 2) @ slopes
    given = deviations[group.rows[:, None], observed[group.pattern]]
    return left, np.einsum("qo,qom->qm", given, slopes[group.pattern])


def _blocks(rows: Integers, columns: Integers) -> tuple[Integers, Integers]:
    return rows[:, :, None], columns[:, None, :]


def repaired_correlation(correlation: Floats) -> Floats:
    """Make a correlation matrix (d, d) positive definite by eigenvalue clipping, its diagonal kept.

    A negative eigenvalue shows by its size how far eigenvalues are off; all that are smaller than that are raised
    to it, and the result is scaled back to the old diagonal. Clipping at 0 instead would invent exact collinearity.
    A matrix without negative eigenvalues comes back unchanged.

    >>> repaired_correlation(np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])).round(2).tolist()
    [[1.0, 0.24, -0.24], [0.24, 1.0, 0.24], [-0.24, 0.24, 1.0]]
    """
    values, vectors = np.linalg.eigh(correlation)
    if values[0] >= 0:
        return correlation.copy()
    raised = (vectors * np.maximum(values, -values[0])) @ vectors.T
    diagonal = np.diag(correlation)
    factor = np.sqrt(diagonal / np.diag(raised))
    result = raised * factor * factor[:, None]
    np.fill_diagonal(result, diagonal)
    return np.asarray((result + result.T) / 2)

"""Moments of rows with missing cells: from complete rows, from pairs of columns, or by maximum likelihood."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acyclic.data.moments import ColumnNote, Moments
from acyclic.errors import InputError
from acyclic.graphs.checks import check_names
from acyclic.types import Bools, Floats, Integers

__all__ = ["MISSING", "Accumulator", "Missing", "expectation_maximisation", "repaired_correlation"]

Missing = Literal["error", "drop-rows", "pairwise", "em"]
MISSING: Final[tuple[Missing, ...]] = ("error", "drop-rows", "pairwise", "em")

# Below this eigenvalue of the correlations (collinear columns), inverting them would cost half of the digits.
_SINGULAR: Final = 1e-8
# What is then added to the diagonal, so that regressions on collinear columns can be solved.
_RIDGE: Final = 1e-12


class Accumulator:
    """One-pass moments of blocks of rows in which NaN marks a missing cell.

    Parameters
    ----------
    names : sequence of str
        The d columns.
    missing : str
        ``"error"``
            A missing cell is an error that names the column and the row.
        ``"drop-rows"``
            Only complete rows count; unbiased if cells are missing completely at random.
        ``"pairwise"``
            Entry (i, j) of the covariance is that of the rows that have both; also rests on cells that are missing
            completely at random. If the matrix has a negative eigenvalue it is repaired by `repaired_correlation`,
            which leaves the variances alone. ``n`` is the harmonic mean of the pairs' row counts: the sampling
            variance of an entry goes with 1/n_ij, and 1/n is the mean of these.
        ``"em"``
            Maximum likelihood of a Gaussian by `expectation_maximisation`; rests on cells that are missing at random
            given the observed ones. ``n`` counts the rows that have any value. Rows are grouped by the set of columns
            they have and each group is kept as a triangular factor, so that one pass is enough; memory grows with the
            number of different sets, at most d²/2 numbers for each, and never beyond the incomplete rows themselves.

    Examples
    --------
    >>> accumulator = Accumulator(["dose", "effect"], "pairwise")
    >>> accumulator.add(np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]]))
    >>> moments, notes = accumulator.result()
    >>> moments.mean.tolist(), moments.n
    ([3.0, 4.0], 2)
    >>> notes[0].message
    "'effect' is missing in 1 of 3 rows (33.3 %)"
    """

    def __init__(self, names: Sequence[str], missing: Missing = "error") -> None:
        if missing not in MISSING:
            raise InputError(f"missing is {missing!r}; give one of {', '.join(map(repr, MISSING))}")
        self.names, self.missing = check_names(names), missing
        d = len(self.names)
        self.n_rows = self.n_incomplete = self.n_empty = 0
        self._absent = np.zeros(d, dtype=np.int64)
        self._origin = np.full(d, np.nan)
        self._counts, self._first, self._second = (np.zeros((d, d)) for _ in range(3))
        self._patterns: dict[bytes, Floats] = {}

    @np.errstate(over="ignore", invalid="ignore")
    def add(self, rows: Floats, weights: Floats | None = None, place: Callable[[int], str] = "row {}".format) -> None:
        """Add rows (k, d), which are overwritten; `place` says where the k-th of them stands in the source."""
        self.n_rows += len(rows)
        self._centre(rows)
        # A sum is finite only if every cell is: one pass tells whether a mask is needed at all.
        total = rows.sum(axis=0)
        complete = bool(np.isfinite(total).all())
        if not complete:
            rows, weights = self._examined(rows, weights, place)
        if self.missing == "em":
            self._add_patterns(rows, ~np.isnan(rows), weights)
        if complete and weights is None:
            self._counts += len(rows)
            self._first += total[:, None]
            self._second += rows.T @ rows
        else:
            self._add_pairs(rows, np.ones(len(rows)) if weights is None else weights)

    @np.errstate(over="ignore", invalid="ignore")
    def result(self) -> tuple[Moments, list[ColumnNote]]:
        """Moments of all rows added, with notes on what was missing and what was done about it."""
        self._check_enough()
        notes, (mean, covariance) = list(self._absence_notes()), self._pair_moments()
        # Moments refuse what is not finite, and say so better than an eigenvalue solver would.
        if self.missing in ("error", "drop-rows") or not self.n_incomplete or not np.isfinite(covariance).all():
            return Moments(self._counts[0, 0], mean, covariance, self.names), notes
        repair = self._from_pairs if self.missing == "pairwise" else self._from_patterns
        moments, note = repair(mean, covariance)
        return moments, [*notes, note]

    def _examined(
        self, rows: Floats, weights: Floats | None, place: Callable[[int], str]
    ) -> tuple[Floats, Floats | None]:
        """Count missing cells, refuse what the policy does not take, and leave out rows that do not count."""
        infinite, absent = np.isinf(rows), np.isnan(rows)
        if infinite.any():
            where = _first_places(infinite, self.names, place)
            raise InputError(f"infinite or beyond the range of floats: {where}; correct or leave out these values")
        if self.missing == "error" and absent.any():
            where = _first_places(absent, self.names, place)
            raise InputError(f"missing: {where}; say missing='drop-rows', 'pairwise' or 'em', or drop=[…] the columns")
        self._absent += absent.sum(axis=0)
        self.n_incomplete += int(absent.any(axis=1).sum())
        self.n_empty += int(absent.all(axis=1).sum())
        kept = ~(absent.any(axis=1) if self.missing == "drop-rows" else absent.all(axis=1))
        return rows[kept], None if weights is None else weights[kept]

    def _centre(self, rows: Floats) -> None:
        """Subtract a mean of the first rows: sums of the distances lose no digits to a large mean."""
        for column in np.flatnonzero(np.isnan(self._origin)):
            values = rows[np.isfinite(rows[:, column]), column]
            if values.size:
                # A constant is subtracted as it is, for its mean may be rounded.
                self._origin[column] = values[0] if np.all(values == values[0]) else values.mean()
        rows -= np.where(np.isnan(self._origin), 0.0, self._origin)

    def _add_pairs(self, rows: Floats, weights: Floats) -> None:
        present = ~np.isnan(rows)
        mask, values = present.astype(np.float64), np.where(present, rows, 0.0)
        self._counts += mask.T @ (mask * weights[:, None])
        self._first += values.T @ (mask * weights[:, None])
        self._second += values.T @ (values * weights[:, None])

    def _add_patterns(self, rows: Floats, present: Bools, weights: Floats | None) -> None:
        """Extend each pattern's factor of [√w, √w·x], x its observed columns; only its Gram matrix matters."""
        root = np.ones(len(rows)) if weights is None else np.sqrt(weights)
        keys, group, sizes = np.unique(np.packbits(present, axis=1), axis=0, return_inverse=True, return_counts=True)
        members = np.split(np.argsort(group, kind="stable"), np.cumsum(sizes)[:-1])
        for key, chosen in zip(keys, members):
            values = rows[np.ix_(chosen, np.flatnonzero(present[chosen[0]]))]
            factor = np.column_stack([np.ones(len(chosen)), values]) * root[chosen, None]
            if (old := self._patterns.get(key.tobytes())) is not None:
                factor = np.vstack([old, factor])
            tall = len(factor) > factor.shape[1]
            self._patterns[key.tobytes()] = np.asarray(np.linalg.qr(factor, mode="r")) if tall else factor

    def _check_enough(self) -> None:
        for column in np.flatnonzero(self._absent >= max(1, self.n_rows - 1)):
            name = self.names[column]
            raise InputError(f"column {name!r} has {self.n_rows - self._absent[column]} value(s); drop=[{name!r}]")
        left = self.n_rows - (self.n_incomplete if self.missing == "drop-rows" else self.n_empty)
        if left < 2:
            without = f", {left} of them complete" if left < self.n_rows else ""
            raise InputError(f"the table has {self.n_rows} row(s){without}; at least 2 are needed")
        for one, other in np.argwhere(self._counts < 2)[:1] if self.n_incomplete else ():
            pair = f"{self.names[one]!r} and {self.names[other]!r}"
            raise InputError(f"fewer than 2 rows have both {pair}: their covariance is unknown; drop one of them")

    def _pair_moments(self) -> tuple[Floats, Floats]:
        mean = np.diag(self._first / self._counts)
        covariance = (self._second - self._first * self._first.T / self._counts) / self._counts
        np.fill_diagonal(covariance, np.maximum(np.diag(covariance), 0.0))
        return np.asarray(self._origin + mean), covariance

    def _from_pairs(self, mean: Floats, covariance: Floats) -> tuple[Moments, ColumnNote]:
        d, pairs = len(mean), self._counts[np.triu_indices(len(mean), 1 if len(mean) > 1 else 0)]
        n = len(pairs) / np.sum(1 / pairs)
        deviation = np.sqrt(np.diag(covariance))
        scale = np.where(deviation > 0, deviation, 1.0)
        correlation = covariance / scale / scale[:, None]
        smallest = float(np.linalg.eigvalsh(correlation)[0])
        done = f"each covariance is that of the rows that have both columns, {pairs.min():g} to {pairs.max():g} rows; "
        done += f"n = {n:.6g} is the harmonic mean of these"
        if smallest < -_RIDGE * d:
            repaired = repaired_correlation(correlation)
            change = np.abs(repaired - correlation).max()
            covariance = repaired * scale * scale[:, None]
            done += (
                f"; an eigenvalue of the correlations was {smallest:.3g}, so they were changed by up to {change:.3g}"
            )
        return Moments(n, mean, covariance, self.names), ColumnNote("missing", "", (), done)

    def _from_patterns(self, start: Floats, covariance: Floats) -> tuple[Moments, ColumnNote]:
        deviation = np.sqrt(np.diag(covariance))
        scale, shift = np.where(deviation > 0, deviation, 1.0), start - self._origin
        fit = expectation_maximisation(list(self._standardised_patterns(shift, scale)), np.diag(covariance) > 0)
        done = f"the moments maximise the Gaussian likelihood of all {fit.n:g} rows that have a value"
        if fit.converged:
            done += f" (EM, {fit.iterations} iterations)"
        else:
            done += f", but EM stopped after {fit.iterations} iterations at steps of {fit.step:.2g} standard deviations"
        moments = Moments(fit.n, start + scale * fit.mean, fit.covariance * scale * scale[:, None], self.names)
        return moments, ColumnNote("missing" if fit.converged else "not converged", "", (), done)

    def _standardised_patterns(self, shift: Floats, scale: Floats) -> Iterator[tuple[Bools, Floats]]:
        for key, factor in self._patterns.items():
            present = np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=len(scale)).astype(bool)
            values = (factor[:, 1:] - factor[:, :1] * shift[present]) / scale[present]
            yield present, np.column_stack([factor[:, 0], values])

    def _absence_notes(self) -> Iterable[ColumnNote]:
        for column in np.flatnonzero(self._absent):
            name, count = self.names[column], int(self._absent[column])
            part = f"{name!r} is missing in {count} of {self.n_rows} rows ({100 * count / self.n_rows:.3g} %)"
            yield ColumnNote("missing", name, (), part)
        if self.n_incomplete:
            text = f"{self._absent.sum()} cells are missing, in {self.n_incomplete} of {self.n_rows} rows"
            left_out = self.n_incomplete if self.missing == "drop-rows" else self.n_empty
            text += f"; {left_out} rows were left out" if left_out else ""
            yield ColumnNote("missing", "", (), text)


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


def _first_places(found: NDArray[np.bool_], names: Sequence[str], place: Callable[[int], str]) -> str:
    columns = np.flatnonzero(found.any(axis=0))
    where = ", ".join(f"{names[c]!r} (first in {place(int(found[:, c].argmax()))})" for c in columns[:5])
    return where + (f" and {columns.size - 5} more columns" if columns.size > 5 else "")

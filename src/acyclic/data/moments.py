"""Moments of a table: number of rows, mean and covariance; all that the linear learners see."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack, solve_triangular

from acyclic.errors import InputError
from acyclic.graphs.checks import check_names
from acyclic.types import Bools, Floats, Integers

__all__ = ["ColumnNote", "Moments", "as_moments", "column_notes"]

_BLOCK_VALUES = 1 << 20
_FORMAT = "acyclic moments 1"
_DEPENDENT = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Row count, mean and covariance of named columns, as read-only float64 arrays.

    Parameters
    ----------
    n : int or float
        Number of rows, or the sum of the weights that count them; at least 2.
    mean : array-like (d,)
    covariance : array-like (d, d)
        The maximum-likelihood one, ``S = (X - m)ᵀ(X - m) / n``; stored exactly symmetric.
    names : sequence of str, optional
        One name per column, all different; ``x0, x1, …`` if left out.

    Examples
    --------
    >>> moments = Moments.from_array([[1.0, 2.0], [3.0, 6.0]], names=["dose", "effect"])
    >>> moments
    Moments(n=2, d=2: dose, effect)
    >>> moments.covariance.tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """

    n: float
    mean: Floats
    covariance: Floats
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        mean, covariance = _numeric(self.mean, "mean"), _numeric(self.covariance, "covariance")
        if mean.ndim != 1 or mean.size == 0 or covariance.shape != (mean.size, mean.size):
            raise InputError(f"shapes {mean.shape} and {covariance.shape} are not (d,) and (d, d) with d >= 1")
        names = check_names(self.names or None, mean.size)
        if not isinstance(self.n, Real) or not 2 <= self.n < np.inf:
            raise InputError(f"n = {self.n!r}, but at least 2 rows are needed; weights must not be normalised to sum 1")
        _check_possible(mean, covariance, names)
        covariance = (covariance + covariance.T) / 2
        for array in (mean, covariance):
            array.flags.writeable = False
        n = int(self.n) if float(self.n).is_integer() else float(self.n)
        for field, value in {"n": n, "mean": mean, "covariance": covariance, "names": names}.items():
            object.__setattr__(self, field, value)

    @classmethod
    def from_array(cls, X: ArrayLike, names: Sequence[str] | None = None, weights: ArrayLike | None = None) -> Moments:
        """Compute the moments of a table of numbers in one pass over blocks of rows.

        Each block is centred on its own mean and the blocks are merged: a large mean costs no digits.

        Parameters
        ----------
        X : array-like (n, d)
            Finite integers, booleans or floats; at least two rows; left unchanged.
        names : sequence of str, optional
        weights : array-like (n,), optional
            How many rows each row stands for; finite and not negative. Their sum becomes ``n``.
        """
        table = _table(X)
        counts = None if weights is None else _row_weights(weights, len(table))
        return _accumulated(_blocks(table, table.shape[1]), check_names(names, table.shape[1]), counts)

    @classmethod
    def from_frame(cls, frame: Any) -> Moments:
        """Compute the moments of a pandas, Polars or PyArrow table of numbers and booleans, its names as ``str``."""
        import narwhals.stable.v2 as nw

        try:
            table: Any = nw.from_native(frame, eager_only=True)
            names = check_names(map(str, table.columns))
        except (TypeError, ValueError) as error:
            what = f"{type(frame).__name__} cannot be read as a pandas, Polars or PyArrow table in memory"
            raise InputError(f"{what}: {error}") from error
        kinds = zip(names, table.schema.values())
        other = [f"{name!r} ({kind})" for name, kind in kinds if not kind.is_numeric() and kind != nw.Boolean]
        if other:
            raise InputError(f"no numbers in {', '.join(other)}; convert these columns or leave them out")
        floats = nw.all().cast(nw.Float64)
        blocks = (block.select(floats).to_numpy() for block in _blocks(table, len(names)))
        return _accumulated(blocks, names)

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")
    def merged(cls, parts: Iterable[Moments]) -> Moments:
        """Moments of the rows of all parts (Chan, Golub & LeVeque), columns ordered as in the first."""
        moments = list(parts)
        if not moments:
            raise InputError("no moments to merge; give at least one")
        names = moments[0].names
        for extra in sorted({name for part in moments for name in part.names} - set(names)):
            raise InputError(f"column {extra!r} is in some parts but not in the first; select the same columns")
        matched = (part.select(names) for part in moments)
        return reduce(_merge, (_Sums(part.n, part.mean, part.covariance * part.n) for part in matched)).moments(names)

    def merge(self, other: Moments) -> Moments:
        """Moments of the rows of both, matched by column name."""
        return Moments.merged([self, other])

    def select(self, names: Sequence[str]) -> Moments:
        """Moments of the named columns, in that order."""
        index = {name: position for position, name in enumerate(self.names)}
        wanted = check_names(names)
        unknown = [name for name in wanted if name not in index]
        if unknown:
            raise InputError(f"unknown columns {unknown}; the columns are {list(self.names)}")
        chosen = [index[name] for name in wanted]
        return Moments(self.n, self.mean[chosen], self.covariance[np.ix_(chosen, chosen)], wanted)

    def standardized(self) -> Moments:
        """Moments of standardised columns: the covariance is the correlation, 0 for constant columns."""
        return Moments(self.n, np.zeros(len(self.names)), _correlation(self), self.names)

    def scaled(self, factors: ArrayLike) -> Moments:
        """Moments after column ``j`` is multiplied by ``factors[j]``, shape (d,), none of them 0."""
        factor = _numeric(factors, "factors")
        if factor.shape != self.mean.shape or not np.all(np.isfinite(factor) & (factor != 0)):
            raise InputError(f"factors must be {len(self.names)} finite numbers other than 0, one per column")
        with np.errstate(over="ignore"):
            mean, covariance = self.mean * factor, self.covariance * factor * factor[:, None]
        return Moments(self.n, mean, covariance, self.names)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a NumPy ``.npz`` file without pickles; the old file stays until the new one is complete."""
        partial = Path(path).with_name(f".{uuid.uuid4().hex}.tmp")
        text = json.dumps({"format": _FORMAT, "names": self.names}).encode()
        header = np.frombuffer(text, dtype=np.uint8)
        try:
            with partial.open("xb") as file:
                np.savez(file, header=header, n=np.float64(self.n), mean=self.mean, covariance=self.covariance)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Moments:
        """Read a file that `save` wrote."""
        with Path(path).open("rb") as file:
            try:
                with np.load(file, allow_pickle=False) as stored:
                    header = json.loads(stored["header"].tobytes())
                    if header["format"] != _FORMAT:
                        raise ValueError(f"its format is {header['format']!r}")
                    return cls(stored["n"].item(), stored["mean"], stored["covariance"], header["names"])
            except (ValueError, LookupError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
                raise InputError(f"{os.fspath(path)} is not a whole file of moments: {error}") from error

    def digest(self) -> str:
        """SHA-256 of the content in hexadecimal: equal moments have equal digests on every machine."""
        content = hashlib.sha256(json.dumps([self.names, float(self.n)]).encode())
        for array in (self.mean, self.covariance):
            content.update(array.astype("<f8").tobytes())
        return content.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Moments) and self.digest() == other.digest()

    def __hash__(self) -> int:
        return hash(self.digest())

    def __reduce__(self) -> tuple[type[Moments], tuple[object, ...]]:
        return Moments, (self.n, self.mean, self.covariance, self.names)

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:4]) + (", …" if len(self.names) > 4 else "")
        return f"Moments(n={self.n}, d={len(self.names)}: {shown})"


@dataclass(frozen=True)
class ColumnNote:
    """A remark on a column of `kind` "constant", "duplicate" or "collinear", which `others` determine."""

    kind: str
    column: str
    others: tuple[str, ...]
    message: str


def as_moments(data: Any, names: Sequence[str] | None = None) -> Moments:
    """Moments of an array whose columns are `names`, of a data frame, or of moments, which stay as they are."""
    if not isinstance(data, Moments) and not hasattr(type(data), "columns"):
        return Moments.from_array(data, names)
    moments = data if isinstance(data, Moments) else Moments.from_frame(data)
    if names is not None and tuple(names) != moments.names:
        raise InputError(f"names are {list(names)}, but the data has the columns {list(moments.names)}")
    return moments


def column_notes(moments: Moments) -> list[ColumnNote]:
    """Find constant, duplicate and collinear columns.

    A column is constant if its standard deviation is below the rounding of its mean, a duplicate if its
    correlation with an earlier column is ±1 to 1e-12, and collinear if the pivoted Cholesky factor of the
    correlation matrix leaves it less than ``1e-12 d`` of its variance.

    >>> X = [[1.0, 5.0, 2.0], [2.0, 5.0, 4.0], [4.0, 5.0, 8.0]]
    >>> [(note.kind, note.column, note.others) for note in column_notes(Moments.from_array(X))]
    [('constant', 'x1', ()), ('duplicate', 'x2', ('x0',))]
    """
    constant, correlation = _constant(moments), _correlation(moments)
    twins = np.triu(np.abs(correlation) >= 1 - _DEPENDENT, 1)
    notes = []
    for column in np.flatnonzero(constant).tolist():
        name, mean = moments.names[column], moments.mean[column]
        notes.append(ColumnNote("constant", name, (), f"{name!r} is constant: every row is {mean:.6g}"))
    for column in np.flatnonzero(twins.any(axis=0)).tolist():
        first = np.flatnonzero(twins[:, column])[:1]
        notes.append(_relation_note("duplicate", moments, column, first, correlation[first, column]))
    return notes + _collinear_notes(moments, correlation, np.flatnonzero(~constant & ~twins.any(axis=0)))


class _Sums(NamedTuple):
    n: float
    mean: Floats
    scatter: Floats

    def moments(self, names: tuple[str, ...], origin: Floats | float = 0.0) -> Moments:
        return Moments(self.n, origin + self.mean, self.scatter / self.n, names)


def _merge(left: _Sums, right: _Sums) -> _Sums:
    n, step = left.n + right.n, right.mean - left.mean
    scatter = left.scatter + right.scatter + np.outer(step, step) * (left.n * right.n / n)
    return _Sums(n, left.mean + step * (right.n / n), scatter)


def _centred_sums(rows: Floats, weights: Floats | None) -> _Sums:
    """Sums of one block; `rows` is overwritten."""
    mean = np.average(rows, axis=0, weights=weights)
    rows -= mean
    if weights is None:
        return _Sums(len(rows), mean, rows.T @ rows)
    rows *= np.sqrt(weights)[:, None]
    return _Sums(float(weights.sum()), mean, rows.T @ rows)


@np.errstate(over="ignore", invalid="ignore")
def _accumulated(blocks: Iterable[NDArray[Any]], names: tuple[str, ...], weights: Floats | None = None) -> Moments:
    total, start, origin = None, 0, np.zeros(len(names))
    for block in blocks:
        rows = _finite(block, names, start)
        share = None if weights is None else weights[start : start + len(rows)]
        start += len(rows)
        if share is not None:
            rows, share = rows[share > 0], share[share > 0]
        if len(rows):
            # Means of blocks are merged as distances from the first, which rounding hardly touches.
            origin = rows.mean(axis=0) if total is None else origin
            rows -= origin
            part = _centred_sums(rows, share)
            total = part if total is None else _merge(total, part)
    if total is None or start < 2:
        raise InputError(f"the table has {start} sample(s) (rows); at least 2 are needed")
    return total.moments(names, origin)


def _blocks(table: Any, d: int) -> Iterator[Any]:
    step = max(1, _BLOCK_VALUES // d)
    return (table[start : start + step] for start in range(0, len(table), step))


def _array(values: object, what: str, kinds: str = "biuf") -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"the {what} must be rectangular: {error}") from error
    if array.dtype.kind not in kinds:
        held = "Complex data not supported" if array.dtype.kind == "c" else f"the {what} holds {array.dtype}"
        raise InputError(f"{held}; pass real numbers, and convert text, categories and dates first")
    return array


def _table(X: object) -> NDArray[Any]:
    if hasattr(X, "toarray"):
        raise InputError("the table is sparse; pass X.toarray()")
    table = _array(X, "table", kinds="biufO")
    if table.ndim != 2:
        raise InputError(f"shape {table.shape} is not (n, d). Reshape your data: X.reshape(-1, 1) is one column")
    if table.shape[1] == 0:
        raise InputError(f"0 feature(s) (shape={table.shape}) while a minimum of 1 is required.")
    return table


def _finite(block: NDArray[Any], names: tuple[str, ...], start: int) -> Floats:
    """Copy a block as float64, or name the columns and rows that are no finite number."""
    for (row, column), value in np.ndenumerate(block) if block.dtype == object else ():
        if not isinstance(value, Real | np.bool_ | None):
            raise InputError(f"column {names[column]!r} holds {value!r} in row {start + row}; numbers are needed")
    rows = block.astype(np.float64, order="C")
    bad = ~np.isfinite(rows)
    if bad.any():
        columns = np.flatnonzero(bad.any(axis=0))
        where = ", ".join(f"{names[c]!r} (first in row {start + bad[:, c].argmax()})" for c in columns[:5])
        more = f" and {columns.size - 5} more columns" if columns.size > 5 else ""
        raise InputError(f"missing or not finite (NaN or infinity): {where}{more}; drop or fill those rows")
    return rows


def _row_weights(weights: ArrayLike, rows: int) -> Floats:
    values = _numeric(weights, "weights")
    if values.shape != (rows,):
        raise InputError(f"weights have shape {values.shape}; one weight per row, ({rows},), is needed")
    good = np.isfinite(values) & (values >= 0)
    if not good.all() or np.count_nonzero(values) < 2:
        found = f"; weights[{good.argmin()}] is {values[good.argmin()]}" if not good.all() else ""
        raise InputError(f"weights must be finite, none negative and at least two above 0{found}")
    return values


def _numeric(values: object, what: str) -> Floats:
    """Copy as float64, with -0.0 made 0.0 so that equal content has equal bytes."""
    return np.asarray(_array(values, what).astype(np.float64) + 0.0)


def _check_possible(mean: Floats, covariance: Floats, names: tuple[str, ...]) -> None:
    """Check that the moments are finite, the covariance symmetric and no correlation beyond ±1."""
    finite = np.isfinite(mean) & np.isfinite(covariance).all(axis=1)
    if not finite.all():
        raise InputError(f"the moments of column {names[finite.argmin()]!r} are not finite; rescale huge values")
    # The offset lets a variance underflow to 0 while the covariances with larger columns do not.
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0) + 1e-300)
    relative = covariance / deviation / deviation[:, None]
    wrong = (np.abs(relative - relative.T) > 1e-8) | (np.abs(relative) > 1 + 1e-8) | np.diag(np.diag(relative) < 0)
    if wrong.any():
        pair = np.argwhere(wrong)[0]
        numbers, (one, other) = covariance[np.ix_(pair, pair)].tolist(), (names[column] for column in pair)
        raise InputError(f"{numbers} cannot be the covariance matrix of {one!r} and {other!r}")


def _constant(moments: Moments) -> Bools:
    # Centred moments resolve a deviation down to the rounding of the mean itself, not to its square root.
    rounding = 4 * np.finfo(np.float64).eps * np.abs(moments.mean)
    return np.asarray(np.sqrt(np.diag(moments.covariance)) <= rounding)


def _correlation(moments: Moments) -> Floats:
    constant = _constant(moments)
    deviation = np.where(constant, 1.0, np.sqrt(np.diag(moments.covariance)))
    correlation = np.clip(moments.covariance / deviation / deviation[:, None], -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    correlation[constant] = correlation[:, constant] = 0.0
    return np.asarray(correlation)


def _collinear_notes(moments: Moments, correlation: Floats, columns: Integers) -> list[ColumnNote]:
    if columns.size == 0:
        return []
    block = correlation[np.ix_(columns, columns)]
    factor, pivots, rank, _ = lapack.dpstrf(block, tol=_DEPENDENT * columns.size, lower=1)
    order = columns[pivots - 1]
    slopes = solve_triangular(factor[:rank, :rank], factor[rank:, :rank].T, lower=True, trans="T").T
    notes = []
    for column, slope in sorted(zip(order[rank:].tolist(), slopes), key=lambda pair: pair[0]):
        part = sorted(np.flatnonzero(np.abs(slope) > 1e-6 * np.abs(slope).max()), key=order.__getitem__)
        notes.append(_relation_note("collinear", moments, column, order[part], slope[part]))
    return notes


def _relation_note(kind: str, moments: Moments, column: int, others: Integers, slope: Floats) -> ColumnNote:
    """Note that `column` is a linear function of `others`; `slope` is in units of standard deviations."""
    deviation = np.sqrt(np.diag(moments.covariance))
    terms = slope * deviation[column] / deviation[others]
    name, names = moments.names[column], tuple(moments.names[other] for other in others)
    relation = " ".join(f"{term:+.4g}·{other!r}" for term, other in zip(terms[:6], names))
    more = f" and {len(names) - 6} more terms" if len(names) > 6 else ""
    return ColumnNote(kind, name, names, f"{name!r} is determined by others: constant {relation}{more}")

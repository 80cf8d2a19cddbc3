"""Rows that are far from all others: each weighs as much as hundreds in every covariance, and looks like a curve.

Heavy tails are no outliers: a column is suspected only where a value is much further out than its own tail leads to, as
read off the 90th and the 98th of a hundred values. Where one is, rows are set aside by their distance from the middle
in terms of the other rows, which also finds cells that are wild only beside the rest of their row.
"""

from __future__ import annotations

from math import log

import numpy as np

from acyclic.types import Bools, Floats

__all__ = ["find_outliers"]

# Fewer rows have no tail to speak of.
FEWEST_ROWS = 50
# Quantiles and correlations are those of at most so many rows. Of fewer than some hundred, tails are a guess: their
# bounds are those of so many.
_SAMPLE, _FEW = 10_000, 300
# From a tenth to a fiftieth of the rows the distance from the median grows 1.6 times for a normal column, 1.9 for t5,
# 2.1 for t3, 2.6 for a lognormal one. Growth at that rate to the last row and 50 times beyond is more than any of these
# show; wild cells are up to 2 % of a column that still tells its tail.
_NEAR, _FAR, _BEYOND, _NORMAL_GROWTH = 0.1, 0.02, 0.02, 1.6
# Cells count as no further out than this, in deviations, where the first correlations are computed.
_CLIP = 2.5
# No cell is further out than this for the distances, whose squares have to be finite.
_FURTHEST = 1e9
# Nine distances from median to upper quartile are six deviations of a normal law.
_QUARTILES = 9.0
# Among rows that are left others stand out, until none does.
_PASSES = 10
# Directions in which the rows vary less than this count as varying by as much.
_LEAST_EIGENVALUE = 1e-6
# Correlations of so few rows for each column tell no distances.
_ROWS_FOR_COLUMN = 5
# If it is every third row, they are a part of the table and not outliers.
_MOST_SHARE = 1 / 3


@np.errstate(over="ignore")
def find_outliers(rows: Floats, numeric: Bools) -> tuple[Bools, Bools]:
    """Which rows (n,) are far from all others, and in which columns (d,) values are beyond the tail of the column.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    numeric : ndarray of bool, shape (d,)
        The columns that are looked at: those of numbers with a continuous scale.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_t(5, size=(1000, 4))
    >>> int(find_outliers(rows, np.ones(4, dtype=bool))[0].sum())
    0
    >>> rows[7] *= 1000
    >>> np.flatnonzero(find_outliers(rows, np.ones(4, dtype=bool))[0])
    array([7])
    """
    n, d = rows.shape
    none = np.zeros(n, dtype=bool), np.zeros(d, dtype=bool)
    used = np.flatnonzero(numeric)
    if n < FEWEST_ROWS or not len(used):
        return none
    sample = rows[:: -(-n // _SAMPLE), used]
    low, middle, high = _bound(sample, n)
    lowest, highest = rows.min(axis=0)[used], rows.max(axis=0)[used]
    wild = (lowest < low) | (highest > high)
    if not wild.any():
        return none
    suspects = used[wild]
    beyond = ((rows[:, suspects] < low[wild]) | (rows[:, suspects] > high[wild])).any(axis=1)
    scale = _spread(sample)
    varies = scale > 0
    if len(sample) >= _ROWS_FOR_COLUMN * varies.sum():
        z = np.clip((rows[:, used[varies]] - middle[varies]) / scale[varies], -_FURTHEST, _FURTHEST)
        beyond |= _find_far(z, beyond)
    if beyond.sum() > _MOST_SHARE * n:
        return none
    return beyond, np.isin(np.arange(d), suspects)


def _bound(sample: Floats, n: int) -> tuple[Floats, Floats, Floats]:
    """How far down and up the tails of the columns lead, and their medians; no bound for a tail that is none."""
    levels = [_FAR, _NEAR, 0.5, 1 - _NEAR, 1 - _FAR]
    lowest, low, middle, high, highest = np.quantile(sample, levels, axis=0)
    steps = _count_steps(n, _BEYOND)
    down, up = _reach(middle - low, middle - lowest, steps), _reach(high - middle, highest - middle, steps)
    return middle - down, middle, middle + up


def _count_steps(n: int, rows: float) -> float:
    """How many times a tail grows from where a tenth of n rows is left to where so many rows are."""
    return log(_NEAR * min(max(n, _FEW), _SAMPLE) / rows) / log(_NEAR / _FAR)


def _reach(near: Floats, far: Floats, steps: float) -> Floats:
    near, far = np.asarray(near), np.asarray(far)
    growth = np.divide(far, near, out=np.full_like(far, np.inf), where=near > 0)
    return np.where(near > 0, near, 1.0) * np.maximum(growth, _NORMAL_GROWTH) ** steps


def _spread(sample: Floats) -> Floats:
    """Standard deviations as the inner eight tenths tell them."""
    low, high = np.quantile(sample, [_NEAR, 1 - _NEAR], axis=0)
    return np.asarray((high - low) / 2.563)


def _find_far(z: Floats, beyond: Bools) -> Bools:
    """Rows far from the middle: by correlations of clipped cells first, then by those of the rows that are left."""
    far = beyond
    for attempt in range(_PASSES):
        kept = z[~far]
        part = kept[:: -(-len(kept) // _SAMPLE)]
        inner = part if attempt else np.clip(part, -_CLIP, _CLIP)
        values, vectors = np.linalg.eigh(np.cov(inner, rowvar=False).reshape(z.shape[1], z.shape[1]))
        if not values[-1] > 0:
            break
        turn = vectors / np.sqrt(np.maximum(values, _LEAST_EIGENVALUE * values[-1]))
        distance = np.sqrt(np.square(z @ turn).sum(axis=1))
        middle, upper, near, tail = np.quantile(distance[~far], [0.5, 0.75, 1 - _NEAR, 1 - _FAR])
        limit = middle + _QUARTILES * (upper - middle)
        before, far = far, beyond | (distance > limit)
        if attempt and np.array_equal(far, before):
            if far.sum() > _FAR * len(z):
                break
            # Of so few rows some may be the heavy tail of the others: what is within that belongs to them.
            last = middle + _reach(near - middle, tail - middle, _count_steps(len(z), 1.0))
            return np.asarray(beyond | (distance > max(limit, float(last))))
        if far.sum() > _MOST_SHARE * len(z):
            break
    return far

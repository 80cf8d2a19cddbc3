"""Units for columns near the ends of the range of floats, whose squares would be infinite or zero."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from acyclic.data.moments import Moments
from acyclic.types import Bools, Floats

__all__ = ["find_factors", "is_extreme"]

# Between these, fourth powers and their sums over any number of rows are normal floats.
_LARGE: Final = 1e50
_SMALL: Final = 1e-50


def is_extreme(moments: Moments, zeros: Bools) -> bool:
    """Whether some column is so large or so small that sums of powers may leave the range of floats.

    ``zeros`` tells the columns (d,) that are known to be 0 throughout, and not only near it.
    """
    with np.errstate(over="ignore", under="ignore"):
        size = np.maximum(np.abs(moments.mean), np.sqrt(np.diag(moments.covariance)))
    return bool((size > _LARGE).any() or ((size < _SMALL) & ~zeros).any())


def find_factors(blocks: Iterable[Floats], d: int) -> Floats | None:
    """Powers of two (d,) that bring the largest value of each extreme column to about 1; None if there is none.

    Columns that are constant stay as they are: nothing is learned from them.
    """
    most, low, high = np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)
    for rows in blocks:
        if len(rows):
            with np.errstate(invalid="ignore"):
                finite = np.where(np.isfinite(rows), rows, np.nan)
                low, high = np.fmin(low, np.fmin.reduce(finite)), np.fmax(high, np.fmax.reduce(finite))
                most = np.fmax(most, np.fmax.reduce(np.abs(finite)))
    extreme = ((most > _LARGE) | (most < _SMALL)) & (most > 0) & (low < high)
    if not extreme.any():
        return None
    # Two steps, for the inverse of the smallest floats is infinite.
    _, exponents = np.frexp(most)
    return np.where(extreme, np.ldexp(1.0, np.clip(-exponents, -1022, 1023)), 1.0)

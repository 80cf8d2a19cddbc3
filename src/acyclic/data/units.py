"""Units for columns near the ends of the range of floats, whose squares would be infinite or zero."""

from __future__ import annotations

from typing import Final

import numpy as np

from acyclic.data.moments import Moments
from acyclic.types import Bools, Floats, Integers

__all__ = ["Extent", "is_extreme"]

# Between these, fourth powers and their sums over any number of rows are normal floats.
_LARGE: Final = 1e50
_SMALL: Final = 1e-50
# The largest of some hundred values with standard deviation 1 lies between 2 and 4.
_USUAL_EXPONENT: Final = 2


def is_extreme(moments: Moments, zeros: Bools) -> bool:
    """Whether some column is so large or so small that sums of powers may leave the range of floats.

    ``zeros`` tells the columns (d,) that are known to be 0 throughout, and not only near it.
    """
    with np.errstate(over="ignore", under="ignore"):
        size = np.maximum(np.abs(moments.mean), np.sqrt(np.diag(moments.covariance)))
    return bool((size > _LARGE).any() or ((size < _SMALL) & ~zeros).any())


class Extent:
    """How far the values of d columns reach: largest size, smallest and largest value."""

    def __init__(self, d: int) -> None:
        self._most, self._low, self._high = np.zeros(d), np.full(d, np.inf), np.full(d, -np.inf)

    def add(self, rows: Floats) -> None:
        """Add rows (k, d); cells that are missing or infinite do not count."""
        finite = np.where(np.isfinite(rows), rows, np.nan)
        self._low = np.fmin(self._low, np.fmin.reduce(finite, initial=np.inf))
        self._high = np.fmax(self._high, np.fmax.reduce(finite, initial=-np.inf))
        self._most = np.fmax(self._most, np.fmax.reduce(np.abs(finite), initial=0.0))

    def merge(self, later: Extent) -> None:
        """Add what other rows reach."""
        self._low, self._high = np.fmin(self._low, later._low), np.fmax(self._high, later._high)
        self._most = np.fmax(self._most, later._most)

    def find_exponents(self) -> Integers | None:
        """Exponents (d,) of powers of two that bring the columns to the middle of the range of floats; None if all are.

        It is one and the same for all columns where that is enough, for their common unit may tell directions; else
        each extreme column gets its own. Columns that are constant stay as they are: nothing is learned from them.
        """
        most, varying = self._most, self._low < self._high
        extreme = ((most > _LARGE) | (most < _SMALL)) & varying
        if not extreme.any():
            return None
        exponents = np.frexp(most)[1] - _USUAL_EXPONENT
        first, last = exponents[varying].min(), exponents[varying].max()
        if last - first < np.log2(_LARGE / _SMALL):
            exponents, extreme = np.full(len(most), (first + last) // 2), varying
        return np.where(extreme, -exponents, 0).astype(np.intc)

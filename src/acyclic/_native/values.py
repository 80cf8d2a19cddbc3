"""A hash of columns of numbers that can be put together from those of their parts."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from acyclic._native.library import FLOAT, UINT64, address, check, check_writable, library

_PRIME: Final = 2**61 - 1
_POINTS: Final = (0x1921FB54442D1846, 0x15BF0A8B14576953)


def hash_values(columns: NDArray[np.float64], state: NDArray[np.uint64]) -> None:
    """Change the hashes (d, 2) of columns to those of longer ones, to which these numbers (d, n) were appended.

    Examples
    --------
    >>> state = np.zeros((1, 2), dtype=np.uint64)
    >>> hash_values(np.array([[0.5, 2.0]]), state)
    >>> first, second = np.zeros((2, 1, 2), dtype=np.uint64)
    >>> hash_values(np.array([[0.5]]), first), hash_values(np.array([[2.0]]), second)
    (None, None)
    >>> bool((join_hashes(first, second, 1) == state).all())
    True
    """
    d, n = columns.shape
    check("columns", columns, FLOAT, (d, n))
    check_writable("state", state, UINT64, (d, 2))
    if d and n:
        library().hash_values(d, n, address(columns), address(state))


def join_hashes(left: NDArray[np.uint64], right: NDArray[np.uint64], n: int) -> NDArray[np.uint64]:
    """The hashes (d, 2) of columns, given those of their first parts and of the n numbers that follow in each."""
    powers = [pow(point, n, _PRIME) for point in _POINTS]
    joined = [
        [(one * power + other) % _PRIME for one, power, other in zip(before, powers, after)]
        for before, after in zip(left.tolist(), right.tolist())
    ]
    return np.array(joined, dtype=np.uint64).reshape(left.shape)

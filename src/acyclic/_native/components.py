"""Strongly connected components."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from acyclic._native.library import UINT8, address, check, check_size, library


def strong_components(support: NDArray[np.uint8]) -> tuple[int, int, NDArray[np.int32]]:
    """Number, largest size and labels of the strongly connected components of a (d, d) 0/1 matrix.

    Labels follow reverse topological order: an edge between components goes from the larger label to the smaller.

    Examples
    --------
    >>> strong_components(np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]], dtype=np.uint8))
    (2, 2, array([1, 1, 0], dtype=int32))
    """
    d = check_size(len(support))
    check("support", support, UINT8, (d, d))
    labels, work = np.empty(d, np.int32), np.empty(4 * d, np.int32)
    count: int = library().strong_components(d, address(support), address(labels), address(work))
    return count, int(work[0]), labels

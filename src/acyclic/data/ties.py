"""Numbers that rounding alone tells apart count as equal, and the first of them wins: the same on every CPU."""

from __future__ import annotations

import numpy as np

from acyclic.types import Floats


def find_smallest(values: Floats, rounding: Floats | float) -> int:
    """The first place whose value may be the smallest, each being known to ± its rounding only.

    Examples
    --------
    >>> find_smallest(np.array([3.0, 1.0 + 2e-16, 1.0]), 1e-15)
    1
    """
    return int(np.argmax(values - rounding <= np.min(values + rounding)))

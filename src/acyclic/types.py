"""The words that all rooms share for arrays, and for what a run tells while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Integers: TypeAlias = NDArray[np.intp]


class Kind(StrEnum):
    """What a column holds; `acyclic.data.kinds` has the rules by which it is found."""

    CONTINUOUS = "continuous"
    CATEGORICAL = "categorical"
    """Levels without an order: text, truth values, codes, and whatever has two values only."""
    ORDINAL = "ordinal"
    """Levels with an order; used as numbers."""
    COUNT = "count"
    """How many of something: whole numbers from 0; used as numbers."""


@dataclass(frozen=True)
class Progress:
    """A moment of a run, as callbacks and traces see it.

    ``objective`` is score plus L1 term without the constraint's penalty; ``h`` the constraint's value.
    """

    stage: str
    round: int
    step: int
    objective: float
    h: float
    penalty: float
    edges: int
    seconds: float


Callback: TypeAlias = Callable[[Progress], bool | None]

"""The words that all rooms share for arrays, and for what a run tells while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Integers: TypeAlias = NDArray[np.intp]


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

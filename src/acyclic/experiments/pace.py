"""How long a run takes: measured where a setting ran, else estimated from rows of the nearest kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np

from acyclic.experiments.cases import Scalar

if TYPE_CHECKING:
    from acyclic.experiments.plans import Setting
    from acyclic.experiments.store import Store

GROWTH = 2.5
"""Time grows at least with this power of the number of nodes: a product of d × d matrices takes d³, and small ones
wait for memory. Two sizes of a fast learner often show less, of which most is the time to start."""

_MINIMISER = ("learner", "loss", "solver", "inner")


@dataclass(frozen=True)
class Timed:
    """Mean seconds of the runs of one setting, ``nodes`` 0 where its data have no such number."""

    method: Mapping[str, Scalar]
    nodes: float
    seconds: float


class Pace:
    """Seconds of single runs, from what a store holds.

    A setting that never ran takes as long as the slowest row of the nearest size, times a power of the ratio of sizes;
    of rows with the same method if there are any, else with the same learner and minimiser, else of all: what nobody
    tried is taken for as slow as the slowest that was.
    """

    def __init__(self, store: Store) -> None:
        self._rows = {
            key: Timed(method, float(data.get("n_nodes", 0)), seconds) for key, data, method, seconds in store.means()
        }

    def seconds(self, setting: Setting) -> float:
        """Of one run; 0 where nothing at all was stored."""
        if setting.key in self._rows:
            return self._rows[setting.key].seconds
        kinds: tuple[Callable[[Mapping[str, Scalar]], object], ...] = (dict, _minimiser, lambda method: None)
        rows = self._rows.values()
        alike = ([row for row in rows if kind(row.method) == kind(setting.method)] for kind in kinds)
        nodes = float(setting.data.get("n_nodes", 0))
        return next((_scaled(some, nodes) for some in alike if some), 0.0)


def _minimiser(method: Mapping[str, Scalar]) -> list[Scalar | None]:
    return [method.get(name) for name in _MINIMISER]


def _scaled(rows: Sequence[Timed], nodes: float) -> float:
    """Seconds at a number of nodes, from the slowest of the rows whose size is nearest to it."""
    sized = [row for row in rows if row.nodes > 0]
    if not (sized and nodes > 0):
        return max(row.seconds for row in rows)
    nearest = min((row.nodes for row in sized), key=lambda size: abs(log(size / nodes)))
    slowest = max(row.seconds for row in sized if row.nodes == nearest)
    return float(slowest * (nodes / nearest) ** _growth(sized))


def _growth(rows: Sequence[Timed]) -> float:
    """The power of the number of nodes that the slowest row of each size shows, at least `GROWTH`."""
    slowest: dict[float, float] = {}
    for row in rows:
        slowest[row.nodes] = max(slowest.get(row.nodes, 0.0), row.seconds, 1e-3)
    if len(slowest) < 2:
        return GROWTH
    fitted = np.polyfit(np.log(list(slowest)), np.log(list(slowest.values())), 1)[0]
    return max(GROWTH, float(fitted))

"""Hill climbing over DAGs: the best addition, deletion or reversal of an edge, until none improves the score."""

from __future__ import annotations

import numpy as np

from acyclic.data.mask import Mask
from acyclic.data.ties import find_smallest
from acyclic.facts import Ended
from acyclic.graphs.reachability import close_transitively
from acyclic.running import Monitor, State
from acyclic.scores.local import TOLERANCE, LocalScore
from acyclic.types import Bools


class HillClimbing:
    """Greedy search from one DAG, inside the edges that are allowed.

    The score is a sum over nodes, so that the gain of every move follows from two tables: what one more parent, or one
    parent less, is worth to a node. A move changes two columns of each at most.

    Parameters
    ----------
    scores : LocalScore
    mask : Mask
        Edges that are not allowed are never drawn, required ones never removed.
    start : bool array (d, d)
        An acyclic graph that obeys the mask.
    """

    def __init__(self, scores: LocalScore, mask: Mask, start: Bools) -> None:
        self.scores, self.mask, self.dag = scores, mask, np.array(start)
        self.addition, self.deletion = np.empty(start.shape), np.empty(start.shape)
        for node in range(scores.n_nodes):
            self.weigh(node)

    def __call__(self, monitor: Monitor, state: State) -> None:
        """Climb to the top, the DAG in `state.weights` at every step."""
        state.accept(weights=self.dag.astype(float))
        while (move := self._best()) is not None:
            self.take(move)
            state.accept(weights=self.dag.astype(float), steps=state.steps + 1)
            monitor.tick(state, "hill climbing", self.scores.total(self.dag), 0.0, 0.0)
        state.finish(Ended.NO_BETTER_MOVE)

    def take(self, move: tuple[int, int, bool]) -> None:
        """Draw or remove the edge of a move, or turn it."""
        x, y, reverse = move
        self.dag[x, y] = not self.dag[x, y]
        self.weigh(y)
        if reverse:
            self.dag[y, x] = True
            self.weigh(x)

    def weigh(self, node: int) -> None:
        """Fill in what each parent more, or less, is worth to a node."""
        parents = np.flatnonzero(self.dag[:, node]).tolist()
        allowed, kept = self.mask.allowed[:, node], self.mask.required[:, node]
        self.addition[:, node] = np.where(allowed, self.scores.gains(node, parents), -np.inf)
        self.deletion[:, node] = np.where(kept, -np.inf, self.scores.losses(node, parents))

    def _best(self) -> tuple[int, int, bool] | None:
        """The pair (x, y) of the best move, and whether it turns x → y; None where no move has a gain."""
        reach = close_transitively(self.dag)
        toggle = np.where(self.dag, self.deletion, np.where(reach.T, -np.inf, self.addition))
        sources, targets = np.nonzero(self.dag)
        # x → y can be turned if no child of x leads to y.
        detour = np.array([reach[self.dag[x], y].any() for x, y in zip(sources, targets)], dtype=bool)
        turn = np.full(toggle.shape, -np.inf)
        turned = self.deletion[sources, targets] + self.addition[targets, sources]
        turn[sources, targets] = np.where(detour, -np.inf, turned)
        better = np.maximum(toggle, turn)
        # Equivalent graphs have equal scores: which way round an edge comes is left to the order of the columns.
        x, y = (int(k) for k in np.unravel_index(find_smallest(-better, TOLERANCE / 2), better.shape))
        return (x, y, bool(turn[x, y] > toggle[x, y])) if better[x, y] > TOLERANCE else None

"""What learners by orders share: an order first, parents among the predecessors second."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.table import Table
from acyclic.deadline import Deadline, Shared
from acyclic.discrete.fitted import LINEAR, Fitted
from acyclic.discrete.rivals import Rivals
from acyclic.discrete.screening import MANY_COLUMNS
from acyclic.discrete.search import search_orders
from acyclic.errors import InputError
from acyclic.facts import Caution, Fact, Orientation
from acyclic.graphs.dag import Dag
from acyclic.judging.judge import Found
from acyclic.learners.base import PENALTY, DagLearner
from acyclic.ranges import NONE, Range, number, one_of
from acyclic.running import Monitor, State
from acyclic.scores.evidence import price_by_evidence
from acyclic.scores.local import PenaltyChoice, price_of_parent
from acyclic.scores.regression import least_squares
from acyclic.scores.residuals import residual_variances
from acyclic.types import Integers

EFFORT = number(least=0) | NONE


def resolve_effort(effort: float | None, time_limit: float | Deadline | None) -> float | None:
    """The effort of a search: None, until the time is up, only where all of the limit is for this fit alone."""
    if isinstance(time_limit, Deadline):
        shared = not time_limit.undivided
    else:
        shared = time_limit is None or isinstance(time_limit, Shared)
    return 1.0 if effort is None and shared else effort


# Learners that compare graphs at a price can also find a price, in a first graph.
PENALTY_OR_ADAPTIVE = one_of("adaptive") | PENALTY
# The effort of that first graph: one descent ends far from the best graph where edges are many.
_SHORT = 0.02
# What an edge has to show beyond even odds, since the best of many orders fits chance too (benchmarks/prices.py).
_CHOSEN = 2.0


def resolve_price(
    penalty: PenaltyChoice, moments: Moments, starts: Sequence[ArrayLike], mask: Mask, deadline: Deadline | None
) -> float:
    """The price of a parent; "adaptive" is found in the graph of a short search, where columns are not many.

    It is `price_by_evidence` and a little more, and at most that of the extended BIC, which it would be for very many
    columns, of which few are related.
    """
    if penalty != "adaptive":
        return price_of_parent(penalty, moments.n, len(moments.names))
    most = price_of_parent("ebic", moments.n, len(moments.names))
    if len(moments.names) > MANY_COLUMNS:
        return most
    found = search_orders(moments, starts, effort=_SHORT, mask=mask, deadline=deadline)
    allowed = None if mask.is_free else np.asarray(mask.allowed)
    return min(price_by_evidence(moments, np.asarray(found.order), found.weights, allowed) + _CHOSEN, most)


def order_of_start(start: ArrayLike, names: Sequence[str]) -> Integers:
    """The order of a graph to start from, given by its weights; an InputError where they are of no DAG."""
    weights = np.asarray(start)
    if weights.shape != (len(names), len(names)):
        raise InputError(f"start has the shape {weights.shape}; give weights of {len(names)} × {len(names)} columns")
    return Dag(weights, names).order


def caution_uncompared(columns: int) -> tuple[Fact[Caution], ...]:
    """That a search of so many columns compares no other graphs with its answer, where it does not."""
    if columns <= MANY_COLUMNS:
        return ()
    return (Fact.of(Caution.NOT_COMPARED, columns=columns, limit=MANY_COLUMNS),)


def name_penalty(penalty: PenaltyChoice) -> dict[str, PenaltyChoice]:
    """The price as a setting that the verdict names, where it is not the usual one."""
    return {} if penalty == "ebic" else {"penalty": penalty}


def orient_world(fitted: Fitted) -> Orientation:
    """What orients the edges of mechanisms: their curves, the shape of their noise, or independence alone."""
    world = fitted.world
    if world == LINEAR:
        return Orientation.INDEPENDENCE
    return Orientation.NOISE_SHAPE if world.mechanisms == "linear" else Orientation.CURVATURE


def caution_together(fitted: Fitted | None, names: Sequence[str]) -> tuple[Fact[Caution], ...]:
    """Which columns depend on their parents together."""
    if fitted is None or not fitted.together.any():
        return ()
    columns = [name for name, joint in zip(names, fitted.together) if joint]
    return (Fact.of(Caution.TOGETHER, *columns, count=len(columns), columns=len(names)),)


def orient_by_edge(fitted: Fitted) -> dict[tuple[int, int], Orientation]:
    """Curves orient the edges of the columns that have one; of the others the shape of the noise does, if it has any.

    Where a column is a category, or a number with few values, nothing does: what is left of it is as discrete
    as the column itself, whichever way round.
    """
    if fitted.world == LINEAR:
        return {}
    bent = np.atleast_1d(fitted.curved.any(axis=0))
    shape = fitted.world.noise == "any"
    kinds = {True: Orientation.CURVATURE, False: Orientation.NOISE_SHAPE if shape else Orientation.UNDETERMINED}
    level = [not shaped for shaped in fitted.features.shaped]
    return {
        (i, j): Orientation.UNDETERMINED if level[i] or level[j] else kinds[bool(bent[i] or bent[j])]
        for i, j in np.argwhere(fitted.adjacency).tolist()
    }


class OrderLearner(DagLearner):
    """A learner that selects the parents of each node among its predecessors in an order.

    Attributes
    ----------
    order_ : ndarray of int (d,)
        The columns, causes first.
    price_ : float
        What a parent cost, in units of −2 log-likelihood.
    """

    RANGES: ClassVar[Mapping[str, Range]] = {"penalty": PENALTY}
    orientation: ClassVar[Orientation]
    compares: ClassVar[bool] = False
    """Whether the graph is compared with others, where the columns are not too many for that."""
    version = 2
    penalty: PenaltyChoice
    threshold: float
    order_: Integers
    price_: float
    rivals_: Rivals | None = None

    @abstractmethod
    def _search(self, table: Table, mask: Mask, monitor: Monitor, state: State) -> None:
        """Find an order and its weights, from the required edges alone; both are kept when it is stopped."""

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        moments = table.moments
        start = least_squares(moments.covariance, mask.required, mask)
        self.order_, self.rivals_ = Dag(start).order, None
        self.price_ = resolve_price("ebic" if self.penalty == "adaptive" else self.penalty, moments, (), mask, None)
        state = monitor.run(lambda s: self._search(table, mask, monitor, s), State(start))
        loss = 0.5 * float(residual_variances(moments.covariance, state.weights).sum())
        return Found(
            solution=state.solution(loss, 0.0),
            method=self.method,
            orientation=self.orientation,
            threshold=self.threshold,
            settings=name_penalty(self.penalty),
            details={"price of a parent": self.price_},
            cautions=caution_uncompared(len(moments.names)) if self.compares else (),
            rivals=self.rivals_,
            paid=self.price_,
        )

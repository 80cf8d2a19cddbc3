"""DirectLiNGAM: linear mechanisms, noise that is not normal (Shimizu et al. 2011)."""

from __future__ import annotations

import os
from math import nan

import numpy as np

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.discrete.lingam import lingam_order
from acyclic.discrete.selection import select_parents
from acyclic.facts import Ended, Orientation
from acyclic.learners.base import Outliers
from acyclic.learners.ordering import OrderLearner
from acyclic.running import Monitor, State
from acyclic.scores.local import PenaltyRule
from acyclic.types import Callback


class Lingam(OrderLearner):
    """Learn a linear DAG from the shape of the noise, which is not normal: DirectLiNGAM (Shimizu et al. 2011).

    The order takes, again and again, the column that looks least like an effect of the others by the likelihood ratios
    of pairs (Hyvärinen & Smith 2013), and takes its effect from them; it is the order of the package lingam. Parents
    are selected among the predecessors by forward–backward steps. Of normal noise the order is arbitrary: `Auto` asks
    the table whether its shape says anything.

    Parameters
    ----------
    penalty : {"ebic", "bic", "strong"} or float
        Price of a parent in the selection: see `acyclic.scores.local.price_of_parent`.
    threshold : float
        Weights below it, in absolute value, are cut; 0 for none.
    outliers : {"set-aside", "keep"}
        Whether rows that are far from all others are left out, with a note, lest they make edges, curves and arrows;
        heavy tails alone are none: see `acyclic.data.outliers`.
    knowledge : Knowledge or path, optional
        Prior knowledge; the result always obeys it.
    time_limit : float, optional
        Seconds after which the best so far is returned: before the parents are selected, that is the required edges.
    callback : callable, optional
        Called with a `Progress` before each column of the order; a true answer ends the fit.

    Attributes
    ----------
    order_ : ndarray of int (d,)
        The columns, causes first.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=1000, noise="laplace", scheme="iscm", random_state=1)
    >>> bool((Lingam().fit(data.X).causal_graph_.adjacency == data.graph.adjacency).all())
    True
    """

    method = "lingam"
    orientation = Orientation.NOISE_SHAPE

    def __init__(
        self,
        *,
        penalty: PenaltyRule = "ebic",
        threshold: float = 0.0,
        outliers: Outliers = "set-aside",
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.penalty = penalty
        self.threshold = threshold
        self.outliers = outliers
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback

    @property
    def needs_rows(self) -> bool:
        """Whether moments are not enough."""
        return True

    def _search(self, table: Table, mask: Mask, monitor: Monitor, state: State) -> None:
        order = lingam_order(table.rows(), mask.precedence, monitor.tell(state, "order by the shape of noise"))
        weights = select_parents(table.moments, order, self.price_, mask=mask, deadline=monitor.deadline)
        state.accept(weights=weights, steps=1)
        self.order_ = np.asarray(order)
        monitor.tick(state, "selection of parents", nan, 0.0, 0.0)
        state.finish(Ended.COMPLETE)

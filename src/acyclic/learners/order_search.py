"""Order search: the best graph of an order under the Gaussian BIC, in the manner of BOSS (Andrews et al. 2023)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from acyclic.data.features import FEWEST_ROWS_FOR_CURVES
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.discrete.fitted import LINEAR, Fitted, World
from acyclic.discrete.joint import LARGEST_JOINT
from acyclic.discrete.order import equal_variance_order
from acyclic.discrete.search import search_graph
from acyclic.discrete.worlds import Worlds
from acyclic.errors import InputError
from acyclic.facts import Orientation
from acyclic.graphs.dag import Dag
from acyclic.judging.judge import Found
from acyclic.learners.base import Outliers
from acyclic.learners.categorical import find_by_counts
from acyclic.learners.ordering import (
    EFFORT,
    PENALTY_OR_ADAPTIVE,
    OrderLearner,
    caution_together,
    order_of_start,
    orient_by_edge,
    orient_world,
    resolve_effort,
    resolve_price,
)
from acyclic.ranges import Range, number, one_of
from acyclic.running import Monitor, State
from acyclic.scores.blocks import Mechanisms, NoiseShape
from acyclic.scores.counts import CountRule
from acyclic.scores.local import PenaltyChoice
from acyclic.types import Callback, Floats, Kind


class OrderSearch(OrderLearner):
    """Learn a DAG by a search for the lowest BIC: of lines and normal noise proved best up to 20 columns.

    With another shape of the noise it is proved best up to nine columns, with curves up to five.

    With lines and normal noise only correlations are used, and what is learned is an equivalence class, ``cpdag_``; the
    graph is one of its members. Curves and noise of another shape orient edges beyond that; they need rows. Units,
    standardisation and the order of the columns cannot change the result.

    Parameters
    ----------
    mechanisms : {"linear", "curved", "joint"}
        How a column depends on its parents. "curved": each edge is a line or a curve, whichever costs less, and they
        add up. "joint": also any smooth function of all parents together, interactions and all, of up to 50 columns and
        with normal noise; more than 5000 rows are told by a sample of as many. Beyond ten columns it is hill climbing.
    noise : {"gaussian", "any"}
        Whether the shape of the noise may tell directions: by its negentropy, where that is worth its price.
    penalty : {"ebic", "bic", "strong", "adaptive"} or float
        Price of a parent, in units of −2 log-likelihood; see `price_of_parent`. "adaptive" lowers that of the extended
        BIC where effects are small or edges many; see `price_by_evidence`.
    threshold, knowledge
        As for `EqualVariance`.
    criterion : {"gaussian", "counts", "bdeu"}
        What is compared: the Gaussian BIC or, in tables whose columns are all categories, the BIC of counts or BDeu;
        see `CountScore`. Up to 20 columns the answer is proved best where the sets of parents that could be are few
        enough to be counted in a second or two.
    sample_size : float
        The equivalent sample size of BDeu.
    effort : float, optional
        How much to search beyond 20 columns, up to which the answer is proved best: 1 is a second or two for 50
        columns; 0 only goes downhill from one order. None is 1, or with a time limit as much as it allows: until many
        generations of orders found nothing better, or the limit is near.
    outliers : {"set-aside", "keep"}
        Whether rows that are far from all others are left out, with a note, lest they make edges, curves and arrows;
        heavy tails alone are none: see `acyclic.data.outliers`.
    start : array_like (d, d), optional
        Weights of a similar graph: the search is one descent from its order then.
    time_limit : float, optional
        Seconds after which the best so far is returned; an effort that is given may end before.
    callback : callable, optional
        Called with a `Progress` after each pass over the nodes; a true answer ends the fit.
    random_state : int
        Seed of the starts.

    Attributes
    ----------
    order_ : ndarray of int (d,)
        The columns, causes first.

    Examples
    --------
    >>> from acyclic.data.simulate import simulate
    >>> data = simulate(n_nodes=8, n=2000, variances=(0.5, 4.0), random_state=1)
    >>> OrderSearch().fit(data.X).cpdag_ == data.graph.cpdag()
    True
    """

    method = "order-search"
    version = 5
    orientation = Orientation.INDEPENDENCE
    compares = True
    RANGES: ClassVar[Mapping[str, Range]] = {
        "penalty": PENALTY_OR_ADAPTIVE,
        "effort": EFFORT,
        "mechanisms": one_of("linear", "curved", "joint"),
        "noise": one_of("gaussian", "any"),
        "criterion": one_of("gaussian", "counts", "bdeu"),
        "sample_size": number(above=0),
    }

    def __init__(
        self,
        *,
        mechanisms: Mechanisms = "linear",
        noise: NoiseShape = "gaussian",
        penalty: PenaltyChoice = "ebic",
        criterion: Literal["gaussian", "counts", "bdeu"] = "gaussian",
        sample_size: float = 10.0,
        threshold: float = 0.0,
        effort: float | None = None,
        start: Floats | None = None,
        outliers: Outliers = "set-aside",
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        random_state: int = 0,
    ) -> None:
        self.mechanisms = mechanisms
        self.noise = noise
        self.penalty = penalty
        self.criterion = criterion
        self.sample_size = sample_size
        self.threshold = threshold
        self.effort = effort
        self.start = start
        self.outliers = outliers
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback
        self.random_state = random_state

    @property
    def needs_rows(self) -> bool:
        """Curves and shapes do."""
        return self._world != LINEAR

    @property
    def _world(self) -> World:
        return World(self.mechanisms, self.noise)

    def _check_kinds(self, table: Table) -> None:
        if self.criterion == "gaussian":
            super()._check_kinds(table)

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        if self.criterion != "gaussian":
            return self._find_by_counts(table, mask, monitor)
        if mask.has_bounds and self._world != LINEAR:
            raise InputError("bounds and signs of weights are of lines; leave them out, or take mechanisms = 'linear'")
        if self.mechanisms == "joint":
            self._check_joint(table)
        self._fitted: Fitted | None = None
        found = super()._find(table, mask, monitor)
        if self._fitted is None:
            return found
        return replace(
            found,
            settings={**found.settings, **self._world._asdict()},
            orientation=orient_world(self._fitted),
            by_edge=orient_by_edge(self._fitted),
            mechanisms=self._fitted,
            paid=None,
            cautions=(*found.cautions, *caution_together(self._fitted, table.names)),
        )

    def _check_joint(self, table: Table) -> None:
        if self.noise != "gaussian":
            raise InputError("joint functions are looked for under normal noise; leave noise out, or take 'curved'")
        if len(table.names) > LARGEST_JOINT:
            raise InputError(
                f"joint functions are of up to {LARGEST_JOINT} columns, and there are {len(table.names)}; "
                "take mechanisms = 'curved'"
            )
        if categories := [name for name, kind in zip(table.names, table.kinds) if kind is Kind.CATEGORICAL]:
            raise InputError(f"joint functions are of numbers, and {categories[0]!r} is a category; take 'curved'")
        if table.moments.n < FEWEST_ROWS_FOR_CURVES:
            raise InputError(f"joint functions need {FEWEST_ROWS_FOR_CURVES} rows; take mechanisms = 'linear'")

    def _find_by_counts(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        if self._world != LINEAR:
            raise InputError(f"mechanisms and noise are of numbers; leave them out with criterion = {self.criterion!r}")
        rule: CountRule = "bic" if self.criterion == "counts" else "bdeu"
        found = find_by_counts(self, table, mask, monitor, rule=rule, sample_size=self.sample_size)
        self.order_, self.price_ = Dag(found.solution.weights).order, found.details["price of a parent"]
        return found

    def _search(self, table: Table, mask: Mask, monitor: Monitor, state: State) -> None:
        moments, starts = table.moments, []
        effort: float | None = 0.0
        if self.start is not None:
            starts = [order_of_start(self.start, moments.names)]
        else:
            effort = resolve_effort(self.effort, self.time_limit)
        self.price_ = resolve_price(self.penalty, moments, starts, mask, monitor.deadline)
        options: dict[str, Any] = {
            "effort": effort,
            "deadline": monitor.deadline,
            "tell": monitor.tell(state, "order search"),
            "random_state": self.random_state,
        }
        if self._world == LINEAR:
            found = search_graph(moments, starts, self.price_, mask=mask, **options)
        else:
            starts = starts or [equal_variance_order(moments.standardized(), mask, deadline=monitor.deadline)]
            _, found, self._fitted = Worlds(table, self.price_, mask=mask).search(self._world, starts, **options)
        self.order_, self.rivals_ = np.asarray(found.order), found.rivals
        state.accept(weights=found.weights, steps=found.kicks, end=found.end)

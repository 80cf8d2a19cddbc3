"""The local search of NOFEARS: from any DAG to one at which the Karush–Kuhn–Tucker conditions hold.

At a DAG W the conditions of min F(W) + τ‖W‖₁ over acyclic W, F = (1/2n)‖X − XW‖², are those of a Lasso for each column
whose candidates are the nodes that are not reached from it: with C = S(I − W) = −∇F, |C_ij| ≤ τ for every absent edge
that would close no cycle, and C_ij = τ·sign W_ij for every present one (Wei, Gao & Yu 2020, section 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments, as_moments
from acyclic.graphs.dag import Dag
from acyclic.graphs.pruning import threshold_components
from acyclic.ranges import FLAG, NONE, an_instance, number, takes, whole
from acyclic.scores.regression import lasso
from acyclic.types import Bools, Floats

# Shares of the score at W = 0: below them a change of the loss, or a breach of the conditions, is rounding.
SLACK = 1e-9
# Additions that a turn with detours may bring before it is judged.
LOOKAHEAD = 4


@takes(
    dag=an_instance("a Dag", Dag),
    l1=number(least=0),
    threshold=number(least=0),
    knowledge=an_instance("a Knowledge", Knowledge) | NONE,
    thorough=FLAG,
    max_reversals=whole(least=0) | NONE,
)
def kkt_search(
    data: Any,
    dag: Dag,
    *,
    l1: float = 0.1,
    threshold: float = 0.3,
    knowledge: Knowledge | None = None,
    thorough: bool = True,
    max_reversals: int | None = None,
) -> Dag:
    """Improve a DAG by local search until the KKT conditions of its L1-penalised least squares hold.

    In turn, the edge that breaks the conditions most is added, and edges are reversed as long as that does not raise
    the squared loss; after each move the columns it touches are solved anew. That is the published search. A thorough
    one goes on with reversals that take more than one step: i → j is turned though other paths lead from i to j, by
    cutting these at j, and judged by F + τ‖W‖₁ after a few additions. Small weights are cut at the end.

    Parameters
    ----------
    data : array-like or frame (n, d), or Moments
        Columns as the nodes of `dag`: by name, or by position for an array.
    dag : Dag
        Where to start; what it has against `knowledge` is left out.
    l1 : float
        The weight τ of the L1 term.
    threshold : float
        Weights below it, in absolute value, are cut at the end; 0 returns the point at which the conditions hold.
    knowledge : Knowledge, optional
        The result obeys it; required edges carry no L1 term.
    thorough : bool
        Whether to go beyond the published search. The conditions hold at the end of either.
    max_reversals : int, optional
        Published reversals ignore the L1 term, so that they might go round in a circle: no more than these are made;
        50 for each node if left out.

    Examples
    --------
    >>> chain = Moments(500, mean=[0, 0, 0], covariance=[[1, 1, 1], [1, 2, 2], [1, 2, 3]], names=["a", "b", "c"])
    >>> kkt_search(chain, Dag.from_edges([("c", "b")], chain.names))
    Dag(3 nodes, 2 edges: a → b, b → c)
    """
    by_name = isinstance(data, Moments) or hasattr(type(data), "columns")
    moments = as_moments(data, None if by_name else dag.names).select(dag.names)
    mask = (Knowledge() if knowledge is None else knowledge).compile(dag.names)
    search = _Search(moments.covariance, _start(dag, mask), l1, mask)
    search.run(50 * dag.n_nodes if max_reversals is None else max_reversals, thorough)
    keep = search.edges & ((np.abs(search.weights) >= threshold) | mask.required)
    return Dag(mask.fill_required(np.where(keep, search.weights, 0.0)), dag.names)


def _start(dag: Dag, mask: Mask) -> Bools:
    """The edges that knowledge allows or requires, less the weakest of the former where they close a cycle."""
    weights = np.where(mask.required, np.finfo(float).max, np.where(mask.allowed, dag.weights, 0.0))
    return np.not_equal(threshold_components(weights).weights, 0)


class _Search:
    """Weights, edges and ancestors, kept in step with each other column by column.

    `ancestors[i, j]` says whether a path leads from j to i, so that i → j would close a cycle. `held[i, j]` is whether
    column j is solved without i though i → j might be possible: edges come back one at a time.
    """

    def __init__(self, S: Floats, edges: Bools, l1: float, mask: Mask) -> None:
        d = len(S)
        self.S, self.mask, self.edges = S, mask, edges
        self.lower, self.upper = mask.box
        self.l1 = np.where(mask.required, 0.0, l1)
        deviations = np.sqrt(S.diagonal())
        self.excess = l1 + SLACK * np.outer(deviations, deviations)
        self.slack = SLACK * float(S.trace())
        self.weights, self.gradient = np.zeros((d, d)), np.array(S)
        self.held, self.tried, self.settled = ~edges, np.zeros((d, d), bool), np.zeros((d, d), bool)
        self.ancestors = np.zeros((d, d), bool)
        for node in Dag(edges).order.tolist():
            self._place(node, self._solved(node, edges[:, node]))

    def run(self, max_reversals: int, thorough: bool) -> None:
        """Add one edge, then reverse while that helps, until there is nothing to do; then look further if asked to."""
        reversals, moved = 0, True
        while moved:
            moved = self._add()
            while reversals < max_reversals and self._reverse():
                reversals += 1
                moved = True
        while thorough and self._detours():
            while self._add():
                pass

    def _add(self) -> bool:
        """Let the edge in that breaks the conditions most; whether there was one."""
        possible = self.mask.allowed & ~self.edges & ~self.ancestors & ~self.settled
        breach = np.where(possible, np.abs(self.gradient) - self.excess, 0.0)
        i, j = (int(k) for k in np.unravel_index(breach.argmax(), breach.shape))
        if not breach[i, j] > 0:
            return False
        self.held[i, j] = False
        self._place(j, self._solved(j, ~self.ancestors[:, j] & ~self.held[:, j]))
        self.tried[j], self.tried[:, j] = False, False
        # Beyond the solver's precision nothing more can be done for an edge that stays out.
        self.settled[i, j] = not self.edges[i, j]
        return True

    def _reverse(self) -> bool:
        """Make the first reversal that does not raise the loss; whether there was one."""
        promising = self.edges & ~self.mask.required & ~self.tried & self.mask.allowed.T
        promising &= np.abs(self.gradient.T) > self.excess.T
        if promising.any():
            # No parent of j may be reached from i by another way.
            promising &= ~_joined(self.ancestors.T, self.edges)
        sources, targets = np.nonzero(promising)
        strongest = np.argsort(-np.abs(self.gradient[targets, sources]), kind="stable")
        pairs = zip(sources[strongest].tolist(), targets[strongest].tolist())
        return any(self._reversed(i, j) for i, j in pairs)

    def _reversed(self, i: int, j: int) -> bool:
        self.tried[i, j] = True
        for_j = ~self.ancestors[:, j] & ~self.ancestors[:, i] & ~self.held[:, j]
        for_i = ~self.ancestors[:, i] & ~self.held[:, i]
        for_j[i], for_i[j] = False, True
        of_j, of_i = self._solved(j, for_j), self._solved(i, for_i)
        before = self._loss(j, self.weights[:, j]) + self._loss(i, self.weights[:, i])
        if self._loss(j, of_j) + self._loss(i, of_i) > before + self.slack:
            return False
        self.held[i, j], self.held[j, i] = True, False
        self._place(j, of_j)
        self._place(i, of_i)
        for node in (i, j):
            self.tried[node], self.tried[:, node] = False, False
        self.tried[i, j] = self.tried[j, i] = True
        return True

    def _detours(self) -> bool:
        """Try to turn every edge with all that this entails; whether the penalised loss fell."""
        fallen = False
        sources, targets = np.nonzero(self.edges & ~self.mask.required & self.mask.allowed.T)
        strongest = np.argsort(-np.abs(self.gradient[targets, sources]), kind="stable")
        for i, j in zip(sources[strongest].tolist(), targets[strongest].tolist()):
            through = self.edges[:, j] & self.ancestors[:, i]
            promising = abs(self.gradient[j, i]) > self.excess[j, i] and self.edges[i, j]
            if promising and not (through & self.mask.required[:, j]).any():
                fallen |= self._turned(i, j, through)
        return fallen

    def _turned(self, i: int, j: int, through: Bools) -> bool:
        names = ("weights", "edges", "gradient", "held", "tried", "settled", "ancestors")
        before = {name: np.array(getattr(self, name)) for name in names}
        objective = self._objective()
        self.held[through, j] = self.held[i, j] = True
        self.held[j, i] = False
        self._place(j, self._solved(j, self.edges[:, j] & ~self.held[:, j]))
        self._place(i, self._solved(i, ~self.ancestors[:, i] & ~self.held[:, i]))
        for _ in range(LOOKAHEAD):
            self._add()
        if self._objective() < objective - self.slack:
            return True
        vars(self).update(before)
        return False

    def _objective(self) -> float:
        """F + τ‖W‖₁, from ∇F: the residual variances are (I − W)ᵀ(−∇F)."""
        residual = self.gradient.trace() - np.vdot(self.weights, self.gradient)
        return 0.5 * float(residual) + float(np.vdot(self.l1, np.abs(self.weights)))

    def _solved(self, node: int, candidates: Bools) -> Floats:
        """The Lasso of a column on candidates."""
        lower, upper = (np.where(candidates, bound[:, node], 0.0) for bound in (self.lower, self.upper))
        return lasso(self.S, node, self.l1[:, node], lower, upper, np.clip(self.weights[:, node], lower, upper))

    def _loss(self, node: int, column: Floats) -> float:
        parents = np.flatnonzero(column)
        slopes = column[parents]
        explained = slopes @ self.S[np.ix_(parents, parents)] @ slopes
        return float(self.S[node, node] - 2 * slopes @ self.S[parents, node] + explained)

    def _place(self, node: int, column: Floats) -> None:
        """Put a column in, and bring ancestors and gradient up to date."""
        self.weights[:, node] = column
        self.edges[:, node] = (column != 0) | self.mask.required[:, node]
        self.gradient[:, node] = self.S[:, node] - self.S @ column
        # A column loses edges too, which no closure under addition follows; but among a node and its descendants paths
        # stay as they were, and only what comes in from outside may have changed.
        changed = np.append(np.flatnonzero(self.ancestors[:, node]), node)
        among = self.ancestors[np.ix_(changed, changed)] | np.eye(len(changed), dtype=bool)
        parents = self.edges[:, changed].T
        outside = parents.copy()
        outside[:, changed] = False
        self.ancestors[changed] = _joined(among, parents | _joined(outside, self.ancestors))


def _joined(left: Bools, right: Bools) -> Bools:
    """Pairs (i, k) such that (i, j) is in the one relation and (j, k) in the other, for some j."""
    return np.greater(left.astype(np.float32) @ right.astype(np.float32), 0)

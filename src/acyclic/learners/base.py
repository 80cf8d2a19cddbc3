"""The shell that all learners share: data in, DAG and verdict out, the scikit-learn contract around it."""

from __future__ import annotations

import os
import warnings
from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from acyclic.constraints.catalogue import constraint
from acyclic.data.knowledge import Knowledge, Mask
from acyclic.data.moments import Moments, column_notes
from acyclic.data.table import Table as ReadTable
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.pruning import threshold_components, threshold_until_acyclic
from acyclic.judging.verdict import Edge, Verdict
from acyclic.running import Checkpoint, Monitor, Solution, digest
from acyclic.types import Callback, Floats

PRUNING = {
    "edges": (threshold_until_acyclic, "the weakest edges of the graph, until no cycle is left"),
    "components": (threshold_components, "the weakest edges on cycles, until none is left"),
}


@dataclass(frozen=True, eq=False)
class Table:
    """What a learner sees: moments always, rows where the caller gave them."""

    moments: Moments
    rows: Floats | None
    mask: Mask


class DagLearner(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """A scikit-learn estimator that learns a DAG.

    ``fit`` takes an array, a frame, what `read_table` returns, or `Moments`, and sets ``causal_graph_`` (a `Dag`),
    ``adjacency_matrix_`` (its weights, from row to column), ``solution_`` (the solver's answer before any cut),
    ``verdict_``, ``mean_`` and ``noise_variances_``. ``transform`` gives residuals: what remains of each column given
    its parents. ``score`` is the mean Gaussian log-likelihood of rows, for model selection on held-out data.
    """

    @property
    def needs_rows(self) -> bool:
        """Whether moments are not enough."""
        return False

    @abstractmethod
    def _learn(self, table: Table) -> tuple[Dag, Solution, Verdict]:
        """Fit a table that was checked."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the graph.

        Parameters
        ----------
        X : array-like or frame (n, d), what `read_table` returns, or Moments
        y : ignored
        """
        table = self._table(X)
        self.causal_graph_, self.solution_, self.verdict_ = self._learn(table)
        self.adjacency_matrix_ = np.array(self.causal_graph_.weights)
        self.mean_ = np.array(table.moments.mean)
        self.noise_variances_ = self._fit_noise(table)
        return self

    def transform(self, X: Any) -> Floats:
        """Residuals (n, d): each column less its expectation given its parents."""
        check_is_fitted(self)
        return self._residuals(validate_data(self, X, dtype=np.float64, reset=False))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of rows under Gaussian noise with the learned weights and variances."""
        residuals = self.transform(X)
        # A column that the training rows determine exactly would make every other row impossible.
        floor = 1e-12 * max(float(self.noise_variances_.max()), np.finfo(float).tiny)
        variances = np.maximum(self.noise_variances_, floor)
        return -0.5 * float(np.mean((residuals**2 / variances + np.log(2 * np.pi * variances)).sum(axis=1)))

    def _fit_noise(self, table: Table) -> Floats:
        """Variances of the residuals (d,) of the table that was learned from."""
        residual = np.eye(len(self.mean_)) - self.adjacency_matrix_
        return np.asarray(np.maximum(np.einsum("ij,ij->j", residual, table.moments.covariance @ residual), 0.0))

    def _residuals(self, rows: Floats) -> Floats:
        return np.asarray((rows - self.mean_) @ (np.eye(rows.shape[1]) - self.adjacency_matrix_))

    def _table(self, X: Any) -> Table:
        if isinstance(X, Moments | ReadTable):
            moments = X if isinstance(X, Moments) else X.moments
            rows = X.rows() if isinstance(X, ReadTable) and self.needs_rows else None
            self.n_features_in_, self.feature_names_in_ = len(moments.names), np.array(moments.names, dtype=object)
        elif hasattr(X, "columns") or hasattr(X, "__arrow_c_stream__"):
            moments, rows = Moments.from_frame(X), X
            self._validated(X, skip_check_array=True)
        else:
            rows = self._validated(X, dtype="numeric", ensure_all_finite=False, ensure_min_samples=2)
            moments = Moments.from_array(rows)
        return Table(moments, rows, compiled_knowledge(getattr(self, "knowledge", None), moments))

    def _validated(self, X: Any, **checks: Any) -> Any:
        try:
            return validate_data(self, X, **checks)
        except ValueError as error:
            raise InputError(str(error)) from error


class ContinuousLearner(DagLearner):
    """A learner that minimises a score plus L1 term under a DAG constraint, then cuts small weights."""

    constraint: Any
    threshold: float
    pruning: str
    time_limit: float | None
    callback: Callback | None
    checkpoint: str | os.PathLike[str] | None

    @abstractmethod
    def _solve(self, table: Table, monitor: Monitor) -> Solution:
        """Minimise."""

    @abstractmethod
    def _describe(self) -> tuple[str, str]:
        """The method, and the assumption that orients edges, in words."""

    def _learn(self, table: Table) -> tuple[Dag, Solution, Verdict]:
        self._check_parameters()
        _check_scales(table.moments)
        solution = self._solve(table, self._monitor(table))
        graph, verdict = self._judge(table, solution)
        if not solution.converged and not solution.stopped:
            warnings.warn(
                f"{type(self).__name__} did not converge: {solution.reason}", ConvergenceWarning, stacklevel=4
            )
        return graph, solution, verdict

    def _check_parameters(self) -> None:
        if self.pruning not in PRUNING:
            raise InputError(f"pruning has to be one of {', '.join(PRUNING)}; got {self.pruning!r}")
        if not 0 <= self.threshold < np.inf:
            raise InputError(f"threshold has to be at least 0 and finite; got {self.threshold}")
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InputError(f"time_limit has to be a number of seconds, at least 0; got {self.time_limit}")

    def _monitor(self, table: Table) -> Monitor:
        if self.checkpoint is None:
            return Monitor(self.time_limit, self.callback)
        apart = {"time_limit", "callback", "checkpoint", "n_jobs", "knowledge", "start"}
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in apart}
        settings["constraint"] = constraint(self.constraint)
        given = getattr(self, "start", None)
        start = np.asarray([] if given is None else given, dtype=float)
        data = *self._seen(table), table.mask.required, *table.mask.box, start
        key = digest(type(self).__name__, sorted(settings.items()), *data)
        return Monitor(self.time_limit, self.callback, Checkpoint(self.checkpoint, key))

    def _seen(self, table: Table) -> tuple[Any, ...]:
        """All of the table that the solution depends on."""
        return (table.moments.digest(),)

    def _judge(self, table: Table, solution: Solution) -> tuple[Dag, Verdict]:
        names = table.moments.names
        prune, rule = PRUNING[self.pruning]
        h = constraint("fast-geometric").value_and_gradient(solution.weights**2)[0]
        notes = tuple(note.message.rstrip(".") for note in column_notes(table.moments))
        weights, outside = _obeying(solution.weights, table.mask)
        cut = np.where((np.abs(weights) < self.threshold) & ~table.mask.required, 0.0, weights)
        # Required edges are acyclic among themselves: with the largest weights of all they are never the weakest.
        shielded = prune(np.where(table.mask.required, np.finfo(float).max, cut))
        final = np.where(shielded.weights != 0, cut, 0.0)
        removed = [(i, j, float(weights[i, j])) for i, j, _ in shielded.removed]
        graph = Dag(final, names)
        method, assumption = self._describe()
        verdict = Verdict(
            method=method,
            converged=solution.converged,
            reason=solution.reason,
            assumption=assumption if graph.n_edges else "there is no edge to orient",
            n_nodes=graph.n_nodes,
            n_edges=graph.n_edges,
            h=h,
            threshold=float(self.threshold),
            n_cut=int(np.count_nonzero(weights) - np.count_nonzero(cut)),
            removed=tuple(_named(removed, names)),
            rule=rule,
            empty="" if graph.n_edges else self._why_empty(table, solution, weights),
            notes=notes,
            warnings=tuple(outside),
        )
        return graph, verdict

    def _why_empty(self, table: Table, solution: Solution, obedient: Floats) -> str:
        S = table.moments.covariance
        if len(S) == 1:
            return "there is one column"
        if not table.mask.allowed.any():
            return "prior knowledge forbids every edge"
        off = np.abs(S - np.diag(S.diagonal()))
        if not off.any():
            return "no two columns vary together"
        if obedient.any():
            largest = f"the largest weight is {np.abs(obedient).max():.3g}"
            return f"{largest}, below the threshold of {self.threshold:g}; lower it or rescale"
        if solution.weights.any():
            return "every weight is outside of its bounds in prior knowledge"
        if not solution.converged:
            return "the fit ended before any weight left zero"
        return "the L1 penalty outweighs what any edge explains; lower l1, or rescale the columns"


def _check_scales(moments: Moments) -> None:
    """Refuse columns so far apart in scale that a weight between them, squared, has no place among the others."""
    deviations = np.sqrt(moments.covariance.diagonal())
    small, large = int(np.argmin(np.where(deviations > 0, deviations, np.inf))), int(np.argmax(deviations))
    if deviations[large] > 1e30 * deviations[small] > 0:
        scales = " and ".join(f"{moments.names[i]!r} ({deviations[i]:.1e})" for i in (small, large))
        raise InputError(f"the standard deviations of {scales} are too far apart; rescale or drop one of them")


def _obeying(weights: Floats, mask: Mask) -> tuple[Floats, list[str]]:
    """Weights that obey knowledge to the letter, and a warning for each that had to be changed."""
    smallest = np.finfo(float).eps
    outside = (weights != 0) & ~mask.required & ((weights < mask.lower) | (weights > mask.upper))
    missing = mask.required & (weights == 0)
    changed = np.where(outside, 0.0, np.where(missing, np.clip(smallest, mask.lower, mask.upper), weights))
    changed = np.where(missing & (changed == 0), np.clip(-smallest, mask.lower, mask.upper), changed)
    said = [
        f"{mask.names[i]} → {mask.names[j]} was left out: its weight {weights[i, j]:.3g} is outside of its bounds"
        for i, j in np.argwhere(outside)
    ]
    said += [
        f"{mask.names[i]} → {mask.names[j]} is there because it is required; the data give it no weight"
        for i, j in np.argwhere(missing)
    ]
    return changed, said


def _named(edges: list[tuple[int, int, float]], names: tuple[str, ...]) -> list[Edge]:
    return [(names[i], names[j], weight) for i, j, weight in edges]


def compiled_knowledge(knowledge: Any, moments: Moments) -> Mask:
    """Prior knowledge, given as such or as the path of a TOML file, for the columns of a table."""
    if knowledge is None:
        return Mask.unrestricted(len(moments.names), moments.names)
    if isinstance(knowledge, str | Path):
        knowledge = Knowledge.from_toml(knowledge)
    if not isinstance(knowledge, Knowledge):
        raise InputError(f"knowledge has to be a Knowledge or the path of a TOML file; got {type(knowledge).__name__}")
    return knowledge.compile(moments.names)

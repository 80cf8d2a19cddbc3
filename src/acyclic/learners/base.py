"""The shell that all learners share: data in, DAG and verdict out, the scikit-learn contract around it."""

from __future__ import annotations

import inspect
import os
import re
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from acyclic.constraints.base import Constraint
from acyclic.constraints.catalogue import CONSTRAINTS, SHORT, constraint, is_constraint
from acyclic.data.knowledge import Knowledge, compile_knowledge
from acyclic.data.mask import Mask
from acyclic.data.model import Intervention, Model
from acyclic.data.moments import Moments
from acyclic.data.sources import is_frame, is_mapping
from acyclic.data.table import MOST_SAMPLED, Table, encode, explain_no_rows
from acyclic.deadline import Deadline, hold_interrupts
from acyclic.discrete.screening import MANY_COLUMNS
from acyclic.errors import Argument, InputError, suggest
from acyclic.facts import Empty, Ended, Fact, Orientation
from acyclic.judging import words
from acyclic.judging.judge import PRUNING, Found, judge
from acyclic.learners.edge_effects import EdgeEffect, describe_edges
from acyclic.learners.modelling import Learned, fit_model
from acyclic.ranges import (
    ARRAY,
    CALLABLE,
    FLAG,
    JOBS,
    NONE,
    PATH,
    SECONDS,
    SEED,
    Range,
    an_instance,
    check_parameters,
    number,
    one_of,
)
from acyclic.running import Checkpoint, Key, Monitor, Solution, digest
from acyclic.scores.continuous import IN_PARALLEL
from acyclic.scores.regression import least_squares
from acyclic.scores.residuals import residual_variances
from acyclic.types import Callback, Floats, Kind

# Ranges of the parameters that several learners share; a learner declares its own in `RANGES`.
COMMON: dict[str, Range] = {
    "callback": CALLABLE | NONE,
    "checkpoint": PATH | NONE,
    "constraint": Range(f"one of {', '.join((*CONSTRAINTS, *SHORT))}", is_constraint)
    | an_instance("a Constraint", Constraint),
    "device": an_instance("the name of a device, such as cpu", str),
    "knowledge": an_instance("a Knowledge", Knowledge) | PATH | NONE,
    "n_jobs": JOBS,
    "outliers": one_of("set-aside", "keep"),
    "pruning": one_of(*PRUNING),
    "random_state": SEED,
    "standardize": FLAG,
    "start": ARRAY | NONE,
    "threshold": number(least=0),
    "time_limit": SECONDS,
}

SCIPYS = re.compile(r"scipy(\.libs|/\.dylibs)$")
"""Folders in which SciPy's wheels bring a BLAS of their own."""


# Settings that change no answer, or are part of what it depends on under another name.
APART = frozenset({"time_limit", "callback", "checkpoint", "n_jobs", "knowledge", "start"})

Outliers: TypeAlias = Literal["set-aside", "keep"]

# The price of a parent: a rule of `acyclic.scores.local.price_of_parent`, or a number.
PENALTY = one_of("bic", "strong", "ebic") | number(least=0)


class DagLearner(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """A scikit-learn estimator that learns a DAG.

    ``fit`` takes an array, a frame, the path of a file, what `read_table` returns, or `Moments`, and sets
    ``causal_graph_`` (a `Dag`), ``adjacency_matrix_`` (its weights, from row to column), ``solution_`` (the solver's
    answer before any cut), ``verdict_``, ``rivals_`` (the `Rivals` that the search met beside its answer; None where
    the method compares no graphs), ``mechanisms_`` (the functions behind the edges where these are not all linear, else
    None), ``digest_`` (of the table's values), ``mean_`` and ``noise_variances_``; where the learner claims an
    equivalence class only, also ``cpdag_``. ``transform`` gives residuals: what remains of each column given its
    parents. ``model_`` is the fitted `Model`: ``sample`` draws rows from it, ``do`` intervenes in it, and ``score`` is
    the mean log-likelihood of rows under it, for model selection on held-out data.

    A subclass has a name (``method``), declares the ranges of its own parameters (``RANGES``) and implements ``_find``.
    Every learner takes ``knowledge``, ``time_limit`` and ``callback``.

    Examples
    --------
    >>> import acyclic
    >>> data = acyclic.simulate(n_nodes=4, n=500, graph="ER1", random_state=1)
    >>> model = acyclic.OrderSearch().fit(data.X)
    >>> isinstance(model, DagLearner), model.causal_graph_.n_nodes, model.transform(data.X).shape
    (True, 4, (500, 4))
    """

    method: ClassVar[str]
    version: ClassVar[int] = 1
    """Counts up when the same table and settings lead to another answer: stored runs of the old one end there."""
    RANGES: ClassVar[Mapping[str, Range]] = {}
    kinds_seen: ClassVar[frozenset[Kind]] = frozenset({Kind.CONTINUOUS, Kind.ORDINAL, Kind.COUNT})
    """The kinds of columns that it can use. One that does not see `Kind.CATEGORICAL` takes categories of two levels,
    and whole numbers that may be codes, for numbers, and refuses other categories."""
    knowledge: Any
    time_limit: float | Deadline | None
    callback: Callback | None
    outliers: Outliers = "keep"
    """What is done with rows that are far from all others; learners that set them aside have it as a setting."""
    mechanisms_: Any = None
    _model: Model | None = None
    _effects: dict[tuple[str, str], EdgeEffect] | None = None
    _table: Table | None = None

    @property
    def needs_rows(self) -> bool:
        """Whether moments are not enough."""
        return False

    @property
    def fixed_units(self) -> bool:
        """Whether it takes the columns in their own units only, as those of 0 and 1 or of counts."""
        return False

    @abstractmethod
    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        """Find weights in a table that was checked."""

    def set_params(self, **settings: Any) -> Self:
        """Change settings; one that the learner does not have is refused."""
        self.check_settings(settings)
        super().set_params(**settings)
        return self

    @classmethod
    def check_settings(cls, names: Iterable[str]) -> None:
        """Raise an InputError for the first name of which the learner has no setting."""
        accepted = cls._get_param_names()
        for name in names:
            if name not in accepted:
                listed = f"{suggest(name, accepted)}; it takes {', '.join(accepted)}"
                raise InputError(f"{cls.method} has no setting {name!r}{listed}")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the graph.

        Parameters
        ----------
        X : array-like or frame (n, d), path, what `read_table` returns, or Moments
        y : ignored
        """
        self._check_parameters()
        table = self._open(X)
        mask = self._compile(table.names)
        used = table.inliers if self.outliers == "set-aside" else table
        with hold_interrupts() as ctrl_c:
            self._conclude(used, mask, self._find(used, mask, self._monitor(table, mask)))
            self.digest_ = table.digest
            if ctrl_c.pressed:
                self._note_interrupt()
        end = self.solution_.end
        if not end.kind.converged and not end.kind.stopped:
            said = f"{type(self).__name__} did not converge: {words.say(end)}"
            warnings.warn(said, ConvergenceWarning, stacklevel=2)
        return self

    presenter: ClassVar[Callable[[DagLearner, Any], Any] | None] = None
    """Makes a `Result` of a fitted learner and its table; `acyclic.result`, which comes after this room, sets it."""

    def report(self, path: str | os.PathLike[str], X: Any = None, **options: Any) -> None:
        """Write what was learned as one HTML page.

        Parameters
        ----------
        path : path
        X : optional
            The table that was learned from; with it the page shows its columns and can learn again.
        **options
            As for `Result.report`.
        """
        self._present(X).report(path, **options)

    def plot(self, **options: Any) -> Any:
        """Draw what was learned as a matplotlib figure; see `Result.plot`."""
        return self._present(None).plot(**options)

    def _present(self, X: Any) -> Any:
        check_is_fitted(self)
        assert DagLearner.presenter is not None, "import acyclic.result first; whoever says acyclic.Notears has it"
        return DagLearner.presenter(self, X)

    def _conclude(self, table: Table, mask: Mask, found: Found) -> None:
        """Judge what was found."""
        self.solution_ = found.solution
        self.causal_graph_, self.verdict_, self.rivals_ = judge(table, mask, found)
        weights = self.causal_graph_.weights
        # Of very many columns one more matrix would be felt: then nobody may change this one.
        self.adjacency_matrix_ = np.array(weights) if len(weights) <= MANY_COLUMNS else weights
        self.mechanisms_ = found.mechanisms
        if found.mechanisms is not None and not np.array_equal(found.mechanisms.adjacency, weights != 0):
            self.mechanisms_ = found.mechanisms.refitted(table.rows(), weights != 0)
        self.mean_ = np.array(table.moments.mean)
        self._exponents, self.codings_ = table.exponents, dict(table.codings)
        self.noise_variances_ = self._fit_noise(table)
        # Refits of a bootstrap ask for no model: it is made when somebody does, from the table that was learned from.
        self._model, self._effects, self._table = None, None, table
        self._note_class(found.orientation)

    def _note_interrupt(self) -> None:
        """Ctrl-C while the answer was judged: it is whole, but whoever would go on from here has to know."""
        if not self.verdict_.end.kind.stopped:
            end = Fact.of(Ended.INTERRUPTED)
            self.solution_, self.verdict_ = replace(self.solution_, end=end), replace(self.verdict_, end=end)

    def describe_run(self, table: Table) -> Key:
        """What an answer depends on, part by part: a stored run with the same is one that can be gone on with."""
        mask = self._compile(table.names)
        defaults = {
            name: _plain(name, entry.default)
            for name, entry in inspect.signature(type(self)).parameters.items()
            if entry.default is not entry.empty
        }
        given = {name: _plain(name, value) for name, value in self.get_params(deep=False).items() if name not in APART}
        settings = {name: value for name, value in given.items() if value != defaults.get(name)}
        start = getattr(self, "start", None)
        return {
            "method": self.method,
            "method version": str(self.version),
            "table": table.digest,
            "knowledge": digest(mask.required, *mask.box),
            **({} if start is None else {"start": digest(np.asarray(start, dtype=float))}),
            **settings,
        }

    def transform(self, X: Any) -> Floats:
        """Residuals (n, d): each column less its expectation given its parents."""
        return self._residuals(self._read_new(X))

    def _read_new(self, X: Any) -> Floats:
        """Rows (n, d) with the columns that were learned from, in their units."""
        check_is_fitted(self)
        nominal = any(coding.nominal for coding in self.codings_.values())
        if is_mapping(X) or (is_frame(X) and nominal):
            rows = encode(X, self.codings_, self.feature_names_in_.tolist())
        else:
            rows = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(rows if self._exponents is None else np.ldexp(rows, self._exponents))

    @property
    def model_(self) -> Model:
        """The fitted model, made when it is first asked for."""
        check_is_fitted(self)
        if self._model is None:
            assert self._table is not None
            self._model = fit_model(self.describe_learned(self._table))
        return self._model

    @property
    def effects_(self) -> dict[tuple[str, str], EdgeEffect]:
        """What each edge of the fitted model does, made when it is first asked for."""
        model = self.model_
        if self._effects is None:
            assert self._table is not None
            found = describe_edges(self.describe_learned(self._table), model)
            self._effects = {(model.names[i], model.names[j]): one for (i, j), one in found.items()}
        return self._effects

    def describe_learned(self, table: Table) -> Learned:
        """What a model of the table that was learned from is made of."""
        edges, weights, variances = self.causal_graph_.adjacency, self.adjacency_matrix_, self.noise_variances_
        if self.fixed_units:  # weights of log-odds, or of logarithms of means, are no lines
            weights = least_squares(table.moments.covariance, edges)
            variances = np.maximum(residual_variances(table.moments.covariance, weights), 0.0)
        return Learned(table, edges, weights, self.mechanisms_, variances, Kind.CATEGORICAL in self.kinds_seen)

    def sample(self, n: int = 1000, *, random_state: int = 0) -> dict[str, Any]:
        """Draw rows of the fitted model: `Model.sample`."""
        return self.model_.sample(n, random_state=random_state)

    def do(self, values: Mapping[str, Any], n: int | None = None, **options: Any) -> Intervention:
        """What follows when columns are set to values: `Model.do`."""
        return self.model_.do(values, n, **options)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of rows under the fitted model, in nats: `Model.score`."""
        model = self.model_
        return float(model.likelihood_of_rows(model.encode_rows(self._read_new(X))).mean())

    def __getstate__(self) -> dict[str, Any]:
        # A model travels, the table does not.
        if self._table is not None:
            with suppress(InputError):
                _ = self.effects_
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_table"}

    def _check_parameters(self) -> None:
        check_parameters(self.get_params(deep=False), COMMON | dict(self.RANGES))

    def _compile(self, names: tuple[str, ...]) -> Mask:
        return compile_knowledge(self.knowledge, names)

    def _open(self, X: Any) -> Table:
        """The table, with what scikit-learn wants to know of its columns."""
        if isinstance(X, Moments | Table | str | os.PathLike) or is_mapping(X):
            table = Table.open(X)
            self.n_features_in_, self.feature_names_in_ = len(table.names), np.array(table.names, dtype=object)
        elif is_frame(X):
            table = Table.open(X)
            self._validate(X, skip_check_array=True)
            if self.n_features_in_ != len(table.names):
                # Columns without numbers were left out: what is transformed later has those that were used.
                self.n_features_in_, self.feature_names_in_ = len(table.names), np.array(table.names, dtype=object)
        else:
            table = Table.open(self._validate(X, dtype="numeric", ensure_all_finite=False, ensure_min_samples=2))
        self._check_kinds(table)
        if self.needs_rows and table.is_elsewhere:
            table = table.sampled(MOST_SAMPLED)
        if self.needs_rows and table.why_no_rows is not None:
            raise InputError(f"{type(self).__name__} needs rows: ", *explain_no_rows(table.why_no_rows))
        return table

    def _check_kinds(self, table: Table) -> None:
        """Raise an InputError for categories whose numbers would mean nothing to the learner."""
        if Kind.CATEGORICAL in self.kinds_seen:
            return
        kinds = dict(zip(table.names, table.kinds))
        nominal = [
            name
            for name, coding in table.codings.items()
            if kinds[name] is Kind.CATEGORICAL and coding.nominal and len(coding.levels) > 2
        ]
        if nominal:
            listed = ", ".join(map(repr, nominal[:5])) + (f" and {len(nominal) - 5} more" if len(nominal) > 5 else "")
            many = f"{listed} {'is a category' if len(nominal) == 1 else 'are categories'} of more than two levels, "
            order = Argument("kinds", {nominal[0]: "<".join(table.codings[nominal[0]].labels)})
            other = () if self.method == "auto" else (Argument("method", "auto"), " can; or ")
            advice = ("leave out with ", Argument("drop", nominal), ", or if the levels have an order, say ", order)
            raise InputError(f"{many}which {self.method} cannot use; ", *other, *advice)

    def _validate(self, X: Any, **checks: Any) -> Any:
        try:
            return validate_data(self, X, **checks)
        except ValueError as error:
            raise InputError(str(error)) from error

    def _monitor(self, table: Table, mask: Mask) -> Monitor:
        return Monitor(self.time_limit, self.callback)

    def _note_class(self, orientation: Orientation) -> None:
        """Set ``cpdag_`` where the equivalence class is all that is claimed, and only there."""
        if orientation is Orientation.INDEPENDENCE:
            self.cpdag_ = self.causal_graph_.cpdag()
        elif hasattr(self, "cpdag_"):
            del self.cpdag_

    def _fit_noise(self, table: Table) -> Floats:
        """Variances of the residuals (d,) of the table that was learned from."""
        if self.mechanisms_ is not None:
            rows = table.rows() if table.has_rows else table.sample(MOST_SAMPLED)
            return np.asarray(self._residuals(rows).var(axis=0))
        return np.maximum(residual_variances(table.moments.covariance, self.adjacency_matrix_), 0.0)

    def _residuals(self, rows: Floats) -> Floats:
        if self.mechanisms_ is not None:
            return np.asarray(rows - self.mechanisms_.predict(rows))
        return np.asarray((rows - self.mean_) @ (np.eye(rows.shape[1]) - self.adjacency_matrix_))


class ContinuousLearner(DagLearner):
    """A learner that minimises a score plus L1 term under a DAG constraint, then cuts small weights.

    Examples
    --------
    >>> import acyclic
    >>> issubclass(acyclic.Notears, ContinuousLearner), issubclass(acyclic.Ges, ContinuousLearner)
    (True, False)
    """

    constraint: Any
    threshold: float
    pruning: str
    checkpoint: str | os.PathLike[str] | None

    @abstractmethod
    def _solve(self, table: Table, mask: Mask, monitor: Monitor) -> Solution:
        """Minimise."""

    @abstractmethod
    def _describe(self) -> tuple[Orientation, dict[str, Any]]:
        """What orients the edges, and the settings that make the method what it is."""

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        _check_scales(table.moments)
        with _limit_threads(len(table.names)):
            solution = self._solve(table, mask, monitor)
        orientation, settings = self._describe()
        return Found(
            solution=solution,
            method=self.method,
            orientation=orientation,
            settings={"constraint": constraint(self.constraint).name, **settings},
            threshold=self.threshold,
            pruning=self.pruning,
            cost=Empty.L1,
            empty=self._why_empty(table),
        )

    def _why_empty(self, table: Table) -> Fact[Empty] | None:
        """What only this learner knows of why there is no weight, if so."""
        return None

    def _monitor(self, table: Table, mask: Mask) -> Monitor:
        if self.checkpoint is None:
            return super()._monitor(table, mask)
        return Monitor(self.time_limit, self.callback, Checkpoint(self.checkpoint, self.describe_run(table)))


def _limit_threads(n_columns: int) -> AbstractContextManager[Any]:
    """Hold BLAS to one thread where two are no faster: all of it on small matrices, else that of SciPy alone.

    Two threads took four times as long as one at 150 columns. The wheels of NumPy and SciPy each bring a BLAS, whose
    threads wait for work in a busy loop, in the way of the other's. Products, which are most of the work, are NumPy's.
    """
    libraries = ThreadpoolController()
    if n_columns >= IN_PARALLEL:
        homes = [library.filepath for library in libraries.lib_controllers]
        libraries = libraries.select(filepath=[home for home in homes if SCIPYS.search(Path(home).parent.as_posix())])
    limited: AbstractContextManager[Any] = libraries.limit(limits=1)
    return limited


def _plain(name: str, value: Any) -> str:
    """A setting in one form: 1 and 1.0 are the same, and so are a constraint and its name."""
    if name == "constraint":
        made = constraint(value)
        if not is_dataclass(made):
            return repr(made)
        settings = [part for part in fields(made) if part.compare]
        own = [f"{part.name}={getattr(made, part.name)!r}" for part in settings]
        usual = [f"{part.name}={part.default!r}" for part in settings]
        return ", ".join([made.name, *(text for text in own if text not in usual)])
    plain = value.item() if isinstance(value, np.generic) else value
    return repr(int(plain)) if isinstance(plain, float) and plain.is_integer() else repr(plain)


def _check_scales(moments: Moments) -> None:
    """Refuse columns so far apart in scale that a weight between them, squared, has no place among the others."""
    deviations = np.sqrt(moments.covariance.diagonal())
    small, large = int(np.argmin(np.where(deviations > 0, deviations, np.inf))), int(np.argmax(deviations))
    # The square of this ratio is the largest power, 1e60, that constraints sum.
    if deviations[large] > 1e30 * deviations[small] > 0:
        scales = " and ".join(f"{moments.names[i]!r} ({deviations[i]:.1e})" for i in (small, large))
        raise InputError(f"the standard deviations of {scales} are too far apart; rescale or drop one of them")

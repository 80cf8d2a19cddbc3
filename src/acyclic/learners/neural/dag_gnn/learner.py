"""DAG-GNN: an autoencoder whose features follow a linear model on the graph (Yu, Chen, Gao & Yu 2019)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from acyclic.constraints.catalogue import constraint
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.table import Table
from acyclic.errors import InputError
from acyclic.facts import Caution, Fact, Orientation
from acyclic.judging.judge import Found
from acyclic.learners.modelling import Learned
from acyclic.learners.neural.base import NeuralLearner, require_torch
from acyclic.ranges import Range, number, whole
from acyclic.running import Monitor, Solution, State
from acyclic.scores.additive import AdditiveModel
from acyclic.types import Callback, Floats


class DagGnn(NeuralLearner):
    """Learn a DAG between features of the columns, which two networks that all columns share encode and decode.

    With H = encoder(X), entry by entry, and A = sinh(3Ã) the loss is

        (1/2n)‖(H + w)(I − A) − w‖² + (1/2n)‖X − decoder(H)‖² + l1·‖A‖₁,   subject to h(A∘A) = 0.

    The first term is the Kullback–Leibler part of the evidence lower bound for latent variables
    Z = (H + w)(I − A) − w of mean zero and variance one, the second its reconstruction part. As in the published code
    the mean of Z is decoded without sampling. The decoder's (I − A)⁻¹ then undoes the encoder's I − A: reconstruction
    does not depend on the graph, which is that of a linear model between the features H.

    Training is by Adam on batches of rows, in their order. Three things differ from the published code. The last batch
    may be smaller: its loss is the mean over its own rows, and that of an epoch the mean over all. A has no diagonal,
    instead of one under the penalty 100·tr A∘A. The graph is the one at the end of the training, instead of the one at
    the best loss of any epoch, which may be early and far from acyclic.

    ``adjacency_matrix_`` holds |A_ij| of the edges that are kept, ``elbo_`` the evidence lower bound in each epoch, up
    to a constant. ``transform`` and ``score`` come from a spline regression of each column on its parents.

    **Vector-valued columns.** ``fit`` also takes an array (n, d, k): d columns, named x0, x1, …, each with k values in
    a row. The networks then map k values to ``latent`` features and back, Z and the reconstruction are summed over
    them, and A is one for all. Standardisation is by channel; ``transform`` gives (n, d, k), each channel less its
    regression on all channels of the parents; ``noise_variances_`` is (d, k), and ``mean_`` the average over channels.

    Parameters
    ----------
    constraint : str or Constraint
        The DAG constraint h: any name that `acyclic.constraint` takes, or an object that it returned. The published one
        is ``"binomial"``.
    hidden : int
        Hidden units (ReLU) of encoder and decoder.
    latent : int
        Features for each column.
    epochs : int
        Passes over the rows for each penalty weight ρ.
    batch_size : int
        Rows for each step of Adam.
    rate : float
        Learning rate; it is divided by log₁₀ ρ and held between 1e-4 and 1e-2.
    l1 : float
        Weight of the L1 term; each step is followed by soft-thresholding of Ã at ``l1`` times the learning rate.
    threshold : float
        Entries of A below it, in absolute value, are cut.
    h_tol, rho_max, max_rounds
        The augmented Lagrangian ends at h ≤ ``h_tol``, or with a warning at ρ ≥ ``rho_max`` or the last round.
    pruning : {"edges", "components"}
        How cycles that are left are broken, as for `Notears`.
    standardize : bool
        Train on columns of mean 0 and variance 1.
    random_state : int
        Seed of the initial weights. On the CPU the same seed gives the same bits.
    device : str
        Where torch computes: ``"cpu"``, ``"cuda"``, ….
    knowledge, time_limit, callback, checkpoint
        As for `Notears`; signs and bounds of weights are not used.

    Examples
    --------
    >>> import acyclic
    >>> data = acyclic.simulate(n_nodes=3, n=200, graph="ER1", random_state=1)
    >>> fit = DagGnn(epochs=100).fit(data.X)
    >>> fit.verdict_.converged, len(fit.elbo_) % 100
    (True, 0)
    """

    method = "dag-gnn"
    version = 2
    RANGES: ClassVar[Mapping[str, Range]] = {
        **{name: whole(least=1) for name in ("hidden", "latent", "epochs", "batch_size", "max_rounds")},
        "rate": number(above=0),
        **{name: number(least=0) for name in ("l1", "h_tol", "rho_max")},
    }

    def __init__(
        self,
        *,
        constraint: Any = "fast-tmpi",
        hidden: int = 64,
        latent: int = 1,
        epochs: int = 300,
        batch_size: int = 100,
        rate: float = 3e-3,
        l1: float = 0.0,
        threshold: float = 0.3,
        h_tol: float = 1e-8,
        rho_max: float = 1e20,
        max_rounds: int = 100,
        pruning: str = "edges",
        standardize: bool = False,
        random_state: int = 0,
        device: str = "cpu",
        knowledge: Knowledge | str | os.PathLike[str] | None = None,
        time_limit: float | None = None,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        require_torch(self)
        self.constraint = constraint
        self.hidden = hidden
        self.latent = latent
        self.epochs = epochs
        self.batch_size = batch_size
        self.rate = rate
        self.l1 = l1
        self.threshold = threshold
        self.h_tol = h_tol
        self.rho_max = rho_max
        self.max_rounds = max_rounds
        self.pruning = pruning
        self.standardize = standardize
        self.random_state = random_state
        self.device = device
        self.knowledge = knowledge
        self.time_limit = time_limit
        self.callback = callback
        self.checkpoint = checkpoint

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the graph.

        Parameters
        ----------
        X : array-like or frame (n, d), or array (n, d, k) of vector-valued columns
        y : ignored
        """
        super().fit(X)
        self.noise_variances_ = self.noise_variances_.reshape(-1, *self._channels)
        return self

    def transform(self, X: Any) -> Floats:
        """Residuals of the shape of X: each column less its expectation given its parents."""
        check_is_fitted(self)
        if not self._channels:
            return super().transform(X)
        cells = _cells(X)
        if cells.shape[1:] != (self.n_features_in_, *self._channels):
            shape = ", ".join(map(str, (self.n_features_in_, *self._channels)))
            raise InputError(f"the learner was fitted to rows of shape ({shape}); got an array of shape {cells.shape}")
        return self._residuals(cells.reshape(len(cells), -1)).reshape(cells.shape)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of rows; of vector-valued columns under normal noise of the learned variances."""
        if not self._channels:
            return super().score(X)
        residuals, variances = self.transform(X), np.maximum(self.noise_variances_, np.finfo(float).tiny)
        terms = residuals**2 / variances + np.log(2 * np.pi * variances)
        return -0.5 * float(terms.reshape(len(terms), -1).sum(axis=1).mean())

    def describe_learned(self, table: Table) -> Learned:
        """What a model of the table is made of; vector-valued columns have none."""
        if self._channels:
            raise InputError("vector-valued columns have no model of rows; give each number a column of its own")
        return super().describe_learned(table)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def _open(self, X: Any) -> Table:
        if getattr(X, "ndim", 2) != 3:
            self._channels: tuple[int, ...] = ()
            return super()._open(X)
        cells = _cells(X)
        self._channels = cells.shape[2:]
        self.n_features_in_ = cells.shape[1]
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        # Notes on columns see all channels of a column as one long column.
        return Table.open(np.moveaxis(cells, 2, 1).reshape(-1, cells.shape[1]))

    def _cells(self, table: Table) -> Floats:
        """The rows as they were given: (n, d), or (n, d, k) for vector-valued columns."""
        rows = table.rows()
        return np.moveaxis(rows.reshape(-1, *self._channels, rows.shape[1]), -1, 1) if self._channels else rows

    def _rows(self, table: Table) -> Floats:
        if not self._channels:
            return super()._rows(table)
        cells = np.array(self._cells(table), dtype=float)
        if not self.standardize:
            return cells
        deviations = cells.std(axis=0)
        return np.asarray((cells - cells.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0))

    def _solve(self, table: Table, mask: Mask, monitor: Monitor) -> Solution:
        import torch

        from acyclic.learners.neural.dag_gnn.training import Model, Schedule, Training, batches

        device = self._torch_device()
        l1 = np.where(mask.required, 0.0, self.l1)
        sizes = int(np.prod(self._channels)), self.hidden, self.latent
        schedule = Schedule(self.epochs, self.rate, self.h_tol, self.rho_max, self.max_rounds)
        monitor.edges = lambda strengths: int(np.count_nonzero((strengths > 0) & (strengths >= self.threshold)))
        with torch.inference_mode():
            model = Model(mask.allowed, l1, *sizes, constraint(self.constraint), device)
            data = batches(self._rows(table), self.batch_size, device)
            training = Training(model, data, schedule, self._generators()[1])
            state = monitor.run(lambda s: training(s, monitor), State(np.zeros(mask.allowed.shape)))
            training.restore(state)
            self.elbo_ = -training.losses
            h, _ = model.constraint.value_and_gradient(state.reached**2)
            return state.solution(training.objective(), h)

    def _find(self, table: Table, mask: Mask, monitor: Monitor) -> Found:
        found = super()._find(table, mask, monitor)
        # Equal variances between features are no more than a convention then.
        said = (Fact.of(Caution.STANDARDIZED),) if self.standardize else ()
        return replace(found, cautions=(*found.cautions, *said))

    def _fit_noise(self, table: Table) -> Floats:
        cells = self._cells(table)
        rows = cells.reshape(len(cells), -1)
        block = np.ones((int(np.prod(self._channels)),) * 2)
        self.mechanisms_ = AdditiveModel.fit(rows, np.kron(self.adjacency_matrix_ != 0, block) != 0)
        return np.asarray(np.mean(self._residuals(rows) ** 2, axis=0))

    def _describe(self) -> tuple[Orientation, dict[str, Any]]:
        return Orientation.GENERATIVE, {"hidden": self.hidden, "l1": self.l1, "standardize": self.standardize}


def _cells(X: Any) -> Floats:
    """A finite array (n, d, k) with at least two rows, or an error."""
    try:
        cells = np.array(X, dtype=float, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"vector-valued columns have to be an array (n, d, k) of numbers: {error}") from None
    if cells.ndim != 3 or len(cells) < 2 or 0 in cells.shape:
        raise InputError(f"vector-valued columns have to be an array (n, d, k), n at least 2; got shape {cells.shape}")
    if not np.isfinite(cells).all():
        row, column, channel = np.argwhere(~np.isfinite(cells))[0]
        raise InputError(
            f"X[{row}, {column}, {channel}] is {cells[row, column, channel]}; fill in or drop such values first"
        )
    return cells

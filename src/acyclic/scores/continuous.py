"""The scores F(W): how well weights W explain the data, value and gradient.

The Gaussian scores see the data through the covariance S of its Moments only: with R = (I − W)ᵀS(I − W), the covariance
of the residuals, they are functions of R, and every evaluation costs one d×d product whatever the number of rows.
Logistic and Poisson need the rows.

Beside its value a score offers `curvature`: a matrix Q and one factor for each column such that c_j·Q approximates the
second derivative in column j. It need not be exact, only positive semi-definite: solvers check every step they take.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from acyclic.data.moments import Moments
from acyclic.errors import InputError
from acyclic.graphs.staircase import Staircase
from acyclic.scores.residuals import is_sparse, residual_variances, variances_and_products
from acyclic.types import Floats


class Score(ABC):
    """A smooth function of the weights W (d, d), W[i, j] from i to j.

    One of one's own is a subclass, whose constructor takes `Moments`, or rows and names where ``needs_rows`` says so;
    ``Notears(loss=…)`` takes the class.

    Examples
    --------
    >>> import acyclic
    >>> class Ridge(LeastSquares):
    ...     def value_and_gradient(self, W):
    ...         value, gradient = super().value_and_gradient(W)
    ...         return value + 0.5 * (W**2).sum(), gradient + W
    >>> data = acyclic.simulate(5, 200, random_state=0)
    >>> found = acyclic.learn(data.X, method="notears", loss=Ridge)
    >>> found.verdict.settings["loss"]
    'Ridge'
    """

    needs_rows: ClassVar[bool] = False
    """Whether the constructor takes rows (n, d) and names, in the place of moments."""
    n_nodes: int
    scale: float
    """Size of the score at W = 0."""

    @abstractmethod
    def value_and_gradient(self, W: Floats) -> tuple[float, Floats]:
        """F(W) and ∂F/∂W."""

    @abstractmethod
    def curvature(self, W: Floats) -> tuple[Floats, Floats]:
        """Q (d, d) and c (d,): the second derivative in column j is about c_j Q."""

    def size(self, value: float) -> float:
        """What a small change of the objective, now at ``value``, is measured against."""
        return max(abs(value), 1e-12 * self.scale)

    def rounded(self, dtype: type[np.floating[Any]]) -> Score:
        """The score for weights of this precision; itself, if it takes them as they are."""
        return self


class _Gaussian(Score):
    def __init__(self, moments: Moments) -> None:
        self.moments = moments
        self.S = np.ascontiguousarray(moments.covariance)
        self.n_nodes = len(self.S)
        self.scale = 0.5 * float(self.S.trace())

    def rounded(self, dtype: type[np.floating[Any]]) -> Score:
        """See Score: products of matrices of one precision are twice as fast in single as in double."""
        moved = copy(self)
        with np.errstate(over="ignore"):
            moved.S = self.S.astype(dtype)
        # The smallest variance may lose digits there, but not all of them.
        if not np.isfinite(moved.S).all() or ((moved.S.diagonal() == 0) & (self.S.diagonal() > 0)).any():
            raise InputError(
                f"variances of {self.S.diagonal().min():.1e} to {self.S.diagonal().max():.1e} do not fit "
                f"into {np.dtype(dtype)}; rescale the columns, or compute in double precision"
            )
        return moved


class LeastSquares(_Gaussian):
    """½ tr R = (1/2n)‖X − XW‖², columns centred.

    Examples
    --------
    >>> moments = Moments(n=10, mean=[0, 0], covariance=[[1, 1], [1, 2]])
    >>> value, gradient = LeastSquares(moments).value_and_gradient(np.array([[0, 1.0], [0, 0]]))
    >>> value
    1.0
    """

    def value_and_gradient(self, W: Floats) -> tuple[float, Floats]:
        """See Score."""
        variances, SR = variances_and_products(self.S, W)
        return 0.5 * float(variances.sum()), np.negative(SR, out=SR)

    def curvature(self, W: Floats) -> tuple[Floats, Floats]:
        """See Score."""
        return self.S, np.ones(self.n_nodes)


IN_PARALLEL = 250
"""From so many nodes on, NumPy's BLAS works on several threads; with fewer of them two are no faster than one."""


class _Likelihood(_Gaussian):
    """Gaussian negative log-likelihoods for each row, less constants: Σ_j ½ log σ_j² − log|det(I − W)|."""

    def __init__(self, moments: Moments) -> None:
        super().__init__(moments)
        scale, self.scale = float(self.S.trace()), float(self.n_nodes)
        if not scale > 0:
            raise InputError("every column is constant; a likelihood needs a column that varies")
        # A residual variance of exactly zero, as for a constant or duplicated column, would make the value −inf.
        smallest = np.finfo(float).tiny
        self.floor = np.maximum(1e-12 * np.maximum(self.S.diagonal(), 1e-12 * scale), smallest)

    def size(self, value: float) -> float:
        """See Score: units shift a log-likelihood, so that its own value says nothing."""
        return self.scale

    def _jacobian(self, W: Floats) -> tuple[float, Floats]:
        """−log|det(I − W)| and its gradient (I − W)⁻ᵀ; both large where I − W is nearly singular."""
        stairs = Staircase.find(W) if is_sparse(W) else None
        if stairs is not None:
            found = stairs.invert(W)
            return (np.inf, np.zeros_like(W)) if found is None else (-found[0], found[1].T)
        M = np.asfortranarray(-W)
        M.flat[:: self.n_nodes + 1] += 1
        # One factorisation serves both, which NumPy does not offer: at 500 nodes it takes half the time.
        lapack: Any = get_lapack_funcs(("getrf", "getri", "getri_lwork"), (M,))
        getrf, getri, ask = lapack
        factor, pivots, singular = getrf(M, overwrite_a=1)
        if singular:
            return np.inf, np.zeros_like(W)
        logarithm = float(np.log(np.abs(factor.diagonal())).sum(dtype=float))
        inverse = getri(factor, pivots, lwork=int(ask(self.n_nodes)[0].real), overwrite_lu=1)[0]
        return -logarithm, np.ascontiguousarray(inverse.T)


class GaussianEqualVariance(_Likelihood):
    """(d/2) log(‖X − XW‖²) − log|det(I − W)| (GOLEM-EV): noise of one common variance."""

    def value_and_gradient(self, W: Floats) -> tuple[float, Floats]:
        """See Score."""
        variances, SR = variances_and_products(self.S, W)
        total, (jacobian, inverse) = float(np.maximum(variances, self.floor).sum()), self._jacobian(W)
        value = 0.5 * self.n_nodes * np.log(self.moments.n * total) + jacobian
        return float(value), inverse - (self.n_nodes / total) * SR

    def curvature(self, W: Floats) -> tuple[Floats, Floats]:
        """See Score: the logarithm's weight at W, without its own second derivative."""
        total = np.maximum(residual_variances(self.S, W), self.floor).sum()
        return self.S, np.full(self.n_nodes, self.n_nodes / total)


class GaussianUnequalVariance(_Likelihood):
    """½ Σ_j log(‖x_j − Xw_j‖²) − log|det(I − W)| (GOLEM-NV): each noise with a variance of its own."""

    def value_and_gradient(self, W: Floats) -> tuple[float, Floats]:
        """See Score."""
        variances, SR = variances_and_products(self.S, W)
        held, (jacobian, inverse) = np.maximum(variances, self.floor), self._jacobian(W)
        value = 0.5 * np.log(self.moments.n * held).sum() + jacobian
        weights = np.where(variances > self.floor, 1 / held, 0.0)
        return float(value), inverse - SR * weights.astype(SR.dtype, copy=False)

    def curvature(self, W: Floats) -> tuple[Floats, Floats]:
        """See Score: the logarithms' weights at W, without their own second derivatives."""
        return self.S, 1 / np.maximum(residual_variances(self.S, W), self.floor)


class _Rows(Score):
    """A mean over the rows X (n, d), whose columns ``names`` are for messages alone."""

    accepted: str

    def __init__(self, X: Floats, names: Sequence[str] | None = None) -> None:
        self.X = np.ascontiguousarray(X, dtype=float)
        wrong = np.argwhere(~self._valid(self.X))
        if len(wrong):
            row, column = wrong[0]
            name = f"column {column}" if names is None else repr(names[column])
            raise InputError(f"{self.accepted}; {name} holds {self.X[row, column]:g} in row {row}")
        self.n_nodes = self.X.shape[1]
        self.scale = float(self.n_nodes)
        self.Q = self.X.T @ self.X / len(self.X)

    @abstractmethod
    def _valid(self, X: Floats) -> NDArray[np.bool_]:
        """Which values the loss is for."""

    @abstractmethod
    def _loss(self, M: Floats) -> tuple[Floats, Floats]:
        """Loss and derivative with respect to the predictor M = XW, entrywise."""

    def value_and_gradient(self, W: Floats) -> tuple[float, Floats]:
        """See Score."""
        # Far from the minimum e^M overflows: the value is then infinite, and solvers turn back.
        with np.errstate(over="ignore", invalid="ignore"):
            loss, slope = self._loss(self.X @ W)
            return float(loss.sum()) / len(self.X), self.X.T @ slope / len(self.X)


class Logistic(_Rows):
    """(1/n) Σ [log(1 + e^M) − X∘M], M = XW, for columns of 0 and 1 (not centred)."""

    accepted = "the logistic loss is for columns of 0 and 1"

    def _valid(self, X: Floats) -> NDArray[np.bool_]:
        return np.isin(X, (0, 1))

    def _loss(self, M: Floats) -> tuple[Floats, Floats]:
        return np.logaddexp(0, M) - self.X * M, 0.5 * (1 + np.tanh(0.5 * M)) - self.X

    def curvature(self, W: Floats) -> tuple[Floats, Floats]:
        """See Score: the second derivative of log(1 + e^m) is at most ¼."""
        return self.Q, np.full(self.n_nodes, 0.25)


class Poisson(_Rows):
    """(1/n) Σ [e^M − X∘M], M = XW, for columns of counts (not centred)."""

    accepted = "the Poisson loss is for columns of counts 0, 1, 2, …"

    def _valid(self, X: Floats) -> NDArray[np.bool_]:
        return np.asarray((X >= 0) & (np.floor(X) == X) & (X < np.inf))

    def _loss(self, M: Floats) -> tuple[Floats, Floats]:
        rate = np.exp(M)
        return rate - self.X * M, rate - self.X

    def curvature(self, W: Floats) -> tuple[Floats, Floats]:
        """See Score: the mean rate of each column, weighted towards rows with large entries."""
        with np.errstate(over="ignore"):
            rate = np.exp(self.X @ W)
        energy = np.einsum("ij,ij->i", self.X, self.X)
        return self.Q, np.maximum(energy @ rate / max(float(energy.sum()), 1e-300), 1e-12)

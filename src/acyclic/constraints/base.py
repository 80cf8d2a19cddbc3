"""What all DAG constraints share: the contract, input checks, work buffers, the term-by-term sum and its guard."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from numbers import Real
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from acyclic.errors import InputError

Matrix = NDArray[Any]

LARGEST = {np.dtype(np.float64): 1e60, np.dtype(np.float32): 1e15}
# A value above this would overflow in the square that a quadratic penalty takes of it.
LARGEST_VALUE = 1e150


# Which entries of B the value depends on: those inside components, all between cyclic nodes, those on walks through a
# cycle, or all.
Support = Literal["components", "cyclic nodes", "walks", "all"]
_WIDER: tuple[Support, ...] = ("components", "cyclic nodes", "walks", "all")


class Evaluation(NamedTuple):
    """One evaluation of a constraint.

    ``order`` is the highest power of B that was summed (None for closed forms). ``in_domain`` is False where the
    defining series diverges, or would overflow, and a partial sum stands in for it.

    Examples
    --------
    >>> import acyclic
    >>> Evaluation(0.0, [[0.0]]).order is None, acyclic.constraint("tmpi").evaluate([[0.0, 1.0], [0.0, 0.0]]).value
    (True, 0.0)
    """

    value: float
    gradient: Matrix
    order: int | None = None
    in_domain: bool = True


def checked(B: ArrayLike) -> Matrix:
    """B as a float matrix, or an error that names what is wrong with it."""
    try:
        A = np.asarray(B)
        if np.iscomplexobj(A):
            raise TypeError("complex numbers")
        A = A if A.dtype in LARGEST else A.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"B has to be a matrix of numbers; got {type(B).__name__}: {error}") from None
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.size == 0:
        raise InputError(f"B has to be a square matrix with at least one row; got shape {A.shape}")
    if not (A.min() >= 0 and A.max() < inf):
        bad = np.argwhere(~((A >= 0) & (A < inf)))[0]
        raise InputError(
            f"B has to be finite and non-negative (pass W * W for weights W); B[{bad[0]}, {bad[1]}] is {A[tuple(bad)]}"
        )
    return A


@dataclass(frozen=True)
class Constraint(ABC):
    """A function h(B) ≥ 0 of a non-negative matrix that vanishes on DAGs.

    One of one's own is a subclass with a ``name`` and ``evaluate_block``, which returns an `Evaluation`; every learner
    with a ``constraint`` takes an object of it. Options are fields, as of any frozen dataclass.

    Objects hold options only; work buffers are kept in a pool from which each call takes its own, so that one object
    may serve several threads.

    Examples
    --------
    >>> import acyclic
    >>> from scipy.linalg import expm
    >>> class Doubled(acyclic.Constraint):
    ...     name = "doubled"
    ...     def evaluate_block(self, B, size):
    ...         E = expm(2 * B)
    ...         return acyclic.Evaluation(E.trace() - len(B), 2 * E.T)
    >>> data = acyclic.simulate(5, 200, random_state=0)
    >>> acyclic.Notears(constraint=Doubled()).fit(data.X).verdict_.settings["constraint"]
    'doubled'
    """

    name: ClassVar[str]
    support: ClassVar[Support] = "components"
    is_trace: ClassVar[bool] = False
    """Whether h is tr f(B) less a constant, f a power series whose order a small change of B leaves as it is. The
    derivative of the gradient then stands in the gradient at [[B, V], [0, B]], on which second derivatives rest."""
    _parts: ClassVar[tuple[str, ...]] = ()
    """Fields that are constraints, and that it is made of."""
    __array_ufunc__: ClassVar[None] = None  # else a number of NumPy's times a constraint is an array
    _pool: list[Matrix] = field(default_factory=list, init=False, repr=False, compare=False)

    def value_and_gradient(self, B: ArrayLike) -> tuple[float, Matrix]:
        """Value h(B) and gradient ∂h/∂B, shape (d, d), for non-negative B."""
        return self.evaluate(B)[:2]

    def evaluate(self, B: ArrayLike) -> Evaluation:
        """Value and gradient with the order that was summed and whether B lies in the domain."""
        A = checked(B)
        return self.evaluate_block(A, len(A))

    @abstractmethod
    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """Evaluate on a block of a matrix with ``size`` rows; B is trusted to be valid."""

    def for_point(self, B: Matrix) -> Constraint:
        """The constraint for a minimisation that starts at a valid B: itself, unless its coefficients follow B.

        Outer loops call it before each minimisation, on the constraint that the user gave, so that a line search sees
        one function.
        """
        parts = {name: getattr(self, name) for name in self._parts}
        moved: dict[str, Any] = {name: part.for_point(B) for name, part in parts.items()}
        return replace(self, **moved) if any(moved[name] is not part for name, part in parts.items()) else self

    def linear_coefficient(self, size: int) -> float:
        """c_1: the gradient's diagonal at nodes on no cycle."""
        return 1.0

    def __add__(self, other: Constraint) -> Constraint:
        return Sum(left=self, right=other) if isinstance(other, Constraint) else NotImplemented

    def __radd__(self, other: object) -> Constraint:
        return self if other == 0 else NotImplemented  # sum() begins with 0

    def __mul__(self, other: Constraint | float) -> Constraint:
        if isinstance(other, Constraint):
            raise InputError(
                f"{self.name} times {other.name} is not defined: a product is that of two power series, such as "
                "exponential, log-det, inverse-trace, adaptive or analytic-0 to analytic-8"
            )
        if not isinstance(other, Real):
            return NotImplemented
        return Multiple(inside=self, factor=float(other))

    def __rmul__(self, factor: float) -> Constraint:
        return self * factor

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": []}

    def _borrow(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Matrix:
        while self._pool:
            buffer = self._pool.pop()
            if buffer.shape == shape and buffer.dtype == dtype:
                return buffer
        return np.empty(shape, dtype)

    def _give_back(self, buffer: Matrix) -> None:
        self._pool.append(buffer)

    def _partial_sum(
        self, B: Matrix, coefficient: Callable[[int], float], order: int, eps: float = 0.0
    ) -> tuple[Evaluation, float]:
        """Σ_{i ≤ order} c_i tr Bⁱ term by term, cut where max Bⁱ ≤ eps or exceeds the largest power allowed.

        Also returns the largest entry of the last power: zero where B is nilpotent, so that nothing was cut.
        """
        d, largest = len(B), LARGEST[B.dtype]
        work = self._borrow((2, d, d), B.dtype)
        power, product = work
        A = np.ascontiguousarray(B.T)
        power[:] = A
        gradient = np.zeros_like(A)
        gradient.flat[:: d + 1] = coefficient(1)
        value, top, i = coefficient(1) * float(power.trace()), float(A.max()), 1
        while i < order and top <= largest and (i == 1 or top > eps):
            i += 1
            c = coefficient(i)
            np.matmul(A, power, out=product)
            power *= i * c
            gradient += power
            power, product = product, power
            value += c * float(power.trace())
            top = float(power.max())
        self._give_back(work)
        return Evaluation(value, gradient, i, top <= largest), top


@dataclass(frozen=True)
class Sum(Constraint):
    """The sum of two constraints.

    Examples
    --------
    >>> import acyclic
    >>> both = acyclic.constraint("fast-tmpi") + 2 * acyclic.constraint("log-det")
    >>> both.name, both.value_and_gradient([[0.0, 0.5], [0.0, 0.0]])[0]
    ('fast-tmpi + 2·log-det', 0.0)
    """

    _parts = ("left", "right")
    left: Constraint = field(kw_only=True)
    right: Constraint = field(kw_only=True)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Those of the two."""
        return f"{self.left.name} + {self.right.name}"

    @property
    def support(self) -> Support:  # type: ignore[override]
        """The wider of the two."""
        return max(self.left.support, self.right.support, key=_WIDER.index)

    @property
    def is_trace(self) -> bool:  # type: ignore[override]
        """Whether both are."""
        return self.left.is_trace and self.right.is_trace

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return self.left.linear_coefficient(size) + self.right.linear_coefficient(size)

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        one, other = self.left.evaluate_block(B, size), self.right.evaluate_block(B, size)
        order = max((found.order for found in (one, other) if found.order is not None), default=None)
        inside = one.in_domain and other.in_domain
        return Evaluation(one.value + other.value, one.gradient + other.gradient, order, inside)


@dataclass(frozen=True)
class Multiple(Constraint):
    """A constraint times a positive number."""

    _parts = ("inside",)
    inside: Constraint = field(kw_only=True)
    factor: float = field(kw_only=True)

    def __post_init__(self) -> None:
        if not 0 < self.factor < inf:
            raise InputError(f"a constraint can be multiplied by positive numbers only; got {self.factor:g}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """With the factor."""
        inner = f"({self.inside.name})" if isinstance(self.inside, Sum) else self.inside.name
        return f"{self.factor:g}·{inner}"

    @property
    def support(self) -> Support:  # type: ignore[override]
        """That of the constraint."""
        return self.inside.support

    @property
    def is_trace(self) -> bool:  # type: ignore[override]
        """Whether the constraint is."""
        return self.inside.is_trace

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return self.factor * self.inside.linear_coefficient(size)

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        found = self.inside.evaluate_block(B, size)
        return found._replace(value=self.factor * found.value, gradient=found.gradient * B.dtype.type(self.factor))

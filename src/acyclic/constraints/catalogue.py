"""The DAG constraints h(B), side by side.

Every constraint takes a non-negative matrix ``B`` (``B = W∘W`` for weights ``W``), is zero exactly on acyclic supports
(up to what its docstring says) and gives the gradient ``G = ∂h/∂B``; with respect to ``W`` it is ``2 W∘G``. Apart from
the single term, the spectral radius and the balanced form, each is a power series ``Σ c_i tr Bⁱ`` with ``c_i > 0``, and
its gradient is ``Σ i c_i (Bⁱ⁻¹)ᵀ``. All powers are taken of ``Bᵀ``, which yields ``G`` without a transposition; only
non-negative terms are ever added: on a DAG such sums are exactly 0.0.

Far from a DAG the powers explode. No power beyond the first that exceeds ``LARGEST[dtype]`` is used: what is returned
then is the exact value and gradient of the series cut there, finite, and a line search that sees it steps back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from inspect import isabstract
from math import comb, inf
from typing import Any

import numpy as np

from acyclic import plugins
from acyclic.constraints.balanced import Balanced
from acyclic.constraints.base import LARGEST, LARGEST_VALUE, Constraint, Evaluation, Matrix, Support
from acyclic.constraints.components import OnComponents
from acyclic.constraints.geometric import AdaptiveTmpi, FastGeometric, FastTmpi, Geometric, Tmpi
from acyclic.constraints.perron import least_bound, perron, power_rounds
from acyclic.constraints.power_series import Exponential
from acyclic.constraints.powers import PowerChain
from acyclic.constraints.resolvents import MOST, Adaptive, Analytic, InverseTrace, LogDet
from acyclic.errors import InputError


@dataclass(frozen=True)
class Binomial(Constraint):
    """tr (I + αB)^d − d (Yu et al. 2019), α = 1/d unless given: c_i = C(d, i) αⁱ."""

    name = "binomial"
    is_trace = True
    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.alpha is not None and not 0 < self.alpha < inf:
            raise InputError(f"alpha has to be positive; got {self.alpha}")

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return 1.0 if self.alpha is None else self.alpha * size

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint: h from E = (I + αB)^(d−1), as Σ E∘(αBᵀ) + tr E − d, and G = αd Eᵀ."""
        alpha = 1 / size if self.alpha is None else self.alpha
        M = alpha * B.T
        A = M.copy()
        M.flat[:: len(B) + 1] += 1
        with np.errstate(over="ignore", invalid="ignore"):
            E = np.linalg.matrix_power(M, size - 1)
            # The diagonal of E counts closed walks from 1 up, so subtracting 1 from each is exact on a DAG.
            value = float(np.vdot(E.T, A)) + float((E.diagonal() - 1).sum())
            E *= E.dtype.type(alpha * size)
        if value < LARGEST_VALUE and E.max() < inf:
            return Evaluation(max(value, 0.0), E, size)
        partial, _ = self._partial_sum(B, lambda i: comb(size, i) * alpha**i, min(size, 100))
        return partial._replace(in_domain=False)


@dataclass(frozen=True)
class Polynomial(Constraint):
    """Σ_{i ≤ d} c_i tr Bⁱ with any positive coefficients (Wei et al. 2020).

    ``coefficients`` is a function i ↦ c_i or a sequence c_1, c_2, … of at least d numbers; by default c_i = 1/i.
    """

    name = "polynomial"
    is_trace = True
    coefficients: Callable[[int], float] | Sequence[float] | None = None

    def __post_init__(self) -> None:
        if self.coefficients is not None and not callable(self.coefficients):
            given = np.asarray(self.coefficients, dtype=float)
            if given.ndim != 1 or not ((given > 0) & (given < inf)).all():
                raise InputError(f"coefficients have to be positive and finite; got {self.coefficients}")
            object.__setattr__(self, "coefficients", tuple(given.tolist()))

    def _coefficient(self, size: int) -> Callable[[int], float]:
        given = self.coefficients
        if given is None:
            return lambda i: 1 / i
        if not callable(given):
            if len(given) < size:
                raise InputError(
                    f"{len(given)} coefficients were given; {size} nodes need {size}, else long cycles are missed"
                )
            return lambda i: given[i - 1]

        def positive(i: int) -> float:
            c = float(given(i))
            if not 0 < c < inf:
                raise InputError(f"coefficients have to be positive and finite; coefficient {i} is {c}")
            return c

        return positive

    def linear_coefficient(self, size: int) -> float:
        """See Constraint."""
        return self._coefficient(size)(1)

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        return self._partial_sum(B, self._coefficient(size), size)[0]


@dataclass(frozen=True)
class SingleTerm(Constraint):
    """‖B^d‖_p, entrywise, p = 1 or 2: only walks of length d count.

    The value is tiny long before the graph is acyclic (below 1e-8 at d = 100 for spectral radius 0.83): it is never
    evidence of a DAG. Gradient: reverse mode through exponentiation by squaring, O(log d) products.
    """

    name = "single-term"
    support = "walks"
    p: int = 2

    def __post_init__(self) -> None:
        if self.p not in (1, 2):
            raise InputError(f"p has to be 1 or 2; got {self.p}")

    def linear_coefficient(self, size: int) -> float:
        """See Constraint: a walk of length d > 1 takes more than one edge."""
        return 0.0

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint; where B^d would overflow, the largest power 2^m < d that does not stands in for it."""
        chain = PowerChain(B, size, LARGEST[B.dtype] ** 2)
        power = chain.power
        if self.p == 1:
            value, slope = float(power.sum(dtype=float)), np.ones_like(power)
        else:
            top = float(power.max())
            value = top * float(np.linalg.norm(power / (top or 1.0)))
            slope = power / value if value else np.zeros_like(power)
        return Evaluation(value, chain.pull_back(slope), chain.order, chain.order == size)


@dataclass(frozen=True)
class SpectralRadius(Constraint):
    """ρ(B), the largest eigenvalue (Lee et al. 2019), with gradient v uᵀ/(vᵀu) of its Perron vectors.

    The vectors are computed to convergence within the component that attains the maximum, where they are unique: value
    and gradient are deterministic. At a DAG, where ρ is not differentiable, the gradient is zero.
    ``bound="least"`` gives instead the smooth upper bound of Zhu et al. (2021): ``rounds`` times b = r^a∘c^(1−a)
    (row sums r, column sums c), S ← Diag(b)⁻¹ S Diag(b); h = Σ b of the last round. The bound is not zero on a DAG with
    paths longer than about twice the rounds.
    ``bound="nobears"`` gives what the code of NOBEARS computes, no bound at all: vᵀAu/(vᵀu) with A = B + ``shift`` in
    every entry and vectors u and v of ``rounds`` power rounds from ones, which its gradient v uᵀ/(vᵀu) takes as
    constants. It is far from zero on a DAG, and the gradient is not that of the value. NOBEARS starts from the vectors
    of its last step, so that they converge as W settles; its value at a DAG stays as far from zero.
    """

    name = "spectral-radius"
    bound: str | None = None
    rounds: int = 5
    balance: float = 0.9
    shift: float = 1e-6

    @property
    def support(self) -> Support:  # type: ignore[override]
        """Where the value comes from."""
        return "cyclic nodes" if self.bound is None else "all"

    def __post_init__(self) -> None:
        if self.bound not in (None, "least", "nobears"):
            raise InputError(f'bound has to be None, "least" or "nobears"; got {self.bound!r}')
        if self.rounds < 1 or not 0 <= self.balance <= 1:
            raise InputError(f"rounds ≥ 1 and 0 ≤ balance ≤ 1 are needed; got {self.rounds} and {self.balance}")
        if not 0 < self.shift < inf:
            raise InputError(f"shift has to be positive; got {self.shift}")

    def linear_coefficient(self, size: int) -> float:
        """See Constraint: a node off the cycles leaves the radius as it is."""
        return 0.0

    def evaluate_block(self, B: Matrix, size: int) -> Evaluation:
        """See Constraint."""
        if self.bound == "least":
            value, gradient = least_bound(B.astype(np.float64), self.rounds, self.balance)
        elif self.bound == "nobears":
            value, gradient = power_rounds(B.astype(np.float64), self.rounds, self.shift)
        else:
            value, gradient = perron(B.astype(np.float64))
        return Evaluation(value, gradient.astype(B.dtype), None)


CONSTRAINTS: dict[str, type[Constraint]] = {
    kind.name: kind
    for kind in (
        Exponential, Binomial, Polynomial, SingleTerm, SpectralRadius, Geometric, FastGeometric, Tmpi, FastTmpi,
        LogDet, InverseTrace, Adaptive, AdaptiveTmpi, Balanced,
    )
} | {"analytic": Analytic}  # fmt: skip
# Names that stand for a constraint with options.
SHORT: dict[str, tuple[str, dict[str, Any]]] = {f"analytic-{n}": ("analytic", {"order": n}) for n in range(MOST + 1)}


def list_constraints() -> list[str]:
    """The names that `constraint` takes: ours, and those of other packages."""
    own = (*CONSTRAINTS, *SHORT)
    return [*own, *plugins.name_plugins(plugins.CONSTRAINTS, own)]


def is_constraint(name: object) -> bool:
    """Whether there is a constraint of that name; one of another package is not loaded for it."""
    return isinstance(name, str) and (name in CONSTRAINTS or name in SHORT or name in list_constraints())


def _find_class(name: object) -> type[Constraint] | None:
    if isinstance(name, str) and name in CONSTRAINTS:
        return CONSTRAINTS[name]
    plugin = plugins.find_plugin(plugins.CONSTRAINTS, name, (*CONSTRAINTS, *SHORT))
    return None if plugin is None else load_constraint(plugin)


def load_constraint(plugin: plugins.Plugin) -> type[Constraint]:
    """The class that another package offers; raises an AcyclicError where it is none that can be used."""
    kind = plugin.load()
    if not isinstance(kind, type) or not issubclass(kind, Constraint) or isabstract(kind):
        raise plugin.reject("is no class of constraints; derive it from acyclic.Constraint, with evaluate_block")
    if getattr(kind, "name", None) != plugin.name:
        raise plugin.reject(f"calls itself {getattr(kind, 'name', None)!r}; its `name` has to be {plugin.name!r}")
    return kind


def constraint(name: str | Constraint, *, components: bool = False, **options: Any) -> Constraint:
    """A DAG constraint by name.

    Parameters
    ----------
    name : str or Constraint
        exponential, binomial, polynomial, single-term, spectral-radius, geometric, fast-geometric, tmpi, fast-tmpi,
        log-det, inverse-trace; adaptive and adaptive-tmpi, whose scale s follows the spectral radius; balanced,
        which no cycle is too long or too weak for; or analytic-0 to analytic-8, short for analytic with an ``order``.
        Or the name of one that another package offers (the entry points "acyclic.constraints"). A constraint object is
        passed through, such as ``a + b`` and ``2 * a`` of any two, or ``a * b`` and ``a.derivative()`` of power series
        (exponential, log-det, inverse-trace, adaptive, analytic).
    components : bool
        Evaluate on strongly connected components only: see `OnComponents`.
    **options
        The options of the constraint's class, such as ``eps`` for tmpi.

    Examples
    --------
    >>> import numpy as np
    >>> B = np.array([[0, 0.5, 0], [0, 0, 0.4], [0.3, 0, 0]])
    >>> h, G = constraint("fast-tmpi", eps=1e-6).value_and_gradient(B)
    >>> round(h, 12)
    0.18
    """
    if isinstance(name, Constraint):
        chosen = name
        if options:
            raise InputError(f"options {sorted(options)} cannot be added to a constraint object; give its name instead")
        _check_answers(name)
    else:
        name, more = SHORT.get(name, (name, {})) if isinstance(name, str) else (name, {})
        options = {**more, **options}
        kind = _find_class(name)
        if kind is None:
            raise InputError(f"there is no constraint {name!r}; choose one of {', '.join(list_constraints())}")
        accepted = [option.name for option in fields(kind) if option.init]
        unknown = sorted(set(options) - set(accepted))
        if unknown:
            raise InputError(f"{name} has no option {unknown[0]!r}; it takes {', '.join(accepted) or 'none'}")
        chosen = kind(**options)
    return OnComponents(constraint=chosen) if components and not isinstance(chosen, OnComponents) else chosen


def _check_answers(given: Constraint) -> None:
    """Raise unless constraints of the user's return what learners unpack, rather than let them fail on it."""
    for part in given._parts:
        _check_answers(getattr(given, part))
    if type(given).__module__.startswith("acyclic."):
        return
    found = given.evaluate_block(np.zeros((2, 2)), 2)
    if not isinstance(found, Evaluation):
        raise InputError(
            f"evaluate_block of {type(given).__name__} returned a {type(found).__name__}; "
            "return acyclic.Evaluation(value, gradient)"
        )

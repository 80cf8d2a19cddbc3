"""The DAG constraints on tensors: value and analytic gradient, no tape behind them.

On the CPU a tensor is read in place by `acyclic.constraints.catalogue`. On other devices the powers are taken there, by
the same sums with the same guards; only a number per power comes back. Constraints without such a form (the spectral
radius, whose Perron vectors are a chain of small dependent solves; components; a user's own class) are evaluated on
the host.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, factorial, inf
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from acyclic.constraints import catalogue as on_host
from acyclic.constraints.base import LARGEST, LARGEST_VALUE, Constraint, Multiple, Sum, checked
from acyclic.constraints.geometric import AdaptiveTmpi, FastGeometric, FastTmpi, Geometric, Tmpi
from acyclic.constraints.power_series import Exponential, SeriesMultiple, SeriesSum
from acyclic.constraints.powers import PowerSums
from acyclic.constraints.resolvents import (
    WELL_CONDITIONED,
    Adaptive,
    Analytic,
    InverseTrace,
    LogDet,
    balance_by_components,
)
from acyclic.errors import InputError

__all__ = ["Evaluation", "evaluate", "value_and_gradient"]

GUARD = {torch.float64: LARGEST[np.dtype(np.float64)], torch.float32: LARGEST[np.dtype(np.float32)]}


class Evaluation(NamedTuple):
    """Value and gradient of a constraint; ``in_domain`` is False where a partial sum stands in for it."""

    value: float
    gradient: Tensor
    in_domain: bool = True


def value_and_gradient(B: Tensor, constraint: str | Constraint = "fast-tmpi") -> tuple[float, Tensor]:
    """h(B) and ∂h/∂B, shape (d, d), for training loops that are written by hand.

    Parameters
    ----------
    B : Tensor (d, d)
        Non-negative; on any device, in single or double precision.
    constraint : str or Constraint
        Any name that `acyclic.constraint` takes, or an object that it returned.
    """
    found = evaluate(B, constraint)
    return found.value, found.gradient


def evaluate(B: Tensor, constraint: str | Constraint = "fast-tmpi") -> Evaluation:
    """Value and gradient, and whether B lies in the constraint's domain; see `value_and_gradient`."""
    chosen, A = on_host.constraint(constraint), B.detach()
    if A.dtype not in GUARD:
        A = A.float() if A.dtype in (torch.float16, torch.bfloat16) else A.double()
    if A.device.type == "cpu":
        return _on_host(A, chosen)
    return evaluate_on_device(A, chosen)


def _on_host(A: Tensor, chosen: Constraint) -> Evaluation:
    value, gradient, _, in_domain = chosen.evaluate(A.cpu().numpy())
    return Evaluation(value, torch.from_numpy(gradient).to(A.device), in_domain)


def evaluate_on_device(A: Tensor, chosen: Constraint) -> Evaluation:
    """The same by torch operations on the tensor's device, whatever it is; A is in single or double precision."""
    form = FORMS.get(type(chosen))
    if form is None:
        return _on_host(A, chosen)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or A.numel() == 0 or not (A.min() >= 0 and A.max() < inf):
        checked(A.cpu().numpy())
        raise InputError("B has to be a square, finite and non-negative matrix")
    return form(A.T.contiguous(), chosen)


def _series(A: Tensor, coefficient: Callable[[int], float], order: int, eps: float = 0.0) -> Evaluation:
    """Σ_{i ≤ order} c_i tr Aⁱ term by term, cut where max Aⁱ ≤ eps or exceeds the largest power allowed."""
    power, largest, top, i = A, GUARD[A.dtype], float(A.max()), 1
    gradient = coefficient(1) * torch.eye(len(A), dtype=A.dtype, device=A.device)
    value = coefficient(1) * float(A.trace())
    while i < order and top <= largest and (i == 1 or top > eps):
        i += 1
        gradient = gradient + (i * coefficient(i)) * power
        power = A @ power
        trace, top = torch.stack([power.trace(), power.max()]).tolist()
        value += coefficient(i) * trace
    return Evaluation(value, gradient, top <= largest)


def _outside(A: Tensor, coefficient: Callable[[int], float], order: int) -> Evaluation:
    return _series(A, coefficient, order)._replace(in_domain=False)


def _power_sums(A: Tensor) -> PowerSums:
    return PowerSums(A.new_empty((4, *A.shape)), A.T, torch.matmul)


def _fast_tmpi(A: Tensor, chosen: FastTmpi) -> Evaluation:
    sums, largest, last = _power_sums(A), GUARD[A.dtype], max(chosen._last_order(len(A)), 2)
    top = float(A.max())
    while sums.i < last and top <= largest and (sums.i == 1 or top > chosen.eps):
        sums.double()
        top = float(sums.P.max())
    return Evaluation(sums.value, sums.gradient(), sums.i == last or top <= largest)


def _adaptive_tmpi(A: Tensor, chosen: AdaptiveTmpi) -> Evaluation:
    found = _fast_tmpi(A / chosen.s, chosen)
    return found._replace(gradient=found.gradient / chosen.s)


def _fast_geometric(A: Tensor, chosen: FastGeometric) -> Evaluation:
    sums, largest, top = _power_sums(A), GUARD[A.dtype], float(A.max())
    for digit in f"{len(A):b}"[1:]:
        if 0 < top <= largest:
            sums.double()
            top = float(sums.P.max())
        if digit == "1" and 0 < top <= largest:
            sums.increment(A)
            top = float(sums.P.max())
    return Evaluation(sums.value, sums.gradient(), sums.i == len(A) or top <= largest)


def _exponential(A: Tensor, chosen: Exponential) -> Evaluation:
    power = torch.linalg.matrix_exp(A)
    value, top = float(power.trace()) - len(A), float(power.max())
    if value < LARGEST_VALUE and top < inf:
        return Evaluation(max(value, 0.0), power)
    return _outside(A, lambda i: 1 / factorial(i), 100)


def _binomial(A: Tensor, chosen: on_host.Binomial) -> Evaluation:
    size = len(A)
    alpha = 1 / size if chosen.alpha is None else chosen.alpha
    identity = torch.eye(size, dtype=A.dtype, device=A.device)
    E = torch.linalg.matrix_power(identity + alpha * A, size - 1)
    value = float((E.T * (alpha * A)).sum() + (E.diagonal() - 1).sum())
    E = E * (alpha * size)
    if value < LARGEST_VALUE and float(E.max()) < inf:
        return Evaluation(max(value, 0.0), E)
    return _outside(A, lambda i: comb(size, i) * alpha**i, min(size, 100))


def _single_term(A: Tensor, chosen: on_host.SingleTerm) -> Evaluation:
    """See SingleTerm; reverse mode through the squarings is left to torch's tape."""
    with torch.enable_grad():
        leaf = A.clone().requires_grad_()
        power, complete = _power(leaf, len(A), GUARD[A.dtype] ** 2)
        scale = float(power.detach().max()) or 1.0
        norm = (power / scale).sum() if chosen.p == 1 else torch.linalg.norm(power / scale)
        (slope,) = torch.autograd.grad(norm, leaf)
    return Evaluation(scale * norm.item(), scale * slope.T, complete)


def _power(A: Tensor, order: int, largest: float) -> tuple[Tensor, bool]:
    """A^order by squaring, or the last square below the largest power allowed and False."""
    square, power, top = A, A if order & 1 else None, float(A.detach().max())
    for digit in range(1, order.bit_length()):
        # Bounds on the next square and on its product with the partial power, before either is formed.
        bound = len(A) * top * top
        if max(bound, len(A) * bound * (0.0 if power is None else float(power.detach().max()))) > largest:
            return square, False
        square = square @ square
        top = float(square.detach().max())
        if order >> digit & 1:
            power = square if power is None else power @ square
    assert power is not None
    return power, True


def _resolvent(A: Tensor, s: float) -> tuple[float, Tensor] | None:
    """log det(I − A/s) and (sI − A)⁻¹, or None outside ρ(A) < s; see the NumPy form for the second attempt."""
    found = _factored(A, s)
    if found is not None and s * float(found[1].max()) <= WELL_CONDITIONED:
        return found
    order, ratio = (torch.from_numpy(part).to(A.device) for part in balance_by_components(A.T.cpu().numpy()))
    found = _factored(A[order][:, order] / ratio, s)
    if found is None:
        return None
    back = torch.argsort(order)
    return found[0], (found[1] * ratio).clamp_(max=GUARD[A.dtype])[back][:, back]


def _factored(A: Tensor, s: float) -> tuple[float, Tensor] | None:
    identity = torch.eye(len(A), dtype=A.dtype, device=A.device)
    lu, pivots, info = torch.linalg.lu_factor_ex(s * identity - A)
    if int(info):
        return None
    logarithm = float((lu.diagonal().abs() / s).log().sum())
    inverse = torch.linalg.lu_solve(lu, pivots, identity)
    lowest, top = torch.stack(torch.aminmax(inverse)).tolist()
    if not top < inf or not lowest >= -100 * torch.finfo(A.dtype).eps * top:
        return None
    return logarithm, inverse.clamp_(min=0)


def _log_det(A: Tensor, chosen: LogDet) -> Evaluation:
    found = _resolvent(A, chosen.s)
    if found is None:
        return _outside(A, lambda i: 1 / (i * chosen.s**i), min(len(A), 64))
    return Evaluation(max(-found[0], 0.0), found[1])


def _inverse_trace(A: Tensor, chosen: InverseTrace) -> Evaluation:
    found = _resolvent(A, chosen.s)
    if found is None:
        return _outside(A, lambda i: chosen.s**-i, min(len(A), 64))
    Y = found[1]
    return Evaluation(float((Y.T * A).sum()), chosen.s * (Y @ Y))


def _analytic(A: Tensor, chosen: Analytic) -> Evaluation:
    found, (factor, m) = _resolvent(A, chosen.s), chosen._power()
    if found is None:
        c = chosen.coefficients(min(len(A), 64))
        return _outside(A, lambda i: float(c[i]), len(c) - 1)
    if m == 0:
        return Evaluation(max(-found[0], 0.0), found[1])
    Z = chosen.s * found[1]
    sums, power = Z, Z @ Z
    for _ in range(m - 1):
        sums, power = sums + power, power @ Z
    value, gradient = factor / chosen.s * float((sums.T * A).sum()), power * (factor * m / chosen.s)
    if not (value < LARGEST_VALUE and float(gradient.max()) < inf):
        c = chosen.coefficients(min(len(A), 64))
        return _outside(A, lambda i: float(c[i]), len(c) - 1)
    return Evaluation(value, gradient)


def _sum(A: Tensor, chosen: Sum) -> Evaluation:
    one, other = evaluate_on_device(A.T, chosen.left), evaluate_on_device(A.T, chosen.right)
    return Evaluation(one.value + other.value, one.gradient + other.gradient, one.in_domain and other.in_domain)


def _multiple(A: Tensor, chosen: Multiple) -> Evaluation:
    found = evaluate_on_device(A.T, chosen.inside)
    return found._replace(value=chosen.factor * found.value, gradient=chosen.factor * found.gradient)


FORMS: dict[type[Constraint], Callable[[Tensor, Any], Evaluation]] = {
    Exponential: _exponential,
    on_host.Binomial: _binomial,
    on_host.Polynomial: lambda A, chosen: _series(A, chosen._coefficient(len(A)), len(A)),
    on_host.SingleTerm: _single_term,
    Tmpi: lambda A, chosen: _series(A, lambda i: 1.0, len(A), chosen.eps),
    Geometric: lambda A, chosen: _series(A, lambda i: 1.0, len(A)),
    FastTmpi: _fast_tmpi,
    FastGeometric: _fast_geometric,
    LogDet: _log_det,
    InverseTrace: _inverse_trace,
    Adaptive: _inverse_trace,
    AdaptiveTmpi: _adaptive_tmpi,
    Analytic: _analytic,
    **dict.fromkeys((Sum, SeriesSum), _sum),
    **dict.fromkeys((Multiple, SeriesMultiple), _multiple),
}

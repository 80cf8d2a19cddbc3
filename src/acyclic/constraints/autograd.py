"""The DAG constraints as one differentiable function for torch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from acyclic.constraints.base import Constraint, checked
from acyclic.constraints.catalogue import constraint as make
from acyclic.constraints.torch import evaluate
from acyclic.errors import InputError

# The coupling of the two blocks, as a part of the largest entry of B: so small that it does not move the order at which
# a truncated constraint ends, which is a matter of 1e-6 or so, and exact all the same: what follows is linear in it.
COUPLING = 1e-8


@torch.compiler.disable  # type: ignore[untyped-decorator]
def dag_constraint(
    W: Tensor, constraint: str | Constraint = "fast-tmpi", *, of: str = "squares", log1p: bool = False
) -> Tensor:
    """h(B) ≥ 0, which is zero where the weights W are those of a DAG; add it to a loss.

    Parameters
    ----------
    W : Tensor (..., d, d)
        Weights, ``W[i, j]`` that of the edge i → j, on any device and in any floating precision; leading dimensions are
        a batch. `torch.func.vmap` works too.
    constraint : str or Constraint
        Any name that `acyclic.constraint` takes, or an object that it returned.
    of : {"squares", "absolute", "matrix"}
        What B is: W∘W, |W|, or W itself, which then has to be non-negative, such as the norms of the first weights of a
        network.
    log1p : bool
        Return log(1 + h). Far from a DAG h reaches 1e32 in single precision, whose square, as an augmented Lagrangian
        takes it, overflows; the logarithm is h itself near a DAG and stays below 100. It is taken in double precision,
        before rounding to the precision of W.

    Returns
    -------
    Tensor (...)
        Differentiable. Derivatives of second order are exact for the constraints that are sums over powers (all but
        the single term, the spectral radius, the balanced form and the evaluation on components, which refuse them);
        each takes two evaluations on a matrix of twice the size. There are none of third order, and none in forward
        mode: take `torch.func.jacrev` twice for a Hessian.

    Examples
    --------
    >>> import torch
    >>> W = torch.tensor([[0.0, 1.0], [0.5, 0.0]], dtype=torch.float64, requires_grad=True)
    >>> h = dag_constraint(W)
    >>> h.backward()
    >>> h.item(), W.grad.tolist()
    (0.625, [[0.0, 1.5], [3.0, 0.0]])
    >>> dag_constraint(torch.stack([W, W.triu()]), "log-det").shape
    torch.Size([2])
    """
    if of not in _ENTRIES:
        raise InputError(f"of has to be one of {', '.join(_ENTRIES)}; got {of!r}")
    if not W.dtype.is_floating_point:
        W = W.double()
    value, _ = _Value.apply(_ENTRIES[of](W), make(constraint), log1p)  # type: ignore[no-untyped-call]
    result: Tensor = value
    return result


_ENTRIES = {"squares": lambda W: W * W, "absolute": torch.abs, "matrix": lambda W: W}


class _Value(Function):
    """h, and beside it the gradient, for the way back."""

    @staticmethod
    def forward(B: Tensor, chosen: Constraint, log1p: bool) -> tuple[Tensor, Tensor]:
        matrices = _as_batch(B)
        values, gradients = B.new_empty(len(matrices)), torch.empty_like(matrices)
        for at, matrix in enumerate(matrices):
            found = evaluate(matrix, chosen)
            h = torch.tensor(found.value, dtype=torch.float64)
            values[at] = torch.log1p(h) if log1p else h
            gradients[at] = found.gradient / (1 + found.value) if log1p else found.gradient
        return values.reshape(B.shape[:-2]), gradients.reshape(B.shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Constraint, bool], output: tuple[Tensor, Tensor]) -> None:
        B, *ctx.options = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(B, output[1])

    @staticmethod
    def backward(ctx: Any, slope: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        gradient: Tensor = _Gradient.apply(*ctx.saved_tensors, *ctx.options)  # type: ignore[no-untyped-call]
        return slope[..., None, None] * gradient, None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, B: Tensor, chosen: Constraint, log1p: bool) -> Any:
        return _Value.apply(_leading(B, in_dims[0]), chosen, log1p), (0, 0)  # type: ignore[no-untyped-call]


class _Gradient(Function):
    """The gradient, as a function of B."""

    @staticmethod
    def forward(B: Tensor, gradient: Tensor, chosen: Constraint, log1p: bool) -> Tensor:
        return gradient.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        B, gradient, *ctx.options = inputs
        ctx.save_for_backward(B, gradient)

    @staticmethod
    def backward(ctx: Any, V: Tensor) -> tuple[Tensor, None, None, None]:
        return _Curvature.apply(*ctx.saved_tensors, V, *ctx.options), None, None, None  # type: ignore[no-untyped-call]

    @staticmethod
    def vmap(info: Any, in_dims: Any, B: Tensor, gradient: Tensor, *options: Any) -> Any:
        parts = (_leading(B, in_dims[0]), _leading(gradient, in_dims[1]))
        return _Gradient.apply(*parts, *options), 0  # type: ignore[no-untyped-call]


class _Curvature(Function):
    """The derivative of the gradient in the direction V."""

    @staticmethod
    def forward(B: Tensor, gradient: Tensor, V: Tensor, chosen: Constraint, log1p: bool) -> Tensor:
        if not chosen.is_trace:
            raise InputError(
                f"{chosen.name} has no second derivatives here; take a constraint that is a sum over powers, such as "
                "fast-tmpi or log-det, or take the gradient without create_graph=True"
            )
        bends = []
        for matrix, slope, direction in zip(*map(_as_batch, (B, gradient, V)), strict=True):
            bend = second_derivative(matrix.double(), direction.double(), chosen)
            if log1p:
                bend = bend / (1 + evaluate(matrix, chosen).value) - slope * (slope * direction).sum()
            bends.append(bend.to(B.dtype))
        return torch.stack(bends).reshape(B.shape) if bends else torch.zeros_like(B)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Any:
        raise InputError("the DAG constraints have no third derivatives here")

    @staticmethod
    def vmap(info: Any, in_dims: Any, B: Tensor, gradient: Tensor, V: Tensor, *options: Any) -> Any:
        size = info.batch_size
        parts = [
            x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
            for x, dim in zip((B, gradient, V), in_dims[:3])
        ]
        return _Curvature.apply(*parts, *options), 0  # type: ignore[no-untyped-call]


def second_derivative(B: Tensor, V: Tensor, chosen: Constraint) -> Tensor:
    """d/dt ∇h(B + tV) at t = 0, for a constraint that is a trace, in double precision.

    ∇ tr f(M) is f'(M)ᵀ, and for M = [[B, V], [0, B]] the block of f'(M) at V is the derivative of f'(B) along V. M has
    to be non-negative: the positive and the negative part of V, on which the block depends linearly, go one by one.
    """
    d, scale = len(B), COUPLING * (float(B.max()) or 1.0)
    result = torch.zeros_like(B)
    for sign in (1.0, -1.0):
        part = (sign * V).clamp(min=0)
        top = float(part.max())
        if top > 0:
            M = torch.zeros((2 * d, 2 * d), dtype=B.dtype)
            M[:d, :d] = M[d:, d:] = B
            M[:d, d:] = part * (scale / top)
            G = chosen.evaluate_block(checked(M.numpy()), d).gradient
            result += torch.from_numpy(G[d:, :d]).to(B.device) * (sign * top / scale)
    return result


def _as_batch(B: Tensor) -> Tensor:
    if B.ndim < 2 or B.shape[-1] != B.shape[-2] or B.shape[-1] == 0:
        raise InputError(f"B has to be a square matrix with at least one row, or a batch of them; got {tuple(B.shape)}")
    return B.reshape(-1, *B.shape[-2:])


def _leading(x: Tensor, dim: int | None) -> Tensor:
    assert dim is not None
    return x.movedim(dim, 0)

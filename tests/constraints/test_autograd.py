"""acyclic.torch: first and second derivatives, batches, precision, what is refused, and an example that trains."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import acyclic
from acyclic.constraints.catalogue import CONSTRAINTS, constraint
from acyclic.errors import InputError

torch = pytest.importorskip("torch")
from acyclic.constraints.autograd import dag_constraint, second_derivative  # noqa: E402

OBJECTS = [
    *(constraint(name) for name in CONSTRAINTS),
    constraint("binomial", alpha=0.3),
    constraint("polynomial", coefficients=lambda i: 2.0**-i),
    constraint("tmpi", eps=1e-3),
    constraint("fast-tmpi", eps=1e-2, loop="repository"),
    constraint("log-det", s=2.0),
    constraint("adaptive-tmpi", s=0.8),
    constraint("spectral-radius", bound="least"),
    constraint("single-term", p=1),
    constraint("fast-tmpi", components=True),
    constraint("fast-tmpi") + 2 * constraint("log-det"),
    constraint("fast-tmpi") + constraint("spectral-radius"),
    constraint("exponential") * (constraint("analytic-2") + constraint("log-det")),
]
every = pytest.mark.parametrize("chosen", OBJECTS, ids=lambda chosen: repr(chosen).split(" at 0x")[0][:60])
twice = pytest.mark.parametrize(
    "chosen", [one for one in OBJECTS if one.is_trace], ids=lambda chosen: repr(chosen).split(" at 0x")[0][:60]
)


def weights(*shape, seed=0, dtype=torch.float64):
    """Signed weights whose squares have a spectral radius of about 0.6."""
    W = np.random.default_rng(seed).uniform(0.3, 0.9, shape) * np.random.default_rng(seed + 1).choice([-1, 1], shape)
    return torch.tensor(W * (1.1 / shape[-1]) ** 0.5, dtype=dtype, requires_grad=True)


@every
@pytest.mark.parametrize(("of", "log1p"), [("squares", False), ("squares", True), ("absolute", False)])
def test_gradcheck(chosen, of, log1p):
    W = weights(3, 3)
    assert torch.autograd.gradcheck(
        lambda W: dag_constraint(W, chosen, of=of, log1p=log1p), [W], eps=1e-7, atol=1e-6, rtol=1e-5
    )


@twice
@pytest.mark.parametrize("log1p", [False, True])
def test_second_derivatives(chosen, log1p):
    W = weights(2, 3, 3)
    assert torch.autograd.gradgradcheck(
        lambda W: dag_constraint(W, chosen, log1p=log1p), [W], eps=1e-6, atol=1e-6, rtol=1e-5
    )


def test_second_derivatives_of_a_polynomial_as_they_are_written():
    """d/dt Σ i c_i (Bⁱ⁻¹)ᵀ at order 3: 2 c_2 Vᵀ + 3 c_3 (BV + VB)ᵀ."""
    B, V = torch.rand(3, 3, dtype=torch.float64), torch.randn(3, 3, dtype=torch.float64)
    found = second_derivative(B, V, constraint("polynomial", coefficients=[1.0, 0.5, 0.25]))
    torch.testing.assert_close(found, (2 * 0.5 * V + 3 * 0.25 * (B @ V + V @ B)).T, rtol=1e-12, atol=1e-13)


def test_a_hessian_by_reverse_mode_twice():
    W = weights(3, 3).detach()
    H = torch.func.jacrev(torch.func.jacrev(lambda W: dag_constraint(W, "inverse-trace", of="matrix")))(0.3 * W.abs())
    Y = torch.linalg.inv(torch.eye(3, dtype=torch.float64) - 0.3 * W.abs())
    # ∂/∂B_kl of (Y²)_ji = Y_jk (Y²)_li + (Y²)_jk Y_li.
    expected = torch.einsum("jk,li->ijkl", Y, Y @ Y) + torch.einsum("jk,li->ijkl", Y @ Y, Y)
    torch.testing.assert_close(H, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["spectral-radius", "balanced", "single-term"])
def test_second_derivatives_are_refused_where_there_are_none(name):
    W = weights(3, 3)
    (slope,) = torch.autograd.grad(dag_constraint(W, name), W, create_graph=True)
    with pytest.raises(InputError, match=f"{name} has no second derivatives"):
        slope.sum().backward()


def test_third_derivatives_are_refused():
    W = weights(3, 3)
    (slope,) = torch.autograd.grad(dag_constraint(W), W, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), W, create_graph=True)
    with pytest.raises(InputError, match="no third derivatives"):
        bend.sum().backward()


@every
def test_a_batch_is_its_parts(chosen):
    W = weights(2, 3, 4, 4)
    h = dag_constraint(W, chosen)
    h.sum().backward()
    assert h.shape == (2, 3)
    for at in np.ndindex(2, 3):
        alone = W.detach()[at].requires_grad_()
        one = dag_constraint(alone, chosen)
        one.backward()
        assert one.item() == h[at].item() and torch.equal(alone.grad, W.grad[at])


def test_vmap_over_any_dimension():
    W = weights(4, 4, 5).detach()

    def h(W):
        return dag_constraint(W, "log-det")

    expected = torch.stack([h(W[..., k]) for k in range(5)])
    assert torch.equal(torch.func.vmap(h, in_dims=2)(W), expected)
    slopes = torch.func.vmap(torch.func.grad(h), in_dims=2, out_dims=2)(W)
    assert torch.equal(slopes, torch.stack([torch.func.grad(h)(W[..., k]) for k in range(5)], dim=2))
    bends = torch.func.vmap(torch.func.jacrev(torch.func.grad(h)), in_dims=2)(W)
    torch.testing.assert_close(bends[3], torch.func.jacrev(torch.func.grad(h))(W[..., 3]))
    assert dag_constraint(torch.zeros(0, 3, 3)).shape == (0,)


def test_it_is_one_node_of_a_larger_graph():
    W = torch.tensor([[0.0, 0.4, 0.0], [0.0, 0.0, 0.7], [-0.9, 0.2, 0.0]], dtype=torch.float64, requires_grad=True)
    h = dag_constraint(W, "inverse-trace")
    (3 * h**2 + h).backward()
    G = torch.linalg.inv(torch.eye(3, dtype=torch.float64) - (W * W).detach()).T
    torch.testing.assert_close(W.grad, (6 * h.detach() + 1) * 2 * W.detach() * (G @ G), rtol=1e-12, atol=1e-14)
    assert h.shape == () and h.dtype == torch.float64


@every
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_the_logarithm_can_be_squared_in_any_precision(chosen, dtype):
    W = (weights(30, 30, dtype=torch.float32) * 12).to(dtype).detach().requires_grad_()
    h = dag_constraint(W, chosen, log1p=True)
    (h**2).backward()
    assert h.dtype == W.grad.dtype == dtype
    assert 0 < h < 110 and torch.isfinite(h**2) and torch.isfinite(W.grad).all()


def test_the_value_itself_overflows_when_squared_in_single_precision():
    W = (weights(100, 100, dtype=torch.float32) * 30).detach()
    assert torch.isfinite(dag_constraint(W)) and not torch.isfinite(dag_constraint(W) ** 2)


def test_other_tensors():
    assert dag_constraint(torch.eye(3, dtype=torch.int64)).dtype == torch.float64
    W = weights(4, 4)
    B = (W * W).detach().requires_grad_()
    assert dag_constraint(B, of="matrix").item() == dag_constraint(W).item()
    torch.testing.assert_close(dag_constraint(W.T).item(), dag_constraint(W).item())


@pytest.mark.parametrize(
    ("wrong", "options", "message"),
    [
        (torch.zeros(3), {}, "square matrix"),
        (torch.zeros(4, 2, 3), {}, "square matrix"),
        (torch.zeros(0, 0), {}, "square matrix"),
        (torch.full((2, 2), torch.nan), {}, "finite"),
        (-torch.ones(2, 2), {"of": "matrix"}, "non-negative"),
        (torch.ones(2, 2), {"of": "cubes"}, "of has to be one of"),
        (torch.ones(2, 2), {"constraint": "acyclic"}, "there is no constraint"),
    ],
)
def test_what_is_wrong_is_named(wrong, options, message):
    with pytest.raises(InputError, match=message):
        dag_constraint(wrong, **options)


def test_it_is_a_public_name_that_does_not_cost_an_import():
    assert acyclic.torch.dag_constraint is dag_constraint and "torch" in dir(acyclic)
    code = "import sys, acyclic; from acyclic import *; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_torch_the_missing_extra_is_named():
    code = (
        "import sys; sys.modules['torch'] = None; import acyclic\ntry: acyclic.torch\nexcept ImportError as e: print(e)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "neural" in done.stdout


def test_the_example_trains_a_network_to_the_graph():
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "train_network.py"))
    found, truth = example["main"](show=False)
    assert acyclic.compare(truth, found).shd <= 1

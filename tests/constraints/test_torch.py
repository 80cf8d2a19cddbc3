"""The bridge from torch to the constraints: in place on the CPU, the same numbers on other devices."""

import numpy as np
import pytest

from acyclic.constraints.catalogue import CONSTRAINTS, constraint
from acyclic.errors import InputError
from constraints.test_catalogue import rounding

torch = pytest.importorskip("torch")
from acyclic.constraints import torch as bridge  # noqa: E402
from acyclic.constraints.torch import evaluate_on_device, value_and_gradient  # noqa: E402

OBJECTS = [
    *(constraint(name) for name in CONSTRAINTS),
    constraint("binomial", alpha=0.3),
    constraint("polynomial", coefficients=lambda i: 2.0**-i),
    constraint("polynomial", coefficients=[1.0] * 100),
    constraint("single-term", p=1),
    constraint("spectral-radius", bound="least"),
    constraint("tmpi", eps=1e-3),
    constraint("fast-tmpi", eps=1e-2, loop="repository"),
    constraint("log-det", s=2.0),
    constraint("analytic-0"),
    constraint("analytic-3", s=8.0).derivative(),
    constraint("inverse-trace", s=3.0),
    constraint("fast-tmpi", components=True),
    constraint("fast-tmpi") + 2 * constraint("exponential"),
    0.5 * (constraint("log-det") + constraint("inverse-trace")),
    constraint("exponential") * constraint("analytic-1"),
]
every = pytest.mark.parametrize("chosen", OBJECTS, ids=lambda chosen: repr(chosen).split(" at 0x")[0][:60])


def matrix(d, radius, seed=0, density=0.5):
    rng = np.random.default_rng(seed)
    B = rng.uniform(0, 1, (d, d)) * (rng.random((d, d)) < density)
    np.fill_diagonal(B, 0)
    return B * (radius / max(np.abs(np.linalg.eigvals(B)).max(), 1e-3))


def dag(d, seed=0, scale=4.0):
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    return np.triu(rng.uniform(0, scale, (d, d)), 1)[np.ix_(order, order)]


CASES = {
    "zero": np.zeros((3, 3)),
    "one node": np.array([[0.3]]),
    "two": np.array([[0.0, 0.7], [0.2, 0.0]]),
    **{f"d={d} radius={r}": matrix(d, r, seed=d) for d in (3, 7, 8, 16, 25) for r in (0.05, 0.6, 1.7)},
    "dag": dag(9),
    "dense dag": dag(20),
    "far out": matrix(12, 1e9),
    "overflow": matrix(30, 1e12),
}


@every
@pytest.mark.parametrize("case", CASES)
def test_the_device_form_gives_the_numbers_of_the_numpy_form(chosen, case):
    B = CASES[case]
    expected, G = chosen.value_and_gradient(B)
    found = evaluate_on_device(torch.from_numpy(B), chosen)
    # On a DAG both values are rounding alone, which differs from CPU to CPU.
    assert found.value == pytest.approx(expected, rel=1e-10, abs=rounding(B, G))
    np.testing.assert_allclose(found.gradient.numpy(), G, rtol=1e-10, atol=1e-10 * max(1, min(np.abs(G).max(), 1e12)))
    assert found.in_domain == chosen.evaluate(B).in_domain


@every
@pytest.mark.parametrize("radius", [0.5, 3.0, 1e4])
def test_single_precision_stays_finite(chosen, radius):
    # At radius 3 and order 128 the naive sum is about 1e61, beyond single precision.
    B = torch.from_numpy(matrix(100, radius, density=0.2)).float()
    for value, gradient in (value_and_gradient(B, chosen), evaluate_on_device(B, chosen)[:2]):
        assert np.isfinite(value) and torch.isfinite(gradient).all()
        assert gradient.dtype == torch.float32
    expected, G = chosen.value_and_gradient(B.numpy())
    found = evaluate_on_device(B, chosen)
    assert found.value == pytest.approx(expected, rel=1e-3)
    np.testing.assert_allclose(found.gradient, G, rtol=1e-3, atol=1e-5 * G.max())


def test_the_naive_form_overflows_where_the_bridge_does_not():
    B = torch.from_numpy(matrix(100, 3.0, density=0.2)).float()
    total, power = torch.zeros_like(B), torch.eye(100)
    for _ in range(100):
        power = power @ B
        total = total + power
    assert not torch.isfinite(total.trace())
    assert np.isfinite(value_and_gradient(B, "geometric")[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_tensor_on_the_cpu_is_read_in_place_and_left_alone(dtype, monkeypatch):
    B = torch.rand((6, 6), dtype=dtype)
    chosen, seen = constraint("fast-tmpi"), []
    monkeypatch.setattr(type(chosen), "evaluate", lambda self, A: seen.append(A) or (0.0, np.zeros((6, 6)), 1, True))
    before = B.clone()
    value_and_gradient(B, chosen)
    assert seen[0].__array_interface__["data"][0] == B.data_ptr() and seen[0].dtype == str(dtype).split(".")[1]
    assert torch.equal(B, before)


def test_strided_tensors_and_other_precisions():
    B = torch.from_numpy(matrix(7, 0.7))
    expected = constraint("fast-tmpi").value_and_gradient(B.numpy().T)
    for form in (value_and_gradient(B.T), evaluate_on_device(B.T, constraint("fast-tmpi"))[:2]):
        assert form[0] == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(form[1], expected[1], rtol=1e-12)
    assert value_and_gradient(torch.zeros((2, 2), dtype=torch.int64))[0] == 0.0


@pytest.mark.parametrize(
    "wrong",
    [torch.zeros(3), torch.zeros((2, 3)), -torch.ones((2, 2)), torch.full((2, 2), torch.nan), torch.empty(0, 0)],
)
def test_wrong_matrices_are_named(wrong):
    for function in (value_and_gradient, lambda B: evaluate_on_device(B, constraint("tmpi"))):
        with pytest.raises(InputError, match="B has to be"):
            function(wrong)
    with pytest.raises(InputError, match="there is no constraint 'acyclic'"):
        value_and_gradient(torch.zeros((2, 2)), "acyclic")


def test_every_constraint_has_a_device_form_but_those_that_are_told():
    assert {name for name, kind in CONSTRAINTS.items() if kind not in bridge.FORMS} == {"spectral-radius", "balanced"}


def test_devices_take_the_device_form(monkeypatch):
    monkeypatch.setattr(bridge, "evaluate_on_device", lambda A, chosen: bridge.Evaluation(7.0, A.new_ones(2, 2)))

    class Elsewhere(torch.Tensor):
        @property
        def device(self):
            return torch.device("meta")

    assert value_and_gradient(torch.zeros((2, 2)).as_subclass(Elsewhere))[0] == 7.0

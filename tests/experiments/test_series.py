"""Power series order by order, against their closed forms and finite differences."""

import numpy as np
import pytest
from scipy.linalg import expm

from acyclic.constraints.catalogue import constraint
from acyclic.experiments.series import cyclic, gradient_norms, needed_order, powers, truncation


@pytest.fixture
def B():
    rng = np.random.default_rng(0)
    made = rng.random((7, 7)) * (rng.random((7, 7)) < 0.5)
    return 0.6 * made / np.abs(np.linalg.eigvals(made)).max()


def test_norms_are_those_of_the_gradient_of_each_term(B):
    found = gradient_norms(B)
    for i in found["orders"]:
        numeric = np.zeros_like(B)
        for j, k in np.ndindex(*B.shape):
            step = np.zeros_like(B)
            step[j, k] = 1e-6
            up, down = (np.trace(np.linalg.matrix_power(B + sign * step, i)) for sign in (1, -1))
            numeric[j, k] = (up - down) / 2e-6
        assert found["geometric"][i - 1] == pytest.approx(np.linalg.norm(numeric), abs=1e-7)


def test_terms_of_all_orders_add_up_to_the_constraints(B):
    d, terms = len(B), powers(B)
    coefficients = {
        name: [row / geometric for row, geometric in zip(gradient_norms(B)[name], gradient_norms(B)["geometric"])]
        for name in ("exponential", "binomial")
    }
    for name, given in coefficients.items():
        gradient = sum(i * c * terms[i - 1].T for i, c in enumerate(given, start=1))
        exact = constraint(name).value_and_gradient(B)[1]
        # The exponential has orders beyond d, which are small here.
        assert np.abs(gradient - exact).max() < (1e-3 if name == "exponential" else 1e-12)
    assert np.abs(expm(B).T - constraint("exponential").value_and_gradient(B)[1]).max() < 1e-12 and d == 7


def test_truncation_errors_are_the_differences_of_partial_sums(B):
    found, terms = truncation(B), powers(B)
    geometric, gradient = constraint("geometric").value_and_gradient(B)
    for k in found["k"]:
        value = sum(np.trace(terms[i]) for i in range(1, k + 1))
        slope = sum(i * terms[i - 1].T for i in range(1, k + 1))
        assert found["value_error"][k - 1] == pytest.approx(geometric - value, abs=1e-14)
        assert found["gradient_error"][k - 1] == pytest.approx(np.abs(gradient - slope).max(), abs=1e-13)
        assert found["power"][k - 1] == pytest.approx(np.abs(terms[k]).max())
    assert found["stop"] == constraint("tmpi").evaluate(B).order


@pytest.mark.parametrize("radius", [0.1, 0.9])
def test_cyclic_matrices_have_the_radius_asked_for(radius):
    dag = np.triu(np.random.default_rng(1).random((12, 12)), 1)
    B = cyclic(dag, radius)
    assert np.abs(np.linalg.eigvals(B)).max() == pytest.approx(radius, rel=1e-9)
    assert (B >= 0).all() and ((B > 0) | (dag == 0)).all()


def test_the_order_needed_is_that_of_tmpi_up_to_d():
    B = np.array([[0.0, 0.5], [0.5, 0.0]])
    k = needed_order(B)
    assert 0.5**k <= 1e-6 < 0.5 ** (k - 1)
    weak = 1e-4 * np.ones((5, 5))
    assert needed_order(weak) == constraint("tmpi").evaluate(weak).order == 2
    assert needed_order(np.ones((3, 3)), most=50) == 50

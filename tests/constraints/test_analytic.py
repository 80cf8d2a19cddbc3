"""Analytic constraints: each order and every combination against its power series, and the algebra itself."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from acyclic.constraints.catalogue import constraint
from acyclic.errors import InputError
from acyclic.learners import Notears
from constraints.test_catalogue import acyclic, nonnegative, positive, series

ORDERS = [constraint(f"analytic-{n}") for n in range(9)]
exponential, log_det = constraint("exponential"), constraint("log-det", s=1.3)
COMBINED = [
    ORDERS[1] + ORDERS[3],
    ORDERS[2] * ORDERS[1],
    ORDERS[0] * ORDERS[2],
    ORDERS[1] * exponential,
    exponential * ORDERS[2] + ORDERS[0],
    ORDERS[0].derivative(),
    ORDERS[3].derivative().derivative(),
    (ORDERS[1] * ORDERS[2] + log_det).derivative(),
    (ORDERS[0] * ORDERS[1]).derivative().derivative(),
    ORDERS[0] * constraint("adaptive", s=1.5) + exponential,
    2.5 * ORDERS[1] * exponential,
    (0.5 * (ORDERS[0] + exponential)).derivative(),
    log_det,
    log_det.derivative(),
    constraint("inverse-trace", s=1.3),
    constraint("inverse-trace", s=1.3).derivative(),
    constraint("adaptive", s=1.2).derivative(),
]
every = pytest.mark.parametrize("made", [*ORDERS, *COMBINED], ids=lambda made: made.name)


@every
@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_is_the_trace_of_its_power_series(made, d):
    B = positive(d, 0.4)
    h, G = made.value_and_gradient(B)
    expected_h, expected_G = series(B, made.coefficients(120)[1:])
    # 0.4¹²⁰ and rounding, of the logarithm of a matrix too.
    assert_allclose(h, expected_h, rtol=1e-11)
    assert_allclose(G, expected_G, rtol=1e-10)


@every
def test_gradient_is_that_of_the_value(made):
    B = positive(4, 0.5)
    G = made.value_and_gradient(B)[1]
    for at in np.ndindex(B.shape):
        step = np.zeros_like(B)
        step[at] = 1e-6
        difference = made.value_and_gradient(B + step)[0] - made.value_and_gradient(B - step)[0]
        assert abs(difference / 2e-6 - G[at]) < 1e-6 * np.abs(G).max()
    single = made.value_and_gradient(B.astype(np.float32))[1]
    assert single.dtype == np.float32
    assert_allclose(single, G, rtol=5e-4)


@pytest.mark.parametrize("s", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("n", range(1, 9))
def test_orders_as_they_are_published(n, s):
    """tr (I − B/s)⁻ⁿ − d with gradient (n/s) [(I − B/s)⁻⁽ⁿ⁺¹⁾]ᵀ."""
    B = positive(5, 0.5 * s)
    h, G = constraint("analytic", order=n, s=s).value_and_gradient(B)
    Z = np.linalg.inv(np.eye(5) - B / s)
    assert_allclose(h, np.trace(np.linalg.matrix_power(Z, n)) - 5, rtol=1e-11)
    assert_allclose(G, n / s * np.linalg.matrix_power(Z, n + 1).T, rtol=1e-11)
    c = constraint("analytic", order=n, s=s).coefficients(6)
    assert_allclose(c, [comb(n + i - 1, i) / s**i for i in range(7)], rtol=1e-14)


def test_the_algebra():
    B = positive(6, 0.6)

    def both(made):
        h, G = made.value_and_gradient(B)
        return np.append(G.ravel(), h)

    a, b, c = ORDERS[1], ORDERS[2], constraint("analytic-1", s=1.7)
    assert_allclose(both(a * b), both(ORDERS[3]), rtol=1e-11)
    assert_allclose(both(a + c), both(a) + both(c), rtol=1e-12)
    assert_allclose(both(a * (b + c)), both(a * b + a * c), rtol=1e-11)
    assert_allclose(both(a * c), both(c * a), rtol=1e-11)
    assert_allclose(both((a * c).derivative()), both(a.derivative() * c + a * c.derivative()), rtol=1e-11)
    assert exponential.derivative() == exponential
    # The derivative of −log(1 − x) is 1/(1 − x), and (1 − x)⁻² the next.
    assert_allclose(both(ORDERS[0].derivative()), both(a), rtol=1e-12)
    assert_allclose(both(a.derivative()), both(b), rtol=1e-12)
    assert_allclose(both(ORDERS[0]), both(constraint("log-det")), rtol=1e-13)
    assert_allclose(both(a), both(constraint("inverse-trace")), rtol=1e-13)
    assert_allclose(both(a * exponential), both(exponential * a), rtol=1e-11)


@settings(deadline=None, max_examples=40)
@given(nonnegative, st.sampled_from([0, 1, 4, 8]), st.sampled_from([1e-6, 1.0, 1e6]))
def test_follows_the_radius_and_stays_finite(B, n, units):
    made = constraint("analytic", order=n).for_point(B * units)
    found = made.evaluate(B * units)
    assert found.in_domain and np.isfinite(found.value) and np.isfinite(found.gradient).all()
    if acyclic(B):
        assert found.value <= 1e-9 * max(np.abs(found.gradient).max() * (B * units).max(), 1)
    elif B.any() and made.s > made.least:
        assert found.value > 0


@every
@pytest.mark.parametrize("radius", [1.5, 40.0, 1e6])
def test_outside_of_the_domain_it_is_finite_and_says_so(made, radius):
    found = made.evaluate(positive(12, radius))
    assert np.isfinite(found.value) and np.isfinite(found.gradient).all() and not found.in_domain


def test_combinations_follow_part_by_part():
    B = positive(4, 0.3)
    made = (ORDERS[1] + ORDERS[2] * exponential).for_point(B)
    assert made.left.s == made.right.left.s == pytest.approx(0.45)
    alone = exponential * ORDERS[1]
    assert alone.for_point(np.zeros((3, 3))) is alone


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: constraint("analytic", order=9), "order has to be"),
        (lambda: constraint("analytic", order=1.5), "order has to be"),
        (lambda: constraint("analytic-2", s=0), "s has to be positive"),
        (lambda: constraint("analytic-9"), "there is no constraint 'analytic-9'"),
        (lambda: ORDERS[1] * constraint("fast-tmpi"), "analytic-1 times fast-tmpi is not defined"),
        (lambda: constraint("analytic", derived=9), "derived has to be"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_learner_takes_orders_by_name_and_combinations():
    from acyclic.data.simulate import simulate

    data = simulate(7, 800, graph="ER1", random_state=5)
    for chosen in ("analytic-3", ORDERS[1] + ORDERS[2]):
        model = Notears(constraint=chosen, solver="central-path", loss="l2").fit(data.X)
        assert (model.causal_graph_.adjacency == data.graph.adjacency).all()

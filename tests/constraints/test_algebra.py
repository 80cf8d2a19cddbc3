"""Sums and multiples of constraints of any kind; products and derivatives are in test_analytic."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

import acyclic
from acyclic.constraints.catalogue import CONSTRAINTS, constraint
from acyclic.errors import InputError
from acyclic.learners import Golem, Notears, NotearsMlp
from constraints.test_catalogue import permuted_triangle, positive

fast, log_det = constraint("fast-tmpi"), constraint("log-det")
pairs = pytest.mark.parametrize("right", ["fast-tmpi", "log-det"])


@pairs
@pytest.mark.parametrize("left", CONSTRAINTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_value_and_gradient_are_the_sums_of_theirs(left, right, dtype):
    B = positive(6, 0.5).astype(dtype)
    one, other = constraint(left).evaluate(B), constraint(right).evaluate(B)
    for made in (constraint(left) + 2.5 * constraint(right), np.float64(2.5) * constraint(right) + constraint(left)):
        found = made.evaluate(B)
        assert found.gradient.dtype == dtype
        rounding = 4 * np.finfo(dtype).eps
        assert_allclose(found.value, one.value + 2.5 * other.value, rtol=rounding)
        assert_allclose(found.gradient, one.gradient + 2.5 * other.gradient, rtol=rounding)
        assert found.order == max(one.order or 0, other.order or 0) or found.order is None
    assert (constraint(left) + constraint(right)).linear_coefficient(6) == (
        constraint(left).linear_coefficient(6) + constraint(right).linear_coefficient(6)
    )


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_sum_is_in_its_domain_where_both_are(name):
    B = positive(12, 40.0)
    assert not (log_det + constraint(name)).evaluate(B).in_domain
    found = (fast + constraint(name)).evaluate(B)
    assert found.in_domain == (fast.evaluate(B).in_domain and constraint(name).evaluate(B).in_domain)
    assert np.isfinite(found.value) and np.isfinite(found.gradient).all()


def test_names_are_read_as_they_are_written():
    assert (fast + 2 * log_det).name == "fast-tmpi + 2·log-det"
    assert (0.5 * (fast + log_det)).name == "0.5·(fast-tmpi + log-det)"
    assert ((log_det + constraint("exponential")) * constraint("analytic-2")).name == (
        "(log-det + exponential)·(analytic-2)"
    )


def test_sum_adds_up_any_number():
    assert sum([fast, log_det, fast]) == fast + log_det + fast
    with pytest.raises(TypeError):
        1 + fast


def test_support_is_the_wider_one():
    spread = constraint("single-term")
    assert spread.support != fast.support == (fast + log_det).support
    assert (fast + spread).support == (spread + fast).support == (2 * spread).support == spread.support
    with pytest.raises(InputError, match="components"):
        constraint(fast + constraint("balanced"), components=True)


@pytest.mark.parametrize(
    "made", [constraint("fast-geometric") + log_det, log_det + 3 * constraint("single-term"), 2 * log_det]
)
def test_on_components_they_are_the_same(made):
    B = np.zeros((150, 150))
    B[:70, :70], B[70:140, 70:140] = positive(70, 0.5, 1), positive(70, 0.7, 2)
    B[:70, 140:] = 0.3
    h, G = made.value_and_gradient(B)
    found_h, found_G = constraint(made, components=True).value_and_gradient(B)
    assert_allclose(found_h, h, rtol=1e-12)
    inside = B > 0
    assert_allclose(found_G[inside], G[inside], rtol=1e-10, atol=1e-12 * G[inside].max())


def test_every_part_follows_the_point():
    B = positive(5, 0.3)
    followed = 2 * (constraint("adaptive-tmpi") + fast) + constraint("adaptive")
    moved = followed.for_point(B)
    assert moved.left.inside.left.s == moved.right.s == pytest.approx(0.45)
    assert moved.left.inside.right is fast and moved.left.factor == 2
    assert (fast + log_det).for_point(B) == fast + log_det
    assert moved.value_and_gradient(B)[0] == pytest.approx(
        2 * (constraint("adaptive-tmpi", s=moved.right.s).value_and_gradient(B)[0] + fast.value_and_gradient(B)[0])
        + constraint("adaptive", s=moved.right.s).value_and_gradient(B)[0]
    )


def test_log_det_keeps_its_scale_in_a_combination():
    B = positive(5, 0.3)
    made = constraint("log-det", s=1.3) * constraint("analytic-2")
    assert made.for_point(B).left.s == 1.3 and made.for_point(B).right.s == pytest.approx(0.45)
    assert made.derivative().for_point(B).left.left.s == 1.3


def test_a_dag_has_none():
    B = permuted_triangle(12, 1, 2.0, 0.4)
    made = 3 * (fast + constraint("balanced")) + log_det
    assert made.value_and_gradient(B)[0] <= 1e-9


def test_they_can_be_stored():
    made = 2 * (fast + constraint("adaptive", margin=0.2))
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(made) == hash(2 * (fast + constraint("adaptive", margin=0.2)))


@dataclass(frozen=True)
class Wrong(acyclic.Constraint):
    name = "wrong"

    def evaluate_block(self, B, size):
        return 0.0, B


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fast * log_det, "fast-tmpi times log-det is not defined"),
        (lambda: log_det * fast, "log-det times fast-tmpi is not defined"),
        (lambda: -1 * fast, "positive numbers only; got -1"),
        (lambda: fast * 0, "positive numbers only; got 0"),
        (lambda: log_det * np.nan, "positive numbers only; got nan"),
        (lambda: np.inf * log_det, "positive numbers only; got inf"),
        (lambda: Notears(constraint=fast + 2 * Wrong()).fit(np.eye(4)), "evaluate_block of Wrong returned a tuple"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("other", ["fast-tmpi", None, [1.0]])
def test_other_things_are_left_to_python(other):
    with pytest.raises(TypeError):
        fast + other
    with pytest.raises(TypeError):
        log_det * other


def test_learners_take_them():
    data = acyclic.simulate(7, 800, graph="ER1", random_state=5)
    made = fast + 0.5 * constraint("adaptive")
    for learner in (
        Notears(constraint=made),
        Notears(constraint=made, solver="central-path", loss="l2"),
        Golem(constraint=made),
    ):
        model = learner.fit(data.X)
        assert (model.causal_graph_.adjacency == data.graph.adjacency).all()
        assert model.verdict_.settings["constraint"] == "fast-tmpi + 0.5·adaptive"


def test_a_network_takes_one():
    pytest.importorskip("torch")
    data = acyclic.simulate(4, 200, graph="ER1", random_state=5)
    model = NotearsMlp(constraint=fast + log_det).fit(data.X)
    assert model.verdict_.h <= model.h_tol

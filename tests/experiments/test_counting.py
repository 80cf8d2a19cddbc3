"""Counted products: numbers that follow from the algorithms on paper."""

import threading

import numpy as np
import pytest

from acyclic.constraints import perron, resolvents
from acyclic.constraints.catalogue import constraint
from acyclic.experiments.counting import cost, counted_products, exponential_products
from acyclic.experiments.series import cyclic, needed_order


def matrix(d, radius=0.5):
    return cyclic(np.triu(np.random.default_rng(d).random((d, d)) < 4 / d, 1) * 1.0, radius)


@pytest.mark.parametrize("d", [5, 16, 33])
def test_products_on_paper(d):
    B = matrix(d, 0.9)
    digits = f"{d - 1:b}"
    squarings_and_factors = len(digits) - 1 + digits.count("1") - 1
    assert counted_products(constraint("geometric"), B) == d - 1
    assert counted_products(constraint("polynomial"), B) == d - 1
    assert counted_products(constraint("binomial"), B) == squarings_and_factors
    assert counted_products(constraint("log-det"), B) == pytest.approx(1)
    assert counted_products(constraint("inverse-trace"), B) == pytest.approx(2)


@pytest.mark.parametrize("radius", [0.1, 0.5, 0.8])
def test_tmpi_takes_one_product_for_each_order_and_fast_tmpi_three_for_each_doubling(radius):
    B = matrix(40, radius)
    order = constraint("tmpi").evaluate(B).order
    assert counted_products(constraint("tmpi"), B) == order - 1
    doublings = constraint("fast-tmpi").evaluate(B).order.bit_length() - 1
    # The first doubling squares only, and the last need not.
    assert 3 * (doublings - 1) <= counted_products(constraint("fast-tmpi"), B) <= 3 * (doublings - 1) + 1
    assert counted_products(constraint("fast-geometric"), B) <= 3 * np.log2(40) + 2


def test_the_classes_of_the_paper():
    small, large = matrix(20, 0.3), matrix(80, 0.3)
    growth = {
        name: counted_products(constraint(name), large) / counted_products(constraint(name), small)
        for name in ("geometric", "fast-geometric", "single-term", "tmpi", "fast-tmpi")
    }
    assert growth["geometric"] == pytest.approx(79 / 19)
    assert max(growth["fast-geometric"], growth["single-term"]) < 2
    assert max(growth["tmpi"], growth["fast-tmpi"]) < 1.4


def test_the_exponential_takes_more_squarings_where_the_matrix_is_larger():
    counts = [exponential_products(scale * np.ones((4, 4))) for scale in (1e-4, 0.01, 0.1, 0.3, 2.0, 8.0, 32.0)]
    assert counts == sorted(counts) and counts[0] == pytest.approx(2 + 4 / 3)
    assert counts[-1] - counts[-2] == 2 and counts[-2] - counts[-3] == 2


def test_counting_leaves_no_trace():
    B, before = matrix(12), (resolvents.lapack, perron.lapack)
    made = constraint("fast-tmpi")
    counted_products(made, B)
    assert (resolvents.lapack, perron.lapack) == before and made._pool == []
    value, gradient = made.value_and_gradient(B)
    assert type(gradient) is np.ndarray
    assert value == constraint("fast-tmpi").value_and_gradient(B)[0]


def test_other_threads_are_not_counted():
    B, stop = matrix(60), threading.Event()

    def busy():
        while not stop.is_set():
            constraint("log-det").value_and_gradient(B)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        assert [counted_products(constraint("log-det"), B) for _ in range(50)] == [pytest.approx(1)] * 50
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("name", ["exponential", "spectral-radius", "single-term", "fast-tmpi"])
def test_the_cost_of_a_constraint(name):
    B = matrix(15)
    found = cost({"constraint": name}, B)
    assert found["d"] == 15 and found["k"] == needed_order(B)
    assert found["spectral_radius"] == pytest.approx(0.5) and found["products"] > 0
    assert found["seconds"] > 0 and found["product_seconds"] > 0
    assert found["order"] == constraint(name).evaluate(B).order

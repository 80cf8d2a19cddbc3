"""Where nothing is known, a mask costs nothing: kernels see none, and every bit is that of a run without one."""

from functools import partial

import numpy as np
import pytest

from acyclic import _native
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.discrete import order as order_module
from acyclic.discrete import search as search_module
from acyclic.discrete.order import equal_variance_order, polish
from acyclic.discrete.search import search_orders
from acyclic.discrete.selection import select_parents
from acyclic.scores.regression import least_squares

D = 30
DATA = simulate(D, 200, graph="ER2", variances=(0.5, 4.0), random_state=3)
MOMENTS = Moments.from_array(DATA.X)
START = np.random.default_rng(0).permutation(D)
FREE = {"unrestricted": Mask.unrestricted(D, MOMENTS.names), "no knowledge": Knowledge().compile(MOMENTS.names)}


def search(mask, noise):
    found = search_orders(MOMENTS, [START], noise=noise, mask=mask, effort=0.01)
    return np.concatenate([found.order, found.weights.ravel(), [found.score, *found.reached, found.kicks]])


WORK = {
    "order": lambda mask: equal_variance_order(MOMENTS, mask),
    "polish": lambda mask: polish(MOMENTS, START, mask),
    "selection": lambda mask: select_parents(MOMENTS, START, mask=mask),
    "selection, equal": lambda mask: select_parents(MOMENTS, START, noise="equal", mask=mask),
    "search": partial(search, noise="unequal"),
    "search, equal": partial(search, noise="equal"),
    "regression": lambda mask: least_squares(MOMENTS.covariance, DATA.graph.adjacency, mask),
}


@pytest.mark.parametrize("mask", FREE)
@pytest.mark.parametrize("work", WORK)
def test_a_free_mask_changes_no_bit(work, mask):
    assert WORK[work](FREE[mask]).tobytes() == WORK[work](None).tobytes()


@pytest.mark.parametrize("mask", FREE)
def test_a_kernel_is_given_no_mask_that_is_free(mask, monkeypatch):
    seen = []

    def watch(function, rules):
        def called(*args, **options):
            seen.append([args[place] for place in rules])
            return function(*args, **options)

        return called

    monkeypatch.setattr(_native, "select_parents", watch(_native.select_parents, (4, 5)))
    monkeypatch.setattr(order_module, "polish_order", watch(_native.polish_order, (2,)))
    monkeypatch.setattr(search_module, "OrderChain", watch(_native.OrderChain, (4, 5, 6)))
    for name in ("polish", "selection", "search"):
        WORK[name](FREE[mask])
    assert seen[:2] == [[None], [None, None]]
    assert len(seen) >= 3 and all(rules == [None, None, None] for rules in seen[2:])
    bound = Knowledge(forbidden=[("x0", "x1")]).compile(MOMENTS.names)
    seen.clear()
    WORK["selection"](bound)
    assert all(rule is not None for rule in seen[0])


@pytest.mark.parametrize("mask", FREE)
def test_whether_a_mask_is_free_is_found_once(mask):
    assert FREE[mask].is_free and "is_free" in vars(FREE[mask])
    assert FREE[mask].precedence is None and not FREE[mask].must_precede.any()


def test_a_mask_that_restricts_has_its_precedence():
    bound = Knowledge(required=[("x0", "x1")]).compile(MOMENTS.names)
    assert not bound.is_free and bound.precedence is bound.must_precede

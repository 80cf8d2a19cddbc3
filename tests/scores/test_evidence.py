import numpy as np
import pytest

import acyclic
from acyclic.data.moments import Moments
from acyclic.discrete.search import search_orders
from acyclic.scores.evidence import price_by_evidence, weigh_pairs
from acyclic.scores.local import GaussianScore, price_of_parent


def some_moments(scheme, graph, d=12, n=500):
    return Moments.from_array(acyclic.simulate(d, n, graph=graph, scheme=scheme, random_state=3).X)


def test_a_pair_shows_what_one_column_explains_of_the_other_beside_its_parents():
    """The naive form: scores of the later column with and without the earlier one, for all pairs of an order."""
    moments = some_moments("dao", "ER2", d=7)
    found = search_orders(moments, effort=0.0)
    order, score, expected = [int(i) for i in found.order], GaussianScore(moments, 0.0), []
    for place, node in enumerate(order):
        parents = set(np.flatnonzero(found.weights[:, node]).tolist())
        for other in order[:place]:
            gained = score.score(node, parents - {other}) - score.score(node, parents | {other})
            expected.append(gained * (500 - len(parents) - 2) / 500)
    shown = weigh_pairs(moments, found.order, found.weights)
    np.testing.assert_allclose(np.sort(shown), np.sort(expected), rtol=1e-9, atol=1e-9)
    rescaled = moments.scaled(np.geomspace(1e-3, 1e4, 7))
    np.testing.assert_allclose(weigh_pairs(rescaled, found.order, found.weights), shown, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(("share", "spread"), [(0.1, 30.0), (0.3, 30.0), (0.3, 300.0)])
def test_the_price_is_that_of_even_odds(share, spread, monkeypatch):
    """Pairs drawn from the mixture itself: the odds of an edge at the price are even, up to what 20 000 pairs tell."""
    rng = np.random.default_rng(1)
    related = rng.random(20_000) < share
    shown = rng.standard_normal(20_000) ** 2 * np.where(related, 1 + spread, 1.0)
    monkeypatch.setattr("acyclic.scores.evidence.weigh_pairs", lambda *_: shown)
    moments = Moments(10_000, np.zeros(50), np.eye(50))
    exact = (np.log1p(spread) + 2 * np.log((1 - share) / share)) * (1 + 1 / spread)
    # Of some 2000 related pairs the spread is known to 3 %, the odds to 3 %: less than 0.2 in the price, and the
    # neighbouring scales, which are doubled, smear it by less than that.
    assert price_by_evidence(moments, np.arange(50), np.zeros((50, 50))) == pytest.approx(exact, abs=0.4)


def test_small_effects_and_many_edges_lower_the_price_and_nothing_raises_it():
    prices = {}
    for scheme, graph in [("iscm", "ER1"), ("dao", "ER1"), ("dao", "ER4")]:
        moments = some_moments(scheme, graph)
        found = search_orders(moments, effort=0.0)
        prices[scheme, graph] = price_by_evidence(moments, found.order, found.weights)
    most = price_of_parent("ebic", 500, 12)
    assert 2 <= prices["dao", "ER4"] < prices["dao", "ER1"] < prices["iscm", "ER1"] <= most


def test_tables_that_tell_nothing_have_the_price_of_the_extended_bic():
    order, none = np.arange(3), np.zeros((3, 3))
    one = Moments(50, [0.0], [[1.0]])
    assert price_by_evidence(one, np.arange(1), np.zeros((1, 1))) == price_of_parent("ebic", 50, 1)
    two = Moments(500, np.zeros(2), np.eye(2))
    assert price_by_evidence(two, np.arange(2), np.zeros((2, 2))) == price_of_parent("ebic", 500, 2)
    unrelated, usual = Moments(300, np.zeros(3), np.eye(3)), price_of_parent("ebic", 300, 3)
    assert price_by_evidence(unrelated, order, none) == usual
    nothing_allowed = np.zeros((3, 3), dtype=bool)
    assert price_by_evidence(unrelated, order, none, nothing_allowed) == usual


def test_copies_and_constants_have_a_price():
    x = np.random.default_rng(0).standard_normal(300)
    moments = Moments.from_array(np.c_[x, x, x, np.zeros(300)])
    weights = np.zeros((4, 4))
    weights[0, 1] = weights[0, 2] = weights[1, 2] = 1.0
    assert 2 <= price_by_evidence(moments, np.arange(4), weights) <= price_of_parent("ebic", 300, 4)

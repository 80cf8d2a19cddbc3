import numpy as np
import pytest

import acyclic
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.facts import Standing
from acyclic.judging.deciding import decided_beyond, find_worth
from acyclic.scores.local import price_of_parent

FREE = Mask.unrestricted(10)


def test_other_scores_ask_for_what_an_edge_costs():
    moments = Moments(300, np.zeros(10), np.eye(10))
    assert decided_beyond(moments, None, None) == pytest.approx(np.log(300) + 2 * np.log(10))


def test_a_price_that_is_too_high_raises_the_limit_twice_and_one_that_is_too_low_does_not_matter():
    moments = Moments(300, np.zeros(10), np.eye(10))
    assert decided_beyond(moments, 12.0, 9.0) == 10.0
    assert decided_beyond(moments, 5.0, 9.0) == 4.0


def test_weak_and_many_edges_are_worth_less():
    worth = {}
    for graph, scheme in (("ER1", "iscm"), ("ER4", "dao")):
        data = acyclic.simulate(10, 1000, graph=graph, scheme=scheme, random_state=1)
        worth[scheme] = find_worth(Moments.from_array(data.X), data.graph.weights, FREE)
    assert worth["dao"] + 3 < worth["iscm"] <= price_of_parent("ebic", 1000, 10)


def test_the_order_of_the_columns_does_not_matter():
    data = acyclic.simulate(10, 300, graph="ER2", scheme="dao", random_state=2)
    moments, shuffled = Moments.from_array(data.X), np.random.default_rng(0).permutation(10)
    other = Moments.from_array(data.X[:, shuffled])
    weights = data.graph.weights
    here = find_worth(moments, weights, FREE)
    assert find_worth(other, weights[np.ix_(shuffled, shuffled)], FREE) == pytest.approx(here, rel=1e-6)


def test_a_clear_collider_is_decided():
    """Its direction is worth at most the price of the edge that its causes lack."""
    names = ["a", "b", "c", "x", "y", "z"]
    truth = acyclic.Dag.from_edges([("a", "b"), ("b", "c"), ("x", "z"), ("y", "z")], names=names)
    data = acyclic.simulate(n=1000, graph=truth, scheme="iscm", random_state=1)
    model = acyclic.OrderSearch().fit(data.X)
    assert model.causal_graph_.cpdag() == acyclic.Dag(truth.weights).cpdag()
    sure = {pair for pair, kind in model.verdict_.support.items() if kind.is_decided}
    assert sure == {("x3", "x5"), ("x4", "x5")}
    (priced,) = [fact for fact in model.verdict_.standing if fact.kind is Standing.PRICED]
    assert priced["price"] == model.price_ and 2 <= priced["worth"] <= model.price_
    assert model.verdict_.details["a direction is decided beyond"] == 4 + 2 * (priced["price"] - priced["worth"])

import numpy as np
import pytest

import acyclic
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.refine import Nearby, choose_member
from acyclic.discrete.search import search_graph
from acyclic.graphs.equivalence import find_cpdag
from acyclic.scores.local import gaussian_bic


def moments_of(d, seed, n=400):
    data = acyclic.simulate(n_nodes=d, n=n, variances=(0.5, 4.0), random_state=seed)
    return Moments.from_array(data.X, names=data.names)


@pytest.mark.parametrize("d", [5, 9])
def test_up_to_twenty_columns_it_is_the_best_graph_there_is(d):
    moments = moments_of(d, d)
    names = moments.names
    knowledge = Knowledge(forbidden=[(names[0], names[1])], roots=[names[2]])
    for mask in (None, knowledge.compile(names)):
        best = search_graph(moments, mask=mask, threads=1)
        again = Nearby.of(moments, np.arange(d)).learn(mask)
        assert (again.adjacency == (best.weights != 0)).all()
        assert again.score == pytest.approx(best.score, abs=1e-9)
        np.testing.assert_allclose(again.weights, best.weights)


def test_without_knowledge_the_answer_stays_what_it_was():
    moments = moments_of(26, 1)
    found = search_graph(moments, effort=0.3, threads=1)
    again = Nearby.of(moments, found.order).learn()
    assert again.score <= found.score + 1e-6
    if again.score > found.score - 1e-6 and find_cpdag(again.adjacency) == find_cpdag(found.weights != 0):
        assert (again.adjacency == (found.weights != 0)).all()


def test_beyond_twenty_columns_it_obeys_and_its_score_is_that_of_its_graph():
    moments = moments_of(30, 2)
    names, near = moments.names, Nearby.of(moments, np.arange(30))
    free = near.learn()
    (i, j), *_ = np.argwhere(free.adjacency).tolist()
    mask = Knowledge(required=[(names[j], names[i])], tiers=[names[5:10], names[10:20]]).compile(names)
    found = near.learn(mask)
    assert mask.check(found.adjacency) == []
    assert found.score == pytest.approx(gaussian_bic(moments, found.adjacency, near.price), rel=1e-9)
    assert (near.learn(mask).adjacency == found.adjacency).all()


def test_it_does_not_depend_on_units_or_the_order_of_the_columns():
    moments = moments_of(24, 3)
    order = np.random.default_rng(0).permutation(24)
    factors = np.exp(np.random.default_rng(1).normal(size=24))
    start = np.arange(24)
    one = Nearby.of(moments, start).learn().adjacency
    other = moments.scaled(factors).select([moments.names[k] for k in order])
    again = Nearby.of(other, np.argsort(order)[start]).learn().adjacency
    assert (again == one[np.ix_(order, order)]).all()


def test_the_member_follows_the_order_as_far_as_knowledge_lets_it():
    chain = np.eye(4, k=1, dtype=bool)
    free = Mask.unrestricted(4)
    assert (choose_member(chain, free, np.arange(4)) == chain).all()
    assert (choose_member(chain, free, np.arange(4)[::-1]) == chain.T).all()
    known = Knowledge(forbidden=[("x0", "x1")]).compile(free.names)
    assert (choose_member(chain, known, np.arange(4)) == chain.T @ np.diag([1, 0, 0, 0]).astype(bool) | _rest()).all()


def _rest():
    """x1 → x0 compels nothing behind x1: the rest of the chain leads along the order."""
    rest = np.zeros((4, 4), dtype=bool)
    rest[1, 2] = rest[2, 3] = True
    return rest


def test_a_deadline_ends_it():
    moments = moments_of(40, 4)
    with pytest.raises(Stopped):
        Nearby.of(moments, np.arange(40)).learn(deadline=Deadline(0))

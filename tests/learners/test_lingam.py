import numpy as np
import pytest

from acyclic import Knowledge, Lingam, learn, simulate
from acyclic.discrete.lingam import _entropies, lingam_order
from acyclic.errors import InputError
from acyclic.facts import Ended, Orientation


def negentropy(u):
    """As DirectLiNGAM has it, whatever the tails."""
    x = (u - u.mean()) / u.std()
    even, odd = np.mean(np.log(np.cosh(x))) - 0.374567207491438, np.mean(x * np.exp(-(x**2) / 2))
    return 79.047 * even**2 + 7.4129 * odd**2


def plain_order(X):
    """DirectLiNGAM by loops over all pairs."""
    X, remaining, order = np.array(X), list(range(X.shape[1])), []

    def ratio(i, j):
        a, b = ((x - x.mean()) / x.std() for x in (X[:, i], X[:, j]))
        c = np.mean(a * b)
        return negentropy(a) + negentropy(b - c * a) - negentropy(b) - negentropy(a - c * b)

    while remaining:
        penalties = [sum(min(0.0, ratio(i, j)) ** 2 for j in remaining if j != i) for i in remaining]
        order.append(remaining.pop(int(np.argmin(penalties))))
        cause = X[:, order[-1]] - X[:, order[-1]].mean()
        for j in remaining:
            X[:, j] -= cause * (cause @ X[:, j]) / (cause @ cause)
    return order


@pytest.mark.parametrize("noise", ["laplace", "uniform", "exponential", "gaussian"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_is_that_of_all_pairs(noise, seed):
    X = simulate(9, 300, noise=noise, variances=(0.5, 4.0), random_state=seed).X
    assert lingam_order(X).tolist() == plain_order(X)


def test_entropies_are_those_of_single_rows():
    U = np.random.default_rng(0).laplace(size=(4, 1234))
    U = (U - U.mean(axis=1, keepdims=True)) / U.std(axis=1, keepdims=True)
    assert np.allclose(_entropies(U), [-negentropy(u) for u in U], rtol=0, atol=1e-12)


@pytest.mark.parametrize("noise", ["laplace", "uniform", "gumbel"])
def test_the_graph_is_found_in_any_units(noise):
    data = simulate(8, 2000, noise=noise, scheme="iscm", random_state=5)
    model = Lingam().fit(data.X * np.geomspace(1e-4, 1e4, 8) + 7)
    assert np.array_equal(model.causal_graph_.adjacency, data.graph.adjacency)
    assert model.verdict_.orientation is Orientation.NOISE_SHAPE and model.verdict_.converged
    place = np.argsort(model.order_)
    assert all(place[i] < place[j] for i, j in np.argwhere(data.graph.adjacency))


def test_constant_and_copied_columns_are_borne():
    X = simulate(5, 200, noise="laplace", random_state=3).X
    model = Lingam().fit(np.column_stack([X, X[:, 0], np.full(200, 3.7), X[:, 1] - X[:, 2]]))
    assert sorted(model.order_) == list(range(8))
    assert not model.causal_graph_.adjacency[6].any() and not model.causal_graph_.adjacency[:, 6].any()


def test_knowledge_comes_before_the_shape_of_the_noise():
    data = simulate(6, 500, noise="uniform", random_state=2)
    source, target = np.argwhere(data.graph.adjacency)[0]
    edge = (f"x{target}", f"x{source}")
    found = learn(data.X, method="lingam", knowledge=Knowledge(required=[edge])).graph
    assert found.adjacency[target, source] and not found.adjacency[source, target]


def test_a_callback_and_a_limit_end_the_order():
    X = simulate(10, 300, noise="uniform", random_state=2).X
    told = []
    stopped = Lingam(callback=lambda progress: told.append(progress) or len(told) == 3).fit(X)
    assert stopped.verdict_.end.kind is Ended.CALLBACK and len(told) == 3
    assert Lingam(time_limit=0.0).fit(X).verdict_.end.kind is Ended.TIME_LIMIT


def test_moments_are_refused():
    from acyclic import Moments

    with pytest.raises(InputError, match="needs rows"):
        Lingam().fit(Moments.from_array(np.random.default_rng(0).normal(size=(50, 3))))

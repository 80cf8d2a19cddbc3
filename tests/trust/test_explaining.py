"""Ask it: effects with intervals, confidence and bounds, of the graph, its draws and its class."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings

import acyclic
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact, Orientation, Remark
from acyclic.findings import Findings
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import find_cpdag
from acyclic.judging.verdict import Verdict
from acyclic.scores.regression import least_squares
from acyclic.trust.drawn import Drawn
from acyclic.trust.explaining import bound_effects, imply_covariance
from strategies import dags


@pytest.fixture(scope="module")
def result():
    data = acyclic.simulate(6, 400, graph="ER2", random_state=5, scheme="dao")
    found = acyclic.learn(data.X, method="order-search")
    return found.with_evidence(confidence=acyclic.bootstrap("order-search", data.X, draws=20))


def test_causes_are_those_with_a_path_and_ranked_by_standardised_effect(result):
    for target in result.graph.names:
        found = result.explain(target)
        effects = result.graph.total_effects()[:, result.graph.names.index(target)]
        certain = {effect.cause for effect in found.causes if effect.effect}
        assert certain == {name for name, effect in zip(result.graph.names, effects) if effect}
        sizes = [abs(effect.standardised) for effect in found.causes if effect.effect]
        assert sizes == sorted(sizes, reverse=True)
        for effect in found.causes:
            assert effect.least <= effect.effect <= effect.most and effect.lower <= effect.upper
            assert 0 <= effect.confidence <= 1 and str(effect)


def test_too_few_draws_make_no_intervals_and_no_shares():
    data = acyclic.simulate(6, 400, graph="ER2", random_state=5, scheme="dao")
    found = acyclic.learn(data.X, method="order-search")
    few = found.with_evidence(confidence=acyclic.bootstrap("order-search", data.X, draws=3)).explain("x2")
    assert all(effect.confidence is None for effect in few.causes)
    # They are those of refits on the graph as it is, as without draws.
    assert few.causes == found.explain("x2").causes
    assert [note.kind for note in few.remarks][:2] == [Remark.FEW_DRAWS, Remark.GRAPH_TAKEN_AS_GIVEN]


def test_intervals_and_confidence_are_those_of_the_draws(result):
    kept = acyclic.Bootstrap.from_dict(result.confidence).drawn
    d, names = result.graph.n_nodes, result.graph.names
    matrices = []
    for places, weights in zip(
        np.split(kept.places, np.cumsum(kept.counts)[:-1]), np.split(kept.weights, np.cumsum(kept.counts)[:-1])
    ):
        flat = np.zeros(d * d)
        flat[places] = weights
        matrices.append(Dag(flat.reshape(d, d)).total_effects())
    drawn = np.array(matrices)
    node = 2
    np.testing.assert_allclose(kept.effects(d, node, onto=True), drawn[:, :, node], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kept.effects(d, node, onto=False), drawn[:, node, :], rtol=1e-12, atol=1e-14)
    for effect in result.explain(names[node]).causes:
        values = drawn[:, names.index(effect.cause), node]
        assert effect.confidence == pytest.approx((values != 0).mean())
        assert [effect.lower, effect.upper] == pytest.approx(np.quantile(values, [0.05, 0.95]).tolist())


def members(graph):
    """All DAGs of the equivalence class, by trying every direction of every edge."""
    mine, edges = find_cpdag(graph.adjacency), np.argwhere(graph.adjacency).tolist()
    for ways in itertools.product([False, True], repeat=len(edges)):
        matrix = np.zeros(graph.adjacency.shape)
        for (i, j), turned in zip(edges, ways):
            matrix[(j, i) if turned else (i, j)] = 1.0
        try:
            other = Dag(matrix)
        except InputError:
            continue
        if find_cpdag(other.adjacency) == mine:
            yield other.adjacency


@given(dags(min_nodes=2, max_nodes=5))
@settings(max_examples=25, deadline=None)
def test_bounds_are_the_extremes_over_all_members_of_the_class(dag):
    weights = np.where(dag.adjacency, 0.3 + 0.1 * np.arange(dag.n_nodes)[:, None], 0.0)
    graph = Dag(weights, dag.names)
    noise = np.eye(graph.n_nodes)
    inverse = np.linalg.inv(np.eye(graph.n_nodes) - weights)
    covariance = inverse.T @ noise @ inverse
    found = acyclic.learn(
        acyclic.Moments(1000, np.zeros(graph.n_nodes), covariance, graph.names), method="order-search"
    )
    graph, names = found.graph, found.graph.names
    if any(kind not in (Orientation.UNDETERMINED, Orientation.INDEPENDENCE) for kind in found.support.values()):
        return  # near-ties are another matter than the class
    implied = imply_covariance(graph, np.asarray(found.deviations))
    effects = [Dag(least_squares(implied, member), names).total_effects() for member in members(graph)]
    least, most = bound_effects(found)
    np.testing.assert_allclose(least, np.min(effects, axis=0), atol=1e-7)
    np.testing.assert_allclose(most, np.max(effects, axis=0), atol=1e-7)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_bounds_are_those_of_the_members_that_knowledge_leaves(seed):
    rng = np.random.default_rng(seed)
    names = list("abcd")
    weights = np.triu(rng.uniform(0.3, 1.5, (4, 4)) * (rng.random((4, 4)) < 0.9), 1)
    adjacency = weights != 0
    every = list(members(Dag(weights, names)))
    free = [(a, b) for a, b in np.argwhere(adjacency).tolist() if len({bool(other[a, b]) for other in every}) > 1]
    known = free[rng.integers(len(free))]
    left = [other for other in every if other[known]]
    support = {}
    for a, b in np.argwhere(adjacency).tolist():
        ways = {bool(other[a, b]) for other in left}
        fixed = Orientation.KNOWLEDGE if (a, b) in free else Orientation.INDEPENDENCE
        support[names[a], names[b]] = Orientation.UNDETERMINED if len(ways) > 1 else fixed
    verdict = Verdict(
        method="order-search",
        settings={},
        end=Fact.of(Ended.COMPLETE),
        orientation=Orientation.INDEPENDENCE,
        n_nodes=len(names),
        n_edges=int(adjacency.sum()),
        support=support,
    )
    inverse = np.linalg.inv(np.eye(len(names)) - weights)
    deviations = np.sqrt(np.diag(inverse.T @ inverse))
    graph = Dag(weights, names)
    found = Findings(graph, verdict, graph.cpdag(), deviations=tuple(deviations.tolist()))
    implied = imply_covariance(graph, deviations)
    effects = [Dag(least_squares(implied, member), names).total_effects() for member in left]
    least, most = bound_effects(found)
    np.testing.assert_allclose(least, np.min(effects, axis=0), atol=1e-7)
    np.testing.assert_allclose(most, np.max(effects, axis=0), atol=1e-7)


def test_without_draws_the_graph_is_taken_as_it_is():
    data = acyclic.simulate(5, 300, random_state=1)
    found = acyclic.learn(data.X).explain("x0")
    effects = [*found.causes, *found.follows]
    assert effects and all(
        effect.confidence is None and effect.lower <= effect.effect <= effect.upper for effect in effects
    )
    assert Remark.GRAPH_TAKEN_AS_GIVEN in [remark.kind for remark in found.remarks]


def test_a_file_without_table_and_draws_still_answers(result):
    plain = json.loads(result.to_json())
    del plain["confidence"]
    found = acyclic.Result.from_json(json.dumps(plain)).explain(result.graph.names[0])
    assert all(effect.lower is None and effect.confidence is None for effect in (*found.causes, *found.follows))


def test_an_unknown_target_is_refused_with_advice(result):
    with pytest.raises(InputError, match="x1"):
        result.explain("x11")


def test_curves_are_told_as_average_slopes():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 1))
    y = np.sin(2 * x) + x + 0.3 * rng.normal(size=(600, 1))
    found = acyclic.learn(np.hstack([x, y]))
    assert found.verdict.settings.get("mechanisms") == "curved"
    assert Remark.AVERAGE_SLOPES in [remark.kind for remark in found.explain("x1").remarks]


@pytest.mark.parametrize(
    "change",
    [
        {"counts": [1, 1]},
        {"places": "////fw=="},
        {"weights": "AADAfw=="},
        {"weights": "no base64"},
        {"counts": "x"},
    ],
)
def test_graphs_of_draws_that_do_not_fit_are_refused(change):
    plain = Drawn.of([(np.array([1]), np.array([0.5]))]).to_dict()
    assert Drawn.from_dict(plain, 2).effects(2, 1, onto=True).tolist() == [[0.5, 0.0]]
    with pytest.raises((ValueError, InputError)):
        Drawn.from_dict({**plain, **change}, 2)

"""Which world a table is from, and what learn() says of it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import acyclic
from acyclic.data.table import read_table
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.fitted import LINEAR, World
from acyclic.discrete.search import search_graph
from acyclic.discrete.worlds import Worlds, _quieten, choose_world, pass_lines
from acyclic.errors import InputError
from acyclic.facts import Orientation
from acyclic.learners.auto import Auto

EDGES = [(0, 2), (1, 2), (2, 3), (0, 4), (3, 5)]


def draw(world, n=800, seed=0):
    """Six columns with the edges above, standardised."""
    rng = np.random.default_rng(seed)
    noise = rng.normal if world.noise == "gaussian" else rng.laplace
    bend = (lambda x: np.cos(2 * x)) if world.mechanisms == "curved" else (lambda x: x)
    X = noise(size=(n, 6))
    for j in range(6):
        for i, k in EDGES:
            X[:, j] += 1.5 * bend(X[:, i]) if k == j else 0
    return (X - X.mean(axis=0)) / X.std(axis=0)


def truth():
    A = np.zeros((6, 6), dtype=bool)
    A[tuple(np.array(EDGES).T)] = True
    return A


WORLDS = [World(mechanisms, noise) for mechanisms in ("linear", "curved") for noise in ("gaussian", "any")]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_score_tells_the_world_and_its_graph(world, seed):
    table = read_table(draw(world, seed=seed))
    answer, scores = choose_world(Worlds(table), search_graph(table.moments))
    if world == LINEAR:
        assert answer is None
        return
    assert answer is not None
    assert answer.fitted.world.mechanisms == world.mechanisms
    np.testing.assert_array_equal(answer.fitted.adjacency, truth())
    assert answer.found.score == pytest.approx(sum(family.score for family in answer.fitted.families), rel=1e-6)
    assert answer.found.score < scores[LINEAR]


def test_lines_are_searched_unless_another_world_is_out_of_their_reach(monkeypatch):
    efforts = []

    def search(*given, effort, **options):
        efforts.append(effort)
        return search_graph(*given, effort=effort, **options)

    monkeypatch.setattr("acyclic.learners.auto.search_graph", search)
    for world in WORLDS:
        efforts.clear()
        found = Auto().fit(draw(world))
        assert efforts == ([1.0] if world == LINEAR else [])
        assert found.rivals_ is not None


def test_no_graph_of_lines_is_below_the_room_that_they_have():
    worlds = Worlds(read_table(draw(LINEAR)))
    first, best = (search_graph(worlds.parents.moments, effort=effort) for effort in (0.0, 1.0))
    assert 0 <= first.score - best.score < worlds.room_for_lines(first)
    assert pass_lines(worlds, first) is None


@pytest.mark.parametrize("world", WORLDS[1:])
def test_answers_depend_neither_on_threads_nor_on_the_order_of_columns(world):
    X = draw(world)
    names = list("abcdef")
    order = np.random.default_rng(1).permutation(6)
    one = Worlds(read_table(X, names=names)).search(world, threads=1)
    two = Worlds(read_table(X, names=names)).search(world, threads=2)
    other = Worlds(read_table(X[:, order], names=[names[k] for k in order])).search(world)
    np.testing.assert_array_equal(one.found.weights, two.found.weights)
    np.testing.assert_array_equal(one.fitted.adjacency[np.ix_(order, order)], other.fitted.adjacency)


def test_learn_says_what_orients_edges_and_residuals_are_those_of_the_curves():
    X = draw(World("curved"))
    result = acyclic.learn(X)
    assert result.verdict.orientation is Orientation.CURVATURE
    np.testing.assert_array_equal(result.graph.adjacency, truth())
    model = Auto().fit(X)
    residuals = model.transform(X)
    np.testing.assert_allclose(residuals.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(residuals.var(axis=0), model.noise_variances_, rtol=1e-9)
    linear = acyclic.OrderSearch().fit(X)
    assert model.score(X) > linear.score(X)


def test_noise_orients_what_independence_leaves_open():
    X = draw(World("linear", "any"), n=2000)
    result = acyclic.learn(X)
    assert result.verdict.orientation is Orientation.NOISE_SHAPE
    np.testing.assert_array_equal(result.graph.adjacency, truth())
    assert Orientation.NOISE_SHAPE in result.support.values()
    assert Orientation.UNDETERMINED not in result.support.values()


def test_normal_noise_orients_nothing():
    kinds = [kind for seed in range(5) for kind in acyclic.learn(draw(LINEAR, seed=seed)).support.values()]
    assert Orientation.NOISE_SHAPE not in kinds
    assert Orientation.CURVATURE not in kinds


@pytest.mark.parametrize("spoil", ["t3", "outliers"])
def test_heavy_tails_and_outliers_make_no_curve(spoil):
    rng = np.random.default_rng(3)
    curved = 0
    for seed in range(5):
        X = draw(LINEAR, seed=seed)
        if spoil == "t3":
            E = rng.standard_t(3, size=X.shape)
            X = E @ np.linalg.inv(np.eye(6) - np.where(truth(), 1.0, 0.0))
        else:
            X[rng.choice(len(X), 8, replace=False)] *= 20
        answer, _ = choose_world(Worlds(read_table(X)), search_graph(read_table(X).moments))
        curved += answer is not None and bool(answer.fitted.curved.any())
    assert curved <= 1


def test_knowledge_is_obeyed_in_every_world():
    X = draw(World("curved"))
    names = [f"x{k}" for k in range(6)]
    knowledge = acyclic.Knowledge(forbidden=[("x0", "x2")], required=[("x5", "x1")])
    result = acyclic.learn(pd.DataFrame(X, columns=names), knowledge=knowledge)
    assert not result.graph.adjacency[0, 2]
    assert result.graph.adjacency[5, 1]


def test_categories_and_numbers_are_learned_together():
    rng = np.random.default_rng(5)
    n = 800
    colour = rng.choice(["red", "green", "blue"], n)
    size = np.select([colour == "red", colour == "blue"], [1.5, -1.5], 0.0) + rng.normal(size=n)
    frame = pd.DataFrame({"colour": colour, "size": size, "weight": np.cos(2 * size) * 2 + rng.normal(size=n)})
    frame["other"] = rng.normal(size=n)
    result = acyclic.learn(frame)
    pairs = {frozenset(edge[:2]) for edge in result.graph.edges()}
    assert frozenset({"colour", "size"}) in pairs
    assert ("size", "weight") in result.support
    assert not any("other" in pair for pair in pairs)
    assert result.support["size", "weight"] is Orientation.CURVATURE
    touching = [kind for pair, kind in result.support.items() if "colour" in pair]
    assert set(touching) <= {Orientation.UNDETERMINED, Orientation.INDEPENDENCE, Orientation.NEAR_TIE}
    model = Auto().fit(frame)
    assert np.isfinite(model.transform(frame)).all()


def test_bounds_on_weights_are_of_lines():
    knowledge = acyclic.Knowledge(signs={("x0", "x1"): "+"})
    result = acyclic.learn(draw(World("curved")), knowledge=knowledge)
    assert result.verdict.orientation is Orientation.INDEPENDENCE


@pytest.mark.parametrize("world", WORLDS[1:])
def test_order_search_takes_a_world_by_name(world):
    X = draw(world)
    model = acyclic.OrderSearch(mechanisms=world.mechanisms, noise=world.noise).fit(X)
    np.testing.assert_array_equal(model.adjacency_matrix_ != 0, truth())
    kind = Orientation.CURVATURE if world.mechanisms == "curved" else Orientation.NOISE_SHAPE
    assert model.verdict_.orientation is kind
    assert not hasattr(model, "cpdag_")


def test_curves_need_rows_and_weights_without_bounds():
    X = draw(World("curved"))
    with pytest.raises(InputError):
        acyclic.OrderSearch(mechanisms="curved").fit(read_table(X).moments)
    with pytest.raises(InputError):
        acyclic.OrderSearch(noise="any", knowledge=acyclic.Knowledge(signs={("x0", "x1"): "+"})).fit(X)


@pytest.mark.parametrize("world", [World("curved"), World("linear", "any")])
def test_a_sample_of_many_rows_tells_the_world_too(world, monkeypatch):
    monkeypatch.setattr("acyclic.discrete.worlds.MOST_ROWS", 800)
    result = acyclic.learn(draw(world, n=3000))
    assert result.verdict.details["rows that tell curves and shapes"] == 800
    np.testing.assert_array_equal(result.graph.adjacency, truth())


def test_a_deadline_ends_a_look():
    worlds = Worlds(read_table(draw(World("curved"))))
    with pytest.raises(Stopped):
        worlds.look(World("curved"), np.arange(6), Deadline(0.0))


def test_bounds_are_refused_where_there_are_categories():
    frame = pd.DataFrame({"a": list("xyz") * 50, "b": np.arange(150.0)})
    with pytest.raises(InputError):
        acyclic.learn(frame, knowledge=acyclic.Knowledge(signs={("a", "b"): "+"}))


def test_curves_with_a_shape_that_gains_nothing_have_normal_noise():
    data = acyclic.simulate(4, 300, graph="ER1", sem="gp-add", random_state=2)
    worlds = Worlds(read_table(data.X))
    answer = worlds.search(World("curved", "any"))
    scores = {}
    assert -sum(family.shape for family in answer.fitted.families) < np.log(300)
    assert _quieten(worlds, answer, scores).world == World("curved")
    assert set(scores) == {World("curved")}


def test_neither_the_order_of_columns_nor_their_units_choose_among_ties():
    """On this table rounding chose between graphs of equal scores, and so between two answers."""
    X = load_wine().data
    answers = set()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        places = rng.permutation(X.shape[1])
        given = X[:, places] * 10 ** rng.uniform(-3, 3, X.shape[1])
        found = acyclic.learn(given).graph.adjacency
        answers.add(found[np.ix_(np.argsort(places), np.argsort(places))].tobytes())
    assert len(answers) == 1


@pytest.mark.parametrize("seed", range(4))
def test_a_curve_is_not_taken_for_noise_around_the_opposite_line(seed):
    # A skewed effect looks like the cause in a line with skewed noise, and in that order no curve gains anything.
    rng = np.random.default_rng(seed)
    x = rng.normal(size=1000)
    result = acyclic.learn(np.column_stack([x, x + 0.7 * x**2 + rng.normal(size=1000)]))
    assert [edge[:2] for edge in result.graph.edges()] == [("x0", "x1")]
    assert result.verdict.orientation is Orientation.CURVATURE

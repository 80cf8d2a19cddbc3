"""Joint functions: the search, the choice of learn(), and everything around the fitted model."""

import numpy as np
import pytest

import acyclic
from acyclic import discrete
from acyclic.data.parts import read_mechanism
from acyclic.data.table import read_table
from acyclic.discrete.worlds import Worlds
from acyclic.errors import InputError
from acyclic.facts import Caution, Doubt, Ended, Orientation
from acyclic.learners.edge_effects import Form
from acyclic.learners.order_search import OrderSearch


def draw(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    y = np.sin(x) * z * 1.5 + 0.4 * rng.normal(size=n)
    return {"y": y, "x": x, "w": np.tanh(y) + 0.3 * rng.normal(size=n), "z": z}


TRUTH = {("x", "y"), ("z", "y"), ("y", "w")}


@pytest.fixture(scope="module")
def found():
    return acyclic.learn(draw())


def edges(graph):
    return {(source, target) for source, target, _ in graph.edges()}


def test_learn_takes_joint_functions_where_a_product_acts(found):
    assert edges(found.graph) == TRUTH
    assert found.verdict.settings["mechanisms"] == "joint"
    assert found.verdict.orientation is Orientation.CURVATURE
    (said,) = (fact for fact in found.verdict.cautions if fact.kind is Caution.TOGETHER)
    assert said.about == ("y",)


def test_order_search_takes_them_by_name():
    model = OrderSearch(mechanisms="joint").fit(draw())
    assert edges(model.causal_graph_) == TRUTH
    assert not model.rivals_.proved
    i, j = (model.causal_graph_.names.index(name) for name in ("x", "y"))
    assert model.rivals_.left_out[i, j] > 100
    assert np.isnan(model.rivals_.turned[j, i])


def test_effects_tell_curves_with_the_others_at_their_means(found):
    effect = found.effects["x", "y"]
    assert effect.form is Form.CURVE
    assert effect.share > 0.3
    # With z at its mean, about 0, nothing is left of the product.
    assert np.ptp(effect.values[0]) < 0.5 < 2 * draw()["y"].std()
    model = found.model
    drawn = model.sample(4000, random_state=1)
    corner = (drawn["x"] > 0.5) & (drawn["z"] > 0.5)
    opposite = (drawn["x"] > 0.5) & (drawn["z"] < -0.5)
    assert drawn["y"][corner].mean() > 0.8 > -0.8 > drawn["y"][opposite].mean()
    assert model.do({"x": 1.0, "z": 1.0}).mean["y"] == pytest.approx(1.5 * np.sin(1), abs=0.25)


def test_the_model_predicts_and_comes_back_from_a_file(found, tmp_path):
    table = draw(200, seed=5)
    expected = np.sin(table["x"]) * table["z"] * 1.5
    predicted = np.asarray(found.model.predict(table, "y"))
    assert np.mean((predicted - expected) ** 2) < 0.1 * expected.var()
    found.save(tmp_path / "result.json")
    again = acyclic.load(tmp_path / "result.json")
    assert np.asarray(again.model.predict(table, "y")) == pytest.approx(predicted, rel=1e-9)
    assert again.model.score(table) == pytest.approx(found.model.score(table), rel=1e-9)


def test_units_and_the_order_of_columns_do_not_matter(found):
    table = {name: 100 * column if name == "x" else column for name, column in sorted(draw().items())}
    assert edges(acyclic.learn(table).graph) == edges(found.graph)


def test_prior_knowledge_is_obeyed():
    knowledge = acyclic.Knowledge(forbidden=[("x", "y")], required=[("w", "x")])
    graph = OrderSearch(mechanisms="joint", knowledge=knowledge).fit(draw()).causal_graph_
    assert ("x", "y") not in edges(graph)
    assert ("w", "x") in edges(graph)
    tiers = acyclic.Knowledge(tiers=[["y", "w"], ["x", "z"]])
    graph = OrderSearch(mechanisms="joint", knowledge=tiers).fit(draw()).causal_graph_
    assert not {("x", "y"), ("z", "y"), ("x", "w"), ("z", "w")} & edges(graph)


def test_without_time_the_curves_of_one_order_are_returned():
    model = OrderSearch(mechanisms="joint", time_limit=0).fit(draw())
    assert model.verdict_.end.kind is Ended.TIME_LIMIT


def test_a_descent_from_a_graph_finds_its_joint_functions(found):
    model = OrderSearch(mechanisms="joint", start=found.graph.weights).fit(draw())
    assert edges(model.causal_graph_) == TRUTH


def test_lines_and_sums_of_curves_are_left_alone():
    for settings in ({"variances": (0.5, 4.0)}, {"sem": "gp-add"}):
        data = acyclic.simulate(n_nodes=5, n=400, graph="ER2", standardize=True, random_state=3, **settings)
        assert acyclic.learn(data.X).verdict.settings.get("mechanisms", "linear") in ("linear", "curved")


@pytest.mark.parametrize(
    ("given", "said"),
    [({"noise": "any"}, "normal noise"), ({}, "up to 50 columns")],
)
def test_what_joint_functions_do_not_take_is_refused(given, said):
    rows = np.random.default_rng(0).normal(size=(200, 51))
    with pytest.raises(InputError, match=said):
        OrderSearch(mechanisms="joint", **given).fit(rows)
    with pytest.raises(InputError, match="need 100 rows"):
        OrderSearch(mechanisms="joint").fit(rows[:50, :5])


def test_categories_are_refused():
    table = {**draw(), "z": ["a", "b"] * 150}
    with pytest.raises(InputError, match="'z' is a category"):
        OrderSearch(mechanisms="joint").fit(table)


@pytest.mark.parametrize("columns", [1, 2])
def test_few_columns_and_constant_ones_are_taken(columns):
    rows = np.column_stack([draw()["x"], np.ones(300)])[:, :columns]
    assert OrderSearch(mechanisms="joint").fit(rows).causal_graph_.n_edges == 0


def test_learn_takes_joint_functions_where_no_product_shows_them():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 600))
    found = acyclic.learn(np.column_stack([x, np.cos(1.5 * x) * np.cos(1.5 * z) + 0.3 * rng.normal(size=600), z]))
    assert found.verdict.settings["mechanisms"] == "joint" and found.graph.n_edges == 2


def test_a_constant_column_hides_no_interaction():
    assert edges(acyclic.learn({**draw(), "c": np.ones(300)}).graph) == TRUTH


@pytest.mark.parametrize("change", [{"centre": [0.0]}, {"weights": [[1.0]]}])
def test_a_stored_joint_function_has_to_fit_together(change):
    waves = {"centre": [0.0, 0.0], "frequencies": [[1.0, 2.0]], "weights": [[1.0], [0.5]], "constant": 0.0}
    plain = {"parents": [0, 1], "terms": [], "together": waves, "offset": 1.0, "deviation": 1.0}
    assert read_mechanism(plain).to_dict() == plain
    with pytest.raises(ValueError, match="have to be"):
        read_mechanism({**plain, "together": {**waves, **change}})


def test_rows_that_a_draw_repeats_make_no_function():
    drawn = acyclic.bootstrap(acyclic.Auto(), draw(), draws=2)
    shares = {(a, b): drawn.edge[i, j] for i, a in enumerate(drawn.names) for j, b in enumerate(drawn.names)}
    assert {pair for pair, share in shares.items() if share > 0} == TRUTH


def test_the_audit_finds_the_residuals_of_a_joint_function_in_order():
    audit = acyclic.audit(draw(), rescalings=1)
    assert not {Doubt.BENT, Doubt.SPREADING} & {fact.kind for fact in audit.reasons}


def draw_wide(n=400, seed=0):
    """Three times a product and what follows from it, and three columns of noise: more columns than are proved."""
    rng = np.random.default_rng(seed)
    table = {f"noise{k}": rng.normal(size=n) for k in range(3)}
    for k in range(3):
        table |= {f"{name}{k}": column for name, column in draw(n, seed=100 * seed + k + 1).items()}
    return table


WIDE = {(f"{a}{k}", f"{b}{k}") for a, b in TRUTH for k in range(3)}


@pytest.fixture(scope="module")
def wide():
    return acyclic.learn(draw_wide())


def test_learn_takes_joint_functions_among_more_columns(wide):
    assert edges(wide.graph) == WIDE
    assert wide.verdict.settings["mechanisms"] == "joint"
    assert wide.verdict.end.kind is Ended.COMPLETE
    assert not wide.undecided


def test_among_more_columns_units_and_order_do_not_matter(wide):
    rng = np.random.default_rng(1)
    table = draw_wide()
    shuffled = {name: float(10.0 ** rng.integers(-3, 4)) * table[name] for name in rng.permutation(list(table))}
    assert edges(acyclic.learn(shuffled).graph) == edges(wide.graph)


def test_among_more_columns_margins_are_those_of_a_search():
    table = draw_wide()
    model = OrderSearch(mechanisms="joint").fit(table)
    names = model.causal_graph_.names
    assert edges(model.causal_graph_) == WIDE
    forced = acyclic.Knowledge(required=[("y0", "x0")])
    turned = OrderSearch(mechanisms="joint", knowledge=forced).fit(table)
    assert ("y0", "x0") in edges(turned.causal_graph_)
    margin = model.rivals_.turned[names.index("x0"), names.index("y0")]
    # What was met around the answer is about as good as what a search finds that is told to turn the edge.
    worlds = Worlds(read_table(table))
    ours, other = (
        worlds.joint.total(found.causal_graph_.adjacency[np.ix_(worlds.canon, worlds.canon)])
        for found in (model, turned)
    )
    assert 100 < other - ours < 2 * margin < 4 * (other - ours)


def test_among_more_columns_knowledge_is_obeyed():
    knowledge = acyclic.Knowledge(forbidden=[("x0", "y0")], required=[("noise0", "x1")], roots=["y2"])
    found = edges(OrderSearch(mechanisms="joint", knowledge=knowledge).fit(draw_wide()).causal_graph_)
    assert ("noise0", "x1") in found and ("x0", "y0") not in found
    assert not [pair for pair in found if pair[1] == "y2"]


@pytest.mark.parametrize("limit", [0, 0.05, 0.3])
def test_among_more_columns_a_limit_leaves_a_graph(limit):
    model = OrderSearch(mechanisms="joint", time_limit=limit).fit(draw_wide())
    assert model.verdict_.end.kind in (Ended.TIME_LIMIT, Ended.NO_BETTER_MOVE)
    assert model.causal_graph_.n_nodes == 15


def test_among_more_columns_a_callback_ends_the_search():
    model = OrderSearch(mechanisms="joint", callback=lambda progress: True).fit(draw_wide())
    assert model.verdict_.end.kind is Ended.CALLBACK


def test_without_effort_one_climb_is_made():
    model = OrderSearch(mechanisms="joint", effort=0).fit(draw_wide())
    assert model.verdict_.end.kind is Ended.NO_BETTER_MOVE
    assert model.mechanisms_.together.any()


def test_among_more_columns_draws_find_joint_functions_too():
    drawn = acyclic.bootstrap(acyclic.Auto(), draw_wide(), draws=3)
    places = {name: k for k, name in enumerate(drawn.names)}
    assert min(drawn.edge[places[a], places[b]] for a, b in WIDE) > 0.3


def test_of_many_rows_a_sample_is_climbed_with_and_all_are_fitted(monkeypatch):
    monkeypatch.setattr(discrete.worlds, "_MOST_CLIMBED", 300 * 15**2)
    sampled = acyclic.learn(draw_wide(n=1500))
    assert edges(sampled.graph) == WIDE
    table = draw_wide(n=1500, seed=5)
    left = table["y0"] - np.asarray(sampled.model.predict(table, "y0"))
    assert left.std() < 0.45  # the noise has 0.4


def test_sums_of_curves_among_more_columns_are_left_alone():
    data = acyclic.simulate(n_nodes=15, n=500, graph="ER2", sem="gp-add", random_state=4)
    assert acyclic.learn(data.X).verdict.settings["mechanisms"] == "curved"

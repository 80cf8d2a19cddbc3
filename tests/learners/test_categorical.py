"""Tables of categories only: learn() and OrderSearch count their rows."""

import numpy as np
import pandas as pd
import pytest

import acyclic
from acyclic.discrete.categorical import search_counts
from acyclic.errors import InputError
from acyclic.facts import Ended, Orientation
from acyclic.scores.counts import CountScore

EDGES = [
    ("asia", "tub"), ("smoke", "lung"), ("smoke", "bronc"), ("tub", "either"), ("lung", "either"), ("either", "xray"),
    ("either", "dysp"), ("bronc", "dysp"),
]  # fmt: skip


def draw_asia(n=2000, seed=0):
    """A table in the manner of the chest clinic of Lauritzen & Spiegelhalter, less rare."""
    rng = np.random.default_rng(seed)

    def draw(share):
        return rng.random(n) < share

    asia, smoke = draw(0.2), draw(0.5)
    tub, lung = draw(np.where(asia, 0.5, 0.05)), draw(np.where(smoke, 0.4, 0.05))
    bronc, either = draw(np.where(smoke, 0.7, 0.2)), tub | lung
    xray, dysp = (
        draw(np.where(either, 0.95, 0.05)),
        draw(np.select([either & bronc, either, bronc], [0.9, 0.7, 0.8], 0.1)),
    )
    columns = {"asia": asia, "tub": tub, "smoke": smoke, "lung": lung, "bronc": bronc}
    return pd.DataFrame({**columns, "either": either, "xray": xray, "dysp": dysp})


def edges_of(graph):
    return {(source, target) for source, target, _ in graph.edges()}


@pytest.fixture(scope="module")
def asia():
    return draw_asia()


@pytest.fixture(scope="module")
def truth(asia):
    return acyclic.Dag.from_edges(EDGES, names=list(asia.columns)).cpdag()


def test_text_codes_and_truth_values_give_one_class(asia, truth, tmp_path):
    forms = [asia, asia.replace({True: "yes", False: "no"}), asia.replace({True: 3, False: 7})]
    for form in forms:
        path = tmp_path / "table.csv"
        form.to_csv(path, index=False)
        for source in (form, path):
            found = acyclic.Auto().fit(source)
            assert found.cpdag_ == truth
            assert found.verdict_.orientation is Orientation.INDEPENDENCE
            assert found.verdict_.settings["criterion"] == "counts"


def test_bdeu(asia, truth):
    found = acyclic.OrderSearch(criterion="bdeu", sample_size=5.0).fit(asia)
    assert found.cpdag_ == truth
    assert found.verdict_.settings["criterion"] == "bdeu"


def test_neither_the_order_of_columns_nor_that_of_levels_matters(asia):
    names = list(asia.columns)
    text = asia.replace({True: "b", False: "a"})
    turned = asia[names[::-1]].replace({True: "a", False: "b"})
    one, other = (acyclic.Auto().fit(table).causal_graph_ for table in (text, turned))
    assert edges_of(one) == edges_of(other)


def test_strengths_and_distributions(asia):
    found = acyclic.Auto().fit(asia)
    weights = found.adjacency_matrix_
    assert (weights >= 0).all() and weights.max() == 1  # either is what tub and lung make it
    means = asia.to_numpy(dtype=float) - found.transform(asia)
    xray, given = list(asia.columns).index("xray"), asia["either"].to_numpy()
    if found.causal_graph_.adjacency[:, xray].sum() == 1:
        assert means[given, xray] == pytest.approx(asia["xray"][given].mean())
    held_out = draw_asia(seed=1)
    empty = acyclic.Auto(penalty=1e6).fit(asia)
    assert not empty.adjacency_matrix_.any()
    assert found.score(held_out) > empty.score(held_out) + 0.5


def test_knowledge_is_obeyed(asia):
    knowledge = acyclic.Knowledge(required=[("xray", "asia")], forbidden=[("smoke", "lung"), ("lung", "smoke")])
    found = acyclic.Auto(knowledge=knowledge).fit(asia).causal_graph_
    assert ("xray", "asia") in edges_of(found)
    assert not {("smoke", "lung"), ("lung", "smoke")} & edges_of(found)


def test_bounds_and_prices_for_numbers_are_refused(asia):
    with pytest.raises(InputError, match="bounds"):
        acyclic.Auto(knowledge=acyclic.Knowledge(bounds={("asia", "tub"): (0.0, 1.0)})).fit(asia)
    with pytest.raises(InputError, match="adaptive"):
        acyclic.Auto(penalty="adaptive").fit(asia)


def test_numbers_cannot_be_counted(asia):
    table = asia.assign(age=np.random.default_rng(0).normal(size=len(asia)))
    with pytest.raises(InputError, match="'age'"):
        acyclic.OrderSearch(criterion="counts").fit(table)


def test_missing_cells_and_new_levels_are_named(asia):
    text = asia.replace({True: "yes", False: "no"}).astype(object)
    holes = text.copy()
    holes.loc[3, "tub"] = None
    with pytest.raises(InputError, match="tub"):
        acyclic.Auto().fit(holes)
    dropped = acyclic.Auto().fit(acyclic.read_table(holes, missing="drop-rows"))
    assert dropped.verdict_.settings["criterion"] == "counts"
    with pytest.raises(InputError, match="perhaps"):
        acyclic.Auto().fit(text).score(text[:5].assign(tub="perhaps"))


def test_many_levels_and_columns_that_say_nothing():
    rng = np.random.default_rng(0)
    x = rng.integers(28, size=3000)
    table = pd.DataFrame({"x": x, "y": (x + (rng.random(3000) < 0.1)) % 28, "alone": rng.integers(5, size=3000)})
    found = acyclic.Auto().fit(table.astype(str))
    assert {frozenset(edge) for edge in edges_of(found.causal_graph_)} == {frozenset("xy")}


def test_time_limit_returns_what_there_is(asia):
    found = acyclic.Auto(time_limit=0.0).fit(asia)
    assert found.verdict_.end.kind is Ended.TIME_LIMIT
    assert found.causal_graph_.n_nodes == 8


def test_one_seed_one_answer_whatever_the_threads(asia):
    score = CountScore.of(asia.to_numpy().astype(int))
    one, two = (search_counts(score, list(asia.columns), threads=threads, random_state=3) for threads in (1, 2))
    np.testing.assert_array_equal(one.weights, two.weights)
    assert one.score == two.score == pytest.approx(score.total(one.weights != 0), abs=1e-8)


def test_margins_are_those_of_classes(asia):
    found = acyclic.Auto().fit(asia)
    compelled = found.cpdag_.directed
    assert (found.rivals_.turned[compelled] > 0).all()
    assert not found.rivals_.turned[found.causal_graph_.adjacency & ~compelled].any()

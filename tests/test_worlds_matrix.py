"""What can be asked of learn(), in every world: prior knowledge, weights, missing cells, limits, refits, files."""

import numpy as np
import pandas as pd
import pytest

import acyclic
from acyclic.errors import InputError
from acyclic.facts import Caution, Doubt, Ended, Orientation, Remark

WORLDS = {
    "linear": {"sem": "linear", "variances": (0.5, 4.0)},
    "laplace": {"sem": "linear", "variances": (0.5, 4.0), "noise": "laplace"},
    "curved": {"sem": "gp-add", "least_share": 0.1},
    "categorical": {"sem": "categorical"},
    "mixed": {"sem": "mixed"},
}
NUMBERS = ("linear", "laplace", "curved")


@pytest.fixture(scope="module", params=WORLDS)
def world(request):
    return request.param


@pytest.fixture(scope="module")
def table(world):
    data = acyclic.simulate(5, 300, graph="ER1", random_state=2, **WORLDS[world])
    text = np.array(list("abcd"))
    return pd.DataFrame(
        {name: text[x.astype(int)] if levels else x for name, x, levels in zip(data.names, data.X.T, data.levels)}
    )


@pytest.fixture(scope="module")
def result(table):
    return acyclic.learn(table)


def edges_of(graph):
    return {(source, target) for source, target, _ in graph.edges()}


def cautions(result):
    return {fact.kind for fact in result.verdict.cautions}


def check_model(result, table):
    """The model is that of the graph, and can be used."""
    np.testing.assert_array_equal(result.model.adjacency, result.graph.adjacency)
    assert np.isfinite(result.model.score(table)) and len(result.effects) == result.graph.n_edges


def test_knowledge(table):
    first, second, third, *rest = table.columns
    known = acyclic.Knowledge(required=[(first, second)], forbidden=[(third, "*")])
    found = acyclic.learn(table, knowledge=known)
    assert (first, second) in edges_of(found.graph) and not any(a == third for a, _ in edges_of(found.graph))
    assert found.support[first, second] is Orientation.KNOWLEDGE
    check_model(found, table)
    tiers = acyclic.learn(table, knowledge=acyclic.Knowledge(tiers=[[first, second], [third, *rest]]))
    assert not any(b in (first, second) and a not in (first, second) for a, b in edges_of(tiers.graph))


def test_bounds_are_of_lines(table, world):
    known = acyclic.Knowledge(bounds={(table.columns[0], table.columns[1]): (0.0, 1.0)})
    if world in NUMBERS:
        found = acyclic.learn(table, knowledge=known)
        assert Caution.LINES_FOR_BOUNDS in cautions(found)
        check_model(found, table)
    else:
        with pytest.raises(InputError, match="bounds"):
            acyclic.learn(table, knowledge=known)


def test_weights_of_rows_are_for_lines(table, world):
    weights = np.random.default_rng(0).random(len(table)) + 0.1
    if world in NUMBERS:
        found = acyclic.learn(table, weights=weights)
        assert Caution.LINES_FOR_WEIGHTS in cautions(found)
        check_model(found, table)
    else:
        with pytest.raises(InputError, match="weights"):
            acyclic.learn(table, weights=weights)


@pytest.mark.parametrize("missing", ["drop-rows", "impute", "pairwise", "em"])
def test_missing_cells(table, world, result, missing):
    holes = table.astype(object)
    rng = np.random.default_rng(0)
    for name in holes:
        holes.loc[rng.random(len(holes)) < 0.02, name] = None
    holes = holes.infer_objects()
    with pytest.raises(InputError, match="missing"):
        acyclic.learn(holes)
    if missing in ("drop-rows", "impute"):
        found = acyclic.learn(holes, missing=missing)
        assert found.verdict.orientation is result.verdict.orientation
        assert Caution.LINES_FOR_MISSING not in cautions(found)
        check_model(found, table)
    elif world in NUMBERS:
        found = acyclic.learn(holes, missing=missing)
        assert Caution.LINES_FOR_MISSING in cautions(found)
        check_model(found, table)
    else:
        with pytest.raises(InputError, match="drop-rows"):
            acyclic.learn(holes, missing=missing)


def test_bootstrap_goes_on_from_its_checkpoint(table, result, tmp_path):
    whole = acyclic.bootstrap("auto", table, draws=3, checkpoint=tmp_path / "draws")
    again = acyclic.bootstrap("auto", table, draws=3, checkpoint=tmp_path / "draws")
    plain = acyclic.bootstrap("auto", table, draws=3)
    np.testing.assert_array_equal(whole.edge, again.edge)
    np.testing.assert_array_equal(whole.edge, plain.edge)
    assert whole.draws == 3
    sure = result.with_evidence(confidence=whole)
    assert {row["this_way"] is not None for row in sure.edges()} == {True}
    assert acyclic.Result.from_json(sure.to_json()).edges() == sure.edges()


def test_the_audit_judges_what_was_learned(table, world, result):
    found = acyclic.audit(table, rescalings=1)
    doubts, remarks = ({fact.kind for fact in facts} for facts in (found.reasons, found.notes))
    assert found.graph == result.graph and str(found)
    if world != "linear":
        # Units say nothing of levels, curves and shapes; that noise is not normal is used already, or moot.
        assert not {Doubt.UNEQUAL_VARIANCES, Doubt.STANDARDIZED, Doubt.BENT} & doubts
        assert (Remark.ODD_NOISE in remarks) <= (world == "mixed")
    if world == "categorical":
        open_edges = result.cpdag.undirected_edges()
        assert (Doubt.CLASS_ONLY in doubts) == bool(open_edges) and np.isnan(found.varsortability)
    assert acyclic.Audit.from_dict(found.to_dict()).reasons == found.reasons
    # The same by a function that returns a result.
    by_function = acyclic.audit(table, learner=acyclic.learn, rescalings=0)
    assert {fact.kind for fact in by_function.reasons} <= doubts | {Doubt.SPREADING}


@pytest.mark.parametrize("limit", [{"time_limit": 0.0}, {"callback": lambda moment: True}])
def test_a_run_that_is_ended_at_once_has_a_graph_and_its_model(table, limit):
    found = acyclic.learn(table, **limit)
    assert found.verdict.end.kind in (Ended.TIME_LIMIT, Ended.CALLBACK)
    check_model(found, table)


def test_a_start_other_units_and_files(table, world, result, tmp_path):
    near = acyclic.learn(table, start=result.graph.weights)
    assert edges_of(near.graph) == edges_of(result.graph)
    table.to_csv(tmp_path / "table.csv", index=False)
    read = acyclic.learn(tmp_path / "table.csv")
    assert edges_of(read.graph) == edges_of(result.graph)
    assert read.model.score(tmp_path / "table.csv") == pytest.approx(result.model.score(table))
    scaled = acyclic.learn(table, standardize=True)
    assert {frozenset(edge) for edge in edges_of(scaled.graph)} == {frozenset(edge) for edge in edges_of(result.graph)}
    assert len(scaled.effects) == scaled.graph.n_edges


def test_twelve_rows(table):
    few = acyclic.learn(table[:12])
    assert few.fitted is not None and len(few.effects) == few.graph.n_edges


def test_total_effects_of_slopes(table, world, result):
    if world in NUMBERS:
        found = acyclic.total_effects(result, table, draws=2)
        assert (Remark.CURVES_AS_LINES in {note.kind for note in found.notes}) == (world == "curved")
    else:
        with pytest.raises(InputError, match="total_effect"):
            acyclic.total_effects(result, table, draws=2)

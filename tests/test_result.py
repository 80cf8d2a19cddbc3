"""The result file: everything comes back, and nothing else is taken for one."""

import json
import re
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import acyclic
from acyclic.cli.terminal import Output
from acyclic.data.simulate import population_covariance
from acyclic.discrete.exact import find_best_graph
from acyclic.discrete.rivals import Rivals
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact, Note, Orientation, Removal, Standing
from acyclic.graphs.formats import read
from acyclic.judging.judge import Found
from acyclic.judging.verdict import Margin
from acyclic.judging.words import say, say_alternative, say_note
from acyclic.learners.base import DagLearner
from acyclic.learning import learn_with
from acyclic.report import report
from acyclic.report.folder import edge_list, write_folder
from acyclic.running import Solution
from acyclic.scores.local import TOLERANCE
from acyclic.trust.audit import Audit
from acyclic.trust.bootstrap import Bootstrap
from strategies import hostile_names

FORMAT_1 = Path(__file__).parent / "format-1.json"


@pytest.fixture(scope="module")
def result():
    return acyclic.learn(acyclic.simulate(n_nodes=8, n=500, variances=(0.5, 4.0), random_state=2).X)


def test_round_trip(result, tmp_path):
    path = tmp_path / "run.json"
    result.save(path)
    again = acyclic.load(path)
    assert again.graph == result.graph
    assert again.cpdag == result.cpdag
    assert again.support == result.support
    assert again.verdict == result.verdict
    assert again.provenance == result.provenance
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


@settings(max_examples=20, deadline=None)
@given(hostile_names(3))
def test_hostile_names(names):
    moments = acyclic.Moments(100, np.zeros(3), [[1, 0.9, 0.8], [0.9, 2, 1.6], [0.8, 1.6, 3]], names)
    result = acyclic.learn(moments)
    again = acyclic.Result.from_json(result.to_json())
    assert again.graph == result.graph


def test_provenance_says_what_was_done(result):
    assert result.provenance["rows"] == 500
    assert set(result.provenance["versions"]) == {"acyclic", "numpy", "scipy", "python"}
    assert result.provenance["data"].startswith("v2:") and len(result.provenance["data"]) == 67


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", '{"format": "acyclic result 99"}', "not json"]
    + [f'{{"format": "acyclic result {number}"}}' for number in (1, 2)],
)
def test_other_files_are_refused(text, tmp_path):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a result file"):
        acyclic.load(path)


def test_binary_file(tmp_path):
    path = tmp_path / "binary.json"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match="UTF-8"):
        acyclic.load(path)


@pytest.fixture(scope="module")
def old():
    """What a file of format 1 says, which `acyclic learn --bootstrap 2 --audit` wrote."""
    return json.loads(FORMAT_1.read_text(encoding="utf-8"))


def test_files_of_format_1_are_read(old):
    result = acyclic.load(FORMAT_1)
    verdict = result.verdict
    assert result.graph.names == ("a", "b", "c", "k")
    assert [list(edge) for edge in result.graph.edges()] == [list(edge) for edge in old["audit"]["edges"]]
    assert result.cpdag.undirected_edges() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert set(result.support.values()) == {Orientation.EQUAL_VARIANCES} == {verdict.orientation}
    assert not verdict.converged and result.ended is verdict.end.kind is Ended.UNKNOWN
    # What it said in words is still said in these words.
    assert say(verdict.end) == old["verdict"]["reason"]
    assert [(note.kind, say_note(note)) for note in verdict.notes] == [(Note.UNKNOWN, old["verdict"]["notes"][0])]
    assert (verdict.n_cut, verdict.threshold, verdict.h) == (3, 0.1, 0.02823)
    assert {row["this_way"] for row in result.edges()} == {row["either_way"] for row in result.edges()} == {1.0}
    # The digest was of another kind, and is not taken for one of today.
    assert "data" not in result.provenance and result.provenance["moments"] == old["provenance"]["data"]


def test_evidence_of_format_1_is_evidence(old):
    result = acyclic.load(FORMAT_1)
    confidence, audited = Bootstrap.from_dict(result.confidence), Audit.from_dict(result.audit)
    assert (confidence.draws, confidence.edge[0, 1], confidence.graph) == (2, 1.0, result.graph)
    assert [say(note) for note in confidence.notes] == old["confidence"]["notes"]
    assert (audited.sound, audited.refits, len(audited.turning)) == (False, 4, 3)
    assert [say(reason) for reason in audited.reasons] == old["audit"]["reasons"]


def test_format_1_is_reported_and_saved_as_format_2(tmp_path):
    result = acyclic.load(FORMAT_1)
    folder = write_folder(result, tmp_path / "run")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<title>t1.csv</title>" in page and "/home/someone" not in page
    assert json.loads((folder / "result.json").read_text())["format"] == "acyclic result 2"
    again = acyclic.load(folder / "result.json")
    assert (again.graph, again.cpdag, again.verdict) == (result.graph, result.cpdag, result.verdict)
    assert (again.confidence, again.audit, again.curve) == (result.confidence, result.audit, result.curve)
    assert again.provenance == result.provenance
    assert Bootstrap.from_dict(again.confidence).draws == 2 and Audit.from_dict(again.audit).refits == 4


def test_verdicts_of_format_1_keep_what_was_removed_and_why_a_graph_is_empty(old):
    told = {"removed": [["b", "a", 0.11]], "converged": True, "warnings": ["beware"], "h": None}
    verdict = acyclic.Result.from_json(json.dumps({**old, "verdict": {**old["verdict"], **told}})).verdict
    assert verdict.converged and np.isnan(verdict.h) and say(verdict.end) == old["verdict"]["reason"]
    rule = old["verdict"]["rule"]
    assert verdict.removed == (Fact.of(Removal.UNKNOWN, "b", "a", weight=0.11, rule=rule),)
    assert [say(caution) for caution in verdict.cautions] == ["beware"]
    assert rule in str(verdict)
    bare = {"format": old["format"], "names": ["a", "b", "c", "k"], "edges": [], "undirected": [], "directed": []}
    told = {**old["verdict"], "empty": "nothing is there", "n_edges": 0}
    empty = acyclic.Result.from_json(json.dumps({**bare, "verdict": told, "provenance": {}}))
    assert empty.graph.n_edges == 0 and empty.verdict.orientation is Orientation.NO_EDGE
    assert say(empty.verdict.empty) == "nothing is there" and empty.confidence is empty.audit is None


class Exact(DagLearner):
    """The best graph of few columns, with all of its rivals."""

    method = "order-search"

    def __init__(self, *, knowledge=None, time_limit=None, callback=None):
        self.knowledge, self.time_limit, self.callback = knowledge, time_limit, callback

    def _find(self, table, mask, monitor):
        best = find_best_graph(table.moments, mask=mask, threads=1)
        met = Rivals(True, 0, 0, best.second, best.turned, best.left_out, best.alternatives)
        solution = Solution(best.weights, Fact.of(Ended.COMPLETE), best.score, 0.0, 1, 0.0)
        return Found(solution, self.method, Orientation.INDEPENDENCE, rivals=met)


@pytest.fixture(scope="module")
def near():
    """Three causes of c with few rows, one of them by prior knowledge."""
    weights = np.array([[0, 0, 0.7, 0], [0, 0, 0.35, 0], [0, 0, 0, 0], [0, 0, 0.4, 0]])
    table = acyclic.Table.open(acyclic.Moments(60, np.zeros(4), population_covariance(weights), list("abcd")))
    return learn_with(Exact(knowledge=acyclic.Knowledge(forbidden=[("c", "d")])), table)


def test_a_fitted_learner_holds_the_rivals_of_its_answer_or_none():
    X = acyclic.simulate(5, 100, random_state=1).X
    assert acyclic.Ges().fit(X).rivals_ is None
    model = Exact().fit(X)
    assert model.rivals_.proved and model.rivals_.turned.shape == (5, 5)


def test_the_terminal_shows_margins_where_there_are_any(near, capsys):
    Output().result(near)
    assert "margin" in capsys.readouterr().out
    Output().result(acyclic.load(FORMAT_1))
    assert "margin" not in capsys.readouterr().out


def test_margins_alternatives_and_standing_survive_the_file(near):
    assert near.alternatives and near.verdict.standing[0].kind is Standing.PROVED
    assert any(margin.turned == np.inf for margin in near.verdict.margins.values())
    again = acyclic.Result.from_json(near.to_json())
    assert again.verdict == near.verdict and again.alternatives == near.alternatives
    assert again.edges() == near.edges() and str(again) == str(near)


def test_an_alternative_is_as_far_behind_as_the_nearest_edge_that_it_changes(near):
    # Twice the digits to which equivalent graphs are told apart.
    margins, slack = near.verdict.margins, 2 * TOLERANCE
    for other in near.alternatives:
        for edge in other.turned:
            assert margins[edge].turned <= other.excess + slack
        for edge in other.removed:
            assert margins[edge].left_out <= other.excess + slack
    # What a near class turns is a near-tie, and what is one has such a class.
    turned = {edge for other in near.alternatives for edge in other.turned}
    contested = {edge for edge, kind in near.support.items() if kind is Orientation.CONTESTED}
    assert contested == turned == {("a", "c"), ("b", "c")}


def test_the_table_of_edges_has_margins_where_a_search_found_them(near):
    columns = [
        "source",
        "target",
        "weight",
        "standardised",
        "share",
        "margin",
        "turned",
        "left_out",
        "decided",
        "support",
        "rests_on",
    ]
    assert near.edge_columns() == columns == edge_list(near).splitlines()[0].split(",")
    for row in near.edges():
        assert row["margin"] == min(row["turned"], row["left_out"])
    bare = acyclic.load(FORMAT_1)
    assert "margin" not in bare.edge_columns() and bare.edges()[0]["margin"] is None and bare.alternatives == ()


def redrawn(result, share, draws=20, **likely):
    """The result with draws of which all have each edge, and this share in its direction."""
    rows = [
        {"source": a, "target": b, "frequency": share, "adjacency": 1.0, "lower": None, "upper": None, **likely}
        for a, b, _ in result.graph.edges()
    ]
    return result.with_evidence(confidence={"draws": draws, "edges": rows, **({"unseen": 0.1} if likely else {})})


@pytest.mark.parametrize(
    ("share", "draws", "likely", "steady"),
    [
        (0.6, 20, {}, False),
        (0.7, 20, {}, True),
        (0.6, 9, {}, True),  # too few to say
        (
            0.6,
            20,
            {"probability": 0.9, "direction_probability": 0.7},
            True,
        ),  # what shares amount to counts, where known
        (0.7, 20, {"probability": 0.9, "direction_probability": 0.6}, False),
    ],
)
def test_a_direction_that_many_draws_turn_is_not_decided(near, share, draws, likely, steady):
    firm = dict.fromkeys(near.verdict.support, Orientation.INDEPENDENCE) | {("d", "c"): Orientation.KNOWLEDGE}
    before = replace(near, verdict=replace(near.verdict, support=firm))
    after = redrawn(before, share, draws, **likely)
    loose = {pair for pair, kind in after.support.items() if kind is Orientation.UNSTEADY}
    assert loose == after.undecided == (set() if steady else set(firm) - {("d", "c")})
    assert {(row["source"], row["target"]) for row in after.edges() if not row["decided"]} == loose
    assert after.verdict.assessment.decided == len(firm) - len(loose)
    # The file holds what the verdict says, so that more draws can decide it again.
    written = {(edge["source"], edge["target"]): edge["support"] for edge in json.loads(after.to_json())["edges"]}
    assert written == firm


def test_what_is_not_decided_has_an_arrowhead_nowhere(near, tmp_path):
    loose = near.undecided
    assert loose == {("a", "c"), ("b", "c")} and ("d", "c") in near.support
    picture = near._repr_html_()
    assert picture.count("marker-end") == 1 and "a – c" in picture and "d → c" in picture
    heads = {patch.get_arrowstyle().__class__.__name__ for patch in near.plot().axes[0].patches}
    assert heads == {"Curve", "CurveFilledB"}
    dot = write_folder(near, tmp_path / "run").joinpath("graph.dot").read_text()
    assert dot.count("arrowhead=none") == 2
    assert read(tmp_path / "run" / "graph.dot") == near.graph


def test_a_margin_that_is_not_known_stays_so(near):
    some = {("a", "c"): Margin(turned=2.0), ("b", "c"): Margin(left_out=np.inf)}
    partly = replace(near, verdict=replace(near.verdict, margins=some))
    again = acyclic.Result.from_json(partly.to_json())
    assert again.verdict.margins == some
    assert {(row["margin"], row["turned"], row["left_out"]) for row in again.edges()} >= {
        (2.0, 2.0, None),
        (np.inf, None, np.inf),
    }


def test_a_file_from_before_there_were_margins_is_read(near):
    plain = json.loads(near.to_json())
    del plain["alternatives"], plain["verdict"]["standing"]
    for edge in plain["edges"]:
        edge.pop("turned"), edge.pop("left_out")
    again = acyclic.Result.from_json(json.dumps(plain))
    assert again.graph == near.graph and again.alternatives == again.verdict.standing == ()
    assert again.verdict.margins == {}


def test_the_page_shows_near_ties_without_arrowheads_and_lists_alternatives(near):
    page = report(near)
    data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    names = [node["name"] for node in data["nodes"]]
    for edge in data["edges"]:
        pair = names[edge["source"]], names[edge["target"]]
        assert edge["open"] == (edge["reversible"] or near.support[pair] is Orientation.CONTESTED)
        margin = near.verdict.margins[pair]
        assert (edge["turned"], edge["left_out"]) == tuple("inf" if value == np.inf else value for value in margin)
    assert "alternatives-heading" in page and escape(say_alternative(near.alternatives[0])) in page

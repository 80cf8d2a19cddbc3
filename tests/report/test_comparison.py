import numpy as np
import pytest
from hypothesis import given

import acyclic
from acyclic.cli import main
from acyclic.facts import Ended, Fact, Orientation
from acyclic.graphs.dag import Dag
from acyclic.judging.verdict import Margin, Verdict
from acyclic.report.comparison import Change, find_differences, report_comparison
from acyclic.result import Result
from strategies import dags, hostile_names

HOSTILE = "</title><img src=x onerror=alert(1)>&"


def result_of(edges, names, *, support=None, margins=None, deviations=()):
    dag = Dag.from_edges(edges, names)
    count = dag.n_nodes, dag.n_edges
    given = {"support": support or {}, "margins": margins or {}}
    verdict = Verdict("m", {}, Fact.of(Ended.COMPLETE), Orientation.INDEPENDENCE, *count, **given)
    return Result(dag, verdict, dag.cpdag(), deviations=deviations)


def changes(first, second):
    return {(found.change, found.source, found.target) for found in find_differences(first, second)}


def test_lost_gained_and_turned():
    one = Dag.from_edges([("a", "b"), ("b", "c"), ("c", "d")], list("abcd"))
    other = Dag.from_edges([("b", "a"), ("c", "d"), ("a", "d")], list("dcba"))
    assert changes(one, other) == {
        (Change.TURNED, "b", "a"),
        (Change.LOST, "b", "c"),
        (Change.GAINED, "a", "d"),
    }
    assert changes(one, one) == set()


def test_an_edge_that_neither_decides_is_not_turned():
    free = {("a", "b"): Orientation.UNDETERMINED, ("b", "a"): Orientation.UNDETERMINED}
    one, other = (result_of([edge], ["a", "b"], support=free) for edge in (("a", "b", 1.0), ("b", "a", 1.0)))
    fixed = result_of([("a", "b", 1.0)], ["a", "b"], support={("a", "b"): Orientation.KNOWLEDGE})
    assert changes(one, other) == set()
    assert changes(one, fixed) == {(Change.DECIDED, "a", "b")}
    assert changes(fixed, one) == {(Change.UNDECIDED, "a", "b")}
    assert changes(other, fixed) == {(Change.TURNED, "a", "b")}


def test_margins_and_standardised_weights_of_both_are_told():
    margins = {("a", "b"): Margin(4.0, 9.0)}
    one = result_of([("a", "b", 2.0)], ["a", "b"], support=dict.fromkeys(margins, Orientation.INDEPENDENCE),
                    margins=margins, deviations=(1.0, 4.0))  # fmt: skip
    other = result_of([("b", "a", 0.1)], ["a", "b"], deviations=(1.0, 4.0))
    (found,) = find_differences(one, other)
    assert found.change is Change.TURNED and found.weights == (0.5, 0.4) and found.margins == (4.0, None)


@given(dags(max_nodes=5, names=hostile_names), dags(max_nodes=5, names=hostile_names))
def test_any_two_graphs_have_a_page(one, other):
    differ = {(frozenset((a, b))) for a, b, _ in one.edges()} ^ {frozenset((a, b)) for a, b, _ in other.edges()}
    page = report_comparison(one, other)
    assert page.count("<tr>") >= len(differ) and page.count("<svg") == 2
    assert page.count('class="edge') == one.n_edges + other.n_edges


def test_names_are_text():
    dag = Dag.from_edges([(HOSTILE, "b")], [HOSTILE, "b"])
    page = report_comparison(dag, Dag.empty([HOSTILE, "b"]), titles=(HOSTILE, "x"))
    assert "<img" not in page and "default-src 'none'" in page and "<script" not in page


def test_both_have_one_layout():
    names = [f"x{k}" for k in range(6)]
    one = Dag.from_edges([("x0", "x1"), ("x1", "x2"), ("x3", "x2")], names)
    other = Dag.from_edges([("x2", "x1"), ("x4", "x5")], names)
    first, second = report_comparison(one, other).split("<figure>")[1:]
    places = [[part.split(")")[0] for part in half.split("translate(")[1:]] for half in (first, second)]
    assert places[0] == places[1] and len(places[0]) == 6


def test_the_command_writes_the_page(tmp_path, monkeypatch, capsys):
    pytest.importorskip("cyclopts")
    pytest.importorskip("rich")
    monkeypatch.chdir(tmp_path)
    X = acyclic.simulate(n_nodes=6, n=300, variances=(0.5, 3), random_state=1).X
    for name, rows in (("a", X), ("b", X[:80])):
        acyclic.learn(rows).save(tmp_path / f"{name}.json")
    assert main(["compare", "a.json", "b.json", "--out", "diff.html"]) == 0
    assert "diff.html" in capsys.readouterr().out
    page = (tmp_path / "diff.html").read_text(encoding="utf-8")
    found = find_differences(*(acyclic.load(tmp_path / f"{name}.json") for name in "ab"))
    assert page.count("<tr><td>") == len(found)
    assert np.isfinite([size for each in found for size in each.weights if size is not None]).all()

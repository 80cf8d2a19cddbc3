import sys

import pytest

from acyclic.errors import MissingExtraError
from acyclic.facts import Ended, Fact, Orientation
from acyclic.graphs.dag import Dag
from acyclic.graphs.drawing import NEGATIVE, POSITIVE
from acyclic.judging.verdict import Verdict
from acyclic.result import Result


@pytest.fixture
def result():
    edges = [("$a_{b$", "b", 1.0), ("b", "c", -0.5), ("$a_{b$", "c", 2.0)]
    dag = Dag.from_edges(edges, names=["$a_{b$", "b", "c", "alone"])
    support = {("b", "c"): Orientation.INDEPENDENCE, ("$a_{b$", "b"): Orientation.EQUAL_VARIANCES}
    verdict = Verdict("m", {}, Fact.of(Ended.COMPLETE), Orientation.EQUAL_VARIANCES, 4, 3, support=support)
    return Result(dag, verdict, dag.cpdag())


def test_the_figure_shows_the_graph(result, tmp_path):
    colors = pytest.importorskip("matplotlib.colors")
    figure = result.plot()
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == list(result.graph.names)
    drawn = [(colors.to_hex(patch.get_edgecolor()), patch.get_linestyle()) for patch in axes.patches]
    assert [colour for colour, _ in drawn] == [POSITIVE, POSITIVE, NEGATIVE]
    # Dashed by an assumption, without a direction, by the rows.
    assert [style == "solid" or style == "-" for _, style in drawn] == [False, True, True]
    heads = [type(patch.get_arrowstyle()).__name__ for patch in axes.patches]
    assert heads == ["CurveFilledB", "Curve", "CurveFilledB"]
    figure.savefig(tmp_path / "graph.png")
    assert (tmp_path / "graph.png").stat().st_size > 1000


def test_it_draws_where_it_is_told_to(result):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.add_subplot()
    assert result.plot(ax=axes) is figure and len(axes.patches) == 3


def test_without_matplotlib_the_error_names_the_extra(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"Result.plot needs matplotlib; .*acyclic\[plot\]"):
        result.plot()

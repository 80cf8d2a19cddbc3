import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given

from acyclic.graphs.dag import Dag
from acyclic.graphs.drawing import LARGEST_PICTURE, NEGATIVE, POSITIVE, draw_curve, scale_stroke, to_svg
from strategies import any_weights, dags, hostile_names

SVG = "{http://www.w3.org/2000/svg}"


def edges_of(text):
    return list(ElementTree.fromstring(text).iterfind(f"{SVG}path"))


@given(dags(max_nodes=6, weights=any_weights, names=hostile_names))
def test_any_name_is_text_in_well_formed_xml(dag):
    root = ElementTree.fromstring(to_svg(dag))
    assert len(root.findall(f"{SVG}path")) == dag.n_edges
    groups = root.findall(f"{SVG}g")
    assert len(groups) == dag.n_nodes
    assert all([child.tag for child in group] == [f"{SVG}title", f"{SVG}rect", f"{SVG}text"] for group in groups)


def test_names_that_look_like_markup_survive():
    name = "<img src=x onerror=alert(1)>"
    group = ElementTree.fromstring(to_svg(Dag.empty([name]))).find(f"{SVG}g")
    assert group.find(f"{SVG}title").text == name


def test_sign_strength_and_assumption_show():
    dag = Dag.from_edges([("a", "b", 2.0), ("b", "c", -0.5)], names=["a", "b", "c"])
    strong, weak = edges_of(to_svg(dag, assumed=[("b", "c")]))
    assert (strong.get("stroke"), weak.get("stroke")) == (POSITIVE, NEGATIVE)
    assert float(strong.get("stroke-width")) > float(weak.get("stroke-width"))
    assert (strong.get("stroke-dasharray"), weak.get("stroke-dasharray")) == (None, "6 4")
    assert weak.find(f"{SVG}title").text == "b → c: -0.5"


def test_an_edge_that_is_not_decided_has_no_head():
    dag = Dag.from_edges([("a", "b"), ("b", "c")], names=["a", "b", "c"])
    decided, loose = edges_of(to_svg(dag, undecided=[("b", "c")]))
    assert decided.get("marker-end") and loose.get("marker-end") is None
    assert loose.find(f"{SVG}title").text == "b – c: 1"


def test_curve_passes_its_points():
    assert draw_curve([(0, 0), (10, 4)]) == "M0.0 0.0C5.0 0.0 5.0 4.0 10.0 4.0"


def test_stroke_width_grows_with_the_weight():
    assert 0 < scale_stroke(0.01, 2.0) < scale_stroke(-1.0, 2.0) < scale_stroke(2.0, 2.0)


def test_a_notebook_shows_a_picture_or_a_line():
    dag = Dag.from_edges([("a", "b")], names=["a", "b"])
    assert dag._repr_html_() == to_svg(dag)
    large = Dag.empty([f"<{k}>" for k in range(LARGEST_PICTURE + 1)])
    assert large._repr_html_().startswith("<pre>Dag(") and "svg" not in large._repr_html_()


@pytest.mark.parametrize("count", [1, 2, 30])
def test_a_graph_without_edges_has_a_picture(count):
    assert to_svg(Dag.empty([f"x{k}" for k in range(count)])).count("<rect") == count

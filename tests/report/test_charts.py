import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acyclic.report.charts import line_chart, ticks


def points(chart):
    line = ElementTree.fromstring(chart).find("polyline").get("points")
    return np.array([pair.split(",") for pair in line.split()], dtype=float)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_round_and_inside(low, span):
    found = ticks(low, low + span)
    assert 2 <= len(found) <= 6
    assert all(low - 1e-6 * span <= tick <= low + span + 1e-6 * span for tick in found)
    assert np.allclose(np.diff(found), np.diff(found)[0], rtol=1e-6)


def test_one_value_has_one_tick():
    assert ticks(3.0, 3.0) == [3.0]


def test_a_line_keeps_proportions():
    drawn = points(line_chart([0, 1, 4], [0, 10, 5], "x", "y"))
    assert (drawn[1, 0] - drawn[0, 0]) / (drawn[2, 0] - drawn[0, 0]) == pytest.approx(0.25, abs=0.01)
    assert drawn[1, 1] < drawn[2, 1] < drawn[0, 1]


def test_a_logarithmic_axis():
    drawn = points(line_chart([0.01, 0.1, 1.0], [1, 1, 1], "x", "y", logarithmic=True))
    assert np.ptp(np.diff(drawn[:, 0])) < 0.2


def test_points_that_are_not_finite_are_left_out():
    assert len(points(line_chart([0, 1, 2, 3], [1, float("nan"), None, 2], "x", "y"))) == 2
    assert line_chart([0.0], [float("inf")], "x", "y") == ""


def test_the_chosen_value_is_marked_where_it_is():
    root = ElementTree.fromstring(line_chart([1, 2, 3], [1, 2, 3], "x", "y", marked=2))
    mark = next(path for path in root.iterfind("path") if path.get("class") == "mark")
    assert mark.get("d").startswith(f"M{points(ElementTree.tostring(root))[1, 0]:.1f} ")


def test_labels_are_text():
    root = ElementTree.fromstring(line_chart([0, 1], [0, 1], "<x>", "a & b"))
    assert {"<x>", "a & b"} <= {text.text for text in root.iterfind("text")}

"""Tables in a terminal: nothing is lost, numbers stay whole, and lines fit wherever they can."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from acyclic.cli.layout import lay_out

HEADER = {"from": "left", "to": "left", "standardised weight": "right", "rests on": "left"}
# Letters of one and of two places, and the signs at which names are broken.
TEXTS = st.text(alphabet="abcXYZ019_/.- 表名", min_size=1, max_size=40).filter(lambda text: text.strip() == text)
NUMBERS = st.floats(-1e4, 1e4).map(lambda value: f"{value:+.3g}")
ROWS = st.lists(st.tuples(TEXTS, TEXTS, NUMBERS, TEXTS), min_size=1, max_size=4)


def without_space(lines):
    return "".join("".join(lines).split())


@given(ROWS, st.integers(50, 200))
def test_lines_fit_and_hold_every_cell(rows, width):
    lines = lay_out(HEADER, rows, width)
    assert max(map(cell_len, lines)) <= width
    assert all(any(number in line for line in lines) for _, _, number, _ in rows)
    letters = sorted(without_space(lines).replace("─", ""))
    assert letters == sorted(without_space([*HEADER, *(cell for row in rows for cell in row)]))


@given(ROWS)
def test_a_file_has_one_line_for_each_row(rows):
    assert len(lay_out(HEADER, rows, None)) == 2 + len(rows)


def test_the_last_text_goes_below_before_names_are_broken():
    row = ["alcalinity_of_ash", "flavanoids", "+0.539", "a near-tie; another graph within 3 turns it"]
    lines = lay_out(HEADER, [row], 60)
    assert lines[-2].split() == row[:3] and lines[-1].strip() == row[3]


@pytest.mark.parametrize("width", [1, 10, 20])
def test_a_terminal_that_is_too_narrow_loses_nothing(width):
    assert "pressure" in without_space(lay_out(HEADER, [["age", "pressure", "+0.5", "independence"]], width))


@pytest.mark.slow
def test_what_goes_into_a_file_is_not_broken():
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [sys.executable, "-m", "acyclic", "datasets"], env=environment, capture_output=True, text=True, check=True
    )
    assert any(len(line) > 80 for line in done.stdout.splitlines())

"""Texts whose numbers are made of the stored runs."""

import importlib.util
import re
from pathlib import Path

import pytest

from acyclic.errors import InputError
from acyclic.experiments.plans import load_plan
from acyclic.experiments.text import fill
from experiments.made_up import record

DOCS = Path(__file__).parents[2] / "docs"


def evidence():
    """Three runs of two methods of a plan: SHD 100, 101, 102 with TMPI, twice that with the exponential constraint."""
    plan = load_plan("figure-2")
    results = {setting: [] for setting in plan.settings(nodes=[10])}
    for setting in results:
        factor = {"MSE + TMPI": 1.0, "MSE + exponential": 2.0}.get(setting.label)
        if factor and setting.data["graph"] == "ER2" and setting.data["noise"] == "gaussian":
            results[setting] = [record(setting, run, shd=factor * (100 + run)) for run in range(3)]
    return {plan.name: (plan, results)}


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("mean shd | figure-2 | MSE + TMPI | ER2 gaussian 10", "101"),
        ("error shd | figure-2 | MSE + exponential | ER2 gaussian 10", "1.15"),
        ("best shd | figure-2 | MSE + exponential | ER2 gaussian 10", "200"),
        ("runs | figure-2 | MSE + TMPI | ER2 gaussian 10", "3"),
        ("ratio shd interval | figure-2 | MSE + TMPI over MSE + exponential | ER2 gaussian 10", "0.50 [0.50, 0.50]"),
        ("versus shd | figure-2 | MSE + TMPI over MSE + exponential | ER2 gaussian 10", "101 / 202: 0.50 [0.50, 0.50]"),
        ("cells runs | figure-2 | MSE + TMPI | ER2,ER3 gaussian 10", "3 | 0"),
        ("runs | figure-2 | MSE + TMPI | ER2,ER3 gaussian 10", "3 and 0"),
        ("cells versus shd | figure-2 | MSE + TMPI over MSE + exponential | ER3 gaussian 10", "–"),
        ("rows", "6"),
    ],
)
def test_a_field_is_filled_from_the_runs(field, text):
    assert fill(f"So {{{{{field}}}}}.", evidence()) == f"So {text}."


@pytest.mark.parametrize(
    "field",
    [
        "median shd | figure-2 | MSE + TMPI | ER2 gaussian 10",
        "mean shd | figure-9 | MSE + TMPI | ER2 gaussian 10",
        "mean shd | figure-2 | MSE + TMPI | gaussian 10",
        "mean shd | figure-2 | MSE + TMPI | ER3 gaussian 10",
        "standing | no such claim",
    ],
    ids=["verb", "plan", "two settings", "no runs", "claim"],
)
def test_a_field_that_cannot_be_filled_is_refused(field):
    with pytest.raises(InputError):
        fill(f"{{{{{field}}}}}", evidence())


def test_code_and_headings_stay_as_they_are():
    text = "# A heading\n\n```\ncode   {x}\n```\n\n- one\n- two\n"
    assert fill(text, {}) == text


def filler():
    spec = importlib.util.spec_from_file_location("fill_reproduction", DOCS / "fill_reproduction.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_numbers_of_the_page_are_those_of_the_rows():
    assert filler().made() == (DOCS / "reproduction.md").read_text(encoding="utf-8")


def test_the_page_has_no_decimal_of_its_own_but_settings_and_published_ones():
    """A number that no field made stands in the template; those it may have are listed."""
    template = re.sub(r"\{\{.*?\}\}", "", (DOCS / "reproduction.md.in").read_text(encoding="utf-8"), flags=re.DOTALL)
    published = "14.5 2.3 45.2 6.4 46.8 7.4 3.61 7.42 11.8 22.6 13.5 53.2 83.3 0.48 0.99 1.44 3.28 22.2 25.2 14.9 16.9"
    settings = "0.5 0.15 0.3"
    assert set(re.findall(r"\d+\.\d+", template)) <= {*published.split(), *settings.split()}

"""What acyclic returns in a notebook: pictures and tables by themselves, frames, bars, and a log."""

import importlib.machinery
import logging
import subprocess
import sys
import types

import numpy as np
import pandas as pd
import polars as pl
import pytest

import acyclic
from acyclic.errors import InputError, MissingExtraError
from acyclic.facts import Orientation
from acyclic.graphs import showing
from acyclic.trust import progress
from acyclic.types import Progress

HOSTILE = "<b>&x"


@pytest.fixture(scope="module")
def data():
    made = acyclic.simulate(5, 200, graph="ER2", random_state=1)
    return pd.DataFrame(made.X, columns=[HOSTILE, "x1", "x2", "x3", "x4"])


@pytest.fixture(scope="module")
def shown(data):
    result = acyclic.learn(data)
    return {
        "result": result,
        "graph": result.graph,
        "cpdag": result.cpdag,
        "bootstrap": acyclic.bootstrap("auto", data, draws=3),
        "effects": acyclic.total_effects(result, data, draws=5),
        "audit": acyclic.audit(data, rescalings=0),
        "adequacy": acyclic.markov_check(acyclic.Dag(np.zeros((5, 5)), data.columns), data),
        "comparison": acyclic.compare(acyclic.simulate(5, 10, random_state=2).graph, acyclic.Dag(np.eye(5, k=1))),
        "explanation": result.explain("x1"),
        "choice": acyclic.choose_l1(acyclic.Notears(), data, [0.5, 0.1]),
    }


NAMES = (
    *("result", "graph", "cpdag", "bootstrap", "effects", "audit", "adequacy"),
    *("comparison", "explanation", "choice"),
)


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_is_returned_shows_itself_and_is_a_frame(shown, name):
    html = shown[name]._repr_html_()
    assert html.startswith("<") and HOSTILE not in html
    frame = shown[name].to_frame()
    assert isinstance(frame, pd.DataFrame) and len(frame) and len(frame.columns) >= 3


def test_the_frame_of_a_result_is_the_table_of_edges(shown):
    result = shown["result"]
    frame = result.to_frame()
    assert list(frame.columns) == result.edge_columns() and len(frame) == result.graph.n_edges
    assert frame["weight"].tolist() == [row["weight"] for row in result.edges()]
    assert {Orientation(word) for word in frame["support"]} <= set(Orientation)


def test_a_frame_is_of_what_is_installed(monkeypatch):
    rows = [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    assert isinstance(showing.make_frame(rows), pd.DataFrame)
    monkeypatch.delitem(sys.modules, "pandas")
    assert isinstance(showing.make_frame(rows), pl.DataFrame)
    monkeypatch.delitem(sys.modules, "polars")
    monkeypatch.setattr(showing, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError):
        showing.make_frame(rows)


def test_a_long_table_is_cut_and_says_so():
    html = showing.write_table([{"a": float(k)} for k in range(35)])
    assert html.count("<tr>") == 31 and html.endswith("<p>and 5 more</p>")


def test_a_figure_draws_itself_without_pyplot(shown):
    assert shown["result"].plot()._repr_png_()[:8] == b"\x89PNG\r\n\x1a\n"


def test_fitted_learners_report_and_draw_themselves(data, tmp_path):
    model = acyclic.OrderSearch().fit(data)
    model.report(tmp_path / "bare.html", title="bare")
    model.report(tmp_path / "whole.html", data)
    bare, whole = ((tmp_path / name).read_text() for name in ("bare.html", "whole.html"))
    assert "<title>bare</title>" in bare and '"sample":null' in bare and '"sample":{' in whole
    assert model.plot()._repr_png_()
    with pytest.raises(InputError, match="not the table"):
        model.report(tmp_path / "other.html", data * 2)


def test_a_learner_from_the_package_can_report_in_a_fresh_process(tmp_path):
    code = (
        "import acyclic, numpy as np\n"
        "acyclic.SortnRegress().fit(np.random.default_rng(0).normal(size=(50, 3))).report('page.html')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=120)
    assert (tmp_path / "page.html").exists()


# --- Progress --------------------------------------------------------------------------------------------------------


def test_progress_shows_and_does_not_change_the_answer(data, capfd):
    seen = []
    callback = lambda moment: seen.append(moment.stage)  # noqa: E731
    found = acyclic.learn(data, progress=True, callback=callback)
    assert found.graph == acyclic.learn(data).graph and seen
    assert acyclic.bootstrap("auto", data, draws=2, progress=True).draws == 2
    assert acyclic.audit(data, rescalings=0, progress=True).refits == 1


def test_a_callback_still_ends_a_run_whose_progress_is_shown(data):
    found = acyclic.bootstrap("auto", data, draws=5, progress=True, callback=lambda moment: moment.step == 2)
    assert found.draws == 2


def test_notebooks_get_the_bar_of_tqdm_and_others_that_of_rich(monkeypatch):
    bars = []

    class FakeBar:
        n = 0

        def __init__(self, total, desc):
            bars.append((desc, total))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            bars.append(self.n)

        def set_description(self, text, refresh):
            bars.append(text)

        def update(self, count):
            self.n += count

    fake = types.ModuleType("tqdm.auto")
    fake.tqdm = FakeBar
    package = types.ModuleType("tqdm")
    package.__spec__ = importlib.machinery.ModuleSpec("tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm", package)
    monkeypatch.setitem(sys.modules, "tqdm.auto", fake)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    with progress.show_progress(True, None, "work", 3) as told:
        for step in (1, 2, 2):
            told(Progress("draw", step, step, 0.0, 0.0, 0.0, 0, 0.0))
    assert bars[0] == ("work", 3) and bars[1] == "work: draw" and bars[-1] == 2


def test_without_any_bar_there_are_lines(monkeypatch, capsys):
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    with progress.show_progress(True, None, "work") as told:
        for stage in ("one", "one", "two\x1b"):
            told(Progress(stage, 0, 0, 0.0, 0.0, 0.0, 0, 0.0))
    assert capsys.readouterr().err == "work\nwork: one\nwork: two\\x1b\n"


def test_the_log_tells_each_stage_once(data, caplog):
    with caplog.at_level(logging.INFO, logger="acyclic"):
        acyclic.learn(data)
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == "learning begins" and said[-1] == "learning ended" and len(said) > 2
    assert len(said) == len(set(said))


def test_a_library_says_nothing_unasked(data, capfd):
    acyclic.learn(data)
    assert capfd.readouterr() == ("", "")
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("acyclic").handlers)

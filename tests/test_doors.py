"""One table, one fit: every method works through every door, and all doors give the same answer."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest

import acyclic
from acyclic.cli import main
from acyclic.data.text import TextSource
from acyclic.errors import InputError
from acyclic.facts import Ended, Remark
from acyclic.graphs.dag import Dag
from acyclic.learners import LEARNERS, Auto, DagLearner
from acyclic.report import report
from acyclic.report.folder import edge_list
from acyclic.trust.audit import audit
from acyclic.trust.bootstrap import bootstrap

pytest.importorskip("cyclopts", reason="the command line needs the extra cli")
pytest.importorskip("rich", reason="the command line needs the extra cli")
pytest.importorskip("polars", reason="reading files needs the extra files")

from acyclic.cli.terminal import Output

NEURAL = ("notears-mlp", "dag-gnn", "gran-dag")
# So little training that a fit takes a moment.
QUICK = {
    "notears-mlp": {"hidden": 2, "max_rounds": 1},
    "dag-gnn": {"max_rounds": 1, "epochs": 1},
    "gran-dag": {"max_iterations": 3, "hidden": 2},
}
unconverged = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def learner_of(method):
    if method in NEURAL:
        pytest.importorskip("torch")
    return method


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def frame():
    data = acyclic.simulate(n_nodes=5, n=120, graph="ER1", random_state=4)
    table = pd.DataFrame(data.X, columns=list("abcde"))
    # A column with something to note.
    return table.assign(sum=table["a"] + table["b"])


@pytest.fixture
def file(here, frame):
    frame.to_csv(here / "t.csv", index=False)
    return here / "t.csv"


@pytest.fixture
def binary(here):
    rows = (acyclic.simulate(n_nodes=4, n=200, graph="ER1", random_state=2).X > 0).astype(int)
    pd.DataFrame(rows, columns=list("abcd")).to_csv(here / "binary.csv", index=False)
    return here / "binary.csv"


def flags(options):
    return [word for name, value in options.items() for word in (f"--option.{name}", str(value))]


NEEDS_ROWS = [(method, QUICK[method]) for method in NEURAL] + [("notears", {"loss": "logistic", "l1": 0.02})]


@unconverged
@pytest.mark.parametrize(("method", "options"), NEEDS_ROWS, ids=[method for method, _ in NEEDS_ROWS])
def test_methods_that_need_rows_get_them_through_every_command(here, binary, capsys, method, options):
    learner_of(method)
    asked = [str(binary), "--method", method, *flags(options)]
    assert main(["learn", *asked, "--bootstrap", "1", "--audit", "--out", "run", "--quiet"]) == 0
    result = acyclic.load(here / "run" / "result.json")
    assert result.graph == acyclic.learn(binary, method=method, **options).graph
    assert result.verdict.method == method and result.confidence["draws"] == 1
    fixed = {"kind": Remark.FIXED_UNITS.value} in result.audit["notes"]
    assert fixed == ("loss" in options) == (result.audit["refits"] == 0)
    assert main(["bootstrap", *asked, "--draws", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["edges"] == result.confidence["edges"]
    assert main(["audit", *asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == result.audit


@unconverged
@pytest.mark.parametrize("method", LEARNERS)
def test_limits_and_callbacks_are_honoured_by_every_method(frame, method):
    learner_of(method)
    late = acyclic.learn(frame, method=method, time_limit=0, **QUICK.get(method, {}))
    assert late.verdict.end.kind is Ended.TIME_LIMIT and late.verdict.end["seconds"] == 0
    seen = []
    ended = acyclic.learn(frame, method=method, callback=lambda p: seen.append(p) or True, **QUICK.get(method, {}))
    assert ended.verdict.end.kind is Ended.CALLBACK and len(seen) == 1


@pytest.mark.parametrize("method", LEARNERS)
def test_options_that_a_method_does_not_have_are_refused(frame, file, capsys, method):
    learner_of(method)
    with pytest.raises(InputError, match=f"{method} has no setting 'speed'; it takes .*time_limit"):
        acyclic.learn(frame, method=method, speed=9)
    assert main(["learn", str(file), "--method", method, "--option.speed", "9", "--quiet"]) == 1
    assert "no setting 'speed'" in capsys.readouterr().err
    if "threshold" not in LEARNERS[method]._get_param_names():
        with pytest.raises(InputError, match="no setting 'threshold'"):
            acyclic.learn(frame, method=method, threshold=0.3)


def test_command_file_and_frame_give_the_same_bits_notes_and_digest(here, frame, file):
    assert main(["learn", str(file), "--out", "run", "--quiet"]) == 0
    command = acyclic.load(here / "run" / "result.json")
    for other in (acyclic.learn(file), acyclic.learn(frame), acyclic.learn(acyclic.read_table(file))):
        assert other.graph.names == command.graph.names
        assert other.graph.weights.tobytes() == command.graph.weights.tobytes()
        assert other.verdict == command.verdict and other.verdict.notes
        assert other.provenance["data"] == command.provenance["data"]
        assert other.provenance["settings"] == command.provenance["settings"]


def test_one_command_parses_the_file_once_and_learns_from_the_whole_table_once(here, file, monkeypatch):
    parsed, fitted = [], []
    blocks, find = TextSource.blocks, Auto._find
    monkeypatch.setattr(TextSource, "blocks", lambda self, *a, **k: parsed.append(1) or blocks(self, *a, **k))

    def counting(self, table, mask, monitor):
        fitted.append(table.digest)
        return find(self, table, mask, monitor)

    monkeypatch.setattr(Auto, "_find", counting)
    assert main(["learn", str(file), "--bootstrap", "3", "--audit", "--out", "run", "--quiet"]) == 0
    result = acyclic.load(here / "run" / "result.json")
    assert len(parsed) == 1 and fitted.count(result.provenance["data"]) == 1
    # Three draws, the standardised table and three others in other units besides, and half of the rows.
    assert len(fitted) == 1 + 3 + 4 + 1 and len(set(fitted)) == len(fitted)


@pytest.mark.parametrize("method", ["sortnregress", "order-search", "golem", "auto"])
def test_a_learner_is_trusted_alike_through_every_door(frame, method):
    by_name, by_model = (bootstrap(learner, frame, 3) for learner in (method, LEARNERS[method]()))

    def function(table):
        return acyclic.learn(table, method=method)

    by_call = bootstrap(function, frame, 3)
    # Warm starts are for estimators alone; without them even the weights are the same.
    cold = bootstrap(method, frame, 3, warm_start=False)
    assert by_name.edge.tobytes() == by_model.edge.tobytes()
    assert cold.edge.tobytes() == by_call.edge.tobytes() and cold.weight.tobytes() == by_call.weight.tobytes()
    assert audit(frame, learner=method, rescalings=1) == audit(frame, learner=function, rescalings=1)


def turned(frame):
    """A result with three edges: one found in every draw, one always reversed, one never."""
    names = list(frame.columns)
    learned = Dag.from_edges([("a", "b", 2.0), ("c", "d", 1.5), ("d", "e", -1.0)], names)
    drawn = Dag.from_edges([("a", "b", 2.5), ("d", "c", 0.5)], names)
    graphs = [learned, drawn, drawn, Dag.from_edges([("a", "b", 2.5)], names), drawn]
    found = bootstrap(lambda table: graphs.pop(0), frame, 4)
    result = acyclic.learn(frame)
    verdict = result.verdict
    return type(result)(learned, verdict, learned.cpdag(), result.provenance).with_evidence(confidence=found)


def test_terminal_file_and_page_show_the_same_numbers_under_the_same_names(here, frame, capsys):
    result = turned(frame)
    shares = {(row["source"], row["target"]): (row["this_way"], row["either_way"]) for row in result.edges()}
    assert shares == {("a", "b"): (1.0, 1.0), ("c", "d"): (0.0, 0.75), ("d", "e"): (0.0, 0.0)}
    written = csv.DictReader(edge_list(result).splitlines())
    assert {(row["source"], row["target"]): (float(row["this_way"]), float(row["either_way"])) for row in written} == (
        shares
    )
    data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', report(result), re.S)[1])
    names = [node["name"] for node in data["nodes"]]
    assert {
        (names[edge["source"]], names[edge["target"]]): (edge["this_way"], edge["either_way"]) for edge in data["edges"]
    } == shares
    Output().result(result)
    header, rows = "", {}
    for line in capsys.readouterr().out.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if cells[0] == "from":
            header = cells
        elif header and "%" in line:
            at = header.index("this way")
            rows[cells[0], cells[2]] = tuple(float(cell.rstrip("%")) / 100 for cell in cells[at : at + 2])
    assert header[-4:-1] == ["this way", "either way", "margin"] and rows == shares


def test_every_learner_is_in_the_one_list():
    assert set(LEARNERS) >= {"auto", "notears", "golem", *NEURAL}
    assert all(issubclass(kind, DagLearner) and kind.method == name for name, kind in LEARNERS.items())
    for name, kind in LEARNERS.items():
        assert {"knowledge", "time_limit", "callback"} <= set(kind._get_param_names()), name
    assert np.unique(list(LEARNERS)).size == len(LEARNERS)

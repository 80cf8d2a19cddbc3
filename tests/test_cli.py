import csv
import dataclasses
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import acyclic
from acyclic.cli import main
from acyclic.errors import InputError
from acyclic.facts import Caution, Ended, Fact, Ground, Note, Remark
from acyclic.graphs.formats import read
from acyclic.judging.words import show_cell
from acyclic.report.folder import FILES
from acyclic.types import Progress

pytest.importorskip("cyclopts", reason="the command line needs the extra cli")
pytest.importorskip("rich", reason="the command line needs the extra cli")
pytest.importorskip("polars", reason="reading files needs the extra files")

from acyclic.cli import trying
from acyclic.cli.commands import app
from acyclic.cli.settings import Settings, gather
from acyclic.cli.terminal import Stages

COMMANDS = ("learn", "audit", "bootstrap", "compare", "simulate", "report", "datasets")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def table(here):
    assert main(["simulate", "--nodes", "6", "--rows", "400", "--seed", "3", "--out", "data", "--quiet"]) == 0
    return here / "data" / "table.csv"


def test_honest_rows_are_drawn_on_the_edges_of_a_file(table):
    flags = ["--graph", "data/graph.json", "--rows", "50", "--seed", "4", "--quiet"]
    assert main(["simulate", *flags, "--scheme", "dao", "--out", "onion"]) == 0
    spans = ["--weight-range", "0", "1", "--variances", "1", "2"]
    assert main(["simulate", *flags, "--scheme", "standardized", *spans, "--out", "standard"]) == 0
    edges = read("data/graph.json")
    for name, settings in {
        "onion": {"scheme": "dao"},
        "standard": {"scheme": "standardized", "weight_range": (0, 1), "variances": (1, 2)},
    }.items():
        expected = acyclic.simulate(n=50, graph=edges, **settings, random_state=4)
        assert read(f"{name}/graph.json") == expected.graph
        assert (expected.graph.adjacency == edges.adjacency).all()
        assert np.allclose(np.loadtxt(f"{name}/table.csv", delimiter=",", skiprows=1), expected.X)


def test_rows_are_drawn_on_a_member_of_a_class_too(table):
    cpdag = acyclic.Cpdag.from_edges([], [("a", "b"), ("b", "c")], names=["a", "b", "c"])
    (table.parent.parent / "class.json").write_text(cpdag.to_json())
    assert main(["simulate", "--graph", "class.json", "--rows", "20", "--out", "drawn", "--quiet"]) == 0
    assert read("drawn/graph.json").cpdag() == cpdag


def examples(command):
    """The example lines of a command's help."""
    fence = re.search(r"```\n(.*?)```", app[command].default_command.__doc__, re.DOTALL)
    return [line.strip() for line in fence[1].splitlines() if line.strip()]


def words(line):
    return re.findall(r'"[^"]*"|\S+', line)


@pytest.mark.slow
def test_the_examples_of_every_help_run(here, capsys):
    order = ("datasets", "learn", "audit", "bootstrap", "compare", "simulate", "report")
    assert sorted(order) == sorted(COMMANDS)
    for command in order:
        for line in examples(command):
            first, *rest = [word.strip('"') for word in words(line)]
            assert (first, rest[0]) == ("acyclic", command)
            assert main(rest) == 0, capsys.readouterr().err
            assert capsys.readouterr().out
    assert sorted(entry.name for entry in (here / "sachs-again").iterdir()) == sorted(FILES)
    assert acyclic.load(here / "sachs-again" / "result.json").confidence["draws"] == 20
    assert "<title>Sachs 2005</title>" in (here / "sachs.html").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_purpose_flags_and_example(command, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert app[command].default_command.__doc__.splitlines()[0] in shown
    assert examples(command)[0] in shown and "--quiet" in shown
    assert "Exit codes: 0" in shown


def test_learn_writes_what_the_library_finds(table, here, capsys):
    assert main(["learn", str(table), "--quick"]) == 0
    result = acyclic.load(here / "table-acyclic" / "result.json")
    expected = acyclic.learn(table)
    assert result.confidence is None and result.audit is None and str(result) == str(expected)
    assert result.graph == expected.graph and result.verdict == expected.verdict
    assert result.provenance["data"] == expected.provenance["data"]
    shown = capsys.readouterr()
    for line in str(result).splitlines():
        assert line in shown.out
    assert f"{result.graph.n_edges} edges" in shown.out
    assert "report.html" in shown.out
    assert "learning" in shown.err and "\x1b" not in shown.err


def test_a_run_is_tried_on_draws_and_audited_unless_it_is_to_be_quick(table, here, monkeypatch):
    monkeypatch.setattr(trying, "DRAWS", 10)
    monkeypatch.setattr(trying, "DRAW_SECONDS", 1e6)
    assert main(["learn", str(table), "--out", "run", "--quiet"]) == 0
    result = acyclic.load("run/result.json")
    assert result.confidence["draws"] == result.confidence["requested"] == 10
    assert result.audit["refits"] <= 4 and result.ended is Ended.COMPLETE
    (ground,) = [fact for fact in result.verdict.assessment.grounds if fact.kind is Ground.LINKS_REDRAWN]
    assert ground["draws"] == 10
    for number, flags in enumerate((["--quick"], ["--bootstrap", "0", "--no-audit"])):
        assert main(["learn", str(table), *flags, "--out", f"bare{number}", "--quiet"]) == 0
        bare = acyclic.load(f"bare{number}/result.json")
        assert bare.confidence is None and bare.audit is None and bare.graph == result.graph
    assert main(["learn", "--from", "bare0/result.json", "--out", "again", "--quiet"]) == 0
    assert acyclic.load("again/result.json").confidence is None
    assert main(["learn", str(table), "--quick", "--bootstrap", "2", "--out", "asked", "--quiet"]) == 0
    asked = acyclic.load("asked/result.json")
    assert asked.confidence["draws"] == 2 and asked.audit is None


def test_where_no_draw_is_done_in_time_the_result_says_that_none_was(table, here, monkeypatch):
    monkeypatch.setattr(trying, "DRAW_SECONDS", 0.0)
    monkeypatch.setattr(trying, "AUDIT_SECONDS", 0.0)
    assert main(["learn", str(table), "--out", "run", "--quiet"]) == 0
    result = acyclic.load("run/result.json")
    assert result.confidence is None and result.audit["refits"] == 0 and result.ended is Ended.COMPLETE
    assert Ground.NOT_REDRAWN in [fact.kind for fact in result.verdict.assessment.grounds]


def test_draws_that_nobody_counted_are_all_that_were_wanted(table):
    job = gather(table, Settings())
    found = acyclic.bootstrap("sortnregress", table, draws=5, callback=lambda moment: moment.step == 2)
    cut = dataclasses.replace(found, end=Fact.of(Ended.TIME_LIMIT, seconds=6.0))
    settled = trying._settle_draws(job, cut)
    assert (settled.draws, settled.requested, settled.end.kind) == (2, 2, Ended.COMPLETE)
    assert Remark.CUT_SHORT not in [note.kind for note in settled.notes]
    limited = gather(table, Settings(time_limit=0.0))
    assert trying._settle_draws(limited, cut) is cut and trying._settle_draws(job, found) is found


def test_a_target_is_explained_and_one_that_is_no_column_refused_before_any_work(table, here, capsys, monkeypatch):
    monkeypatch.setattr("acyclic.trust.explaining.SECONDS", 600.0)  # a busy machine would refit less often
    assert main(["learn", str(table), "--quick", "--target", "x5", "--out", "run"]) == 0
    # Without the table the graph is not refitted, so that there are no intervals: compare with what has it.
    said = acyclic.load("run/result.json").with_table(acyclic.read_table(table)).explain("x5")
    shown = capsys.readouterr().out
    for line in str(said).splitlines():
        assert line in shown
    assert main(["learn", str(table), "--target", "x55", "--out", "none"]) == 1
    assert "no column is called" in capsys.readouterr().err and not Path("none").exists()


def test_rows_stay_out_of_the_page_or_come_back_into_it(table, here, capsys):
    def page_data(path):
        found = re.search(r'id="graph-data">(.*?)</script>', Path(path).read_text(encoding="utf-8"), re.DOTALL)
        return json.loads(found[1])

    assert main(["learn", str(table), "--quick", "--no-rows", "--out", "run", "--quiet"]) == 0
    bare = page_data("run/report.html")
    assert bare["sample"] is None and not any("counts" in column for column in bare["variables"])
    assert main(["report", "run/result.json", "--out", "without.html", "--quiet"]) == 0
    assert page_data("without.html")["sample"] is None
    asked = ["report", "run/result.json", "--table", str(table), "--quiet"]
    assert main([*asked, "--out", "with.html"]) == 0
    assert page_data("with.html")["sample"]["rows"] == 400 and "why" not in page_data("with.html")["live"]
    assert main([*asked, "--out", "still.html", "--no-rows"]) == 0
    assert page_data("still.html")["sample"] is None
    other = here / "other.csv"
    other.write_text(table.read_text().replace("1", "2"))
    assert main(["report", "run/result.json", "--table", str(other), "--out", "no.html"]) == 1
    assert "not the one" in capsys.readouterr().err


def test_the_table_of_edges_is_the_same_in_terminal_csv_and_python(table, here, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["learn", str(table), "--bootstrap", "4", "--quick", "--out", "run"]) == 0
    result, shown = acyclic.load("run/result.json"), capsys.readouterr().out
    columns, rows = result.shown_columns(), result.edges()
    lines = [re.split(r" {2,}", line.strip()) for line in shown.splitlines()]
    at = lines.index(list(columns.values()))
    assert lines[at + 2 : at + 2 + len(rows)] == [[show_cell(row, name) for name in columns] for row in rows]
    with open("run/edges.csv", encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert list(written[0]) == result.edge_columns() and set(columns) <= set(result.edge_columns())
    for there, row in zip(written, rows, strict=True):
        for name in result.edge_columns():
            assert there[name] == ("" if row[name] is None else str(row[name]))


def test_flags_reach_the_reading_and_the_learner(table, here):
    knowledge = here / "k.toml"
    knowledge.write_text('forbidden = [["x0", "x1"]]\n')
    flags = ["--columns", "x3", "x0", "x1", "x2", "--drop", "x2", "--standardize", "--knowledge", str(knowledge)]
    flags += [
        "--method",
        "notears",
        "--option.l1",
        "0.02",
        "--option.constraint",
        "log-det",
        "--threshold",
        "0.1",
        "--seed",
        "5",
        "--time-limit",
        "60",
    ]
    assert main(["learn", str(table), *flags, "--out", "run", "--quiet"]) == 0
    result = acyclic.load(here / "run" / "result.json")
    assert result.graph.names == ("x3", "x0", "x1")
    assert result.provenance["settings"]["constraint"] == "log-det"
    assert result.provenance["settings"]["l1"] == 0.02 and result.provenance["run"]["seed"] == 5
    assert result.verdict.threshold == 0.1 and result.verdict.method == "notears"
    assert ("x0", "x1") not in {edge[:2] for edge in result.graph.edges()}
    run = result.provenance["run"]
    assert run["knowledge"] == {"forbidden": [["x0", "x1"]]} and run["standardize"] is True
    assert run["columns"] == ["x3", "x0", "x1", "x2"] and run["table"] == str(table)


def test_a_run_is_repeated_from_its_result_even_without_its_files(table, here):
    (here / "k.toml").write_text('required = [["x0", "x5"]]\n')
    assert main(["learn", str(table), "--knowledge", "k.toml", "--drop", "x2", "--out", "one", "--quiet"]) == 0
    (here / "k.toml").unlink()
    assert main(["learn", "--from", "one/result.json", "--out", "two", "--quiet"]) == 0
    one, two = (acyclic.load(here / name / "result.json") for name in ("one", "two"))
    assert one.graph == two.graph and one.provenance["run"] == two.provenance["run"]
    assert one.provenance["data"] == two.provenance["data"] and ("x0", "x5") in {e[:2] for e in two.graph.edges()}
    assert (here / "one" / "graph.dot").read_bytes() == (here / "two" / "graph.dot").read_bytes()


def test_a_repeated_run_tells_when_the_table_has_changed(table, here):
    assert main(["learn", str(table), "--out", "one", "--quiet"]) == 0
    assert main(["learn", "--from", "one/result.json", "--out", "two", "--quiet"]) == 0
    table.write_text(table.read_text() + "0,0,0,0,0,0\n")
    assert main(["learn", "--from", "one/result.json", "--out", "three", "--quiet"]) == 0
    assert main(["learn", "--from", "one/result.json", "--seed", "2", "--out", "four", "--quiet"]) == 0
    warned = [
        Fact.of(Caution.TABLE_CHANGED) in acyclic.load(here / name / "result.json").verdict.cautions
        for name in ("one", "two", "three", "four")
    ]
    assert warned == [False, False, True, False]


def test_flags_overrule_the_file_which_overrules_the_result(table, here):
    (here / "run.toml").write_text('table = "data/table.csv"\nseed = 7\ndrop = ["x1"]\ntime-limit = 50\n')
    assert main(["learn", str(table), "--seed", "1", "--drop", "x0", "--out", "one", "--quiet"]) == 0
    run = gather(None, Settings(seed=9), here / "run.toml", here / "one" / "result.json")
    assert (run.settings.seed, run.settings.drop, run.settings.time_limit) == (9, ("x1",), 50)
    assert run.table == here / "data" / "table.csv"
    assert main(["learn", "--config", "run.toml", "--out", "two", "--quiet"]) == 0
    assert acyclic.load(here / "two" / "result.json").graph.names == ("x0", "x2", "x3", "x4", "x5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sed = 1", r"there is no setting 'sed' \(did you mean 'seed'\?\); it takes table"),
        ("seed = true", "seed has to be a whole number, at least 0; got True"),
        ('columns = "x0"', "columns has to be a list; got 'x0'"),
        ("seed = ", "is not a TOML file"),
    ],
)
def test_a_wrong_config_is_refused_in_words(here, text, message):
    (here / "run.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        gather(here / "t.csv", Settings(), here / "run.toml")


def test_log_and_missing_values(here):
    (here / "t.csv").write_text(
        "a,b,c\n" + "".join(f"{k + 1},{(k * 7) % 13 + 1},{(k * k) % 11 + 1}\n" for k in range(60)) + "3,,4\n"
    )
    assert main(["learn", "t.csv", "--log", "all", "--missing", "drop-rows", "--out", "run", "--quiet"]) == 0
    result = acyclic.load(here / "run" / "result.json")
    assert result.provenance["rows"] == 60
    assert [fact.about for fact in result.verdict.notes if fact.kind is Note.LOG] == [("a",), ("b",), ("c",)]
    assert main(["learn", "t.csv", "--out", "other", "--quiet"]) == 1


def test_bootstrap_and_audit_go_into_the_report(table, here, capsys):
    assert main(["learn", str(table), "--bootstrap", "6", "--audit", "--jobs", "1", "--out", "run"]) == 0
    result = acyclic.load(here / "run" / "result.json")
    assert result.confidence["draws"] == 6 and result.audit["refits"] > 0
    page = (here / "run" / "report.html").read_text()
    assert "6 of 6 draws" in page and "refits under other units" in page
    assert {"this way", "either way"} <= set(re.findall(r"\w+ way", capsys.readouterr().out))


def test_json_is_one_document_and_quiet_is_silent(table, here, capsys):
    assert main(["learn", str(table), "--json", "--out", "run"]) == 0
    shown = capsys.readouterr().out
    assert acyclic.Result.from_json(shown).graph == acyclic.load(here / "run" / "result.json").graph
    for arguments in (["audit", str(table)], ["bootstrap", str(table), "--draws", "3"], ["datasets"]):
        assert main([*arguments, "--json"]) == 0
        assert isinstance(json.loads(capsys.readouterr().out), dict)
        assert main([*arguments, "--quiet"]) == 0
        shown = capsys.readouterr()
        assert (shown.out, shown.err) == ("", "")


def test_compare_takes_graphs_and_results(table, here, capsys):
    assert main(["learn", str(table), "--out", "run", "--quiet"]) == 0
    for estimate in ("result.json", "graph.dot", "graph.graphml"):
        assert main(["compare", "data/graph.json", f"run/{estimate}", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        expected = acyclic.compare(read(here / "data" / "graph.json"), read(here / "run" / "graph.dot"))
        assert found["shd"] == expected.shd and found["sid"] == expected.sid


def test_data_sets_are_written_exactly(here):
    assert main(["datasets", "sachs", "--quiet"]) == 0
    sachs = acyclic.load_sachs()
    np.testing.assert_array_equal(np.loadtxt("sachs/table.csv", delimiter=",", skiprows=1), sachs.X)
    assert read("sachs/graph-17.json") == sachs.graphs["17"]
    if find_spec("pgmpy") is None:
        pytest.skip("networks need the extra handoff")
    assert main(["datasets", "ecoli70", "--out", "net", "--quiet"]) == 0
    assert read("net/graph.json") == acyclic.load_network("ecoli70").graph


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["learn"], 1, "no table was given; name a file"),
        (["learn", "none.csv"], 1, "none.csv"),
        (["learn", "data/table.csv", "--drop", "y"], 1, "y"),
        (["learn", "data/table.csv", "--method", "magic"], 1, "there is no method 'magic'"),
        (["learn", "data/table.csv", "--knowledge", "none.toml"], 1, "none.toml"),
        (["learn", "data/table.csv", "--out", "data"], 1, "holds other files"),
        (["learn", "--from", "data/graph.json"], 1, "not a result file"),
        (["compare", "data/graph.json", "data/table.xyz"], 1, "a graph file ends in"),
        (["report", "none.json"], 1, "No such file"),
        (["datasets", "titanic"], 1, "there is no data set 'titanic'"),
        (["simulate", "--nodes", "6", "--out", "data"], 1, "--force"),
        (["simulate", "--noise", "loud", "--out", "new"], 1, "loud"),
        (["simulate", "--scheme", "onion", "--out", "new"], 1, "raw, standardized, iscm, dao"),
        (
            ["simulate", "--scheme", "dao", "--variances", "1", "2", "--out", "new"],
            1,
            "leave weight_range and variances",
        ),
        (["simulate", "--graph", "none.json", "--out", "new"], 1, "none.json"),
        (["simulate", "--graph", "data/graph.json", "--nodes", "7", "--out", "new"], 1, "the graph has 6 nodes"),
        (["lern"], 2, "did you mean learn"),
        (["learn", "data/table.csv", "--speed", "9"], 2, "--speed"),
        (["learn", "data/table.csv", "--seed", "x"], 2, "--seed"),
        (["learn", "data/table.csv", "--seed", "1.5"], 2, "--seed"),
        (["simulate", "--rows", "1.5"], 2, "--rows"),
        (["learn", "data/table.csv", "--missing", "guess"], 2, "drop-rows"),
        (["compare", "data/graph.json"], 2, "ESTIMATE"),
    ],
)
def test_errors_are_one_sentence_with_the_right_code(table, capsys, arguments, code, message):
    assert main(arguments) == code
    shown = capsys.readouterr()
    *stages, sentence = shown.err.strip().splitlines()
    assert sentence.startswith("error: ") and message in sentence
    assert set(stages) <= {"reading", "learning"} and shown.out == ""


SPECIES = "dose,species,effect\n" + "".join(f"{k % 7},ab{k},{k % 5}\n" for k in range(40))


@pytest.mark.parametrize(
    ("table", "arguments", "advice"),
    [
        (SPECIES, ["--strict"], "--drop species"),
        (SPECIES, ["--drop", "specis"], "--drop names 'specis' (did you mean 'species'?)"),
        ("a,two words\n1,x\n2,y\n3,z\n", ["--strict"], "--drop 'two words'"),
        ("a,b\n1,\n2,3\n4,1\n", [], "--missing em"),
        ("a,b\n1,2\n2,3\n4,x\n", [], "--null-values x"),
        ("a,b\n1,2\n2,3\n4,1\n", ["--method", "notears", "--option.l1", "abc"], "--option.l1 has to be"),
        ("a,b\n1,2\n2,3\n4,1\n", ["--seed", "-1"], "--seed has to be a whole number, at least 0"),
        ("a,b\n1,2\n2,3\n4,1\n", ["--time-limit", "-1"], "--time-limit has to be a number of seconds"),
        ("a,b\n1,2\n2,3\n4,1\n", ["--method", "notear"], "did you mean 'notears'"),
        ("a,b\n1,2\n2,3\n4,1\n", ["--out", "."], "--out"),
    ],
)
def test_the_shell_is_told_flags_and_python_arguments(here, capsys, table, arguments, advice):
    (here / "t.csv").write_text(table)
    assert main(["learn", "t.csv", "--quiet", *arguments]) == 1
    assert advice in capsys.readouterr().err
    assert [entry.name for entry in here.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--drop", "x1", "data/table.csv"],
        ["--drop", "x1", "data/table.csv", "--seed", "1"],
        ["--quiet", "--columns", "x0", "x2", "x3", "data/table.csv"],
        ["--log", "data/table.csv"],
        ["--option.penalty", "strong", "data/table.csv", "--method", "ges"],
        ["--standardize", "data/table.csv"],
        ["--time-limit", "5", "data/table.csv"],
    ],
)
def test_no_order_of_words_hides_the_table(table, arguments):
    run = gather(*_parsed(arguments))
    assert run.table == Path("data/table.csv")
    assert "data/table.csv" not in [
        *(run.settings.drop or ()),
        *(run.settings.columns or ()),
        *(run.settings.log or ()),
    ]


def _parsed(arguments):
    _, bound, _ = app.parse_args(["learn", *arguments], exit_on_error=False)
    return bound.arguments.get("table"), bound.arguments.get("settings", Settings())


def test_a_table_that_is_nowhere_is_missed_with_what_flags_took(table, capsys):
    assert main(["learn", "--drop", "x1", "tabel.csv"]) == 1
    assert "no table was given" in (said := capsys.readouterr().err) and "--drop took x1, tabel.csv" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--bootstrap", "-1"], "--bootstrap has to be a whole number, at least 0"),
        (["--jobs", "0"], "--jobs has to be"),
        (["--threshold", "nan"], "--threshold has to be at least 0"),
        (["--time-limit", "nan"], "--time-limit"),
        (["--option.time_limit", "5"], "--time-limit"),
        (["--option.method", "ges"], "--method"),
        (["--option.callback", "5"], "--option.callback has to be a function"),
        (["--option.nothing", "5"], "has no setting 'nothing'"),
        (["--encoding", "hex"], "hex"),
    ],
)
def test_wrong_values_are_refused_before_any_work(table, monkeypatch, capsys, arguments, message):
    monkeypatch.setattr("acyclic.learners.base.DagLearner.fit", None)
    assert main(["learn", str(table), "--quiet", *arguments]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            ZeroDivisionError("one\ntwo"),
            70,
            "this is a fault of acyclic (ZeroDivisionError: one); run the same command",
        ),
        (MemoryError(), 1, "not enough memory"),
        (RecursionError("maximum recursion depth"), 1, "nested too deeply"),
        (OSError(28, "No space left on device", "out/run"), 1, "out/run: No space left on device"),
        (sqlite3.OperationalError("database or disk is full"), 1, "database or disk is full"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_whatever_happens_is_one_sentence_and_a_documented_code(here, monkeypatch, capsys, error, code, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("acyclic.data.table.read.read_table", fail)
    assert main(["learn", "t.csv", "--quiet"]) == code
    (sentence,) = capsys.readouterr().err.splitlines()
    assert sentence.startswith("error: ") and message in sentence
    assert main(["learn", "t.csv", "--quiet", "--debug"]) == code
    assert ("Traceback" in capsys.readouterr().err) == (code != 130)
    main(["--help"])
    assert f"{code} " in capsys.readouterr().out
    assert list(here.iterdir()) == []


def test_debug_shows_the_traceback(here, capsys):
    assert main(["learn", "none.csv", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_earlier_run_is_kept_without_force(table, here, capsys):
    assert main(["learn", str(table), "--out", "run", "--quiet"]) == 0
    before = (here / "run" / "result.json").read_bytes()
    assert main(["learn", str(table), "--out", "run", "--seed", "1"]) == 1
    assert (here / "run" / "result.json").read_bytes() == before
    assert main(["learn", str(table), "--out", "run", "--seed", "1", "--force", "--quiet"]) == 0
    assert acyclic.load(here / "run" / "result.json").provenance["run"]["seed"] == 1


def test_a_time_limit_gives_the_best_so_far(table, here):
    assert main(["learn", str(table), "--time-limit", "0", "--out", "run", "--quiet"]) == 0
    assert acyclic.load(here / "run" / "result.json").verdict.end == Fact.of(Ended.TIME_LIMIT, seconds=0.0)


def test_a_fit_that_does_not_converge_is_told_in_our_words_alone(table, here, capsys):
    options = ["--method", "notears", "--option.max_rounds", "1"]
    assert main(["learn", str(table), *options, "--out", "run"]) == 0
    assert acyclic.load(here / "run" / "result.json").verdict.end.kind is Ended.ROUNDS_SPENT
    told = capsys.readouterr()
    assert "did NOT converge" in told.out and "ConvergenceWarning" not in told.err


def interrupt(arguments, here, line):
    """Run a command and press Ctrl-C at a line of its progress: the exit code, and the lines that came after."""
    process = subprocess.Popen(
        [sys.executable, "-m", "acyclic", *arguments],
        cwd=here,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    seen = next((text for text in process.stderr if text.startswith(line)), None)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=180)
    assert seen is not None
    return process.returncode, rest.splitlines()


@pytest.fixture
def large(here):
    """Standardised columns, for which the default method searches orders for seconds."""
    size = ["--nodes", "120", "--rows", "400", "--seed", "1", "--standardize"]
    assert main(["simulate", *size, "--out", "large", "--quiet"]) == 0
    return "large/table.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "stage"),
    [("auto", "order search"), ("notears", "augmented Lagrangian")],
)
def test_control_c_ends_all_of_the_run_and_writes_the_best_so_far(large, here, method, stage):
    asked = ["learn", large, "--method", method, "--bootstrap", "3", "--audit", "--out", "run"]
    code, rest = interrupt(asked, here, f"learning: {stage}")
    assert code == 130 and not any(line.startswith(("bootstrap", "audit")) for line in rest)
    result = acyclic.load(here / "run" / "result.json")
    assert result.verdict.end.kind is Ended.INTERRUPTED and result.confidence is None and result.audit is None


@pytest.mark.slow
def test_control_c_during_the_bootstrap_keeps_the_draws_and_begins_no_audit(table, here):
    asked = ["learn", str(table), "--bootstrap", "2000", "--audit", "--out", "run"]
    code, rest = interrupt(asked, here, "bootstrap: draw")
    assert code == 130 and not any(line.startswith("audit") for line in rest)
    result = acyclic.load(here / "run" / "result.json")
    assert result.verdict.converged and result.audit is None
    assert result.ended is Ended.INTERRUPTED and result.confidence["draws"] > 0


@pytest.mark.parametrize("part", ["bootstrap_edges", "audit_edges"])
def test_control_c_between_the_fits_loses_nothing(table, here, monkeypatch, part):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"acyclic.cli.settings.Run.{part}", interrupted)
    asked = ["learn", str(table), "--bootstrap", "2", "--audit", "--out", "run", "--quiet"]
    assert main(asked) == 130
    result = acyclic.load(here / "run" / "result.json")
    assert result.verdict.converged and result.audit is None
    assert (result.confidence is None) == (part == "bootstrap_edges")


def test_interrupted_before_there_is_anything(here, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("acyclic.data.table.read.read_table", interrupted)
    assert main(["learn", "t.csv"]) == 130
    assert "interrupted; nothing was written" in capsys.readouterr().err
    assert list(here.iterdir()) == []


def progress(stage, step=1):
    return Progress(stage, 0, step, 0.0, 0.0, 0.0, 0, 0.0)


def test_every_stage_has_its_line_however_short_the_one_before(capsys):
    stages = Stages(None, lines=True)
    tell = stages.stage("learning")
    for stage in ("equal-variance order", "selection of parents", "order search"):
        tell(progress(stage))
    expected = ["learning", "learning: equal-variance order", "learning: selection of parents"]
    assert capsys.readouterr().err.splitlines() == [*expected, "learning: order search"]
    # Stages that alternate do not flood the terminal.
    for _ in range(200):
        tell(progress("selection of parents"))
        tell(progress("order search"))
    assert len(capsys.readouterr().err.splitlines()) < 20


def test_bars_on_a_terminal(table, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["bootstrap", str(table), "--draws", "4"]) == 0
    assert "\x1b[" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "acyclic.cli.commands")
    monkeypatch.setitem(sys.modules, "cyclopts", None)
    assert main(["learn"]) == 1
    assert "pip install 'acyclic[cli]'" in capsys.readouterr().err


def test_starting_loads_no_numerics():
    heavy = ["numpy", "scipy", "polars", "sklearn"]
    code = f"import sys, acyclic.cli.commands; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == acyclic.__version__


def test_an_unknown_command_is_told_all_that_there_are(capsys):
    assert main(["lern", "t.csv"]) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in ("learn", "audit", "compare", "mcp", "simulate"))

"""The command as programs use it: one document in a form that is told, exit codes, colours, completion."""

import json
import os
import re
import subprocess
import sys

import pytest

import acyclic
from acyclic.cli import main
from acyclic.errors import MissingExtraError

pytest.importorskip("cyclopts", reason="the command line needs the extra cli")
pytest.importorskip("polars", reason="reading files needs the extra files")
pytest.importorskip("jsonschema", reason="documents are checked against their schema")

import jsonschema

from acyclic.cli import commands
from acyclic.cli.faults import Exit
from acyclic.cli.schemas import ERROR, FORMATS, make_schema

PLAN = """
title = "t"
paper = "none"
about = "words"
measure = "fit"
drawing = "row"
runs = 1
[data]
sem = "linear"
graph = "ER1"
n_nodes = 5
n = 50
[methods."Sorted"]
learner = "SortnRegress"
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    acyclic.learn(acyclic.simulate(6, 200, random_state=3).X).save("result.json")
    assert main(["simulate", "--nodes", "6", "--rows", "200", "--seed", "3", "--out", "data", "--quiet"]) == 0
    (tmp_path / "mine.toml").write_text(PLAN)
    return tmp_path


@pytest.fixture
def document(capsys):
    """Run a command with --json; its exit code, and the one document that it printed, which its schema takes."""

    def document(*arguments, command=None):
        code = main([*arguments, "--json"])
        plain = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
        jsonschema.validate(plain, make_schema(command or arguments[0]))
        jsonschema.validate(plain, make_schema())
        return code, plain

    return document


CASES = [
    ["learn", "data/table.csv", "--bootstrap", "3", "--audit", "--out", "run"],
    ["learn", "data/table.csv", "--method", "notears", "--option.max_rounds", "2", "--out", "run"],
    ["learn", "data/table.csv", "--threshold", "1e9", "--out", "run"],
    ["bootstrap", "data/table.csv", "--draws", "3"],
    ["audit", "data/table.csv"],
    ["compare", "data/graph.json", "result.json"],
    ["compare", "data/graph.json", "data/graph.json", "--out", "page.html"],
    ["simulate", "--nodes", "5", "--rows", "10", "--out", "new"],
    ["report", "result.json", "--out", "page.html"],
    ["datasets"],
    ["datasets", "sachs"],
    ["plugins"],
    ["reproduce", "--list"],
]


@pytest.mark.parametrize("arguments", CASES, ids=" ".join)
def test_every_command_prints_one_document_of_its_schema(here, document, arguments):
    code, plain = document(*arguments)
    assert code == 0 and plain["format"] == FORMATS[arguments[0]]


@pytest.mark.slow
def test_reproduction_prints_what_it_counted(here, document):
    code, plain = document("reproduce", "mine.toml", "--out", "out")
    assert code == 0 and (plain["computed"], plain["failed"], plain["left"]) == (1, 0, 0)


def test_there_is_a_schema_for_every_command_that_prints_an_answer(capsys):
    quiet = {"schema", "completion", "mcp"}
    assert {name for name in commands.app if not name.startswith("-")} - quiet == set(FORMATS)
    for command in (None, *FORMATS, "error"):
        schema = make_schema(command)
        jsonschema.Draft202012Validator.check_schema(schema)
        assert main(["schema", *([command] if command else [])]) == 0
        assert json.loads(capsys.readouterr().out) == schema


def test_a_schema_refuses_what_is_another_document(here, document):
    _, plain = document("audit", "data/table.csv")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain, make_schema("bootstrap"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**plain, "reasons": [{"kind": "no-such-doubt"}]}, make_schema("audit"))


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (["learn", "none.csv"], "input", Exit.FAILED),
        (["learn", "--no-such-flag", "3"], "usage", Exit.USAGE),
        (["no-such-command"], "usage", Exit.USAGE),
        (["schema", "lern"], "input", Exit.FAILED),
        (["reproduce", "none.toml"], "input", Exit.FAILED),
    ],
)
def test_errors_are_documents_too(here, document, arguments, kind, code):
    found, plain = document(*arguments, command="error")
    assert (found, plain["exit_code"], plain["kind"], plain["format"]) == (code, code, kind, ERROR)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (ZeroDivisionError("odd"), "fault", Exit.FAULT),
        (KeyboardInterrupt(), "interrupted", Exit.INTERRUPTED),
        (MissingExtraError("a figure", "matplotlib", "plot"), "missing-extra", Exit.FAILED),
    ],
)
def test_faults_and_missing_extras_are_documents_too(monkeypatch, document, error, kind, code):
    def fail():
        raise error

    monkeypatch.setattr("acyclic.data.datasets.available", fail)
    found, plain = document("datasets", command="error")
    assert (found, plain["kind"]) == (code, kind)
    assert plain.get("extra") == ("plot" if kind == "missing-extra" else None)


def test_json_after_the_mark_is_a_name(here, capsys):
    assert main(["report", "--", "--json"]) == 1
    assert capsys.readouterr().out == ""


def test_every_command_tells_exit_codes_and_takes_the_flags(capsys):
    for command in [name for name in commands.app if not name.startswith("-")]:
        assert main([command, "--help"]) == 0
        text = capsys.readouterr().out
        assert "Exit codes" in text
        assert {"--quiet", "--no-color"} <= set(re.findall(r"--[\w-]+", text)), command


@pytest.mark.parametrize("forbidden", ["flag", "environment"])
def test_colours_can_be_forbidden(here, monkeypatch, capsys, forbidden):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = r"\x1b\[[\d;]*3\dm"
    assert main(["report", "none.json"]) == 1
    assert re.search(coloured, capsys.readouterr().err)
    if forbidden == "environment":
        monkeypatch.setenv("NO_COLOR", "1")
    assert main(["report", "none.json", *(["--no-color"] if forbidden == "flag" else [])]) == 1
    assert not re.search(coloured, capsys.readouterr().err)
    assert ("NO_COLOR" in os.environ) == (forbidden == "environment")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_and_flags(shell, capsys):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert {"learn", "bootstrap", "reproduce", "plugins"} <= set(re.findall(r"[a-z]+", text))
    assert "time-limit" in text
    if shell == "bash":
        asked = "COMP_WORDS=(acyclic da); COMP_CWORD=1; _acyclic; echo ${COMPREPLY[*]}"
        done = subprocess.run(["bash", "-c", f"{text}\n{asked}"], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["datasets"]


def test_completion_is_put_where_the_shell_looks(tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path), "SHELL": "/bin/bash"}
    command = [sys.executable, "-m", "acyclic", "completion", "fish", "--install"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    (written,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert str(written) in done.stdout.replace("\n", "") and "learn" in written.read_text()

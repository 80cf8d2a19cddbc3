"""Tables that people have at hand are learned with the plain command, and the notes say what was done."""

import io
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.datasets import load_iris

import acyclic
from acyclic.facts import Note
from acyclic.types import Kind

pytest.importorskip("cyclopts", reason="the command line needs the extra cli")
pytest.importorskip("rich", reason="the command line needs the extra cli")
pytest.importorskip("polars", reason="reading files needs the extra files")

from acyclic.cli import main

RNG = np.random.default_rng(5)
MONEY = RNG.normal(size=60) * 900 + 5000
SHARE = MONEY / 100 + RNG.normal(size=60)


def german(number, digits):
    return f"{number:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def write_german(path):
    lines = ["Größe (m²);Umsatz €;Straße"]
    lines += [f"{german(a, 1)};{german(b * 100, 2)};Hauptstraße {k}" for k, (a, b) in enumerate(zip(MONEY, SHARE))]
    path.write_bytes("\r\n".join(lines).encode("cp1252"))


def write_iris(path):
    data = load_iris(as_frame=True)
    data.frame.drop(columns="target").assign(species=data.target_names[data.target]).to_csv(path, index=False)


def write_mixed(path):
    lines = ["date,customer_id,share,spent"]
    lines += [f"2021-0{1 + k % 9}-11,{4000 + k},{b:.1f}%,{a:.2f}" for k, (a, b) in enumerate(zip(MONEY, SHARE))]
    path.write_text("\n".join(lines))


TABLES = {
    "german": (write_german, ("Größe (m²)", "Umsatz €"), [Note.ENCODING, Note.WRITTEN, Note.LEFT_OUT]),
    "mixed": (write_mixed, ("share", "spent"), [Note.WRITTEN, Note.LEFT_OUT]),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_plain_command_learns_and_notes_what_was_done(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write, names, notes = TABLES[name]
    write(tmp_path / "t.csv")
    assert main(["learn", "t.csv", "--quiet"]) == 0
    result = acyclic.load(tmp_path / "t-acyclic" / "result.json")
    assert result.graph.names == names and result.graph.n_edges > 0
    assert sorted({note.kind for note in result.verdict.notes}) == sorted(notes)
    assert main(["learn", "t.csv", "--strict", "--out", "strict", "--quiet"]) == 1
    assert "not numbers" in capsys.readouterr().err and not (tmp_path / "strict").exists()


def test_iris_is_learned_with_its_species(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_iris(tmp_path / "t.csv")
    assert main(["learn", "t.csv", "--quiet"]) == 0
    result = acyclic.load(tmp_path / "t-acyclic" / "result.json")
    assert result.graph.names == (*load_iris().feature_names, "species")
    assert result.kinds[-1] is Kind.CATEGORICAL and result.levels["species"] == ("setosa", "versicolor", "virginica")
    assert [note.kind for note in result.verdict.notes] == [Note.LEVELS]
    assert result.graph.adjacency[:, -1].any() or result.graph.adjacency[-1].any()


def test_a_method_that_sees_numbers_only_says_what_to_do_about_categories(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_iris(tmp_path / "t.csv")
    assert main(["learn", "t.csv", "--method", "ges", "--quiet"]) == 1
    said = capsys.readouterr().err
    assert "'species'" in said and "--method auto" in said and "--drop species" in said
    assert "--kinds 'species=setosa<versicolor<virginica'" in said
    for more in (["--drop", "species"], ["--kinds", "species=setosa<versicolor<virginica"]):
        assert main(["learn", "t.csv", "--method", "ges", "--quiet", "--force", *more]) == 0
    result = acyclic.load(tmp_path / "t-acyclic" / "result.json")
    assert result.kinds[-1] is Kind.ORDINAL and result.levels["species"] == ("setosa", "versicolor", "virginica")


@pytest.mark.skipif(find_spec("pgmpy") is None, reason="networks need the extra handoff")
def test_a_table_whose_names_are_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["datasets", "arth150", "--quiet"]) == 0
    table = acyclic.read_table("arth150/table.csv")
    assert table.names == acyclic.data.datasets.load("arth150").names
    assert [note.kind for note in table.notes] == [Note.HEADER_OF_NUMBERS]
    assert not acyclic.read_table("arth150/table.csv", header=True).notes


def test_the_standard_input_is_a_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_mixed(tmp_path / "t.csv")
    for words, folder in ((["-"], "stdin-acyclic"), (["--drop", "date", "-", "--out", "two"], "two")):
        given = io.TextIOWrapper(io.BytesIO((tmp_path / "t.csv").read_bytes()))
        monkeypatch.setattr("sys.stdin", given)
        assert main(["learn", *words, "--quiet"]) == 0
        assert acyclic.load(tmp_path / folder / "result.json").provenance["run"]["table"] == "-"

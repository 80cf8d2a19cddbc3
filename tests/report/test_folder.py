import csv
import io
import json
import subprocess
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from shutil import which

import numpy as np
import pytest

import acyclic
from acyclic.errors import InputError
from acyclic.facts import Orientation
from acyclic.graphs.csv_text import defuse
from acyclic.graphs.formats import from_csv, read
from acyclic.report.folder import FILES, edge_list, write_folder
from acyclic.trust.bootstrap import bootstrap


@pytest.fixture(scope="module")
def learned():
    data = acyclic.simulate(n_nodes=5, n=300, random_state=2)
    return acyclic.learn(data.X), data.X


def test_the_folder_holds_the_graph_in_every_format(learned, tmp_path):
    result, _ = learned
    folder = write_folder(result, tmp_path / "deep" / "run")
    assert sorted(entry.name for entry in folder.iterdir()) == sorted(FILES)
    assert acyclic.load(folder / "result.json").graph == result.graph
    assert read(folder / "graph.dot") == read(folder / "graph.graphml") == result.graph
    assert sorted(read(folder / "edges.csv").edges()) == sorted(result.graph.edges())
    assert [entry.name for entry in folder.parent.iterdir()] == ["run"]


def test_every_picture_has_heads_where_the_verdict_decides_and_nowhere_else(tmp_path):
    """A chain and a collider: the class leaves the one open and compels the other."""
    names = ["a", "b", "c", "x", "y", "z"]
    truth = acyclic.Dag.from_edges([("a", "b"), ("b", "c"), ("x", "z"), ("y", "z")], names=names)
    result = acyclic.learn(acyclic.simulate(n=1000, graph=truth, scheme="iscm", random_state=1).X)
    rows = {(row["source"], row["target"]) for row in result.edges() if not Orientation(row["support"]).is_decided}
    assert result.undecided == rows and 0 < len(rows) < result.graph.n_edges == 4
    folder = write_folder(result, tmp_path / "run")
    text = (folder / "graph.dot").read_text()
    assert text.count("arrowhead=none") == len(rows) and read(folder / "graph.dot") == result.graph
    assert result._repr_html_().count("marker-end") == result.graph.n_edges - len(rows)
    page = (folder / "report.html").read_text()
    assert page.count('"decided":false') + page.count('"decided": false') == len(rows)


def test_an_earlier_run_is_replaced_only_by_force(learned, tmp_path):
    result, _ = learned
    folder = write_folder(result, tmp_path / "run")
    (folder / "report.html").write_text("mine")
    with pytest.raises(InputError, match="holds an earlier run; name another folder, or replace it: force=True"):
        write_folder(result, folder)
    assert (folder / "report.html").read_text() == "mine"
    write_folder(result, folder, force=True)
    assert (folder / "report.html").read_text() != "mine"
    assert [entry.name for entry in tmp_path.iterdir()] == ["run"]


def test_other_files_are_never_replaced(learned, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="holds other files"):
        write_folder(learned[0], tmp_path, force=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(InputError, match="is a file; name a folder"):
        write_folder(learned[0], tmp_path / "thesis.tex", force=True)


def test_an_empty_folder_is_free(learned, tmp_path):
    (tmp_path / "run").mkdir()
    assert len(list(write_folder(learned[0], tmp_path / "run").iterdir())) == len(FILES)


def test_the_edge_list_has_what_is_known(learned):
    result, X = learned
    found = bootstrap(acyclic.learn, X, draws=4)
    rows = list(csv.DictReader(io.StringIO(edge_list(result.with_evidence(confidence=found)))))
    strongest = sorted(result.graph.edges(), key=lambda edge: -abs(result.standardised[edge[:2]]))
    assert [(row["source"], row["target"], float(row["weight"])) for row in rows] == strongest
    for row in rows:
        place = found.names.index(row["source"]), found.names.index(row["target"])
        assert (float(row["this_way"]), float(row["either_way"])) == (found.edge[place], found.adjacency[place])
        assert Orientation(row["support"]) is result.support[row["source"], row["target"]]
    assert not {"this_way", "either_way"} & set(edge_list(result).splitlines()[0].split(","))


FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-x", "@sum", "\tt", "\rr", "'=twice", "it's", "\uff1d1"]


def test_no_cell_of_a_csv_is_a_formula_and_our_readers_restore_the_names(tmp_path):
    names = FORMULAS
    chain = acyclic.Dag.from_edges([(a, b, -0.5) for a, b in pairwise(names)], names)
    result = acyclic.learn(acyclic.Moments(99, np.zeros(9), np.eye(9), names))
    result = replace(result, graph=chain, cpdag=chain.cpdag())
    for text in (edge_list(result), chain.to_csv(), chain.cpdag().to_csv()):
        cells = [row[:2] for row in list(csv.reader(io.StringIO(text, newline="")))[1:]]
        assert not [
            cell for row in cells for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\uff1d"))
        ]
        assert set(from_csv(text).names) == set(names)
    assert from_csv(chain.to_csv()) == chain
    header = ",".join(f'"{defuse(name)}"' for name in names)
    rows = [",".join(str((7 * i + j * j) % 11) for j in range(9)) for i in range(6)]
    (tmp_path / "t.csv").write_text("\n".join([header, *rows, ""]), newline="")
    # A line end inside of a name is read as one, whatever it was.
    expected = tuple(name.replace("\r", "\n") for name in names)
    assert acyclic.read_table(tmp_path / "t.csv").names == expected


@pytest.mark.skipif(which("node") is None, reason="needs node")
def test_the_page_defuses_its_csv_in_the_same_way():
    script = (files("acyclic.report") / "static" / "formats.js").read_text(encoding="utf-8")
    nodes = ", ".join(f"{{name: {json.dumps(name)}}}" for name in FORMULAS)
    edges = ", ".join(f"{{source: {i}, target: {i + 1}, weight: -0.5}}" for i in range(len(FORMULAS) - 1))
    call = f'formats.csv({{nodes: [{nodes}], columns: ["source", "target", "weight"]}}, [{edges}], "dag")'
    done = subprocess.run(["node", "-e", f"{script}\nprocess.stdout.write({call})"], capture_output=True, check=True)
    rows = list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))[1:]
    assert rows == [[defuse(a), defuse(b), "-0.5"] for a, b in pairwise(FORMULAS)]

import json
import sys
from contextlib import suppress

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acyclic.errors import CycleError, InputError, MissingExtraError
from acyclic.graphs import formats
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import Cpdag
from strategies import HOSTILE, any_weights, dags, hostile_names

FORMATS = ["json", "csv", "graphml", "dot", "dagitty"]
hostile_dags = dags(weights=any_weights, names=hostile_names)


def write(dag, name):
    return getattr(dag, f"to_{name}")()


def parse(text, name):
    return getattr(formats, f"from_{name}")(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@given(dag=hostile_dags)
def test_every_text_format_gives_the_same_graph_back(name, dag):
    text = write(dag, name)
    assert parse(text, name) == dag
    assert parse(text.encode("utf-8").decode("utf-8"), name) == dag


@pytest.mark.parametrize("name", FORMATS)
def test_all_hostile_names_in_one_graph(name):
    weights = np.triu(np.random.default_rng(0).normal(size=(len(HOSTILE), len(HOSTILE))), 1)
    for dag in (Dag(weights, HOSTILE), Dag.empty(HOSTILE)):
        assert parse(write(dag, name), name) == dag


@pytest.mark.parametrize("name", FORMATS)
@given(dag=dags(names=hostile_names))
def test_every_text_format_gives_the_same_class_back(name, dag):
    whole = dag.cpdag()
    parts = [
        Cpdag(dag.names, whole.directed, np.zeros_like(whole.undirected)),
        Cpdag(dag.names, dag.adjacency, np.zeros_like(whole.undirected)),
        Cpdag(dag.names, np.zeros_like(whole.directed), whole.skeleton),
    ]
    for graph in (whole, *parts):
        assert parse(write(graph, name), name) == graph


@pytest.mark.parametrize("name", FORMATS)
def test_all_hostile_names_in_one_class(name):
    dag = Dag(np.triu(np.random.default_rng(0).random((len(HOSTILE), len(HOSTILE))) < 0.03, 1), HOSTILE)
    graph = dag.cpdag()
    assert graph.directed.any() and graph.undirected.any()
    assert parse(write(graph, name), name) == graph


@pytest.mark.parametrize("suffix", [".json", ".csv", ".graphml", ".dot", ".gv", ".dagitty", ".txt"])
def test_files_give_the_same_class_back(tmp_path, suffix):
    graph = Cpdag.from_edges([("a", "b"), ("c", "b")], [("d", "c")], list("abcd"))
    formats.save(graph, tmp_path / f"graph{suffix}")
    assert formats.read(tmp_path / f"graph{suffix}") == graph


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("json", '{"nodes": ["a", "b"], "edges": [{"source": "b", "target": "a", "weight": 2, "directed": false}]}'),
        ("csv", "source,target,weight,directed\nb,a,2,False\n"),
        ("graphml", '<graphml><graph><node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>'),
        ("dot", "digraph { b -> a [weight=2, dir=none] }"),
        ("dagitty", "pdag { b -- a [beta=2] }"),
    ],
)
def test_an_undirected_edge_never_becomes_an_arrow(name, text):
    graph = parse(text, name)
    assert isinstance(graph, Cpdag)
    assert graph.directed_edges() == [] and graph.n_edges == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("json", '{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "directed": "no"}]}'),
        ("csv", "source,target,directed\na,b,no\n"),
        ("csv", "source,target,directed\na,b,\n"),
        ("csv", "source,target,directed\na,b,false\nb,a,false\n"),
        ("csv", "source,target,directed\na,b,true\na,b,true\n"),
        ("dot", "digraph cpdag { a -> b; b -> a [dir=none] }"),
        ("dot", "digraph cpdag { a -> b -> a }"),
        ("dagitty", "pdag { a -- a }"),
        ("dagitty", "pdag { a -- b b -- a }"),
        ("graphml", '<graphml><graph id="cpdag"><node id="a"/><edge source="a" target="b"/></graph></graphml>'),
    ],
)
def test_a_class_that_contradicts_itself_is_refused(name, text):
    with pytest.raises(InputError):
        parse(text, name)


@given(hostile_dags)
def test_networkx_gives_the_same_graph_back(dag):
    graph = dag.to_networkx()
    assert list(graph) == list(dag.names)
    assert formats.from_networkx(graph) == dag


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".json", ".csv", ".graphml", ".dot", ".gv", ".dagitty", ".txt", ".JSON"])
@given(dag=hostile_dags)
@settings(max_examples=25)
def test_files_give_the_same_graph_back(tmp_path_factory, suffix, dag):
    # Any graph survives as text, above; here the file and its suffix are at stake.
    path = tmp_path_factory.getbasetemp() / f"graph{suffix}"
    formats.save(dag, path)
    assert formats.read(str(path)) == dag


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_bytes(b"\xef\xbb\xbfsource,target\r\na,b\r\n")
    assert formats.read(path).edges() == [("a", "b", 1.0)]


def test_files_that_cannot_be_used_are_refused_in_words(tmp_path):
    with pytest.raises(InputError, match=r"suffix '.xlsx'.*\.json"):
        formats.read(tmp_path / "graph.xlsx")
    with pytest.raises(InputError, match="surrogate pair"):
        formats.save(Dag.empty(["a", "\ud800"]), tmp_path / "graph.json")
    assert not (tmp_path / "graph.json").exists()
    (tmp_path / "latin.csv").write_bytes(b"source,target\n\xe9,b\n")
    with pytest.raises(InputError, match=r"not UTF-8 text.*byte 14"):
        formats.read(tmp_path / "latin.csv")
    (tmp_path / "bad.json").write_text("{\n,}")
    with pytest.raises(InputError, match="line 2") as caught:
        formats.read(tmp_path / "bad.json")
    assert "bad.json" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("json", '{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "a"}]}'),
        ("csv", "source,target,weight\na,b,1\nb,a,1\n"),
        ("graphml", '<graphml><graph edgedefault="directed"><node id="a"/><node id="b"/>'
         '<edge source="a" target="b"/><edge source="b" target="a"/></graph></graphml>'),
        ("dot", "digraph { a -> b -> a }"),
        ("dagitty", "dag { a -> b b -> a }"),
    ],
)  # fmt: skip
def test_a_cyclic_text_is_refused_and_the_cycle_named(name, text):
    with pytest.raises(CycleError, match="a → b → a") as caught:
        parse(text, name)
    assert caught.value.cycle == ("a", "b")


@pytest.mark.parametrize("name", FORMATS)
@given(text=st.text(st.sampled_from('{}[]<>-="\\,;:\n #/*abgdirph01.&!') | st.characters(), max_size=40))
def test_any_other_text_is_refused_with_an_input_error(name, text):
    starts = {
        "dot": "digraph {",
        "dagitty": "dag {",
        "csv": "source,target,weight\n",
        "graphml": "<graphml>",
        "json": "",
    }
    for candidate in (text, starts[name] + text):
        with suppress(InputError):
            assert isinstance(parse(candidate, name), Dag | Cpdag)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"nodes": ["a"],\n "edges": [}', "line 2: this is not JSON"),
        ("[]", 'lists "nodes" and "edges"'),
        ('{"nodes": ["a"]}', 'lists "nodes" and "edges"'),
        ('{"nodes": ["a", "a"], "edges": []}', "the name a is given to more than one node"),
        ('{"nodes": [1], "edges": []}', r"names\[0\] is 1 "),
        ('{"nodes": [], "edges": []}', "at least one node"),
        ('{"nodes": ["a"], "edges": [["a", "a"]]}', r"edges\[0\] is \['a', 'a'\]"),
        ('{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "weight": "1"}]}', r"edges\[0\]"),
        ('{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "weight": true}]}', r"edges\[0\]"),
        ('{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "weight": NaN}]}', r"edges\[0\] .*nan"),
        (
            f'{{"nodes": ["a", "b"], "edges": [{{"source": "a", "target": "b", "weight": 1{"0" * 400}}}]}}',
            "of 401 digits",
        ),
        ('{"nodes": ["a"], "edges": [{"source": "a", "target": "b"}]}', "no node is called 'b'"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_bad_json_is_refused_in_words(text, words):
    with pytest.raises(InputError, match=words):
        formats.from_json(text)


def test_json_is_plain():
    dag = Dag.from_edges([("é", "b", 0.1)], ["é", "b"])
    assert json.loads(dag.to_json()) == {
        "nodes": ["é", "b"],
        "edges": [{"source": "é", "target": "b", "weight": 0.1}],
    }
    assert "é" in dag.to_json()


def test_csv_keeps_isolated_nodes_and_tells_them_from_edges_to_the_empty_name():
    dag = Dag.from_edges([("a", "", 0.5)], ["", "alone", "a"])
    assert dag.to_csv() == "source,target,weight\r\n,,\r\nalone,,\r\na,,\r\na,,0.5\r\n"
    assert formats.from_csv(dag.to_csv()) == dag


def test_csv_from_other_hands():
    text = 'weight,note,target,source\n2,"x\ny",b,a\n\n,,c,a\n,,,d\n'
    dag = formats.from_csv(text)
    assert dag.names == ("a", "b", "c", "d")
    assert dag.edges() == [("a", "b", 2.0), ("a", "c", 1.0)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: the columns are none"),
        ("from,to\na,b\n", "line 1: the columns are from, to; there must be source and target"),
        ("source,target\n", "at least one node"),
        ("source,target,weight\na,b,1\na,c,x\n", "line 3: the weight is 'x'"),
        ("source,target,weight\na,b,0\n", "a → b has the weight 0.0"),
        ("source,target,weight\na,b,inf\n", "a → b has the weight inf"),
        ("source,target,weight\na,b\n", "line 2: the row has only 2 cells"),
        ("source,target,weight\na,b,1\na,b,1\n", "a → b is given twice"),
        ("source,target,weight\na,,\na,,\n", "the name a is given to more than one node"),
        ('source,target,weight\n"a"b,c,1\n', "line 2: this is not CSV"),
        ('source,target,weight\n"a,b,1\n', "line 2: this is not CSV"),
    ],
)
def test_bad_csv_is_refused_in_words(text, words):
    with pytest.raises(InputError, match=words):
        formats.from_csv(text)


def test_networkx_nodes_become_text():
    graph = networkx.DiGraph([(1, 2), (2, "x", {"w": 3})])
    assert formats.from_networkx(graph, weight="w").edges() == [("1", "2", 1.0), ("2", "x", 3.0)]


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (networkx.Graph([("a", "b")]), "expected a networkx.DiGraph, not Graph"),
        (networkx.MultiDiGraph([("a", "b")]), "not MultiDiGraph"),
        (networkx.DiGraph([(1, "1")]), "the name 1 is given to more than one node"),
        (networkx.DiGraph([("a", "b", {"weight": "much"})]), "must be a number"),
        (networkx.DiGraph([("a", "b", {"weight": None})]), "must be a number"),
        (networkx.DiGraph([("a", "b", {"weight": 0})]), "weight 0.0"),
        (networkx.DiGraph([("a", "b"), ("b", "a")]), "a → b → a"),
        (networkx.DiGraph(), "at least one node"),
        ("graph", "not str"),
    ],
)
def test_other_networkx_graphs_are_refused_in_words(graph, words):
    with pytest.raises(InputError, match=words):
        formats.from_networkx(graph)


def test_without_networkx_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingExtraError, match=r"acyclic\[graphs\]"):
        Dag.empty(["a"]).to_networkx()

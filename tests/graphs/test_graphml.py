import re

import networkx
import pytest
from hypothesis import given

from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.formats import from_graphml, from_networkx
from strategies import any_weights, dags, hostile_names

XML_CANNOT_HOLD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def graph(body, **attributes):
    written = " ".join(f'{name}="{value}"' for name, value in {"edgedefault": "directed", **attributes}.items())
    return f'<graphml>\n<key id="d0" for="edge" attr.name="weight"/>\n<graph {written}>{body}</graph></graphml>'


@given(dags(weights=any_weights, names=hostile_names))
def test_networkx_reads_what_we_write(dag):
    read = networkx.parse_graphml(dag.to_graphml())
    assert read.is_directed()
    if not any(XML_CANNOT_HOLD.search(name) or re.search("_x[0-9A-F]{4}_", name) for name in dag.names):
        assert from_networkx(read) == dag
    else:
        assert read.graph["escaped"] is True
        assert from_networkx(read).weights.tolist() == dag.weights.tolist()


@given(dags(weights=any_weights))
def test_we_read_what_networkx_writes(dag):
    text = "\n".join(networkx.generate_graphml(dag.to_networkx()))
    assert from_graphml(text) == dag


def test_names_that_look_escaped_are_left_alone_unless_we_escaped_them():
    assert from_graphml(graph('<node id="_x0041_"/>')).names == ("_x0041_",)
    for names in (["_x0041_"], ["_x0041_", "\x01"], ["\x00", "_x0000_", "_x005F_x0000_"], ["\ud800"]):
        assert from_graphml(Dag.empty(names).to_graphml()).names == tuple(names)


def test_weights_have_a_declared_default_or_are_one():
    text = (
        '<graphml><key id="k" for="edge" attr.name="weight"><default>2.5</default></key>'
        '<graph edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/>'
        '<edge source="a" target="b" directed="true"/>'
        '<edge source="b" target="c" directed="true"><data key="k">-1</data></edge></graph></graphml>'
    )
    assert from_graphml(text).edges() == [("a", "b", 2.5), ("b", "c", -1.0)]
    plain = graph('<node id="a"/><node id="b"/><edge source="a" target="b"><data key="other">7</data></edge>')
    assert from_graphml(plain).edges() == [("a", "b", 1.0)]


def test_undirected_edges_make_a_class():
    nodes, edges = '<node id="a"/><node id="b"/><node id="c"/>', '<edge source="b" target="a"/>{}'
    plain = from_graphml(graph(nodes + edges.format(""), edgedefault="undirected"))
    assert plain.undirected_edges() == [("a", "b")] and plain.directed_edges() == []
    mixed = from_graphml(graph(nodes + edges.format('<edge source="c" target="a" directed="false"/>')))
    assert mixed.undirected_edges() == [("a", "c")] and mixed.directed_edges() == [("b", "a")]
    skeleton = "\n".join(networkx.generate_graphml(networkx.Graph([("x", "y")])))
    assert from_graphml(skeleton).undirected_edges() == [("x", "y")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<graphml>\n<graph>\n</graphml>", "line 3: this is not well-formed GraphML"),
        ("", "line 1: this is not well-formed"),
        ("<graphml>\n\ud800</graphml>", "line 2: half of a surrogate pair"),
        ("<svg/>", "found <svg> with 0"),
        ("<graphml/>", "found <graphml> with 0"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><graphml/>', "DOCTYPE"),
        (graph(""), "at least one node"),
        (graph('<node id="a"/><node id="a"/>'), "the name a is given to more than one node"),
        (graph("<node/>"), "a <node> has no id"),
        (graph('<node id="a"/><edge source="a"/>'), "a <edge> has no target"),
        (graph('<node id="a"/><edge source="a" target="b"/>'), "no node is called 'b'"),
        (
            graph('<node id="a"/><node id="b"/><edge source="a" target="b"><data key="d0">x</data></edge>'),
            "a → b has the weight 'x'",
        ),
        (
            graph('<node id="a"/><node id="b"/>' + '<edge source="a" target="b"/>' * 2),
            "a → b is given twice",
        ),
    ],
)
def test_bad_graphml_is_refused_in_words(text, words):
    with pytest.raises(InputError, match=words):
        from_graphml(text)

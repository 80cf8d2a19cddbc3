import time

import pytest

from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.formats import from_dagitty, from_dot


def test_ordinary_dot_is_read():
    text = """
    // a comment
    /* one of
       two lines */
    # a preprocessor line
    strict digraph "my graph" {
        rankdir=LR
        graph [label="title"]; node [shape=box, style=filled];
        a -> b [label="0.5", color=red];
        b -> c -> d [weight=2]
        "x y" [pos="1,2!"];
        a->e[beta=-1e-3;label="9"]
        e -> {f, g; h}
        i -> d [label="causes"]; -1.5 -> .5
    }
    """
    dag = from_dot(text)
    assert dag.names == ("a", "b", "c", "d", "x y", "e", "f", "g", "h", "i", "-1.5", ".5")
    assert set(dag.edges()) == {
        ("a", "b", 0.5), ("b", "c", 2.0), ("c", "d", 2.0), ("a", "e", -1e-3), ("e", "f", 1.0), ("e", "g", 1.0),
        ("e", "h", 1.0), ("i", "d", 1.0), ("-1.5", ".5", 1.0),
    }  # fmt: skip


def test_edge_defaults_hold_from_where_they_stand():
    dag = from_dot("DIGRAPH { a -> b edge [weight=3] b -> c; c -> d [weight=4] }")
    assert dag.edges() == [("a", "b", 1.0), ("b", "c", 3.0), ("c", "d", 4.0)]


def test_keywords_are_names_when_quoted():
    assert from_dot('digraph { "node" -> "edge" }').edges() == [("node", "edge", 1.0)]
    assert from_dagitty("dag { node -> edge }").edges() == [("node", "edge", 1.0)]


def test_ordinary_dagitty_is_read():
    text = """dag {
    bb="-2,-2,2,2"
    age [exposure,pos="-1.0,0.5"]
    "blood pressure" [outcome]
    U [latent]
    age -> "blood pressure" [beta=0.5]
    U -> {age x.1}
    x.2 <- U [pos="0,0", beta=".25"]
    }"""
    dag = from_dagitty(text)
    assert dag.names == ("age", "blood pressure", "U", "x.1", "x.2")
    assert dag.edges() == [
        ("age", "blood pressure", 0.5), ("U", "age", 1.0), ("U", "x.1", 1.0), ("U", "x.2", 0.25),
    ]  # fmt: skip


def test_backslashes_in_quoted_names():
    assert from_dot(r'digraph { "a\"b" "c\\d" "e\nf" "g\qh" "i\x07j" }').names == (
        'a"b', "c\\d", "e\nf", "g\\qh", "i\x07j",
    )  # fmt: skip
    assert from_dot('digraph { "long \\\nname" }').names == ("long name",)


def test_weights_are_exact_and_labels_short():
    dag = Dag.from_edges([("a", "b", 0.1 + 0.2)], ["a", "b"])
    assert '[label="0.3", beta="0.30000000000000004"]' in dag.to_dot()
    assert from_dot(dag.to_dot()) == dag == from_dagitty(dag.to_dagitty())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: expected 'digraph' at the start of the graph, found the end of the text"),
        ("graph { a -- b }", "line 1: expected 'digraph'.*found 'graph'"),
        ("digraph {\n a -> b", "line 2: expected a name, found the end of the text"),
        ("digraph {\n a ->\n}", "line 3: expected a name, found '}'"),
        ("digraph {\n a -- b }", "line 2: a DAG has only directed edges, written ->, not --"),
        ("digraph {\n\n a -> b; a -> b }", "line 3: the edge a → b is given twice"),
        ("digraph { a -> b [weight=heavy] }", "line 1: weight is 'heavy'"),
        ("digraph { a -> b [weight=0] }", "line 1: weight is 0.0"),
        ("digraph { a -> b [beta=nan] }", "line 1: beta is nan"),
        ("digraph { subgraph s { a } }", "subgraphs are not supported"),
        ("digraph { a:n -> b }", "line 1: cannot read the text from ':n -> b"),
        ("digraph {\n <b>x</b> }", "line 2: cannot read the text from '<b>"),
        ('digraph {\n "a }', "line 2: cannot read the text"),
        ("digraph { node -> b }", r"expected '\[' after node"),
        ("digraph { a } b", "line 1: expected nothing after the graph, found 'b'"),
        ("digraph { }", "at least one node"),
        ("digraph { a [color= }", "expected a name"),
        ("digraph { {a [b] } -> c }", r"expected a name, found '\['"),
    ],
)
def test_bad_dot_is_refused_with_its_line(text, words):
    with pytest.raises(InputError, match=words):
        from_dot(text)


@pytest.mark.parametrize("arrow", ["<->", "--", "@-@", "@->"])
def test_bad_dagitty_is_refused_with_its_line(arrow):
    with pytest.raises(InputError, match=f"line 2: a DAG has only directed edges, written ->, not {arrow}"):
        from_dagitty(f"dag {{\n a {arrow} b }}")
    with pytest.raises(InputError, match="line 1: expected 'dag' or 'pdag'"):
        from_dagitty("mag { a }")


@pytest.mark.parametrize("arrow", ["<->", "@-@", "@->"])
def test_a_class_has_arrows_and_lines_only(arrow):
    with pytest.raises(InputError, match=f"line 2: a class has only edges written -> or --, not {arrow}"):
        from_dagitty(f"pdag {{\n a {arrow} b }}")


@pytest.mark.parametrize(
    "attributes",
    [
        "dir=none",
        "arrowhead=none",
        "dir=both, arrowhead=none, arrowtail=none",
        "dir=back, arrowtail=none",
        "dir=none, beta=2",
    ],
)
def test_an_edge_drawn_without_arrowhead_is_undirected(attributes):
    graph = from_dot(f"digraph {{ a -> b [{attributes}]; c -> b }}")
    assert graph.undirected_edges() == [("a", "b")] and graph.directed_edges() == [("c", "b")]
    graph = from_dot(f"digraph {{ edge [{attributes}] a -> b; b -> c }}")
    assert graph.undirected_edges() == [("a", "b"), ("b", "c")] and graph.directed_edges() == []


@pytest.mark.parametrize("attributes", ["dir=back", "dir=both", "dir=both, arrowhead=none, arrowtail=odot"])
def test_an_arrowhead_at_the_start_is_refused(attributes):
    with pytest.raises(InputError, match=r"line 1: dir=.* at the start"):
        from_dot(f"digraph {{ a -> b [{attributes}] }}")


@pytest.mark.parametrize("attributes", ["dir=forward", "arrowhead=vee", "dir=both, arrowtail=none", "arrowtail=none"])
def test_other_ways_to_draw_an_arrow_are_ignored(attributes):
    assert from_dot(f"digraph {{ a -> b [{attributes}] }}").edges() == [("a", "b", 1.0)]


def test_ordinary_classes_of_dagitty_are_read():
    graph = from_dagitty('pdag { a [pos="0,0"] a -- b [beta=2] {c d} -> e <- b }')
    assert graph.names == ("a", "b", "c", "d", "e")
    assert graph.undirected_edges() == [("a", "b")]
    assert graph.directed_edges() == [("b", "e"), ("c", "e"), ("d", "e")]


@pytest.mark.parametrize("word", ["{0}x", "{0}.{0}x", ".{0}x", "1e{0}x", "{0}", "{0}.{0}"])
def test_reading_takes_time_in_proportion_to_the_text(word):
    name = word.format("1" * 64_000)
    before = time.process_time()
    assert from_dot(f"digraph {{ {name} }}").names == (name,)
    assert from_dagitty(f"dag {{ {name} }}").names == (name,)
    # Milliseconds are needed; at a cost that grows with the square it would be minutes.
    assert time.process_time() - before < 10


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1.5 -.5 1. 2e3 -1e-5", ("1.5", "-.5", "1.", "2e3", "-1e-5")),
        ("1x 1.x 1.2.3 .1. 1e5x 1e", ("1x", "1.x", "1.2.3", ".1.", "1e5x", "1e")),
    ],
)
def test_numbers_and_what_only_begins_like_one(text, names):
    assert from_dot(f"digraph {{ {text} }}").names == names

"""Hypothesis strategies shared by all tests: ``import strategies``.

dags              a weighted `Dag`, nodes in random order, plain names unless told otherwise
hostile_names     unique names that break careless writers and readers
square_weights    finite square matrices, often cyclic, with many zeros and ties
nonnegative_matrices  what a DAG constraint takes: B ≥ 0 with a zero diagonal
"""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from acyclic.graphs.dag import Dag

HOSTILE = (
    "", " ", " x ", "\t", "\n", "\r\n", "\r", "\\", "\\\\", "\\n", "\\x00", 'a"b', '\\"', "it's", "<script>",
    "]]>", "&amp;", "&#10;", "a,b", "a;b", "a -> b", "->", "[", "}", "#", "//", "/* */", "node", "edge", "graph",
    "digraph", "strict", "subgraph", "dag", "=1+1", "-0", "1e5", "nan", "None", "\x00", "\x01", "\x1f", "\x7f",
    "\x85", "\u2028", "\ufeff", "\ufffe", "\uffff", "_x0041_", "_x005F_x0041_", "_x", "é", "e\u0301", "變數", "😀",
    "\U0010ffff", "source", "target", "%s", "{0}", "n" * 300,
)  # fmt: skip

ordinary_weights = st.floats(-4, 4).filter(lambda value: abs(value) > 1e-3)
any_weights = st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: value != 0)


def hostile_names(n: int) -> st.SearchStrategy[list[str]]:
    """Lists of `n` unique names with quotes, newlines, control characters, emoji, the empty string, …"""
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    return st.lists(st.sampled_from(HOSTILE) | text, min_size=n, max_size=n, unique=True)


@st.composite
def dags(draw, max_nodes=8, min_nodes=1, weights=ordinary_weights, names=None):
    """Draw a weighted `Dag`; `names` is a function from the number of nodes to a strategy of name lists."""
    n = draw(st.integers(min_nodes, max_nodes))
    entries = draw(st.lists(st.just(0.0) | weights, min_size=n * n, max_size=n * n))
    order = np.array(draw(st.permutations(range(n))))
    upper = np.triu(np.reshape(entries, (n, n)), 1)
    return Dag(upper[np.ix_(order, order)], None if names is None else draw(names(n)))


@st.composite
def square_weights(draw, max_nodes=8, min_nodes=1):
    """Draw a finite square matrix, diagonal included; small integers give ties, floats give extremes."""
    n = draw(st.integers(min_nodes, max_nodes))
    elements = st.just(0.0) | st.integers(-3, 3).map(float) | any_weights
    return draw(hnp.arrays(np.float64, (n, n), elements=elements))


@st.composite
def nonnegative_matrices(draw, min_nodes=1, max_nodes=8, max_value=4.0):
    """Draw B ≥ 0 with a zero diagonal, entries up to `max_value`, many of them 0."""
    n = draw(st.integers(min_nodes, max_nodes))
    matrix = draw(hnp.arrays(np.float64, (n, n), elements=st.just(0.0) | st.floats(0, max_value)))
    np.fill_diagonal(matrix, 0.0)
    return matrix

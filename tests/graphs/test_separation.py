"""d-separation as networkx has it, and adjustment sets by which nothing but the effect is left."""

import networkx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from acyclic.graphs.separation import find_adjustment, is_separated
from strategies import dags


@given(dags(min_nodes=2, max_nodes=7), st.data())
def test_it_separates_what_networkx_separates(dag, data):
    d = dag.n_nodes
    one, other = data.draw(st.permutations(range(d)))[:2]
    given_nodes = (
        data.draw(st.sets(st.sampled_from([k for k in range(d) if k not in (one, other)]))) if d > 2 else set()
    )
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(d))
    graph.add_edges_from(np.argwhere(dag.adjacency).tolist())
    assert is_separated(dag.adjacency, one, other, given_nodes) == networkx.is_d_separator(
        graph, {one}, {other}, given_nodes
    )


@given(dags(min_nodes=2, max_nodes=7), st.data())
def test_an_adjustment_set_is_enough_and_none_of_it_too_much(dag, data):
    cause, outcome = data.draw(st.permutations(range(dag.n_nodes)))[:2]
    chosen = find_adjustment(dag.adjacency, cause, outcome)
    if dag.adjacency[outcome, cause]:
        assert chosen is None
        return
    without = np.array(dag.adjacency)
    without[cause] = False
    assert is_separated(without, cause, outcome, chosen)
    for node in chosen:
        assert not is_separated(without, cause, outcome, [other for other in chosen if other != node])

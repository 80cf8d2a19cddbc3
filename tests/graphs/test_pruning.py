import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acyclic.errors import InputError
from acyclic.graphs.cycles import is_acyclic, label_components
from acyclic.graphs.pruning import threshold, threshold_components, threshold_until_acyclic
from strategies import dags, square_weights

CUTS = st.sampled_from([0.0, 0.5, 1.0, 2.0])


def one_by_one(weights, cut, on_a_cycle_only):
    """Remove the weakest edge, or the weakest on a cycle, one at a time."""
    kept = np.where(np.abs(weights) < cut, 0.0, weights)
    removed = [(i, i, kept[i, i]) for i in range(len(kept)) if kept[i, i] != 0]
    np.fill_diagonal(kept, 0.0)
    while not is_acyclic(kept):
        labels = label_components(kept)
        edges = sorted(
            (abs(kept[i, j]), i, j)
            for i, j in np.argwhere(kept).tolist()
            if not on_a_cycle_only or labels[i] == labels[j]
        )
        _, i, j = edges[0]
        removed.append((i, j, kept[i, j]))
        kept[i, j] = 0.0
    return kept, tuple(removed)


@pytest.mark.slow
@pytest.mark.parametrize(("prune", "on_a_cycle_only"), [(threshold_until_acyclic, False), (threshold_components, True)])
@given(weights=square_weights(), cut=CUTS)
def test_pruning_is_the_removal_one_by_one(prune, on_a_cycle_only, weights, cut):
    before = weights.copy()
    pruned = prune(weights, cut)
    kept, removed = one_by_one(weights, cut, on_a_cycle_only)
    np.testing.assert_array_equal(pruned.weights, kept)
    assert pruned.removed == removed
    between_nodes = [abs(weight) for i, j, weight in removed if i != j]
    assert pruned.cut == max(between_nodes, default=cut)
    np.testing.assert_array_equal(weights, before)


@given(square_weights())
def test_components_keep_at_least_as_much(weights):
    everywhere, on_cycles = threshold_until_acyclic(weights), threshold_components(weights)
    assert set(on_cycles.removed) <= set(everywhere.removed)


@given(dags(), CUTS)
def test_an_acyclic_matrix_is_only_cut(dag, cut):
    for prune in (threshold_until_acyclic, threshold_components):
        pruned = prune(dag.weights, cut)
        np.testing.assert_array_equal(pruned.weights, threshold(dag.weights, cut))
        assert (pruned.removed, pruned.cut) == ((), cut)


def test_ties_go_by_position_and_self_loops_are_recorded():
    weights = [[7.0, 1.0, 1.0], [-1.0, 0.0, 0.0], [1.0, 0.0, 0.2]]
    pruned = threshold_until_acyclic(weights, 0.3)
    assert pruned.removed == ((0, 0, 7.0), (0, 1, 1.0), (0, 2, 1.0))
    assert pruned.weights.tolist() == [[0, 0, 0], [-1, 0, 0], [1, 0, 0]]
    assert pruned.cut == 1.0


def test_a_weak_edge_off_the_cycle_stays_with_components():
    weights = [[0.0, 0.9, 0.1], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert threshold_until_acyclic(weights).removed == ((0, 2, 0.1), (1, 0, 0.5))
    pruned = threshold_components(weights)
    assert pruned.removed == ((1, 0, 0.5),)
    assert pruned.weights[0, 2] == 0.1


def test_the_cut_is_strict():
    assert threshold([[0, 0.3], [-0.3, 0]], 0.3).tolist() == [[0, 0.3], [-0.3, 0]]
    assert threshold([[0, 0.3], [-0.3, 0]], np.nextafter(0.3, 1)).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("cut", [-0.1, float("nan"), float("inf")])
@pytest.mark.parametrize("prune", [threshold, threshold_until_acyclic, threshold_components])
def test_an_impossible_cut_is_refused(prune, cut):
    with pytest.raises(InputError, match="cut is"):
        prune([[0.0]], cut)


def test_a_dense_matrix_is_quickly_done():
    weights = np.random.default_rng(0).normal(size=(150, 150))
    everywhere, on_cycles = threshold_until_acyclic(weights), threshold_components(weights)
    assert is_acyclic(everywhere.weights) and is_acyclic(on_cycles.weights)
    assert len(on_cycles.removed) < len(everywhere.removed)

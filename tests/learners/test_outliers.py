"""Learners that look at rows do not let a few wild ones make edges and arrows."""

import numpy as np
import pytest

import acyclic
from acyclic.facts import Note
from acyclic.learners import make_learner


@pytest.mark.parametrize("method", ["auto", "order-search", "lingam", "cam"])
def test_outliers_are_set_aside_with_a_note_unless_they_are_to_be_kept(method):
    data = acyclic.simulate(n_nodes=6, n=300, graph="ER1", scheme="iscm", random_state=4)
    X, wild = np.array(data.X), [3, 40, 200]
    clean = make_learner(method).fit(np.delete(X, wild, axis=0))
    X[wild] *= 40.0
    found, kept = make_learner(method).fit(X), make_learner(method, outliers="keep").fit(X)
    assert np.array_equal(found.adjacency_matrix_, clean.adjacency_matrix_)
    assert np.array_equal(found.noise_variances_, clean.noise_variances_)
    assert [note["count"] for note in found.verdict_.notes if note.kind is Note.OUTLIERS] == [3]
    assert not kept.verdict_.notes and kept.digest_ == found.digest_ == acyclic.read_table(X).digest
    assert not np.array_equal(kept.adjacency_matrix_, clean.adjacency_matrix_)


def test_weights_of_edges_are_standardised_by_the_rows_that_were_learned_from():
    data = acyclic.simulate(n_nodes=4, n=300, graph="ER1", scheme="iscm", random_state=4)
    X = np.array(data.X)
    clean = acyclic.learn(np.delete(X, 7, axis=0))
    X[7] *= 1000.0
    assert acyclic.learn(X).deviations == clean.deviations

"""The bootstrap of rows that stay where they are, against the plain one."""

import numpy as np
import pandas as pd
import pytest
from numpy.random import SeedSequence, default_rng

import acyclic
from acyclic.data.table import read_table
from acyclic.errors import InputError
from acyclic.facts import Ended, Remark
from acyclic.trust.bootstrap import bootstrap

PARTITIONS, DRAWS = 40, 100
DATA = acyclic.simulate(4, 4000, graph="ER1", random_state=4, noise="exponential")


@pytest.fixture
def away(monkeypatch):
    """A table in many partitions of shuffled rows, none of which is brought home."""
    dask = pytest.importorskip("dask.dataframe", reason="Dask frames need dask[dataframe]")
    monkeypatch.setattr("acyclic.data.reading._BROUGHT_VALUES", 10)
    frame = pd.DataFrame(DATA.X, columns=list(DATA.names))
    return read_table(dask.from_pandas(frame, npartitions=PARTITIONS, sort=False))


def spread(moments):
    """Standard deviations of means and covariances over draws."""
    upper = np.triu_indices(len(DATA.names))
    return np.std([np.concatenate([one.mean, one.covariance[upper]]) for one in moments], axis=0)


@pytest.mark.parametrize("partitions", [False, True])
def test_draws_vary_as_those_of_the_plain_bootstrap(away, partitions):
    seeds = SeedSequence(1).spawn(DRAWS)
    here = read_table(DATA.X, names=DATA.names)
    plain = spread([here.resampled(default_rng(seed)).moments for seed in seeds])
    found = spread(away.redraw(seeds, partitions=partitions))
    # A deviation of as many draws is off by 1/√(2 draws) of itself, and that between partitions by 1/√(2 partitions);
    # squares of exponential noise have heavy tails, which make it about twice as much.
    error = np.sqrt(2 / (2 * DRAWS) + partitions * 4 / (2 * PARTITIONS))
    assert np.abs(np.log(found / plain)).max() < 4 * error


@pytest.mark.slow
def test_the_bootstrap_finds_edges_as_often_as_the_plain_one(away):
    plain, found = bootstrap("order-search", DATA.X, 100), bootstrap("order-search", away, 100)
    assert found.draws == 100 and [note.kind for note in found.notes] == [Remark.REDRAWN, Remark.UNCALIBRATED]
    assert np.abs(found.edge - plain.edge).max() < 4 * np.sqrt(2 * 0.25 / 100)
    np.testing.assert_allclose(found.consensus().weights, plain.consensus().weights, atol=0.1)
    drawn = bootstrap("order-search", away, 30, resample="partitions")
    assert drawn.notes[0]["what"] == "partitions" and np.abs(drawn.edge - plain.edge).max() < 4 * np.sqrt(2 * 0.25 / 30)


@pytest.mark.slow
def test_draws_that_need_rows_have_a_sample(away):
    found = bootstrap("auto", away, 3, n_jobs=2)
    assert found.draws == 3 and found.consensus().n_edges > 0
    assert bootstrap("auto", away, 3).edge.tobytes() == found.edge.tobytes()


def test_draws_in_several_passes_are_those_of_one(away, monkeypatch, tmp_path):
    expected = bootstrap("equal-variance", away, 7)
    monkeypatch.setattr("acyclic.trust.bootstrap._MOST_NUMBERS", 3 * 16)
    some = bootstrap("equal-variance", away, 4, checkpoint=tmp_path / "draws")
    found = bootstrap("equal-variance", away, 7, checkpoint=tmp_path / "draws")
    assert some.draws == 4 and found.draws == 7 and found.edge.tobytes() == expected.edge.tobytes()
    with pytest.raises(InputError, match="belongs to another run: resample was rows of 40"):
        bootstrap("equal-variance", away, 7, checkpoint=tmp_path / "draws", resample="partitions")
    ended = bootstrap("equal-variance", away, 7, callback=lambda progress: progress.step == 5)
    assert ended.draws == 5 and ended.end.kind is Ended.CALLBACK


def test_few_partitions_are_not_drawn(away, monkeypatch):
    with pytest.raises(InputError, match="is for a table whose rows are elsewhere"):
        bootstrap("equal-variance", DATA.X, 3, resample="partitions")
    monkeypatch.setattr("acyclic.trust.bootstrap.FEWEST_PARTITIONS", 41)
    with pytest.raises(InputError, match="at least 41 partitions, and there are 40"):
        bootstrap("equal-variance", away, 3, resample="partitions")


def test_categories_are_drawn_by_their_counts(monkeypatch):
    dask = pytest.importorskip("dask.dataframe", reason="Dask frames need dask[dataframe]")
    monkeypatch.setattr("acyclic.data.reading._BROUGHT_VALUES", 10)
    rng = np.random.default_rng(2)
    a = rng.integers(0, 3, 2000)
    frame = pd.DataFrame({"a": a, "b": (a + (rng.random(2000) < 0.4)) % 3, "c": rng.integers(0, 2, 2000)})
    found = bootstrap("auto", read_table(dask.from_pandas(frame, npartitions=5)), 20)
    plain = bootstrap("auto", frame, 20)
    assert np.abs(found.adjacency - plain.adjacency).max() < 4 * np.sqrt(2 * 0.25 / 20)
    assert found.adjacency[0, 1] == 1.0

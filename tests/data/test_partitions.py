"""Tables in partitions that stay where they are: equal to the same table on one machine."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.random import SeedSequence

import acyclic
import acyclic.data.dask_engine
from acyclic.data.moments import Moments
from acyclic.data.partials import CodeCounts, DrawnSums, RowWeights
from acyclic.data.partitions import conclude, merge_levels, merge_results, perform
from acyclic.data.reading import stays_elsewhere
from acyclic.data.table import read_table
from acyclic.errors import InputError
from acyclic.facts import NoRows, Note
from acyclic.types import Kind

# What distributed leaves to the collector of garbage is its own affair.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RNG = np.random.default_rng(7)
N = 600


def numbers(rng=RNG, n=N):
    x = rng.standard_normal(n)
    y = x + rng.standard_normal(n)
    return pd.DataFrame({"x": x + 1e5, "y": y, "z": np.exp(0.3 * y), "w": rng.integers(1, 4, n).astype(float)})


def gaps():
    frame = numbers()
    for name in ("x", "y"):
        frame.loc[RNG.random(N) < 0.1, name] = np.nan
    frame.loc[:150, "z"] = np.nan
    return frame


def kinds():
    rng = np.random.default_rng(3)
    colour = rng.choice(["red", "green", "blue", "mauve"], N, p=[0.5, 0.3, 0.196, 0.004])
    return pd.DataFrame(
        {
            "colour": colour,
            "grade": pd.Categorical(rng.choice(["low", "high"], N), ["low", "high"], ordered=True),
            "code": rng.integers(0, 3, N),
            "flag": rng.random(N) < 0.5,
            "count": rng.poisson(3.0, N) + 20 * (rng.random(N) < 0.02),
            "size": rng.standard_normal(N) + (colour == "red"),
            "key": [f"id{k}" for k in range(N)],
            "written": [f"{value:.2f}" for value in rng.random(N)],
        }
    )


def extreme():
    return numbers().assign(x=lambda frame: frame["x"] * 1e200, y=lambda frame: frame["y"] * 1e-200)


TABLES = {
    "numbers": (numbers, {}),
    "columns": (numbers, {"columns": ["y", "x"]}),
    "logarithms": (numbers, {"log": ["z", "x"]}),
    "weights": (numbers, {"weights": "w"}),
    "standardized": (numbers, {"standardize": True}),
    "rows with gaps left out": (gaps, {"missing": "drop-rows"}),
    "pairs": (gaps, {"missing": "pairwise"}),
    "weighted pairs": (gaps, {"missing": "pairwise", "weights": "w"}),
    "em": (gaps, {"missing": "em"}),
    "every kind": (kinds, {}),
    "told": (kinds, {"kinds": {"colour": "red<green<blue<mauve", "count": "continuous"}, "drop": ["size"]}),
    "extreme": (extreme, {}),
}


def to_polars(frame):
    """Without PyArrow, which pl.from_pandas needs."""
    types = {name: pl.Enum(list(frame[name].cat.categories)) for name in frame if frame[name].dtype == "category"}
    types |= {name: pl.String for name in frame if name in ("colour", "key", "written")}
    cells = {name: frame[name].to_list() for name in frame}
    known = {name: pl.Float64 for name in frame if frame[name].dtype == float}
    known |= {name: pl.Int64 for name in frame if frame[name].dtype == "int64"}
    known |= {name: pl.Boolean for name in frame if frame[name].dtype == bool}
    return pl.DataFrame(cells, schema={name: (known | types)[name] for name in frame})


def parted(frame, kind, folder, pieces=7):
    """The frame in partitions of unequal lengths, one of them empty."""
    cuts = np.sort(np.random.default_rng(1).integers(0, len(frame), pieces - 2)).tolist()
    bounds = [0, *cuts, cuts[-1], len(frame)]
    parts = [frame.iloc[start:end] for start, end in pairwise(bounds)]
    if kind == "frame":
        dask = pytest.importorskip("dask.dataframe", reason="Dask frames need dask[dataframe]")
        from dask.delayed import delayed

        return dask.from_delayed([delayed(part) for part in parts], meta=frame.iloc[:0])
    for number, part in enumerate(parts):
        to_polars(part).write_parquet(folder / f"{number}.parquet")
    return folder


def assert_equal(found, expected):
    """To 1e-12 in units of standard deviations; what is no rounding is the same."""
    assert (found.names, found.kinds, found.n_rows, found.digest) == (
        expected.names,
        expected.kinds,
        expected.n_rows,
        expected.digest,
    )
    assert found.levels == expected.levels
    for name, coding in expected.codings.items():
        assert found.codings[name].codes == coding.codes
        np.testing.assert_allclose(found.codings[name].values, coding.values, rtol=1e-12, atol=1e-12)
    assert [(note.kind, note.about) for note in found.notes] == [(note.kind, note.about) for note in expected.notes]
    left, right = found.moments, expected.moments
    scale = np.where(right.constant, 1.0, np.sqrt(np.diag(right.covariance)))
    np.testing.assert_allclose(left.mean / scale, right.mean / scale, rtol=1e-12, atol=1e-12)
    assert np.abs((left.covariance - right.covariance) / np.outer(scale, scale)).max() < 1e-12
    assert left.n == pytest.approx(right.n, rel=1e-13)


@pytest.mark.parametrize("name", TABLES)
def test_a_dask_frame_gives_the_table_of_one_machine(name, tmp_path):
    make, options = TABLES[name]
    frame = make()
    found = read_table(parted(frame, "frame", tmp_path), **options)
    expected = read_table(frame, **options)
    assert_equal(found, expected)
    if expected.has_rows:
        np.testing.assert_allclose(found.rows(), expected.rows(), rtol=1e-12)


@pytest.fixture(scope="module")
def client():
    """Two workers, in threads of this process."""
    distributed = pytest.importorskip("distributed", reason="the Dask cluster needs the package distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.parametrize("name", TABLES)
def test_a_folder_that_workers_read_gives_the_table_of_one_machine(name, tmp_path, client):
    make, options = TABLES[name]
    folder = parted(make(), "folder", tmp_path)
    found, expected = read_table(folder, cluster=client, **options), read_table(folder, **options)
    assert_equal(found, expected)


def test_a_file_is_cut_into_pieces(tmp_path, client, monkeypatch):
    monkeypatch.setattr("acyclic.data.opening._PIECE_BYTES", 4_000)
    monkeypatch.setattr("acyclic.data.opening._PIECE_ROWS", 5)
    to_polars(numbers()).write_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", cluster=client)
    assert_equal(table, read_table(tmp_path / "t.parquet"))
    assert table._origin._reading.source.engine.count > 3


@pytest.fixture
def far(monkeypatch):
    """As if any row were too many to be brought home."""
    monkeypatch.setattr("acyclic.data.reading._BROUGHT_VALUES", 10)


def test_rows_stay_and_a_sample_is_that_of_one_machine(tmp_path, far):
    frame = gaps()
    table = read_table(parted(frame, "frame", tmp_path), missing="drop-rows", log=["z"])
    here = read_table(frame, missing="drop-rows", log=["z"])
    assert table.is_elsewhere and table.has_sample and not table.has_rows
    with pytest.raises(InputError, match="stay there"):
        table.rows()
    for one, other in (
        (table, here),
        (table.standardized(), here.standardized()),
        (table.select(["x", "y"]), here.select(["x", "y"])),
    ):
        np.testing.assert_allclose(one.sample(50), other.sample(50), rtol=1e-12, atol=1e-12)
    sampled = table.sampled(80)
    [note] = [note for note in sampled.notes if note.kind is Note.SAMPLED]
    assert sampled.n_rows == 80 == note["rows"] and note["of"] == table.n_rows and sampled.has_rows
    np.testing.assert_array_equal(sampled.rows(), table.sample(80))
    assert table.sample(10**6).shape == (int(table.moments.n), 4)


def test_learners_give_the_graph_of_one_machine(tmp_path, far):
    data = acyclic.simulate(6, N, sem="gp", random_state=2)
    frame = pd.DataFrame(data.X, columns=list(data.names))
    away = read_table(parted(frame, "frame", tmp_path))
    assert away.is_elsewhere
    for method in ("auto", "lingam", "ges"):
        found, expected = acyclic.learn(away, method=method), acyclic.learn(frame, method=method)
        assert (found.graph.adjacency == expected.graph.adjacency).all(), method
        assert found.verdict.orientation is expected.verdict.orientation
    assert acyclic.learn(away).verdict.details["rows that tell curves and shapes"] == N


def test_what_needs_rows_says_how_many_it_had(tmp_path, far, monkeypatch):
    monkeypatch.setattr("acyclic.learners.base.MOST_SAMPLED", 100)
    table = read_table(parted(numbers()[["x", "y", "z"]], "frame", tmp_path))
    [note] = [note for note in acyclic.learn(table, method="lingam").verdict.notes if note.kind is Note.SAMPLED]
    assert (note["rows"], note["of"]) == (100, N)


def categories():
    rng = np.random.default_rng(5)
    a = rng.integers(0, 3, N)
    b = (a + (rng.random(N) < 0.2)) % 3
    return pd.DataFrame({"a": a, "b": b, "c": rng.integers(0, 2, N), "d": np.array(list("uvw"))[(b + a) % 3]})


def test_categories_are_counted_where_they_are(tmp_path, far):
    frame = categories()
    away, here = read_table(parted(frame, "frame", tmp_path)), read_table(frame)
    assert set(away.kinds) == {Kind.CATEGORICAL}
    codes, counts = away.count_codes()
    assert counts.sum() == N and len(codes) < N
    found, expected = acyclic.learn(away), acyclic.learn(here)
    assert found.graph.weights == pytest.approx(expected.graph.weights, abs=1e-12)
    assert found.verdict.details["rows that were counted"] == N


def test_mixed_kinds_are_learned_from_a_sample(tmp_path, far):
    frame = kinds().drop(columns=["key"])
    found, expected = acyclic.learn(read_table(parted(frame, "frame", tmp_path))), acyclic.learn(frame)
    assert (found.graph.adjacency == expected.graph.adjacency).all()


def test_counts_of_too_many_different_rows_are_given_up(monkeypatch):
    monkeypatch.setattr("acyclic.data.partials.MOST_ROWS_OF_CODES", 3)
    few, many = CodeCounts.of(np.array([[0, 1], [0, 1], [1, 1]])), CodeCounts.of(np.arange(8).reshape(4, 2))
    assert few.counts.tolist() == [2, 1] and many.codes is None
    few.merge(many)
    assert few.codes is None


def test_the_tree_is_fixed_by_the_number_of_partitions():
    for count in (1, 2, 8, 9, 64, 65, 1000):
        left = count
        for level in merge_levels(count, 1):
            assert [at for group in level for at in group] == list(range(left))
            left = len(level)
        assert left == 1


class Total:
    """What a job gives in these tests."""

    def __init__(self, text):
        self.text = text

    def merge(self, later):
        self.text = f"({self.text}{later.text})"


def test_merging_leaves_what_it_merges_alone():
    parts = [Total(str(at)) for at in range(10)]
    assert merge_results(parts[:3]).text == "((01)2)"
    assert conclude(parts).text == "((((((((01)2)3)4)5)6)7)(89))" and [part.text for part in parts] == list(
        "0123456789"
    )


class Broken:
    name = "part-3.parquet"

    def begin(self, count):
        raise OSError("bad magic\nand more")


def test_a_partition_that_cannot_be_read_is_named():
    def job(number, partition, given):
        return partition.begin(5)

    with pytest.raises(InputError, match=r"part-3.parquet cannot be read: OSError: bad magic$"):
        conclude([Total("a"), perform(job, 1, Broken(), None), Total("b")])


def test_errors_name_the_row_of_the_partition(tmp_path, client):
    parted(gaps(), "folder", tmp_path)
    with pytest.raises(InputError, match=r"missing \(NaN or null\): 'x' \(first in row \d+ of .*\d.parquet\)"):
        read_table(tmp_path, cluster=client)
    parted(numbers(), "folder", tmp_path)
    (tmp_path / "3.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(InputError, match=r"3.parquet cannot be read"):
        read_table(tmp_path, cluster=client)


def test_a_cluster_is_for_what_it_can_read(tmp_path, client):
    with pytest.raises(InputError, match="cluster is for a folder of Parquet files or a Dask frame"):
        read_table(numbers(), cluster=client)
    with pytest.raises(InputError, match="partials is for a folder"):
        read_table(numbers(), partials=tmp_path)
    with pytest.raises(InputError, match="see no file or folder"):
        read_table(tmp_path / "nowhere", cluster=client)
    with pytest.raises(InputError, match=r"without \.parquet files"):
        read_table(tmp_path, cluster=client)
    with pytest.raises(InputError, match="weights of a table in partitions are a column"):
        read_table(parted(numbers(), "frame", tmp_path), weights=np.ones(N))


def test_a_path_that_is_not_here_is_left_to_the_workers(tmp_path, client):
    path = parted(numbers(), "folder", tmp_path)
    assert stays_elsewhere(path) and stays_elsewhere(tmp_path / "there") and stays_elsewhere("there")
    assert not stays_elsewhere(next(path.iterdir())) and not stays_elsewhere("-") and not stays_elsewhere(numbers())


def test_a_cluster_without_workers_is_one_sentence(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the Dask cluster needs the package distributed")
    monkeypatch.setattr("acyclic.data.dask_engine._PATIENCE", 0.1)
    monkeypatch.setattr("acyclic.data.dask_engine._LOOK", 0.05)
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(InputError, match="the cluster has no workers, and none came"),
    ):
        read_table(tmp_path, cluster=client)


def test_a_run_goes_on_from_partial_results(tmp_path, client, monkeypatch):
    folder, kept = tmp_path / "t", tmp_path / "kept"
    folder.mkdir()
    parted(gaps(), "folder", folder)
    options = {"missing": "em", "cluster": client, "partials": kept}
    expected = read_table(folder, missing="em", cluster=client)
    first = read_table(folder, **options)
    files = sorted(kept.iterdir())
    assert len(files) == 7 and first.moments == expected.moments
    files[2].unlink()
    done, real = [], acyclic.data.dask_engine.perform

    def watch(job, number, *rest):
        done.append((type(job).__name__, number))
        return real(job, number, *rest)

    monkeypatch.setattr("acyclic.data.dask_engine.perform", watch)
    again = read_table(folder, **options)
    assert again.moments == expected.moments and again.digest == expected.digest
    assert sorted(kept.iterdir()) == files and sum(name == "_OfPart" for name, _ in done) == 1
    # Other options, or another file, are another run.
    assert read_table(folder, **options | {"missing": "pairwise"}).digest != expected.digest
    assert len(list(kept.iterdir())) == 14
    files[0].write_bytes(b"half")
    with pytest.raises(InputError, match="no whole partial result"):
        read_table(folder, **options)


def test_the_bits_do_not_depend_on_who_did_what(tmp_path, client):
    folder = parted(numbers(), "folder", tmp_path)
    one = read_table(folder, cluster=client)
    import distributed

    options = {"n_workers": 1, "threads_per_worker": 3, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as other:
        assert read_table(folder, cluster=other).moments == one.moments


def test_weights_of_draws_depend_on_seed_and_partition_alone():
    seed = SeedSequence(3)
    draw = RowWeights(seed)
    rng = draw.begin(4)
    pieces = np.concatenate([draw.draw(4, 30, rng), draw.draw(4, 70, rng)])
    assert len({draw.draw(number, 50).tobytes() for number in range(5)}) == 5
    np.testing.assert_array_equal(pieces, draw.draw(4, 100))
    folds = [RowWeights(seed, "fold", fold, 3).draw(1, 60) for fold in range(3)]
    np.testing.assert_array_equal(np.sum(folds, axis=0), np.ones(60))
    assert len(set(RowWeights(seed, "partitions").draw(7, 20))) == 1


def test_draws_are_weighted_moments():
    rows = RNG.standard_normal((90, 3)) + np.array([1e4, 0.0, -5.0])
    draws = [RowWeights(seed) for seed in SeedSequence(1).spawn(4)]
    parts = []
    for number, part in enumerate(np.split(rows, [30, 30, 70])):
        sums = DrawnSums(draws, number, 3)
        sums.add(part)
        parts.append(sums.close())
    found = conclude(parts).moments(("a", "b", "c"))
    for draw, moments in zip(draws, found):
        weights = [draw.draw(number, count) for number, count in enumerate((30, 0, 40, 20))]
        expected = Moments.from_array(rows, ["a", "b", "c"], np.concatenate(weights))
        assert moments.n == expected.n
        np.testing.assert_allclose(moments.mean, expected.mean, rtol=1e-12)
        np.testing.assert_allclose(moments.covariance, expected.covariance, rtol=1e-9, atol=1e-11)


def test_folds_are_drawn_where_the_rows_are(tmp_path, far):
    table = read_table(parted(numbers()[["x", "y", "z"]], "frame", tmp_path))
    folds = table.folds(5, np.random.default_rng(0))
    assert sum(fold.n for fold in folds) == N
    merged = Moments.merged(folds)
    np.testing.assert_allclose(merged.covariance, table.moments.covariance, rtol=1e-9, atol=1e-12)


def test_why_there_are_no_rows_is_as_on_one_machine(tmp_path, far):
    frame = gaps()
    for options in ({"missing": "pairwise"}, {"missing": "drop-rows", "weights": "w"}):
        found, here = read_table(parted(frame, "frame", tmp_path), **options), read_table(frame, **options)
        assert found.why_no_rows == here.why_no_rows and found.why_no_rows.kind is not NoRows.ELSEWHERE


def test_the_page_shows_a_sample_while_the_cluster_answers(tmp_path, far):
    import distributed

    from acyclic.report.sketch import sketch_table

    folder = parted(numbers()[["x", "y", "z"]], "folder", tmp_path)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        table, other = (read_table(folder, cluster=client) for _ in range(2))
        assert sum(sketch_table(table)["variables"][0]["counts"]) == N
    assert sketch_table(table)["sample"]["rows"] == 500
    assert sketch_table(other)["sample"] is None
    with pytest.raises(InputError, match="the scheduler of the cluster is gone"):
        other.sample(10)

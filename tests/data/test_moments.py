import copy
import os
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from acyclic.data import moments as module
from acyclic.data.moments import Accumulator, Moments, as_moments
from acyclic.errors import InputError

RNG = np.random.default_rng(20)


def tables(min_rows=2, max_rows=30, max_columns=4):
    """Finite tables of moderate numbers, some of them on a large offset."""
    shape = st.tuples(st.integers(min_rows, max_rows), st.integers(1, max_columns))
    numbers = st.floats(-100, 100, allow_subnormal=False)
    offset = st.sampled_from([0.0, 1.0, -1e3])
    return st.builds(np.add, hnp.arrays(np.float64, shape, elements=numbers), offset)


def assert_same(left, right, rtol=1e-12):
    """Equal to `rtol` in units of the column's standard deviations and means."""
    assert (left.n, left.names) == (right.n, right.names)
    size = 1 + np.abs(right.mean) + np.sqrt(np.diag(right.covariance))
    assert np.all(np.abs(left.mean - right.mean) <= rtol * size)
    assert np.all(np.abs(left.covariance - right.covariance) <= rtol * np.outer(size, size))


@given(tables())
def test_agrees_with_numpy(X):
    moments = Moments.from_array(X)
    assert moments.n == len(X) and moments.names == tuple(f"x{j}" for j in range(X.shape[1]))
    expected = Moments(len(X), X.mean(axis=0), np.cov(X, rowvar=False, ddof=0).reshape(X.shape[1], -1))
    assert_same(moments, expected)
    np.testing.assert_array_equal(moments.covariance, moments.covariance.T)


@given(tables(), st.integers(1, 9))
@settings(deadline=None)
def test_blocks_agree_with_one_shot(X, values):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_VALUES", values)
        blocked = Moments.from_array(X)
    assert_same(blocked, Moments.from_array(X))


@given(tables(min_rows=6), st.data())
def test_merging_is_associative_and_agrees_with_one_shot(X, data):
    first = data.draw(st.integers(2, len(X) - 4))
    second = data.draw(st.integers(first + 2, len(X) - 2))
    a, b, c = (Moments.from_array(part) for part in np.split(X, [first, second]))
    whole = Moments.from_array(X)
    for merged in (a.merge(b).merge(c), a.merge(b.merge(c)), Moments.merged([c, a, b])):
        assert_same(merged, whole)


@given(tables(), st.randoms(use_true_random=False))
def test_order_of_rows_and_columns_is_immaterial(X, random):
    rows, columns = list(range(len(X))), list(range(X.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    names = [f"v{j}" for j in range(X.shape[1])]
    moments = Moments.from_array(X, names)
    shuffled = Moments.from_array(X[rows][:, columns], [names[j] for j in columns])
    assert_same(shuffled.select(names), moments)


@given(tables(), st.integers(1, 40), st.lists(st.integers(0, 30), max_size=4), st.sampled_from("CF"), st.booleans())
@settings(deadline=None)
def test_the_pieces_in_which_rows_come_change_no_bit(X, values, cuts, layout, weighted):
    names = [f"x{column}" for column in range(X.shape[1])]
    weights = np.linspace(1, 2, len(X)) if weighted else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_VALUES", values)
        whole = Moments.from_array(X, names, weights)
        accumulator = Accumulator(names)
        for part in np.split(np.arange(len(X)), sorted(cuts)):
            accumulator.add(np.array(X[part], order=layout), None if weights is None else weights[part])
        assert accumulator.finish() == (whole, [])


def test_a_drift_far_from_the_first_rows_costs_no_digits(monkeypatch):
    """Blocks are centred on their own means: sums about the first one would keep 3 digits here."""
    monkeypatch.setattr(module, "_BLOCK_VALUES", 200)
    noise = np.round(RNG.standard_normal((2000, 2)) * 2**10) / 2**10
    X = noise + 2.0**20 * (np.arange(2000) // 100)[:, None]
    exact = np.cov(X - X.mean(axis=0), rowvar=False, ddof=0)
    np.testing.assert_allclose(Moments.from_array(X).covariance, exact, rtol=1e-14)
    parts = [Moments.from_array(X[start : start + 100]).covariance for start in (0, 1900)]
    np.testing.assert_allclose(parts, [np.cov(noise[s : s + 100].T, ddof=0) for s in (0, 1900)], rtol=1e-12)


def test_a_large_mean_costs_no_digits(monkeypatch):
    noise = RNG.standard_normal((50_000, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.2], [0, 0, 1]])
    X = np.round(noise * 2**20) / 2**20 + 2.0**20
    exact = Moments.from_array(X - 2.0**20).covariance
    np.testing.assert_allclose(Moments.from_array(X).covariance, exact, rtol=1e-14, atol=1e-14)
    # Stored means are rounded to 2^-33 here, which is all that merging finished moments can lose.
    merged = Moments.merged(map(Moments.from_array, np.array_split(X, 7)))
    np.testing.assert_allclose(merged.covariance, exact, rtol=0, atol=2.0**-33 / 10)
    monkeypatch.setattr(module, "_BLOCK_VALUES", 3000)
    np.testing.assert_allclose(Moments.from_array(X).covariance, exact, rtol=1e-14, atol=1e-14)


def test_the_table_stays_unchanged_and_its_layout_is_immaterial():
    X = RNG.integers(-5, 6, size=(20, 6)).astype(float)
    expected = Moments.from_array(X[:, ::2])
    fortran, frozen = np.asfortranarray(X[:, ::2]), X[:, ::2].copy()
    frozen.flags.writeable = False
    before = X.copy()
    for table in (X[:, ::2], fortran, frozen, X[:, ::2].tolist()):
        assert Moments.from_array(table) == expected
    np.testing.assert_array_equal(X, before)
    backwards = Moments.from_array(X[::-1, ::2])
    assert_same(backwards, expected)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32, np.longdouble, object, ">f8"])
def test_every_kind_of_number(dtype):
    X = RNG.integers(0, 2, size=(30, 3))
    X[0], X[1] = 0, 1
    assert Moments.from_array(X.astype(dtype)) == Moments.from_array(X.astype(float))


def test_object_tables_hold_any_real_number():
    X = np.array([[1, True, Fraction(1, 2)], [np.float32(3), np.bool_(False), Decimal("2.5")]], dtype=object)
    assert Moments.from_array(X).mean.tolist() == [2.0, 0.5, 1.5]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, 2.0], [np.nan, 3.0]], r"missing \(NaN or null\): 'x0' \(first in row 1\)"),
        ([[1.0, np.inf], [np.nan, 3.0]], r"infinite.*'x1' \(first in row 0\)"),
        ([[1.0, np.nan], [np.nan, 3.0]], r"'x0' \(first in row 1\), 'x1' \(first in row 0\)"),
        ([[1.0, None], [2.0, 3.0]], r"'x1' \(first in row 0\)"),
        (np.ma.masked_array([[1.0], [2.0]], mask=[[False], [True]]), r"'x0' \(first in row 1\)"),
        (np.full((3, 7), np.nan), "'x4' .* and 2 more columns"),
        ([[1, "b"], [2, "c"]], "column 'x1' holds 'b' in row 0, which is no number"),
        (np.array([[1, "b"], [2, 3]], dtype=object), "'x1' holds 'b' in row 0"),
        (np.array([[1, 2 + 1j], [2, 3]]), "Complex data not supported"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "holds datetime64"),
        ([1.0, 2.0], r"shape \(2,\).*Reshape your data"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
        ([[1.0, 2.0], [3.0]], "differ in length"),
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((1, 3)), "1 sample"),
        (np.zeros((3, 0)), r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
        (sparse.eye_array(3), "sparse"),
        ([[1e200, 1.0], [-1e200, 2.0]], "column 'x0' are not finite; rescale"),
        ([[1e308, 1.0], [1.5e308, 2.0], [1e308, 2.0]], "column 'x0' are not finite; rescale"),
        (3.0, r"shape \(\)"),
        (None, r"shape \(\)"),
    ],
)
def test_unusable_tables_are_refused_with_a_reason(X, message):
    with pytest.raises(InputError, match=message):
        Moments.from_array(X)


def test_the_row_of_a_bad_value_counts_over_all_blocks(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_VALUES", 8)
    X = np.zeros((50, 2))
    X[37, 1] = np.nan
    with pytest.raises(InputError, match=r"'dose' \(first in row 37\)"):
        Moments.from_array(X, names=["age", "dose"])


@pytest.mark.parametrize("names", ["ab", ["a"], ["a", "a"], ["a", 1]])
def test_bad_names(names):
    with pytest.raises(InputError, match="name"):
        Moments.from_array(np.eye(2), names)


@given(tables(max_rows=12), st.data())
def test_weights_count_rows(X, data):
    counts = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(0, 3)).filter(lambda w: (w > 0).sum() > 1))
    assert_same(Moments.from_array(X, weights=counts), Moments.from_array(np.repeat(X, counts, axis=0)))


def test_fractional_weights_over_blocks_with_no_weight(monkeypatch):
    X = RNG.standard_normal((40, 3))
    weights = np.r_[np.zeros(10), RNG.random(30) + 0.5]
    mean = np.average(X, axis=0, weights=weights)
    centred = X - mean
    monkeypatch.setattr(module, "_BLOCK_VALUES", 12)
    moments = Moments.from_array(X, weights=weights)
    assert moments.n == pytest.approx(weights.sum(), rel=1e-14)
    np.testing.assert_allclose(moments.mean, mean, atol=1e-14)
    np.testing.assert_allclose(moments.covariance, (centred.T * weights) @ centred / weights.sum(), atol=1e-13)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], "there is no weight for row 2"),
        ([1, 2, 3, 4], r"shape \(4,\); one weight per row, \(3,\)"),
        ([1, -1, 1], "weight of row 1 is -1"),
        ([1, 1, np.inf], "weight of row 2 is inf"),
        ([0, 5, 0], "1 sample"),
        (["a", "b", "c"], "weights must be numbers"),
        ([0.2, 0.5, 0.3], "must not be normalised"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(InputError, match=message):
        Moments.from_array(np.eye(3), weights=weights)


FRAME = {"count": [1, 2, 4], "share": [0.5, 0.25, 0.125], "yes": [True, False, True]}
PLAIN = Moments.from_array(np.column_stack(list(FRAME.values())), names=list(FRAME))


def test_pandas_frames():
    assert as_moments(pd.DataFrame(FRAME)) == PLAIN
    assert as_moments(pd.DataFrame(FRAME).convert_dtypes()) == PLAIN
    assert as_moments(pd.DataFrame(FRAME, index=[7, 7, 1])) == PLAIN


@pytest.mark.parametrize(("library", "build"), [("polars", "DataFrame"), ("polars", "LazyFrame"), ("pyarrow", "table")])
def test_frames_of_other_libraries(library, build):
    frame = getattr(pytest.importorskip(library), build)(FRAME)
    assert as_moments(frame) == PLAIN


def test_frames_in_blocks(monkeypatch):
    frame = pd.DataFrame(RNG.standard_normal((50, 4)), columns=list("abcd"))
    whole = Moments.from_array(frame.to_numpy(), names=list("abcd"))
    monkeypatch.setattr("acyclic.data.sources._BLOCK_VALUES", 12)
    assert Moments.from_frame(frame) == whole
    monkeypatch.setattr(module, "_BLOCK_VALUES", 12)
    assert_same(Moments.from_frame(frame), whole)


def test_column_names_become_strings():
    assert as_moments(pd.DataFrame(np.eye(2), columns=[3, "b"])).names == ("3", "b")
    with pytest.raises(InputError, match="3"):
        as_moments(pd.DataFrame(np.eye(2), columns=[3, "3"]))
    with pytest.raises(InputError, match="a"):
        as_moments(pd.DataFrame(np.eye(2), columns=["a", "a"]))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"a": [1, 2], "town": ["x", "y"], "day": pd.to_datetime(["2020", "2021"])},
            "'town' holds .*'day' holds dates",
        ),
        ({"a": [1, 2], "kind": pd.Categorical(["x", "y"])}, "'kind'"),
        ({"a": [1, 2], "b": [1.0, None]}, r"'b' \(first in row 1\)"),
        ({"a": pd.array([1, None], dtype="Int64")}, r"'a' \(first in row 1\)"),
        ({"a": pd.array([True, None], dtype="boolean")}, r"'a' \(first in row 1\)"),
        ({"a": [1.0]}, "1 sample"),
        ({}, "the table has no columns"),
    ],
)
def test_unusable_frames(columns, message):
    with pytest.raises(InputError, match=message):
        as_moments(pd.DataFrame(columns))


def test_from_frame_wants_a_frame():
    with pytest.raises(InputError, match="list cannot be read as a table"):
        Moments.from_frame([[1.0], [2.0]])


def test_as_moments_takes_anything_and_keeps_moments():
    X = np.arange(6.0).reshape(3, 2)
    moments = as_moments(X, names=["a", "b"])
    assert as_moments(moments) is moments and as_moments(moments, names=["a", "b"]) is moments
    assert as_moments(X.tolist(), names=["a", "b"]) == as_moments(pd.DataFrame(X, columns=["a", "b"])) == moments
    with pytest.raises(InputError, match=r"names are \['a', 'c'\], but the data has the columns \['a', 'b'\]"):
        as_moments(moments, names=["a", "c"])


def test_the_constructor_checks_its_arguments():
    moments = Moments(10, [1, 2], [[2, 1], [1, 3]])
    assert moments.names == ("x0", "x1") and moments.covariance.dtype == np.float64
    for n in (1, 0, -3, np.nan, np.inf, "5", None):
        with pytest.raises(InputError, match="at least 2 rows"):
            Moments(n, [0.0], [[1.0]])
    for mean, covariance, message in (
        ([0, 0], [[1, 0.5], [0.4, 1]], r"cannot be the covariance matrix of 'x0' and 'x1'"),
        ([0, 0], [[1, 2], [2, 1]], r"\[\[1.0, 2.0\], \[2.0, 1.0\]\] cannot be"),
        ([0], [[-1]], "cannot be"),
        ([0], [[-1e-310]], "cannot be"),
        ([0], [[np.nan]], "not finite"),
        ([np.inf], [[1]], "not finite"),
        ([0, 0], [[1]], r"\(2,\) and \(1, 1\)"),
        ([], np.zeros((0, 0)), "d >= 1"),
        (["a"], [[1]], "mean holds"),
    ):
        with pytest.raises(InputError, match=message):
            Moments(5, mean, covariance)


def test_arrays_are_copies_that_cannot_be_changed():
    mean, covariance = np.zeros(2), np.eye(2)
    moments = Moments(4, mean, covariance)
    mean[0] = covariance[0, 0] = 9
    assert moments.mean[0] == 0 and moments.covariance[0, 0] == 1
    for twin in (moments, copy.deepcopy(moments), pickle.loads(pickle.dumps(moments))):
        assert twin == moments
        for array in (twin.mean, twin.covariance):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
    with pytest.raises(AttributeError):
        moments.n = 5


def test_nearly_symmetric_becomes_exactly_symmetric():
    covariance = np.array([[1.0, 0.3], [0.3 + 1e-12, 1.0]])
    stored = Moments(3, [0, 0], covariance).covariance
    assert stored[0, 1] == stored[1, 0]


def test_merging_matches_columns_by_name():
    X, Y = RNG.standard_normal((9, 2)), RNG.standard_normal((5, 2))
    left = Moments.from_array(X, ["a", "b"])
    assert_same(
        left.merge(Moments.from_array(Y[:, ::-1], ["b", "a"])), Moments.from_array(np.vstack([X, Y]), ["a", "b"])
    )
    with pytest.raises(InputError, match="'c'"):
        left.merge(Moments.from_array(Y, ["a", "c"]))
    with pytest.raises(InputError, match="'b'"):
        left.merge(left.select(["a"]))
    with pytest.raises(InputError, match="at least one"):
        Moments.merged([])


def test_select():
    moments = Moments(5, [1, 2, 3], np.diag([4.0, 5.0, 6.0]), ("a", "b", "c"))
    assert moments.select(["c", "a"]) == Moments(5, [3, 1], np.diag([6.0, 4.0]), ("c", "a"))
    for names, message in ((["a", "z"], r"unknown columns \['z'\]"), (["a", "a"], "a"), ([], "at least one")):
        with pytest.raises(InputError, match=message):
            moments.select(names)


def test_standardized_is_the_correlation_and_leaves_constants():
    X = RNG.standard_normal((40, 3)) * [1e-3, 1e5, 1] + [5, -7, 0]
    X[:, 2] = 0.1
    moments = Moments.from_array(X)
    standard = moments.standardized()
    np.testing.assert_allclose(standard.covariance[:2, :2], np.corrcoef(X[:, :2], rowvar=False), rtol=1e-12)
    assert standard.covariance.diagonal().tolist() == [1, 1, 0]
    assert not standard.covariance[2].any() and not standard.mean.any()
    assert_same(standard.standardized(), standard)
    assert_same(moments.scaled([-2, 3, 1]).select(["x1"]).standardized(), standard.select(["x1"]))


def test_standardised_means_equal_variances_of_all_columns_that_vary():
    X = RNG.standard_normal((40, 3))
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    # The mean of so many tenths is rounded, and with weights so is the variance that they are left with.
    padded = np.column_stack([standard, np.full(40, 0.1)])
    assert Moments.from_array(padded).is_standardized
    assert Moments.from_array(padded, weights=np.full(40, 3.0)).is_standardized
    assert Moments.from_array(standard.astype(np.float32)).is_standardized
    assert not Moments.from_array(X).is_standardized
    assert not Moments.from_array(padded[:, 2:]).is_standardized
    assert not Moments.from_array(padded * [1, 1.001, 1, 1]).is_standardized


def test_scaled_changes_the_units():
    X = RNG.standard_normal((30, 2)) + 4
    assert_same(Moments.from_array(X).scaled([1000, -0.5]), Moments.from_array(X * [1000, -0.5]))
    for factors in ([1, 0], [1, np.nan], [1], 2.0):
        with pytest.raises(InputError, match="2 finite numbers other than 0"):
            Moments.from_array(X).scaled(factors)
    with pytest.raises(InputError, match="rescale"):
        Moments.from_array(X).scaled([1e200, 1])


@given(
    st.lists(st.text(max_size=5), min_size=2, max_size=2, unique=True),
    st.floats(2, 1e9),
    st.floats(-1e300, 1e300),
)
@settings(deadline=None)
def test_saving_keeps_every_bit(tmp_path_factory, names, n, mean):
    path = tmp_path_factory.getbasetemp() / "moments.npz"
    moments = Moments(n, [mean, -0.0], [[1 / 3, 0.1], [0.1, 5e-324 + 0.2]], tuple(names))
    moments.save(path)
    loaded = Moments.load(str(path))
    assert loaded == moments and loaded.digest() == moments.digest() and hash(loaded) == hash(moments)
    assert loaded.names == tuple(names) and type(loaded.n) is type(moments.n)


def test_saving_leaves_one_plain_file_with_equal_bytes(tmp_path):
    moments = Moments.from_array(np.eye(3))
    for name in ("one.npz", "two"):
        moments.save(tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == ["one.npz", "two"]
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "moments.npz"
    old = Moments.from_array(np.eye(3))
    old.save(path)

    def full(*arguments, **arrays):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="disk full"):
        old.scaled([2, 2, 2]).save(path)
    assert Moments.load(path) == old and os.listdir(tmp_path) == ["moments.npz"]


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "moments.npz"
    Moments.from_array(np.eye(3)).save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="is not a whole file of moments"):
            Moments.load(path)
    other = tmp_path / "other.npz"
    np.savez(other, a=np.zeros(3))
    plain = tmp_path / "plain.npy"
    np.save(plain, np.zeros(3))
    for wrong in (other, plain):
        with pytest.raises(InputError, match="is not a whole file of moments"):
            Moments.load(wrong)
    with pytest.raises(FileNotFoundError):
        Moments.load(tmp_path / "absent.npz")


def test_equality_digest_and_repr_follow_the_content():
    moments = Moments.from_array(np.arange(12.0).reshape(4, 3))
    assert moments != "moments" and moments == copy.copy(moments)
    assert len({moments, moments.scaled([1, 1, 1]), moments.scaled([1, 1, 2])}) == 2
    changed = [
        Moments(5, moments.mean, moments.covariance),
        Moments(4, moments.mean + 1, moments.covariance),
        Moments(4, moments.mean, moments.covariance * 2),
        Moments(4, moments.mean, moments.covariance, ("x0", "x1", "y")),
    ]
    for other in changed:
        assert other != moments and other.digest() != moments.digest()
    assert Moments(4.0, [0.0], [[0.0]]) == Moments(4, [-0.0], [[0.0]])
    assert Moments(4.0, [0.0], [[0.0]]).digest() == Moments(4, [-0.0], [[0.0]]).digest()
    assert repr(Moments.from_array(np.eye(6))) == "Moments(n=6, d=6: x0, x1, x2, x3, …)"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("policy", ["error", "drop-rows", "pairwise", "em"])
def test_sums_of_parts_are_merged_into_those_of_all_rows(policy, weighted):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 5)) + [1e6, -3.0, 0.0, 7.0, 1e-3]
    rows[:, 3] = 7.1
    rows[200:, 0] += 5.0
    if policy != "error":
        rows[rng.random(rows.shape) < 0.1] = np.nan
        rows[:40, 1] = np.nan
    weights = rng.integers(1, 4, 300).astype(float)
    whole, merged = Accumulator("abcde", policy), Accumulator("abcde", policy)
    whole.add(rows, weights if weighted else None)
    for part, share in zip(np.split(rows, [0, 40, 41, 200]), np.split(weights, [0, 40, 41, 200])):
        one = Accumulator("abcde", policy)
        one.add(part, share if weighted else None)
        one.close()
        kept = pickle.dumps(one)
        merged.merge(pickle.loads(kept))
        assert pickle.dumps(one) == kept
    (expected, notes), (found, also) = whole.finish(), merged.finish()
    scale = np.sqrt(np.diag(expected.covariance))
    scale[3] = 1.0
    np.testing.assert_allclose(found.mean / scale, expected.mean / scale, rtol=1e-12, atol=1e-12)
    difference = (found.covariance - expected.covariance) / np.outer(scale, scale)
    assert np.abs(difference).max() < 1e-12 and found.n == pytest.approx(expected.n, rel=1e-14)
    assert [note.kind for note in also] == [note.kind for note in notes]
    assert found.constant.tolist() == [False, False, False, True, False] and found.covariance[3, 3] == 0.0

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import acyclic
from acyclic.data.columns import column_notes
from acyclic.data.missing import expectation_maximisation, repaired_correlation
from acyclic.data.moments import Accumulator, Moments
from acyclic.errors import InputError
from acyclic.facts import Fact, Note

RNG = np.random.default_rng(3)
POLICIES = ("drop-rows", "pairwise", "em")


def with_holes(n, d, share, offset=0.0, rng=RNG):
    rows = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + offset
    return np.where(rng.random((n, d)) < share, np.nan, rows)


def moments_of(rows, missing, weights=None, pieces=1):
    accumulator = Accumulator([f"x{j}" for j in range(rows.shape[1])], missing)
    parts = np.array_split(np.arange(len(rows)), pieces)
    for part in parts:
        accumulator.add(rows[part], None if weights is None else weights[part])
    return accumulator.finish()


def log_likelihood(rows, mean, covariance):
    """Of the observed cells, row by row."""
    total = 0.0
    for row in rows:
        seen = ~np.isnan(row)
        block, deviation = covariance[np.ix_(seen, seen)], row[seen] - mean[seen]
        total -= 0.5 * (np.linalg.slogdet(block)[1] + deviation @ np.linalg.solve(block, deviation))
    return total


@pytest.mark.parametrize("missing", ["error", *POLICIES])
def test_complete_rows_give_plain_moments(missing):
    rows = RNG.normal(size=(50, 3)) + 1e6
    moments, notes = moments_of(rows, missing, pieces=7)
    expected = Moments.from_array(rows)
    np.testing.assert_allclose(moments.mean, expected.mean, rtol=1e-14)
    np.testing.assert_allclose(moments.covariance, expected.covariance, atol=1e-13)
    assert moments.n == 50 and notes == []


def test_dropping_rows_agrees_with_the_complete_ones():
    rows = with_holes(200, 4, 0.1, offset=100)
    moments, notes = moments_of(rows, "drop-rows", pieces=3)
    complete = rows[~np.isnan(rows).any(axis=1)]
    expected = Moments.from_array(complete)
    np.testing.assert_allclose(moments.covariance, expected.covariance, rtol=1e-11)
    assert moments.n == len(complete) and notes[-1].kind is Note.ROWS_LEFT_OUT
    assert notes[-1]["left_out"] == notes[-1]["incomplete"] == 200 - len(complete)


def test_pairwise_agrees_with_pandas():
    rows = with_holes(300, 4, 0.15, offset=100)
    moments, notes = moments_of(rows, "pairwise", pieces=4)
    frame = pd.DataFrame(rows)
    np.testing.assert_allclose(moments.mean, frame.mean(), rtol=1e-13)
    both = frame.notna().astype(int).T @ frame.notna().astype(int)
    np.testing.assert_allclose(moments.covariance, frame.cov() * (both - 1) / both, rtol=1e-9, atol=1e-12)
    counts = both.to_numpy()[np.triu_indices(4, 1)]
    assert moments.n == pytest.approx(len(counts) / np.sum(1 / counts))
    assert notes[-1] == Fact.of(Note.PAIRWISE, fewest=counts.min(), most=counts.max(), n=notes[-1]["n"])
    assert notes[-1]["n"] == moments.n


def test_pairwise_is_repaired_where_no_table_could_have_it():
    x, y, z = RNG.normal(size=(3, 90))
    rows = np.full((90, 3), np.nan)
    rows[:30, 0], rows[:30, 1] = x[:30], x[:30] + 0.1 * y[:30]
    rows[30:60, 1], rows[30:60, 2] = x[30:60], x[30:60] + 0.1 * z[30:60]
    rows[60:, 0], rows[60:, 2] = x[60:], -x[60:] + 0.1 * z[60:]
    moments, notes = moments_of(rows, "pairwise")
    frame = pd.DataFrame(rows)
    assert np.linalg.eigvalsh(frame.cov(ddof=0))[0] < -0.1 < 0 < np.linalg.eigvalsh(moments.covariance)[0]
    np.testing.assert_allclose(np.diag(moments.covariance), frame.var(ddof=0), rtol=1e-12)
    assert [note.kind for note in notes[-2:]] == [Note.PAIRWISE, Note.REPAIRED]
    assert notes[-1]["eigenvalue"] < 0 < notes[-1]["change"]


@given(hnp.arrays(np.float64, (5, 5), elements=st.floats(-1, 1)))
def test_repair_keeps_the_diagonal_and_leaves_good_matrices_alone(values):
    matrix = np.triu(values, 1) + np.triu(values, 1).T + np.eye(5)
    repaired = repaired_correlation(matrix)
    np.testing.assert_array_equal(np.diag(repaired), np.ones(5))
    assert np.linalg.eigvalsh(repaired)[0] > -1e-12
    if np.linalg.eigvalsh(matrix)[0] >= 1e-9:
        np.testing.assert_array_equal(repaired, matrix)
        np.testing.assert_allclose(repaired_correlation(repaired), repaired, atol=1e-9)


def test_em_finds_the_closed_form_of_a_monotone_pattern():
    """If only y is missing, its regression on x comes from complete rows and the moments of x from all (Anderson)."""
    x = RNG.normal(size=200) + 30
    y = 2 * x + RNG.normal(size=200) - 7
    y[120:] = np.nan
    moments, _ = moments_of(np.column_stack([x, y]), "em", pieces=3)
    seen = slice(120)
    slope = np.cov(x[seen], y[seen], ddof=0)[0, 1] / x[seen].var()
    residual = y[seen].var() - slope**2 * x[seen].var()
    mean_y = y[seen].mean() + slope * (x.mean() - x[seen].mean())
    np.testing.assert_allclose(moments.mean, [x.mean(), mean_y], rtol=1e-8)
    expected = [[x.var(), slope * x.var()], [slope * x.var(), residual + slope**2 * x.var()]]
    np.testing.assert_allclose(moments.covariance, expected, rtol=1e-7)
    assert moments.n == pytest.approx(120)


def test_em_is_at_the_maximum_of_the_likelihood():
    rows = with_holes(60, 3, 0.25, rng=np.random.default_rng(5))
    rows = rows[~np.isnan(rows).all(axis=1)]
    moments, notes = moments_of(rows, "em")
    assert notes[-1].kind is Note.EM and notes[-1]["n"] == moments.n and notes[-1]["rows"] == len(rows)
    best = log_likelihood(rows, moments.mean, moments.covariance)
    for _ in range(40):
        direction, step = RNG.normal(size=(3, 3)), RNG.normal(size=3)
        for size in (1e-3, -1e-3):
            turn = np.eye(3) + size * direction
            assert log_likelihood(rows, moments.mean + size * step, turn @ moments.covariance @ turn.T) < best


@given(st.integers(3, 6), st.floats(0, 0.5), st.integers(0, 2**32 - 1))
def test_em_counts_rows_that_have_three_columns(d, share, seed):
    rows = with_holes(80, d, share, rng=np.random.default_rng(seed))
    moments, _ = moments_of(rows, "em", pieces=3)
    present = ~np.isnan(rows)
    counts = [max(present[:, triple].all(axis=1).sum(), 1) for triple in combinations(range(d), 3)]
    assert moments.n == pytest.approx(max(len(counts) / sum(1 / count for count in counts), 2))


def test_em_invents_few_edges_where_much_is_missing():
    """With three cells in ten missing, it would be more than twice as many with every row counted."""
    ours = counted = 0
    for seed in range(5):
        data = acyclic.simulate(12, 300, graph="ER2", random_state=seed)
        gaps = np.random.default_rng(seed).random(data.X.shape) < 0.3
        moments, _ = moments_of(np.where(gaps, np.nan, data.X / data.X.std(axis=0)), "em")
        every = Moments(300, moments.mean, moments.covariance, moments.names)
        true = data.graph.adjacency | data.graph.adjacency.T
        for of, source in (("ours", moments), ("counted", every)):
            found = acyclic.learn(source).graph.adjacency
            extra = int(np.triu((found | found.T) & ~true).sum())
            ours, counted = ours + extra * (of == "ours"), counted + extra * (of == "counted")
    assert 2 * ours < counted


def test_every_em_step_raises_the_likelihood():
    rows = with_holes(40, 3, 0.3, rng=np.random.default_rng(11))
    rows = rows[~np.isnan(rows).all(axis=1)]
    patterns = [(~np.isnan(row), np.concatenate([[1.0], row[~np.isnan(row)]])[None]) for row in rows]
    values = [
        log_likelihood(rows, fit.mean, fit.covariance)
        for fit in (expectation_maximisation(patterns, np.ones(3, bool), max_iterations=k) for k in range(1, 12))
    ]
    assert np.all(np.diff(values) > 0)


@pytest.mark.parametrize("missing", POLICIES)
def test_blocks_order_units_and_weights_do_not_matter(missing):
    rows = with_holes(120, 4, 0.1, rng=np.random.default_rng(8))
    moments, _ = moments_of(rows, missing)
    scale, order = np.array([1e-3, 1.0, 1e3, 7.0]), RNG.permutation(120)
    other, _ = moments_of(rows[order] * scale + 5 * scale, missing, pieces=5)
    size = np.sqrt(np.diag(moments.covariance)) * scale
    np.testing.assert_allclose(
        other.covariance / np.outer(size, size), moments.scaled(scale).covariance / np.outer(size, size), atol=1e-7
    )
    np.testing.assert_allclose((other.mean - 5 * scale) / size, moments.mean * scale / size, atol=1e-7)
    counts = RNG.integers(1, 4, size=120)
    weighted, _ = moments_of(rows, missing, weights=counts.astype(float), pieces=2)
    repeated, _ = moments_of(np.repeat(rows, counts, axis=0), missing)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, atol=1e-7)
    assert weighted.n == pytest.approx(repeated.n)


def test_em_takes_collinear_and_constant_columns():
    rng = np.random.default_rng(2)
    base = rng.normal(size=(400, 3))
    full = np.column_stack([base, base[:, 0] + base[:, 1], np.full(400, 7.3)]) * 1e3 + 1e5
    rows = np.where(rng.random(full.shape) < 0.15, np.nan, full)
    moments, notes = moments_of(rows, "em")
    assert notes[-1].kind is Note.EM
    contrast = np.array([1, 1, 0, -1, 0])
    assert contrast @ moments.covariance @ contrast < 1e-8 * moments.covariance[0, 0]
    assert column_notes(moments)[0] == Fact.of(Note.CONSTANT, "x4", value=full[0, 4])
    assert moments.mean[4] == full[0, 4]


def test_em_says_if_it_did_not_converge(monkeypatch):
    from acyclic.data import missing as module

    def hurried(patterns, varying):
        return expectation_maximisation(patterns, varying, max_iterations=2)

    monkeypatch.setattr(module, "expectation_maximisation", hurried)
    _, notes = moments_of(with_holes(50, 3, 0.3), "em")
    assert notes[-1].kind is Note.EM_NOT_CONVERGED and notes[-1]["iterations"] == 2


def test_em_recovers_what_depends_on_observed_cells():
    """Cells of y are missing where x is large: complete rows are biased, maximum likelihood is not."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=20_000)
    y = x + rng.normal(size=20_000)
    rows = np.column_stack([x, np.where(x > 0.5, np.nan, y)])
    assert abs(moments_of(rows, "em")[0].mean[1]) < 0.03
    assert moments_of(rows, "pairwise")[0].mean[1] < -0.4


@pytest.mark.parametrize("missing", ["pairwise", "em"])
def test_rows_without_any_value_do_not_count(missing):
    rows = with_holes(80, 3, 0.1)
    empty = np.vstack([rows[:40], np.full((9, 3), np.nan), rows[40:]])
    one, two = moments_of(rows, missing)[0], moments_of(empty, missing)[0]
    assert one.n == two.n
    np.testing.assert_allclose(one.covariance, two.covariance, atol=1e-9)


def test_memory_of_em_is_one_triangle_per_pattern():
    accumulator = Accumulator(["a", "b", "c"], "em")
    rows = with_holes(5000, 3, 0.3)
    accumulator.add(rows[~np.isnan(rows).all(axis=1)])
    accumulator.finish()
    patterns = accumulator._incomplete._patterns
    assert len(patterns) == 7 and max(len(factor) for factor in patterns.values()) <= 4


@pytest.mark.parametrize(
    ("rows", "missing", "message"),
    [
        ([[1, np.nan], [np.nan, 2], [3, np.nan], [np.nan, 4]], "em", "fewer than 2 rows have both 'x0' and 'x1'"),
        ([[1, np.nan], [2, 2], [3, 1], [np.nan, 4]], "none", "missing is 'none'"),
        ([[1, np.nan], [2, np.nan], [3, np.nan]], "pairwise", r"'x1' has 0 value\(s\)"),
        ([[1, np.nan], [2, 5], [3, np.nan]], "em", r"'x1' has 1 value\(s\)"),
        ([[1, np.nan], [np.nan, 5], [3, 4]], "drop-rows", r"3 sample\(s\) \(rows\), 1 of them complete"),
        ([[np.inf, 1], [1, 2]], "em", r"infinite .*'x0' \(first in row 0\)"),
        ([[1, 2], [np.nan, 2]], "error", r"missing \(NaN or null\): 'x0' \(first in row 1\); say missing='impute'"),
    ],
)
def test_too_little_is_an_error(rows, missing, message):
    with pytest.raises(InputError, match=message):
        moments_of(np.array(rows, dtype=float), missing)


CELLS = st.one_of(st.just(np.nan), st.floats(-100, 100, allow_subnormal=False), st.sampled_from([0.0, 1.0, 1e6]))


@given(
    hnp.arrays(np.float64, st.tuples(st.integers(0, 12), st.integers(1, 4)), elements=CELLS), st.sampled_from(POLICIES)
)
@settings(deadline=None)
def test_any_rows_give_possible_moments_or_an_error(rows, missing):
    try:
        moments, _ = moments_of(rows, missing, pieces=2)
    except InputError:
        return
    assert np.isfinite(moments.mean).all()
    assert np.linalg.eigvalsh(moments.standardized().covariance)[0] > -1e-7


@pytest.mark.parametrize(("colours", "advised"), [(2, {"em", "impute", "drop-rows"}), (3, {"impute", "drop-rows"})])
def test_advice_on_missing_cells_is_what_the_columns_can_take(colours, advised):
    frame = pd.DataFrame({"x": [1.0, np.nan, *range(40)], "colour": list("abc"[:colours] * 21)[:42]})
    with pytest.raises(InputError) as refused:
        acyclic.read_table(frame)
    assert {part.value for part in refused.value.parts if getattr(part, "name", "") == "missing"} == advised
    for missing in advised:
        acyclic.learn(acyclic.read_table(frame, missing=missing))

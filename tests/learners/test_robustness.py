"""Odd tables: whatever comes in, out comes a DAG with a verdict, or an error that says what to do.

``ACYCLIC_EXAMPLES`` sets how many tables are tried.
"""

import os
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from acyclic.data.moments import Moments
from acyclic.errors import InputError
from acyclic.facts import Note
from acyclic.graphs.cycles import is_acyclic
from acyclic.learners.golem import Golem
from acyclic.learners.notears import Notears

EXAMPLES = int(os.environ.get("ACYCLIC_EXAMPLES", "120"))
TIME_LIMIT = 2.0

SOLVERS = st.sampled_from(["augmented-lagrangian", "quadratic-penalty", "central-path"])
PENALTIES = st.sampled_from([0.0, 1e-3, 0.1])
CONSTRAINTS = st.sampled_from(["fast-tmpi", "exponential", "log-det", "inverse-trace", "binomial"])

learners = st.one_of(
    st.builds(
        Notears,
        constraint=CONSTRAINTS,
        solver=SOLVERS,
        l1=PENALTIES,
        inner=st.sampled_from(["proximal-newton", "lbfgs"]),
        pruning=st.sampled_from(["edges", "components"]),
        threshold=st.sampled_from([0.0, 0.3]),
        time_limit=st.just(TIME_LIMIT),
    ),
    st.builds(
        Golem,
        noise=st.sampled_from(["equal", "unequal"]),
        constraint=CONSTRAINTS,
        l1=st.none() | PENALTIES,
        inner=st.sampled_from(["proximal-newton", "lbfgs", "adam"]),
        steps=st.just(50),
        time_limit=st.just(TIME_LIMIT),
    ),
)

SCALES = {"huge": 1e100, "tiny": 1e-100, "large": 1e6, "small": 1e-6}
ODD = ("constant", "zero", "duplicate", "mirror", "collinear", "outlier", "far mean", *SCALES)


@st.composite
def tables(draw):
    """Rows with a few odd columns, and what was done to them: {column: kind}."""
    n, d = draw(st.integers(2, 25)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, d)) @ (np.eye(d) + np.triu(rng.uniform(-2, 2, (d, d)), 1))
    if draw(st.booleans()):
        X = np.round(X)
    X *= draw(st.sampled_from([1.0, 1.0, 1.0, *SCALES.values()]))
    odd = draw(st.dictionaries(st.integers(0, d - 1), st.sampled_from(ODD), max_size=3))
    for column, kind in sorted(odd.items()):
        make_odd(X, column, kind)
    return X, odd


def make_odd(X, column, kind):
    other = (column + 1) % X.shape[1]
    if kind in SCALES:
        X[:, column] *= SCALES[kind]
    elif kind == "constant":
        X[:, column] = 0.1 * np.abs(X).max()
    elif kind == "zero":
        X[:, column] = 0.0
    elif kind == "duplicate":
        X[:, column] = X[:, other]
    elif kind == "mirror":
        X[:, column] = -3.0 * X[:, other]
    elif kind == "collinear":
        X[:, column] = np.delete(X, column, axis=1).sum(axis=1)
    elif kind == "outlier":
        X[0, column] += 1e8 * np.abs(X[:, column]).max()
    else:
        X[:, column] += 1e12 * np.abs(X[:, column]).max()


def names(d):
    return [f"x{column}" for column in range(d)]


FORMS = {
    "array": lambda X: X.copy(),
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1].copy()[::-1],
    "float32": lambda X: np.clip(X, -1e30, 1e30).astype(np.float32),
    "integers": lambda X: np.clip(X, -1e15, 1e15).astype(np.int64),
    "small integers": lambda X: np.clip(X, -100, 100).astype(np.int8),
    "booleans": lambda X: X > 0,
    "list": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "pandas": lambda X: pd.DataFrame(X, columns=names(X.shape[1])),
    "pandas booleans": lambda X: pd.DataFrame(X > 0, columns=names(X.shape[1])),
    "pandas integers": lambda X: pd.DataFrame(np.clip(X, -99, 99).round(), columns=names(X.shape[1])).astype("Int64"),
    "polars": lambda X: pl.DataFrame(X, schema=names(X.shape[1])),
    "moments": lambda X: Moments.from_array(np.clip(X, -1e120, 1e120)),
}

EXACT = ("array", "Fortran order", "strided", "reversed", "list", "objects", "pandas", "polars")


def snapshot(table):
    return table.digest() if isinstance(table, Moments) else np.asarray(table, dtype=float).tobytes()


REFUSALS = ("every column is constant", "too far apart; rescale", "not finite; rescale huge values")


def refused(learner, table):
    """Fit; the words of the error if there is one."""
    try:
        learner.fit(table)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@given(learner=learners, drawn=tables(), form=st.sampled_from(list(FORMS)))
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
def test_any_table_gives_a_dag_and_a_verdict_or_an_error_in_words(learner, drawn, form):
    X, odd = drawn
    table = FORMS[form](X)
    if isinstance(table, np.ndarray):
        table.flags.writeable = False
    before, started = snapshot(table), time.monotonic()
    refusal = refused(learner, table)
    assert snapshot(table) == before
    assert time.monotonic() - started < TIME_LIMIT + 5
    if refusal:
        event("refused")
        assert any(word in refusal for word in REFUSALS)
        return
    fit = learner
    event(f"converged {fit.verdict_.converged}")
    W = fit.adjacency_matrix_
    assert is_acyclic(W) and np.isfinite(W).all() and np.isfinite(fit.solution_.weights).all()
    assert (fit.noise_variances_ >= 0).all() and np.isfinite(fit.noise_variances_).all()
    assert fit.verdict_.n_edges == np.count_nonzero(W)
    assert (fit.verdict_.empty is not None) == (fit.verdict_.n_edges == 0)
    assert "nan" not in str(fit.verdict_)
    told = {(note.kind, name) for note in fit.verdict_.notes for name in note.about}
    for column, kind in odd.items():
        if kind == "zero":
            assert (Note.CONSTANT, f"x{column}") in told
        if X.shape[1] > 1 and len(odd) == 1 and (kind == "duplicate" or (kind == "mirror" and form in EXACT)):
            assert f"x{column}" in {name for _, name in told}
    if not isinstance(table, Moments | list):
        assert np.isfinite(fit.transform(table)).all()


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.zeros((1, 3)), "1 sample"),
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((5, 0)), "0 feature"),
        (np.zeros(5), "1D array|Reshape"),
        (np.zeros((2, 2, 2)), "dim 3|shape"),
        ([[1.0, np.nan], [2.0, 3.0]], "'x1' .first in row 0."),
        ([[1.0, 2.0], [np.inf, 3.0]], "'x0' .first in row 1."),
        ([["a", "b"], ["c", "d"]], "numbers|convert|numeric"),
        (pd.DataFrame({"age": [1, None, 3], "sex": [0, 1, 1]}), "'age'"),
        (pl.DataFrame({"age": [1.0, None, 3.0]}), "'age'"),
    ],
)
@pytest.mark.parametrize("learner", [Notears(), Golem()], ids=["notears", "golem"])
def test_tables_that_cannot_be_used_are_refused_in_words(learner, X, words):
    with pytest.raises(InputError, match=words):
        learner.fit(X)


@pytest.mark.parametrize("learner", [Notears(), Golem()], ids=["notears", "golem"])
def test_two_columns_with_one_name_are_refused(learner):
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]], columns=["age", "age"])
    with pytest.raises(InputError, match="age"):
        learner.fit(frame)


def test_a_wide_table_stays_in_its_time_limit():
    X = np.random.default_rng(0).standard_normal((10, 120))
    started = time.monotonic()
    fit = Notears(time_limit=0.5, l1=0.0).fit(X)
    assert is_acyclic(fit.adjacency_matrix_) and time.monotonic() - started < 10

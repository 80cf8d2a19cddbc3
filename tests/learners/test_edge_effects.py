"""What edges do: slopes, shares, curves and effects of levels against regressions that are written out here."""

import json

import numpy as np
import pandas as pd
import pytest

import acyclic
from acyclic.errors import InputError
from acyclic.learners.edge_effects import POINTS, Form
from acyclic.report.folder import edge_list


def learn(columns, *edges, **options):
    """The effects of edges that are required, no others being allowed."""
    frame = pd.DataFrame(columns)
    others = [(a, b) for a in frame for b in frame if a != b and (a, b) not in edges]
    known = acyclic.Knowledge(required=list(edges), forbidden=others)
    return acyclic.learn(frame, knowledge=known, **options)


def test_lines_have_the_errors_and_shares_of_least_squares():
    rng = np.random.default_rng(0)
    n = 200
    a, b = rng.normal(size=(2, n)) * [[1.0], [3.0]]
    b += a
    c = 2 * a - b + rng.normal(size=n)
    result = learn({"a": a, "b": b, "c": c}, ("a", "b"), ("a", "c"), ("b", "c"))
    X = np.column_stack([np.ones(n), a, b])
    beta = np.linalg.lstsq(X, c)[0]
    left = ((c - X @ beta) ** 2).sum()
    errors = np.sqrt(np.diag(np.linalg.inv(X.T @ X)) * left / (n - 3))
    for k, name in ((1, "a"), (2, "b")):
        effect = result.effects[name, "c"]
        scale = X[:, k].std() / c.std()
        less = np.delete(X, k, axis=1)
        without = ((c - less @ np.linalg.lstsq(less, c)[0]) ** 2).sum()
        assert effect.form is Form.LINE and not effect.at
        # Six digits are kept.
        assert effect.slope == pytest.approx(beta[k] * scale, rel=1e-5)
        assert effect.error == pytest.approx(errors[k] * scale, rel=1e-5)
        assert effect.share == pytest.approx((without - left) / (c.var() * n), rel=1e-5)


def test_a_curve_has_a_band_that_holds_the_truth():
    rng = np.random.default_rng(1)
    x, w = rng.uniform(-2, 2, 3000), rng.normal(size=3000)
    y = np.sin(2 * x) + w + 0.5 * rng.normal(size=3000)
    effect = learn({"x": x, "w": w, "y": y}, ("x", "y"), ("w", "y")).effects["x", "y"]
    assert effect.form is Form.CURVE and len(effect.at) == POINTS and effect.of == ()
    at, values, errors = (np.array(one) for one in (effect.at, effect.values[0], effect.errors[0]))
    truth = np.sin(2 * at) - np.sin(2 * x).mean()
    # Bayesian bands hold the truth on average over x, with the usual share: 95 % within two errors. Of 41 places that
    # are correlated, about ten of them freely, two in ten may be beyond; none of them far.
    assert (np.abs(values - truth) < 2 * errors).mean() > 0.75
    assert (np.abs(values - truth) < 5 * errors + 0.02).all()
    # Ten coefficients share 3000 rows of noise 0.5: √(10/3000) · 0.5 on average over x.
    assert errors.mean() == pytest.approx(0.5 * np.sqrt(10 / 3000), rel=0.3)
    assert effect.share == pytest.approx(np.sin(2 * x).var() / y.var(), abs=0.03)
    assert effect.slope == pytest.approx(np.corrcoef(x, np.sin(2 * x))[0, 1] * np.sin(2 * x).std() / y.std(), abs=0.03)


def test_levels_of_one_category_are_groups():
    rng = np.random.default_rng(2)
    group = rng.integers(3, size=600)
    y = np.array([0.0, 1.0, 3.0])[group] + rng.normal(size=600)
    effect = learn({"g": np.array(list("uvw"))[group], "y": y}, ("g", "y")).effects["g", "y"]
    assert effect.form is Form.LEVELS and effect.at == ("u", "v", "w") and effect.slope is None
    means, rows = np.array([y[group == k].mean() for k in range(3)]), np.bincount(group)
    left = (y - means[group]).var() * 600 / 597
    np.testing.assert_allclose(effect.values[0], means - y.mean(), rtol=1e-4)
    # A group against all rows, of which it is a part.
    np.testing.assert_allclose(effect.errors[0], np.sqrt(left * (1 / rows - 1 / 600)), rtol=1e-3)
    assert effect.share == pytest.approx(1 - (y - means[group]).var() / y.var(), rel=1e-5)


def test_categories_of_categories_are_shares():
    rng = np.random.default_rng(3)
    a = rng.integers(2, size=2000)
    b = (rng.random(2000)[:, None] > np.cumsum([[0.6, 0.3], [0.2, 0.3]], axis=1)[a]).sum(axis=1)
    result = learn({"a": np.array(list("uv"))[a], "b": np.array(list("xyz"))[b]}, ("a", "b"))
    effect = result.effects["a", "b"]
    assert effect.at == ("u", "v") and effect.of == ("x", "y", "z") and effect.form is Form.LEVELS
    counts = np.array([[((a == i) & (b == k)).sum() for i in range(2)] for k in range(3)], dtype=float)
    shares = counts / counts.sum(axis=0)
    # One row is added to each group.
    np.testing.assert_allclose(effect.values, shares, atol=1 / counts.sum(axis=0).min())
    np.testing.assert_allclose(effect.errors, np.sqrt(shares * (1 - shares) / counts.sum(axis=0)), rtol=0.01)
    whole = counts.sum(axis=1)
    nothing, something = (whole * np.log(whole / 2000)).sum(), (counts * np.log(shares)).sum()
    assert effect.share == pytest.approx(1 - something / nothing, abs=1e-3)
    assert result.standardised["a", "b"] == result.graph.edges()[0][2]


def test_log_odds_of_two_levels():
    rng = np.random.default_rng(4)
    x = rng.normal(size=1500)
    y = rng.random(1500) < 1 / (1 + np.exp(-1.5 * x))
    columns = {"x": x, "y": np.where(y, "yes", "no"), "z": np.array(list("abc"))[rng.integers(3, size=1500)]}
    effect = learn(columns, ("x", "y")).effects["x", "y"]
    X, theta = np.column_stack([np.ones(1500), x]), np.zeros(2)
    for _ in range(20):
        p = 1 / (1 + np.exp(-X @ theta))
        H = (X * (p * (1 - p))[:, None]).T @ X
        theta += np.linalg.solve(H, X.T @ (y - p))
    at = np.column_stack([np.ones(POINTS), effect.at])
    p = 1 / (1 + np.exp(-at @ theta))
    assert effect.of == ("yes",) and effect.form is Form.CURVE
    np.testing.assert_allclose(effect.values[0], p, atol=2e-3)
    error = p * (1 - p) * np.sqrt(np.einsum("ma,ab,mb->m", at, np.linalg.inv(H), at))
    np.testing.assert_allclose(effect.errors[0], error, rtol=0.02, atol=1e-4)
    assert 0.3 < effect.slope < 1 and 0 < effect.share < 1


def test_other_parents_are_held_where_they_are():
    rng = np.random.default_rng(5)
    w = rng.normal(size=2000)
    x = w + rng.normal(size=2000)
    y = rng.random(2000) < 1 / (1 + np.exp(-2 * w))
    table = {"w": w, "x": x, "y": np.where(y, "yes", "no"), "z": np.array(list("abc"))[rng.integers(3, size=2000)]}
    result = learn(table, ("w", "x"), ("w", "y"), ("x", "y"))
    moot, real = result.effects["x", "y"], result.effects["w", "y"]
    assert moot.share < 0.01 < real.share
    # It does nothing given w: within three errors from end to end.
    change = moot.values[0][-1] - moot.values[0][0]
    assert abs(change) < 3 * (moot.errors[0][-1] + moot.errors[0][0])


def test_the_table_of_edges_tells_the_form_where_there_is_more_than_lines():
    rng = np.random.default_rng(6)
    x = rng.normal(size=300)
    straight = learn({"x": x, "y": x + rng.normal(size=300)}, ("x", "y"))
    assert "share" in straight.edge_columns() and "effect" not in straight.edge_columns()
    bent = learn({"x": x, "y": x**2 + rng.normal(size=300)}, ("x", "y"))
    head, row = edge_list(bent).splitlines()
    assert {"effect", "slope", "share"} <= set(head.split(","))
    assert dict(zip(head.split(","), row.split(",")))["effect"] == "curve"


def test_effects_survive_the_file_and_spoiled_ones_are_refused():
    rng = np.random.default_rng(7)
    x = rng.normal(size=300)
    result = learn({"x": x, "y": x**2 + rng.normal(size=300)}, ("x", "y"))
    assert acyclic.Result.from_json(result.to_json()).effects == result.effects
    spoils = [
        lambda plain: plain.append(plain[0]),
        lambda plain: plain[0].update(share=1.5),
        lambda plain: plain[0].update(form="bent"),
        lambda plain: plain[0]["values"][0].pop(),
        lambda plain: plain[0].update(more=1),
    ]
    for spoil in spoils:
        plain = json.loads(result.to_json())
        spoil(plain["effects"])
        with pytest.raises(InputError, match="not a result file"):
            acyclic.Result.from_json(json.dumps(plain))


@pytest.mark.parametrize(
    "table",
    [
        {"x": np.arange(30.0), "y": np.arange(30.0) * 2},
        {"x": np.ones(30), "y": np.arange(30.0)},
        {"x": [0.0, 1.0] * 15, "y": [1.0, 0.0] * 15},
        {"x": list("ab" * 15), "y": np.arange(30.0)},
        {"x": list("abc" * 10), "y": list("cab" * 10)},
        {"x": list("abc" * 10), "y": list("uv" * 15)},
    ],
)
def test_exact_and_constant_columns(table):
    result = learn(table, ("x", "y"))
    for effect in result.effects.values():
        assert 0 <= effect.share <= 1 and all(np.isfinite(one).all() for one in (effect.values, effect.errors))
    assert np.isfinite(result.model.score(pd.DataFrame(table)))

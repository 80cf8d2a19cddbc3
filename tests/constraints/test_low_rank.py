"""Low rank and sparse evaluations: equal to the dense constraints, with gradients, and a bound that holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from acyclic.constraints.catalogue import constraint
from acyclic.constraints.low_rank import khatri_rao, low_rank, low_rank_weights
from acyclic.constraints.sparse import sparse_geometric
from acyclic.errors import InputError

DENSE = {"geometric": "fast-geometric", "inverse-trace": "inverse-trace", "log-det": "log-det"}
forms = pytest.mark.parametrize("form", DENSE)


def factors(d, r, radius, seed=0):
    U, V = np.random.default_rng([seed, d, r]).random((2, d, r))
    return U * (radius / np.abs(np.linalg.eigvals(V.T @ U)).max()), V


def signed(d, q, radius, seed=0):
    """Factors of weights of both signs whose squares have a given spectral radius."""
    P, Q = np.random.default_rng([seed, d, q]).standard_normal((2, d, q))
    return P * np.sqrt(radius / np.abs(np.linalg.eigvals(khatri_rao(Q).T @ khatri_rao(P))).max()), Q


@forms
@pytest.mark.parametrize(("d", "r"), [(2, 1), (7, 3), (40, 5), (500, 8)])
def test_equal_to_dense(form, d, r):
    U, V = factors(d, r, 0.8)
    found = low_rank(U, V, form)
    h, G = constraint(DENSE[form]).value_and_gradient(U @ V.T)
    assert_allclose(found.value, h, rtol=1e-12)
    assert_allclose(found.left, G @ V, rtol=1e-12)
    assert_allclose(found.right, G.T @ U, rtol=1e-12)
    assert found.in_domain


@forms
@pytest.mark.parametrize(("d", "q"), [(3, 1), (9, 2), (60, 4), (500, 3)])
def test_weights_of_low_rank_equal_to_dense(form, d, q):
    P, Q = signed(d, q, 0.7)
    W = P @ Q.T
    found = low_rank_weights(P, Q, form)
    h, G = constraint(DENSE[form]).value_and_gradient(W * W)
    slope = 2 * W * G
    assert_allclose(found.value, h, rtol=1e-12)
    # Sums of d terms of both signs: their rounding is that of the largest of them.
    assert_allclose(found.left, slope @ Q, rtol=1e-12, atol=1e-12 * np.abs(slope @ Q).max())
    assert_allclose(found.right, slope.T @ P, rtol=1e-12, atol=1e-12 * np.abs(slope.T @ P).max())


@forms
@pytest.mark.parametrize("s", [0.5, 1.0, 2.0])
def test_gradients_by_differences(form, s):
    P, Q = signed(6, 2, 0.5 * s)
    found = low_rank_weights(P, Q, form, s=s)
    for at in np.ndindex(P.shape):
        for which, gradient in enumerate((found.left, found.right)):
            values = []
            for sign in (1, -1):
                moved = [P.copy(), Q.copy()]
                moved[which][at] += sign * 1e-6
                values.append(low_rank_weights(*moved, form, s=s).value)
            assert (values[0] - values[1]) / 2e-6 == pytest.approx(gradient[at], rel=1e-6, abs=1e-7)


@forms
@pytest.mark.parametrize("radius", [1.5, 1e3, 1e30])
def test_far_from_a_dag_it_is_finite_and_says_so(form, radius):
    found = low_rank(*factors(200, 4, radius), form)
    assert np.isfinite(found.value) and np.isfinite(found.left).all() and np.isfinite(found.right).all()
    assert not found.in_domain or (form == "geometric" and radius == 1.5)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 8), st.integers(1, 10), st.integers(0, 10**6), st.floats(0, 0.95))
def test_any_rank_even_above_the_size(d, r, seed, radius):
    U, V = factors(d, r, radius, seed)
    h, G = constraint("fast-geometric").value_and_gradient(U @ V.T)
    found = low_rank(U, V)
    assert_allclose(found.value, h, rtol=1e-10, atol=1e-12)
    assert_allclose(found.left, G @ V, rtol=1e-10, atol=1e-12)


def test_a_dag_of_low_rank_has_no_value():
    """Edges from the first half of the nodes to the second: B has rank one, and M is zero."""
    U, V = np.r_[np.ones(5), np.zeros(5)][:, None], np.r_[np.zeros(5), np.ones(5)][:, None]
    for form in DENSE:
        assert low_rank(U, V, form).value == 0


def test_a_hundred_thousand_nodes():
    U, V = factors(100_000, 5, 0.9)
    found = low_rank(U, V, "inverse-trace")
    roots = np.linalg.eigvals(V.T @ U)
    assert_allclose(found.value, (roots / (1 - roots)).sum().real, rtol=1e-10)
    assert found.left.shape == (100_000, 5)


@pytest.mark.parametrize(
    ("wrong", "options", "message"),
    [
        ((np.ones((3, 2)), np.ones((2, 3))), {}, "of one shape"),
        ((np.ones(3), np.ones(3)), {}, "matrices"),
        ((np.full((3, 1), np.nan), np.ones((3, 1))), {}, "finite"),
        ((np.ones((3, 1)), np.ones((3, 1))), {"s": 0}, "s has to be positive"),
        ((np.ones((3, 1)), np.ones((3, 1))), {"form": "tmpi"}, "form has to be one of"),
    ],
)
def test_unusable_factors(wrong, options, message):
    for function in (low_rank, low_rank_weights):
        with pytest.raises(InputError, match=message):
            function(*wrong, **options)


class TestSparse:
    @settings(deadline=None, max_examples=60)
    @given(st.integers(1, 25), st.integers(0, 10**6), st.floats(0.02, 0.5), st.sampled_from([0.0, 1e-12, 1e-4, 1e-2]))
    def test_the_exact_value_lies_within_the_bound(self, d, seed, density, drop):
        rng = np.random.default_rng(seed)
        B = rng.random((d, d)) * (rng.random((d, d)) < density)
        B *= 0.8 / max(np.abs(np.linalg.eigvals(B)).max(), 0.8)
        found = sparse_geometric(sparse.csr_array(B), drop=drop)
        h, G = constraint("inverse-trace").value_and_gradient(B)
        slack = 1e-11 * max(np.abs(G).max(), 1)
        assert found.value <= h + slack
        assert h <= found.value + found.bound + slack
        gradient = found.gradient.toarray()
        assert not gradient[B == 0].any()
        assert (gradient <= G + slack).all()

    def test_equal_to_dense_where_nothing_is_dropped(self):
        rng = np.random.default_rng(1)
        B = rng.random((300, 300)) * (rng.random((300, 300)) < 2 / 300)
        B *= 0.6 / np.abs(np.linalg.eigvals(B)).max()
        found = sparse_geometric(B, drop=1e-25)
        h, G = constraint("inverse-trace").value_and_gradient(B)
        assert_allclose(found.value, h, rtol=1e-12)
        # Between components B has entries that lie on no cycle: the gradient there is zero in both.
        assert_allclose(found.gradient.toarray()[B > 0], G[B > 0], rtol=1e-9, atol=1e-12)
        assert 0 < found.bound < 1e-8

    def test_a_scale_and_a_large_graph(self):
        d = 20_000
        rows, columns = np.random.default_rng(2).integers(0, d, (2, d // 2))
        B = sparse.csr_array((np.full(d // 2, 0.3), (rows, columns)), shape=(d, d))
        B.setdiag(0)
        cycle = sparse.csr_array(([0.5, 0.5, 0.5], ([0, 1, 2], [1, 2, 0])), shape=(d, d))
        B = B.maximum(cycle)
        found = sparse_geometric(B, s=2.0)
        assert found.value >= 3 * 0.25**3 and found.bound < 1e-6
        assert found.gradient[0, 1] >= 3 / 2 * 0.25**2 * (1 - 1e-12)

    def test_a_dag_has_no_value_and_no_bound(self):
        found = sparse_geometric(sparse.csr_array(np.triu(np.ones((30, 30)), 1)))
        assert found.value == found.bound == 0 and found.gradient.nnz == 0

    def test_where_no_norm_is_below_one_the_bound_is_infinite(self):
        found = sparse_geometric(sparse.csr_array(np.full((3, 3), 2.0)), most=20)
        assert found.bound == np.inf and np.isfinite(found.value)

    @pytest.mark.parametrize("B", [np.eye(1), np.array([[0.0, 1.0], [1.0, 0.0]])], ids=["loop", "cycle"])
    def test_where_the_norm_is_exactly_one_the_bound_is_infinite_too(self, B):
        found = sparse_geometric(sparse.csr_array(B), most=10)
        assert (found.value, found.bound, found.order) == (10.0, np.inf, 10)

    @pytest.mark.parametrize(
        ("wrong", "options"),
        [
            (np.ones((2, 3)), {}),
            (-np.eye(2), {}),
            (np.diag([1.0, np.inf]), {}),
            (np.eye(2), {"s": 0}),
            (np.eye(2), {"drop": -1}),
        ],
    )
    def test_unusable(self, wrong, options):
        with pytest.raises(InputError):
            sparse_geometric(sparse.csr_array(wrong), **options)

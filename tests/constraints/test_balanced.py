"""The balanced constraint: its defining equation, cycles of every length and weight, and what its value proves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from acyclic.constraints.catalogue import constraint
from acyclic.constraints.perron import irreducible_root
from constraints.test_catalogue import acyclic, max_radius, nonnegative, positive

made = constraint("balanced")


def cycle(k, weight, dtype=float):
    return (weight**2 * np.roll(np.eye(k), 1, axis=1)).astype(dtype)


@settings(deadline=None, max_examples=100)
@given(nonnegative, st.sampled_from([1e-14, 1.0, 1e9]))
def test_closed_walks_at_its_scale_add_up_to_one(B, units):
    B = B * units
    h, G = made.value_and_gradient(B)
    assert (h == 0) == acyclic(B)
    if h == 0:
        assert not G.any()
        return
    assert max_radius(B) * (1 - 1e-12) <= h <= (len(B) + 1) * max_radius(B) * (1 + 1e-12)
    # Naive: the trace of the inverse, to the rounding of a sum of d numbers around 1.
    walks = np.trace(np.linalg.inv(np.eye(len(B)) - B / h)) - len(B)
    slope = np.vdot(G, B) / h
    assert_allclose(walks, 1, rtol=0, atol=1e-9)
    assert_allclose(slope, 1, rtol=1e-9)  # Euler's theorem for functions of degree 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [1e-8, 1e-3, 0.3, 0.5, 0.8, 1.0, 20.0])
def test_every_cycle_is_seen(weight, dtype):
    for k in (*range(1, 65), 150):
        B = cycle(k, weight, dtype)
        h, G = made.value_and_gradient(B)
        edge = float(B.max())
        assert_allclose(h, edge * (k + 1) ** (1 / k), rtol=1e-12)
        assert_allclose(G[B > 0], (k + 1) ** (1 / k) / k, rtol=1e-6 if dtype == np.float32 else 1e-11)
        assert G.dtype == dtype


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 40), st.integers(0, 10**6), st.floats(1, 60))
def test_uneven_cycles_are_seen(k, seed, spread):
    """Edges between 10⁻ˢᵖʳᵉᵃᵈ and 1 in any order: a single cycle counts by the geometric mean of its edges."""
    B, exponents = np.zeros((k, k)), -spread * np.random.default_rng(seed).random(k)
    order = np.random.default_rng(seed + 1).permutation(k)
    B[order, np.roll(order, -1)] = 10.0**exponents
    h, G = made.value_and_gradient(B)
    assert_allclose(h, 10 ** exponents.mean() * (k + 1) ** (1 / k), rtol=1e-9)
    seen = G[B > 0]
    assert (seen > 0).all()
    # Each edge counts for the same share, up to where the gradient is cut.
    assert_allclose((G * B)[B > 0], np.minimum(h / k, 1e60 * B[B > 0]), rtol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_a_value_below_t_leaves_a_dag_at_the_threshold_root_t(seed):
    rng = np.random.default_rng(seed)
    W = np.exp(-6 * rng.random((20, 20))) * (rng.random((20, 20)) < 0.15)
    h = made.value_and_gradient(W * W)[0]
    assert h > 0 and acyclic(np.where(np.abs(W) > np.sqrt(h), W, 0.0) ** 2)


def test_gradient_towards_edges_that_are_not_there():
    """Two cycles with a path between them: the edge back, and only that, closes further walks at once."""
    B = np.zeros((5, 5))
    B[0, 1], B[1, 0], B[1, 2], B[2, 3], B[3, 4], B[4, 3] = 0.5, 0.4, 0.7, 0.3, 0.2, 0.6
    h, G = made.value_and_gradient(B)
    for at in np.ndindex(B.shape):
        moved = B.copy()
        moved[at] += 1e-7
        assert (made.value_and_gradient(moved)[0] - h) / 1e-7 == pytest.approx(G[at], abs=2e-6)
    assert G[4, 0] > 0 == G[0, 4]


def test_components_far_apart_in_size_and_units():
    strong, weak = positive(4, 1.0), cycle(30, 1e-8)
    B = np.block([[strong, np.zeros((4, 30))], [np.zeros((30, 4)), weak]])
    assert_allclose(made.value_and_gradient(B)[0], made.value_and_gradient(strong)[0], rtol=1e-14)
    long = np.triu(np.full((40, 40), 3.0), 1)
    long[39, 38] = 1e-30
    h, G = made.value_and_gradient(long)
    assert h > 0 and np.isfinite(G).all() and G[38, 39] > 0


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.integers(0, 10**6), st.floats(0.1, 1), st.floats(0.1, 60))
def test_any_matrix_gives_finite_numbers(d, seed, density, spread):
    rng = np.random.default_rng(seed)
    B = np.exp(spread * rng.standard_normal((d, d))) * (rng.random((d, d)) < density)
    B = np.minimum(B, 1e150)
    h, G = made.value_and_gradient(B)
    assert np.isfinite(h) and np.isfinite(G).all() and (G >= 0).all()


def enclose(B):
    """Between which numbers the root lies, by the vector that was found: sums of positive numbers lose no digits."""
    root = irreducible_root(B)
    vector = root.vector * root.scale
    ratio = (B @ vector) / vector
    return root.value, ratio.min(), ratio.max()


# Exponents of a matrix on which Noda's iteration alone lost all digits: weak edges close cycles of strong ones.
STIFF = [(0, 3, -13), (1, 0, -64), (1, 2, -10), (2, 1, -15), (3, 1, -14), (3, 4, -15), (4, 0, -8)]


def test_weak_edges_that_close_cycles_of_strong_ones():
    B = np.zeros((5, 5))
    for i, j, exponent in STIFF:
        B[i, j] = 2.0**exponent
    value, low, high = enclose(B)
    assert_allclose([value, low], high, rtol=1e-13)
    # The weakest edge does not matter here; what is left are two cycles, 1 → 2 → 1 and 0 → 3 → 4 → 0.
    assert_allclose(value, 2.0**-12, rtol=1e-13)
    h, G = made.value_and_gradient(B)
    assert_allclose(np.vdot(G, B), h, rtol=1e-12)


@settings(deadline=None, max_examples=300)
@given(st.integers(2, 8), st.integers(0, 2**32 - 1), st.integers(-60, -2))
def test_the_root_is_enclosed(d, seed, weakest):
    rng = np.random.default_rng(seed)
    B = np.where(rng.random((d, d)) < 0.35, np.exp2(rng.integers(weakest, 3, (d, d)).astype(float)), 0.0)
    along = rng.permutation(d)
    B[along, np.roll(along, 1)] = np.exp2(rng.integers(weakest, 3, d).astype(float))
    value, low, high = enclose(B)
    assert_allclose([value, low], high, rtol=1e-12)

"""Every constraint: published vectors, naive forms, finite differences, the paper's propositions, odd input."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from math import factorial

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from acyclic.constraints import geometric
from acyclic.constraints.base import Constraint
from acyclic.constraints.catalogue import CONSTRAINTS, OnComponents, constraint
from acyclic.constraints.resolvents import WELL_CONDITIONED
from acyclic.data.simulate import simulate
from acyclic.errors import InputError

B3 = np.array([[0, 0.5, 0], [0, 0, 0.4], [0.3, 0, 0]])
C4 = np.array([[0, 0.2, 0.1, 0], [0, 0, 0.3, 0.25], [0.05, 0, 0, 0.6], [0, 0.15, 0, 0]])
# (name, options): (h, ΣG, G[0, 1], G[1, 0]) on B3 and on C4; the two off-diagonal entries tell G from its transpose.
PUBLISHED = [
    ("exponential", {}, (0.030015001786, 4.4682509010, 0.0600600107, 0.5012503572),
     (0.057676368075, 5.9845243571, 0.0075303542, 0.2031736778)),
    ("binomial", {}, (0.006666666667, 3.8522222222, 0.0133333333, 0.3333333333),
     (0.037511181641, 5.3522226562, 0.0028125, 0.1502734375)),
    ("geometric", {}, (0.18, 6.81, 0.36, 1.0), (0.1778625, 9.894, 0.045, 0.47)),
    ("fast-geometric", {}, (0.18, 6.81, 0.36, 1.0), (0.1778625, 9.894, 0.045, 0.47)),
    ("tmpi", {}, (0.18, 6.81, 0.36, 1.0), (0.1778625, 9.894, 0.045, 0.47)),
    ("fast-tmpi", {}, (0.18, 7.53, 0.36, 1.0), (0.187693112578, 10.5110746687, 0.0513634687, 0.5113513750)),
    ("fast-tmpi", {"loop": "repository"}, (0.18, 7.53, 0.36, 1.0), (0.1778625, 9.894, 0.045, 0.47)),
    ("single-term", {"p": 1}, (0.18, 4.26, 0.36, 0.6), (0.0740375, 3.5815, 0.08025, 0.212625)),
    ("single-term", {"p": 2}, (0.103923048454, 0.8140638796, 0.2078460969, 0.0),
     (0.027780632023, 0.9229903851, 0.0218264698, 0.0336717276)),
    ("spectral-radius", {}, (0.391486764117, 3.0439613495, 0.2609911761, 0.4257274624),
     (0.354461656339, 4.6454475801, 0.0450535856, 0.2891928024)),
    ("log-det", {}, (0.061875403718, 4.9680851064, 0.1276595745, 0.5319148936),
     (0.075060348597, 6.5616115341, 0.0161692380, 0.2252913831)),
    ("inverse-trace", {}, (0.191489361702, 8.1960162970, 0.4074241738, 1.1656858307),
     (0.187832648386, 10.5281798125, 0.0515448249, 0.5123029291)),
]  # fmt: skip
VARIANTS = [
    *[(name, {}) for name in CONSTRAINTS],
    ("binomial", {"alpha": 0.3}),
    ("polynomial", {"coefficients": lambda i: 2.0 / i**2}),
    ("single-term", {"p": 1}),
    ("spectral-radius", {"bound": "least"}),
    ("fast-tmpi", {"loop": "repository"}),
    ("tmpi", {"eps": 0.05}),
    ("log-det", {"s": 1.7}),
    ("inverse-trace", {"s": 1.7}),
]
variants = pytest.mark.parametrize(
    ("name", "options"), VARIANTS, ids=lambda v: v if isinstance(v, str) else str(list(v))
)
SIZES = [2, 3, 5, 7, 8, 16, 17]
# Zero exactly on every DAG: sums of products of non-negative numbers without cancellation.
EXACT = [
    "balanced",
    "binomial",
    "polynomial",
    "single-term",
    "spectral-radius",
    "geometric",
    "fast-geometric",
    "tmpi",
    "fast-tmpi",
]


def positive(d, radius, seed=0):
    """A positive matrix with a given spectral radius."""
    B = np.random.default_rng([seed, d]).random((d, d)) + 0.05
    return B * (radius / np.abs(np.linalg.eigvals(B)).max())


def rounding(B, G):
    """What rounding explains in h: a stable method moves the matrix by d·eps·(1 + ‖B‖), and so h by ‖G‖ times that."""
    return len(B) * np.finfo(B.dtype).eps * (1 + np.linalg.norm(B)) * np.linalg.norm(G)


def powers(B, order):
    return [np.linalg.matrix_power(B, i) for i in range(order + 1)]


def series(B, coefficients):
    """Σ c_i tr Bⁱ and Σ i c_i (Bⁱ⁻¹)ᵀ as they are written."""
    P = powers(B, len(coefficients))
    h = sum(c * np.trace(P[i]) for i, c in enumerate(coefficients, 1))
    G = sum(i * c * P[i - 1].T for i, c in enumerate(coefficients, 1))
    return h, G


def permuted_triangle(d, seed, scale=1.0, density=1.0):
    rng = np.random.default_rng([seed, d])
    B = np.triu(rng.random((d, d)) * scale * (rng.random((d, d)) < density), 1)
    order = rng.permutation(d)
    return B[np.ix_(order, order)]


@pytest.mark.parametrize(("name", "options", "on_b3", "on_c4"), PUBLISHED)
def test_published_vectors(name, options, on_b3, on_c4):
    for B, expected in ((B3, on_b3), (C4, on_c4)):
        h, G = constraint(name, **options).value_and_gradient(B)
        assert_allclose([h, G.sum(), G[0, 1], G[1, 0]], expected, rtol=0, atol=1e-9)


def test_published_gradient():
    _, G = constraint("geometric").value_and_gradient(C4)
    rows = [
        [1.027, 0.045, 0.101, 0.009],
        [0.47, 1.2325, 0.3, 0.3225],
        [0.382, 0.651, 1.135, 0.135],
        [0.474, 1.0775, 1.312, 1.2205],
    ]
    assert_allclose(G, rows, atol=1e-12)


@variants
@pytest.mark.parametrize("d", SIZES)
def test_gradient_is_that_of_the_value(name, options, d):
    """Central differences in every entry; single precision is held against the double gradient."""
    B = positive(d, 0.8)
    c = constraint(name, **options)
    _, G = c.value_and_gradient(B)
    differences = np.empty_like(B)
    for at in np.ndindex(B.shape):
        step = np.zeros_like(B)
        step[at] = 1e-6
        differences[at] = (c.value_and_gradient(B + step)[0] - c.value_and_gradient(B - step)[0]) / 2e-6
    scale = np.abs(G).max()
    assert np.abs(differences - G).max() / scale < 1e-6
    single = constraint(name, **options).value_and_gradient(B.astype(np.float32))[1]
    assert single.dtype == np.float32
    assert np.abs(single - G).max() / scale < 2e-4


@pytest.mark.parametrize("d", SIZES)
def test_series_agree_with_the_sums_they_are(d):
    B = positive(d, 0.7)
    for name, coefficients in {
        "geometric": np.ones(d),
        "fast-geometric": np.ones(d),
        "polynomial": 1 / np.arange(1, d + 1),
        "exponential": [1 / factorial(i) for i in range(1, 40)],
        "log-det": 1 / np.arange(1, 200),
        "inverse-trace": np.ones(200),
    }.items():
        h, G = constraint(name).value_and_gradient(B)
        expected_h, expected_G = series(B, coefficients)
        assert_allclose(h, expected_h, rtol=1e-9)
        assert_allclose(G, expected_G, rtol=1e-9)


@pytest.mark.parametrize("loop", ["paper", "repository"])
@pytest.mark.parametrize("radius", [0.05, 0.4, 0.9, 1.5])
@pytest.mark.parametrize("d", [1, 2, 3, 8, 10, 17, 30])
def test_fast_tmpi_is_the_geometric_sum_of_the_order_it_reports(d, radius, loop):
    """The order is the first power of two at which the largest entry is at most eps, or the loop's last."""
    B = positive(d, radius)
    found = constraint("fast-tmpi", loop=loop).evaluate(B)
    last = 2
    while last <= d if loop == "paper" else last < d:
        last *= 2
    order = 2
    while order < last and np.linalg.matrix_power(B, order).max() > 1e-6:
        order *= 2
    assert found.order == order
    h, G = series(B, np.ones(order))
    assert_allclose(found.value, h, rtol=1e-12)
    assert_allclose(found.gradient, G, rtol=1e-12)


@pytest.mark.parametrize("d", [8, 10, 30, 50, 64, 100, 500])
def test_orders_of_the_two_loops(d):
    paper, repository = {
        8: (16, 8),
        10: (16, 16),
        30: (32, 32),
        50: (64, 64),
        64: (128, 64),
        100: (128, 128),
        500: (512, 512),
    }[d]
    B = np.roll(np.eye(d), 1, axis=1)
    assert constraint("fast-tmpi").evaluate(B).order == paper
    assert constraint("fast-tmpi", loop="repository").evaluate(B).order == repository


@pytest.mark.parametrize("eps", [1e-6, 1e-2])
def test_tmpi_stops_at_the_first_small_power(eps):
    B = positive(9, 0.3)
    found = constraint("tmpi", eps=eps).evaluate(B)
    k = next((i for i in range(2, 10) if np.linalg.matrix_power(B, i).max() <= eps), 9)
    assert found.order == k
    h, G = series(B, np.ones(k))
    assert_allclose(found.value, h, rtol=1e-13)
    assert_allclose(found.gradient, G, rtol=1e-13)


@pytest.mark.parametrize("d", [2, 5, 8, 13, 16])
def test_forms_of_one_function_agree(d):
    B = positive(d, 1.1)
    slow, fast = constraint("geometric").evaluate(B), constraint("fast-geometric").evaluate(B)
    assert slow.order == fast.order == d
    assert_allclose(slow.value, fast.value, rtol=1e-13)
    assert_allclose(slow.gradient, fast.gradient, rtol=1e-12)
    explicit = constraint("polynomial", coefficients=np.ones(d)).evaluate(B)
    assert_allclose(explicit.gradient, fast.gradient, rtol=1e-12)


def test_truncated_constraints_can_miss_a_long_cycle():
    """Why acyclicity is never decided by a value: every edge of this 17-cycle survives a threshold of 0.3."""
    B = np.roll(np.eye(17), 1, axis=1) * 0.5**2
    assert constraint("fast-tmpi").value_and_gradient(B)[0] == 0.0
    assert constraint("geometric").value_and_gradient(B)[0] > 0


@variants
@pytest.mark.parametrize("d", [1, 2, 6, 30])
def test_zero_on_dags(name, options, d):
    if options.get("bound") == "least":
        options = {**options, "rounds": d}
    for seed in range(4):
        B = permuted_triangle(d, seed, scale=4.0)
        chosen = constraint(name, **options)
        h, G = chosen.value_and_gradient(B)
        # A large inverse is taken again in an order that makes B triangular, and is exact there.
        exact = name in EXACT or (
            name in ("log-det", "inverse-trace")
            and chosen.s * np.linalg.inv(chosen.s * np.eye(d) - B).max() > 2 * WELL_CONDITIONED
        )
        assert 0 <= h <= (0 if exact else rounding(B, G))
        assert np.abs(B * G).max() <= (0 if exact else 1e-9 * np.abs(G).max())


@variants
def test_invariant_under_renaming(name, options):
    B, order = positive(9, 0.6), np.random.default_rng(3).permutation(9)
    c = constraint(name, **options)
    h, G = c.value_and_gradient(B)
    h_moved, G_moved = c.value_and_gradient(B[np.ix_(order, order)])
    assert_allclose(h_moved, h, rtol=1e-12)
    assert_allclose(G_moved, G[np.ix_(order, order)], rtol=1e-10)


@variants
@pytest.mark.parametrize("radius", [0.9, 1.1, 3.0, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_finite_however_far_from_a_dag(name, options, radius, dtype):
    for B in (positive(100, radius), np.roll(np.eye(100), 1, axis=1) * radius):
        found = constraint(name, **options).evaluate(B.astype(dtype))
        assert np.isfinite(found.value) and found.value >= 0
        assert np.isfinite(found.gradient).all()
        assert np.isfinite(found.value**2)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_guarded_value_has_its_own_gradient(name):
    """Beyond the guard the value is that of a shorter sum, and the gradient is its gradient."""
    B = positive(6, 1.0) * 1e35
    found = constraint(name).evaluate(B)
    step = 1e29 * np.random.default_rng(0).random(B.shape)
    difference = constraint(name).evaluate(B + step).value - constraint(name).evaluate(B - step).value
    assert_allclose(difference, 2 * np.vdot(found.gradient, step), rtol=1e-5)


def test_outside_the_domain_is_said():
    inside, outside = positive(12, 0.999), positive(12, 1.001)
    for name in ("log-det", "inverse-trace"):
        assert constraint(name).evaluate(inside).in_domain
        assert not constraint(name).evaluate(outside).in_domain


def test_bigger_coefficients_give_bigger_values():
    B = positive(11, 0.8)
    value = {name: constraint(name).value_and_gradient(B)[0] for name in CONSTRAINTS}
    assert value["binomial"] < value["exponential"] < value["log-det"] < value["inverse-trace"]
    assert value["tmpi"] <= value["geometric"] <= value["fast-tmpi"] <= value["inverse-trace"]
    assert value["spectral-radius"] < constraint("spectral-radius", bound="least").value_and_gradient(B)[0]


class TestSpectralRadius:
    @settings(deadline=None, max_examples=60)
    @given(st.integers(1, 12), st.integers(0, 10**6), st.floats(0.1, 1), st.floats(0.1, 8))
    def test_agrees_with_eigenvalues(self, d, seed, density, spread):
        rng = np.random.default_rng(seed)
        B = np.exp(spread * rng.standard_normal((d, d))) * (rng.random((d, d)) < density)
        h, G = constraint("spectral-radius").value_and_gradient(B)
        # Eigenvalues of a nilpotent part come out as eps^(1/d) of its norm: compare per component through h itself.
        assert_allclose(h, max_radius(B), rtol=1e-10, atol=1e-300)
        if h > 0:
            assert_allclose(np.vdot(G, B), h, rtol=1e-9)

    def test_first_of_equal_components_and_determinism(self):
        B = np.zeros((4, 4))
        B[0, 1] = B[1, 0] = B[2, 3] = B[3, 2] = 0.5
        h, G = constraint("spectral-radius").value_and_gradient(B)
        again = constraint("spectral-radius").value_and_gradient(B)
        assert h == 0.5
        assert_array_equal(G, again[1])
        assert_allclose(G.sum(), 2.0)

    def test_least_bounds_the_radius(self):
        for seed in range(20):
            B = positive(7, 0.5, seed) * (np.random.default_rng(seed).random((7, 7)) < 0.6)
            bound = constraint("spectral-radius", bound="least").value_and_gradient(B)[0]
            assert bound >= max_radius(B) * (1 - 1e-12)


class TestNobears:
    """The spectral radius as NOBEARS computes it."""

    made = constraint("spectral-radius", bound="nobears")

    def naive(self, B, rounds=5, shift=1e-6):
        A, u, v = B + shift * np.ones_like(B), np.ones(len(B)), np.ones(len(B))
        for _ in range(rounds):
            u, v = A @ u / np.linalg.norm(A @ u), v @ A / np.linalg.norm(v @ A)
        return u, v, (v @ A @ u) / (v @ u)

    @pytest.mark.parametrize("B", [B3, C4, positive(7, 0.8), permuted_triangle(12, 1, 2.0, 0.4)])
    def test_is_five_power_rounds_with_a_shift(self, B):
        u, v, expected = self.naive(B)
        h, G = self.made.value_and_gradient(B)
        assert_allclose(h, expected, rtol=1e-12)
        assert_allclose(G, np.outer(v, u) / (v @ u), rtol=1e-12)

    @pytest.mark.parametrize("d", SIZES)
    def test_gradient_takes_the_vectors_as_constants(self, d):
        B = positive(d, 0.8)
        u, v, _ = self.naive(B)
        G, A = self.made.value_and_gradient(B)[1], B + 1e-6
        for at in np.ndindex(B.shape):
            moved = [A.copy(), A.copy()]
            moved[0][at] += 1e-4
            moved[1][at] -= 1e-4
            above, below = ((v @ M @ u) / (v @ u) for M in moved)
            # The form is linear in A: differences carry rounding only, of numbers around 1 over a step of 2e-4.
            assert abs((above - below) / 2e-4 - G[at]) < 1e-10

    def test_is_far_from_zero_at_a_true_dag(self):
        """Why NOTEARS with it never meets its tolerance: 30 nodes, ER2, weights of the paper's simulations."""
        B = simulate(30, 2, graph="ER2", random_state=4).graph.weights ** 2
        assert constraint("geometric").value_and_gradient(B)[0] == 0 == constraint("spectral-radius").evaluate(B).value
        assert_allclose(self.made.value_and_gradient(B)[0], 0.93, atol=0.005)
        converged = constraint("spectral-radius", bound="nobears", rounds=5000)
        assert_allclose(converged.value_and_gradient(B)[0], np.abs(np.linalg.eigvals(B + 1e-6)).max(), rtol=1e-6)
        assert converged.value_and_gradient(B)[0] > 0.4

    def test_many_rounds_lead_to_the_perron_root(self):
        B = positive(9, 0.7)
        many = constraint("spectral-radius", bound="nobears", rounds=200, shift=1e-14)
        h, G = constraint("spectral-radius").value_and_gradient(B)
        assert_allclose(many.value_and_gradient(B)[0], h, rtol=1e-10)
        assert_allclose(many.value_and_gradient(B)[1], G, rtol=1e-8)

    @pytest.mark.parametrize("radius", [1e-6, 0.9, 30.0, 1e6])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_is_finite_everywhere(self, radius, dtype):
        for B in (np.zeros((20, 20)), positive(20, radius), permuted_triangle(20, 0, radius)):
            found = self.made.evaluate(B.astype(dtype))
            assert 0 < found.value < np.inf and np.isfinite(found.gradient).all() and found.gradient.dtype == dtype

    @pytest.mark.parametrize("shift", [0.0, -1e-6, np.inf, np.nan])
    def test_a_shift_is_needed(self, shift):
        with pytest.raises(InputError, match="shift has to be positive"):
            constraint("spectral-radius", bound="nobears", shift=shift)


def max_radius(B):
    """Largest eigenvalue over strongly connected components, each balanced before."""
    from scipy.linalg import matrix_balance
    from scipy.sparse.csgraph import connected_components

    _, labels = connected_components(B > 0, directed=True, connection="strong")
    blocks = [B[np.ix_(labels == k, labels == k)] for k in range(labels.max() + 1)]
    blocks = [block for block in blocks if block.any()]
    return max((np.abs(np.linalg.eigvals(matrix_balance(b)[0])).max() for b in blocks), default=0.0)


nonnegative = st.tuples(st.integers(2, 8), st.integers(0, 10**6), st.floats(0.05, 1.0), st.floats(0.01, 1.2)).map(
    lambda t: np.where(
        np.random.default_rng(t[1]).random((t[0], t[0])) < t[2],
        t[3] * np.random.default_rng(t[1] + 1).random((t[0], t[0])),
        0.0,
    )
)


def longest_simple_path(B):
    """Edges on the longest walk that repeats no node, except that it may close on its start."""
    d, best = len(B), 0

    def walk(start, node, seen, length):
        nonlocal best
        best = max(best, length)
        for to in np.flatnonzero(B[node]):
            if to == start:
                best = max(best, length + 1)
            elif to not in seen:
                walk(start, to, seen | {to}, length + 1)

    for start in range(d):
        walk(start, start, {start}, 0)
    return best


def acyclic(B):
    reach = (np.linalg.matrix_power(np.eye(len(B)) + (B > 0), len(B)) > 0) & True
    return not (reach & (B > 0).T).any()


class TestPropositions:
    @settings(deadline=None, max_examples=150)
    @given(nonnegative)
    def test_one_and_two_nilpotency(self, B):
        assume(len(B) <= 6)
        d, k = len(B), longest_simple_path(B)
        A = (B > 0).astype(float)
        assert acyclic(B) == (not np.linalg.matrix_power(A, d).any())
        assert acyclic(B) == (not np.linalg.matrix_power(A, k + 1).any())
        assert acyclic(B) == (sum(np.trace(P) for P in powers(A, k)[1:]) == 0)
        assert acyclic(B) == (constraint("geometric").value_and_gradient(A)[0] == 0)

    @pytest.mark.slow
    @settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.filter_too_much])
    @given(nonnegative, st.integers(2, 7))
    def test_three_truncation_error(self, B, k):
        d = len(B)
        eps = np.linalg.matrix_power(B, k).max()
        assume(k < d and 0 < eps < 1 / ((k + 1) * d))
        full, cut = series(B, np.ones(d)), series(B, np.ones(k))
        root = (d * eps) ** (1 / k)
        bound = d ** (2 + 1 / k) * eps ** (1 + 1 / k) * (1 - (d * eps) ** (d / k - 1)) / (1 - root)
        assert -1e-12 * full[0] <= full[0] - cut[0] <= bound + 1e-12 * full[0]
        norm = np.linalg.norm(full[1])
        assert np.linalg.norm(full[1] - cut[1]) <= (k + 1) * d * eps * norm + 1e-12 * norm

    @settings(deadline=None, max_examples=100)
    @given(st.integers(2, 6), st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5))
    def test_four_sums_of_two_orders(self, d, seed, i, j):
        """Holds for any real B; the merge without Bⁱ⁻¹ is the one that the doubling uses."""
        B = np.random.default_rng(seed).standard_normal((d, d)) / d
        P = powers(B, i + j)

        def f(m):
            return sum(powers(B, m)[1:])

        def G(m):
            return series(B, np.ones(m))[1]

        assert_allclose(f(i + j), f(i) + P[i] @ f(j), atol=1e-12)
        assert_allclose(G(i + j), G(i) + P[i].T @ G(j) + i * (f(j).T @ P[i - 1].T), atol=1e-11)
        assert_allclose(G(i + j), G(i) + P[i].T @ G(j) + i * (f(i + j) - f(i) + P[i] - P[i + j]).T, atol=1e-11)

    @settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.filter_too_much])
    @given(nonnegative, st.integers(2, 7))
    def test_five_distance_to_the_inverse(self, B, k):
        d = len(B)
        eps = np.linalg.matrix_power(B, k).max()
        assume(0 < eps < 1 / d)
        inverse = np.linalg.inv(np.eye(d) - B)
        norm = np.linalg.norm(inverse)
        assert np.linalg.norm(inverse - sum(powers(B, k))) <= d * eps * norm + 1e-12 * norm


class TestComponents:
    def scattered(self, d, seed, chain=True):
        """Two cyclic groups, a self-loop, and acyclic links between and around them, in random order."""
        rng = np.random.default_rng(seed)
        B = np.triu(rng.random((d, d)) * (rng.random((d, d)) < 4 / d), 1)
        for group in (range(d // 10, d // 5), range(d // 2, d // 2 + d // 6)):
            B[np.ix_(group, group)] = rng.random((len(group), len(group))) / len(group)
        B[d - 3, d - 3] = 0.4
        order = rng.permutation(d)
        return B[np.ix_(order, order)] * 0.3

    @variants
    def test_equal_to_the_plain_form(self, name, options):
        if constraint(name, **options).support == "all":
            with pytest.raises(InputError, match="components"):
                constraint(name, components=True, **options)
            return
        for d in (10, 130, 180):
            B = self.scattered(d, seed=d)
            plain = constraint(name, **options).evaluate(B)
            parts = constraint(name, components=True, **options).evaluate(B)
            slack = 10 * options.get("eps", 1e-6) if "tmpi" in name else 1e-9
            assert_allclose(parts.value, plain.value, rtol=slack, atol=1e-300)
            assert_allclose(
                parts.gradient * B,
                plain.gradient * B,
                rtol=slack,
                atol=slack * np.abs(plain.gradient * B).max(),
            )
            assert parts.in_domain == plain.in_domain

    @pytest.mark.parametrize("name", [name for name in EXACT if CONSTRAINTS[name].support != "all"])
    def test_exactly_zero_on_a_dag(self, name):
        assert constraint(name, components=True).value_and_gradient(permuted_triangle(130, 1, 2.0, 0.05))[0] == 0.0

    def test_one_component_is_the_plain_form(self):
        B = positive(130, 0.8)
        plain, parts = (
            constraint("fast-tmpi").evaluate(B),
            constraint("fast-tmpi", components=True).evaluate(B),
        )
        assert parts.value == plain.value
        assert_array_equal(parts.gradient, plain.gradient)

    def test_wrapping_twice_is_wrapping_once(self):
        once = constraint("tmpi", components=True)
        assert constraint(once, components=True) is once
        assert isinstance(once, OnComponents)


class TestInput:
    @pytest.mark.parametrize(
        ("given_", "message"),
        [
            (np.ones((2, 3)), r"square.*\(2, 3\)"),
            (np.ones(4), r"square.*\(4,\)"),
            (np.empty((0, 0)), "at least one row"),
            ([["a", "b"], ["c", "d"]], "numbers"),
            ([[0, -1], [0, 0]], r"B\[0, 1\] is -1"),
            ([[0, 1], [np.nan, 0]], r"B\[1, 0\] is nan"),
            ([[0, 1], [np.inf, 0]], r"B\[1, 0\] is inf"),
            (None, "B has to be"),
            ([[1j, 0], [0, 0]], "numbers"),
        ],
    )
    @pytest.mark.parametrize("name", ["exponential", "fast-tmpi"])
    def test_unusable(self, given_, message, name):
        with pytest.raises(InputError, match=message):
            constraint(name).value_and_gradient(given_)

    @variants
    def test_one_node(self, name, options):
        h, G = constraint(name, **options).value_and_gradient([[0]])
        assert h == 0 and G.shape == (1, 1)
        assert constraint(name, **options).value_and_gradient([[0.5]])[0] > 0

    @variants
    def test_argument_is_left_alone_and_any_layout_is_taken(self, name, options):
        B = positive(6, 0.5)
        frozen = B.copy()
        frozen.setflags(write=False)
        c = constraint(name, **options)
        h, G = c.value_and_gradient(frozen)
        G[:] = 7
        assert_array_equal(frozen, B)
        for layout in (np.asfortranarray(B), np.kron(B, np.ones((2, 2)))[::2, ::2]):
            again = c.value_and_gradient(layout)
            assert again[0] == pytest.approx(h, rel=1e-13)
        assert c.value_and_gradient((B > 0.05).astype(int))[1].dtype == np.float64

    @pytest.mark.parametrize(
        ("name", "options", "message"),
        [
            ("tmpii", {}, "there is no constraint 'tmpii'.*fast-tmpi"),
            (3, {}, "there is no constraint 3"),
            ("tmpi", {"epsilon": 1}, "tmpi has no option 'epsilon'; it takes eps"),
            ("geometric", {"eps": 1}, "it takes none"),
            ("tmpi", {"eps": -1}, "eps"),
            ("fast-tmpi", {"eps": float("nan")}, "eps"),
            ("fast-tmpi", {"loop": "printed"}, "loop"),
            ("single-term", {"p": 3}, "p has to be"),
            ("log-det", {"s": 0}, "s has to be"),
            ("binomial", {"alpha": 0}, "alpha"),
            ("polynomial", {"coefficients": [1, 0, 1]}, "positive"),
            ("spectral-radius", {"bound": "most"}, "bound"),
        ],
    )
    def test_wrong_options(self, name, options, message):
        with pytest.raises(InputError, match=message):
            constraint(name, **options)

    def test_polynomial_needs_a_coefficient_for_each_length(self):
        with pytest.raises(InputError, match="2 coefficients were given; 3 nodes need 3"):
            constraint("polynomial", coefficients=[1, 2]).value_and_gradient(B3)
        with pytest.raises(InputError, match="coefficient 2 is -1"):
            constraint("polynomial", coefficients=lambda i: 1.0 if i < 2 else -1.0).value_and_gradient(B3)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_one_object_serves_many_threads(name):
    """Same bits from eight threads at once, with sizes and dtypes mixed."""
    c = constraint(name)
    problems = [
        positive(d, 0.6, s).astype(t)
        for s in range(12)
        for d, t in ((5, np.float64), (9, np.float32), (20, np.float64))
    ]
    alone = [c.value_and_gradient(B) for B in problems]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(c.value_and_gradient, problems))
    for (h, G), (h_threads, G_threads) in zip(alone, together):
        assert h == h_threads
        assert_array_equal(G, G_threads)


def test_survives_pickling():
    c = constraint("fast-tmpi", eps=1e-4, components=True)
    c.value_and_gradient(B3)
    copy = pickle.loads(pickle.dumps(c))
    assert copy == c
    assert copy.value_and_gradient(B3)[0] == c.value_and_gradient(B3)[0]


def test_a_constraint_of_ones_own_is_told_what_to_return():
    class Plain(Constraint):
        name = "plain"

        def evaluate_block(self, B, size):
            return float(np.trace(B)), np.eye(len(B))

    with pytest.raises(InputError, match=r"evaluate_block of Plain returned a tuple; return acyclic\.Evaluation"):
        constraint(Plain())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["fast-tmpi", "adaptive-tmpi"])
def test_powers_that_skip_the_zeros_of_a_large_matrix_are_the_same(name, dtype, monkeypatch):
    """A graph with cycles through 2 and 30 nodes; what is skipped is zero, and the order of sums differs."""
    d = geometric.LARGE + 60
    B = permuted_triangle(d, seed=3, scale=0.8, density=2 / d).astype(dtype)
    for nodes in (np.arange(2), np.arange(10, 40)):
        B[nodes, np.roll(nodes, 1)] = 0.5
    c = constraint(name)
    skipping = c.evaluate(B)
    monkeypatch.setattr(geometric, "LARGE", d + 1)
    whole = c.evaluate(B)
    assert skipping[2:] == whole[2:] and skipping.value > 0
    limit = rounding(B, whole.gradient)
    assert_allclose(skipping.value, whole.value, rtol=0, atol=limit)
    assert_allclose(skipping.gradient, whole.gradient, rtol=0, atol=limit * whole.gradient.max())
    dag = permuted_triangle(d, seed=4, scale=2.0, density=2 / d).astype(dtype)
    monkeypatch.undo()
    assert c.evaluate(dag).value == 0.0

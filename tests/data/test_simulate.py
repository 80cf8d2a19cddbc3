import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from acyclic.data.simulate import (
    Noise,
    Nonlinear,
    Sem,
    linear_sem,
    nonlinear_sem,
    population_covariance,
    random_dag,
    random_weights,
    simulate,
)
from acyclic.errors import CycleError, InputError
from acyclic.graphs.cycles import is_acyclic
from acyclic.graphs.dag import Dag

KINDS = ["ER1", "ER4", "SF1", "SF3", "SF3-distinct"]
CHAIN = np.array([[0, 2.0, -0.7], [0, 0, 1.5], [0, 0, 0]])
STANDARD_MOMENTS = {"gaussian": (0, 1), "exponential": (1, 1), "gumbel": (0.5772156649, math.pi**2 / 6)}


def z_score(sample, mean):
    return (np.mean(sample) - mean) / (np.std(sample, ddof=1) / math.sqrt(len(sample)))


@pytest.mark.parametrize("kind", KINDS)
@given(n_nodes=st.integers(9, 40), seed=st.integers(0, 2**64))
@settings(max_examples=20, deadline=None)
def test_a_random_dag_is_acyclic_boolean_and_repeatable(kind, n_nodes, seed):
    adjacency = random_dag(n_nodes, kind, seed)
    assert adjacency.dtype == np.bool_ and adjacency.shape == (n_nodes, n_nodes)
    assert is_acyclic(adjacency)
    assert np.array_equal(adjacency, random_dag(n_nodes, kind, seed))


@pytest.mark.parametrize(("kind", "n_nodes"), [("ER1", 20), ("ER2", 10), ("ER4", 50)])
def test_er_k_has_k_times_d_edges_on_average(kind, n_nodes):
    edges = [random_dag(n_nodes, kind, seed).sum() for seed in range(400)]
    expected, pairs = int(kind[2:]) * n_nodes, n_nodes * (n_nodes - 1) / 2
    assert abs(z_score(edges, expected)) < 3.5
    assert np.var(edges) == pytest.approx(expected * (1 - expected / pairs), rel=0.3)


def test_every_ordered_pair_is_equally_likely_in_er():
    frequency = np.mean([random_dag(6, "ER1", seed) for seed in range(3000)], axis=0)
    off_diagonal = frequency[~np.eye(6, dtype=bool)]
    deviation = math.sqrt(0.2 * 0.8 / 3000)
    assert np.abs(off_diagonal - 0.2).max() < 4 * deviation
    assert not frequency.diagonal().any()


def test_a_saturated_er_graph_is_complete():
    assert random_dag(13, "ER6").sum() == 78


def test_sf_with_replacement_has_the_edges_computed_by_hand():
    # The second node always points to the first; then the bag holds 0 three times and 1 once, and the two draws of the
    # third node differ with probability 2 · 3/4 · 1/4.
    edges = [random_dag(3, "SF2", seed).sum() for seed in range(4000)]
    assert set(edges) == {2, 3}
    assert abs(z_score(edges, 2 + 3 / 8)) < 3.5


@pytest.mark.parametrize(("n_nodes", "k"), [(2, 1), (4, 3), (30, 2), (50, 5)])
def test_sf_distinct_has_an_exact_number_of_edges_and_out_degrees(n_nodes, k):
    adjacency = random_dag(n_nodes, f"SF{k}-distinct", 3)
    assert adjacency.sum() == k * n_nodes - k * (k + 1) // 2
    assert sorted(adjacency.sum(axis=1)) == [min(k, earlier) for earlier in range(n_nodes)]


@pytest.mark.parametrize("kind", ["SF2", "SF2-distinct"])
def test_scale_free_hubs_have_many_parents_and_no_node_has_many_children(kind):
    adjacency = random_dag(300, kind, 1)
    assert adjacency.sum(axis=1).max() == 2
    assert adjacency.sum(axis=0).max() > 20
    assert random_dag(300, "ER2", 1).sum(axis=0).max() < 20


def test_nodes_of_a_scale_free_graph_are_permuted():
    oldest = [int(np.flatnonzero(~random_dag(5, "SF1", seed).any(axis=1))[0]) for seed in range(200)]
    assert np.bincount(oldest, minlength=5).min() > 20


def test_an_impossible_er_graph_is_refused_with_the_numbers():
    message = "60 edges, but .* 10 nodes has at most 45; the largest k .* is 4, and ER6 needs at least 13 nodes"
    with pytest.raises(InputError, match=message):
        random_dag(10, "ER6")
    random_dag(9, "ER4")


def test_an_impossible_scale_free_graph_is_refused():
    with pytest.raises(InputError, match="3 nodes allow k up to 2"):
        random_dag(3, "SF3")


@pytest.mark.parametrize("kind", ["ER", "ER0", "er2", "ER2-distinct", "ER1.5", "SF-1", "BA2", "", 2, None])
def test_unknown_kinds_are_refused(kind):
    with pytest.raises(InputError, match="give 'ERk'"):
        random_dag(20, kind)


@pytest.mark.parametrize("n_nodes", [0, -3, 2.0, True, "5", None])
def test_counts_have_to_be_positive_integers(n_nodes):
    with pytest.raises(InputError, match="has to be a whole number, at least 1"):
        random_dag(n_nodes)
    with pytest.raises(InputError, match="has to be a whole number, at least 1"):
        linear_sem(CHAIN, n_nodes)


def test_weights_fill_both_intervals_evenly():
    adjacency = np.triu(np.ones((200, 200)), 1)
    weights = random_weights(adjacency, 0.5, 2.0, random_state=4)
    drawn = weights[adjacency != 0]
    assert np.array_equal(weights != 0, adjacency != 0)
    assert 0.5 <= np.abs(drawn).min() < 0.501 and 1.999 < np.abs(drawn).max() <= 2.0
    assert abs(z_score(drawn > 0, 0.5)) < 3.5
    assert abs(z_score(np.abs(drawn), 1.25)) < 3.5


def test_the_weight_of_an_edge_does_not_depend_on_the_other_edges():
    full, sparse = np.triu(np.ones((6, 6)), 1), np.zeros((6, 6))
    sparse[1, 4] = 1
    assert random_weights(sparse, random_state=9)[1, 4] == random_weights(full, random_state=9)[1, 4]


@pytest.mark.parametrize(("low", "high"), [(0, 0), (2, 1), (-1, 1), (1, math.inf), (math.nan, 1)])
def test_weight_ranges_are_checked(low, high):
    with pytest.raises(InputError, match=r"0 <= low <= high, high > 0|a finite number"):
        random_weights(CHAIN, low, high)


def test_weights_may_be_as_small_as_one_likes_but_no_edge_is_lost():
    adjacency = np.triu(np.ones((100, 100)), 1) != 0
    weights = random_weights(adjacency, 0, 1, random_state=2)
    assert np.array_equal(weights != 0, adjacency) and np.abs(weights[adjacency]).min() < 0.01


def test_a_matrix_that_is_not_square_gets_no_weights():
    with pytest.raises(InputError, match=r"\(2, 3\)"):
        random_weights(np.ones((2, 3)))


@pytest.mark.parametrize("noise", STANDARD_MOMENTS)
def test_noise_has_the_mean_and_variance_of_its_law(noise):
    scale = np.array([1.0, 0.5, 3.0])
    X = linear_sem(np.zeros((3, 3)), 40_000, noise=noise, scale=scale, random_state=2) / scale
    mean, variance = STANDARD_MOMENTS[noise]
    for column in X.T:
        assert abs(z_score(column, mean)) < 3.5
        assert abs(z_score((column - mean) ** 2, variance)) < 3.5


@pytest.mark.parametrize("noise", get_args(Noise))
def test_the_rows_of_a_linear_sem_have_the_population_covariance(noise):
    simulation = simulate(8, 40_000, noise=noise, variances=(0.5, 4.0), random_state=5)
    expected = population_covariance(simulation.graph, simulation.scale, noise)
    actual = np.cov(simulation.X.T)
    deviations = np.sqrt(np.diag(expected))
    assert np.abs(actual - expected).max() / np.outer(deviations, deviations).max() < 0.05
    assert np.array_equal(expected, expected.T)


def test_population_covariance_by_hand():
    # x = e0, y = 2x + e1, z = -0.7x + 1.5y + e2 = 2.3 e0 + 1.5 e1 + e2 with variances 1, 4, 9.
    expected = [[1, 2, 2.3], [2, 8, 4.6 + 6], [2.3, 10.6, 2.3**2 + 2.25 * 4 + 9]]
    assert np.allclose(population_covariance(CHAIN, [1, 2, 3]), expected, rtol=1e-14)
    assert np.allclose(population_covariance(CHAIN, [1, 2, 3], "gumbel"), np.multiply(expected, math.pi**2 / 6))


def test_linear_rows_solve_the_equations():
    weights = random_weights(random_dag(12, "ER3", 1), random_state=1)
    X = linear_sem(weights, 100, random_state=3)
    noise = linear_sem(np.zeros_like(weights), 100, random_state=3)
    assert np.allclose(X, X @ weights + noise, rtol=1e-12, atol=1e-12)


def residuals(kind, **options):
    """Rows of a 3-node graph and, for each node, the row minus its noise: the value of the mechanism."""
    X = nonlinear_sem(CHAIN, 150, kind, random_state=11, **options)
    return X, X - linear_sem(np.zeros((3, 3)), 150, random_state=11, **options)


def test_cos_by_hand():
    X, f = residuals("cos")
    for row, value in zip(X, f):
        x, y, _ = row
        expected = [0, 2 * math.cos(x + 1), -0.7 * math.cos(x + 1) + 1.5 * math.cos(y + 1)]
        assert value == pytest.approx(expected, abs=1e-12)


def test_sin_by_hand():
    X, f = residuals("sin", noise="gumbel", scale=0.3)
    for row, value in zip(X, f):
        x, y, _ = row
        first, second = 2 * (x + 0.5), -0.7 * (x + 0.5) + 1.5 * (y + 0.5)
        expected = [0, 2 * math.sin(first) + first, 2 * math.sin(second) + second]
        assert value == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize("kind", ["mlp", "mim"])
def test_parametric_mechanisms_are_found_again_by_plain_loops(kind):
    X, f = residuals(kind)
    mechanism = np.random.default_rng(np.random.SeedSequence(11).spawn(2)[0])
    stream = mechanism.spawn(3)[2]
    units, parents = (100, 2) if kind == "mlp" else (3, 2)
    signs = np.where(stream.random((units, parents)) < 0.5, -1, 1)
    first = signs * stream.uniform(0.5, 2, (units, parents))
    second = np.where(stream.random(units) < 0.5, -1, 1) * stream.uniform(0.5, 2, units) if kind == "mlp" else None
    for row, value in zip(X[:50], f[:50]):
        index = [sum(w * x for w, x in zip(unit, row)) for unit in first]
        if kind == "mlp":
            expected = sum(v / (1 + math.exp(-z)) for v, z in zip(second, index))
        else:
            expected = math.tanh(index[0]) + math.cos(index[1]) + math.sin(index[2])
        assert value[2] == pytest.approx(expected, abs=1e-11)
        assert value[0] == 0


@pytest.mark.parametrize("kind", ["gp", "gp-add"])
def test_gaussian_process_values_come_from_the_factor_of_the_kernel(kind):
    X, f = residuals(kind)
    mechanism = np.random.default_rng(np.random.SeedSequence(11).spawn(2)[0])
    stream = mechanism.spawn(3)[2]
    if kind == "gp":
        normals, inputs = [stream.standard_normal(150)], [X[:, :2]]
    else:
        normals, inputs = stream.standard_normal((150, 2)).T, [X[:, [0]], X[:, [1]]]
    expected = np.zeros(150)
    for z, points in zip(normals, inputs):
        kernel = np.array([[math.exp(-((a - b) ** 2).sum() / 2) for b in points] for a in points])
        expected += np.linalg.cholesky(kernel + 1e-8 * np.eye(150)) @ z
    assert np.allclose(f[:, 2], expected, atol=1e-8)


def test_gaussian_process_draws_have_the_covariance_of_the_kernel():
    values = []
    for seed in range(600):
        X = nonlinear_sem([[0, 1], [0, 0]], 3, "gp", scale=[1.0, 1e-9], random_state=seed)
        distance = abs(X[0, 0] - X[1, 0])
        values.append(X[0, 1] * X[1, 1] - math.exp(-(distance**2) / 2))
    assert abs(z_score(values, 0)) < 3.5


def test_gaussian_process_functions_are_smooth():
    X, f = residuals("gp", noise="exponential")
    order = np.argsort(X[:, 0])
    steps = np.abs(np.diff(f[order, 1])) / np.maximum(np.diff(X[order, 0]), 1e-2)
    assert np.median(steps) < 3


@pytest.mark.parametrize("sem", get_args(Sem))
@pytest.mark.parametrize("noise", get_args(Noise))
def test_fewer_rows_are_a_prefix_of_more_rows(sem, noise):
    more = simulate(10, 300, sem=sem, noise=noise, random_state=8).X
    for n in (1, 63, 64, 65, 200):
        fewer = simulate(10, n, sem=sem, noise=noise, random_state=8).X
        if sem.startswith("gp"):
            assert np.allclose(fewer, more[:n], rtol=0, atol=1e-8)
        else:
            assert fewer.tobytes() == more[:n].tobytes()


def test_ingredients_have_streams_of_their_own():
    base = simulate(10, 50, random_state=3)
    assert simulate(10, 50, noise="gumbel", random_state=3).graph == base.graph
    assert simulate(10, 50, sem="cos", random_state=3).graph == base.graph
    assert np.array_equal(simulate(10, 50, sem="gp", random_state=3).graph.adjacency, base.graph.adjacency)
    unequal = simulate(10, 50, variances=(1, 2), random_state=3)
    assert unequal.graph == base.graph
    independent = np.linalg.solve(np.eye(10) - base.graph.weights.T, np.eye(10))
    assert np.allclose(unequal.X @ np.linalg.inv(independent.T) / unequal.scale, base.X @ np.linalg.inv(independent.T))
    halved = simulate(10, 50, weight_range=(0.25, 1.0), random_state=3)
    assert np.allclose(halved.graph.weights, base.graph.weights / 2)


def test_linear_and_nonlinear_rows_have_the_same_noise():
    empty = np.zeros((4, 4))
    assert np.array_equal(linear_sem(empty, 20, random_state=1), nonlinear_sem(empty, 20, "mim", random_state=1))


def test_edges_without_coefficients_have_weight_one():
    assert set(np.unique(simulate(10, 5, sem="mlp").graph.weights)) == {0.0, 1.0}


def test_nonlinear_mechanisms_use_the_edges_or_the_weights():
    for kind in get_args(Nonlinear):
        single = nonlinear_sem(CHAIN, 30, kind, random_state=2)
        double = nonlinear_sem(2 * CHAIN, 30, kind, random_state=2)
        assert np.array_equal(single, double) == (kind not in ("cos", "sin"))


@pytest.mark.parametrize("noise", get_args(Noise))
def test_the_scale_multiplies_the_noise_of_its_node(noise):
    one = linear_sem(np.zeros((2, 2)), 30, noise=noise, random_state=6)
    scaled = linear_sem(np.zeros((2, 2)), 30, noise=noise, scale=[2.0, 3.0], random_state=6)
    assert np.array_equal(scaled, one * [2.0, 3.0])


def test_variances_are_squares_of_the_scale():
    assert np.array_equal(simulate(5, 2).scale, np.ones(5))
    drawn = simulate(400, 2, graph="ER1", variances=(0.5, 10)).scale ** 2
    assert 0.5 <= drawn.min() < 1 and 9 < drawn.max() <= 10
    assert np.allclose(simulate(5, 2, variances=[1, 4, 9, 16, 25]).scale, [1, 2, 3, 4, 5])
    assert np.allclose(simulate(5, 2, variances=np.full(5, 4.0)).scale, 2)


@pytest.mark.parametrize("variances", [(2, 1), (0, 1), (1, 2, 3), [1, 2], [1, 2, 3, 4, -5], None, np.inf])
def test_wrong_variances_are_refused(variances):
    with pytest.raises(InputError, match=r"give 'equal', a tuple \(low, high\) or 5 numbers"):
        simulate(5, 10, variances=variances)
    with pytest.raises(InputError, match="'equal'"):
        simulate(5, 10, variances="unequal")


@pytest.mark.parametrize("scale", [0, -1, math.nan, math.inf, [1, 2], [[1, 2, 3]]])
def test_wrong_scales_are_refused(scale):
    with pytest.raises(InputError, match="give one positive number, or 3 of them"):
        linear_sem(CHAIN, 5, scale=scale)
    with pytest.raises(InputError, match="give one positive number, or 3 of them"):
        population_covariance(CHAIN, scale)


def test_unknown_words_are_refused_with_the_accepted_ones():
    with pytest.raises(InputError, match="gaussian, exponential, gumbel"):
        linear_sem(CHAIN, 5, noise="cauchy")
    with pytest.raises(InputError, match="gaussian, exponential, gumbel"):
        population_covariance(CHAIN, noise="cauchy")
    with pytest.raises(InputError, match="cos, sin, mlp, mim, gp, gp-add"):
        nonlinear_sem(CHAIN, 5, "linear")
    with pytest.raises(InputError, match=r"sem has to be one of linear, .*; got 'quadratic'"):
        simulate(5, 10, sem="quadratic")


def test_a_cyclic_matrix_is_refused():
    with pytest.raises(CycleError):
        linear_sem([[0, 1], [1, 0]], 5)


def test_standardized_columns():
    raw, standard = simulate(8, 500, random_state=1), simulate(8, 500, standardize=True, random_state=1)
    assert np.allclose(standard.X.mean(axis=0), 0, atol=1e-12) and np.allclose(standard.X.std(axis=0), 1)
    assert standard.graph == raw.graph
    assert np.allclose(np.corrcoef(standard.X.T), np.corrcoef(raw.X.T))
    with pytest.raises(InputError, match="at least 2 rows"):
        simulate(8, 1, standardize=True)


def test_a_simulation_is_read_only_and_named():
    simulation = simulate(5, 10)
    assert simulation.names == simulation.graph.names == ("x0", "x1", "x2", "x3", "x4")
    assert isinstance(simulation.graph, Dag)
    for array in (simulation.X, simulation.scale):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        simulation.X = 0


def test_a_seed_sequence_is_not_changed_and_a_generator_is_consumed():
    sequence = np.random.SeedSequence(12)
    first, second = simulate(6, 5, random_state=sequence), simulate(6, 5, random_state=sequence)
    assert np.array_equal(first.X, second.X) and sequence.n_children_spawned == 0
    assert np.array_equal(first.X, simulate(6, 5, random_state=12).X)
    assert np.array_equal(first.X, simulate(6, 5, random_state=np.int32(12)).X)
    generator = np.random.default_rng(12)
    state = generator.bit_generator.state
    third, fourth = simulate(6, 5, random_state=generator), simulate(6, 5, random_state=generator)
    assert np.array_equal(first.X, third.X) and not np.array_equal(third.X, fourth.X)
    assert generator.bit_generator.state == state


def test_children_already_spawned_are_not_used_again():
    sequence = np.random.SeedSequence(12)
    fresh = random_dag(10, "ER2", sequence)
    child = sequence.spawn(1)[0]
    assert np.array_equal(fresh, random_dag(10, "ER2", np.random.SeedSequence(12)))
    assert not np.array_equal(fresh, random_dag(10, "ER2", sequence))
    assert not np.array_equal(random_dag(10, "ER2", child), random_dag(10, "ER2", sequence))


def test_the_global_random_state_is_neither_read_nor_changed():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    simulate(6, 5, sem="gp-add")
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize("random_state", [-1, 1.0, None, "0", True, [1, 2]])
def test_other_random_states_are_refused(random_state):
    with pytest.raises(InputError, match="random_state has to be a whole number, at least 0"):
        simulate(5, 10, random_state=random_state)


def test_arguments_are_not_changed():
    weights, scale = CHAIN.copy(), np.array([1.0, 2.0, 3.0])
    nonlinear_sem(weights, 20, "sin", scale=scale)
    random_weights(weights)
    assert np.array_equal(weights, CHAIN) and np.array_equal(scale, [1, 2, 3])


def test_a_dag_and_its_weights_give_the_same_rows():
    assert np.array_equal(linear_sem(Dag(CHAIN, ["a", "b", "c"]), 9), linear_sem(CHAIN.tolist(), 9))


@pytest.mark.parametrize("noise", ["laplace", "uniform", "t5", "t3"])
def test_further_laws_of_noise_have_unit_variance_and_their_shape(noise):
    n = 400_000
    X = linear_sem(np.zeros((1, 1)), n, noise=noise, random_state=1)
    np.testing.assert_array_equal(X[:100], linear_sem(np.zeros((1, 1)), 100, noise=noise, random_state=1))
    law = {"laplace": stats.laplace(scale=0.5**0.5), "uniform": stats.uniform(-(3**0.5), 2 * 3**0.5)}
    law |= {"t5": stats.t(5, scale=0.6**0.5), "t3": stats.t(3, scale=(1 / 3) ** 0.5)}
    assert law[noise].var() == pytest.approx(1.0)
    # The Kolmogorov distance of n draws exceeds 2.5/√n once in 130 000 times.
    assert stats.kstest(X[:, 0], law[noise].cdf).statistic < 2.5 / n**0.5

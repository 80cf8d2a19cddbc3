"""The exact search against all graphs of few columns, one by one, scored by fresh regressions."""

from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete.exact import LARGEST_EXACT, exact_memory, find_best_graph
from acyclic.discrete.order import equal_variance_order
from acyclic.discrete.search import search_orders
from acyclic.discrete.selection import ParentCriterion, noise_shares
from acyclic.errors import InputError
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import find_cpdag
from acyclic.scores.local import TOLERANCE, gaussian_bic, price_of_parent
from discrete.test_selection import sample


def rounding(moments):
    """n log(share) of well-conditioned columns is exact to n times some hundred roundings; ties may take TOLERANCE."""
    return 1e-12 * moments.n * len(moments.names) + TOLERANCE


@cache
def all_dags(d):
    """Parents of each node as bits, one row for each DAG of d nodes."""
    grids = np.meshgrid(*[[s for s in range(2**d) if not s >> j & 1] for j in range(d)], indexing="ij")
    parents = np.stack([grid.ravel() for grid in grids], axis=1)
    taken = np.zeros(len(parents), dtype=int)
    for _ in range(d):
        for j in range(d):
            taken |= (parents[:, j] & ~taken == 0).astype(int) << j
    return parents[taken == 2**d - 1]


def has_edge(dags, i, j):
    return (dags[:, j] >> i & 1).astype(bool)


def rank(R, nodes):
    return int(np.linalg.matrix_rank(R[np.ix_(nodes, nodes)], tol=1e-9, hermitian=True)) if nodes else 0


def local_scores(R, n, c, unit=None, mask=None, most=None):
    """(d, 2^d): every node given every set; inf where the set is against the rules or holds dependent columns.

    Required parents may depend on each other; then as many are paid as are not determined.
    """
    d = len(R)
    scores = np.full((d, 2**d), np.inf)
    for j in range(d):
        for code in range(2**d):
            parents = [i for i in range(d) if code >> i & 1]
            must = [] if mask is None else np.flatnonzero(mask.required[:, j]).tolist()
            paid = rank(R, must) + len(parents) - len(must)
            legal = j not in parents and set(must) <= set(parents) and paid <= max(most, rank(R, must))
            legal = legal and (mask is None or mask.allowed[parents, j].all())
            if legal and rank(R, parents) == paid:
                explained = R[j, parents] @ np.linalg.pinv(R[np.ix_(parents, parents)], rcond=1e-9) @ R[parents, j]
                left = max(R[j, j] - explained, 1e-12)
                misfit = 0 if R[j, j] <= 0 else n * np.log(left) if unit is None else n * left / unit[j]
                scores[j, code] = misfit + c * paid
    return scores


def by_hand(moments, penalty="ebic", noise="unequal", mask=None, max_parents=None):
    """All DAGs and their scores."""
    criterion = ParentCriterion.of(moments, penalty, mask, max_parents)
    unit = noise_shares(noise, criterion, equal_variance_order(moments, mask))
    scores = local_scores(criterion.correlation, criterion.n, criterion.penalty, unit, mask, criterion.max_parents)
    dags = all_dags(len(moments.names))
    return dags, scores[np.arange(len(moments.names)), dags].sum(axis=1)


def adjacency_of(row):
    return np.array([[row[j] >> i & 1 for j in range(len(row))] for i in range(len(row))], dtype=bool)


def check_all(moments, **options):
    """Score, graph, margins and alternatives are those of all graphs, one by one."""
    found, (dags, totals) = find_best_graph(moments, **options, within=np.inf), by_hand(moments, **options)
    d, close = len(moments.names), {"rel": 0, "abs": rounding(moments)}
    assert found.score == pytest.approx(totals.min(), **close)
    codes = (found.adjacency.T.astype(int) << np.arange(d)).sum(axis=1)
    index = np.flatnonzero((dags == codes).all(axis=1))
    assert totals[index] == pytest.approx(found.score, **close)
    assert not np.tril(found.adjacency[np.ix_(found.order, found.order)]).any()
    for i in range(d):
        for j in range(d):
            if i != j:
                lowest = totals[has_edge(dags, i, j)].min() - totals.min()
                assert found.with_edge[i, j] == pytest.approx(lowest, **close)
                lowest = totals[~has_edge(dags, i, j) & ~has_edge(dags, j, i)].min() - totals.min()
                assert found.without_edge[i, j] == pytest.approx(lowest, **close)
    np.testing.assert_array_equal(np.isnan(found.turned), ~found.adjacency)
    np.testing.assert_array_equal(found.turned[found.adjacency], found.with_edge.T[found.adjacency])
    np.testing.assert_array_equal(found.left_out[found.adjacency], found.without_edge[found.adjacency])
    check_classes(found, dags, totals, options.get("noise") == "equal", close)
    return found


def class_of(adjacency, one_graph):
    return (adjacency if one_graph else find_cpdag(adjacency).arcs).tobytes()


def check_classes(found, dags, totals, one_graph, close):
    own, scores = class_of(found.adjacency, one_graph), {tuple(row): total for row, total in zip(dags, totals)}
    # Of several hundred rows the best come first: the first of another class is the second best class.
    ranked = np.argsort(totals, kind="stable")
    others = (totals[k] for k in ranked if class_of(adjacency_of(dags[k]), one_graph) != own)
    assert found.second == pytest.approx(next(others, np.inf) - totals.min(), **close)
    classes = [class_of(other.adjacency, one_graph) for other in found.alternatives]
    assert len(set(classes)) == len(classes) and own not in classes
    for other in found.alternatives:
        codes = (other.adjacency.T.astype(int) << np.arange(dags.shape[1])).sum(axis=1)
        assert scores[tuple(codes)] == pytest.approx(found.score + other.excess, **close)
    excesses = [other.excess for other in found.alternatives]
    assert excesses == sorted(excesses)
    if np.isfinite(found.second):
        assert excesses[0] == pytest.approx(found.second, **close)


@pytest.mark.parametrize("noise", ["unequal", "equal"])
@pytest.mark.parametrize(("d", "n", "seed"), [(1, 5, 0), (2, 30, 0), (3, 50, 1), (4, 80, 2), (4, 500, 3)])
def test_all_graphs_of_few_columns(d, n, seed, noise):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + np.triu(rng.uniform(-1, 1, (d, d)), 1))
    check_all(Moments.from_array(X), noise=noise)


@pytest.mark.parametrize("seed", range(2))
def test_all_graphs_of_five_columns(seed):
    _, moments = sample(5, 120, seed, graph="ER2")
    check_all(moments, penalty="bic")


EDGES = [
    Knowledge(required=[("x3", "x0"), ("x0", "x2")]),
    Knowledge(forbidden=[("x0", "x1"), ("x1", "x0"), ("x2", "x3")]),
    Knowledge(tiers=[["x3"], ["x1", "x2"], ["x0"]]),
    Knowledge(required=[("x1", "x0"), ("x2", "x0"), ("x3", "x0")], forbidden=[("x1", "x2")]),
]


@pytest.mark.parametrize("max_parents", [None, 0, 1, 2])
@pytest.mark.parametrize("knowledge", EDGES)
def test_all_graphs_that_knowledge_allows(knowledge, max_parents):
    _, moments = sample(4, 100, 5, graph="ER1")
    mask = knowledge.compile(moments.names)
    found = check_all(moments, mask=mask, max_parents=max_parents)
    assert mask.check(found.adjacency) == []
    place = np.argsort(found.order)
    assert all(place[i] < place[j] for i, j in np.argwhere(mask.must_precede))


@pytest.mark.parametrize("noise", ["unequal", "equal"])
def test_all_graphs_of_columns_that_determine_each_other(noise):
    X = np.random.default_rng(0).standard_normal((40, 2))
    check_all(Moments.from_array(np.c_[X, X[:, 0] + X[:, 1], X[:, 0]]), noise=noise)
    check_all(Moments.from_array(np.c_[X[:, 0], np.ones(40), X[:, 0] + X[:, 1]]), noise=noise)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_all_graphs_of_fewer_rows_than_columns(n):
    check_all(Moments.from_array(np.random.default_rng(n).standard_normal((n, 4))))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_all_graphs_of_any_small_table(data):
    d, n = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 9))
    rows = data.draw(st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=n, max_size=n))
    rules = data.draw(st.lists(st.sampled_from(["free", "free", "forward", "back", "apart", "required"]), min_size=6))
    allowed, required = ~np.eye(d, dtype=bool), np.zeros((d, d), dtype=bool)
    for (i, j), rule in zip(combinations(range(d), 2), rules):
        allowed[i, j] = rule in ("free", "forward", "required")
        allowed[j, i] = rule in ("free", "back")
        required[i, j] = rule == "required"
    moments = Moments.from_array(np.array(rows, dtype=float))
    limits = (np.broadcast_to(limit, (d, d)) for limit in (-np.inf, np.inf))
    check_all(
        moments,
        penalty=data.draw(st.sampled_from(["bic", "ebic", 0.5])),
        noise=data.draw(st.sampled_from(["unequal", "equal"])),
        mask=Mask(moments.names, allowed, required, *limits),
        max_parents=data.draw(st.none() | st.integers(0, 3)),
    )


@pytest.mark.parametrize(("d", "graph"), [(6, "ER2"), (7, "ER3")])
def test_all_orders_of_some_columns(d, graph):
    _, moments = sample(d, 150, d, graph=graph, variances=(0.5, 4.0))
    criterion = ParentCriterion.of(moments, "ebic", None, None)
    best = local_scores(criterion.correlation, criterion.n, criterion.penalty, most=criterion.max_parents)
    for i in range(d):
        for code in range(2**d):
            best[:, code] = np.minimum(best[:, code], best[:, code & ~(1 << i)])
    orders = np.array(list(permutations(range(d))))
    before = np.cumsum(1 << orders, axis=1) - (1 << orders)
    found = find_best_graph(moments)
    assert found.score == pytest.approx(best[orders, before].sum(axis=1).min(), rel=0, abs=rounding(moments))
    assert found.score == pytest.approx(gaussian_bic(moments, found.adjacency, "ebic"), rel=0, abs=rounding(moments))


def test_score_and_weights_are_those_of_the_graph():
    _, moments = sample(12, 300, 4, graph="ER3", variances=(0.5, 4.0))
    for penalty in ("bic", "strong", "ebic", 3.0):
        found = find_best_graph(moments, penalty)
        assert found.penalty == price_of_parent(penalty, 300, 12)
        assert found.score == pytest.approx(gaussian_bic(moments, found.adjacency, penalty), rel=1e-11)
        np.testing.assert_array_equal(found.weights != 0, found.adjacency)
        assert not np.tril(found.adjacency[np.ix_(found.order, found.order)]).any()
        Dag(found.weights)


@pytest.mark.parametrize("noise", ["unequal", "equal"])
@pytest.mark.parametrize("seed", range(4))
def test_no_order_search_does_better(seed, noise):
    _, moments = sample(11, 100, seed, graph="ER4", variances=(0.5, 4.0), standardize=True)
    start = equal_variance_order(moments)
    best = find_best_graph(moments, noise=noise, margins=False)
    assert search_orders(moments, [start], noise=noise, effort=0.01, random_state=seed).score >= best.score - rounding(
        moments
    )


def test_margins_are_what_another_search_finds():
    """Each number of the table of margins, by a search that is held to the edge."""
    _, moments = sample(8, 200, 3, graph="ER3", variances=(0.5, 4.0))
    best, close = find_best_graph(moments), {"rel": 0, "abs": rounding(moments)}
    for i, j in np.argwhere(best.adjacency).tolist():
        turned = find_best_graph(moments, present=[(j, i)], margins=False)
        assert turned.adjacency[j, i] and turned.score - best.score == pytest.approx(best.turned[i, j], **close)
        without = find_best_graph(moments, absent=[(i, j)], margins=False)
        assert not (without.adjacency | without.adjacency.T)[i, j]
        assert without.score - best.score == pytest.approx(best.left_out[i, j], **close)
    assert np.isnan(turned.with_edge).all() and np.isnan(turned.second) and turned.alternatives == ()


def test_only_alternatives_within_the_limit_are_given():
    _, moments = sample(7, 100, 1, graph="ER3")
    everything, near = find_best_graph(moments, within=40.0), find_best_graph(moments)
    kept = [other.excess for other in everything.alternatives if other.excess <= np.log(100)]
    assert [other.excess for other in near.alternatives] == kept
    assert len(everything.alternatives) > len(kept) > 0


def test_a_required_parent_that_others_determine_costs_nothing():
    """As in forward selection: it explains nothing, so that no weight of it is estimated."""
    X = np.random.default_rng(1).standard_normal((60, 3))
    moments = Moments.from_array(np.c_[X[:, 0], X[:, 0], X[:, 1], X @ [1.0, 1.0, 0.3]])
    mask = Knowledge(required=[("x0", "x3"), ("x1", "x3")]).compile(moments.names)
    found = find_best_graph(moments, mask=mask)
    assert found.adjacency[:2, 3].all()
    order = search_orders(moments, mask=mask, effort=0.05)
    assert found.score == pytest.approx(order.score, rel=0, abs=rounding(moments))


def test_threads_change_no_bit():
    _, moments = sample(10, 200, 2, graph="ER3")
    one, many = (find_best_graph(moments, threads=threads, within=20.0) for threads in (1, 3))
    for name in ("adjacency", "weights", "with_edge", "without_edge"):
        assert getattr(one, name).tobytes() == getattr(many, name).tobytes()
    assert (one.score, one.second, len(one.alternatives)) == (many.score, many.second, len(many.alternatives))


def test_units_and_the_order_of_the_columns_do_not_change_the_class():
    rng, (_, moments) = np.random.default_rng(0), sample(9, 200, 6, graph="ER3")
    best = find_best_graph(moments)
    for _ in range(5):
        shuffle = rng.permutation(9)
        shuffled = moments.scaled(10 ** rng.uniform(-3, 3, 9)).select([moments.names[k] for k in shuffle])
        found = find_best_graph(shuffled)
        assert found.score == pytest.approx(best.score, rel=0, abs=rounding(moments))
        back = np.ix_(np.argsort(shuffle), np.argsort(shuffle))
        assert find_cpdag(found.adjacency[back]) == find_cpdag(best.adjacency)
        np.testing.assert_allclose(found.with_edge[back], best.with_edge, rtol=0, atol=rounding(moments))


def test_equivalent_graphs_are_told_apart_by_the_place_of_the_columns():
    """All orders of a chain's class score the same: the first columns come first, whatever rounding says."""
    moments = Moments(1000, np.zeros(3), 0.5 ** np.abs(np.subtract.outer(np.arange(3), np.arange(3))))
    for units in ([1, 1, 1], [3, 7, 1.1], [1e-3, 0.7, 1e5]):
        assert np.argwhere(find_best_graph(moments.scaled(units)).adjacency).tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("noise", [1e-3, 1e-4, 1e-5])
def test_rounding_decides_nothing_where_columns_are_nearly_functions_of_others(noise):
    """Shares of 1e-6 to 1e-10 are left: scores of equivalent graphs differ by far more than usual."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 6))
    X[:, 3] = X[:, 0] + X[:, 1] + noise * X[:, 3]
    X[:, 5] = X[:, 2] - X[:, 3] + noise * X[:, 5]
    best = find_best_graph(Moments.from_array(X))
    for _ in range(8):
        units = 10 ** rng.uniform(-2, 2, 6)
        found = find_best_graph(Moments.from_array(X * units))
        np.testing.assert_array_equal(found.adjacency, best.adjacency)
        assert found.score == pytest.approx(best.score, rel=0, abs=best.rounding)


def test_wine_is_proved_in_every_order():
    from sklearn.datasets import load_wine

    X, rng = load_wine().data, np.random.default_rng(0)
    scores = {round(find_best_graph(Moments.from_array(X[:, rng.permutation(13)])).score, 5) for _ in range(3)}
    assert len(scores) == 1


def test_a_deadline_ends_it():
    _, moments = sample(17, 200, 0)
    with pytest.raises(Stopped):
        find_best_graph(moments, deadline=Deadline(0.0))


def test_memory_is_told_beforehand():
    assert exact_memory(LARGEST_EXACT) == 8 * 2**19 * 26
    assert exact_memory(10, threads=4) > exact_memory(10) > exact_memory(10, margins=False) == 8 * 2**9 * 12


def test_what_cannot_be_is_refused():
    _, moments = sample(3, 20, graph="ER1")
    mask = Knowledge(required=[("x0", "x1")], forbidden=[("x2", "x1")]).compile(moments.names)
    wrong = [
        ({"noise": "some"}, "noise is 'some'"),
        ({"threads": 0}, "threads is 0"),
        ({"present": [(0, 3)]}, "is none"),
        ({"absent": [(1, 1)]}, "is none"),
        ({"present": [(0, 1), (1, 0)]}, "no graph"),
        ({"present": [(2, 1)], "mask": mask}, "the mask is against"),
        ({"absent": [(1, 0)], "mask": mask}, "the mask is against"),
    ]
    for options, message in wrong:
        with pytest.raises(InputError, match=message):
            find_best_graph(moments, **options)
    with pytest.raises(InputError, match="there are 25 columns"):
        find_best_graph(Moments(100, np.zeros(25), np.eye(25)))

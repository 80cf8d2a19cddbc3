import numpy as np
import pytest

from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.discrete.selection import select_parents
from acyclic.errors import InputError
from acyclic.scores.local import price_of_parent


def sample(d=8, n=300, seed=0, graph="ER2", **options):
    data = simulate(d, n, graph=graph, random_state=seed, **options)
    return data, Moments.from_array(data.X)


def left_over(R, target, parents):
    parents = list(parents)
    if not parents:
        return R[target, target]
    return R[target, target] - R[target, parents] @ np.linalg.solve(R[np.ix_(parents, parents)], R[parents, target])


def cost(R, target, parents, n, c, share=None):
    left = left_over(R, target, parents)
    return (n * np.log(left) if share is None else n * left / share) + c * len(parents)


def naive_parents(R, target, candidates, n, c, detours=5, share=None, locked=()):
    """Forward–backward selection by fresh solves; the best set of those where forward selection found nothing."""
    chosen, best, tried = list(locked), None, 0
    while True:
        free = [i for i in candidates if i not in chosen]
        costs = {i: cost(R, target, [*chosen, i], n, c, share) for i in free}
        now, pick = cost(R, target, chosen, n, c, share), min(costs, key=costs.get, default=None)
        if pick is not None and costs[pick] < now:
            tried = 0
        else:
            kept = backward(R, target, chosen, n, c, share, locked)
            if best is None or cost(R, target, kept, n, c, share) < cost(R, target, best, n, c, share):
                best = kept
            gain = 0 if pick is None else left_over(R, target, chosen) - left_over(R, target, [*chosen, pick])
            needed = c * share / n if share else -left_over(R, target, chosen) * np.expm1(-c / n)
            if tried == detours or gain <= 0.1 * needed:
                return best
            tried += 1
        chosen.append(pick)


def backward(R, target, parents, n, c, share, locked):
    kept = list(parents)
    while len(kept) > len(locked):
        options = [[i for i in kept if i != drop] for drop in kept if drop not in locked]
        lowest = min(options, key=lambda option: cost(R, target, option, n, c, share))
        if cost(R, target, lowest, n, c, share) > cost(R, target, kept, n, c, share):
            break
        kept = lowest
    return kept


def naive_support(moments, order, c, shares=None):
    R = moments.standardized().covariance
    support = np.zeros(R.shape, bool)
    for k, target in enumerate(order):
        share = None if shares is None else shares[target]
        support[naive_parents(R, target, list(order[:k]), moments.n, c, share=share), target] = True
    return support


@pytest.mark.parametrize("seed", range(12))
def test_selection_is_that_of_the_naive_form(seed):
    d = 5 + seed
    _, moments = sample(d, 60 + 20 * seed, seed)
    order = np.random.default_rng(seed).permutation(d)
    weights = select_parents(moments, order, "bic")
    np.testing.assert_array_equal(weights != 0, naive_support(moments, order, np.log(moments.n)))


@pytest.mark.parametrize("seed", range(6))
def test_selection_under_a_common_variance_is_that_of_the_naive_form(seed):
    _, moments = sample(10, 200, seed)
    order = np.random.default_rng(seed).permutation(10)
    c, S, n = price_of_parent("strong", 200, 10), moments.covariance, moments.n
    first = select_parents(moments, order, "strong")
    residual = np.diag((np.eye(10) - first).T @ S @ (np.eye(10) - first))
    common = n * residual.sum() / (n - 1 - np.count_nonzero(first, axis=0)).sum()
    weights = select_parents(moments, order, "strong", noise="equal")
    np.testing.assert_array_equal(weights != 0, naive_support(moments, order, c, common / np.diag(S)))


def exact_cost(R, target, parents, n, c):
    """As `cost`, by a Cholesky factor in long doubles."""
    nodes = [*parents, target]
    S = R[np.ix_(nodes, nodes)].astype(np.longdouble)
    for k in range(len(parents)):
        S[k + 1 :, k + 1 :] -= np.outer(S[k + 1 :, k], S[k, k + 1 :]) / S[k, k]
    return float(n * np.log(S[-1, -1]) + c * len(parents))


@pytest.mark.parametrize("near", [1e-2, 10**-3.3, 1e-4])
@pytest.mark.parametrize("seed", range(4))
def test_nearly_collinear_parents_are_dropped_as_by_fresh_solves(seed, near, monkeypatch):
    """Copies with a little noise: the precision of a parent is up to near**-2."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((400, 6))
    X = np.column_stack([X, X[:, :5] + near * rng.standard_normal((400, 5)), X.sum(axis=1) + rng.standard_normal(400)])
    moments = Moments.from_array(X)
    R, n, d = moments.correlation(), moments.n, X.shape[1]
    c = price_of_parent("ebic", n, d)
    order = np.concatenate([rng.permutation(d - 1), [d - 1]])
    weights = select_parents(moments, order)
    monkeypatch.setitem(globals(), "cost", lambda R, target, parents, n, c, share: exact_cost(R, target, parents, n, c))
    for k, target in enumerate(order):
        naive = naive_parents(R, target, order[:k].tolist(), n, c)
        ours = np.flatnonzero(weights[:, target])
        # Errors of a drop are p eps of the price of a parent, p below 1e9.
        assert exact_cost(R, target, ours, n, c) <= exact_cost(R, target, naive, n, c) + 1e-6 * c


def test_weights_are_least_squares_on_the_rows():
    data, moments = sample(12, 150, 3)
    weights = select_parents(moments, data.graph.order, "bic")
    X = data.X - data.X.mean(axis=0)
    for target in range(12):
        parents = np.flatnonzero(weights[:, target])
        expected = np.linalg.lstsq(X[:, parents], X[:, target])[0]
        np.testing.assert_allclose(weights[parents, target], expected, rtol=1e-8)


def test_parents_whose_effects_cancel_are_found():
    rng = np.random.default_rng(0)
    a = rng.standard_normal(1000)
    b = a + 0.1 * rng.standard_normal(1000)
    y = a - b + 0.02 * rng.standard_normal(1000)
    weights = select_parents(Moments.from_array(np.c_[a, b, y]), [0, 1, 2])
    np.testing.assert_allclose(weights[:, 2], [1, -1, 0], atol=0.05)


def test_the_true_order_gives_the_true_graph():
    data, moments = sample(50, 2000, 1, variances=(0.5, 4.0))
    np.testing.assert_array_equal(select_parents(moments, data.graph.order) != 0, data.graph.adjacency)


def test_the_number_of_threads_does_not_matter():
    data, moments = sample(200, 500, 2)
    one, three = (select_parents(moments, data.graph.order, threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_selection_follows_a_permutation_of_the_columns():
    data, moments = sample(20, 400, 5)
    weights, shuffle = select_parents(moments, data.graph.order), np.random.default_rng(0).permutation(20)
    shuffled = moments.select([moments.names[column] for column in shuffle])
    again = select_parents(shuffled, np.argsort(shuffle)[data.graph.order])
    np.testing.assert_allclose(again, weights[np.ix_(shuffle, shuffle)], atol=1e-10)


def test_units_do_not_matter():
    data, moments = sample(30, 500, 6)
    factors = 10 ** np.random.default_rng(1).uniform(-3, 3, 30)
    scaled = select_parents(moments.scaled(factors), data.graph.order)
    np.testing.assert_allclose(
        scaled, select_parents(moments, data.graph.order) * factors / factors[:, None], rtol=1e-8
    )


@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_required_parents_are_kept_and_forbidden_ones_never_chosen(noise):
    data, moments = sample(10, 400, 4)
    absent = np.argwhere(np.triu(~data.graph.adjacency[np.ix_(data.graph.order, data.graph.order)], 1))
    names, order = moments.names, data.graph.order
    required = [(names[order[i]], names[order[j]]) for i, j in absent[:4]]
    present = [edge[:2] for edge in data.graph.edges()][:4]
    mask = Knowledge(required=required, forbidden=present).compile(names)
    weights = select_parents(moments, order, noise=noise, mask=mask)
    assert mask.check(weights) == []
    assert not mask.check(select_parents(moments, order, mask=mask, max_parents=0))


def test_required_parents_do_not_count_as_selected():
    _, moments = sample(6, 200, 0)
    mask = Knowledge(required=[("x0", "x5"), ("x1", "x5")]).compile(moments.names)
    weights = select_parents(moments, np.arange(6), "bic", mask=mask, max_parents=1)
    assert {0, 1} <= set(np.flatnonzero(weights[:, 5]))
    assert np.count_nonzero(weights[:, 5]) <= 3


def test_weights_stay_within_their_bounds():
    data, moments = sample(10, 400, 4)
    edge = data.graph.edges()[0]
    mask = Knowledge(signs={edge[:2]: "-" if edge[2] > 0 else "+"}).compile(moments.names)
    assert mask.check(select_parents(moments, data.graph.order, mask=mask)) == []


def test_max_parents_is_the_most_that_are_taken():
    _, moments = sample(15, 400, 4, graph="ER4")
    weights = select_parents(moments, np.arange(15), "bic", max_parents=2)
    assert np.count_nonzero(weights, axis=0).max() == 2


@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_degenerate_columns(noise):
    X = np.random.default_rng(0).standard_normal((30, 5))
    table = np.c_[X, X[:, 0], np.ones(30), X[:, 1] + X[:, 2], X[:, 0] * 1e-8]
    weights = select_parents(Moments.from_array(table), np.arange(9), "bic", noise=noise)
    assert np.isfinite(weights).all()
    assert not weights[6].any() and not weights[:, 6].any()
    np.testing.assert_allclose(weights[:, 5], np.eye(9)[0], atol=1e-6)
    np.testing.assert_allclose(weights[:, 7], np.eye(9)[1] + np.eye(9)[2], atol=1e-6)


@pytest.mark.parametrize(("d", "n"), [(1, 5), (2, 2), (2, 3), (40, 10), (60, 30)])
@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_few_rows_and_few_columns(d, n, noise):
    X = np.random.default_rng(d).standard_normal((n, d))
    weights = select_parents(Moments.from_array(X), np.arange(d), "bic", noise=noise)
    assert np.isfinite(weights).all()
    assert np.count_nonzero(weights, axis=0).max() <= max(0, (n - 1) // 2)


def test_a_required_edge_without_a_weight_has_none_here_and_one_after_the_judge():
    moments = Moments.from_array(np.c_[np.ones(9), np.arange(9.0)], names=["flat", "rise"])
    mask = Knowledge(required=[("flat", "rise")]).compile(moments.names)
    weights = select_parents(moments, [0, 1], mask=mask)
    assert not weights.any() and mask.fill_required(weights)[0, 1] != 0


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0.0, 1.0, 2.0], [1, 2, 3], [[0, 1, 2]]])
def test_an_order_that_is_none_is_refused(order):
    _, moments = sample(3, 20, graph="ER1")
    with pytest.raises(InputError, match="each of the 3 columns"):
        select_parents(moments, order)


def test_wrong_arguments_are_refused():
    _, moments = sample(3, 20, graph="ER1")
    mask = Knowledge(required=[("x0", "x2")]).compile(moments.names)
    with pytest.raises(InputError, match="against the required edge 'x0' → 'x2'"):
        select_parents(moments, [2, 1, 0], mask=mask)
    with pytest.raises(InputError, match="noise is 'both'"):
        select_parents(moments, [0, 1, 2], noise="both")
    with pytest.raises(InputError, match="threads is 0"):
        select_parents(moments, [0, 1, 2], threads=0)
    with pytest.raises(InputError, match="max_parents is -1"):
        select_parents(moments, [0, 1, 2], max_parents=-1)
    with pytest.raises(InputError, match="other columns"):
        select_parents(moments, [0, 1, 2], mask=Knowledge().compile(["a", "b", "c"]))

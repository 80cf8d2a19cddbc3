"""The search for the best graph: what it reaches, what it depends on, what it says of rivals and how it ends."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acyclic
from acyclic._native import OrderChain
from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.deadline import Deadline, Stopped
from acyclic.discrete import search as search_module
from acyclic.discrete.exact import LARGEST_EXACT, find_best_graph
from acyclic.discrete.order import equal_variance_order, polish
from acyclic.discrete.search import canonical_order, search_graph, search_orders
from acyclic.discrete.selection import select_parents
from acyclic.errors import InputError
from acyclic.facts import Ended, Fact
from acyclic.graphs.dag import Dag
from acyclic.graphs.equivalence import find_cpdag
from acyclic.graphs.metrics import shd, shd_cpdag
from acyclic.scores.local import gaussian_bic, price_of_parent
from discrete.test_order import KNOWLEDGE, ROWS, neighbours, obeys
from discrete.test_selection import cost, naive_parents, sample

# Scores are sums of logarithms of some thousand: rounding is far below, and the search itself calls this a tie.
TIE = 1e-6
UNEQUAL = {"variances": (0.5, 4.0)}


def order_cost(R, order, n, c):
    """The search's own criterion: forward selection with five detours, by fresh solves."""
    return sum(cost(R, target, naive_parents(R, target, list(order[:k]), n, c), n, c) for k, target in enumerate(order))


def dense(d, n, seed):
    """Columns that all depend on each other: many local optima."""
    rng = np.random.default_rng(seed)
    return Moments.from_array(rng.standard_normal((n, d)) @ rng.standard_normal((d, d)))


def classes(found):
    return find_cpdag(found.weights != 0).arcs.tobytes()


@pytest.mark.parametrize("seed", range(10))
def test_a_descent_ends_where_no_insertion_helps(seed):
    _, moments = sample(6, 100, seed, **UNEQUAL)
    R, c = moments.standardized().covariance, np.log(100)
    start = np.random.default_rng(seed).permutation(6)
    found = search_orders(moments, [start], "bic", effort=0, random_state=seed)
    here = order_cost(R, found.order, 100, c)
    assert found.score == pytest.approx(here, abs=TIE) and here <= order_cost(R, start, 100, c) + TIE
    assert min(order_cost(R, near, 100, c) for near in neighbours(list(found.order))) >= here - 2 * TIE
    assert found.score == pytest.approx(gaussian_bic(moments, found.weights), abs=TIE)
    assert found.penalty == c and found.end.kind is Ended.NO_BETTER_MOVE
    assert found.reached == (found.score,) and found.kicks == found.generations == 0 and found.rivals is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", [lambda seed: sample(8, 100, seed, **UNEQUAL)[1], lambda seed: dense(7, 60, seed)])
def test_the_search_finds_the_best_graph_of_small_tables(make, seed):
    moments = make(seed)
    found, best = search_orders(moments, effort=0.05, random_state=seed), find_best_graph(moments)
    assert found.score == pytest.approx(gaussian_bic(moments, found.weights, "ebic"), abs=TIE)
    assert found.score == pytest.approx(best.score, abs=TIE)
    assert classes(found) == find_cpdag(best.adjacency).arcs.tobytes()


@settings(max_examples=40)
@given(st.integers(1, 7), st.integers(3, 40), st.integers(0, 10**6), st.booleans())
def test_no_search_is_below_the_best_graph_and_its_score_is_that_of_its_weights(d, n, seed, binary):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + np.triu(rng.standard_normal((d, d)), 1))
    moments = Moments.from_array(np.sign(X) if binary else X)
    best, searched = find_best_graph(moments), search_orders(moments, effort=0.001)
    assert searched.score >= best.score - best.rounding
    assert sorted(searched.order) == list(range(d))
    Dag(searched.weights)
    for found in (searched, search_graph(moments)):
        if np.linalg.cond(moments.standardized().covariance) < 1e6:
            assert found.score == pytest.approx(gaussian_bic(moments, found.weights, "ebic"), abs=1e-5)


@pytest.mark.parametrize("d", [LARGEST_EXACT - 2, LARGEST_EXACT + 1])
def test_up_to_twenty_columns_the_answer_is_proved(d):
    _, moments = sample(d, 300, 1, **UNEQUAL)
    found = search_graph(moments, effort=0.05)
    assert found.rivals.proved == (d <= LARGEST_EXACT) == (found.reached == ())
    assert found.end.kind is Ended.NO_BETTER_MOVE
    if d <= LARGEST_EXACT:
        assert found.score == pytest.approx(find_best_graph(moments, margins=False).score, abs=TIE)
    else:
        assert found.rivals.chains == len(found.reached) >= 3 and 1 <= found.rivals.agreeing <= found.rivals.chains


@pytest.mark.parametrize(("error", "kind"), [(KeyboardInterrupt(), Ended.INTERRUPTED), (None, Ended.NO_BETTER_MOVE)])
def test_who_is_told_hears_of_a_proof_too(error, kind):
    _, moments = sample(8, 100, 1, **UNEQUAL)
    told = []

    def tell(score):
        told.append(score)
        if error:
            raise error

    found = search_graph(moments, tell=tell)
    assert found.end.kind is kind and len(told) == 1 and found.score <= told[0] + TIE


def test_without_effort_nothing_is_proved():
    _, moments = sample(8, 100, 1, **UNEQUAL)
    start = [np.arange(8)]
    found, plain = search_graph(moments, start, effort=0), search_orders(moments, start, effort=0)
    assert found.rivals is None and len(found.reached) == 1
    np.testing.assert_array_equal(found.weights, plain.weights)


def test_the_score_of_the_true_graph_is_reached_on_standardised_columns():
    data, moments = sample(40, 2000, 3, **UNEQUAL, standardize=True)
    found = search_orders(moments, effort=0.2)
    assert found.score <= gaussian_bic(moments, data.graph.adjacency, "ebic") + TIE
    assert found.score == pytest.approx(gaussian_bic(moments, found.weights, "ebic"), abs=TIE)
    assert shd_cpdag(data.graph.weights, found.weights, **ROWS) <= 2


@pytest.mark.parametrize("d", [15, 30])
@pytest.mark.parametrize("seed", range(2))
def test_neither_units_nor_the_order_of_the_columns_change_the_graph(d, seed):
    _, moments = sample(d, 400, seed, **UNEQUAL)
    rng = np.random.default_rng(seed)
    shuffle = rng.permutation(d)
    one = search_graph(moments, effort=0.1)
    scaled = search_graph(moments.scaled(10 ** rng.uniform(-3, 3, d)), effort=0.1)
    shuffled = search_graph(moments.select([moments.names[column] for column in shuffle]), effort=0.1)
    for other, support in ((scaled, one.weights != 0), (shuffled, (one.weights != 0)[np.ix_(shuffle, shuffle)])):
        np.testing.assert_array_equal(other.weights != 0, support)
        assert other.score == pytest.approx(one.score, rel=1e-9)
    assert (shuffled.kicks, shuffled.reached) == (one.kicks, one.reached)
    np.testing.assert_array_equal(shuffle[shuffled.order], one.order)
    margins = one.rivals.turned[np.ix_(shuffle, shuffle)]
    np.testing.assert_allclose(shuffled.rivals.turned, margins, atol=1e-5)


def test_the_number_of_threads_changes_no_byte():
    moments = dense(25, 200, 3)
    one, other = (search_orders(moments, effort=0.2, threads=threads) for threads in (1, 2))
    assert one.generations > 0
    for name in ("order", "weights"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    for name in ("score", "reached", "kicks", "generations", "end"):
        assert getattr(one, name) == getattr(other, name)
    mine, theirs = one.rivals, other.rivals
    assert mine.turned.tobytes() == theirs.turned.tobytes() and mine.left_out.tobytes() == theirs.left_out.tobytes()
    assert [(a.adjacency.tobytes(), a.excess) for a in mine.alternatives] == [
        (a.adjacency.tobytes(), a.excess) for a in theirs.alternatives
    ]


def test_the_same_seed_gives_the_same_search():
    moments = dense(22, 200, 2)
    one, other = (search_orders(moments, effort=0.05, random_state=np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(one.order, other.order)
    np.testing.assert_array_equal(one.weights, other.weights)
    assert (one.reached, one.kicks, one.generations) == (other.reached, other.kicks, other.generations)


def test_more_effort_is_more_work_and_no_worse():
    moments = dense(25, 150, 1)
    start = [np.random.default_rng(1).permutation(25)]
    found = [search_orders(moments, start, effort=effort) for effort in (0, 0.05, 0.3)]
    assert 0 == found[0].kicks < found[1].kicks < found[2].kicks
    assert found[0].score >= found[1].score - TIE and found[1].score >= found[2].score - TIE
    assert all(one.score <= min(one.reached) + TIE for one in found)


def test_search_under_a_common_variance_mends_the_order_of_fewer_rows_than_columns():
    data, moments = sample(120, 80, 1)
    start = polish(moments, equal_variance_order(moments))
    plain = shd(data.graph.weights, select_parents(moments, start, noise="equal"), **ROWS)
    found = search_orders(moments, [start], noise="equal", effort=0)
    assert shd(data.graph.weights, found.weights, **ROWS) < plain / 2


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
@pytest.mark.parametrize("noise", ["equal", "unequal"])
@pytest.mark.parametrize("effort", [0, 0.02])
def test_search_honours_knowledge(knowledge, noise, effort):
    _, moments = sample(10, 300, 2)
    mask = knowledge.compile(moments.names)
    found = search_orders(moments, [np.arange(10)[::-1]], mask=mask, noise=noise, effort=effort)
    assert obeys(found.order, mask.must_precede)
    assert mask.check(found.weights) == []
    Dag(found.weights)
    for other in found.rivals.alternatives if found.rivals else ():
        Dag(other.adjacency.astype(float))
        assert not (other.adjacency & ~mask.allowed).any() and not (mask.required & ~other.adjacency).any()


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
def test_the_proof_honours_knowledge(knowledge):
    _, moments = sample(10, 300, 2, **UNEQUAL)
    mask = knowledge.compile(moments.names)
    found = search_graph(moments, mask=mask)
    assert found.rivals.proved and obeys(found.order, mask.must_precede) and mask.check(found.weights) == []
    searched = search_orders(moments, mask=mask, effort=0.05)
    assert found.score == pytest.approx(searched.score, abs=TIE)


def permute(moments, shuffle):
    return moments.select([moments.names[column] for column in shuffle])


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
def test_a_permuted_mask_is_that_of_the_permuted_names(knowledge):
    names, shuffle = tuple(f"x{i}" for i in range(10)), np.random.default_rng(1).permutation(10)
    mask = knowledge.compile(names).permuted(shuffle)
    fresh = knowledge.compile(tuple(names[i] for i in shuffle))
    assert mask.names == fresh.names
    for field in ("allowed", "required", "lower", "upper", "must_precede"):
        np.testing.assert_array_equal(getattr(mask, field), getattr(fresh, field))
    assert (mask.tier is None) == (fresh.tier is None)
    assert mask.tier is None or mask.tier.tolist() == fresh.tier.tolist()
    assert Mask.unrestricted(10, names).permuted(shuffle).is_free


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(0, 10**6))
def test_the_canonical_order_follows_the_columns_and_not_their_units(d, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, d)) @ (np.eye(d) + np.triu(rng.standard_normal((d, d)), 1))
    names, shuffle = [f"c{i}" for i in range(d)], rng.permutation(d)
    R, scaled = (np.atleast_2d(np.corrcoef(rows.T)) for rows in (X, X * 10 ** rng.uniform(-3, 3, d)))
    order = canonical_order(R, names)
    assert sorted(order) == list(range(d))
    np.testing.assert_array_equal(canonical_order(scaled, names), order)
    again = canonical_order(R[np.ix_(shuffle, shuffle)], [names[i] for i in shuffle])
    np.testing.assert_array_equal(shuffle[again], order)


def test_equal_columns_come_by_their_names():
    R = np.full((3, 3), 0.5) + np.eye(3) / 2
    assert canonical_order(R, ["b", "c", "a"]).tolist() == [2, 0, 1]


@pytest.mark.parametrize("seed", range(6))
def test_margins_are_bounds_of_the_exact_ones(seed):
    moments = sample(8, 100, seed, **UNEQUAL)[1] if seed % 2 else dense(7, 80, seed)
    found, best = search_orders(moments, effort=0.1), find_best_graph(moments)
    edges, rivals = found.weights != 0, found.rivals
    assert found.score == pytest.approx(best.score, abs=TIE)
    # The graph may be another one of its class: exact margins are for every pair and both directions.
    for margins, exact in ((rivals.turned, best.with_edge.T), (rivals.left_out, best.without_edge)):
        assert (np.isnan(margins) == ~edges).all()
        assert (margins[edges] >= exact[edges] - 2 * TIE).all()
    compelled = find_cpdag(edges).directed
    assert (rivals.turned[edges & ~compelled] == 0).all() and (rivals.turned[compelled] > 0).all()
    assert rivals.gap >= best.second - 2 * TIE
    assert not rivals.proved


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_margins_are_scores_of_graphs_that_differ_in_the_edge(seed, noise):
    """With an edge of little weight, the best graph in which its target comes first has none between the two."""
    _, moments = sample(7, 60, seed, **(UNEQUAL if noise == "unequal" else {}))
    mask = Knowledge(forbidden=[("x1", "x0"), ("x3", "x2")]).compile(moments.names)
    start = equal_variance_order(moments, mask)
    found = search_orders(moments, [start], "bic", noise=noise, mask=mask, effort=0.05)
    best = find_best_graph(moments, "bic", noise=noise, mask=mask, order=start)
    edges = found.weights != 0
    assert found.score == pytest.approx(best.score, abs=TIE)
    assert (found.rivals.turned[edges] >= best.with_edge.T[edges] - 2 * TIE).all()
    assert (found.rivals.left_out[edges] >= best.without_edge[edges] - 2 * TIE).all()


@pytest.mark.parametrize("make", [lambda: dense(8, 40, 0), lambda: dense(24, 60, 1)])
@pytest.mark.parametrize("search", [search_orders, search_graph])
def test_alternatives_are_other_classes_with_the_scores_that_are_said(make, search):
    moments = make()
    found = search(moments, effort=0.1)
    others = found.rivals.alternatives
    assert others
    keys = [find_cpdag(graph).arcs.tobytes() for graph in (found.weights != 0, *(other.adjacency for other in others))]
    assert len(set(keys)) == len(keys)
    for other in others:
        score = gaussian_bic(moments, other.adjacency, "ebic")
        assert score - found.score == pytest.approx(other.excess, abs=1e-5)
        assert 0 <= other.excess <= np.log(moments.n) + TIE
    assert all(a.excess <= b.excess for a, b in pairwise(others))
    assert found.rivals.gap <= others[0].excess
    edges = found.weights != 0
    for other in others:
        turned, gone = edges & other.adjacency.T, edges & ~other.adjacency & ~other.adjacency.T
        assert (found.rivals.turned[turned] <= other.excess + TIE).all()
        assert (found.rivals.left_out[gone] <= other.excess + TIE).all()


def weak_explorer(monkeypatch):
    """The search stays where it began, so that looks around have something to find."""

    def explore(self, starts):
        self.climb([starts[0]] * 3, 0)

    monkeypatch.setattr(search_module._Search, "explore", explore)


@pytest.mark.parametrize("seed", range(4))
def test_the_search_goes_on_from_a_better_neighbour(seed, monkeypatch):
    moments = dense(14, 100, seed)
    start = [np.random.default_rng(seed).permutation(14)]
    plain = search_orders(moments, start, effort=0)
    weak_explorer(monkeypatch)
    found = search_orders(moments, start, effort=1)
    assert found.score <= plain.score + TIE
    assert found.score == pytest.approx(gaussian_bic(moments, found.weights, "ebic"), abs=TIE)
    # What is said of rivals is said of the answer, not of what it was before.
    assert (np.isnan(found.rivals.turned) == (found.weights == 0)).all()


def test_a_neighbour_that_is_always_better_ends_in_no_loop(monkeypatch):
    moments, surveys = dense(8, 100, 0), []

    def survey(self, *, to_the_end):
        surveys.append(self.score)
        assert to_the_end == (len(surveys) == search_module._SURVEYS)
        self.better = self.score - 1.0, self.adjacency
        return self.rivals(())

    monkeypatch.setattr(search_module.Neighbourhood, "survey", survey)
    found = search_orders(moments, effort=0.01)
    assert len(surveys) == search_module._SURVEYS
    assert found.rivals is not None and found.end.kind is Ended.NO_BETTER_MOVE


def test_the_time_limit_returns_the_best_so_far():
    _, moments = sample(60, 500, 9, **UNEQUAL)
    start = equal_variance_order(moments)
    found = search_orders(moments, [start], deadline=Deadline(0.0))
    assert found.end == Fact.of(Ended.TIME_LIMIT, seconds=0.0)
    assert found.kicks == 0 and found.reached == () and found.rivals is None
    np.testing.assert_array_equal(found.order, start)
    np.testing.assert_allclose(found.weights, select_parents(moments, start), rtol=1e-8, atol=1e-12)


def generations(monkeypatch, *, ending=None):
    """The generations of searches to come, as their best scores; ``ending`` is called in each."""
    cross, seen = search_module._Search.cross, []

    def counted(self, work):
        if ending is not None:
            ending(self)
        cross(self, work // 100)
        seen.append(self.best[0])

    monkeypatch.setattr(search_module._Search, "cross", counted)
    monkeypatch.setattr(search_module, "_LONGEST", 1e6)
    return seen


def test_without_an_effort_a_limit_lets_the_search_go_on_until_it_is_stale(monkeypatch):
    moments, seen = dense(25, 200, 3), generations(monkeypatch)
    found = search_orders(moments, deadline=Deadline(600))
    assert found.end.kind is Ended.NO_BETTER_MOVE and found.rivals is not None
    assert len(seen) == found.generations >= search_module._STALE
    assert seen[-1] == seen[-search_module._STALE] == min(seen)


def test_without_an_effort_a_limit_that_ends_the_search_leaves_time_for_its_rivals(monkeypatch):
    def pass_time(search):
        if search.generations == 3:
            search.until.at = 0.0

    moments, seen = dense(25, 200, 3), generations(monkeypatch, ending=pass_time)
    found = search_orders(moments, deadline=Deadline(600))
    assert found.end == Fact.of(Ended.TIME_LIMIT, seconds=600) and len(seen) == found.generations == 3
    assert found.score == pytest.approx(gaussian_bic(moments, found.weights, "ebic"), abs=TIE)
    assert (np.isnan(found.rivals.turned) == (found.weights == 0)).all() and found.rivals.chains == 6


def test_an_effort_that_is_given_is_the_same_search_under_a_limit_that_is_not_reached():
    moments = dense(22, 200, 2)
    one, other = (search_orders(moments, effort=0.02, deadline=limit) for limit in (None, Deadline(600)))
    assert one.weights.tobytes() == other.weights.tobytes() and one.end == other.end
    assert (one.kicks, one.generations, one.reached) == (other.kicks, other.generations, other.reached)


def test_without_effort_and_limit_the_effort_is_one(monkeypatch):
    monkeypatch.setattr(search_module, "_BUDGET", 3e7)
    moments = dense(21, 200, 2)
    one, other = search_orders(moments), search_orders(moments, effort=1, deadline=Deadline(None))
    assert one.weights.tobytes() == other.weights.tobytes() and one.kicks == other.kicks


def test_more_effort_is_more_generations_once_chains_are_long_enough(monkeypatch):
    monkeypatch.setattr(search_module, "_LONGEST", 1e5)
    moments = dense(25, 150, 1)
    few, many = (search_orders(moments, effort=effort).generations for effort in (0.05, 0.15))
    assert 0 < 2 * few <= many


@pytest.mark.parametrize("d", [5, 30])
def test_a_search_that_is_late_returns_a_graph(d):
    _, moments = sample(d, 100, 2, **UNEQUAL)
    for start in ([], [np.arange(d)]):
        found = search_graph(moments, start, deadline=Deadline(0.0))
        assert found.end.kind is Ended.TIME_LIMIT and found.rivals is None
        Dag(found.weights)


def raising(error, after=1):
    calls = []

    def raise_it(*_args, **_options):
        calls.append(1)
        if len(calls) >= after:
            raise error

    return raise_it


@pytest.mark.parametrize("after", [1, 2, 3])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), Stopped(Fact.of(Ended.CALLBACK))], ids=lambda error: type(error).__name__
)
def test_a_stop_by_who_is_told_returns_the_best_so_far(error, after):
    moments = dense(22, 100, 1)
    start = [np.random.default_rng(0).permutation(22)]
    told = []
    kept = raising(error, after)

    def tell(score):
        told.append(score)
        kept()

    found = search_orders(moments, start, effort=0.2, tell=tell)
    expected = Ended.INTERRUPTED if isinstance(error, KeyboardInterrupt) else Ended.CALLBACK
    assert found.end.kind is expected and found.rivals is None
    assert len(told) == after and found.score == pytest.approx(min(told), abs=TIE)
    assert found.score < search_orders(moments, start, deadline=Deadline(0.0)).score
    assert found.score == pytest.approx(gaussian_bic(moments, found.weights, "ebic"), abs=TIE)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Stopped(Deadline(3.0).end())])
def test_moves_made_before_a_stop_are_kept(error, monkeypatch):
    moments = dense(20, 200, 9)
    start = np.random.default_rng(1).permutation(20)

    def descend(chain, *given):
        OrderChain.descend(chain, *given)
        raise error

    monkeypatch.setattr(search_module, "OrderChain", type("Stopping", (OrderChain,), {"descend": descend}))
    found = search_orders(moments, [start], effort=0.1, deadline=Deadline(3.0))
    assert found.end.kind.stopped and found.reached == () and found.rivals is None
    assert found.score < search_orders(moments, [start], deadline=Deadline(0.0)).score
    Dag(found.weights)


def test_an_interrupt_of_the_last_step_does_not_lose_the_search(monkeypatch):
    _, moments = sample(10, 200, 9)
    whole, calls = search_orders(moments, effort=0.01), []
    answer = search_module._Search.answer

    def interrupted(search):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return answer(search)

    monkeypatch.setattr(search_module._Search, "answer", interrupted)
    found = search_orders(moments, effort=0.01)
    assert found.end.kind is Ended.INTERRUPTED and found.rivals is None
    # Which member of the class is given is only chosen after the look around.
    np.testing.assert_array_equal(find_cpdag(found.weights != 0).arcs, find_cpdag(whole.weights != 0).arcs)


@pytest.mark.parametrize(
    ("error", "kind"), [(KeyboardInterrupt(), Ended.INTERRUPTED), (Stopped(Deadline(9.0).end()), Ended.TIME_LIMIT)]
)
@pytest.mark.parametrize("deadline", [None, Deadline(1e6)])
def test_a_proof_that_is_cut_short_leaves_the_descent(error, kind, deadline, monkeypatch):
    _, moments = sample(8, 200, 9, **UNEQUAL)
    monkeypatch.setattr(search_module, "find_best_graph", raising(error))
    start = [np.arange(8)]
    found = search_graph(moments, start, deadline=deadline)
    assert found.end.kind is kind and found.rivals is None
    np.testing.assert_array_equal(found.weights, search_orders(moments, start, effort=0).weights)


def test_time_that_does_not_suffice_for_a_proof_goes_to_the_chains(monkeypatch):
    _, moments = sample(20, 200, 9, **UNEQUAL)
    monkeypatch.setattr(search_module, "_PROOF_SECONDS", 1.0)
    monkeypatch.setattr(search_module, "find_best_graph", raising(AssertionError))
    found = search_graph(moments, effort=0.1, deadline=Deadline(1e6))
    assert found.kicks > 0 and found.rivals is not None and not found.rivals.proved


@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_a_large_search_is_stopped_inside_of_its_kernels(noise):
    _, moments = sample(150, 1000, 4, **UNEQUAL)
    start = np.random.default_rng(0).permutation(150)
    found = search_orders(moments, [start], noise=noise, deadline=Deadline(0.05))
    assert found.end.kind is Ended.TIME_LIMIT
    assert obeys(found.order, found.weights != 0)


@pytest.mark.parametrize("noise", ["equal", "unequal"])
@pytest.mark.parametrize("effort", [0, 0.01])
def test_degenerate_columns(noise, effort):
    X = np.random.default_rng(0).standard_normal((40, 4))
    moments = Moments.from_array(np.c_[X, X[:, 0], np.ones(40), X[:, 1] + X[:, 2], X[:, 3] * 1e6])
    found = search_orders(moments, noise=noise, effort=effort)
    assert np.isfinite(found.weights).all() and np.isfinite(found.score)
    assert not found.weights[5].any() and not found.weights[:, 5].any()
    joined = found.weights != 0
    assert joined[0, 4] or joined[4, 0] or noise == "equal"
    Dag(found.weights)


@pytest.mark.parametrize(("d", "n"), [(1, 5), (2, 2), (2, 3), (30, 10), (60, 40), (70, 71)])
@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_few_rows_and_few_columns(d, n, noise):
    moments = Moments.from_array(np.random.default_rng(d).standard_normal((n, d)))
    order = polish(moments, equal_variance_order(moments))
    for effort in (0, 0.01):
        found = search_orders(moments, [order], noise=noise, effort=effort)
        assert np.isfinite(found.weights).all() and np.isfinite(found.score)
        assert sorted(found.order) == list(range(d))


def test_no_column_has_more_parents_than_allowed():
    moments = dense(12, 500, 0)
    found = search_orders(moments, max_parents=2, effort=0.02)
    assert (found.weights != 0).sum(axis=0).max() == 2
    for other in found.rivals.alternatives:
        assert other.adjacency.sum(axis=0).max() <= 2


def test_wrong_arguments_are_refused():
    _, moments = sample(3, 20, graph="ER1")
    for search in (search_orders, search_graph):
        with pytest.raises(InputError, match="each of the 3 columns"):
            search(moments, [[0, 1]])
        with pytest.raises(InputError, match="threads is 0"):
            search(moments, threads=0)
        for effort in (-1, np.inf, np.nan):
            with pytest.raises(InputError, match="effort is"):
                search(moments, effort=effort)
    with pytest.raises(InputError, match="noise is 'some'"):
        search_orders(moments, noise="some")


def test_penalty_is_resolved_and_reported():
    _, moments = sample(5, 100)
    for search in (search_orders, search_graph):
        found = search(moments, penalty="strong", effort=0.01)
        assert found.penalty == price_of_parent("strong", 100, 5) == 2 * np.log(100)


def test_chains_that_end_apart_oppose_what_they_would_turn():
    # Thirty columns of mean degree 8, with work for the first chains only.
    data = acyclic.simulate(30, 300, graph="ER4", scheme="iscm", random_state=4)
    moments = Moments.from_array(data.X, names=data.names)
    hasty, patient = (search_orders(moments, effort=effort, threads=1) for effort in (0.02, 1.0))
    assert hasty.rivals.agreeing < 2 and hasty.generations == 0
    opposed = hasty.rivals.opposed
    assert opposed.shape == (30, 30) and opposed[hasty.weights != 0].any()
    assert patient.generations or patient.rivals.agreeing > 1
    assert patient.rivals.opposed is None

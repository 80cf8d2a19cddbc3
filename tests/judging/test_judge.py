"""judge(): every learner's weights become a graph and a verdict by the same rules."""

import numpy as np
import pytest

import acyclic
from acyclic import Golem, Knowledge, Notears, simulate
from acyclic.data.knowledge import compile_knowledge
from acyclic.data.table import Table
from acyclic.discrete.rivals import Alternative, Rivals
from acyclic.facts import Caution, Empty, Ended, Fact, Note, Orientation, Removal, Standing
from acyclic.judging.judge import Found, judge, obey, orient_edges
from acyclic.judging.verdict import Margin
from acyclic.learners import LEARNERS, make_learner
from acyclic.running import Solution

LINEAR = [name for name in LEARNERS if name not in ("notears-mlp", "dag-gnn", "gran-dag")]


def independent(n=200, d=3, scale=1.0):
    return scale * np.random.default_rng(0).standard_normal((n, d))


def chain(scale=1.0):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(200)
    return scale * np.column_stack([x, x + rng.standard_normal(200)])


def found(weights, **options):
    solution = Solution(np.asarray(weights, dtype=float), Fact(Ended.COMPLETE), 0.0, 0.0, 1, 0.0)
    return Found(**{"solution": solution, "method": "notears", "orientation": Orientation.EQUAL_VARIANCES, **options})


def judged(weights, knowledge=None, **options):
    table = Table.open(independent(d=len(weights)))
    return judge(table, compile_knowledge(knowledge, table.names), found(weights, **options))[:2]


@pytest.mark.parametrize(
    ("learner", "X", "why"),
    [
        (Notears(), independent(d=1), Empty.ONE_COLUMN),
        (Notears(knowledge=Knowledge(forbidden=[("*", "*")])), chain(), Empty.ALL_FORBIDDEN),
        (Notears(), np.ones((10, 3)), Empty.UNCORRELATED),
        (Notears(), np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]]), Empty.UNCORRELATED),
        (Notears(threshold=5.0), chain(), Empty.BELOW_THRESHOLD),
        (Notears(), chain(scale=1e-3), Empty.L1),
        (Golem(l1=100.0), chain(), Empty.L1),
        (
            Notears(knowledge=Knowledge(bounds=dict.fromkeys((("x0", "x1"), ("x1", "x0")), (50.0, 60.0)))),
            chain(),
            Empty.OUT_OF_BOUNDS,
        ),
        (Notears(callback=lambda progress: True), chain(scale=1e-3), Empty.ENDED_EARLY),
    ],
)
def test_an_empty_graph_says_why(learner, X, why):
    verdict = learner.fit(X).verdict_
    assert verdict.n_edges == 0 and verdict.empty.kind is why and verdict.orientation is Orientation.NO_EDGE


@pytest.mark.parametrize("method", LINEAR)
def test_independent_columns_are_empty_for_a_reason(method):
    verdict = make_learner(method).fit(independent(n=1000)).verdict_
    assert (verdict.empty is None) == (verdict.n_edges > 0)
    assert make_learner(method).fit(independent(d=1)).verdict_.empty.kind is Empty.ONE_COLUMN


def test_a_graph_with_edges_is_not_called_empty():
    verdict = Notears().fit(chain()).verdict_
    assert verdict.n_edges == 1 and verdict.empty is None and verdict.orientation is Orientation.EQUAL_VARIANCES


def test_odd_columns_are_noted():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 100))
    notes = Notears().fit(np.column_stack([x, y, np.full(100, 2.0), 3 * x, x + y])).verdict_.notes
    kinds = {fact.about[0]: fact.kind for fact in notes}
    assert kinds["x2"] is Note.CONSTANT and kinds["x3"] is Note.DUPLICATE
    assert Note.COLLINEAR in (kinds.get("x4"), kinds.get("x1"))


ORIENTATIONS = {
    "auto": Orientation.EQUAL_VARIANCES,
    "equal-variance": Orientation.EQUAL_VARIANCES,
    "order-search": Orientation.INDEPENDENCE,
    "notears": Orientation.EQUAL_VARIANCES,
    "golem": Orientation.EQUAL_VARIANCES,
    "nocurl": Orientation.EQUAL_VARIANCES,
    "ges": Orientation.INDEPENDENCE,
    "mmhc": Orientation.INDEPENDENCE,
    "sortnregress": Orientation.VARIANCE_ORDER,
    "lingam": Orientation.NOISE_SHAPE,
    "cam": Orientation.CURVATURE,
}


@pytest.mark.parametrize("method", LINEAR)
def test_what_orients_an_edge_follows_from_what_the_method_rests_on(method):
    model = make_learner(method).fit(simulate(6, 500, random_state=4).X)
    verdict, graph = model.verdict_, model.causal_graph_
    assert verdict.orientation is ORIENTATIONS[method]
    by_class = verdict.orientation is Orientation.INDEPENDENCE
    assert hasattr(model, "cpdag_") == by_class
    rest = Orientation.UNDETERMINED if by_class else verdict.orientation
    assert set(verdict.support) == {edge[:2] for edge in graph.edges()}
    compelled = set(graph.cpdag().directed_edges())
    for edge, orientation in verdict.support.items():
        own = Orientation.INDEPENDENCE if edge in compelled else rest
        assert orientation is own or (orientation.is_near_tie and own is not Orientation.UNDETERMINED)


def test_a_likelihood_of_unequal_variances_claims_the_class_only():
    X = simulate(6, 500, random_state=4).X
    model = Golem(noise="unequal").fit(X)
    assert model.verdict_.orientation is Orientation.INDEPENDENCE and model.cpdag_ == model.causal_graph_.cpdag()
    assert not hasattr(model.set_params(noise="equal").fit(X), "cpdag_")
    binary = Notears(loss="logistic", l1=0.001, threshold=0.0).fit(X > 0)
    assert binary.verdict_.orientation is Orientation.LOSS


def test_directions_that_knowledge_fixes_are_credited_to_it():
    graph = acyclic.Dag([[0, 1.0, 1.0], [0, 0, 1.0], [0, 0, 0]])
    mask = Knowledge(required=[("x0", "x1")], forbidden=[("x2", "x1")]).compile(graph.names)
    support = orient_edges(graph, mask, Orientation.INDEPENDENCE)
    assert support == {
        ("x0", "x1"): Orientation.KNOWLEDGE,
        ("x1", "x2"): Orientation.KNOWLEDGE,
        # It follows: x2 → x0 would close a cycle.
        ("x0", "x2"): Orientation.KNOWLEDGE,
    }


@pytest.mark.parametrize("method", LINEAR)
def test_a_required_edge_without_weight_is_drawn_and_told_by_every_learner(method):
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.standard_normal((100, 2)), np.full(100, 5.0)])
    model = make_learner(method, knowledge=Knowledge(required=[("x2", "x0")])).fit(X)
    assert model.adjacency_matrix_[2, 0] != 0
    told = [fact for fact in model.verdict_.cautions if fact.kind is Caution.REQUIRED_WITHOUT_WEIGHT]
    assert [fact.about for fact in told] == [("x2", "x0")]


def test_weights_outside_of_their_bounds_are_left_out_and_told():
    graph, verdict = judged([[0, 2.0], [0, 0]], Knowledge(bounds={("x0", "x1"): (3.0, 4.0)}))
    assert graph.n_edges == 0 and verdict.empty.kind is Empty.OUT_OF_BOUNDS
    assert [(fact.kind, fact.about) for fact in verdict.removed] == [(Removal.OUT_OF_BOUNDS, ("x0", "x1"))]
    assert verdict.cautions == (Fact.of(Caution.OUT_OF_BOUNDS, "x0", "x1", weight=2.0),)


def test_without_knowledge_weights_are_not_even_copied():
    weights = np.zeros((3, 3))
    assert obey(weights, compile_knowledge(None, ("a", "b", "c")))[0] is weights


def test_cycles_are_broken_by_the_rule_that_was_asked_for():
    weights = [[0, 0.9, 0.4], [0.5, 0, 0], [0, 0, 0]]
    graph, verdict = judged(weights, pruning="components")
    assert verdict.removed == (Fact.of(Removal.WEAKEST_ON_CYCLES, "x1", "x0", weight=0.5),) and graph.n_edges == 2
    graph, verdict = judged(weights, pruning="edges")
    assert [fact.about for fact in verdict.removed] == [("x0", "x2"), ("x1", "x0")] and graph.n_edges == 1
    assert {fact.kind for fact in verdict.removed} == {Removal.WEAKEST}


def test_edges_that_fail_a_further_test_go_but_not_in_silence():
    def keep(edges):
        return np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool), Fact.of(Removal.F_TEST, cutoff=0.01)

    graph, verdict = judged([[0, 2.0, 1.0], [0, 0, 0], [0, 0, 0]], keep=keep)
    assert graph.n_edges == 1
    assert verdict.removed == (Fact.of(Removal.F_TEST, "x0", "x2", weight=1.0, cutoff=0.01),)


def test_counts_add_up():
    fit = Notears().fit(simulate(8, 300, random_state=2).X)
    weights, graph = fit.solution_.weights, fit.causal_graph_
    assert fit.verdict_.n_edges == graph.n_edges
    assert fit.verdict_.n_cut + len(fit.verdict_.removed) + graph.n_edges == np.count_nonzero(weights)
    powers, B = np.eye(8), weights**2
    geometric = 0.0
    for _ in range(8):
        powers = powers @ B
        geometric += np.trace(powers)
    assert fit.verdict_.h == pytest.approx(geometric, rel=1e-9, abs=1e-20)


# --- Rivals: what a search met beside its answer ----------------------------------------------------------------------

# x0 → x2 ← x1 and x2 → x3 are compelled, x4 → x5 is reversible.
COLLIDER = np.zeros((6, 6))
COLLIDER[0, 2] = COLLIDER[1, 2] = COLLIDER[2, 3] = COLLIDER[4, 5] = 1.0
NEAR = np.log(200)
# What a direction has to be ahead by, among six columns.
DECIDED = NEAR + 2 * np.log(6)


def rivals(turned, left_out=50.0, **changes):
    """Rivals of COLLIDER by the margins of its four edges, in the order of their positions."""
    edges = COLLIDER != 0
    margins = []
    for given in (turned, left_out):
        margins.append(np.full(edges.shape, np.nan))
        margins[-1][edges] = given
    plain = {"proved": True, "chains": 0, "agreeing": 0, "gap": 1.8, "alternatives": (Alternative(edges.T, 1.8),)}
    plain.update(changes)
    return Rivals(turned=margins[0], left_out=margins[1], **plain)


def judged_beside(met, knowledge=None, orientation=Orientation.INDEPENDENCE, **options):
    table = Table.open(independent(d=6))
    mask = compile_knowledge(knowledge, table.names)
    return judge(table, mask, found(COLLIDER, orientation=orientation, rivals=met, **options))


def test_an_edge_that_a_near_class_turns_is_compelled_but_contested():
    met = rivals([1.8, DECIDED + 0.01, np.nan, 0.0], [NEAR, 50.0, np.nan, 50.0])
    _, verdict, kept = judged_beside(met)
    assert kept is met
    assert verdict.support == {
        ("x0", "x2"): Orientation.CONTESTED,
        ("x1", "x2"): Orientation.INDEPENDENCE,
        ("x2", "x3"): Orientation.INDEPENDENCE,
        ("x4", "x5"): Orientation.UNDETERMINED,
    }
    assert verdict.margins == {
        ("x0", "x2"): Margin(1.8, NEAR),
        ("x1", "x2"): Margin(DECIDED + 0.01, 50.0),
        ("x4", "x5"): Margin(0.0, 50.0),
    }
    assert verdict.cautions == (
        Fact.of(Caution.CLASS_ONLY, compelled=2, edges=4, open=1),
        Fact.of(Caution.NEAR_TIES, count=1, edges=4, limit=DECIDED),
        Fact.of(Caution.DISPENSABLE, count=1, edges=4, limit=NEAR),
    )


def test_what_another_end_of_the_search_turns_is_not_settled():
    opposed = np.zeros((6, 6), dtype=bool)
    opposed[0, 2] = opposed[2, 3] = opposed[4, 5] = True
    met = rivals([50.0, 50.0, 1.8, 0.0], proved=False, chains=3, opposed=opposed)
    support = judged_beside(met).verdict.support
    assert support == {
        ("x0", "x2"): Orientation.UNSETTLED,
        ("x1", "x2"): Orientation.INDEPENDENCE,
        ("x2", "x3"): Orientation.CONTESTED,
        ("x4", "x5"): Orientation.UNDETERMINED,
    }
    assert not Orientation.UNSETTLED.is_decided and not Orientation.UNSETTLED.is_near_tie


def test_a_method_that_claims_directions_has_near_ties_too():
    support = judged_beside(rivals([1.8, 50.0, 50.0, 0.2]), orientation=Orientation.EQUAL_VARIANCES).verdict.support
    assert list(support.values()) == [
        Orientation.NEAR_TIE,
        Orientation.INDEPENDENCE,
        Orientation.INDEPENDENCE,
        Orientation.NEAR_TIE,
    ]
    assert [kind for kind in Orientation if kind.is_near_tie] == [Orientation.CONTESTED, Orientation.NEAR_TIE]


def test_what_knowledge_fixes_is_no_near_tie():
    support = judged_beside(rivals([1.8, 50, 50, 0]), Knowledge(required=[("x0", "x2")])).verdict.support
    assert support["x0", "x2"] is Orientation.KNOWLEDGE


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        ({"gap": 1.8}, [Fact.of(Standing.PROVED), Fact.of(Standing.NEARLY_TIED, gap=1.8, limit=NEAR, kept=1)]),
        ({"gap": 20.0}, [Fact.of(Standing.PROVED), Fact.of(Standing.AHEAD, gap=20.0, limit=NEAR)]),
        ({"gap": np.inf}, [Fact.of(Standing.PROVED)]),
        (
            {"proved": False, "chains": 8, "agreeing": 5, "gap": np.inf},
            [Fact.of(Standing.CHAINS, chains=8, agreeing=5)],
        ),
        ({"proved": False, "gap": np.nan}, []),
    ],
)
def test_how_the_answer_stands_against_other_graphs(changes, standing):
    assert judged_beside(rivals(50.0, **changes)).verdict.standing == tuple(standing)


def test_of_an_answer_that_was_cut_only_the_margins_of_what_remains_are_kept():
    weights = np.where(COLLIDER, 1.0, 0.0)
    weights[1, 2] = 0.1
    met, table = rivals([1.8, 2.0, 3.0, 0.0]), Table.open(independent(d=6))
    free = compile_knowledge(None, table.names)
    options = {"orientation": Orientation.INDEPENDENCE, "rivals": met, "threshold": 0.5}
    graph, verdict, kept = judge(table, free, found(weights, **options))
    assert graph.n_edges == 3 and verdict.standing == ()
    assert not kept.proved and kept.alternatives == () and np.isnan(kept.gap)
    assert np.array_equal(~np.isnan(kept.turned), graph.adjacency)
    # Without the collider nothing is compelled: what is reversible in its class stays so, however near the next is.
    assert set(verdict.support.values()) == {Orientation.UNDETERMINED}
    assert verdict.margins["x0", "x2"] == Margin(1.8, 50.0) and ("x1", "x2") not in verdict.margins


def test_a_required_edge_without_weight_was_in_the_answer_and_cuts_nothing():
    met = rivals(50.0)
    _, verdict, kept = judged_beside(met, Knowledge(required=[("x3", "x5")]))
    assert kept is met and verdict.standing[0].kind is Standing.PROVED


def test_a_method_without_rivals_says_nothing_of_them():
    _, verdict, kept = judged_beside(None)
    assert kept is None and verdict.standing == () and verdict.margins == {}
    assert verdict.cautions == (Fact.of(Caution.CLASS_ONLY, compelled=3, edges=4, open=1),)

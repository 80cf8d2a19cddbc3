"""Estimators of other packages, and one's own: accepted wherever a learner is, and judged in the same way."""

from itertools import pairwise

import networkx
import numpy as np
import pandas as pd
import pytest
from scipy.linalg import expm
from scipy.sparse import csr_array

import acyclic
from acyclic.errors import AcyclicError, InputError
from acyclic.facts import Ended, Orientation, Removal
from acyclic.graphs.foreign import ATTRIBUTES, read_graph
from acyclic.learners.foreign import as_learner

DATA = acyclic.simulate(5, 200, random_state=0)
CHAIN = np.eye(5, k=1)
NAMES = tuple("abcde")


class Fixed:
    """Whatever the rows are, its answer is the one that it was given, under the name that it was given."""

    def __init__(self, answer, attribute="adjacency_matrix_"):
        self.answer, self.attribute = answer, attribute

    def fit(self, X):
        assert X.shape[1] == 5
        setattr(self, self.attribute, self.answer)
        return self


def test_a_learner_of_ones_own_in_the_bootstrap_takes_under_ten_lines():
    class Chain:
        def fit(self, X):
            self.adjacency_matrix_ = np.eye(X.shape[1], k=1)

    found = acyclic.bootstrap(Chain, DATA.X, draws=3)
    assert (found.edge == CHAIN).all()


def test_a_constraint_of_ones_own_in_notears_takes_under_fifteen_lines():
    class Doubled(acyclic.Constraint):
        name = "doubled"

        def evaluate_block(self, B, size):
            E = expm(2 * B)
            return acyclic.Evaluation(E.trace() - len(B), 2 * E.T)

    found = acyclic.learn(DATA.X, method="notears", constraint=Doubled())
    assert found.verdict.converged and found.verdict.settings["constraint"] == "doubled"
    assert found.graph == acyclic.learn(DATA.X, method="notears", constraint="exponential").graph or found.graph.n_edges


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_a_graph_is_found_under_each_name(attribute):
    found = acyclic.learn(DATA.X, method=Fixed(CHAIN, attribute))
    assert (found.graph.adjacency == (CHAIN != 0)).all()


@pytest.mark.parametrize("learner", [Fixed(CHAIN), acyclic.Foreign(Fixed(CHAIN)), acyclic.Foreign(Fixed(CHAIN.T * 0.3),
    edge_direction="from column to row")])  # fmt: skip
def test_every_door_takes_it_and_leaves_it_alone(learner):
    before = dict(vars(learner))
    edges = CHAIN != 0
    assert (acyclic.learn(DATA.X, method=learner).graph.adjacency == edges).all()
    assert acyclic.bootstrap(learner, DATA.X, draws=2).graph.n_edges == 4
    assert acyclic.audit(DATA.X, learner=learner, rescalings=1).end.kind is Ended.COMPLETE
    assert dict(vars(learner)) == before


def test_compare_takes_what_was_fitted():
    truth = acyclic.Dag(CHAIN, NAMES)
    assert acyclic.compare(truth, Fixed(CHAIN).fit(DATA.X)).shd == 0
    assert acyclic.compare(Fixed(CHAIN).fit(DATA.X), truth).shd == 0
    assert acyclic.compare(DATA.graph, acyclic.Ges().fit(DATA.X)).n_true == DATA.graph.n_edges
    result = acyclic.learn(DATA.X)
    assert acyclic.compare(DATA.graph, result) == acyclic.compare(DATA.graph, result.graph)
    with_cycle = CHAIN * 0.5
    with_cycle[4, 0] = 0.1
    assert acyclic.compare(truth, Fixed(with_cycle).fit(DATA.X)).shd == 1
    turned = acyclic.compare(CHAIN.T, Fixed(with_cycle).fit(DATA.X), edge_direction="from column to row")
    assert turned.shd == 1


def graph_of_numbers():
    return networkx.DiGraph([(i, i + 1) for i in range(4)])


def graph_of_names():
    graph = networkx.DiGraph()
    graph.add_nodes_from(reversed(NAMES))
    graph.add_weighted_edges_from([(a, b, 2.0) for a, b in pairwise(NAMES)])
    return graph


SHUFFLED = [3, 0, 4, 1, 2]
FORMS = {
    "dag": acyclic.Dag(CHAIN, NAMES),
    "dag without names": acyclic.Dag(CHAIN),
    "dag in another order": acyclic.Dag(CHAIN, NAMES).reordered(list("edcba")),
    "networkx": graph_of_names(),
    "networkx by position": graph_of_numbers(),
    "frame": pd.DataFrame(CHAIN, NAMES, NAMES).iloc[SHUFFLED, SHUFFLED],
    "frame by position": pd.DataFrame(CHAIN),
    "sparse": csr_array(CHAIN),
    "lists": CHAIN.tolist(),
    "booleans": CHAIN != 0,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_graph_may_have_any_form(form):
    found = read_graph(Fixed(FORMS[form]).fit(DATA.X), NAMES)
    assert found.names == NAMES
    assert (found.adjacency == (CHAIN != 0)).all()


def test_what_fit_returns_counts_where_nothing_is_kept():
    class Returning:
        def fit(self, X):
            return CHAIN

    assert acyclic.learn(DATA.X, method=Returning).graph.n_edges == 4


def test_matrices_of_lingam_lead_from_column_to_row():
    kind = type("DirectLiNGAM", (Fixed,), {"__module__": "lingam.direct_lingam"})
    found = acyclic.learn(DATA.X, method=kind(0.5 * CHAIN.T))
    assert (found.graph.weights == 0.5 * CHAIN).all()


def test_gcastle_learns_and_keeps_two_matrices():
    class Castle:
        __module__ = "castle.algorithms"

        def fit(self, data):
            self.adjacency_matrix_ = 0.5 * CHAIN.T

        def learn(self, data):
            self.causal_matrix, self.adjacency_matrix_ = CHAIN, 0.5 * CHAIN.T

    found = acyclic.learn(DATA.X, method=Castle)
    assert found.verdict.method == "Castle" and (found.graph.adjacency == (CHAIN != 0)).all()


def test_it_may_change_the_rows_that_it_gets():
    class Careless(Fixed):
        def fit(self, X):
            X -= X.mean(axis=0)
            return super().fit(X)

    before = DATA.X.copy()
    acyclic.learn(DATA.X, method=Careless(CHAIN))
    assert (before == DATA.X).all()


def test_weights_are_kept_and_edges_alone_get_some():
    assert (acyclic.learn(DATA.X, method=Fixed(0.7 * CHAIN)).graph.weights == 0.7 * CHAIN).all()
    found = acyclic.learn(DATA.X, method=Fixed(CHAIN)).graph.weights
    slope = np.polyfit(DATA.X[:, 0], DATA.X[:, 1], 1)[0]
    assert found[0, 1] == pytest.approx(slope)


def test_both_arcs_are_an_undirected_edge():
    found = acyclic.learn(DATA.X, method=Fixed(CHAIN + CHAIN.T))
    assert set(found.support.values()) == {Orientation.UNDETERMINED}
    model = acyclic.Foreign(Fixed(CHAIN + CHAIN.T)).fit(DATA.X)
    assert len(model.cpdag_.undirected_edges()) == 4


def test_of_a_cycle_the_weakest_edge_goes():
    weights = 0.5 * CHAIN
    weights[4, 0] = 0.1
    removed = acyclic.learn(DATA.X, method=Fixed(weights)).verdict.removed
    assert [(fact.kind, fact.about) for fact in removed] == [(Removal.WEAKEST, ("x4", "x0"))]


def test_directions_rest_on_what_it_says():
    class Shaped(Fixed):
        orientation = "noise-shape"

    def rests_on(learner):
        return acyclic.learn(DATA.X, method=learner).verdict.orientation

    assert rests_on(Fixed(CHAIN)) is Orientation.METHOD
    assert rests_on(Shaped(CHAIN)) is Orientation.NOISE_SHAPE
    assert rests_on(acyclic.Foreign(Shaped(CHAIN), orientation="independence")) is Orientation.INDEPENDENCE


class Obedient(Fixed):
    knowledge = time_limit = None

    def fit(self, X):
        assert self.knowledge is not None
        assert 0 < self.time_limit <= 60
        return super().fit(X)


def test_knowledge_and_limit_are_handed_on_or_refused():
    known = acyclic.Knowledge(forbidden=[("x0", "x1")])
    found = acyclic.learn(DATA.X, method=Obedient(CHAIN), knowledge=known, time_limit=60)
    assert not found.graph.adjacency[0, 1]
    assert [fact.about for fact in found.verdict.removed] == [("x0", "x1")]
    required = acyclic.Knowledge(required=[("x4", "x0")])
    found = acyclic.learn(DATA.X, method=Obedient(CHAIN), knowledge=required, time_limit=60)
    assert found.graph.adjacency[4, 0] and found.graph.n_edges == 4
    for given in ({"knowledge": known}, {"time_limit": 60}, {"l1": 0.1}, {"start": CHAIN}):
        with pytest.raises(InputError, match=next(iter(given))):
            acyclic.learn(DATA.X, method=Fixed(CHAIN), **given)
    # Between the draws anybody's limit is held.
    assert acyclic.bootstrap(Fixed(CHAIN), DATA.X, draws=2, time_limit=600).draws == 2


def test_frames_have_the_names():
    class Named:
        def fit(self, X):
            assert list(X.columns) == list(NAMES)
            self.graph_ = networkx.DiGraph([("a", "e")])

    frame = pd.DataFrame(DATA.X, columns=list(NAMES))
    found = acyclic.learn(frame, method=acyclic.Foreign(Named(), rows="frame"))
    assert [edge[:2] for edge in found.graph.edges()] == [("a", "e")]


def test_draws_are_kept_for_the_same_settings_only(tmp_path):
    path = tmp_path / "draws"
    first = acyclic.bootstrap(Fixed(CHAIN), DATA.X, draws=2, checkpoint=path)
    again = acyclic.bootstrap(Fixed(CHAIN), DATA.X, draws=2, checkpoint=path)
    assert (first.weight == again.weight)[CHAIN != 0].all()
    with pytest.raises(InputError, match="another run"):
        acyclic.bootstrap(Fixed(0.5 * CHAIN), DATA.X, draws=2, checkpoint=path)


def test_the_callback_may_end_it_before_it_begins():
    found = acyclic.learn(DATA.X, method=Fixed(CHAIN), callback=lambda progress: True)
    assert found.ended is Ended.CALLBACK and found.graph.n_edges == 0


def test_a_failure_is_said_to_be_its_own():
    class Failing:
        def fit(self, X):
            raise ZeroDivisionError("no rows")

    with pytest.raises(AcyclicError, match="Failing failed with ZeroDivisionError: no rows") as caught:
        acyclic.learn(DATA.X, method=Failing)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    "answer", [None, np.eye(4, k=1), "graph", networkx.DiGraph([("p", "q")]), [[0, np.nan], [0, 0]]]
)
def test_what_is_no_graph_of_these_columns_is_refused(answer):
    with pytest.raises(InputError):
        acyclic.learn(DATA.X, method=Fixed(answer))


@pytest.mark.parametrize("method", [3, None, object(), ["notears"]])
def test_what_cannot_learn_is_no_method(method):
    with pytest.raises(InputError):
        acyclic.learn(DATA.X, method=method)


def test_a_learner_needs_a_name():
    class Nameless(acyclic.DagLearner):
        def __init__(self, *, knowledge=None, time_limit=None, callback=None):
            self.knowledge, self.time_limit, self.callback = knowledge, time_limit, callback

        def _find(self, table, mask, monitor):
            raise AssertionError

    with pytest.raises(InputError, match="has no name"):
        as_learner(Nameless)


class FewParents(acyclic.LocalScore):
    """At most one parent; the search asks for nothing but n_nodes and score."""

    def __init__(self, table):
        from acyclic.scores.local import GaussianScore

        self.inside, self.n_nodes = GaussianScore(table.moments), len(table.names)

    def score(self, node, parents):
        return np.inf if len(parents) > 1 else self.inside.score(node, parents)


@pytest.mark.parametrize("kind", [acyclic.Ges, acyclic.Mmhc])
def test_a_local_score_of_ones_own(kind):
    model = kind(local_score=FewParents).fit(DATA.X)
    assert model.causal_graph_.n_edges and (model.causal_graph_.adjacency.sum(axis=0) <= 1).all()
    assert model.verdict_.settings["score"] == "FewParents"
    with pytest.raises(InputError, match="penalty"):
        kind(local_score=FewParents, penalty="ebic").fit(DATA.X)
    with pytest.raises(InputError, match="LocalScore"):
        kind(local_score=lambda table: None).fit(DATA.X)


def test_gains_follow_from_scores():
    from acyclic.scores.local import GaussianScore, LocalScore

    score = GaussianScore(acyclic.read_table(DATA.X).moments)
    # Sums of at most five products of numbers below 1, times n: far below 1e-6.
    assert LocalScore.gains(score, 1, [0, 3]) == pytest.approx(score.gains(1, [0, 3]), abs=1e-6)
    assert (FewParents(acyclic.read_table(DATA.X)).gains(1, [0]) == -np.inf).all()


def test_a_continuous_score_of_ones_own():
    from acyclic.scores.continuous import LeastSquares

    class Same(LeastSquares):
        pass

    class OfRows(LeastSquares):
        needs_rows = True

        def __init__(self, rows, names):
            super().__init__(acyclic.Moments.from_array(rows, names))

    usual = acyclic.Notears().fit(DATA.X)
    for loss in (Same, OfRows):
        own = acyclic.Notears(loss=loss).fit(DATA.X)
        assert own.causal_graph_ == usual.causal_graph_
        assert own.verdict_.orientation is Orientation.LOSS
    with pytest.raises(InputError, match="loss"):
        acyclic.Notears(loss=int).fit(DATA.X)

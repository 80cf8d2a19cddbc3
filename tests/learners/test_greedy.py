import json
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr
from scipy.stats import t as student

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.data.moments import Moments
from acyclic.data.simulate import population_covariance, random_dag, random_weights, simulate
from acyclic.discrete import equivalence_search
from acyclic.discrete.equivalence_search import EquivalenceClass, GreedyEquivalenceSearch
from acyclic.discrete.hill_climbing import HillClimbing
from acyclic.discrete.skeleton import mmpc
from acyclic.errors import InputError
from acyclic.facts import Caution, Empty, Ended, Orientation
from acyclic.graphs.cycles import is_acyclic
from acyclic.graphs.equivalence import Cpdag, extend_consistently, find_cpdag
from acyclic.learners.ges import Ges
from acyclic.learners.mmhc import Mmhc
from acyclic.running import Monitor, State
from acyclic.scores.local import GaussianScore

PROBLEMS = json.loads(Path(__file__).with_name("ges_reference.json").read_text(encoding="utf-8"))["problems"]


def moments_of(problem):
    d = len(problem["ges"].split())
    covariance = np.zeros((d, d))
    covariance[np.triu_indices(d)] = problem["covariance"]
    covariance += np.triu(covariance, 1).T
    return Moments(problem["n"], np.zeros(d), covariance)


def arcs_of(text):
    return np.array([[int(entry) for entry in row] for row in text.split()])


def random_moments(d, seed, n=200):
    return Moments.from_array(simulate(n_nodes=d, n=n, graph="ER1", random_state=seed).X)


def all_dags(d):
    pairs = list(combinations(range(d), 2))
    for states in product(range(3), repeat=len(pairs)):
        dag = np.zeros((d, d), dtype=bool)
        for (i, j), state in zip(pairs, states):
            dag[i, j], dag[j, i] = state == 1, state == 2
        if is_acyclic(dag):
            yield dag


@pytest.mark.slow
def test_ges_does_no_worse_than_other_implementations():
    for problem in PROBLEMS:
        moments = moments_of(problem)
        scores, model = GaussianScore(moments), Ges().fit(moments)
        reached = scores.total(model.causal_graph_.adjacency)
        for peer in ("ges", "ges_iterated", "causal_learn"):
            graph = Cpdag.from_arcs(arcs_of(problem[peer]), edge_direction="from row to column")
            assert reached <= scores.total(extend_consistently(graph)) + 2e-5
        assert np.array_equal(model.cpdag_.arcs, arcs_of(problem["ges_iterated"]))


@pytest.mark.slow
def test_operators_reach_every_neighbour_and_know_their_gain(monkeypatch):
    monkeypatch.setattr(equivalence_search, "TOLERANCE", -np.inf)
    members = {}
    for dag in all_dags(4):
        members.setdefault(find_cpdag(dag), []).append(dag)
    search = GreedyEquivalenceSearch(GaussianScore(random_moments(4, 0)), Mask.unrestricted(4))
    for graph, dags in members.items():
        search.current = EquivalenceClass(dags[0])
        total = search.scores.total(dags[0])
        expected = {"insert": set(), "delete": set(), "turn": set()}
        for dag in dags:
            for i, j in product(range(4), repeat=2):
                changed = dag.copy()
                changed[i, j] = not dag[i, j]
                if i != j and is_acyclic(changed):
                    expected["delete" if dag[i, j] else "insert"].add(find_cpdag(changed))
                changed[j, i] = True
                if dag[i, j] and is_acyclic(changed) and find_cpdag(changed) != graph:
                    expected["turn"].add(find_cpdag(changed))
        for name, neighbours in expected.items():
            found = set()
            for operator in (op for y in range(4) for op in getattr(search, name + "s")(y)):
                dag = getattr(search, name)(operator)
                if dag is not None:
                    found.add(find_cpdag(dag))
                    assert search.scores.total(dag) - total == pytest.approx(operator.loss, abs=1e-8)
            assert found == neighbours


@pytest.mark.parametrize("seed", range(6))
def test_ges_finds_the_class_in_the_limit_of_many_rows(seed):
    weights = random_weights(random_dag(9, "ER2", seed), random_state=seed)
    model = Ges().fit(Moments(10**7, np.zeros(9), population_covariance(weights)))
    assert model.cpdag_ == find_cpdag(weights)


@pytest.mark.parametrize("learner", [Ges(), Mmhc()])
def test_units_and_order_of_columns_do_not_matter(learner):
    X = simulate(n_nodes=9, n=500, random_state=3).X
    unit = 10.0 ** np.random.default_rng(0).uniform(-3, 3, size=9)
    turned = np.random.default_rng(1).permutation(9)
    expected = learner.fit(X).cpdag_
    assert learner.fit(X * unit).cpdag_ == expected
    assert np.array_equal(learner.fit(X[:, turned]).cpdag_.arcs, expected.arcs[np.ix_(turned, turned)])


@pytest.mark.parametrize("learner", [Ges, Mmhc])
@pytest.mark.parametrize("seed", range(6))
def test_knowledge_is_obeyed(learner, seed):
    data = simulate(n_nodes=8, n=300, random_state=seed)
    (a, b, _), (c, d, _), (e, f, _) = data.graph.edges()[:3]
    knowledge = Knowledge(forbidden=[(a, b), (b, a)], required=[(d, c)], tiers=[[f], [e]])
    model = learner(knowledge=knowledge).fit(Moments.from_array(data.X, data.names))
    assert knowledge.compile(data.names).check(model.adjacency_matrix_) == []


def test_knowledge_directs_edges_of_the_class():
    weights = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]])
    moments = Moments(1000, np.zeros(3), population_covariance(weights))
    model = Ges(knowledge=Knowledge(required=[("x2", "x1")])).fit(moments)
    assert [(source, target) for source, target, _ in model.causal_graph_.edges()] == [("x1", "x0"), ("x2", "x1")]
    assert [fact.kind for fact in model.verdict_.cautions] == [Caution.CLASS_ONLY]
    assert model.cpdag_ == find_cpdag(weights)


def test_a_class_that_contradicts_knowledge_is_repaired_and_said_so():
    data = simulate(n_nodes=6, n=500, random_state=38)
    moments = Moments.from_array(data.X, data.names)
    knowledge = Knowledge(tiers=[[data.names[node]] for node in data.graph.order[::-1]])
    model = Ges(knowledge=knowledge).fit(moments)
    assert model.verdict_.cautions[0].kind is Caution.CLASS_AGAINST_KNOWLEDGE
    assert knowledge.compile(moments.names).check(model.adjacency_matrix_) == []
    assert GaussianScore(moments).total(model.causal_graph_.adjacency) < 0


def test_bounds_hold_for_the_weights():
    moments = Moments(1000, np.zeros(2), [[1.0, 2.0], [2.0, 5.0]], ["a", "b"])
    knowledge = Knowledge(required=[("a", "b")], bounds={("a", "b"): (0.0, 1.5)})
    assert Ges(knowledge=knowledge).fit(moments).adjacency_matrix_[0, 1] == 1.5


@pytest.mark.parametrize("learner", [Ges, Mmhc])
def test_stopped_searches_return_what_they_have(learner):
    data = simulate(n_nodes=8, n=300, random_state=1)
    stopped = learner(time_limit=0.0).fit(data.X)
    assert not stopped.verdict_.converged
    assert stopped.verdict_.end.kind is Ended.TIME_LIMIT
    seen = []
    learner(callback=lambda progress: seen.append(progress) or len(seen) == 3).fit(data.X)
    assert len(seen) == 3


@pytest.mark.parametrize("learner", [Ges, Mmhc])
def test_weights_are_those_of_least_squares(learner):
    data = simulate(n_nodes=8, n=300, random_state=1)
    model = learner().fit(data.X)
    residuals = model.transform(data.X)
    for i, j in np.argwhere(model.adjacency_matrix_):
        assert np.corrcoef(data.X[:, i], residuals[:, j])[0, 1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("learner", [Ges, Mmhc])
@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (5, 8), (30, 6)])
def test_odd_tables_end(learner, shape):
    X = np.random.default_rng(0).normal(size=shape)
    assert np.isfinite(learner().fit(X).adjacency_matrix_).all()
    X[:, -1] = X[:, 0]
    X[:, shape[1] // 2] = 1.0
    weights = learner().fit(X).adjacency_matrix_
    assert np.isfinite(weights).all()
    assert not weights[shape[1] // 2].any()


def test_hill_climbing_ends_where_no_move_helps():
    for seed in range(5):
        scores = GaussianScore(random_moments(6, seed))
        mask = Knowledge(forbidden=[("x0", "x1")], required=[("x2", "x3")]).compile([f"x{k}" for k in range(6)])
        climb = HillClimbing(scores, mask, mask.required)
        state = State(np.zeros((6, 6)))
        climb(Monitor(), state)
        reached = scores.total(climb.dag)
        assert state.end.kind is Ended.NO_BETTER_MOVE and mask.check(climb.dag) == []
        for i, j in product(range(6), repeat=2):
            toggled, turned = climb.dag.copy(), climb.dag.copy()
            toggled[i, j] = not toggled[i, j]
            turned[i, j], turned[j, i] = turned[j, i], turned[i, j]
            for moved in (toggled, turned):
                if is_acyclic(moved) and not mask.check(moved):
                    assert scores.total(moved) >= reached - 1e-6


def naive_mmpc(X, alpha):
    """The published algorithm with p-values of residuals, every subset anew."""
    d = X.shape[1]

    def dependence(a, b, given):
        Z = np.column_stack([np.ones(len(X)), X[:, list(given)]])
        left, right = (X[:, k] - Z @ np.linalg.lstsq(Z, X[:, k], rcond=None)[0] for k in (a, b))
        r, nu = pearsonr(left, right)[0], len(X) - 2 - len(given)
        p = 2 * student.sf(abs(r) * np.sqrt(nu / (1 - r**2)), nu)
        return -nu / 2 * np.log1p(-(r**2)) if p <= alpha else -1.0

    def subsets(nodes):
        return [given for size in range(len(nodes) + 1) for given in combinations(nodes, size)]

    chosen = np.zeros((d, d), dtype=bool)
    for target in range(d):
        members = []
        while True:
            rest = [x for x in range(d) if x != target and x not in members]
            least = {x: min(dependence(target, x, given) for given in subsets(members)) for x in rest}
            if not least or max(least.values()) < 0:
                break
            members.append(max(least, key=least.get))
        for member in sorted(members):
            others = [other for other in members if other != member]
            if min(dependence(target, member, given) for given in subsets(others)) < 0:
                members = others
        chosen[target, members] = True
    return chosen & chosen.T


@pytest.mark.parametrize("seed", range(4))
def test_mmpc_is_the_published_algorithm(seed):
    X = simulate(n_nodes=6, n=100, random_state=seed).X
    found = mmpc(Moments.from_array(X), max_conditioning=None)
    assert not found.directed.any()
    assert np.array_equal(found.undirected, naive_mmpc(X, 0.05))


def test_mmpc_finds_the_skeleton_in_the_limit_of_many_rows():
    weights = random_weights(random_dag(8, "ER1", 5), random_state=5)
    found = mmpc(Moments(10**6, np.zeros(8), population_covariance(weights)))
    assert np.array_equal(found.undirected, find_cpdag(weights).skeleton)


def test_conditioning_on_nothing_gives_the_correlated_pairs():
    X = simulate(n_nodes=6, n=100, random_state=2).X
    found = mmpc(Moments.from_array(X), 0.01, max_conditioning=0).undirected
    for i, j in combinations(range(6), 2):
        assert found[i, j] == (pearsonr(X[:, i], X[:, j])[1] <= 0.01)


def test_mmhc_stays_inside_its_skeleton():
    data = simulate(n_nodes=12, n=500, random_state=2)
    model = Mmhc().fit(data.X)
    assert not (model.causal_graph_.adjacency & ~model.skeleton_).any()
    assert np.array_equal(model.skeleton_, mmpc(Moments.from_array(data.X)).undirected)


def test_verdicts_say_that_only_the_class_is_known():
    data = simulate(n_nodes=8, n=300, random_state=1)
    for learner in (Ges(), Mmhc()):
        fit = learner.fit(data.X)
        assert fit.verdict_.orientation is Orientation.INDEPENDENCE and fit.cpdag_ == fit.causal_graph_.cpdag()
        reversible = {frozenset(pair) for pair in fit.cpdag_.undirected_edges()}
        for edge, orientation in fit.verdict_.support.items():
            claimed = Orientation.UNDETERMINED if frozenset(edge) in reversible else Orientation.INDEPENDENCE
            assert orientation is claimed
    noise = Ges().fit(np.random.default_rng(0).normal(size=(200, 3)))
    assert noise.verdict_.empty.kind is Empty.NO_GAIN


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Ges(penalty=-1.0), "penalty has to be one of bic, strong, ebic, or at least 0 and finite; got -1.0"),
        (Ges(time_limit=-1.0), "time_limit"),
        (Mmhc(alpha=1.0), "alpha has to be above 0 and below 1; got 1.0"),
        (Mmhc(max_conditioning=-1), "max_conditioning"),
    ],
)
def test_errors_say_what_is_wrong(learner, message):
    with pytest.raises(InputError, match=message):
        learner.fit(np.random.default_rng(0).normal(size=(10, 3)))

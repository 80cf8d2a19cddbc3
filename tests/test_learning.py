"""learn(): the right graph where the data allow it, an honest verdict where they do not, and every way to stop it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acyclic
from acyclic.data.moments import Moments
from acyclic.errors import InputError, KnowledgeError
from acyclic.facts import Caution, Empty, Ended, Fact, Note, Orientation
from acyclic.scores.equal_variances import EqualVariances
from acyclic.scores.local import bic_of_weights


def simulated(d=15, seed=0, **options):
    return acyclic.simulate(n_nodes=d, n=options.pop("n", 1000), random_state=seed, **options)


def distance(data, result, *, cpdag=False):
    found = acyclic.compare(data.graph, acyclic.Dag(result.graph.weights, data.graph.names))
    return found.shd_cpdag if cpdag else found.shd


@pytest.mark.parametrize("noise", ["gaussian", "exponential", "gumbel"])
@pytest.mark.parametrize("graph", ["ER2", "ER3", "SF2"])
def test_equal_variances_are_solved(graph, noise):
    distances = [
        distance(data, acyclic.learn(data.X)) for data in (simulated(30, s, graph=graph, noise=noise) for s in range(4))
    ]
    assert np.mean(distances) <= 1


def test_verdict_on_equal_variances():
    result = acyclic.learn(simulated().X)
    assert result.verdict.converged and result.verdict.orientation is Orientation.EQUAL_VARIANCES
    assert not result.verdict.cautions
    assert set(result.support.values()) <= {Orientation.INDEPENDENCE, Orientation.EQUAL_VARIANCES}
    assert result.verdict.details["noise variances"] == "equal"


@pytest.mark.parametrize(("n", "decided"), [(20, False), (100_000, True)])
def test_equal_variances_direct_an_edge_only_where_they_are_no_chance(n, decided):
    # b = 0.8 a + e with variances of 1: in 20 rows of two columns in any units that is no wonder.
    result = acyclic.learn(Moments(n, [0, 0], [[1.0, 0.8], [0.8, 1.64]], names=["a", "b"]))
    assert result.verdict.orientation is Orientation.EQUAL_VARIANCES
    assert result.graph.adjacency[0, 1] and (("a", "b") in result.undecided) is not decided
    assert result.verdict.margins["a", "b"].turned == pytest.approx(np.log(n) - 2 * np.log(2), abs=1e-6)


def test_what_correlations_direct_is_decided_where_units_are_not_sure():
    # A collider of 1000 rows, whose own variance is 1.3: equal variances pass their test, and are not ahead. The best
    # graph with an edge turned has an edge more.
    S = np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.9], [0.9, 0.9, 2 * 0.81 + 1.3]])
    result = acyclic.learn(Moments(1000, [0, 0, 0], S))
    assert result.verdict.orientation is Orientation.EQUAL_VARIANCES and not result.undecided
    price = np.log(1000) + 2 * np.log(3)
    assert [margin.turned for margin in result.verdict.margins.values()] == pytest.approx([price, price])


@pytest.mark.slow
def test_unequal_variances_are_found_out():
    distances = []
    for seed in range(3):
        data = simulated(20, seed, n=2000, variances=(0.5, 4.0))
        result = acyclic.learn(data.X)
        cautions = {fact.kind for fact in result.verdict.cautions}
        said = {Caution.UNEQUAL_VARIANCES, Caution.CLASS_ONLY}
        assert said <= cautions <= {*said, Caution.NEAR_TIES, Caution.DISPENSABLE}
        assert result.verdict.orientation is Orientation.INDEPENDENCE
        distances.append(distance(data, result, cpdag=True))
    assert np.mean(distances) <= 1.5


def test_standardised_columns_are_named_as_such():
    result = acyclic.learn(simulated(standardize=True).X)
    cautions = {fact.kind for fact in result.verdict.cautions}
    assert {Caution.CLASS_ONLY, Caution.STANDARDIZED} <= cautions
    assert Orientation.EQUAL_VARIANCES not in result.support.values()


def test_an_array_a_frame_and_a_file_give_the_same_bits(tmp_path):
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    X = simulated(10, 3, n=500).X + 7.0
    X[:, 4] = X[:, 1] + X[:, 2]
    frame = pl.DataFrame(X, schema=[f"x{column}" for column in range(10)])
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    expected = acyclic.learn(acyclic.read_table(X))
    for table in (
        X,
        np.asfortranarray(X),
        frame,
        pd.DataFrame(X, columns=frame.columns),
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
    ):
        result = acyclic.learn(table)
        assert np.array_equal(result.graph.weights, expected.graph.weights)
        assert result.provenance["data"] == expected.provenance["data"]
        assert result.verdict.notes == expected.verdict.notes != ()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_units_do_not_matter_once_equal_variances_are_rejected(seed):
    data = simulated(25, seed, n=2000, variances=(0.5, 4.0))
    standard = acyclic.learn((data.X - data.X.mean(axis=0)) / data.X.std(axis=0))
    units = 10 ** np.random.default_rng(seed).uniform(-3, 3, 25)
    assert acyclic.learn(data.X * units).cpdag == standard.cpdag


def test_support_follows_the_class():
    result = acyclic.learn(simulated(20, 3, n=2000, variances=(0.5, 4.0)).X)
    directed = set(result.cpdag.directed_edges())
    for edge, reason in result.support.items():
        assert (reason in (Orientation.INDEPENDENCE, Orientation.CONTESTED)) == (edge in directed)


def test_threshold_is_absolute_and_optional():
    data = simulated(10, 2, n=200)
    free, cut = acyclic.learn(data.X), acyclic.learn(data.X, threshold=1.0)
    kept = [edge for edge in free.graph.edges() if abs(edge[2]) >= 1.0]
    assert cut.graph.edges() == kept
    assert cut.verdict.n_cut == free.graph.n_edges - len(kept)


@pytest.mark.parametrize(
    "method", ["equal-variance", "order-search", "notears", "golem", "nocurl", "ges", "mmhc", "sortnregress"]
)
def test_single_methods(method):
    data = simulated(10, 1, graph="ER1")
    result = acyclic.learn(data.X, method=method)
    assert distance(data, result, cpdag=True) <= 4
    assert result.provenance["settings"]["method"] == method


def test_options_reach_the_learner():
    data = simulated(6, 1)
    assert acyclic.learn(data.X, method="notears", l1=1e3).graph.n_edges == 0
    with pytest.raises(InputError, match=r"notears has no setting 'lambda1'; it takes .*l1"):
        acyclic.learn(data.X, method="notears", lambda1=0.1)
    with pytest.raises(InputError, match="auto has no setting 'l1'"):
        acyclic.learn(data.X, l1=0.1)


@pytest.mark.parametrize("variances", ["equal", (0.5, 4.0)])
def test_knowledge_is_obeyed(variances):
    data = simulated(12, 5, n=500, variances=variances)
    source, target, _ = data.graph.edges()[0]
    other = next(name for name in data.names if name not in (source, target))
    knowledge = acyclic.Knowledge(forbidden=[(source, target)], required=[(target, other)], sinks=[other])
    graph = acyclic.learn(data.X, knowledge=knowledge).graph
    edges = {edge[:2] for edge in graph.edges()}
    assert (source, target) not in edges and (target, other) in edges
    assert not graph.children(other)


def test_contradictions_come_before_the_fit():
    with pytest.raises(KnowledgeError, match="x99"):
        acyclic.learn(simulated(6).X, knowledge=acyclic.Knowledge(roots=["x99"]))


class TestStopping:
    def test_callback_sees_stages_and_can_end_the_run(self):
        stages = []
        acyclic.learn(simulated(10, 1, variances=(0.5, 4.0)).X, callback=lambda p: stages.append(p.stage))
        assert stages[0] == "equal-variance order" and "order search" in stages
        result = acyclic.learn(simulated(10).X, callback=lambda p: True)
        assert result.verdict.end.kind is Ended.CALLBACK

    def test_time_limit(self):
        data = simulated(60, 1, variances=(0.5, 4.0))
        result = acyclic.learn(data.X, time_limit=0)
        assert result.verdict.end == Fact.of(Ended.TIME_LIMIT, seconds=0)
        assert result.provenance["seconds"] < 5

    @pytest.mark.parametrize("at", [1, 2, 3])
    def test_interrupt_returns_the_best_so_far(self, at):
        seen = []

        def interrupt(progress):
            seen.append(progress)
            if len(seen) == at:
                raise KeyboardInterrupt

        result = acyclic.learn(simulated(10, 1, variances=(0.5, 4.0)).X, callback=interrupt)
        assert result.verdict.end.kind is Ended.INTERRUPTED


class TestManyColumns:
    """With fewer columns taken for many."""

    LIMIT = 24

    @pytest.fixture(autouse=True)
    def few_are_many(self, monkeypatch):
        for module in ("learners.auto", "learners.ordering", "discrete.search"):
            monkeypatch.setattr(f"acyclic.{module}.MANY_COLUMNS", self.LIMIT)

    @pytest.mark.parametrize("method", ["auto", "order-search"])
    def test_it_is_told_that_no_other_graphs_were_compared(self, method):
        for columns in (self.LIMIT, self.LIMIT + 1):
            result = acyclic.learn(simulated(columns, 1, standardize=True).X, method=method)
            told = [fact for fact in result.verdict.cautions if fact.kind is Caution.NOT_COMPARED]
            many = columns > self.LIMIT
            assert told == [Fact.of(Caution.NOT_COMPARED, columns=columns, limit=self.LIMIT)] * many
            assert bool(result.verdict.margins) is not many

    def test_it_is_not_told_where_graphs_are_never_compared(self):
        for result in (
            acyclic.learn(simulated(self.LIMIT + 1, 1).X),
            acyclic.learn(simulated(self.LIMIT + 1, 1).X, method="equal-variance"),
        ):
            assert result.verdict.orientation is Orientation.EQUAL_VARIANCES
            assert Caution.NOT_COMPARED not in {fact.kind for fact in result.verdict.cautions}


class TestOddTables:
    def test_one_column(self):
        result = acyclic.learn(np.arange(10.0)[:, None])
        assert result.graph.n_edges == 0
        assert result.verdict.empty.kind is Empty.ONE_COLUMN

    def test_constant_and_duplicated_columns(self):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((200, 3))
        table = np.column_stack([x, np.ones(200), x[:, 0], x[:, 1] - x[:, 2]])
        result = acyclic.learn(table)
        noted = {fact.about[0]: fact.kind for fact in result.verdict.notes}
        assert noted["x3"] is Note.CONSTANT and noted["x4"] is Note.DUPLICATE
        assert np.isfinite(result.graph.weights).all()

    def test_independent_columns_are_empty_for_a_reason(self):
        result = acyclic.learn(np.random.default_rng(1).standard_normal((500, 5)))
        assert result.graph.n_edges == 0
        assert result.verdict.empty.kind is Empty.NO_GAIN

    def test_fewer_rows_than_columns(self):
        result = acyclic.learn(simulated(30, 1, n=12).X)
        assert Fact.of(Caution.FEW_ROWS, rows=12, columns=30) in result.verdict.cautions

    @pytest.mark.parametrize(
        "bad", [np.array([["a", "b"], ["c", "d"]]), np.zeros((0, 3)), np.full((5, 2), np.nan), np.ones(4)]
    )
    def test_unusable(self, bad):
        with pytest.raises(InputError):
            acyclic.learn(bad)

    @pytest.mark.slow
    @settings(deadline=None, max_examples=60)
    @given(st.integers(1, 7), st.integers(2, 40), st.integers(0, 10**6), st.floats(-8, 8), st.booleans())
    def test_always_a_dag(self, d, n, seed, exponent, doubled):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 10**exponent
        X = np.column_stack([X, X[:, :1]]) if doubled else X
        given = X.copy()
        result = acyclic.learn(X, time_limit=5)
        assert np.isfinite(result.graph.weights).all()
        assert (X == given).all()


def test_same_seed_same_answer():
    X = simulated(20, 1, variances=(0.5, 4.0), standardize=True).X
    first, second = acyclic.learn(X, random_state=3), acyclic.learn(X, random_state=3)
    assert (first.graph.weights == second.graph.weights).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "pc"}, "there is no method 'pc'.*notears"),
        ({"threshold": -1}, "threshold"),
        ({"time_limit": -1}, "time_limit"),
        ({"knowledge": 3}, "knowledge has to be"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(InputError, match=message):
        acyclic.learn(simulated(6).X, **options)


def test_methods_that_need_rows_take_a_file(tmp_path):
    X = (acyclic.simulate(n_nodes=4, n=200, graph="ER1", random_state=2).X > 0).astype(int)
    path = tmp_path / "table.csv"
    np.savetxt(path, X, delimiter=",", header="a,b,c,d", comments="", fmt="%d")
    from_file = acyclic.learn(path, method="notears", loss="logistic", l1=0.01)
    from_rows = acyclic.learn(X, method="notears", loss="logistic", l1=0.01)
    assert from_file.graph.names == ("a", "b", "c", "d")
    assert np.array_equal(from_file.graph.weights, from_rows.graph.weights)
    assert from_file.graph.n_edges


def test_learners_take_what_read_table_returns():
    data = acyclic.simulate(n_nodes=5, n=300, random_state=0)
    table = acyclic.read_table(data.X, names=list("abcde"))
    learned = acyclic.Notears().fit(table)
    assert learned.causal_graph_.names == tuple("abcde")
    assert np.array_equal(learned.adjacency_matrix_, acyclic.Notears().fit(data.X).adjacency_matrix_)


def test_few_rows_get_more_than_a_descent():
    """One descent from the order of equal variances gains less than an edge costs here; kicks gain more."""
    table = acyclic.simulate(7, 250, random_state=1002).X[:9]
    plain, more = (acyclic.learn(table, effort=effort) for effort in (0, 1))
    assert plain.verdict.orientation is more.verdict.orientation is Orientation.EQUAL_VARIANCES
    moments = acyclic.Moments.from_array(table)
    assert bic_of_weights(moments, more.graph.weights, "equal") < bic_of_weights(moments, plain.graph.weights, "equal")


@pytest.mark.parametrize(("seed", "d", "n", "graph"), [(3008, 11, 918, "SF1"), (3025, 10, 527, "SF2")])
def test_equal_variances_that_take_many_edges_more_are_not_believed(seed, d, n, graph):
    data = acyclic.simulate(d, n, graph=graph, scheme="dao", random_state=seed)
    first = acyclic.EqualVariance().fit(data.X).causal_graph_
    # The residuals of that graph pass the test of equal variances, but only with edges that nothing else needs.
    assert EqualVariances.of(Moments.from_array(data.X), first.weights).accepted
    result = acyclic.learn(data.X)
    assert result.verdict.orientation is Orientation.INDEPENDENCE
    assert result.graph.n_edges <= data.graph.n_edges < first.n_edges

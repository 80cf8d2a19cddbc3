"""What holds for every registered learner: settings with ranges, limits, callbacks, knowledge, rows and doors."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

import acyclic
from acyclic.deadline import Deadline
from acyclic.discrete.search import search_graph
from acyclic.errors import InputError
from acyclic.facts import Ended, Orientation
from acyclic.learners import LEARNERS, make_learner
from acyclic.learners.base import COMMON
from acyclic.learners.notears import Notears
from acyclic.types import Progress

DATA = acyclic.simulate(n_nodes=4, n=120, graph="ER1", random_state=3)
# So many steps that a fit ends soon.
QUICK = {
    "notears-mlp": {"max_rounds": 1, "hidden": 2},
    "dag-gnn": {"epochs": 2, "max_rounds": 2, "hidden": 4},
    "gran-dag": {"max_iterations": 101, "hidden": 3},
}
NEURAL = list(QUICK)
every_method = pytest.mark.parametrize("method", LEARNERS)
may_fall_short = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def quick(method, **settings):
    return make_learner(method, **{**QUICK.get(method, {}), **settings})


def every_setting():
    return [(method, name) for method, kind in LEARNERS.items() for name in kind._get_param_names()]


class Opened(Exception):  # noqa: N818 - it is no error that the table was opened, only too early
    """Raised by a table that is looked at."""


class Untouchable:
    """A table that no one may look at."""

    def __getattribute__(self, name):
        raise Opened(name)


def range_of(method, name):
    return {**COMMON, **LEARNERS[method].RANGES}[name]


@pytest.mark.parametrize(("method", "name"), every_setting())
def test_every_setting_has_a_range_that_holds_its_default_and_excludes_what_is_no_setting(method, name):
    accepts = range_of(method, name).accepts
    assert accepts(make_learner(method).get_params()[name])
    assert not accepts(object()) and not accepts(complex(1, 1)) and not accepts({"a": 1})


def is_number(method, name):
    return isinstance(make_learner(method).get_params()[name], int | float) and not range_of(method, name).accepts(True)


@pytest.mark.parametrize(("method", "name"), [pair for pair in every_setting() if is_number(*pair)])
def test_numbers_are_finite_and_no_truth_values(method, name):
    accepts = range_of(method, name).accepts
    for wrong in (np.nan, -np.inf, -2.5, True, np.True_, "1", 1j):
        assert not accepts(wrong), wrong


def test_ranges_belong_to_settings():
    for kind in LEARNERS.values():
        assert set(kind.RANGES) <= set(kind._get_param_names())
    assert set(COMMON) <= {name for _, name in every_setting()}


@pytest.mark.parametrize(("method", "name"), every_setting())
def test_a_wrong_setting_is_named_before_any_work(method, name):
    wrong, said = {"a": 1}, f"^{name} has to be .*; got {{'a': 1}}$"
    with pytest.raises(InputError, match=said):
        quick(method).set_params(**{name: wrong}).fit(Untouchable())
    with pytest.raises(InputError, match=said):
        quick(method, **{name: wrong})


@every_method
def test_a_setting_that_does_not_exist_is_refused(method):
    said = f"{method} has no setting 'strength'; it takes "
    with pytest.raises(InputError, match=said):
        make_learner(method, strength=1.0)
    with pytest.raises(InputError, match=said):
        acyclic.learn(Untouchable(), method=method, strength=1.0)
    with pytest.raises(InputError, match=said):
        make_learner(method).set_params(strength=1.0)


def test_a_setting_that_the_given_learner_does_not_have_is_refused():
    with pytest.raises(InputError, match="ges has no setting 'threshold'; it takes"):
        acyclic.learn(Untouchable(), method=acyclic.Ges(), threshold=0.3)
    with pytest.raises(InputError, match="set 'l1' on it"):
        acyclic.learn(Untouchable(), method=acyclic.Golem(), l1=0.3)


def test_a_method_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match=f"there is no method 'magic'; choose one of {', '.join(LEARNERS)}"):
        make_learner("magic")


@every_method
def test_every_learner_takes_knowledge_a_limit_and_a_callback(method):
    assert {"knowledge", "time_limit", "callback"} <= set(LEARNERS[method]._get_param_names())


@every_method
@may_fall_short
def test_every_learner_obeys_knowledge(method):
    (source, target, _), *_ = DATA.graph.edges()
    absent = next((a, b) for a in DATA.names for b in DATA.names if a != b and not {a, b} & {source, target})
    knowledge = acyclic.Knowledge(forbidden=[(source, target)], required=[absent])
    model = quick(method, knowledge=knowledge).fit(DATA.X)
    assert knowledge.compile(DATA.names).check(model.adjacency_matrix_) == []
    assert model.verdict_.support[absent] is Orientation.KNOWLEDGE


@every_method
def test_a_limit_of_zero_ends_every_learner(method):
    for limit in (0, Deadline(0)):
        model = quick(method, time_limit=limit).fit(DATA.X)
        assert model.verdict_.end.kind is Ended.TIME_LIMIT and model.verdict_.end["seconds"] == 0
        assert not model.verdict_.converged and np.isfinite(model.adjacency_matrix_).all()


@every_method
def test_a_callback_that_says_so_ends_every_learner(method):
    seen = []
    model = quick(method, callback=lambda progress: seen.append(progress) or True).fit(DATA.X)
    assert len(seen) == 1 and isinstance(seen[0], Progress)
    assert model.verdict_.end.kind is Ended.CALLBACK and not model.verdict_.converged


@every_method
def test_an_interrupt_ends_every_learner_with_the_best_so_far(method):
    def interrupt(progress):
        raise KeyboardInterrupt

    model = quick(method, callback=interrupt).fit(DATA.X)
    assert model.verdict_.end.kind is Ended.INTERRUPTED and not model.verdict_.converged


@pytest.mark.parametrize("stage", ["equal-variance order", "continuous search", "order search"])
def test_an_interrupt_between_the_stages_of_auto_ends_it(stage):
    seen = []

    def interrupt(progress):
        seen.append(progress.stage)
        if progress.stage == stage:
            raise KeyboardInterrupt

    # So few rows for each column that a continuous search is one of the stages.
    X = acyclic.simulate(n_nodes=8, n=30, random_state=0).X
    model = quick("auto", callback=interrupt).fit(X)
    assert seen[-1] == stage and model.verdict_.end.kind is Ended.INTERRUPTED


@pytest.mark.parametrize(
    "learner", [*map(quick, NEURAL), Notears(loss="logistic"), Notears(loss="poisson")], ids=lambda model: repr(model)
)
def test_learners_that_need_rows_refuse_what_has_none(learner):
    name = type(learner).__name__
    assert learner.needs_rows
    with pytest.raises(InputError, match=f"{name} needs rows: there are no rows behind moments; pass the table itself"):
        learner.fit(acyclic.Moments.from_array(DATA.X))
    weighted = acyclic.read_table(DATA.X, weights=np.full(len(DATA.X), 2.0))
    with pytest.raises(InputError, match=f"{name} needs rows: the rows have weights"):
        learner.fit(weighted)


@every_method
def test_only_those_need_rows(method):
    assert make_learner(method).needs_rows == (method in [*NEURAL, "lingam", "cam"])


# What orients an edge is said once, in the verdict; every door tells the same.

CLAIMS = {
    Orientation.EQUAL_VARIANCES: [acyclic.Notears(), acyclic.Golem(), acyclic.NoCurl(), acyclic.EqualVariance()],
    Orientation.INDEPENDENCE: [acyclic.Golem(noise="unequal"), acyclic.Ges(), acyclic.Mmhc(), acyclic.OrderSearch()],
    Orientation.VARIANCE_ORDER: [acyclic.SortnRegress()],
    Orientation.R2_ORDER: [acyclic.SortnRegress(order="r2")],
    Orientation.LOSS: [acyclic.Notears(loss="logistic"), acyclic.Notears(loss="poisson")],
    Orientation.CURVATURE: [quick("notears-mlp"), quick("gran-dag")],
    Orientation.MEAN_AND_SCALE: [quick("gran-dag", variance="network")],
    Orientation.GENERATIVE: [quick("dag-gnn")],
}


def two_columns(learner):
    """Two columns, of the kind that a learner takes, whose edge independence leaves without direction."""
    rng = np.random.default_rng(1)
    loss = getattr(learner, "loss", "")
    if loss == "logistic":
        cause = rng.random(300) < 0.5
        return np.column_stack([cause, rng.random(300) < np.where(cause, 0.9, 0.1)])
    if loss == "poisson":
        cause = rng.poisson(1.0, 300)
        return np.column_stack([cause, rng.poisson(np.exp(0.5 * cause))])
    cause = rng.standard_normal(300)
    return np.column_stack([cause, 2 * cause + rng.standard_normal(300)])


@pytest.mark.parametrize(
    ("learner", "claim"), [(model, claim) for claim, models in CLAIMS.items() for model in models], ids=repr
)
@may_fall_short
def test_an_edge_rests_on_what_the_verdict_says(learner, claim, tmp_path):
    uncut = {"threshold": 0.0} if "threshold" in learner.get_params() else {}
    result = acyclic.learn(two_columns(learner), method=clone(learner).set_params(**uncut))
    assert result.graph.n_edges == 1 and result.verdict.orientation is claim
    own = Orientation.UNDETERMINED if claim is Orientation.INDEPENDENCE else claim
    (row,) = result.edges()
    assert row["support"] == own.value and list(result.support.values()) == [own]
    result.save(tmp_path / "result.json")
    assert acyclic.load(tmp_path / "result.json").edges() == [row]


@every_method
@may_fall_short
def test_nothing_is_undetermined_unless_the_class_is_all_that_is_claimed(method):
    result = acyclic.learn(DATA.X, method=quick(method))
    claimed = result.verdict.orientation
    rest = Orientation.UNDETERMINED if claimed is Orientation.INDEPENDENCE else claimed
    firm = {kind for kind in result.support.values() if not kind.is_near_tie}
    assert firm <= {rest, Orientation.INDEPENDENCE}


@every_method
@may_fall_short
def test_there_is_a_class_where_that_is_all_that_is_claimed(method):
    model = quick(method).fit(DATA.X)
    claims_class = method in ("ges", "mmhc", "order-search")
    assert hasattr(model, "cpdag_") == claims_class
    assert hasattr(acyclic.Golem(noise="unequal").fit(DATA.X), "cpdag_")


SAME = {
    "sortnregress": {},
    "sortnregress by r2": {"order": "r2"},
    "golem": {"noise": "unequal"},
    "ges": {},
}


@pytest.mark.parametrize("name", SAME)
def test_the_bootstrap_counts_the_same_through_every_door(name):
    method, settings = name.split()[0], SAME[name]
    doors = [make_learner(method, **settings), partial(acyclic.learn, method=method, **settings)]
    doors += [method] if not settings else []
    # A function of a table has no start to be given.
    counts = [acyclic.bootstrap(door, DATA.X, 8, random_state=1, warm_start=False) for door in doors]
    for other in counts[1:]:
        np.testing.assert_array_equal(other.edge, counts[0].edge)
        np.testing.assert_array_equal(other.weight, counts[0].weight)
        assert other.graph == counts[0].graph
    both_ways = (counts[0].edge > 0) & (counts[0].edge == counts[0].edge.T)
    claimed = doors[0].fit(DATA.X).verdict_.orientation
    assert both_ways.any() == (claimed is Orientation.INDEPENDENCE)


@pytest.mark.parametrize(
    ("limit", "effort", "searched"),
    [
        (None, None, 1.0),
        (None, 0.5, 0.5),
        (600, None, None),
        (600, 0.5, 0.5),
        (Deadline(1e6), None, 1.0),
        (Deadline(1e6).for_one_fit(), None, None),
        (Deadline().for_one_fit(), None, 1.0),
    ],
)
@pytest.mark.parametrize(("method", "module"), [("auto", "auto"), ("order-search", "order_search")])
def test_a_limit_is_for_the_search_where_nothing_shares_it(method, module, limit, effort, searched, monkeypatch):
    efforts, X = [], acyclic.simulate(5, 120, variances=(0.1, 9.0), standardize=True, random_state=3).X
    search = search_graph

    def watched(*given, **options):
        efforts.append(options["effort"])
        return search(*given, **options)

    monkeypatch.setattr(f"acyclic.learners.{module}.search_graph", watched)
    acyclic.learn(X, method=method, time_limit=limit, **({} if effort is None else {"effort": effort}))
    assert efforts == [searched]


@pytest.mark.parametrize("method", ["auto", "order-search"])
def test_the_price_of_an_edge_can_be_fixed_and_is_told(method):
    data = acyclic.simulate(12, 300, graph="ER3", scheme="dao", random_state=1)
    found = {rule: acyclic.learn(data.X, method=method, penalty=rule) for rule in ("bic", "ebic", "adaptive", 1e6)}
    price = {rule: result.verdict.details["price of a parent"] for rule, result in found.items()}
    assert price["bic"] == np.log(300) < price["adaptive"] < price["ebic"] == np.log(300) + 2 * np.log(12)
    edges = {rule: result.graph.n_edges for rule, result in found.items()}
    assert edges["bic"] > edges["adaptive"] >= edges["ebic"] > edges[1e6] == 0
    assert all(result.verdict.settings.get("penalty", "ebic") == rule for rule, result in found.items())
    with pytest.raises(InputError, match="penalty has to be"):
        acyclic.learn(data.X, method=method, penalty="cheap")

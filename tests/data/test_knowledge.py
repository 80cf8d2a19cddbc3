import copy
import itertools
import math
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acyclic.data.knowledge import Knowledge
from acyclic.data.mask import Mask
from acyclic.errors import InputError, KnowledgeError

NAMES = ("a", "b", "c", "d", "e")


def graph(matrix):
    return nx.from_numpy_array(np.asarray(matrix).astype(int), create_using=nx.DiGraph)


@st.composite
def statements(draw, size=5):
    """Random statements on NAMES[:size], often consistent; tiers may leave columns out."""
    names = NAMES[:size]
    pairs = list(itertools.permutations(names, 2))
    tier_of = {name: draw(st.integers(-1, 2)) for name in names}
    order = draw(st.permutations(names))
    forward = [(u, v) for u, v in pairs if order.index(u) < order.index(v)]
    return {
        "forbidden": draw(st.lists(st.sampled_from([*pairs, ("*", names[0]), (names[1], "*")]), max_size=5)),
        "required": draw(st.lists(st.sampled_from(forward), max_size=3)),
        "tiers": [[name for name in names if tier_of[name] == tier] for tier in range(3)],
        "closed_tiers": draw(st.lists(st.integers(0, 2), max_size=2)),
        "roots": draw(st.lists(st.sampled_from(names), max_size=1)),
        "sinks": draw(st.lists(st.sampled_from(names), max_size=1)),
    }


def consistent(values):
    try:
        return Knowledge(**values)
    except KnowledgeError:
        return None


def obeys(values, edges):
    """Whether a set of edges obeys the statements, told straight from their words."""
    tier_of = {name: position for position, tier in enumerate(values["tiers"]) for name in tier}
    for source, target in edges:
        if any(s in ("*", source) and t in ("*", target) for s, t in values["forbidden"]):
            return False
        if target in values["roots"] or source in values["sinks"]:
            return False
        if source in tier_of and target in tier_of:
            start, end = tier_of[source], tier_of[target]
            if start > end or (start == end and start in values["closed_tiers"]):
                return False
    return set(values["required"]) <= set(edges)


def all_dags(names):
    pairs = list(itertools.combinations(names, 2))
    for choice in itertools.product((None, 0, 1), repeat=len(pairs)):
        edges = [pair[::-1] if way else pair for pair, way in zip(pairs, choice) if way is not None]
        dag = nx.DiGraph(edges)
        if nx.is_directed_acyclic_graph(dag):
            yield edges


DAGS = list(all_dags(NAMES[:4]))


def test_there_are_543_labelled_dags_on_four_nodes():
    assert len(DAGS) == 543


def test_no_knowledge_is_free():
    mask = Knowledge().compile(NAMES)
    assert mask.is_free and Mask.unrestricted(5).is_free
    assert not mask.allowed.diagonal().any() and mask.allowed.sum() == 20
    assert not mask.must_precede.any() and mask.tier is None
    assert np.isneginf(mask.lower).all() and np.isposinf(mask.upper).all()
    lower, upper = mask.box
    assert (lower.diagonal() == 0).all() and (upper.diagonal() == 0).all()
    assert Mask.unrestricted(2).names == ("x0", "x1")


@pytest.mark.parametrize(
    "values",
    [
        {"forbidden": [("a", "b")]},
        {"required": [("a", "b")]},
        {"roots": ["a"]},
        {"sinks": ["a"]},
        {"tiers": [["a"], ["b"]]},
        {"signs": {("a", "b"): "+"}},
        {"bounds": {("a", "b"): (-1, 2)}},
    ],
)
def test_any_statement_is_a_restriction(values):
    assert not Knowledge(**values).compile(NAMES).is_free


def test_arrays_of_every_kind_of_statement():
    knowledge = Knowledge(
        forbidden=[("a", "d")],
        required=[("b", "c"), ("c", "d")],
        tiers=[["a"], ["b", "c"]],
        roots=["a"],
        sinks=["e"],
        signs={("a", "b"): "-", ("a", "c"): "+"},
        bounds={("a", "c"): (-2, 3), ("b", "c"): (0.5, 1.5), ("d", "e"): (0.25, 1)},
    )
    mask = knowledge.compile(NAMES)
    # rows are sources: a root is an empty column, a sink an empty row; d → b would close b → c → d → b.
    assert mask.allowed.astype(int).tolist() == [
        [0, 1, 1, 0, 1],
        [0, 0, 1, 1, 1],
        [0, 0, 0, 1, 1],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0],
    ]
    assert np.argwhere(mask.required).tolist() == [[1, 2], [2, 3]]
    assert mask.tier.tolist() == [0, 1, 1, -1, -1]
    assert (mask.lower[0, 1], mask.upper[0, 1]) == (-math.inf, 0)
    assert (mask.lower[0, 2], mask.upper[0, 2]) == (0, 3)
    lower, upper = mask.box
    assert (lower[1, 2], upper[1, 2]) == (0.5, 1.5), "a required edge keeps its interval"
    assert (lower[3, 4], upper[3, 4]) == (0, 1), "an optional edge may be absent"
    assert (lower[0, 3], upper[0, 3]) == (0, 0)
    for array in (mask.allowed, mask.required, mask.lower, mask.upper, mask.tier, mask.must_precede):
        assert not array.flags.writeable


def test_compiling_follows_the_order_of_the_columns():
    knowledge = Knowledge(required=[("a", "b")], tiers=[["a"], ["c"]], bounds={("b", "c"): (0, 1)})
    shuffled = ["c", "e", "a", "d", "b"]
    back = [shuffled.index(name) for name in NAMES]
    straight, mask = knowledge.compile(NAMES), knowledge.compile(shuffled)
    for field in ("allowed", "required", "lower", "upper", "must_precede"):
        np.testing.assert_array_equal(getattr(mask, field)[np.ix_(back, back)], getattr(straight, field))


@pytest.mark.parametrize(
    ("edge", "absent"),
    [(("*", "b"), "column"), (("b", "*"), "row"), (("*", "*"), "all")],
)
def test_wildcard(edge, absent):
    allowed = Knowledge(forbidden=[edge]).compile(NAMES).allowed
    expected = ~np.eye(5, dtype=bool)
    expected[{"column": np.s_[:, 1], "row": np.s_[1], "all": np.s_[:]}[absent]] = False
    np.testing.assert_array_equal(allowed, expected)


def test_wildcard_is_refused_where_it_means_nothing():
    with pytest.raises(KnowledgeError, match="forbidden edges only"):
        Knowledge(required=[("*", "a")])
    with pytest.raises(KnowledgeError, match="forbidden edges only"):
        Knowledge(roots=["*"])
    with pytest.raises(KnowledgeError, match="rename that column"):
        Knowledge(forbidden=[("*", "a")]).compile(["a", "*"])
    assert Knowledge(forbidden=[("a", "b")]).compile(["a", "b", "*"]).allowed.sum() == 5


CONTRADICTIONS = [
    ({"required": [("a", "b"), ("b", "c"), ("c", "a")]}, "close the cycle a → b → c → a"),
    ({"required": [("a", "b"), ("b", "a")]}, "close the cycle a → b → a"),
    ({"required": [("a", "b")], "forbidden": [("a", "b")]}, "a → b is required, but a → b is forbidden"),
    ({"required": [("a", "b")], "forbidden": [("*", "b")]}, "a → b is required, but * → b is forbidden"),
    ({"required": [("a", "b")], "forbidden": [("*", "*")]}, "a → b is required, but * → * is forbidden"),
    ({"required": [("a", "b")], "tiers": [["b"], [], ["a"]]}, "'a' is in tier 2, after 'b' in tier 0"),
    ({"required": [("a", "b")], "tiers": [["a", "b"]], "closed_tiers": [0]}, "both are in tier 0, which is closed"),
    ({"required": [("a", "b")], "roots": ["b"]}, "a → b is required, but 'b' is a root, without parents"),
    ({"required": [("a", "b")], "sinks": ["a"]}, "a → b is required, but 'a' is a sink, without children"),
    ({"tiers": [["a"], ["b", "a"]]}, "'a' is in tier 0 and in tier 1"),
    ({"tiers": [["a"]], "closed_tiers": [1]}, "closed_tiers names tier 1, but there are 1 tiers"),
    ({"closed_tiers": ["a"]}, "closed_tiers takes positions of tiers, not 'a'"),
    ({"forbidden": [("a", "a")]}, "a → a leads from a column to itself"),
    ({"required": [("a", "a")]}, "a → a leads from a column to itself"),
    ({"signs": {("a", "b"): "+"}, "bounds": {("a", "b"): (-2, -1)}}, "[-2, -1] of a → b hold no weight of sign +"),
    ({"signs": {("a", "b"): "-"}, "bounds": {("a", "b"): (0, 1)}}, "[0, 1] of a → b hold no weight of sign -"),
    ({"bounds": {("a", "b"): (2, 1)}}, "the bounds [2, 1] of a → b are the wrong way round"),
    ({"bounds": {("a", "b"): (0, 0)}}, "[0, 0] of a → b leave only the weight 0; forbid the edge"),
    ({"bounds": {("a", "b"): (math.nan, 1)}}, "[nan, 1] of a → b hold no finite number"),
    ({"bounds": {("a", "b"): (math.inf, math.inf)}}, "[inf, inf] of a → b hold no finite number"),
    ({"signs": {("a", "b"): "positive"}}, 'signs of a → b: \'positive\' given, "+" or "-" needed'),
    ({"bounds": {("a", "b"): 3}}, "bounds of a → b: 3 given, a pair (low, high) needed"),
    ({"bounds": {("a", "b"): ("low", 3)}}, "a pair (low, high) needed"),
    ({"forbidden": ["ab"]}, "forbidden takes [source, target] with column names as strings, not 'ab'"),
    ({"forbidden": [("a", 1)]}, "with column names as strings, not ('a', 1)"),
    ({"forbidden": "ab"}, "forbidden must be a list, not 'ab'"),
    ({"required": [("a", "b", "c")]}, "required takes [source, target]"),
    ({"roots": "age"}, "roots must be a list, not 'age'"),
    ({"roots": [3]}, "roots takes column names, which are strings, not 3"),
    ({"tiers": ["age"]}, "tier must be a list, not 'age'"),
    ({"signs": [("a", "b", "+")]}, "signs must be a mapping"),
]


@pytest.mark.parametrize(("values", "message"), CONTRADICTIONS)
def test_contradictions_are_named_in_plain_words(values, message):
    with pytest.raises(KnowledgeError) as caught:
        Knowledge(**values)
    assert message in str(caught.value)


def test_every_contradiction_is_named_at_once():
    with pytest.raises(KnowledgeError) as caught:
        Knowledge(required=[("a", "b"), ("c", "d")], roots=["b"], sinks=["c"], bounds={("a", "c"): (1, 0)})
    assert len(str(caught.value).splitlines()) == 3


def test_unknown_names_come_with_near_matches():
    knowledge = Knowledge(forbidden=[("PKA", "mek")], roots=["Jnkk"], tiers=[["zzz"]])
    with pytest.raises(KnowledgeError) as caught:
        knowledge.compile(["Raf", "Mek", "Jnk", "pka"])
    text = str(caught.value)
    assert "'mek' (did you mean 'Mek'?)" in text
    assert "'PKA' (did you mean 'pka'?)" in text
    assert "'Jnkk' (did you mean 'Jnk'?)" in text
    assert "'zzz'" in text and "'zzz' (did" not in text
    assert "'Raf', 'Mek', 'Jnk', 'pka'" in text


def test_many_unknown_names_are_counted():
    with pytest.raises(KnowledgeError, match="and 4 more"):
        Knowledge(roots=[f"no{i}" for i in range(9)]).compile(NAMES)


def test_duplicate_columns_are_refused():
    with pytest.raises(InputError, match="a"):
        Knowledge().compile(["a", "a"])


@pytest.mark.slow
@given(statements(size=4))
@settings(deadline=None, max_examples=80)
def test_exactly_the_graphs_that_obey_pass_the_check(values):
    knowledge = consistent(values)
    names = NAMES[:4]
    allowed_by_words = [edges for edges in DAGS if obeys(values, edges)]
    # consistent knowledge has a graph, and knowledge refused as contradictory has none
    if knowledge is None:
        assert not allowed_by_words
        return
    assert allowed_by_words
    mask = knowledge.compile(names)
    seen = np.zeros((4, 4), dtype=bool)
    for edges in DAGS:
        adjacency = np.zeros((4, 4), dtype=bool)
        for source, target in edges:
            adjacency[names.index(source), names.index(target)] = True
        obeying = obeys(values, edges)
        assert (mask.check(adjacency) == []) == obeying
        if obeying:
            seen |= adjacency
            assert nx.is_directed_acyclic_graph(graph(adjacency | mask.must_precede))
    np.testing.assert_array_equal(mask.allowed, seen, "every allowed edge is in some obeying graph")


@given(statements(size=5), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_every_obeying_graph_has_an_order_that_agrees_with_must_precede(values, random):
    knowledge = consistent(values)
    if knowledge is None:
        return
    mask = knowledge.compile(NAMES)
    order = mask.must_precede
    assert not (order & order.T).any(), "antisymmetric and irreflexive"
    assert not (((order.astype(int) @ order) > 0) & ~order).any(), "transitive"
    adjacency = mask.required.copy()
    candidates = np.argwhere(mask.allowed).tolist()
    random.shuffle(candidates)
    for i, j in candidates:
        adjacency[i, j] = True
        if not nx.is_directed_acyclic_graph(graph(adjacency)):
            adjacency[i, j] = mask.required[i, j]
    assert mask.check(adjacency) == []
    assert nx.is_directed_acyclic_graph(graph(adjacency | order))


def test_tiers_roots_and_sinks_give_the_order():
    tiers = Knowledge(tiers=[["a", "b"], ["c"], ["d", "e"]]).compile(NAMES)
    rank = np.array([0, 0, 1, 2, 2])
    np.testing.assert_array_equal(tiers.must_precede, rank[:, None] < rank)
    ends = Knowledge(roots=["a"], sinks=["e"]).compile(NAMES).must_precede
    rank = np.array([0, 1, 1, 1, 2])
    np.testing.assert_array_equal(ends, rank[:, None] < rank)


def test_a_column_in_no_tier_can_undo_the_order_of_the_tiers():
    mask = Knowledge(tiers=[["a"], ["b"]]).compile(["a", "b", "free"])
    detour = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0]], dtype=bool)
    assert mask.check(detour) == []
    assert not mask.must_precede[0, 1]


def test_a_late_root_does_not_fight_its_tier():
    mask = Knowledge(tiers=[["a"], ["b"]], roots=["b"]).compile(["a", "b"])
    assert not mask.must_precede.any() and not mask.allowed.any()


def test_required_paths_forbid_the_way_back():
    names = [f"v{i}" for i in range(40)]
    mask = Knowledge(required=list(itertools.pairwise(names))).compile(names)
    np.testing.assert_array_equal(mask.allowed, np.triu(np.ones((40, 40), dtype=bool), 1))
    np.testing.assert_array_equal(mask.must_precede, mask.allowed)


@given(st.integers(1, 20), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_must_precede_agrees_with_the_transitive_closure_of_networkx(d, seed):
    allowed = np.random.default_rng(seed).random((d, d)) < 1.5 / d
    np.fill_diagonal(allowed, False)
    nothing, free = np.zeros((d, d), dtype=bool), np.full((d, d), np.inf)
    mask = Mask(tuple(map(str, range(d))), allowed, nothing, -free, free)
    reach = nx.to_numpy_array(nx.transitive_closure(graph(allowed), reflexive=None)).astype(bool)
    np.testing.assert_array_equal(mask.must_precede, reach & ~reach.T)


def test_check_names_each_violation():
    knowledge = Knowledge(
        forbidden=[("a", "c")], required=[("a", "b")], bounds={("b", "c"): (0.5, 2)}, signs={("c", "d"): "-"}
    )
    mask = knowledge.compile(NAMES)
    weights = np.zeros((5, 5))
    weights[0, 2], weights[1, 2], weights[2, 3] = 1.0, 0.25, 0.75
    assert mask.check(weights) == [
        "a → b is required but absent",
        "a → c is present but not allowed",
        "b → c has the weight 0.25 outside [0.5, 2]",
        "c → d has the weight 0.75 outside [-inf, 0]",
    ]
    assert mask.check(weights != 0) == ["a → b is required but absent", "a → c is present but not allowed"]
    weights = np.zeros((5, 5))
    weights[0, 1], weights[1, 2], weights[2, 3] = -4, 2, -1
    assert mask.check(weights) == []
    assert mask.check(np.eye(5)) != []
    for bad in (np.zeros((4, 4)), np.full((5, 5), np.nan), np.full((5, 5), "x")):
        with pytest.raises(InputError, match=r"\(5, 5\)"):
            mask.check(bad)


def test_combined_holds_both():
    one = Knowledge(required=[("a", "b")], bounds={("a", "b"): (-1, 2)}, roots=["a"], tiers=[["a"], ["b"]])
    two = Knowledge(forbidden=[("b", "c")], bounds={("a", "b"): (0, 5)}, signs={("a", "b"): "+"}, sinks=["d"])
    both = one & two
    assert both == two.combined(one) == both & both & Knowledge()
    assert both.bounds == {("a", "b"): (0, 2)}
    assert both.tiers == (("a",), ("b",)) and both.roots == ("a",) and both.sinks == ("d",)
    mask, parts = both.compile(NAMES), [one.compile(NAMES), two.compile(NAMES)]
    np.testing.assert_array_equal(mask.allowed, parts[0].allowed & parts[1].allowed)


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        ({"required": [("a", "b")]}, {"forbidden": [("a", "b")]}, "required, but a → b is forbidden"),
        ({"required": [("a", "b")]}, {"required": [("b", "a")]}, "close the cycle"),
        ({"signs": {("a", "b"): "+"}}, {"signs": {("a", "b"): "-"}}, "sign \\+ in one knowledge and sign -"),
        ({"bounds": {("a", "b"): (0, 1)}}, {"bounds": {("a", "b"): (2, 3)}}, "wrong way round"),
        ({"tiers": [["a"], ["b"]]}, {"tiers": [["a"], ["c"]]}, "tiers in one"),
        ({"tiers": [["a", "b"]]}, {"tiers": [["a", "b"]], "closed_tiers": [0]}, "tiers in one"),
    ],
)
def test_combining_contradictory_knowledge_is_an_error(one, two, message):
    with pytest.raises(KnowledgeError, match=message):
        Knowledge(**one) & Knowledge(**two)


NAME = st.text(max_size=6).filter(lambda name: name != "*")


@given(st.data())
@settings(deadline=None)
def test_toml_dict_and_pickle_round_trips_with_hostile_names(data):
    names = data.draw(st.lists(NAME, min_size=4, max_size=6, unique=True))
    number = st.floats(allow_nan=False, allow_infinity=True, min_value=0.001)
    knowledge = Knowledge(
        forbidden=[(names[0], names[1]), ("*", names[2])],
        required=[(names[1], names[3])],
        tiers=[[names[0], names[2]], [names[1]]],
        closed_tiers=[0],
        roots=names[:1],
        sinks=names[3:4],
        signs={(names[0], names[3]): "-"},
        bounds={(names[0], names[3]): (-data.draw(number), 1), (names[1], names[3]): (1e-5, 1e22)},
    )
    assert Knowledge.from_dict(knowledge.to_dict()) == knowledge
    assert Knowledge.from_toml(knowledge.to_toml()) == knowledge
    assert pickle.loads(pickle.dumps(knowledge)) == copy.deepcopy(knowledge) == knowledge
    assert hash(copy.deepcopy(knowledge)) == hash(knowledge)
    assert knowledge.compile(names).allowed.shape == (len(names), len(names))


def test_messages_about_hostile_names_stay_on_one_line():
    with pytest.raises(KnowledgeError) as caught:
        Knowledge(required=[("a\nb", ""), ("", "a\nb")])
    assert str(caught.value) == "the required edges close the cycle '' → 'a\\nb' → ''"


DOCUMENT = """
# what the clinic knows
forbidden = [["income", "age"], ["*", "sex"]]
required = [["dose", "effect"]]
tiers = [["age", "sex"], ["dose"], ["effect"]]
closed_tiers = [0]
roots = ["age"]
sinks = ["effect"]
signs = [["dose", "effect", "+"]]
bounds = [["dose", "effect", 0, 2.5], ["age", "dose", -inf, 1]]
"""


def test_toml_document_as_text_and_as_file(tmp_path):
    knowledge = Knowledge.from_toml(DOCUMENT)
    assert knowledge.bounds == {("age", "dose"): (-math.inf, 1), ("dose", "effect"): (0, 2.5)}
    assert knowledge.forbidden == (("*", "sex"), ("income", "age"))
    assert knowledge.closed_tiers == (0,) and knowledge.tiers[0] == ("age", "sex")
    path = tmp_path / "knowledge.toml"
    path.write_text(DOCUMENT, encoding="utf-8")
    assert Knowledge.from_toml(path) == Knowledge.from_toml(str(path)) == knowledge
    assert Knowledge.from_toml("") == Knowledge() and Knowledge().to_toml() == ""
    with pytest.raises(FileNotFoundError):
        Knowledge.from_toml("absent.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("forbiden = []", "unknown key 'forbiden'.*accepted: forbidden, required, tiers, closed_tiers, roots"),
        ("forbidden = [=", "not valid TOML.*line 1"),
        ('forbidden = [["a"]]', r"forbidden takes \[source, target\]"),
        ('signs = [["a", "b"]]', r"signs takes \[source, target, sign\]"),
        ('bounds = [["a", "b", 1]]', r"bounds takes \[source, target, low, high\]"),
        ('signs = [["a", "b", "+"], ["a", "b", "-"]]', "signs names an edge twice"),
        ("roots = 3", "roots must be a list, not 3"),
        ("forbidden = true", "forbidden must be a list, not True"),
    ],
)
def test_faulty_toml(text, message):
    with pytest.raises(KnowledgeError, match=message):
        Knowledge.from_toml(text)


def test_a_file_that_is_not_utf8(tmp_path):
    path = tmp_path / "latin.toml"
    path.write_bytes('roots = ["ä"]'.encode("latin-1"))
    with pytest.raises(KnowledgeError, match=r"latin.toml is not UTF-8 text"):
        Knowledge.from_toml(path)


def test_statements_cannot_be_changed_and_repeat_without_harm():
    given_bounds = {("a", "b"): (0, 1)}
    knowledge = Knowledge(forbidden=[["b", "a"], ["b", "a"], ["a", "c"]], bounds=given_bounds)
    given_bounds[("a", "b")] = (5, 6)
    assert knowledge.bounds == {("a", "b"): (0.0, 1.0)}
    assert knowledge.forbidden == (("a", "c"), ("b", "a"))
    with pytest.raises(AttributeError):
        knowledge.roots = ("a",)
    with pytest.raises(TypeError):
        knowledge.bounds[("a", "b")] = (0, 9)
    mask = pickle.loads(pickle.dumps(knowledge.compile(NAMES)))
    assert not mask.allowed.flags.writeable and not mask.allowed[1, 0]


def test_six_hundred_columns_in_six_tiers():
    names = [f"v{i}" for i in range(600)]
    tiers = [names[start : start + 100] for start in range(0, 600, 100)]
    mask = Knowledge(tiers=tiers).compile(names)
    rank = np.arange(600) // 100
    np.testing.assert_array_equal(mask.must_precede, rank[:, None] < rank)

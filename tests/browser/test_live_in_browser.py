"""The report learns again by itself: the same graph as Python, for the same knowledge."""

import numpy as np
import pytest

import acyclic
from acyclic.data.knowledge import Knowledge
from acyclic.discrete.refine import Nearby
from acyclic.errors import KnowledgeError
from acyclic.facts import Orientation
from acyclic.graphs.formats import from_dot, from_json
from acyclic.report import report
from acyclic.report.live import read_kernel

pytestmark = pytest.mark.skipif(not read_kernel(), reason="the WebAssembly module is not compiled: build.py --wasm")

# In the page: state knowledge, wait for the worker, and give what it found.
ASK = """
(statements) => new Promise((done) => {
  const data = JSON.parse(document.getElementById("graph-data").textContent);
  const model = makeModel(data);
  const live = makeLive(model, data, () => {
    const { result, fault, cost } = live.outcome();
    if (fault) done({ fault });
    else if (result && !result.pending) done({ ...result, cost, shown: model.edges, toml: live.toml() });
  });
  live.state(statements);
})
"""


def draw_knowledge(rng, graph):
    """Statements of all kinds that do not contradict each other."""
    names, edges, d = list(graph.names), [list(edge[:2]) for edge in graph.edges()], graph.n_nodes
    while True:
        chosen = [edges[k] for k in rng.permutation(len(edges))[:4]]
        mixed = [names[k] for k in rng.permutation(d)]
        stated = [
            {"forbidden": chosen[:2]},
            {"required": [chosen[0][::-1]], "forbidden": [chosen[1]]},
            {"required": [mixed[:2], mixed[2:4]]},
            {"tiers": [mixed[: d // 3], mixed[d // 3 : 2 * d // 3]]},
            {"tiers": [mixed[:2], mixed[2:]], "closed_tiers": [0]},
            {"roots": mixed[:2], "sinks": mixed[-1:], "forbidden": [["*", mixed[3]]]},
        ][rng.integers(6)]
        try:
            return Knowledge.from_dict(stated).to_dict()
        except KnowledgeError:
            continue


def learn_table(d, *, equal, seed, graph="ER2"):
    noise = (1.0, 1.0) if equal else (0.5, 4.0)
    data = acyclic.simulate(n_nodes=d, n=400, graph=graph, variances=noise, random_state=seed)
    return acyclic.learn(acyclic.read_table(data.X, names=data.names), effort=0.1)


def check_page(page, result, stated):
    moments = result.table.moments
    equal = result.verdict.orientation is Orientation.EQUAL_VARIANCES
    near = Nearby.of(moments, result.graph.order, noise="equal" if equal else "unequal")
    knowledge = Knowledge.from_dict(stated)
    expected = near.learn(moments, knowledge.compile(moments.names))
    found = page.evaluate(ASK, stated)
    weights = np.zeros_like(expected.weights)
    for edge in found["edges"]:
        weights[edge["source"], edge["target"]] = edge["weight"]
    assert ((weights != 0) == expected.adjacency).all()
    np.testing.assert_allclose(weights, expected.weights, rtol=1e-6, atol=1e-9)
    # Scores are sums of n log variance: both add up the same terms, of which each has an error of some units of 1e-16.
    assert found["score"] == pytest.approx(expected.score, rel=1e-12)
    assert found["cost"] == pytest.approx(expected.score - near.learn(moments).score, abs=1e-6)
    assert Knowledge.from_toml(found["toml"]) == knowledge


@pytest.mark.parametrize(
    ("d", "equal"), [(6, False), (11, True), (16, False), (28, False)], ids=lambda value: str(value)
)
def test_the_page_learns_what_python_learns(open_file, tmp_path, d, equal):
    result = learn_table(d, equal=equal, seed=d)
    report(result, tmp_path / "page.html")
    page, rng = open_file(tmp_path / "page.html"), np.random.default_rng(d)
    for _ in range(2):
        check_page(page, result, draw_knowledge(rng, result.graph))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "equal", "graph"),
    [(5, 0, "ER2"), (9, 0, "SF2"), (13, 1, "ER2"), (19, 0, "ER3"), (24, 0, "ER2"), (30, 1, "ER2"), (40, 0, "SF2")],
)
def test_the_page_learns_what_python_learns_in_many_cases(open_file, tmp_path, d, equal, graph):
    result = learn_table(d, equal=bool(equal), seed=100 + d, graph=graph)
    report(result, tmp_path / "page.html")
    page, rng = open_file(tmp_path / "page.html"), np.random.default_rng(100 + d)
    for _ in range(8):
        check_page(page, result, draw_knowledge(rng, result.graph))


@pytest.fixture(scope="module")
def small():
    return learn_table(8, equal=False, seed=2)


@pytest.fixture
def page(open_file, small, tmp_path):
    report(small, tmp_path / "page.html", title="small")
    return open_file(tmp_path / "page.html")


def status(page):
    page.wait_for_selector("#live-status:has-text('Learned again in')")
    return page.text_content("#live-status")


def shown_pairs(page):
    rows = page.locator("#edges tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(c => c.textContent))"
    )
    return {(row[0], row[1]) for row in rows}


def test_forbid_require_reverse_undo_and_redo_by_clicking(page, small):
    before = shown_pairs(page)
    assert page.is_disabled("#undo") and page.is_disabled("#redo")
    page.click("#edges tbody tr:nth-child(1)")
    source, target = page.locator("#edges tbody tr:nth-child(1) td").all_text_contents()[:2]
    page.click("#panel .actions >> text=Forbid")
    assert "It costs" in status(page)
    assert (source, target) not in shown_pairs(page)
    assert f"no edge {source} → {target}" in page.text_content("#stated")
    page.click("#undo")
    assert shown_pairs(page) == before and "nothing yet" in page.text_content("#stated")
    page.click("#redo")
    assert (source, target) not in shown_pairs(page)
    page.click("#stated >> text=Remove")
    assert shown_pairs(page) == before
    page.click("#edges tbody tr:nth-child(1)")
    page.click("#panel .actions >> text=Reverse")
    status(page)
    assert (target, source) in shown_pairs(page)
    assert page.locator("#changes .mark.turned").count() >= 1
    page.click("#restart")
    assert shown_pairs(page) == before and page.is_disabled("#toml")


def test_tiers_and_the_form_work_with_the_keyboard_alone(page, small, tmp_path):
    names = small.graph.names
    page.fill("#search", names[0])
    page.focus("#tier")
    page.keyboard.press("ArrowDown")
    assert f"{names[0]} is in tier 1" in page.text_content("#stated")
    page.focus("#state-from")
    page.keyboard.type(names[1])
    page.focus("#state-to")
    page.keyboard.type(names[2])
    page.focus("#state-require")
    page.keyboard.press("Enter")
    status(page)
    assert (names[1], names[2]) in shown_pairs(page)
    with page.expect_download() as waiting:
        page.click("#toml")
    assert waiting.value.suggested_filename == "knowledge.toml"
    waiting.value.save_as(tmp_path / "knowledge.toml")
    stated = Knowledge.from_toml(tmp_path / "knowledge.toml")
    assert stated == Knowledge(required=[(names[1], names[2])], tiers=[[names[0]]])


def test_a_contradiction_is_refused_and_said(page, small):
    names = small.graph.names
    for source, target in ((names[0], names[1]), (names[1], names[2]), (names[2], names[0])):
        page.fill("#state-from", source)
        page.fill("#state-to", target)
        page.click("#state-require")
    assert "would close a cycle" in page.text_content("#live-status")
    assert page.locator("#stated li").count() == 2
    page.fill("#state-from", "no such column")
    page.click("#state-forbid")
    assert page.text_content("#state-fault") == "Name two variables of the table."


def test_the_changed_graph_is_downloaded(page, small):
    page.click("#edges tbody tr:nth-child(1)")
    page.click("#panel .actions >> text=Forbid")
    status(page)
    for name, read in {"dot": from_dot, "json": from_json}.items():
        with page.expect_download() as waiting:
            page.click(f"[data-format={name}]")
        with open(waiting.value.path(), encoding="utf-8") as file:
            assert {edge[:2] for edge in read(file.read()).edges()} == shown_pairs(page)


def test_a_page_that_cannot_learn_takes_statements_and_gives_the_command(open_file, small, tmp_path):
    report(acyclic.Result.from_json(small.to_json()), tmp_path / "page.html")
    page = open_file(tmp_path / "page.html")
    before = shown_pairs(page)
    page.click("#edges tbody tr:nth-child(1)")
    page.click("#panel .actions >> text=Forbid")
    assert shown_pairs(page) == before and page.locator("#stated li").count() == 1
    assert page.is_visible("#command") and "without the table" in page.text_content("#live-why")
    assert page.is_enabled("#toml")

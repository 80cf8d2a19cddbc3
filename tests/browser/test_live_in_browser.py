"""The report learns again by itself: the same graph as Python, for the same knowledge."""

from pathlib import Path

import numpy as np
import pytest

import acyclic
from acyclic.data.knowledge import Knowledge
from acyclic.errors import KnowledgeError
from acyclic.graphs.formats import from_dot, from_json
from acyclic.report import report
from acyclic.report.comparison import report_comparison
from acyclic.report.live import read_kernel
from acyclic.trust.pricing import Again, find_lines, find_problem, find_way

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


def check_page(page, result, stated, *, rounding=1e-12):
    """Python and the page give the same graph, weights, score and price of what is stated."""
    near, knowledge = find_problem(result), Knowledge.from_dict(stated)
    expected = near.learn(knowledge.compile(result.graph.names))
    found = page.evaluate(ASK, stated)
    weights = np.zeros_like(expected.weights)
    for edge in found["edges"]:
        weights[edge["source"], edge["target"]] = edge["weight"]
    assert ((weights != 0) == expected.adjacency).all()
    # Both solve normal equations, of up to ten features a parent, whose condition is some 1e4.
    np.testing.assert_allclose(weights, expected.weights, rtol=1e-6, atol=1e-8)
    # Scores are sums of n log variance: both add up the same terms, of which each has an error of some units of 1e-16.
    assert found["score"] == pytest.approx(expected.score, rel=rounding)
    assert found["cost"] == pytest.approx(expected.score - near.learn().score, abs=1e-5)
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
    source, target = page.locator("#edges tbody tr:nth-child(1) td").all_text_contents()[:3:2]
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


AXE = Path(__file__).parent / "axe-core" / "axe.min.js"


def violations(page):
    # The page's own policy forbids scripts that are not its own; the debugger may still evaluate one.
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_changed_page_is_accessible(open_file, small, tmp_path, scheme):
    report(small, tmp_path / "page.html")
    page = open_file(tmp_path / "page.html", color_scheme=scheme)
    page.click("#edges tbody tr:nth-child(1)")
    page.click("#panel .actions >> text=Reverse")
    status(page)
    page.click("#edges tbody tr:nth-child(2)")
    assert violations(page) == []


def test_hostile_names_stay_text_when_they_are_stated(open_file, tmp_path):
    names = ["<img src=x onerror=alert(1)>", '"\\\n', "</script>", "plain"]
    X = acyclic.simulate(n_nodes=5, n=300, variances=(0.5, 3.0), random_state=1).X[:, :4]
    result = acyclic.learn(acyclic.read_table(X, names=names))
    report(result, tmp_path / "page.html")
    page = open_file(tmp_path / "page.html")
    stated = {"required": [[names[0], names[1]]], "tiers": [[names[2]], [names[3]]]}
    check_page(page, result, stated)
    page.fill("#state-from", names[0])
    page.fill("#state-to", names[2])
    page.click("#state-require")
    status(page)
    assert names[0] in page.text_content("#stated") and page.locator("main img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_comparison_is_accessible_and_asks_for_nothing(browser, small, tmp_path, scheme):
    report_comparison(small, small.graph, tmp_path / "diff.html", titles=("one", "other"))
    page, asked = browser.new_page(color_scheme=scheme), []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: asked.append(message.text))
    page.goto((tmp_path / "diff.html").as_uri())
    assert violations(page) == [] and asked == [(tmp_path / "diff.html").as_uri()]
    page.close()


def test_a_page_of_a_thousand_columns_opens_and_says_that_it_is_too_large_to_learn(open_file, tmp_path):
    data = acyclic.simulate(n_nodes=1000, n=1200, graph="ER1", random_state=1)
    report(acyclic.learn(acyclic.read_table(data.X), method="equal-variance"), tmp_path / "page.html")
    page = open_file(tmp_path / "page.html")
    assert page.is_visible("#overview") and page.is_visible("#command")
    assert "too many columns" in page.text_content("#live-why")


# ---- Curves, and noise of any shape ----


def make_curved(d, *, noise, seed):
    """A table of curves or of lines whose noise is not normal, and what learn() makes of it."""
    made = {"sem": "gp-add"} if noise == "gaussian" else {"noise": "exponential"}
    data = acyclic.simulate(n_nodes=d, n=400, graph="ER1", standardize=True, random_state=seed, **made)
    return acyclic.learn(acyclic.read_table(data.X, names=data.names), effort=0.1)


@pytest.mark.parametrize(("d", "noise"), [(6, "gaussian"), (8, "any"), (12, "gaussian")])
def test_the_page_learns_curves_and_shapes_as_python_does(open_file, tmp_path, d, noise):
    result = make_curved(d, noise=noise, seed=d)
    assert find_way(result) is Again.BLOCKS
    report(result, tmp_path / "page.html")
    page, rng = open_file(tmp_path / "page.html"), np.random.default_rng(d)
    for _ in range(4):
        check_page(page, result, draw_knowledge(rng, result.graph), rounding=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "noise"), [(5, "any"), (10, "gaussian"), (14, "any"), (18, "gaussian"), (24, "any")])
def test_the_page_learns_curves_and_shapes_as_python_does_in_many_cases(open_file, tmp_path, d, noise):
    result = make_curved(d, noise=noise, seed=200 + d)
    report(result, tmp_path / "page.html")
    page, rng = open_file(tmp_path / "page.html"), np.random.default_rng(200 + d)
    for _ in range(6):
        check_page(page, result, draw_knowledge(rng, result.graph), rounding=1e-9)


def test_a_page_without_rows_learns_by_lines_and_says_so(open_file, tmp_path):
    result = make_curved(8, noise="any", seed=8)
    report(result, tmp_path / "page.html", rows=False)
    page = open_file(tmp_path / "page.html")
    assert "lines and normal noise alone" in page.text_content("#live-why") and page.is_visible("#command")
    names = result.graph.names
    stated = {"forbidden": [[names[0], names[1]]]}
    expected = find_lines(result).learn(Knowledge.from_dict(stated).compile(names))
    found = page.evaluate(ASK, stated)
    assert {(edge["source"], edge["target"]) for edge in found["edges"]} == set(
        map(tuple, np.argwhere(expected.adjacency).tolist())
    )


def make_categories(d, seed):
    made = acyclic.simulate(n_nodes=d, n=500, graph="ER1", sem="categorical", random_state=seed)
    kinds = dict.fromkeys(made.names, "categorical")
    return acyclic.learn(acyclic.read_table(made.X, names=made.names, kinds=kinds), effort=0.1)


@pytest.mark.parametrize("d", [6, 13])
def test_the_page_counts_categories_as_python_does(open_file, tmp_path, d):
    result = make_categories(d, seed=d)
    assert find_way(result) is Again.COUNTS
    report(result, tmp_path / "page.html")
    page, rng = open_file(tmp_path / "page.html"), np.random.default_rng(d)
    for _ in range(4):
        check_page(page, result, draw_knowledge(rng, result.graph), rounding=1e-9)

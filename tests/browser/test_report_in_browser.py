"""The report in a real browser: all that a reader can do with the graph of the Sachs data, and a hostile one."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import acyclic
from acyclic.data.simulate import random_dag, random_weights
from acyclic.facts import Caution, Empty, Ended, Fact, Note, Orientation
from acyclic.graphs.dag import Dag
from acyclic.graphs.formats import from_csv, from_dagitty, from_dot, from_json
from acyclic.judging.verdict import Margin, Verdict
from acyclic.judging.words import say_effect, show_cell
from acyclic.report import report
from acyclic.result import Result
from acyclic.trust.audit import audit
from acyclic.trust.bootstrap import bootstrap

AXE = Path(__file__).parent / "axe-core" / "axe.min.js"
HOSTILE = "<img src=x onerror=alert(1)>"


def plain_result(dag, provenance=None, **fields):
    end, count = Fact.of(Ended.COMPLETE), (dag.n_nodes, dag.n_edges)
    return Result(dag, Verdict("m", {}, end, Orientation.UNDETERMINED, *count, **fields), dag.cpdag(), provenance or {})


@pytest.fixture(scope="module")
def sachs():
    data = acyclic.load_sachs()
    moments = acyclic.Moments.from_array(np.log(data.X), names=data.names)
    # A method that orients, so that the graph has more than pairs.
    result = acyclic.learn(moments, method="notears", threshold=0.1)
    return result.with_evidence(confidence=bootstrap("notears", moments, draws=8), audit=audit(moments, rescalings=1))


@pytest.fixture
def open_page(open_file, tmp_path):
    """Opens a result in a page of its own."""
    count = iter(range(100))

    def opened(result, target=None, **options):
        path = tmp_path / f"report{next(count)}.html"
        report(result, path, title="Sachs 2005", target=target)
        return open_file(path, **options)

    return opened


@pytest.fixture
def page(open_page, sachs):
    return open_page(sachs)


def count(page):
    return page.text_content("#count")


def set_slider(page, selector, value):
    page.locator(selector).evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')) }", str(value)
    )


def downloaded(page, format_name):
    with page.expect_download() as waiting:
        page.click(f"[data-format={format_name}]")
    return Path(waiting.value.path()), waiting.value.suggested_filename


def drawn(page):
    """The container of the drawing holds the Cytoscape core, which tells what is on the screen."""
    return page.evaluate_handle("document.getElementById('graph')._cyreg.cy")


def visible(page):
    """Number of edges on the screen once it has been painted."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return drawn(page).evaluate("cy => cy.edges(':visible').length")


def screen_place(page, identifier):
    place = drawn(page).evaluate(
        """(cy, id) => {
            const it = cy.getElementById(id);
            return it.isNode() ? it.renderedPosition() : it.renderedMidpoint();
        }""",
        identifier,
    )
    box = page.locator("#graph").bounding_box()
    return box["x"] + place["x"], box["y"] + place["y"]


def point_at(page, identifier):
    """Moves the mouse onto a node or an edge until its tip shows, and says where that is.

    Under load the page may still scroll or wait for a scroll event when the mouse arrives, and
    then the graph looks for what lies under it at its old place: only a second move is heard.
    """
    page.locator("#graph").scroll_into_view_if_needed()
    for _ in range(30):
        page.mouse.move(5, 5)
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        place = screen_place(page, identifier)
        page.mouse.move(*place)
        page.wait_for_timeout(100)
        if page.locator("#tip").is_visible():
            return place
    raise AssertionError(f"no tip over {identifier}")


def test_it_says_what_was_found(page, sachs):
    assert page.title() == "Sachs 2005"
    assert page.text_content("h1") == "Sachs 2005"
    for line in str(sachs.verdict).splitlines():
        assert line in page.text_content("#verdict")
    assert count(page) == f"Showing {sachs.graph.n_edges} of {sachs.graph.n_edges} edges."
    assert sachs.provenance["data"] in page.text_content("main")


def test_a_click_on_a_node_shows_its_relatives_and_effects(page, sachs):
    graph, effects = sachs.graph, sachs.graph.total_effects()
    name = max(graph.names, key=lambda each: len(graph.ancestors(each)) * len(graph.descendants(each)))
    node = graph.names.index(name)
    page.mouse.click(*point_at(page, f"n{node}"))
    assert page.text_content("#panel h3") == name
    parts = page.locator("#panel > div:has(h4)")
    listed = {part.locator("h4").text_content().split(" (")[0]: part for part in parts.all()}
    for title, expected in (("Parents", graph.parents(name)), ("Children", graph.children(name))):
        assert sorted(listed[title].locator("button").all_text_contents()) == sorted(expected)
    for title, row in (("Total effect on", effects[node]), ("Total effect of", effects[:, node])):
        names = listed[title].locator("button").all_text_contents()
        numbers = [float(text.replace("−", "-")) for text in listed[title].locator("span").all_text_contents()]
        assert len(names) == np.count_nonzero(row)
        np.testing.assert_allclose(numbers, [row[graph.names.index(each)] for each in names], rtol=1e-3)
    classes = drawn(page).evaluate("cy => cy.nodes().map(node => [node.data('index'), node.classes()])")
    marked = {kind: {graph.names[k] for k, found in classes if kind in found} for kind in ("ancestor", "descendant")}
    assert marked == {"ancestor": set(graph.ancestors(name)), "descendant": set(graph.descendants(name))}
    page.select_option("#highlight", "descendants")
    assert drawn(page).evaluate("cy => cy.nodes('.ancestor').length") == 0
    page.select_option("#highlight", "neighbours")
    assert drawn(page).evaluate("cy => cy.nodes('.ancestor').length") == len(graph.parents(name))


def test_the_panel_leads_on(page, sachs):
    source, target, _ = sachs.graph.edges()[0]
    page.fill("#search", source)
    page.click(f"#panel button:text-is('{target}')")
    assert page.text_content("#panel h3") == target


def test_hover_and_click_on_an_edge(page, sachs):
    source, target, weight = sachs.graph.edges()[0]
    place = point_at(page, "e0")
    tip = page.text_content("#tip")
    assert tip.startswith(f"{source} → {target}") and f"{abs(weight):.4g}" in tip and "this way" in tip
    page.mouse.click(*place)
    assert page.text_content("#panel h3") == f"{source} → {target}"
    page.mouse.move(5, 5)
    page.wait_for_selector("#tip", state="hidden")


def test_search(page, sachs):
    page.fill("#search", "pip")
    found = drawn(page).evaluate("cy => cy.nodes('.found').map(node => node.data('label'))")
    assert sorted(found) == ["PIP2", "PIP3"]
    page.press("#search", "Enter")
    assert page.text_content("#panel h3") in ("PIP2", "PIP3")
    page.fill("#search", "no such name")
    assert drawn(page).evaluate("cy => cy.nodes('.found').length") == 0


def test_sliders_hide_edges_and_keep_counts(page, sachs):
    strengths = sorted(abs(effect) for effect in sachs.standardised.values())
    total = len(strengths)
    for step in (0, 1, total // 2, total - 1, total):
        set_slider(page, "#weight", step)
        left = 0 if step == total else sum(strength >= strengths[step] for strength in strengths)
        assert count(page) == f"Showing {left} of {total} edges."
        assert visible(page) == left
        assert page.locator("#edges tbody tr").count() == left
    set_slider(page, "#weight", 0)
    sure = {(row["source"], row["target"]): row["frequency"] for row in sachs.confidence["edges"]}
    for share in (0, 40, 75, 100):
        set_slider(page, "#confidence", share)
        left = sum(sure.get(edge[:2], 0) >= share / 100 for edge in sachs.graph.edges())
        assert count(page) == f"Showing {left} of {total} edges."
        assert visible(page) == left


def test_the_equivalence_class(page, sachs):
    page.check("input[value=cpdag]")
    directed, undirected = len(sachs.cpdag.directed_edges()), len(sachs.cpdag.undirected_edges())
    total = sachs.graph.n_edges
    assert count(page) == f"Showing {total} of {total} edges: {directed} directed, {undirected} undirected."
    heads = drawn(page).evaluate("cy => cy.edges().map(edge => edge.style('target-arrow-shape'))")
    assert (heads.count("triangle"), heads.count("none")) == (directed, undirected)
    page.check("input[value=dag]")
    assert drawn(page).evaluate("cy => cy.edges('.open').length") == 0


def test_a_near_tie_has_no_arrowhead_in_the_class_but_stays_directed_in_its_files(open_page):
    dag = acyclic.Dag.from_edges([("a", "c", 1.0), ("b", "c", 1.0)], ["a", "b", "c"])
    support = {("a", "c"): Orientation.CONTESTED, ("b", "c"): Orientation.INDEPENDENCE}
    margins = {("a", "c"): Margin(1.8, 9.0), ("b", "c"): Margin(np.inf, np.inf)}
    page = open_page(plain_result(dag, support=support, margins=margins))
    page.check("input[value=cpdag]")
    assert count(page) == "Showing 2 of 2 edges: 1 directed, 0 undirected, 1 nearly tied."
    heads = drawn(page).evaluate("cy => cy.edges().map(edge => edge.style('target-arrow-shape'))")
    assert heads == ["none", "triangle"]
    cells = page.locator("#edges tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert [(row[4], row[6]) for row in cells] == [("1.8", "near-tie"), ("∞", "directed")]
    lines = downloaded(page, "csv")[0].read_text(encoding="utf-8").splitlines()
    assert lines == [
        "source,target,weight,margin,turned,left_out,decided,support,rests_on,directed",
        "a,c,1,1.8,1.8,9,false,contested,compelled in this class; another class within 1.8 turns it,true",
        "b,c,1,inf,inf,inf,true,independence,independence,true",
    ]


def test_colour_dash_and_width(page, sachs):
    edges = drawn(page).evaluate(
        "cy => cy.edges().map(edge => [edge.style('line-color'), edge.style('line-style'), edge.numericStyle('width')])"
    )
    effects = [sachs.standardised[edge[:2]] for edge in sachs.graph.edges()]
    for (colour, style, _), (source, target, weight) in zip(edges, sachs.graph.edges()):
        assert colour == ("rgb(31,95,168)" if weight > 0 else "rgb(179,71,29)")
        assert style == ("solid" if sachs.support[source, target] == "independence" else "dashed")
    order = np.argsort(np.abs(effects))
    assert (np.diff(np.array([width for *_, width in edges])[order]) >= 0).all()


def test_zoom_drag_and_fit(page):
    zoom = drawn(page).evaluate("cy => cy.zoom()")
    page.click("#zoom-in")
    assert drawn(page).evaluate("cy => cy.zoom()") == pytest.approx(1.3 * zoom)
    page.click("#fit")
    assert drawn(page).evaluate("cy => cy.zoom()") == pytest.approx(zoom)
    before = drawn(page).evaluate("cy => cy.getElementById('n0').position()")
    x, y = point_at(page, "n0")
    page.mouse.down()
    page.mouse.move(x + 30, y + 40, steps=4)
    page.mouse.up()
    after = drawn(page).evaluate("cy => cy.getElementById('n0').position()")
    assert after["x"] - before["x"] == pytest.approx(30 / zoom, abs=3)
    # While the page is still scrolling, the wheel goes on scrolling it.
    page.wait_for_timeout(600)
    page.mouse.wheel(0, -100)
    page.wait_for_function("zoom => document.getElementById('graph')._cyreg.cy.zoom() > zoom", arg=zoom)


def test_the_wheel_scrolls_the_page_until_the_graph_is_clicked(page):
    point_at(page, "n0")
    zoom, place = drawn(page).evaluate("cy => cy.zoom()"), page.evaluate("scrollY")
    page.mouse.wheel(0, 120)
    page.wait_for_function("place => scrollY > place", arg=place)
    assert drawn(page).evaluate("cy => cy.zoom()") == zoom


def test_the_keyboard_walks_the_graph(page, sachs):
    graph = sachs.graph
    page.focus("#graph")
    page.keyboard.press("ArrowRight")
    first = graph.names[graph.order[0]]
    assert page.text_content("#panel h3") == first
    start = next(name for name in graph.names if graph.children(name))
    page.fill("#search", start)
    page.focus("#graph")
    page.keyboard.press("ArrowRight")
    child = page.text_content("#panel h3")
    assert child in graph.children(start)
    page.keyboard.press("ArrowLeft")
    assert page.text_content("#panel h3") in graph.parents(child)
    page.keyboard.press("Escape")
    assert "Select a variable" in page.text_content("#panel")
    zoom = drawn(page).evaluate("cy => cy.zoom()")
    page.keyboard.press("+")
    assert drawn(page).evaluate("cy => cy.zoom()") > zoom


def test_the_table_sorts(page, sachs):
    header = page.locator("#edges th button")
    titles = [text.split(" ▼")[0] for text in header.all_text_contents()]
    header.nth(titles.index("weight")).click()
    column = page.locator(f"#edges tbody td:nth-child({titles.index('weight') + 1})")
    numbers = [float(text.replace("−", "-")) for text in column.all_text_contents()]
    assert numbers == sorted(numbers, reverse=True)
    assert page.locator("#edges th").nth(titles.index("weight")).get_attribute("aria-sort") == "descending"
    header.nth(titles.index("from")).click()
    names = page.locator("#edges tbody td:nth-child(1)").all_text_contents()
    assert names == sorted(names, key=str.lower)


def test_downloads_are_the_graph_as_shown(page, sachs):
    readers = {"dot": from_dot, "json": from_json, "dagitty": from_dagitty}
    for name, parse in readers.items():
        path, suggested = downloaded(page, name)
        assert suggested == f"graph.{name}"
        assert parse(path.read_text(encoding="utf-8")) == sachs.graph
    path, suggested = downloaded(page, "csv")
    assert suggested == "edges.csv"
    assert sorted(from_csv(path.read_text(encoding="utf-8")).edges()) == sorted(sachs.graph.edges())
    set_slider(page, "#weight", sachs.graph.n_edges - 1)
    strongest = max(sachs.graph.edges(), key=lambda edge: abs(sachs.standardised[edge[:2]]))
    assert from_dot(downloaded(page, "dot")[0].read_text(encoding="utf-8")).edges() == [strongest]


def test_pictures_are_the_graph_as_shown(page, sachs):
    import xml.etree.ElementTree as ElementTree

    root = ElementTree.fromstring(downloaded(page, "svg")[0].read_text(encoding="utf-8"))
    tag = "{http://www.w3.org/2000/svg}"
    assert sorted(text.text for text in root.iter(f"{tag}text")) == sorted(sachs.graph.names)
    assert len(root.findall(f"{tag}path")) == 2 * sachs.graph.n_edges
    png = downloaded(page, "png")[0].read_bytes()
    assert png.startswith(b"\x89PNG") and len(png) > 5000


def test_the_class_is_downloaded_as_a_class(page, sachs):
    page.check("input[value=cpdag]")
    for name, parse in {"dot": from_dot, "json": from_json, "dagitty": from_dagitty}.items():
        assert parse(downloaded(page, name)[0].read_text(encoding="utf-8")) == sachs.cpdag
    shown = from_csv(downloaded(page, "csv")[0].read_text(encoding="utf-8"))
    assert shown.n_edges == sachs.cpdag.n_edges
    assert len(shown.undirected_edges()) == len(sachs.cpdag.undirected_edges())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(open_page, sachs, scheme):
    page = open_page(sachs, color_scheme=scheme)
    page.fill("#search", sachs.graph.names[0])
    # The page's own policy forbids scripts that are not its own; the debugger may still evaluate one.
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found["violations"]] == []


def test_theme_follows_the_system_and_the_button(open_page, sachs):
    page = open_page(sachs, color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.click("#theme")
    light = page.evaluate(paper)
    assert (dark, light) == ("rgb(20, 23, 27)", "rgb(255, 255, 255)")
    assert drawn(page).evaluate("cy => cy.nodes()[0].style('color')") == "rgb(27,31,36)"
    assert page.get_attribute("#theme", "aria-pressed") == "false"


def test_it_prints_light_and_whole(open_page, sachs):
    page = open_page(sachs, color_scheme="dark")
    assert len(page.pdf()) > 10_000
    page.emulate_media(media="print")
    assert page.locator("#controls").is_hidden() and page.locator("#edges").is_visible()


def test_it_prints_on_two_pages_with_the_drawing_as_lines(open_page, wine):
    page = open_page(wine)
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))) == 2
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#paper svg text").count() == wine.graph.n_nodes
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("#paper svg").count() == 0


def sklearn_table(name):
    data = getattr(pytest.importorskip("sklearn.datasets"), f"load_{name}")()
    X = np.column_stack([data.data, data.target]).astype(float)
    return acyclic.read_table(X, names=[*data.feature_names, "target"])


@pytest.fixture(scope="module")
def wine():
    return acyclic.learn(sklearn_table("wine"))


def boxes_on_screen(page):
    """Left, top, right and bottom of each node, as drawn."""
    found = drawn(page).evaluate(
        "cy => cy.nodes().map(node => { const b = node.renderedBoundingBox({includeLabels: false}); "
        "return [b.x1, b.y1, b.x2, b.y2]; })"
    )
    return np.array(found)


def check_layout(page, filled=0.6):
    """No two labels overlap, none is outside, and nodes with edges fill their box."""
    boxes = boxes_on_screen(page)
    frame = page.locator("#graph").bounding_box()
    assert boxes.min() >= 0 and (boxes[:, 2:].max(axis=0) <= [frame["width"], frame["height"]]).all()
    whole = drawn(page).evaluate("cy => cy.elements().renderedBoundingBox({includeLabels: false})")
    assert whole["w"] * whole["h"] >= filled * frame["width"] * frame["height"]
    # A border is drawn half outside of its box, on both.
    apart = 1.0
    for k, (x1, y1, x2, y2) in enumerate(boxes):
        others = boxes[k + 1 :]
        over = (others[:, 0] < x2 - apart) & (x1 < others[:, 2] - apart)
        assert not (over & (others[:, 1] < y2 - apart) & (y1 < others[:, 3] - apart)).any()


def test_numbers_on_edges_hide_neither_nodes_nor_each_other(open_page, wine):
    page = open_page(wine)
    places = """cy => cy.edges('.labelled').not('.crowded').map(edge => {
      const [at, font] = [edge.midpoint(), edge.data('font')];
      const [x, y] = [at.x + edge.data('across'), at.y + edge.data('down')];
      return [x, y, 0.62 * font * edge.data('text').length, font];
    })"""
    numbers = np.array(drawn(page).evaluate(places))
    nodes = np.array(
        drawn(page).evaluate(
            "cy => cy.nodes().map(n => [n.position().x, n.position().y, n.data('width'), n.data('height')])"
        )
    )
    # Some edges between nodes above each other are too short for a number; the table has those.
    assert len(numbers) >= 0.75 * wine.graph.n_edges
    for k, (x, y, width, height) in enumerate(numbers):
        others = np.vstack([nodes, numbers[k + 1 :]])
        near = np.abs(others[:, :2] - [x, y]) < (others[:, 2:] + [width, height]) / 2
        assert not near.all(axis=1).any()


@pytest.mark.parametrize("viewport", [(1280, 900), (1900, 1000), (390, 800)], ids=str)
def test_wine_fills_any_box_without_overlap(open_page, wine, viewport):
    page = open_page(wine, viewport={"width": viewport[0], "height": viewport[1]})
    check_layout(page, 0.6 if viewport[0] > 400 else 0.5)


@pytest.mark.parametrize(
    ("name", "least"),
    [("diabetes", 0.6), pytest.param("breast_cancer", 0.6, marks=pytest.mark.slow)],
)
def test_known_tables_fill_their_box(open_page, name, least):
    check_layout(open_page(acyclic.learn(sklearn_table(name), effort=0.02)), least)


@pytest.mark.parametrize(("d", "graph"), [(11, "ER2"), (50, "ER1"), (50, "ER2"), (150, "ER1")])
def test_simulated_graphs_fill_their_box_and_the_page_stays_small(open_page, tmp_path, d, graph):
    data = acyclic.simulate(n_nodes=d, n=600, graph=graph, variances=(0.5, 4), random_state=d)
    result = acyclic.learn(acyclic.read_table(data.X, names=data.names), effort=0.0)
    page = open_page(result)
    check_layout(page)
    assert (tmp_path / "report0.html").stat().st_size < 1_500_000


def test_a_row_selects_its_edge_and_back(page, sachs):
    page.click("#edges tbody tr:nth-child(2)")
    source, target = page.locator("#edges tbody tr:nth-child(2) td").all_text_contents()[:3:2]
    assert page.locator("#edges tr.chosen").count() == 1
    assert page.text_content("#panel h3").split() == [source, "→", target]
    names = sachs.graph.names
    chosen = drawn(page).evaluate("cy => cy.edges('.chosen').map(edge => [edge.source().id(), edge.target().id()])")
    assert chosen == [[f"n{names.index(source)}", f"n{names.index(target)}"]]
    page.mouse.click(*point_at(page, "e0"))
    first = sachs.graph.edges()[0]
    assert page.locator("#edges tr.chosen td").all_text_contents()[:3:2] == list(first[:2])
    page.focus("#edges tbody tr:nth-child(3) button")
    page.keyboard.press("Enter")
    assert page.locator("#edges tbody tr:nth-child(3)").get_attribute("class") == "chosen"


def test_the_rows_behind_an_edge_and_a_column(open_page, wine):
    page = open_page(wine)
    # The strongest edge between two numbers.
    numbers = [{row["source"], row["target"]} <= set(wine.graph.names) - set(wine.levels) for row in wine.edges()]
    first = f"#edges tbody tr:nth-child({numbers.index(True) + 1})"
    page.click(first)
    points = page.locator("#panel .plot .points").get_attribute("d")
    assert points.count("M") == 178 and page.locator("#panel .plot .fitted").count() == 1
    target = page.locator(f"{first} td").all_text_contents()[2]
    page.fill("#search", target)
    assert page.locator("#panel .plot").count() == 2 and page.locator("#panel .bar").count() == 24
    assert "standard deviation" in page.text_content("#panel")


def test_curves_levels_and_probabilities_are_drawn(open_page):
    rng = np.random.default_rng(0)
    group, x = rng.integers(3, size=400), rng.normal(size=400)
    answer = np.where(x + 0.5 * rng.normal(size=400) > 0, "yes", HOSTILE)
    columns = {"x": x, "g": np.array([HOSTILE, "mid", "top"])[group], "answer": answer}
    columns["y"] = x**2 + group + 0.3 * rng.normal(size=400)
    edges = [("x", "y"), ("g", "y"), ("x", "answer")]
    others = [(a, b) for a in columns for b in columns if a != b and (a, b) not in edges]
    known = acyclic.Knowledge(required=edges, forbidden=others)
    page = open_page(acyclic.learn(pd.DataFrame(columns), knowledge=known))
    drawn = {("x", "y"): ".band", ("g", "y"): "circle.level", ("x", "answer"): ".band"}
    for row in page.locator("#edges tbody tr").all():
        row.click()
        source, target = row.locator("td").all_text_contents()[:3:2]
        count = 3 if source == "g" else 1
        assert page.locator(f"#panel .plot {drawn[source, target]}").count() == count
        assert page.locator("#panel .plot .points").count() == (target == "y")
        assert "explains" in page.text_content("#panel")


def test_full_screen_and_back(open_page, wine):
    page = open_page(wine)
    page.click("#full")
    page.wait_for_selector(".stage.full")
    page.wait_for_timeout(300)
    box = page.locator("#graph").bounding_box()
    assert box["height"] > 800 and box["width"] > 900
    check_layout(page)
    page.click("#full")
    page.wait_for_selector(".stage:not(.full)")


def test_the_overview_goes_where_it_is_pressed(open_page, wine):
    page = open_page(wine)
    page.locator("#graph").scroll_into_view_if_needed()
    assert page.locator("#overview").is_hidden()
    for _ in range(6):
        page.click("#zoom-in")
    page.wait_for_selector("#overview:not([hidden])")
    before = drawn(page).evaluate("cy => cy.pan()")
    page.click("#overview", position={"x": 10, "y": 10})
    after = drawn(page).evaluate("cy => cy.pan()")
    assert after["x"] > before["x"] and after["y"] > before["y"]


def test_a_cell_of_the_matrix_names_and_selects_its_edge(page, sachs):
    page.locator("#matrix").scroll_into_view_if_needed()
    box = page.locator("#matrix").bounding_box()
    order, names = sachs.graph.order.tolist(), sachs.graph.names
    room = 7 * max(map(len, names)) + 12
    source, target, _ = sachs.graph.edges()[0]
    row, column = (order.index(names.index(name)) for name in (source, target))
    page.mouse.move(box["x"] + room + 22 * column + 11, box["y"] + room + 22 * row + 11)
    page.wait_for_function(
        "words => document.getElementById('cell').textContent.startsWith(words)", arg=f"{source} → {target}"
    )
    page.mouse.down()
    page.mouse.up()
    assert page.text_content("#panel h3") == f"{source} → {target}"


def test_hostile_names_are_only_text(open_page):
    names = [HOSTILE, "</script><script>alert(2)</script>", '"><b>', "line\nbreak", "\u2028"]
    dag = Dag.from_edges([(names[0], names[1], 1.0), (names[1], names[2], -1.0)], names=names)
    notes, cautions = (Fact.of(Note.UNKNOWN, text=HOSTILE),), (Fact.of(Caution.UNKNOWN, text=HOSTILE),)
    page = open_page(plain_result(dag, {"settings": {HOSTILE: HOSTILE}}, notes=notes, cautions=cautions))
    page.fill("#search", HOSTILE)
    page.press("#search", "Enter")
    assert page.text_content("#panel h3") == HOSTILE
    point_at(page, "n0")
    assert page.text_content("#tip") == HOSTILE
    assert page.locator("img, b, main script").count() == 0
    assert from_dot(downloaded(page, "dot")[0].read_text(encoding="utf-8")) == dag
    assert from_json(downloaded(page, "json")[0].read_text(encoding="utf-8")) == dag


def test_a_graph_without_edges(open_page):
    dag = Dag.empty(["a", "b", "c"])
    page = open_page(plain_result(dag, empty=Fact.of(Empty.UNKNOWN, text="nothing passes")))
    assert count(page) == "Showing 0 of 0 edges."
    page.fill("#search", "b")
    assert page.text_content("#panel h3") == "b"


def test_a_large_graph_opens(open_page):
    dag = Dag(random_weights(random_dag(2000, "ER2", 0), random_state=0))
    page = open_page(plain_result(dag))
    assert count(page).startswith(f"Showing {dag.n_edges} of {dag.n_edges} edges")
    page.fill("#search", "x1234")
    assert page.text_content("#panel h3") == "x1234"
    assert drawn(page).evaluate("cy => cy.zoom()") >= 0.35
    assert page.locator("#edges tbody tr").count() == 300
    page.click("#more")
    assert page.locator("#edges tbody tr").count() == dag.n_edges


# --- Ask, terms, and the table as elsewhere --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked():
    data = acyclic.simulate(9, 400, graph="ER2", random_state=5, scheme="dao")
    result = acyclic.learn(data.X, method="order-search")
    return result.with_evidence(confidence=bootstrap("order-search", data.X, draws=20))


def sentences(page):
    return [text.removesuffix(".") for text in page.locator("#ask-answer li").all_text_contents()]


def test_the_page_answers_as_python_does(open_page, asked):
    page = open_page(asked)
    for target in asked.graph.names:
        page.fill("#ask-target", target)
        found = asked.explain(target)
        for way, effects in (("drives", found.causes), ("follows", found.follows)):
            page.check(f"input[name=ask-way][value={way}]")
            said = [say_effect(effect, found.deviations[effect.cause]) for effect in effects]
            assert sentences(page) == said
            assert page.locator("#ask-answer svg rect").count() == len(effects)


def test_the_page_begins_with_the_target_that_it_is_given(open_page, asked):
    target = asked.graph.names[int(asked.graph.order[0])]
    page = open_page(asked, target=target)
    assert page.input_value("#ask-target") == target


def test_asking_works_with_the_keyboard_alone_and_leads_to_the_edge(open_page, asked):
    page = open_page(asked)
    target, cause = next((b, a) for a, b, _ in asked.graph.edges())
    page.focus("#ask-target")
    page.keyboard.press("Control+a")
    page.keyboard.type(target)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert page.is_checked("input[value=follows]")
    page.keyboard.press("ArrowUp")
    assert page.is_checked("input[value=drives]")
    at = [effect.cause for effect in asked.explain(target).causes].index(cause)
    page.locator("#ask-answer li button").nth(at).press("Enter")
    assert re.match(rf"{cause} [→–] {target}", page.text_content("#panel h3"))


def test_a_name_that_is_none_is_said(open_page, asked):
    page = open_page(asked)
    page.fill("#ask-target", HOSTILE)
    assert page.text_content("#ask-answer") == "No variable has this name."


def test_terms_are_explained_on_hover_and_in_the_glossary(open_page, asked):
    page = open_page(asked)
    term = page.locator("#verdict a.term").first
    assert term.get_attribute("data-meaning") == page.text_content(term.get_attribute("href"))
    term.hover()
    assert term.evaluate("it => getComputedStyle(it, '::after').content").strip('"') == term.get_attribute(
        "data-meaning"
    )
    term.focus()
    page.keyboard.press("Enter")
    assert page.url.endswith(term.get_attribute("href"))


def test_the_table_has_the_columns_and_cells_of_python_and_the_terminal(open_page, asked):
    page = open_page(asked)
    titles = [re.sub(" [▲▼]$", "", text) for text in page.locator("#edges th button").all_text_contents()]
    columns = asked.shown_columns()
    assert titles == list(columns.values())
    cells = [row.locator("td").all_text_contents() for row in page.locator("#edges tbody tr").all()]
    assert sorted(cells) == sorted([show_cell(row, name) for name in columns] for row in asked.edges())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_answer_is_accessible(open_page, asked, scheme):
    page = open_page(asked, color_scheme=scheme)
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run().then(found => found.violations.map(each => each.id + ': ' + each.nodes[0].html))")
    assert found == []

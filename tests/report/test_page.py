import base64
import dataclasses
import hashlib
import html.parser
import json
import math
import re
import shutil
import subprocess
import sys
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import acyclic
from acyclic.errors import InputError, show_name
from acyclic.facts import Caution, Ended, Fact, Note, Orientation
from acyclic.graphs import formats
from acyclic.graphs.dag import Dag
from acyclic.judging.verdict import Verdict
from acyclic.report import report
from acyclic.report.folder import edge_list
from acyclic.report.live import NotLive, pack_problem, read_kernel, why_not_live
from acyclic.report.page import FAINTEST
from acyclic.report.sketch import sketch_table
from acyclic.result import Result
from acyclic.trust.audit import audit
from acyclic.trust.bootstrap import bootstrap
from acyclic.trust.choice import choose_l1
from acyclic.trust.drawn import Drawn
from strategies import HOSTILE as NAMES
from strategies import any_weights, dags, hostile_names

STATIC = files("acyclic.report") / "static"
HOSTILE = "</script><img src=x onerror=alert(1)>&\u2028"


class Page(html.parser.HTMLParser):
    """Tags with attributes, and the text of each script."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts, self.text, self._inside = [], [], [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, text):
        if self._inside == "script":
            self.scripts[-1] += text
        elif self._inside != "style":
            self.text.append(text)

    def handle_endtag(self, tag):
        self._inside = None

    @property
    def data(self):
        return json.loads(self.scripts[0])


def plain_result(dag, **fields):
    end, count = Fact.of(Ended.COMPLETE), (dag.n_nodes, dag.n_edges)
    return Result(dag, Verdict("test", {}, end, Orientation.UNDETERMINED, *count, **fields), dag.cpdag())


@pytest.fixture(scope="module")
def learned():
    data = acyclic.simulate(n_nodes=6, n=300, random_state=4)
    return acyclic.learn(data.X), data.X


def test_the_page_holds_the_graph(learned):
    result, _ = learned
    data = Page(report(result, title="T")).data
    names = [node["name"] for node in data["nodes"]]
    edges = [(names[edge["source"]], names[edge["target"]], edge["weight"]) for edge in data["edges"]]
    assert edges == result.graph.edges()
    assert data["order"] == result.graph.order.tolist()
    for edge in data["edges"]:
        pair = names[edge["source"]], names[edge["target"]]
        assert edge["support"] == result.support[pair]
        assert edge["reversible"] == (
            tuple(sorted(pair)) in {tuple(sorted(e)) for e in result.cpdag.undirected_edges()}
        )


def run_downloads(results):
    """What the page of each result offers to download, by view and format, made by its own scripts."""
    scripts = [(STATIC / name).read_text(encoding="utf-8") for name in ("model.js", "formats.js")]
    code = """
    const pages = JSON.parse(require("fs").readFileSync(0, "utf8"));
    const write = (model, view) => Object.fromEntries(
      Object.entries(formats).map(([name, writer]) => [name, writer(model, model.edges, view)]));
    const all = pages.map(makeModel).map((model) => ({ dag: write(model, "dag"), cpdag: write(model, "cpdag") }));
    process.stdout.write(JSON.stringify(all));
    """
    data = json.dumps([Page(report(result)).data for result in results])
    command = [shutil.which("node"), "-e", "\n".join([*scripts, code])]
    done = subprocess.run(command, input=data, capture_output=True, text=True, encoding="utf-8", timeout=60, check=True)
    return json.loads(done.stdout)


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture(scope="module")
def several():
    rng = np.random.default_rng(0)
    hostile = Dag(np.triu(rng.normal(size=(len(NAMES), len(NAMES))) * (rng.random((len(NAMES),) * 2) < 0.03), 1), NAMES)
    simulated = [acyclic.simulate(n_nodes=8, n=10, graph="ER1", random_state=seed).graph for seed in range(5)]
    plain = [Dag.from_edges([("b", "a"), ("c", "b")], list("abc")), Dag.empty(["alone", "too"])]
    return [plain_result(dag) for dag in (hostile, *simulated, *plain)]


@needs_node
@pytest.mark.parametrize("name", ["json", "dot", "dagitty"])
def test_downloads_are_read_back_as_what_is_shown(several, name):
    read = getattr(formats, f"from_{name}")
    for result, texts in zip(several, run_downloads(several), strict=True):
        assert read(texts["dag"][name]) == result.graph
        assert read(texts["cpdag"][name]) == result.cpdag


@needs_node
def test_the_table_of_edges_is_read_back_as_what_is_shown(several):
    for result, texts in zip(several, run_downloads(several), strict=True):
        if result.graph.n_edges:
            assert sorted(formats.from_csv(texts["dag"]["csv"]).edges()) == sorted(result.graph.edges())
            shown = formats.from_csv(texts["cpdag"]["csv"])
            assert sorted(shown.directed_edges()) == sorted(result.cpdag.directed_edges())
            assert {frozenset(edge) for edge in shown.undirected_edges()} == {
                frozenset(edge) for edge in result.cpdag.undirected_edges()
            }


@needs_node
def test_the_class_is_written_as_python_writes_it():
    # With directed edges first, and undirected ones from the earlier node, even the order of the lines is the same.
    dag = Dag.from_edges([("a", "c"), ("b", "c"), ("d", "e")], list("abcde"))
    [texts] = run_downloads([plain_result(dag)])
    assert texts["cpdag"]["json"] == dag.cpdag().to_json()
    assert texts["cpdag"]["dot"] == dag.cpdag().to_dot()


@needs_node
def test_the_table_has_the_columns_of_the_file(learned):
    result, X = learned
    for shown in (result, result.with_evidence(confidence=bootstrap(acyclic.learn, X, draws=3))):
        [texts] = run_downloads([shown])
        header = edge_list(shown).splitlines()[0]
        assert texts["dag"]["csv"].splitlines()[0] == header
        assert texts["cpdag"]["csv"].splitlines()[0] == f"{header},directed"


def test_the_page_asks_for_nothing(learned):
    text = report(learned[0])
    page = Page(text)
    for tag, attributes in page.tags:
        assert tag not in ("img", "iframe", "object", "embed", "base", "form") or attributes.get("id") in (
            "controls",
            "state-form",
            "ask-form",
        )
        assert "src" not in attributes and "action" not in attributes
        assert attributes.get("href", "#")[:1] == "#" or attributes["href"] == "data:,"
    assert "url(" not in (STATIC / "report.css").read_text() and "@import" not in (STATIC / "report.css").read_text()
    assert len(text.encode()) < 1_500_000


def test_the_policy_allows_our_scripts_by_digest_and_no_request(learned):
    page = Page(report(learned[0]))
    policy = next(a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv"))
    assert "default-src 'none'" in policy and "connect-src" not in policy and "http" not in policy
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    digests = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in page.scripts[2:]}
    assert digests == allowed and len(digests) == 2
    assert "'wasm-unsafe-eval'" in policy and "'unsafe-eval'" not in policy and "worker-src blob:" in policy


def test_hostile_names_are_text_everywhere():
    dag = Dag.from_edges([(HOSTILE, "b", 1.0)], names=[HOSTILE, "b"])
    notes = Fact.of(Note.CONSTANT, HOSTILE, value=1.0), Fact.of(Note.UNKNOWN, text=f"{HOSTILE} is odd")
    cautions = (Fact.of(Caution.REQUIRED_WITHOUT_WEIGHT, HOSTILE, "b"),)
    result = plain_result(dag, notes=notes, cautions=cautions)
    result = dataclasses.replace(result, provenance={"settings": {HOSTILE: HOSTILE}, "table_name": HOSTILE})
    text = report(result, notes=[HOSTILE], title=HOSTILE)
    page = Page(text)
    assert "<img" not in text and len(page.scripts) == 4
    assert page.data["nodes"][0]["name"] == HOSTILE
    assert any(f"{HOSTILE} is odd" in piece for piece in page.text)
    assert any(show_name(HOSTILE) in piece and "required" in piece for piece in page.text)
    assert "\u2028" not in page.scripts[0]


@settings(max_examples=25, deadline=None)
@given(dags(max_nodes=5, weights=any_weights, names=hostile_names))
def test_any_graph_gives_a_page(dag):
    page = Page(report(plain_result(dag)))
    assert [node["name"] for node in page.data["nodes"]] == list(dag.names)
    assert [edge["weight"] for edge in page.data["edges"]] == [weight for *_, weight in dag.edges()]


def test_half_a_surrogate_pair_does_not_break_the_file(tmp_path):
    report(plain_result(Dag.empty(["\ud800", "b"])), tmp_path / "page.html")
    assert Page((tmp_path / "page.html").read_text(encoding="utf-8")).data["nodes"][0]["name"] == "\ud800"


def cells_of(sketch):
    cells = np.frombuffer(base64.b64decode(sketch["sample"]["cells"]), "<u2").reshape(len(sketch["variables"]), -1)
    low, high = (np.array([column[end] for column in sketch["variables"]])[:, None] for end in ("low", "high"))
    return (low + cells / 65535 * (high - low)).T


def test_the_page_holds_a_sample_of_the_rows_and_what_each_column_is(learned):
    result, X = learned
    data = Page(report(result)).data
    assert data["sample"]["rows"] == len(X) == sum(data["variables"][0]["counts"])
    np.testing.assert_allclose(cells_of(data), X, atol=np.ptp(X, axis=0).max() / 65535)
    assert [column["mean"] for column in data["variables"]] == pytest.approx(X.mean(axis=0).tolist())


def test_the_sample_is_small_and_the_same_every_time():
    X = np.random.default_rng(0).normal(size=(3000, 150))
    X[:, 0] = 1.0
    table = acyclic.read_table(X)
    sketch = sketch_table(table)
    assert sketch == sketch_table(table) and sketch["sample"]["rows"] == 500
    assert len(json.dumps(sketch)) < 250_000
    assert (cells_of(sketch)[:, 0] == 1.0).all()


def test_missing_cells_are_told_and_without_rows_there_is_no_sample():
    X = np.random.default_rng(0).normal(size=(50, 2))
    X[:5, 1] = np.nan
    sketch = sketch_table(acyclic.read_table(X, missing="pairwise"))
    assert [column["missing"] for column in sketch["variables"]] == [0.0, 0.1] and sketch["sample"] is None
    assert sketch_table(None) == {"variables": [], "sample": None}


def test_edges_are_as_strong_as_their_standardised_effect_and_as_faint_as_they_are_unsure(learned):
    result, X = learned
    names = result.graph.names
    for edge in Page(report(result)).data["edges"]:
        i, j = edge["source"], edge["target"]
        assert edge["standardised"] == pytest.approx(edge["weight"] * X[:, i].std() / X[:, j].std())
        assert edge["decided"] == result.support[names[i], names[j]].is_decided
    sure = {"draws": 4, "requested": 4, "notes": []}
    first = result.graph.edges()[0]
    rows = [{"source": first[0], "target": first[1], "frequency": 1.0, "adjacency": 1.0, "lower": None, "upper": None}]
    edges = Page(report(result, confidence={**sure, "edges": rows})).data["edges"]
    assert edges[0]["opacity"] == 1.0 and {edge["opacity"] for edge in edges[1:]} == {FAINTEST}


def test_what_a_page_that_cannot_learn_says(learned, monkeypatch):
    result, _ = learned
    kernel = read_kernel()
    monkeypatch.setattr("acyclic.report.live.read_kernel", lambda: kernel or "AA==")
    assert why_not_live(result) is None
    assert why_not_live(dataclasses.replace(result, table=None)) is NotLive.NO_TABLE
    for stated in ("file.toml", {"signs": [["x0", "x1", "+"]]}):
        provenance = {**result.provenance, "knowledge": stated}
        assert why_not_live(dataclasses.replace(result, provenance=provenance)) is NotLive.KNOWLEDGE
    other = dataclasses.replace(result, verdict=dataclasses.replace(result.verdict, method="notears"))
    assert why_not_live(other) is NotLive.OTHER_METHOD
    cut = dataclasses.replace(result, verdict=dataclasses.replace(result.verdict, threshold=0.3))
    assert why_not_live(cut) is NotLive.THRESHOLD
    script = (STATIC / "report.js").read_text(encoding="utf-8")
    assert all(f'"{why}": "' in script or f'{why}: "' in script for why in NotLive)
    monkeypatch.setattr("acyclic.report.live.read_kernel", lambda: "")
    assert why_not_live(result) is NotLive.NO_KERNEL
    page = Page(report(result))
    assert page.data["live"] == {"why": "no-kernel"} and page.scripts[1] == ""


def learn_curve():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    return acyclic.learn(np.column_stack([x, x + x**2 + rng.normal(size=500)]))


def test_a_page_learns_again_with_curves_where_they_were_found(monkeypatch):
    monkeypatch.setattr("acyclic.report.live.read_kernel", lambda: "AA==")
    result = learn_curve()
    assert result.verdict.orientation is Orientation.CURVATURE
    assert why_not_live(result) is None
    packed = pack_problem(result)
    assert "blocks" in packed and "correlation" not in packed and not packed["lines"]
    monkeypatch.setattr("acyclic.report.live.MOST_BYTES", 1000)
    packed = pack_problem(result)
    assert "blocks" not in packed and packed["lines"]


def test_a_page_without_rows_holds_none_of_them_to_learn_from(monkeypatch):
    monkeypatch.setattr("acyclic.report.live.read_kernel", lambda: "AA==")
    X = acyclic.simulate(n_nodes=5, n=400, noise="exponential", standardize=True, random_state=1).X
    result = acyclic.learn(X)
    assert result.verdict.settings["noise"] == "any"
    assert pack_problem(result)["blocks"]["rows"] is not None
    packed = pack_problem(result, rows=False)
    assert packed["lines"] and "blocks" not in packed
    # Curves take moments only, but the ends of their knots are values of rows: those are not told.
    places = pack_problem(learn_curve(), rows=False)["blocks"]["places"]
    assert places != pack_problem(learn_curve())["blocks"]["places"]


def test_a_page_of_categories_counts_and_does_not_take_their_codes_for_numbers(monkeypatch):
    monkeypatch.setattr("acyclic.report.live.read_kernel", lambda: "AA==")
    made = acyclic.simulate(n_nodes=5, n=300, sem="categorical", random_state=1)
    names = [f"c{k}" for k in range(5)]
    counted = acyclic.learn(acyclic.read_table(made.X, names=names, kinds=dict.fromkeys(names, "categorical")))
    assert why_not_live(counted) is None and "counts" in pack_problem(counted)
    assert why_not_live(counted, rows=False) is NotLive.NO_ROWS
    monkeypatch.setattr("acyclic.report.live.MOST_BYTES", 1000)
    assert why_not_live(counted) is NotLive.TOO_LARGE


@pytest.mark.parametrize("method", ["auto", "order-search"])
def test_a_page_learns_again_at_the_price_that_was_found(method):
    X = acyclic.simulate(n_nodes=5, n=300, scheme="standardized", random_state=0).X
    result = acyclic.learn(X, method=method, penalty="adaptive")
    assert pack_problem(result)["price"] == result.verdict.details["price of a parent"]


def test_a_kernel_of_other_sources_is_none(tmp_path, monkeypatch):
    (tmp_path / "kernels.wasm").write_bytes(b"\0asm sources 0123")
    (tmp_path / "order.c").write_text("int x;")
    monkeypatch.setattr("acyclic.report.live.FOLDER", tmp_path)
    assert read_kernel.__wrapped__() == ""


def test_evidence_is_shown(learned):
    result, X = learned
    found = bootstrap(acyclic.learn, X, draws=5)
    chosen = choose_l1(acyclic.Notears(), X, [0.5, 0.1])
    page = Page(report(result, confidence=found, audit=audit(X, rescalings=0), curve=chosen, notes=["a remark"]))
    text = " ".join(page.text)
    assert "5 of 5 draws" in text and "a remark" in text and "keep their direction" in text
    assert "was chosen by ebic" in text
    names = list(found.names)
    for edge in page.data["edges"]:
        assert edge["this_way"] == found.edge[edge["source"], edge["target"]]
        assert edge["either_way"] == found.adjacency[edge["source"], edge["target"]]
    assert names == [node["name"] for node in page.data["nodes"]]


def test_without_evidence_there_is_no_section_of_it(learned):
    text = " ".join(Page(report(learned[0])).text)
    assert not re.search(r"\b(Confidence|Audit|Curve)\b", text)


def test_an_edge_that_no_draw_has_is_not_unknown_but_never_found(learned):
    result, _ = learned
    page = Page(report(result, confidence={"draws": 3, "requested": 3, "edges": [], "notes": []}))
    assert {(edge["this_way"], edge["either_way"]) for edge in page.data["edges"]} == {(0.0, 0.0)}
    assert not any("lower" in edge for edge in page.data["edges"])


def test_a_trace_is_drawn(learned):
    trace = [{"step": k, "objective": 1 / (1 + k), "h": float("nan")} for k in range(4)]
    text = report(learned[0], curve={"trace": trace})
    assert text.count("<polyline") == 1 and "objective against steps" in text


def test_the_path_of_the_table_stays_at_home(learned):
    result = acyclic.Result.from_json(learned[0].to_json())
    run = {"table": "/home/someone/t.csv", "seed": 3}
    text = report(dataclasses.replace(result, provenance={**result.provenance, "table_name": "t.csv", "run": run}))
    assert "/home/someone" not in text and "<title>t.csv</title>" in text


def test_the_file_is_the_text_and_whole(learned, tmp_path):
    result, _ = learned
    target = tmp_path / "page.html"
    target.write_text("old")
    assert result.report(target, title="x") is None
    assert target.read_text(encoding="utf-8") == report(result, title="x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


def test_the_same_result_gives_the_same_bytes(learned):
    assert report(learned[0]) == report(learned[0])
    stored = dataclasses.replace(learned[0], table=None)
    assert report(stored) == report(Result.from_json(learned[0].to_json()))


def test_evidence_survives_the_file(learned, tmp_path):
    result, X = learned
    full = result.with_evidence(confidence=bootstrap(acyclic.learn, X, draws=3), audit=audit(X, rescalings=0))
    full.save(tmp_path / "run.json")
    back = acyclic.load(tmp_path / "run.json")
    assert back.confidence == json.loads(json.dumps(full.confidence)) and back.audit == json.loads(
        json.dumps(full.audit)
    )
    assert back.curve is None and "curve" not in json.loads(full.to_json())
    assert report(back) == report(dataclasses.replace(full, table=None))


def test_evidence_of_another_kind_is_refused(learned):
    with pytest.raises(InputError, match="confidence is float; give what acyclic returned"):
        learned[0].with_evidence(confidence=0.9)


def test_the_library_is_as_published():
    recorded = re.search(r"`cytoscape.min.js`.*`([0-9a-f]{64})`", (STATIC / "SOURCES.md").read_text())[1]
    assert hashlib.sha256((STATIC / "cytoscape.min.js").read_bytes()).hexdigest() == recorded
    assert "Cytoscape Consortium" in (STATIC / "cytoscape.LICENSE").read_text()


def test_a_large_graph_is_laid_out_and_small(tmp_path):
    from acyclic.data.simulate import random_dag

    page = report(plain_result(Dag(random_dag(500, "ER2", 0).astype(float))))
    assert len(page.encode()) < 1_500_000


@pytest.mark.slow
def test_learning_loads_nothing_that_only_drawing_needs():
    heavy = ["matplotlib", "torch", "distributed", "networkx"]
    code = f"import acyclic.learning, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_notebooks_show_verdict_and_picture():
    dag = Dag.from_edges([("<a>", "b", 1.0)], names=["<a>", "b"])
    shown = plain_result(dag, support={("<a>", "b"): Orientation.EQUAL_VARIANCES})._repr_html_()
    assert "&lt;a&gt;" in shown and "<a>" not in shown
    assert "stroke-dasharray" in shown and shown.count("<p>") == len(
        [line for line in str(plain_result(dag)).splitlines() if line]
    )


def test_the_result_file_is_json_for_every_reader(learned):
    def no_constant(name):
        raise AssertionError(name)

    result, _ = learned
    verdict = dataclasses.replace(result.verdict, h=float("nan"), details={"spread": float("inf")})
    text = dataclasses.replace(result, verdict=verdict).to_json()
    json.loads(text, parse_constant=no_constant)
    back = Result.from_json(text).verdict
    assert math.isnan(back.h) and back.details == {"spread": None}


def test_an_edge_that_is_no_line_is_told_with_its_curve_or_levels():
    rng = np.random.default_rng(0)
    group, x = rng.integers(3, size=400), rng.normal(size=400)
    y = x**2 + group + 0.3 * rng.normal(size=400)
    columns = {"x": x, "g": np.array(["<low>", "mid", "top"])[group], "y": y}
    known = acyclic.Knowledge(required=[("x", "y"), ("g", "y")], forbidden=[("x", "g"), ("g", "x")])
    result = acyclic.learn(pd.DataFrame(columns), knowledge=known)
    data = Page(report(result)).data
    names = [node["name"] for node in data["nodes"]]
    told = {(names[edge["source"]], names[edge["target"]]): edge for edge in data["edges"]}
    curve, levels = told["x", "y"], told["g", "y"]
    assert (curve["effect"], levels["effect"]) == ("curve", "levels") and {"effect", "share"} <= set(data["columns"])
    assert len(curve["told"]["at"]) == len(curve["told"]["values"][0]) == len(curve["told"]["errors"][0])
    assert levels["told"]["at"] == ["<low>", "mid", "top"] and levels["told"]["codes"] == [0, 1, 2]
    again = Page(report(Result.from_json(result.to_json()))).data
    assert [edge.get("told") for edge in again["edges"]] == [edge.get("told") for edge in data["edges"]]
    straight = Page(report(acyclic.learn(np.column_stack([x, x + rng.normal(size=400)])))).data
    assert not any("told" in edge for edge in straight["edges"])


@pytest.mark.slow
def test_a_page_of_150_columns_with_all_its_draws_stays_small():
    data = acyclic.simulate(150, 1000, graph="ER2", random_state=0)
    result = acyclic.learn(data.X, effort=0.05)
    places = np.flatnonzero(result.graph.weights)
    drawn = Drawn.of([(places, result.graph.weights.flat[places])] * 100)
    edges = [{"source": a, "target": b, "frequency": 0.9, "adjacency": 0.9} for a, b, _ in result.graph.edges()]
    plain = {"draws": 100, "requested": 100, "edges": edges, "notes": [], "drawn": drawn.to_dict()}
    assert len(report(result, confidence=plain).encode()) <= 1_500_000

"""Hostile input, made here and not stored: whatever a file or an option holds, it is used, or refused in words.

Each corpus is made from something valid by a seeded generator, so that a case is the same on every machine.
"""

import copy
import encodings.aliases
import json
import random
import signal
import tomllib
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import acyclic
from acyclic.errors import InputError
from acyclic.experiments.plans import read_plan
from acyclic.experiments.store import Store
from acyclic.graphs import formats
from acyclic.learners import LEARNERS
from acyclic.report import report

pytest.importorskip("cyclopts", reason="the command line needs the extra cli")
pytest.importorskip("polars", reason="reading files needs the extra files")

from acyclic.cli import main
from acyclic.cli.settings import Settings, gather

HERE = Path(__file__).parent
# No value of a field, or of an option.
ODD = (
    None,
    True,
    -1,
    0,
    1.5,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "x",
    "\x1b[31m\u202e",
    [],
    {},
    [[]],
    {"a": 1},
    [None],
)
DEEP = 20_000


@contextmanager
def bounded(seconds=10):
    """A hang is a failure; the limit is far above what any case takes."""

    def late(*_):
        raise TimeoutError("no answer")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def places(value, path=()):
    """The paths to all fields of a document, lists by their first two entries."""
    keys = list(value) if isinstance(value, dict) else range(min(len(value), 2)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def changed(document, rng):
    """A document with one field left out, added or replaced."""
    new = copy.deepcopy(document)
    *path, last = rng.choice(list(places(document)))
    inner = new
    for key in path:
        inner = inner[key]
    act = rng.randrange(5)
    if act == 0:
        del inner[last]
    elif act == 1 and isinstance(inner, dict):
        inner[str(last) + "_"] = inner[last]
    elif act == 1:
        inner.append(inner[last])
    else:
        inner[last] = rng.choice(ODD)
    return new


def broken(text, rng):
    """Text with some characters lost, doubled, or put in the place of others."""
    for _ in range(rng.randrange(1, 4)):
        start = rng.randrange(len(text))
        end = min(start + rng.choice((1, 1, 2, 8, 64)), len(text))
        middle = rng.choice(
            ("", text[start:end] * 2, rng.choice('"\\{}[]<>;,=-\0\x1b\r\n\t\u202e\ud8009e '), "9" * 5000)
        )
        text = text[:start] + middle + text[end:]
    return text


def check_message(error, *names):
    """It can be read in a terminal, and names the file."""
    said = str(error)
    assert said.replace("\n", "").isprintable() and len(said) < 2000 and all(name in said for name in names)


def numbered(count):
    return pytest.mark.parametrize("seed", range(count))


@pytest.fixture(scope="module")
def documents():
    """Result files of both formats, with everything in them."""
    data = acyclic.simulate(n_nodes=5, n=200, graph="ER1", random_state=3)
    knowledge = acyclic.Knowledge(required=[("x0", "x1")])
    result = acyclic.learn(data.X, knowledge, method="notears", threshold=0.1)
    result = result.with_evidence(
        confidence=acyclic.bootstrap("ges", data.X, draws=3), audit=acyclic.audit(data.X, learner="ges", rescalings=1)
    )
    return [json.loads(result.to_json()), json.loads((HERE / "format-1.json").read_text())]


@numbered(250)
def test_a_result_file_is_whole_or_refused(documents, seed):
    rng = random.Random(seed)
    text = json.dumps(changed(documents[seed % 5 == 0], rng))
    with bounded():
        try:
            result = acyclic.Result.from_json(broken(text, rng) if seed % 10 == 1 else text)
        except InputError as error:
            check_message(error)
            return
        # What is taken can be said, shown, written, and read again.
        assert acyclic.Result.from_json(result.to_json()).graph == result.graph
        assert report(result) and str(result) and result.edges() is not None and result.ended


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP,
        '{"a":' * DEEP,
        "9" * 5000,
        '{"format": "acyclic result 2", "names": ' + "9" * 5000 + "}",
        "\ufeff{}",
        "NaN",
        '"\\ud800"',
        "null",
        "\x00",
        '{"format": {}}',
        '{"format": ["acyclic result 2"]}',
    ],
)
def test_no_json_is_taken_for_a_result(tmp_path, text):
    (tmp_path / "r.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with bounded(), pytest.raises(InputError, match=r"r\.json"):
        acyclic.load(tmp_path / "r.json")
    with bounded():
        assert main(["report", str(tmp_path / "r.json")]) == 1
        assert main(["learn", "--from", str(tmp_path / "r.json")]) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.json"]


KNOWLEDGE = {
    "forbidden": [["a", "b"], ["*", "c"]],
    "required": [["a", "c2"]],
    "tiers": [["a"], ["b", "d"]],
    "closed_tiers": [1],
    "roots": ["a"],
    "sinks": ["d"],
    "signs": [["a", "d", "+"]],
    "bounds": [["a", "d", 0.0, 2.5]],
}


@numbered(90)
def test_knowledge_is_sound_or_refused(seed):
    with bounded():
        try:
            knowledge = acyclic.Knowledge.from_dict(changed(KNOWLEDGE, random.Random(seed)))
        except InputError:
            return
        assert acyclic.Knowledge.from_dict(knowledge.to_dict()) == knowledge
        assert acyclic.Knowledge.from_toml(knowledge.to_toml() + "\n") == knowledge


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * DEEP,
        "a" + ".a" * DEEP + " = 1",
        "closed_tiers = [true]",
        "tiers = 1",
        "roots = " + "9" * 5000,
        f"bounds = [['a', 'b', 0, {'9' * 400}]]",
        "roots = [1979-05-27]",
        "[signs]\na = 1",
        "roots = '''",
        "\x00",
        "=",
        "[[roots]]",
        "roots = ['a', 'a\\u0000']\nrequired = [['b', 'a']]",
        "signs = [[[], [], []]]",
        "a = 0001-13-99",
        "forbidden = [['a']]",
    ],
)
def test_knowledge_in_toml_is_refused_by_file(tmp_path, text):
    (tmp_path / "k.toml").write_text(text)
    with bounded(), pytest.raises(InputError, match=r"k\.toml"):
        acyclic.Knowledge.from_toml(tmp_path / "k.toml")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n2,1\n3,5\n")
    with bounded():
        assert main(["learn", str(tmp_path / "t.csv"), "--knowledge", str(tmp_path / "k.toml"), "--quiet"]) == 1
        (tmp_path / "run.toml").write_text(text)
        with pytest.raises(InputError, match=r"run\.toml"):
            gather(tmp_path / "t.csv", Settings(), tmp_path / "run.toml")


CONFIG = {
    "table": "t.csv",
    "columns": ["a", "b"],
    "drop": ["c"],
    "log": ["a"],
    "standardize": True,
    "missing": "em",
    "header": True,
    "separator": ",",
    "decimal": ".",
    "encoding": "utf-8",
    "null_values": ["-"],
    "knowledge": {"roots": ["a"]},
    "method": "notears",
    "threshold": 0.1,
    "option": {"l1": 0.1, "solver": "augmented-lagrangian"},
    "time_limit": 5,
    "seed": 1,
    "jobs": 1,
    "bootstrap": 2,
    "audit": False,
}


def as_toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {as_toml(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value).replace("Infinity", "inf").replace("NaN", "nan").replace("null", '"null"')


@numbered(80)
def test_a_config_file_is_a_run_or_refused(tmp_path, seed):
    config = changed(CONFIG, random.Random(seed))
    (tmp_path / "run.toml").write_text("".join(f"{json.dumps(key)} = {as_toml(config[key])}\n" for key in config))
    with bounded():
        try:
            run = gather(None, Settings(), tmp_path / "run.toml")
            run.make_learner()
        except (InputError, OSError) as error:
            check_message(error)
            return
        assert json.loads(json.dumps(run.provenance()))


PLAN = """
title = "Small"
paper = "Figure 0"
about = "x"
measure = "fit"
drawing = "row"
runs = 2
time_limit = 5.0
[data]
graph = ["ER1", "ER2"]
n_nodes = [5, 6]
n = 50
[methods]
GES = {learner = "Ges", runs = 1}
TMPI = {learner = "Notears", l1 = 0.1, only = {n_nodes = [5]}}
[quick]
runs = 1
data = {n_nodes = [5]}
methods = ["GES"]
[[published]]
method = "GES"
metric = "shd"
value = [1.0, 2.0]
error = [0.1, 0.2]
source = "nowhere"
data = {graph = "ER1", n_nodes = [5, 6]}
"""


@numbered(80)
def test_a_plan_is_whole_or_refused(tmp_path, seed):
    rng = random.Random(seed)
    plan = changed(tomllib.loads(PLAN), rng)
    text = "".join(f"{json.dumps(key)} = {as_toml(plan[key])}\n" for key in plan)
    (tmp_path / "small.toml").write_text(broken(text, rng) if seed % 4 == 0 else text, errors="replace")
    with bounded():
        for quick in (False, True):
            try:
                assert len(read_plan(str(tmp_path / "small.toml"), quick).cases()) >= 0
            except InputError as error:
                check_message(error, "small.toml")


GRAPH = acyclic.Dag.from_edges(
    [("a", "b", 0.5), ("b c", 'q"\\', -2.0), ("a", "q\n", 1e-9)], ["a", "b", "b c", 'q"\\', "q\n", "z"]
)
WRITERS = {
    "json": GRAPH.to_json,
    "csv": GRAPH.to_csv,
    "graphml": GRAPH.to_graphml,
    "dot": GRAPH.to_dot,
    "dagitty": GRAPH.to_dagitty,
}


@numbered(40)
@pytest.mark.parametrize("form", WRITERS)
def test_a_graph_file_is_a_graph_or_refused(tmp_path, form, seed):
    rng = random.Random(f"{form} {seed}")
    path = tmp_path / f"graph.{form}"
    path.write_bytes(broken(WRITERS[form](), rng).encode("utf-8", "surrogatepass"))
    with bounded():
        try:
            graph = formats.read(path)
        except InputError as error:
            check_message(error)
            return
        assert graph.cpdag() if isinstance(graph, acyclic.Dag) else graph.arcs.any() in (True, False)


EDGE_LISTS = (
    *(
        "",
        "\n",
        "source\n",
        "source,target\n",
        "source,target\na\n",
        "source,target\na,a\n",
        "source,target\na,b\nb,a\n",
    ),
    *("source,target,weight\na,b,x\n", "source,target,weight\na,b,nan\n", "source,target,weight\na,b,1e999\n"),
    *(
        "source,target,weight\na,b,0\n",
        "source,target,directed\na,b,maybe\n",
        'source,target\n"a,b\n',
        "source,target\na,b\na,b\n",
    ),
    *(
        "source,source,target\na,b,c\na,c,b\n",
        "a,b\nc,d\n",
        "source,target\n" + "x" * 200_000 + ",b\n",
        "source,target\na,,\n,b\n\x00,\n",
    ),
    *("source;target\na;b\n", "source,target,weight\na,b," + "9" * 5000 + "\n", "\ufeffsource,target\na,b\nb,a\n"),
)


@pytest.mark.parametrize("text", EDGE_LISTS)
def test_an_edge_list_is_a_graph_or_refused(tmp_path, text):
    (tmp_path / "e.csv").write_text(text, newline="")
    (tmp_path / "truth.csv").write_text("source,target\na,b\n")
    with bounded():
        try:
            assert formats.read(tmp_path / "e.csv").names
        except InputError as error:
            check_message(error)
        assert main(["compare", str(tmp_path / "truth.csv"), str(tmp_path / "e.csv"), "--quiet"]) in (0, 1)


@pytest.mark.parametrize(
    "text", ["digraph{" + "9" * 100_000 + "}", "dag {" + "-" * 100_000 + "}", "digraph { a -> {" + "b " * 3000 + "} }"]
)
@pytest.mark.parametrize("form", ["dot", "dagitty"])
def test_long_words_take_no_long_time(form, text):
    with bounded(), suppress(InputError):
        getattr(formats, f"from_{form}")(text)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A store and its Parquet file, with a few rows."""
    from acyclic.experiments.cases import Case, pairs
    from acyclic.experiments.store import Record

    folder = tmp_path_factory.mktemp("results")
    with Store(folder / "results.sqlite") as store:
        for run in range(20):
            case = Case("fit", pairs({"graph": "ER2", "n_nodes": 10}), pairs({"learner": "Ges"}), run)
            store.add(Record(case, "done", {"shd": run}, "It converged.", 1.0, 1.0))
        store.write_parquet(folder / "results.parquet")
    return folder


@numbered(40)
@pytest.mark.parametrize("name", ["results.sqlite", "results.parquet"])
def test_a_store_is_readable_or_refused(results, tmp_path, name, seed):
    rng = random.Random(seed)
    content = bytearray((results / name).read_bytes())
    for _ in range(rng.choice((1, 8, 64))):
        content[rng.randrange(len(content))] = rng.randrange(256)
    (tmp_path / name).write_bytes(content[: rng.randrange(len(content))] if seed % 4 == 0 else content)
    with bounded():
        try:
            if name == "results.sqlite":
                with Store(tmp_path / name) as store:
                    settings = {record.case.setting for record in store.records(settings=store.seconds())}
                    assert len(settings) <= 1 and len(store) >= 0
            else:
                with Store(tmp_path / "new.sqlite") as store:
                    store.read_parquet(tmp_path / name)
        except InputError as error:
            check_message(error, name)


WORDS = [repr(value) for value in ODD] + ["[" * DEEP, "9" * 5000, "abc", "nan", "1e400", "null"]


@pytest.mark.parametrize("method", sorted(set(LEARNERS) - {"notears-mlp", "dag-gnn", "gran-dag"}))
def test_an_option_is_a_setting_or_refused(method):
    """Every setting of a learner, given in the shell a word that is none."""
    for name in LEARNERS[method]._get_param_names():
        for value in WORDS:
            with bounded():
                try:
                    gather(Path("t.csv"), Settings(method=method, option={name: value})).make_learner()
                except InputError as error:
                    check_message(error)


FLAGS = ["--columns", "--drop", "--log", "--weights", "--missing", "--separator", "--decimal", "--encoding"]
FLAGS += ["--null-values", "--knowledge", "--method", "--threshold", "--time-limit", "--seed", "--jobs", "--bootstrap"]
FLAGS += ["--config", "--from", "--out"]


@pytest.mark.parametrize("value", ["", "-1", "nan", "1e400", "\x1b[2J\u202e", "a\nb", "9" * 500, "/"])
@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_has_a_value_or_an_error(tmp_path, monkeypatch, capsys, flag, value):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,b\n1,2\n2,1\n3,5\n4,4\n1,9\n")
    with bounded():
        code = main(["learn", "t.csv", "--quiet", "--method", "ges", flag, value])
    assert code in (0, 1, 2)
    said = capsys.readouterr()
    assert said.out == "" and (code == 0) == (said.err == "")
    assert len(said.err.splitlines()) <= 1 and said.err.replace("\n", "").isprintable()
    made = {entry.name for entry in tmp_path.iterdir()} - {"t.csv"}
    assert len(made) == (code == 0)


def test_an_encoding_reads_text_or_is_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\r\n1,2\r\n2,1\r\n3,5\r\n" + bytes(range(128, 256)))
    for encoding in {*encodings.aliases.aliases.values(), "undefined", "idna", "punycode", "a\0b", "é"}:
        with bounded(), suppress(InputError):
            acyclic.read_table(tmp_path / "t.csv", encoding=encoding)


@pytest.mark.parametrize(
    "names", [["a\x1b[31m", "\u202eb"], ["\x00", "\x7f"], ["=1+1", "@x"], ["\ud800", "\r\n"], ["'=x", "''+"]]
)
def test_hostile_names_go_through_everything(tmp_path, capsys, names):
    X = np.random.default_rng(0).standard_normal((60, 2)) @ np.array([[1.0, 2.0], [0, 1.0]])
    result = acyclic.learn(acyclic.read_table(X, names=names))
    assert acyclic.Result.from_json(result.to_json()).graph.names == tuple(names)
    for text in (
        str(result),
        repr(result.graph),
        str(acyclic.bootstrap("ges", acyclic.read_table(X, names=names), draws=2)),
    ):
        assert text.replace("\n", "").isprintable()

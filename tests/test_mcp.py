"""The server for agents: what it can do, by its package's own client, and above all what it cannot."""

import os
import sys

import pytest

import acyclic
from acyclic.cli import main
from acyclic.errors import InputError

pytest.importorskip("cyclopts", reason="the command line needs the extra cli")
pytest.importorskip("polars", reason="reading files needs the extra files")

from acyclic.cli.desk import Desk


@pytest.fixture
def folders(tmp_path):
    data = tmp_path / "data"
    assert main(["simulate", "--nodes", "5", "--rows", "200", "--seed", "1", "--out", str(data), "--quiet"]) == 0
    secret = tmp_path / "secret.csv"
    secret.write_bytes((data / "table.csv").read_bytes())
    (data / "deeper").mkdir()
    (data / "deeper" / "again.csv").write_bytes(secret.read_bytes())
    (data / "link.csv").symlink_to(secret)
    (data / "linked").symlink_to(tmp_path)
    (data / ".hidden.csv").write_bytes(secret.read_bytes())
    return data, tmp_path / "runs"


@pytest.fixture
def desk(folders):
    return Desk(*folders, time_limit=20.0)


def snapshot(folder):
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*")}


def test_tables_are_those_of_the_folder(desk):
    assert [row["table"] for row in desk.list_tables()["tables"]] == ["deeper/again.csv", "graph.json", "table.csv"]


def test_a_run_is_that_of_learn(desk, folders):
    told = desk.learn("table.csv", "first")
    expected = acyclic.learn(folders[0] / "table.csv", time_limit=20.0)
    written = acyclic.load(folders[1] / "first" / "result.json")
    assert written.graph == expected.graph
    assert told["text"] == str(expected.verdict) and told["n_edges"] == expected.graph.n_edges
    assert "first/report.html" in told["written"]
    assert desk.verdict("first")["edges"] == expected.edges()
    assert desk.compare("first", "first")["shd"] == 0
    assert desk.compare("graph.json", "first")["shd"] == acyclic.compare(
        acyclic.graphs.formats.read(folders[0] / "graph.json"), expected.graph
    ).shd  # fmt: skip
    target = expected.graph.edges()[0][1]
    assert desk.explain("first", target)["effects"]
    # Another desk finds it where it was written.
    assert Desk(*folders).verdict("first")["n_edges"] == told["n_edges"]
    assert Desk(*folders).list_tables()["runs"] == ["first"]


def test_knowledge_columns_and_limits_are_obeyed(desk):
    known = {"forbidden": [["x0", "*"]]}
    told = desk.learn("table.csv", "known", knowledge=known, columns=["x0", "x1", "x2"], time_limit=1e9)
    assert told["columns"] == ["x0", "x1", "x2"]
    assert not [edge for edge in told["edges"] if edge["source"] == "x0"]
    assert desk.learn("table.csv", "cut", time_limit=0.0)["ended"] == "time-limit"


@pytest.mark.parametrize(
    "name",
    ["../secret.csv", "/etc/passwd", "deeper/../../secret.csv", "link.csv", "linked/secret.csv", "", ".", "none.csv",
     "C:\\secret.csv", "..\\secret.csv", "table.csv\0", "deeper", "~/table.csv"],
)  # fmt: skip
def test_no_name_leads_out_of_the_folder(desk, folders, name):
    before = snapshot(folders[0].parent)
    with pytest.raises(InputError):
        desk.learn(name, "run")
    with pytest.raises(InputError):
        desk.compare(name or ".", "run")
    assert snapshot(folders[0].parent) == before


@pytest.mark.parametrize("run", ["../run", "a/b", "", ".", "-x", "x" * 65, "run\n", "a b", "CON.json"])
def test_a_run_has_a_plain_name(desk, run):
    for call in (lambda: desk.learn("table.csv", run), lambda: desk.verdict(run), lambda: desk.explain(run, "x0")):
        with pytest.raises(InputError):
            call()


def test_a_run_is_never_replaced_and_no_link_followed(desk, folders, tmp_path):
    desk.learn("table.csv", "first")
    with pytest.raises(InputError, match="already"):
        desk.learn("table.csv", "first")
    (tmp_path / "elsewhere").mkdir()
    (folders[1] / "second").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError):
        desk.learn("table.csv", "second")
    with pytest.raises(InputError):
        desk.verdict("second")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_without_a_place_nothing_is_written(folders, tmp_path):
    before = snapshot(tmp_path)
    desk = Desk(folders[0])
    assert desk.learn("table.csv", "first")["written"] == []
    assert desk.verdict("first")["converged"]
    assert snapshot(tmp_path) == before


def test_runs_are_not_written_over_tables(folders):
    data, _ = folders
    for place in (data, data.parent):
        with pytest.raises(InputError):
            Desk(data, place)
    with pytest.raises(InputError):
        Desk(data / "none")


def test_effects_are_those_of_the_graph(desk, monkeypatch):
    from acyclic.result import Result

    monkeypatch.delattr(Result, "explain", raising=False)
    desk.learn("table.csv", "first")
    graph = desk._load("first").graph
    effects, names = graph.total_effects(), list(graph.names)
    for row in desk.explain("first", "x1")["effects"]:
        assert row["effect"] == effects[names.index(row["cause"]), names.index(row["outcome"])]


@pytest.mark.slow
def test_a_client_works_with_it(folders, tmp_path):
    mcp = pytest.importorskip("mcp", reason="the server needs the extra mcp")
    import anyio

    flags = ["mcp", "--data", str(folders[0]), "--out", str(folders[1]), "--time-limit", "30"]
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "acyclic", *flags], env=dict(os.environ), cwd=str(tmp_path)
    )

    async def converse():
        async with mcp.Client(server, read_timeout_seconds=120) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == {"list_tables", "learn", "verdict", "explain", "compare"}
            assert tools["verdict"].annotations.read_only_hint
            assert not tools["learn"].annotations.read_only_hint
            assert set(tools["learn"].input_schema["required"]) == {"table", "run"}

            async def call(name, **arguments):
                answer = await client.call_tool(name, arguments)
                return answer.is_error, answer.structured_content or answer.content[0].text

            failed, listed = await call("list_tables")
            assert not failed and {"table": "table.csv"}.items() <= listed["tables"][-1].items()
            failed, told = await call("learn", table="table.csv", run="first", drop=["x4"])
            assert not failed and told["columns"] == ["x0", "x1", "x2", "x3"]
            assert (await call("verdict", run="first"))[1]["n_edges"] == told["n_edges"]
            assert not (await call("explain", run="first", target="x1"))[0]
            assert (await call("compare", truth="first", estimate="first"))[1]["shd"] == 0
            for name, arguments, why in (
                ("learn", {"table": "../secret.csv", "run": "second"}, "no name of a table"),
                ("learn", {"table": "table.csv", "run": "second", "knowledge": {"no": []}}, "unknown key"),
                ("learn", {"table": "table.csv", "run": "second", "method": "no-such"}, "there is no method"),
                ("verdict", {"run": "none"}, "there is no run"),
                ("explain", {"run": "first", "target": "x9"}, "no column is called"),
            ):
                failed, said = await call(name, **arguments)
                assert failed and why in said

    anyio.run(converse)
    assert (folders[1] / "first" / "report.html").exists()
    assert not (folders[1] / "second").exists()


def test_without_the_package_the_extra_is_named(folders, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    assert main(["mcp", "--data", str(folders[0])]) == 1
    assert "acyclic[mcp]" in capsys.readouterr().err

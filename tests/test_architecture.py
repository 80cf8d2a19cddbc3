"""The house as a graph of imports: no knots inside a room, no imports by a string, shared words defined once."""

import ast
import re
import tomllib
from pathlib import Path

import grimp
import networkx
import pytest

import acyclic

SOURCE, ROOT = Path(acyclic.__file__).parent, Path(__file__).parents[1]

# The public names are imported at first use, from the table that this module holds.
LAZY = "acyclic"


def module_name(path):
    parts = ("acyclic", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {module_name(path): ast.parse(path.read_bytes()) for path in sorted(SOURCE.rglob("*.py"))}


@pytest.fixture(scope="module")
def imports():
    """Every import, those inside functions and for type checkers included; an edge leads to what is imported."""
    found = grimp.build_graph("acyclic", cache_dir=None)
    graph = networkx.DiGraph()
    graph.add_nodes_from(found.modules)
    graph.add_edges_from(
        (one, other) for one in found.modules for other in found.find_modules_directly_imported_by(one)
    )
    return graph


def room(module):
    """The folder right under the package, or the module itself where it stands in none."""
    return ".".join(module.split(".")[:2])


def test_the_graph_is_that_of_this_source(imports):
    assert set(imports) == set(TREES)
    assert imports.has_edge("acyclic.graphs.dag", "acyclic.graphs.cycles")


def test_no_more_than_two_modules_of_a_room_import_each_other_in_a_circle(imports):
    rooms = {room(module) for module in imports}
    inside = [imports.subgraph(module for module in imports if room(module) == name) for name in sorted(rooms)]
    knots = {frozenset(knot) for graph in inside for knot in networkx.strongly_connected_components(graph)}
    assert {knot for knot in knots if len(knot) > 2} == set()


def test_the_modules_of_graphs_do_not_import_each_other_in_a_circle(imports):
    graphs = imports.subgraph(module for module in imports if room(module) == "acyclic.graphs")
    assert networkx.is_directed_acyclic_graph(graphs)


def imports_by_string(tree):
    """Calls of import_module or __import__, but those of another package by its plain name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            name = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else "acyclic"
            if name.split(".")[0] in ("acyclic", ""):
                yield node


def test_no_module_imports_through_a_string():
    guilty = {name for name, tree in TREES.items() if any(imports_by_string(tree))}
    assert guilty == {LAZY}


def test_no_module_reaches_others_through_the_package(imports):
    """``acyclic.name`` and ``getattr(acyclic, name)`` are imports too, which no tool sees."""
    assert not list(imports.predecessors("acyclic"))


def definitions(tree, name):
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, ast.Assign | ast.AnnAssign) and any(
            isinstance(target, ast.Name) and target.id == name for target in targets
        ):
            yield node


@pytest.mark.parametrize("name", ["Floats", "Bools", "Integers"])
def test_an_array_type_is_defined_once(name):
    assert [module for module, tree in TREES.items() for _ in definitions(tree, name)] == ["acyclic.types"]


def test_the_page_on_architecture_lists_the_rooms_in_their_order():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    rooms = [layer.removeprefix("acyclic.") for layer in reversed(layers)]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    # Once for what each hides, once for what it imports.
    assert re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE) == rooms * 2


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_that_a_page_names_are_there(page):
    named = re.findall(
        r"`((?:src|tests|docs|learners|scores|judging)/[\w./]*\w/?)`", (ROOT / page).read_text(encoding="utf-8")
    )
    assert named
    assert [name for name in named if not ((ROOT / name).exists() or (SOURCE / name).exists())] == []

"""Write the table of imports between rooms into docs/architecture.md: python docs/count_imports.py."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- made by docs/count_imports.py -->\n", "<!-- end -->\n"


def list_rooms() -> list[str]:
    """The rooms in the order of import-linter's contract, the first to be imported first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [layer.removeprefix("acyclic.") for layer in reversed(layers)]


def count_imports() -> dict[str, Counter[str]]:
    """How many imports lead from each room to each other, those inside functions and for type checkers included."""
    graph = grimp.build_graph("acyclic", cache_dir=None)
    counts: dict[str, Counter[str]] = {room: Counter() for room in list_rooms()}
    for module in graph.modules:
        room = module.split(".")[1] if "." in module else ""
        for other in graph.find_modules_directly_imported_by(module):
            if room in counts and (to := other.split(".")[1]) in counts:
                counts[room][to] += 1
    return counts


def write_table() -> str:
    """The table in Markdown."""
    rooms, counts = list_rooms(), count_imports()
    lines = ["| room | imports from (how often) | inside |", "|---|---|---|"]
    for room in rooms:
        others = ", ".join(f"{other} {counts[room][other]}" for other in rooms if other != room and counts[room][other])
        lines.append(f"| `{room}` | {others or '–'} | {counts[room][room] or '–'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(before + BEGIN + write_table() + END + rest.split(END, 1)[1], encoding="utf-8")

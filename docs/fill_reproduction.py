"""Make docs/reproduction.md of its template, and the tables behind it, from the rows that are committed.

python docs/fill_reproduction.py
"""

import tempfile
from pathlib import Path
from typing import Any

from acyclic.experiments.acceptance import write_summary
from acyclic.experiments.plans import load_plan, plan_names
from acyclic.experiments.store import Store
from acyclic.experiments.tables import page
from acyclic.experiments.text import fill
from acyclic.files import write_text

DOCS = Path(__file__).parent
FOLDER = DOCS / "reproduction"


def read() -> dict[str, Any]:
    """Every plan with the rows that it has."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite") as store:
        store.read_parquet(FOLDER / "results.parquet")
        plans = [load_plan(name) for name in plan_names()]
        return {plan.name: (plan, plan.records(store)) for plan in plans}


def made(evidence: dict[str, Any] | None = None) -> str:
    """The page as the rows have it."""
    return fill((DOCS / "reproduction.md.in").read_text(encoding="utf-8"), evidence or read())


if __name__ == "__main__":
    found = read()
    write_text(DOCS / "reproduction.md", made(found))
    for name, (plan, records) in found.items():
        write_text(FOLDER / f"{name}.md", page(plan, records))
    write_summary(list(found.values()), FOLDER)

"""Make docs/reproduction.md of its template and the rows that are committed: python docs/fill_reproduction.py."""

import tempfile
from pathlib import Path

from acyclic.experiments.plans import load_plan, plan_names
from acyclic.experiments.store import Store
from acyclic.experiments.text import fill

DOCS = Path(__file__).parent


def made() -> str:
    """The page as the rows have it."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite") as store:
        store.read_parquet(DOCS / "reproduction" / "results.parquet")
        plans = [load_plan(name) for name in plan_names()]
        evidence = {plan.name: (plan, plan.records(store)) for plan in plans}
    return fill((DOCS / "reproduction.md.in").read_text(encoding="utf-8"), evidence)


if __name__ == "__main__":
    (DOCS / "reproduction.md").write_text(made(), encoding="utf-8")

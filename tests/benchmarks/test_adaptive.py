import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
if not FOLDER.exists():
    pytest.skip("the benchmarks are not part of the source archive", allow_module_level=True)
sys.path.insert(0, str(FOLDER))
import adaptive  # noqa: E402

# Folders of other tests are called like benchmarks, and would be hidden by them.
sys.path.remove(str(FOLDER))


def row(constraint, seed, shd, seconds):
    case = {"graph": "ER2", "d": 50, "n": 1000, "seed": seed, "constraint": constraint}
    return {**case, "shd": shd, "seconds": seconds, "ended": "constraint-met", "cut": False, "dag": False}


def test_the_page_on_constraints_is_what_its_rows_say():
    rows = adaptive.read(adaptive.DOCS / "reproduction" / "constraints.jsonl")
    page = adaptive.PAGE.read_text(encoding="utf-8")
    assert adaptive.fill(page, rows) == page


def test_sets_are_compared_in_pairs():
    ours = [row("adaptive", seed, shd, 1.0) for seed, shd in enumerate((1, 2, 3))]
    theirs = [row("fast-tmpi", seed, shd, 2.0) for seed, shd in enumerate((3, 4, 5))]
    # The third set lacks one of the two.
    shown = adaptive.show([*ours[:2], *theirs])
    assert (
        "| adaptive against fast-tmpi | 2 | 1.50, 3.50 | -2.00 ± 0.00 (better) | 0.50 (0.50 to 0.50; better) | 0 |"
        in shown
    )
    assert "**better** than fast-tmpi" in shown and "3 sets (3 of 50 nodes)" in shown

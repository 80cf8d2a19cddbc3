"""One run of the command, watched: the file is parsed once, and the whole table is learned once beside its refits."""

from collections import Counter

import pytest

import acyclic
from acyclic.cli import main
from acyclic.data.text import TextSource
from acyclic.learners import DagLearner


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    data = acyclic.simulate(n_nodes=6, n=200, random_state=1)
    rows = [data.names, *data.X.tolist()]
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def count_calls(monkeypatch, owner, name):
    """The objects whose method is called from now on, one for each call."""
    seen, inside = [], getattr(owner, name)

    def watched(self, *arguments, **options):
        answer = inside(self, *arguments, **options)
        seen.append(self)
        return answer

    monkeypatch.setattr(owner, name, watched)
    return seen


def test_a_run_parses_its_file_once_and_learns_the_table_once(table, tmp_path, monkeypatch):
    parsed = count_calls(monkeypatch, TextSource, "blocks")
    fitted = count_calls(monkeypatch, DagLearner, "fit")
    assert main(["learn", str(table), "--bootstrap", "3", "--audit", "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert len(parsed) == 1
    # The table itself, three draws, four refits in other units, one half of the rows that is tested on the other; and
    # sorting by variance, which the audit compares with.
    assert Counter(model.method for model in fitted) == {"auto": 9, "sortnregress": 1}
    assert len({model.digest_ for model in fitted if model.method == "auto"}) == 9

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import acyclic
from acyclic.data.moments import Moments
from acyclic.scores.local import gaussian_bic

FOLDER = Path(__file__).parents[2] / "benchmarks"
if not FOLDER.exists():
    pytest.skip("the benchmarks are not part of the source archive", allow_module_level=True)
sys.path.insert(0, str(FOLDER))
import honest  # noqa: E402
import honest_data  # noqa: E402
import honest_fits  # noqa: E402
import honest_rows  # noqa: E402
import honest_text  # noqa: E402

# Folders of other tests are called like benchmarks, and would be hidden by them.
sys.path.remove(str(FOLDER))

V_STRUCTURE = acyclic.Dag.from_edges([("x0", "x2"), ("x1", "x2"), ("x2", "x3")], names=["x0", "x1", "x2", "x3"])
CELL = honest_data.random_world("iSCM", "ER", 20, 4, 200)


@pytest.fixture
def rows_of_four():
    return acyclic.simulate(n=500, graph=V_STRUCTURE, scheme="iscm", random_state=1).X


class Fake:
    """Peers that answer at once, and count how often they are asked."""

    def __init__(self, *answers):
        self.answers, self.asked = answers, 0

    def fit(self):
        self.asked += 1
        return dict(self.answers[min(self.asked, len(self.answers)) - 1])

    def fit_all(self, method, tables, timeout):
        """Up to the first that is late, as the real ones."""
        found = []
        for _ in tables:
            found.append(self.fit())
            if "timeout" in found[-1]:
                break
        return found


def test_an_answer_is_measured_in_the_columns_of_the_table(rows_of_four):
    """The same graph found on shuffled columns in other units: the same class, score and distance."""
    columns = np.array([2, 0, 3, 1])
    there = np.argsort(columns).tolist()
    arcs = [[0, 2], [1, 2], [2, 3]]
    plain = honest_fits.measure({"arcs": arcs, "cpu": 1.0}, V_STRUCTURE, rows_of_four, np.arange(4))
    moved = honest_fits.measure(
        {"arcs": [[there[i], there[j]] for i, j in arcs], "cpu": 1.0},
        V_STRUCTURE,
        rows_of_four[:, columns] * [10, 0.1, 5, 3],
        columns,
    )
    expected = gaussian_bic(Moments.from_array(rows_of_four), V_STRUCTURE.adjacency, "ebic")
    assert plain["shd_cpdag"] == moved["shd_cpdag"] == 0 and plain["exact"] and moved["exact"]
    assert plain["class"] == moved["class"] and plain["precision"] == plain["recall"] == 1
    assert plain["score"] == pytest.approx(expected) and moved["score"] == pytest.approx(expected, rel=1e-9)


def test_a_class_is_scored_by_one_of_its_members_and_a_cycle_not_at_all(rows_of_four):
    chain = [[0, 1], [1, 0], [1, 2], [2, 1]]
    found = honest_fits.measure({"arcs": chain, "cpu": 1.0}, V_STRUCTURE, rows_of_four, np.arange(4))
    member = acyclic.Dag.from_edges([("x0", "x1"), ("x1", "x2")], names=V_STRUCTURE.names)
    assert found["score"] == pytest.approx(gaussian_bic(Moments.from_array(rows_of_four), member.adjacency, "ebic"))
    cyclic = [[0, 1], [1, 2], [2, 0]]
    lost = honest_fits.measure({"arcs": cyclic, "cpu": 1.0}, V_STRUCTURE, rows_of_four, np.arange(4))
    assert "score" not in lost and "shd_cpdag" not in lost and lost["edges"] == 3 and lost["precision"] == 2 / 3


def test_what_is_in_the_file_is_not_computed_again(tmp_path):
    path, method = tmp_path / "rows.jsonl", honest_fits.Method("learn")
    peers = Fake({"arcs": [], "cpu": 0.1})
    for _ in range(2):
        honest_rows.Bench(honest_rows.Rows(path), peers, 1.0).row(CELL, 0, method)
    assert peers.asked == 1
    path.write_text(path.read_text() + '{"key": ["cut o')
    honest_rows.Bench(honest_rows.Rows(path), peers, 1.0).row(CELL, 0, method)
    assert peers.asked == 1
    honest_rows.Bench(honest_rows.Rows(path), peers, 1.0).row(CELL, 0, honest_fits.Method("learn", time_limit=1))
    assert peers.asked == 2


def test_a_line_after_one_that_was_cut_off_is_read(tmp_path):
    path, method = tmp_path / "rows.jsonl", honest_fits.Method("learn")
    path.write_text('{"key": ["cut o')
    honest_rows.Rows(path).add(CELL, 0, method, {"cpu": 1.0})
    assert honest_rows.Rows(path).get(CELL, 0, method)["cpu"] == 1.0


def test_rows_of_ours_belong_to_our_sources_and_rows_of_a_peer_to_its_versions():
    assert honest_fits.Method("learn").made_by == honest_fits.digest_of_sources()
    assert honest_fits.Method("FLOP, 20 restarts").made_by == "flopsearch==0.3.0 numpy==2.4.6"


def test_a_slow_method_gets_three_seeds_and_one_past_the_limit_no_larger_cell(tmp_path):
    slow, hopeless = Fake({"arcs": [], "cpu": 61.0}), Fake({"error": "more than 1 s", "timeout": 1.0})
    larger = honest_data.random_world("iSCM", "ER", 30, 4, 200)
    table = [([CELL, larger], [honest_fits.Method("empty graph")])]
    for name, peers, count in [("slow", slow, 6), ("hopeless", hopeless, 1)]:
        rows = honest_rows.Rows(tmp_path / f"{name}.jsonl")
        honest_rows.Bench(rows, peers, 1.0).fill(table, range(5))
        assert sum(key[2] == "empty graph" for key in rows.known) == count


def test_a_run_ends_when_its_minutes_are_spent(tmp_path):
    rows = honest_rows.Rows(tmp_path / "rows.jsonl")
    honest_rows.Bench(rows, Fake({"arcs": [], "cpu": 1.0}), 1.0, minutes=0).row(CELL, 0, honest_fits.Method("learn"))
    assert not rows.known


def test_tables_are_made_of_published_rows_alone(tmp_path):
    """What a run has measured goes into one file; of two versions of a method the newest row is taken."""
    published, method = tmp_path / "rows.parquet", honest_fits.Method("learn")
    rows = honest_rows.Rows(tmp_path / "old.jsonl", published)
    bench = honest_rows.Bench(rows, Fake({"arcs": [], "cpu": 0.1}), 1.0)
    for seed in range(2):
        bench.row(CELL, seed, method)
    method.made_by = "acyclic 9.9 0"
    rows.add(CELL, 1, method, {"cpu": 7.1, "shd_cpdag": 3, "score": -5.0})
    rows.publish()
    again = honest_rows.Rows(tmp_path / "new.jsonl", published)
    assert again.latest(CELL, 1, "learn")["cpu"] == 7.1 and again.latest(CELL, 0, "learn")["cpu"] == 0.1
    text = honest_text.table_text(again, [CELL], ["learn", "ges"], range(2))
    assert "| learn |" in text and "| ges |" not in text and "Varsortability" in text
    assert "acyclic 9.9 0 (1 rows)" in honest_text.makers(again, [CELL], ["learn"])


def test_what_failed_is_tried_again_and_what_was_late_only_with_more_time(tmp_path):
    path, method = tmp_path / "rows.jsonl", honest_fits.Method("learn")
    peers = Fake({"error": "no compiler"}, {"error": "more than 1 s", "timeout": 1.0}, {"arcs": [], "cpu": 0.1})
    for limit, asked in [(1.0, 1), (1.0, 2), (1.0, 2), (0.5, 2), (2.0, 3), (2.0, 3)]:
        honest_rows.Bench(honest_rows.Rows(path), peers, limit).row(CELL, 0, method)
        assert peers.asked == asked


def test_a_section_of_the_page_is_replaced_and_the_rest_is_kept(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Benchmarks\n\nWords.\n")
    for name, text in [("dao", "old"), ("real", "kept"), ("dao", "new")]:
        honest.write_section(page, name, text)
    text = page.read_text()
    assert text.startswith("# Benchmarks\n\nWords.\n") and "old" not in text
    assert text.index("new") < text.index("kept") and text.count("<!-- dao -->") == 1


def test_every_cell_of_the_tables_has_a_name_of_its_own_and_known_methods():
    cells = [cell for table, _ in honest.TABLES.values() for cell in table]
    assert len({cell.name for cell in cells}) == len(cells)
    for _, methods in honest.TABLES.values():
        assert set(methods) <= set(honest_fits.PLAN["methods"])


@pytest.mark.parametrize(("name", "shape"), [("linnerud", (20, 6)), ("Sachs", (853, 11)), ("diabetes", (442, 11)),
    ("wine", (178, 13)), ("breast cancer", (569, 30)), ("digits", (1797, 30))])  # fmt: skip
def test_real_tables_are_shuffled_and_rescaled_but_for_the_first(name, shape):
    cell = next(cell for cell in honest.TABLES["real"][0] if cell.name == name)
    _, first, same = honest_data.draw(cell, 0)
    _, other, columns = honest_data.draw(cell, 1)
    assert first.shape == other.shape == shape and cell.nodes == shape[1] and (same == np.arange(shape[1])).all()
    assert np.allclose(np.corrcoef(other.T), np.corrcoef(first[:, columns].T))
    assert not np.allclose(first.std(axis=0)[columns], other.std(axis=0))


@pytest.mark.skipif(find_spec("pgmpy") is None, reason="networks need the extra handoff")
def test_a_published_network_gives_its_edges_to_a_world():
    cell = honest_data.network("ecoli70", "DaO", n=50)
    truth, X, _ = honest_data.draw(cell, 3)
    assert np.array_equal(truth.adjacency, acyclic.load_network("ecoli70").graph.adjacency)
    assert X.shape == (50, 46) and np.allclose(X.std(axis=0), 1)


@pytest.mark.slow
def test_a_fit_is_a_process_with_its_own_clock(rows_of_four, tmp_path):
    peers = honest_fits.Peers(tmp_path)
    answer = peers.fit(honest_fits.Method("learn"), rows_of_four, 120)
    assert sorted(answer["arcs"]) == np.argwhere(acyclic.learn(rows_of_four).graph.adjacency).tolist()
    assert answer["cpu"] > 0
    failed = peers.fit(honest_fits.Method("learn", speed=9), rows_of_four, 120)
    assert "speed" in failed["error"] and json.dumps(failed)


def test_the_clock_moves_under_a_limit():
    """In a process of its own, which the limit is for; each round takes far less than a tick, but not nothing."""
    lines = [
        "import sys; sys.path.insert(0, sys.argv[1])",
        "import honest_worker as worker",
        "worker.limit(60)",
        "for _ in range(20):",
        "    start = worker.processor_seconds()",
        "    sum(range(20_000))",
        "    print(worker.processor_seconds() - start)",
    ]
    command = [sys.executable, "-c", "\n".join(lines), str(FOLDER)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert all(float(line) > 0 for line in done.stdout.split())


@pytest.mark.slow
def test_a_fit_ends_by_its_processor_time(tmp_path):
    # The limit is rounded up to a whole second; this fit needs far more.
    X = acyclic.simulate(100, 500, graph="ER8", scheme="iscm", random_state=1).X
    answer = honest_fits.Peers(tmp_path).fit(honest_fits.Method("Notears"), X, 0.1)
    assert answer == {"error": "more than 0.1 s", "timeout": 0.1}

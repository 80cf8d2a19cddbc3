"""The store: what is written is there, for anybody, and a row that does not answer a case is computed again."""

import sqlite3
import threading
from dataclasses import replace

import pytest

from acyclic.errors import InputError
from acyclic.experiments.cases import Case, pairs
from acyclic.experiments.store import Record, Store


def case(run=0, limit=None, **data):
    return Case("fit", pairs({"graph": "ER2", "n_nodes": 10, **data}), pairs({"learner": "Ges"}), run, limit)


def record(case, **changes):
    values = {"shd": 3, "fdr": 0.1 + 0.2, "h": None, "converged": True, "edges": [[0, 1], [2, 0]]}
    made = Record(
        case, "done", values, "It converged: därum → so.", 1.25, 1.125, 1, {"numpy": "2.0"}, "", "2026-01-01T00:00:00"
    )
    return replace(made, **changes)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "new" / "results.sqlite") as opened:
        yield opened


def test_a_record_comes_back_as_it_went_in(store):
    written = record(case(limit=60.0))
    store.add(written)
    (read,) = store.records(keys=[written.case.key])
    assert read == written and read.case.time_limit == 60.0
    assert read.values["fdr"] == 0.1 + 0.2 and read.case.key == written.case.key


def test_a_store_and_a_file_of_format_1_are_taken_over(tmp_path):
    path, parquet, written = tmp_path / "old.sqlite", tmp_path / "old.parquet", record(case(limit=60.0))
    with Store(path) as new:
        new.add(written)
        new.write_parquet(parquet)
    database = sqlite3.connect(path)
    database.executescript("ALTER TABLE results DROP COLUMN evaluations; PRAGMA user_version = 1;")
    database.close()
    with Store(path) as old:
        assert old.records(keys=[written.case.key]) == [written]
        capped = record(Case(written.case.measure, written.case.data, written.case.method, 1, None, 500))
        old.add(capped)
        assert old.records(keys=[capped.case.key])[0].case.evaluations == 500
    polars = pytest.importorskip("polars")
    polars.read_parquet(parquet).drop("evaluations").write_parquet(parquet)
    with Store(tmp_path / "other.sqlite") as other:
        assert other.read_parquet(parquet) == 1 and other.records(keys=[written.case.key]) == [written]


def test_a_failure_keeps_its_traceback(store):
    written = record(case(), status="failed", values={}, traceback="Traceback …\n  ValueError: 'x'")
    store.add(written)
    assert store.records(keys=[written.case.key]) == [written]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("values", "{"),
        ("values", "[1]"),
        ("values", b"\xff"),
        ("data", '{"n_nodes": NaN}'),
        ("data", '{"n_nodes": [1]}'),
        ("data", '{"n_nodes": 11}'),
        ("method", "null"),
        ("versions", ""),
        ("setting", "0" * 64),
        ("seed", -1),
        ("seed", "x"),
        ("run", 7),
        ("run", -1),
        ("status", "lost"),
        ("seconds", -1.0),
        ("seconds", "x"),
        ("time_limit", "x"),
        ("threads", 1.5),
        ("verdict", b"\x00\xff"),
        ("cpu_seconds", float("inf")),
    ],
)
def test_a_damaged_row_is_named_and_none_of_its_file_is_taken_over(store, tmp_path, column, value):
    polars = pytest.importorskip("polars")
    for run in range(3):
        store.add(record(case(run)))
    key = case(1).key
    store._database.execute(f'UPDATE results SET "{column}" = ? WHERE key = ?', (value, key))
    with pytest.raises(InputError, match=r"results.sqlite: the row .* is damaged"):
        store.records(settings=[case().setting], keys=[key])
    rows = store._database.execute("SELECT * FROM results").fetchall()
    names = [row[1] for row in store._database.execute("PRAGMA table_info(results)")]
    frame = polars.DataFrame([dict(zip(names, row)) for row in rows], strict=False, infer_schema_length=None)
    frame.write_parquet(tmp_path / "results.parquet")
    with Store(tmp_path / "other.sqlite") as other:
        with pytest.raises(InputError, match=r"results.parquet"):
            other.read_parquet(tmp_path / "results.parquet")
        assert len(other) == 0


def test_reopening_finds_everything(store):
    for run in range(5):
        store.add(record(case(run)))
    store.close()
    with Store(store.path) as again:
        assert [found.case.run for found in again.records(settings=[case().setting])] == [0, 1, 2, 3, 4]
        assert len(again) == 5


def test_another_process_reads_while_rows_are_written(store):
    seen, ready = [], threading.Event()

    def read():
        with Store(store.path) as reader:
            ready.set()
            while not seen or seen[-1] < 200:
                seen.append(len(reader.records(settings=[case().setting])))

    thread = threading.Thread(target=read)
    thread.start()
    ready.wait()
    for run in range(200):
        store.add(record(case(run)))
    thread.join(30)
    assert not thread.is_alive() and seen == sorted(seen) and seen[-1] == 200


def test_an_open_transaction_of_a_reader_does_not_stop_the_writer(store):
    store.add(record(case()))
    reader = sqlite3.connect(store.path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM results").fetchone() == (1,)
    store.add(record(case(1)))
    assert reader.execute("SELECT count(*) FROM results").fetchone() == (1,)
    reader.close()
    assert len(store) == 2


def test_a_second_record_of_a_case_takes_the_place_of_the_first(store):
    store.add(record(case(), status="failed", traceback="…"))
    store.add(record(case()))
    assert [found.status for found in store.records(keys=[case().key])] == ["done"]


def test_more_keys_than_a_query_takes(store):
    cases = [case(run) for run in range(1203)]
    for one in cases[::3]:
        store.add(record(one))
    assert len(store.records(keys=[one.key for one in cases])) == 401
    assert [one.run % 3 for one in store.missing(cases)].count(0) == 0


def test_missing_keeps_the_order_and_leaves_failures_unless_asked(store):
    cases = [case(run) for run in (3, 1, 2, 0)]
    store.add(record(cases[1]))
    store.add(record(cases[2], status="failed", values={}))
    assert store.missing(cases) == [cases[0], cases[3]]
    assert store.missing(cases, retry_failed=True) == [cases[0], cases[2], cases[3]]


@pytest.mark.parametrize(
    "ended", [{"values": {"stopped_early": True}}, {"status": "failed", "values": {"stopped_early": True}}]
)
def test_what_a_limit_ended_is_missing_under_a_longer_one(store, ended):
    store.add(record(case(limit=5.0), **ended))
    assert store.records(keys=[case().key])[0].ended_by_limit
    assert not store.missing([case(limit=5.0)]) and not store.missing([case(limit=2.0)])
    assert len(store.missing([case(limit=6.0)])) == 1 and len(store.missing([case(limit=None)])) == 1


def test_what_was_done_under_a_shorter_limit_stays(store):
    store.add(record(case(limit=5.0), values={"stopped_early": False}))
    assert not store.missing([case(limit=None)])


def test_seconds_by_setting(store):
    for run, seconds in enumerate((1.0, 2.5)):
        store.add(record(case(run), seconds=seconds))
    store.add(record(case(n_nodes=30)))
    assert store.seconds() == {case().setting: (2, 3.5), case(n_nodes=30).setting: (1, 1.25)}


def test_other_files_are_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("no database, but long enough to look like one " * 100)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mine (x)")
    database.close()
    for path in (text, other):
        before = path.read_bytes()
        with pytest.raises(InputError, match=path.name):
            Store(path)
        assert path.read_bytes() == before


def test_a_store_that_another_process_makes_meanwhile_is_used(tmp_path, monkeypatch):
    """Another process makes the table at the worst moment: when this one has found that there is none."""
    original, opened = Store._version, []

    def meanwhile(self):
        version = original(self)
        if not opened:
            opened.append(self)
            with Store(self.path) as other:
                other.add(record(case()))
        return version

    monkeypatch.setattr(Store, "_version", meanwhile)
    with Store(tmp_path / "results.sqlite") as store:
        assert len(opened) == 1 and len(store) == 1


def test_threads_open_a_new_store_at_once(tmp_path):
    failures = []

    def use(path, run):
        try:
            with Store(path) as store:
                store.add(record(case(run)))
        except BaseException as error:
            failures.append(error)

    for attempt in range(10):
        path = tmp_path / f"{attempt}.sqlite"
        threads = [threading.Thread(target=use, args=(path, run)) for run in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with Store(path) as store:
            assert len(store) == 6
    assert not failures


def test_a_full_disk_is_told_in_a_sentence_and_the_rows_stay(store):
    store.add(record(case()))
    pages = store._database.execute("PRAGMA page_count").fetchone()[0]
    store._database.execute(f"PRAGMA max_page_count = {pages}")
    more = [record(case(run)) for run in range(1, 200)]
    with pytest.raises(InputError, match=r"results.sqlite cannot be used for results: .*full"):
        list(map(store.add, more))
    assert len(store) >= 1 and store.records(keys=[case().key]) == [record(case())]


def test_a_failed_parquet_leaves_the_earlier_one(store, tmp_path, monkeypatch):
    path = tmp_path / "results.parquet"
    store.write_parquet(path)
    before = path.read_bytes()
    store.add(record(case()))
    monkeypatch.setattr("acyclic.files.os.replace", lambda *_: (_ for _ in ()).throw(OSError("the disk is full")))
    with pytest.raises(OSError, match="full"):
        store.write_parquet(path)
    assert path.read_bytes() == before and sorted(entry.name for entry in tmp_path.iterdir()) == ["new", path.name]


def test_parquet_there_and_back(store, tmp_path):
    written = [record(case(run, limit=None if run else 60.0)) for run in range(3)]
    written.append(record(case(3), status="failed", values={}, traceback="Traceback …"))
    for one in written:
        store.add(one)
    store.write_parquet(tmp_path / "results.parquet")
    with Store(tmp_path / "other" / "results.sqlite") as other:
        kept = record(case(0), verdict="computed here")
        other.add(kept)
        assert other.read_parquet(tmp_path / "results.parquet") == 3
        assert other.records(settings=[case().setting]) == [kept, *written[1:]]
        assert other.records(keys=[case(0).key])[0].verdict == "computed here"
    store.write_parquet(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "results.parquet").read_bytes()


def test_parquet_of_nothing(store, tmp_path):
    store.write_parquet(tmp_path / "results.parquet")
    assert store.read_parquet(tmp_path / "results.parquet") == 0


@pytest.mark.parametrize("content", [b"", b"no parquet", None])
def test_a_file_that_holds_no_results(store, tmp_path, content):
    path = tmp_path / "results.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"results.parquet holds no results"):
        store.read_parquet(path)


@pytest.mark.parametrize(
    ("finished", "taken"), [("2026-01-02T00:00:00+00:00", True), ("2025-12-31T00:00:00+00:00", False)]
)
def test_of_a_case_here_and_in_a_parquet_file_the_later_row_stays(store, tmp_path, finished, taken):
    given = record(case(), values={"shd": 1}, finished=finished)
    with Store(tmp_path / "other.sqlite") as other:
        other.add(given)
        other.write_parquet(tmp_path / "results.parquet")
    own = record(case(), values={"shd": 2}, finished="2026-01-01T00:00:00+00:00")
    store.add(own)
    assert store.read_parquet(tmp_path / "results.parquet") == 0
    assert store.records(keys=[case().key]) == [given if taken else own]

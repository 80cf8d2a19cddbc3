"""Writing: whatever fails, and wherever a process is killed, what was there before or what should be there is whole."""

import errno
import io
import os
import signal
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import acyclic
from acyclic import files
from acyclic.data.moments import Moments
from acyclic.errors import InputError
from acyclic.files import Journal, NewFolder, collect_leftovers, write_atomically, write_text
from acyclic.graphs.formats import save as save_graph
from acyclic.report.folder import write_files
from acyclic.running import Checkpoint, State

DATA = acyclic.simulate(n_nodes=5, n=60, random_state=1)
RESULT = acyclic.learn(DATA.X)


@pytest.fixture
def tmp_path():
    """A folder in memory where there is one: these tests wait for the disk some thousand times."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        yield Path(folder)


class Operations:
    """The module os as `acyclic.files` sees it, whose n-th operation on the disk does not come to pass."""

    COUNTED = ("open", "write", "fsync", "replace", "rename", "mkdir", "ftruncate")

    def __init__(self, fail_at=0, fail=None):
        self.done, self.fail_at, self.fail = 0, fail_at, fail

    def count(self):
        self.done += 1
        if self.done == self.fail_at:
            self.fail()

    def __getattr__(self, name):
        real = getattr(os, name)
        if name not in self.COUNTED:
            return real

        def counted(*given, **named):
            self.count()
            return real(*given, **named)

        return counted

    def fdopen(self, handle, mode):
        outer = self

        class Raw(io.FileIO):
            def write(self, content):
                outer.count()
                return super().write(content)

        return io.BufferedWriter(Raw(handle, mode))


def full_disk():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_only():
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def second_ctrl_c():
    raise KeyboardInterrupt


def write_journal(folder, new):
    """The old form has no line, the new one two."""
    with closing(Journal(folder / "a.lines", {"of": "a"})) as journal:
        for line in ["new", "new"][len(journal.entries) :] if new else []:
            journal.append(line)
            journal.sync()


def write_folder(folder, new):
    write_files({"a": "new" if new else "old", "b": "b"}, folder / "run", force=new)


def write_folder_in_two_renames(folder, new):
    """As where the system cannot exchange folders."""
    with patch.object(files, "_renameat2", lambda: None):
        write_folder(folder, new)


WRITERS = {
    "text": lambda folder, new: write_text(folder / "a.txt", "new " * 9 if new else "old"),
    "result": lambda folder, new: RESULT.save(folder / "run.json"),
    "page": lambda folder, new: RESULT.report(folder / "run.html", title="new" if new else "old"),
    "graph": lambda folder, new: save_graph(RESULT.graph, folder / "graph.dot"),
    "moments": lambda folder, new: Moments.from_array(DATA.X * (2 if new else 1)).save(folder / "moments.npz"),
    "checkpoint": lambda folder, new: Checkpoint(folder / "run.npz", {}).save(State(np.full((2, 2), float(new)))),
    "folder": write_folder,
    "folder in two renames": write_folder_in_two_renames,
    "journal": write_journal,
}  # fmt: skip
writers = pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def held_by(folder):
    """What is in a folder; of a journal, the lines that are whole."""
    found = content(folder)
    for path in found:
        if path.suffix == ".lines":
            with closing(Journal(folder / path, {})) as journal:
                found[path] = journal.entries
    return found


def stages(writer, tmp_path):
    """What may be found after a fault: what the old and the new form leave, and the states in between of a journal."""
    folder = tmp_path / "expected"
    folder.mkdir()
    writer(folder, False)
    old = held_by(folder)
    writer(folder, True)
    new = held_by(folder)
    between = [{path: value[:1] for path, value in new.items()}] if Path("a.lines") in new else []
    return old, new, between


def count_operations(writer, tmp_path, monkeypatch):
    folder = tmp_path / "counted"
    folder.mkdir()
    writer(folder, False)
    with monkeypatch.context() as patched:
        operations = Operations()
        patched.setattr(files, "os", operations)
        writer(folder, True)
    return operations.done


@writers
@pytest.mark.parametrize("fault", [full_disk, read_only, second_ctrl_c])
def test_whichever_operation_fails_the_earlier_file_is_whole_and_nothing_is_left(writer, fault, tmp_path, monkeypatch):
    old, new, between = stages(writer, tmp_path)
    total = count_operations(writer, tmp_path, monkeypatch)
    assert total >= 4
    for fail_at in range(1, total + 1):
        folder = tmp_path / str(fail_at)
        folder.mkdir()
        writer(folder, False)
        with monkeypatch.context() as patched:
            patched.setattr(files, "os", Operations(fail_at, fault))
            with pytest.raises((OSError, KeyboardInterrupt)) as failure:
                writer(folder, True)
        assert failure.type is (KeyboardInterrupt if fault is second_ctrl_c else OSError)
        assert held_by(folder) in (old, new, *between), fail_at
        assert not any(path.name.startswith(".acyclic") for path in folder.rglob("*"))
        writer(folder, True)
        assert held_by(folder) == new


@writers
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_wherever_a_process_is_killed_the_next_start_finds_one_whole_and_removes_the_rest(
    writer, tmp_path, monkeypatch
):
    old, new, between = stages(writer, tmp_path)
    for fail_at in range(1, count_operations(writer, tmp_path, monkeypatch) + 1):
        folder = tmp_path / str(fail_at)
        folder.mkdir()
        writer(folder, False)
        child = os.fork()
        if not child:
            files.os = Operations(fail_at, lambda: os.kill(os.getpid(), signal.SIGKILL))
            try:
                writer(folder, True)
            finally:
                os._exit(0)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        collect_leftovers(folder)
        assert held_by(folder) in (old, new, *between), fail_at
        writer(folder, True)
        assert held_by(folder) == new
        assert not any(path.name.startswith(".acyclic") for path in folder.rglob("*"))


@pytest.mark.skipif(files.fcntl is None, reason="needs locks")
def test_the_scratch_of_a_living_process_is_left_alone(tmp_path):
    with write_atomically(tmp_path / "slow.txt") as file, NewFolder(tmp_path / "run") as folder:
        file.write(b"half")
        folder.write("a", b"half")
        write_text(tmp_path / "other.txt", "whole")
        collect_leftovers(tmp_path)
        file.write(b" and half")
        folder.put()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.txt", "run", "slow.txt"]
    assert (tmp_path / "slow.txt").read_bytes() == b"half and half"


def test_foreign_files_are_no_leftovers(tmp_path):
    names = [".acyclic-1.part", ".acyclic-0123456789abcdef.part.txt", "acyclic-0123456789abcdef.part", ".a.part"]
    for name in names:
        (tmp_path / name).touch()
    write_text(tmp_path / "a.txt", "text")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "a.txt"])


def test_many_threads_write_one_file(tmp_path):
    texts, failures = [f"{k} " * 2000 for k in range(8)], []

    def write(text):
        try:
            for _ in range(30):
                write_text(tmp_path / "a.txt", text)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and (tmp_path / "a.txt").read_text() in texts
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_link_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "a.txt").symlink_to(tmp_path / "precious")
    write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "precious").read_text() == "mine" and not (tmp_path / "a.txt").is_symlink()


def test_a_linked_folder_is_filled_where_it_is(tmp_path):
    (tmp_path / "disk" / "run").mkdir(parents=True)
    (tmp_path / "run").symlink_to(tmp_path / "disk" / "run")
    write_files({"a": "a"}, tmp_path / "run")
    assert (tmp_path / "run").is_symlink() and (tmp_path / "disk" / "run" / "a").read_text() == "a"


def test_a_device_is_written_to_and_stays_one(tmp_path):
    write_text(os.devnull, "gone")
    assert not Path(os.devnull).is_file()


def test_the_longest_name_can_be_written(tmp_path):
    write_text(tmp_path / ("a" * 255), "text")
    write_files({"a": "a"}, tmp_path / ("b" * 255))
    assert len(list(tmp_path.iterdir())) == 2


def test_what_cannot_be_replaced_as_a_whole_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place in (".", tmp_path, "/"):
        with pytest.raises(InputError, match="name a new folder in it"):
            NewFolder(place)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_not_put_leaves_no_trace(tmp_path):
    with NewFolder(tmp_path / "deep" / "deeper" / "run") as folder:
        folder.write("a", b"a")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_filled_by_somebody_else_meanwhile_is_not_replaced(tmp_path):
    with NewFolder(tmp_path / "run") as folder:
        folder.write("a", b"new")
        write_files({"a": "theirs"}, tmp_path / "run")
        with pytest.raises(OSError, match="not empty"):
            folder.put()
    assert content(tmp_path) == {Path("run/a"): b"theirs"}


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs limits on the size of files")
@writers
def test_a_full_disk(writer, tmp_path):
    """The kernel refuses what goes beyond some bytes, in the middle of a write."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in (0, 1, 20, 100, 400):
        folder = tmp_path / str(size)
        folder.mkdir()
        writer(folder, False)
        old = held_by(folder)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            writer(folder, True)
        except OSError:
            pass
        else:
            continue
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        found = held_by(folder)
        assert found == old or found == {Path("a.lines"): ["new"]}
        assert not any(path.name.startswith(".acyclic") for path in folder.rglob("*"))


def test_a_journal_keeps_what_is_whole(tmp_path):
    path = tmp_path / "a.lines"
    journal = Journal(path, {"of": "a"})
    for number in range(5):
        journal.append([number, 0.1 + 0.2])
    with pytest.raises(InputError, match="in use by another process"):
        Journal(path, {})
    journal.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], lines[3][:-4] + b"9" + lines[3][-3:], lines[4], lines[5][:-6]]))
    again = Journal(path, {"of": "b"})
    assert again.head == {"of": "a"} and [entry[0] for entry in again.entries] == [0, 1, 3]
    assert again.entries[0][1] == 0.1 + 0.2
    again.append("last")
    again.close()
    last = Journal(path, {})
    assert last.entries[3:] == ["last"]
    last.remove()
    assert list(tmp_path.iterdir()) == []


def test_another_file_is_no_journal(tmp_path):
    path = tmp_path / "a.lines"
    path.write_text("years of work")
    with pytest.raises(InputError, match="is no journal of acyclic; name another file"):
        Journal(path, {})
    assert path.read_text() == "years of work"

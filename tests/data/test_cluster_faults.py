"""A cluster of processes that are killed: the same bits, or one sentence, and nothing lost that was kept.

``ACYCLIC_KILLS``: how often a worker is killed.
"""

import os
import random
import signal
import subprocess
import sys
import threading

import numpy as np
import polars as pl
import pytest

import acyclic
from acyclic.cli import main
from acyclic.data.table import read_table
from acyclic.errors import InputError

distributed = pytest.importorskip("distributed", reason="the Dask cluster needs the package distributed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


class Cluster:
    """A scheduler and its workers; each a process of its own."""

    def __init__(self, folder, workers):
        self.folder, self.file = folder, folder / "scheduler.json"
        self.env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", "0")
        self.workers = [self.start_worker() for _ in range(workers)]
        self.client = distributed.Client(scheduler_file=str(self.file), set_as_default=False, timeout=120)
        self.client.wait_for_workers(workers, timeout=120)
        self.address = self.client.scheduler.address

    def start(self, what, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--scheduler-file", str(self.file)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([*command, "--no-dashboard", *options], env=self.env, cwd=self.folder, **quiet)

    def start_worker(self):
        return self.start("worker", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")

    def kill_one(self):
        at = random.randrange(len(self.workers))
        os.kill(self.workers[at].pid, signal.SIGKILL)
        self.workers[at].wait()
        self.workers[at] = self.start_worker()

    def close(self):
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self.client.close(timeout=1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"), workers=2)
    yield made
    made.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng, place = np.random.default_rng(0), tmp_path_factory.mktemp("table")
    for number in range(12):
        rows = rng.standard_normal((20_000, 5)) @ np.triu(np.ones((5, 5)))
        pl.DataFrame(rows, schema=list("abcde")).write_parquet(place / f"{number:02d}.parquet")
    return place


def read_again_and_again(folder, client):
    """Until it fails."""
    while True:
        read_table(folder, cluster=client)


def test_killed_workers_change_no_bit(cluster, folder):
    expected, here = read_table(folder, cluster=cluster.client), read_table(folder)
    assert expected.digest == here.digest
    for seed in range(int(os.environ.get("ACYCLIC_KILLS", "5"))):
        random.seed(seed)
        timer = threading.Timer(random.uniform(0.0, 0.3), cluster.kill_one)
        timer.start()
        found = read_table(folder, cluster=cluster.client)
        timer.join()
        assert found.moments == expected.moments and found.digest == expected.digest


def test_a_scheduler_that_goes_away_is_one_sentence(cluster, folder, tmp_path):
    doomed = Cluster(tmp_path, workers=1)

    def kill(*_):
        doomed.scheduler.kill()
        doomed.scheduler.wait()

    kept = tmp_path / "kept"
    expected = read_table(folder, cluster=doomed.client, partials=kept)
    for path in sorted(kept.iterdir())[:5]:
        path.unlink()
    timer = threading.Timer(0.2, kill)
    timer.start()
    with pytest.raises(InputError, match=r"(scheduler of the cluster is gone|cannot list).*") as raised:
        read_again_and_again(folder, doomed.client)
    timer.join()
    doomed.close()
    assert "\n" not in str(raised.value)
    assert read_table(folder, cluster=cluster.address, partials=kept).moments == expected.moments


def test_the_command_reads_a_folder_on_the_cluster(cluster, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("acyclic.data.reading._BROUGHT_VALUES", 10)
    far = ["--cluster", cluster.address, "--bootstrap", "2", "--partials", "kept", "--out", "far"]
    assert main(["learn", str(folder), "--quick", *far]) == 0, capsys.readouterr().err
    assert (tmp_path / "far" / "result.json").exists() and len(list((tmp_path / "kept").iterdir())) == 12
    assert main(["learn", str(folder), "--quick", "--out", "near"]) == 0
    far, near = (acyclic.load(tmp_path / name / "result.json") for name in ("far", "near"))
    assert (far.graph.adjacency == near.graph.adjacency).all() and far.provenance["data"] == near.provenance["data"]

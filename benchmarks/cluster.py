"""Moments of Parquet files that the workers of a Dask cluster read, against the stream of one machine.

Everything is on loopback: a scheduler, and 1, 2 and 4 worker processes of one thread each. Each way is a client process
of its own, so that its peak memory and its bytes can be told; ways are run in turn, and figures are medians. Rows per
processor second count the processor time of client and workers. The moments are compared with those of the stream.
The last lines are the constants of the cost model in docs/cluster.md. With ``--kills`` workers are killed at random
times, again and again, and the moments have to stay the same to the last bit.

    python benchmarks/cluster.py [--rows 20000000] [--columns 30] [--repeats 3] [--kills 20] [--folder SCRATCH]
"""

import argparse
import json
import os
import pickle
import platform
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

import acyclic
from acyclic.data.table import read_table

CHUNK = 500_000
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}


def make_files(folder: Path, rows: int, columns: int) -> None:
    """Write correlated columns on large means, a file for each chunk of rows."""
    rng = np.random.default_rng(0)
    mixing, mean = rng.normal(size=(columns, columns)), 1e3 * rng.normal(size=columns)
    names = [f"x{column}" for column in range(columns)]
    for part, start in enumerate(range(0, rows, CHUNK)):
        table = rng.normal(size=(min(CHUNK, rows - start), columns)) @ mixing + mean
        pl.DataFrame(table, schema=names).write_parquet(folder / f"{part:05d}.parquet")


def environment() -> dict:
    return os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


class Cluster:
    """A scheduler and worker processes of this machine; a worker that is killed is replaced."""

    def __init__(self, workers: int, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address, self.folder = f"tcp://127.0.0.1:{port}", folder
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        self.workers = [self.start_worker() for _ in range(workers)]

    def start(self, what: str, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, env=environment(), cwd=self.folder, **quiet)

    def start_worker(self) -> subprocess.Popen:
        options = "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--no-dashboard"
        return self.start("worker", self.address, *options)

    def kill_one(self) -> None:
        at = random.randrange(len(self.workers))
        self.workers[at].send_signal(signal.SIGKILL)
        self.workers[at].wait()
        self.workers[at] = self.start_worker()

    def wait(self) -> None:
        from distributed import Client

        for _ in range(100):
            try:
                with Client(self.address, set_as_default=False, timeout=2) as client:
                    client.wait_for_workers(len(self.workers), timeout=120)
                return
            except OSError:
                time.sleep(0.2)
        raise SystemExit("the scheduler did not start")

    def seconds(self) -> float:
        """Processor seconds of the workers so far."""
        return sum(processor_seconds(worker.pid) for worker in self.workers)

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def count_bytes() -> dict:
    """Count what comes through Dask's connections of this process, from now on."""
    from distributed.comm import tcp

    seen, read = {"bytes": 0}, tcp.read_bytes_rw

    async def counted(stream, count):
        seen["bytes"] += count
        return await read(stream, count)

    tcp.read_bytes_rw = counted
    return seen


def peak_memory() -> float:
    """MB of this process alone; what getrusage tells includes its parent, at the moment when it was forked."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def run_job(address: str | None, folder: str) -> None:
    """One way, in this process: the answer, seconds, processor seconds, bytes and peak memory as JSON."""
    import distributed  # noqa: F401 - before the clock starts, for both

    seen = count_bytes() if address else {"bytes": 0}
    start, used = time.perf_counter(), time.process_time()
    table = read_table(folder, cluster=address) if address else read_table(folder)
    told = {"seconds": time.perf_counter() - start, "processor": time.process_time() - used, **seen}
    told |= {"peak": peak_memory(), "digest": table.digest}
    told |= {"bits": table.moments.digest(), "mean": table.moments.mean.tolist()}
    print(json.dumps(told | {"covariance": table.moments.covariance.tolist()}))


def measured(folder: Path, cluster: Cluster | None = None) -> dict:
    command = [sys.executable, __file__, "--job", cluster.address if cluster else "stream", "--folder", str(folder)]
    before = cluster.seconds() if cluster else 0.0
    done = subprocess.run(command, env=environment(), check=True, capture_output=True, text=True)
    told = json.loads(done.stdout)
    told["workers"] = cluster.seconds() - before if cluster else 0.0
    return told


def largest_difference(left: dict, right: dict) -> float:
    deviation = np.sqrt(np.diag(right["covariance"]))
    mean = np.abs(np.subtract(left["mean"], right["mean"])) / deviation
    covariance = np.abs(np.subtract(left["covariance"], right["covariance"])) / np.outer(deviation, deviation)
    return float(max(mean.max(), covariance.max()))


def middle(runs: list[dict], *names: str) -> float:
    return statistics.median(sum(run[name] for name in names) for run in runs)


def compare(folder: Path, rows: int, columns: int, repeats: int) -> dict:
    """Print the table of all ways; the constants of the cost model."""
    parts = len(list(folder.glob("*.parquet")))
    alone = [measured(folder) for _ in range(repeats)]
    speed = rows / middle(alone, "processor")
    print(f"{'':12} {'wall s':>8} {'rows / proc. s':>15} {'share':>6} {'bytes / partition':>18} {'client MB':>10}")
    print(
        f"{'stream':12} {middle(alone, 'seconds'):8.2f} {speed:15.3g} {1.0:6.2f} {'':>18} {middle(alone, 'peak'):10.0f}"
    )
    walls, told = {}, {}
    for workers in (1, 2, 4):
        with tempfile.TemporaryDirectory() as scratch:
            cluster = Cluster(workers, Path(scratch))
            try:
                cluster.wait()
                measured(folder, cluster)  # workers import on their first job
                runs = [measured(folder, cluster) for _ in range(repeats)]
            finally:
                cluster.close()
        walls[workers], each = middle(runs, "seconds"), rows / middle(runs, "processor", "workers")
        received, peak = middle(runs, "bytes") / parts, middle(runs, "peak")
        print(
            f"{workers} workers    {walls[workers]:8.2f} {each:15.3g} {each / speed:6.2f} {received:18.0f} {peak:10.0f}"
        )
        difference = max(largest_difference(run, alone[0]) for run in runs)
        same = len({run["bits"] for run in runs}) == 1 and {run["digest"] for run in runs} == {alone[0]["digest"]}
        print(f"             difference from the stream {difference:.1e} (bar 1e-12); same bits and digest: {same}")
        told = {"rows per processor second": each, "bytes per partition": received}
    print(f"wall of 2 workers / 1 worker: {walls[2] / walls[1]:.2f} (bar 0.60)")
    return told


def kill_workers(folder: Path, kills: int) -> None:
    """Read again and again with two workers, one of which is killed at random times."""
    expected = measured(folder)["digest"]
    with tempfile.TemporaryDirectory() as scratch:
        cluster = Cluster(2, Path(scratch))
        try:
            cluster.wait()
            first = measured(folder, cluster)
            bits, usual, done = {first["bits"]}, first["seconds"], 0
            while done < kills:
                timer = threading.Timer(random.uniform(0.2, 1.0) * max(usual, 1.0), cluster.kill_one)
                timer.start()
                command = [sys.executable, __file__, "--job", cluster.address, "--folder", str(folder)]
                told = json.loads(subprocess.run(command, env=environment(), check=True, capture_output=True).stdout)
                timer.join()
                done += 1
                bits.add(told["bits"])
                assert told["digest"] == expected, "another digest"
                cluster.wait()
        finally:
            cluster.close()
    print(f"{done} workers killed at random times; different moments: {len(bits)} (bar 1)")


def measure_constants(columns: int) -> None:
    """What the cost model needs besides: products, merging, and Dask's own work for a task."""
    from acyclic.data.moments import Accumulator

    for d in (columns, 300, 1000):
        rows = np.random.default_rng(0).normal(size=(max(4_000_000 // d, 2 * d), d))
        one, other = Accumulator([str(k) for k in range(d)]), Accumulator([str(k) for k in range(d)])
        start = time.process_time()
        one.add(rows)
        one.close()
        summed = time.process_time() - start
        other.add(rows[: len(rows) // 2])
        other.close()
        start = time.process_time()
        for _ in range(5):
            one.merge(other)
        merged = (time.process_time() - start) / 5
        size = len(pickle.dumps(other, protocol=5))
        print(
            f"d = {d}: {len(rows) / summed:.3g} rows / s of sums, {len(rows) * d * d / summed / 1e9:.2f} G products / s"
            f", merge {merged * 1e3:.2f} ms, partial result {size / 1e6:.3f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--folder", help="where the files are made, and deleted in the end")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        run_job(None if options.job == "stream" else options.job, options.folder)
        return
    import distributed

    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        folder = Path(scratch)
        make_files(folder, options.rows, options.columns)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        print(f"acyclic {acyclic.__version__}, distributed {distributed.__version__}, polars {pl.__version__},")
        print(f"numpy {np.__version__}, {platform.machine()}, {os.cpu_count()} processors")
        print(f"{options.rows} rows, {options.columns} columns, {size:.0f} MB of Parquet, median of {options.repeats}")
        told = compare(folder, options.rows, options.columns, options.repeats)
        if options.kills:
            kill_workers(folder, options.kills)
    for name, value in told.items():
        print(f"{name}: {value:.4g}")
    measure_constants(options.columns)


if __name__ == "__main__":
    main()

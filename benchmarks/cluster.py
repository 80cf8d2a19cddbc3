"""Moments of Parquet files that the workers of a Dask cluster read, against the stream of one machine.

Everything is on loopback: a scheduler, and 1, 2 and 4 worker processes of one thread each. Each way is a client process
of its own, so that its peak memory and its bytes can be told. Rows per processor second count the processor time of
client, workers and scheduler. The moments are compared with those of the stream. The same number of files is made for
each number of rows, so that what grows with rows can be told from what grows with partitions. Figures are medians of
runs; a run that stands in the folder is not made again, so that ways can be measured one by one, when the machine is
quiet. The last lines are the constants of the cost model in docs/cluster.md. With ``--kills`` workers are killed at
random times, again and again, and the moments have to stay the same to the last bit.

    python benchmarks/cluster.py --folder SCRATCH [--rows 2000000 20000000] [--columns 30] [--parts 40]
                                 [--ways stream 1 2 4] [--repeats 3] [--kills 20] [--constants]
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

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}


def make_files(folder: Path, rows: int, columns: int, parts: int) -> Path:
    """Write correlated columns on large means, unless they are there: so many files, each from a seed of its own."""
    rng = np.random.default_rng(0)
    mixing, mean = rng.normal(size=(columns, columns)), 1e3 * rng.normal(size=columns)
    names, place = [f"x{column}" for column in range(columns)], folder / f"{rows}-{columns}-{parts}"
    place.mkdir(parents=True, exist_ok=True)
    ends = np.linspace(0, rows, parts + 1).astype(int)
    for part, count in enumerate(np.diff(ends).tolist()):
        path, scratch = place / f"{part:05d}.parquet", place / f"{part:05d}.part"
        if not path.exists():
            table = np.random.default_rng((1, part)).normal(size=(count, columns)) @ mixing + mean
            pl.DataFrame(table, schema=names).write_parquet(scratch)
            scratch.rename(path)
    return place


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

    def processes(self) -> list[str]:
        """The numbers of the scheduler and of the workers."""
        return [str(process.pid) for process in (self.scheduler, *self.workers)]

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def processor_seconds(pid: str) -> float:
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


def run_job(address: str | None, folder: str, processes: list[str]) -> None:
    """One way, in this process: the answer, seconds, processor seconds, bytes and peak memory as JSON."""
    import distributed  # noqa: F401 - before the clock starts, for both

    seen = count_bytes() if address else {"bytes": 0}
    before = [processor_seconds(pid) for pid in processes]
    start, used = time.perf_counter(), time.process_time()
    table = read_table(folder, cluster=address) if address else read_table(folder)
    told = {"seconds": time.perf_counter() - start, "processor": time.process_time() - used, **seen}
    others = [processor_seconds(pid) - first for pid, first in zip(processes, before)]
    told |= {"others": sum(others), "busiest": max(others[1:], default=0.0) + told["processor"]}
    told |= {"peak": peak_memory(), "digest": table.digest}
    told |= {"bits": table.moments.digest(), "mean": table.moments.mean.tolist()}
    print(json.dumps(told | {"covariance": table.moments.covariance.tolist()}))


def measured(folder: Path, cluster: Cluster | None = None, *, watched: bool = True) -> dict:
    command = [sys.executable, __file__, "--job", cluster.address if cluster else "stream", "--folder", str(folder)]
    command += ["--processes", *cluster.processes()] if cluster and watched else []
    done = subprocess.run(command, env=environment(), check=True, capture_output=True, text=True)
    told: dict = json.loads(done.stdout)
    return told


def largest_difference(left: dict, right: dict) -> float:
    deviation = np.sqrt(np.diag(right["covariance"]))
    mean = np.abs(np.subtract(left["mean"], right["mean"])) / deviation
    covariance = np.abs(np.subtract(left["covariance"], right["covariance"])) / np.outer(deviation, deviation)
    return float(max(mean.max(), covariance.max()))


class Runs:
    """Runs that were made, by rows and way, in a file that grows line by line."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "measured.jsonl"
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        self.made = [json.loads(line) for line in lines]

    def of(self, place: Path, way: str) -> list[dict]:
        return [run for run in self.made if (run["place"], run["way"]) == (place.name, way)]

    def add(self, place: Path, way: str, told: dict) -> None:
        self.made.append(told | {"place": place.name, "way": way})
        with self.path.open("a") as file:
            file.write(json.dumps(self.made[-1]) + "\n")


def middle(runs: list[dict], *names: str) -> float:
    return statistics.median(sum(run[name] for name in names) for run in runs)


def measure(folder: Path, places: list[Path], ways: list[str], repeats: int) -> Runs:
    """Make the runs that are missing, tables in turn."""
    runs = Runs(folder)
    for way in ways:
        if all(len(runs.of(place, way)) >= repeats for place in places):
            continue
        if way == "stream":
            for turn in range(repeats):
                for place in places:
                    if len(runs.of(place, way)) <= turn:
                        runs.add(place, way, measured(place))
            continue
        with tempfile.TemporaryDirectory() as scratch:
            cluster = Cluster(int(way), Path(scratch))
            try:
                cluster.wait()
                # Workers import on their first job.
                measured(make_files(folder, 16_000, 30, 16), cluster)
                for turn in range(repeats):
                    for place in places:
                        if len(runs.of(place, way)) <= turn:
                            runs.add(place, way, measured(place, cluster))
            finally:
                cluster.close()
    return runs


def show(runs: Runs, place: Path, rows: int, parts: int, ways: list[str]) -> None:
    """Print the table of all ways that were measured."""
    alone = runs.of(place, "stream")
    if not alone:
        return
    speed = rows / middle(alone, "processor")
    size = sum(path.stat().st_size for path in place.iterdir()) / 1e6
    print(f"\n{rows} rows in {parts} files, {size:.0f} MB of Parquet, median of {len(alone)}")
    print(f"{'':10} {'wall s':>8} {'rows / proc. s':>15} {'share':>6} {'bytes / partition':>18} {'client MB':>10}")
    print(f"{'stream':10} {middle(alone, 'seconds'):8.2f} {speed:15.3g} {1:6.2f} {'':18} {middle(alone, 'peak'):10.0f}")
    walls, busy = {}, {}
    for way in ways:
        if way == "stream" or not (made := runs.of(place, way)):
            continue
        walls[way], each = middle(made, "seconds"), rows / middle(made, "processor", "others")
        received, peak, busy[way] = middle(made, "bytes") / parts, middle(made, "peak"), middle(made, "busiest")
        print(f"{way + ' workers':10} {walls[way]:8.2f} {each:15.3g} {each / speed:6.2f} {received:18.0f} {peak:10.0f}")
        difference = max(largest_difference(run, alone[0]) for run in made)
        same = len({run["bits"] for run in made}) == 1 and {run["digest"] for run in made} == {alone[0]["digest"]}
        print(f"{'':10} difference from the stream {difference:.1e} (bar 1e-12); same bits and digest: {same}")
    if {"1", "2"} <= walls.keys():
        print(f"wall of 2 workers / 1 worker: {walls['2'] / walls['1']:.2f} (bar 0.60)")
        # Of a machine that others use too, wall times tell of the others.
        print(f"processor seconds of client and busiest worker, 2 / 1: {busy['2'] / busy['1']:.2f}")


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
                # Nobody can watch a process that is killed.
                told = measured(folder, cluster, watched=False)
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
    from acyclic.data.partials import DrawnSums, RowWeights

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
        drawn = DrawnSums([RowWeights(seed) for seed in np.random.SeedSequence(0).spawn(4)], 0, d)
        start = time.process_time()
        drawn.add(rows)
        each = (time.process_time() - start) / 4
        print(
            f"d = {d}: {len(rows) / summed:.3g} rows / s of sums, {len(rows) * d * d / summed / 1e9:.2f} G products / s"
            f", {len(rows) / each:.3g} rows / s of a draw, merge {merged * 1e3:.2f} ms"
            f", partial result {size / 1e6:.3f} MB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000_000, 20_000_000])
    parser.add_argument("--columns", type=int, default=30)
    parser.add_argument("--parts", type=int, default=40)
    parser.add_argument("--ways", nargs="*", default=["stream", "1", "2", "4"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--constants", action="store_true")
    parser.add_argument("--folder", help="where files and runs are, and stay")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--processes", nargs="*", default=[], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        run_job(None if options.job == "stream" else options.job, options.folder, options.processes)
        return
    import distributed

    folder = Path(options.folder or tempfile.mkdtemp())
    print(f"acyclic {acyclic.__version__}, distributed {distributed.__version__}, polars {pl.__version__},")
    print(f"numpy {np.__version__}, {platform.machine()}, {os.cpu_count()} processors; {folder}")
    places = [make_files(folder, rows, options.columns, options.parts) for rows in options.rows]
    runs = measure(folder, places, options.ways, options.repeats)
    for place, rows in zip(places, options.rows):
        show(runs, place, rows, options.parts, ["1", "2", "4"])
    if options.kills:
        kill_workers(places[0], options.kills)
    if options.constants:
        measure_constants(options.columns)


if __name__ == "__main__":
    main()

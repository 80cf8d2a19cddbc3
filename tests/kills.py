"""Kill runs at random times, again and again, until they end: python tests/kills.py [KILLS [SEED]] [RUN…].

What comes out has the same bits as a run that nobody disturbed; no process and no scratch is left behind. Prints a line
for each kind of run. `tests/test_kills.py` runs a short form of it.
"""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MADE = "import acyclic, numpy; numpy.save('X.npy', acyclic.simulate(n_nodes={d}, n={n}, random_state=1).X)"
# A checkpoint is written after each step, so that a kill meets the writing of one as often as possible.
FIT = """
import sys, numpy, acyclic
from acyclic.running import Monitor
Monitor.every = 0.0
found = acyclic.{learner}.set_params(checkpoint=sys.argv[1]).fit(numpy.load("X.npy"))
acyclic.files.write_text(sys.argv[2], found.adjacency_matrix_.tobytes().hex() + repr(found.solution_.end))
"""


@dataclass(frozen=True)
class Run:
    """A command that goes on where it was killed: its words, what it leaves at the end, and what it may have left."""

    words: Sequence[str]
    answer: Callable[[Path], Any]
    files: frozenset[str]
    nodes: int = 8
    rows: int = 300


def fit(learner: str, nodes: int = 12, rows: int = 300) -> Run:
    """A fit with a checkpoint."""
    words = [sys.executable, "-c", FIT.format(learner=learner), "run.npz", "answer"]
    return Run(words, lambda here: (here / "answer").read_text(), frozenset({"run.npz", "answer"}), nodes, rows)


def of_result(here: Path) -> Any:
    """A result without the seconds that it took."""
    plain = json.loads((here / "run" / "result.json").read_text())
    del plain["provenance"]
    return plain


def of_store(here: Path) -> Any:
    """What was measured, without times."""
    with sqlite3.connect(here / "out" / "results.sqlite") as database:
        rows = database.execute('SELECT key, status, "values" FROM results ORDER BY key').fetchall()
    # What a case found until its limit ended it depends on how busy the machine was.
    found = [(key, status, json.loads(values)) for key, status, values in rows]
    return [(key, status, values.get("stopped_early") or values) for key, status, values in found]


COMMAND = [sys.executable, "-m", "acyclic"]
LEARN = [*COMMAND, "learn", "table.csv", "--out", "run", "--force", "--quiet", "--quick", "--audit"]
SHORT = ["--quick", "--runs", "1", "--nodes", "10"]
REPRODUCE = [*COMMAND, "reproduce", "figure-2", *SHORT, "--out", "out", "--quiet"]
RUNS = {
    "learn --bootstrap": Run([*LEARN, "--bootstrap", "60"], of_result, frozenset({"run"}), 12),
    "learn --bootstrap --jobs 2": Run([*LEARN, "--bootstrap", "40", "--jobs", "2"], of_result, frozenset({"run"}), 12),
    "notears": fit("Notears(solver='central-path')", 20),
    "golem": fit("Golem(inner='adam', steps=3000)", 20),
    "nocurl": fit("NoCurl()", 30),
    "notears-mlp": fit("NotearsMlp(max_rounds=4)", 6, 200),
    "dag-gnn": fit("DagGnn(epochs=20, max_rounds=3)", 5, 200),
    "gran-dag": fit("GranDag(max_iterations=600)", 5, 200),
    "reproduce": Run(REPRODUCE, of_store, frozenset({"out"})),
    "reproduce --jobs 2": Run([*REPRODUCE, "--jobs", "2"], of_store, frozenset({"out"})),
}


def prepare(run: Run, here: Path) -> None:
    """The table of a run."""
    here.mkdir()
    subprocess.run([sys.executable, "-c", MADE.format(d=run.nodes, n=run.rows)], cwd=here, check=True)
    if "table.csv" in run.words:
        made = "import numpy; X = numpy.load('X.npy'); numpy.savetxt('table.csv', X, delimiter=',', comments='', "
        made += "header=','.join(f'x{i}' for i in range(X.shape[1])))"
        subprocess.run([sys.executable, "-c", made], cwd=here, check=True)


def family(leader: int) -> set[int]:
    """Living processes of the session of a process."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if entry.name.isdigit() and int(fields[3]) == leader and fields[0] != "Z":
            found.add(int(entry.name))
    return found


def go_on(run: Run, here: Path, seconds: float | None) -> bool:
    """Run the command, for so many seconds at most; whether it was killed."""
    with (here / "log").open("ab") as log:
        process = subprocess.Popen(run.words, cwd=here, stdout=log, stderr=log, start_new_session=True)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    killed = process.wait() == -signal.SIGKILL
    until = time.monotonic() + 20
    while (orphans := family(process.pid)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not orphans, f"processes {orphans} outlived the one that started them"
    assert killed or process.returncode == 0, (here / "log").read_text()[-2000:]
    return killed


def disturb(name: str, kills: int, seed: int = 0) -> int:
    """Kill a run so often, unless it ends before; it is begun anew until all kills are done. How many were in vain."""
    run, rng = RUNS[name], random.Random(f"{seed} {name}")
    with tempfile.TemporaryDirectory() as folder:
        calm, here = Path(folder, "calm"), Path(folder, "here")
        prepare(run, calm)
        started = time.monotonic()
        assert not go_on(run, calm, None)
        whole = time.monotonic() - started
        expected, done, left = run.answer(calm), 0, 0
        while done < kills:
            subprocess.run(["rm", "-rf", here], check=True)
            subprocess.run(["cp", "-r", calm, here], check=True)
            for file in run.files:
                subprocess.run(["rm", "-rf", here / file], check=True)
            # The first second is the start of Python, where there is little to meet.
            while go_on(run, here, rng.uniform(0.3, 1.0) * whole if done < kills else None):
                done += 1
            assert run.answer(here) == expected, f"{name} came to another answer"
            litter = {path.name for path in here.iterdir()} - {path.name for path in calm.iterdir()}
            litter |= {path.name for path in here.rglob(".acyclic-*")}
            assert not litter, f"{name} left {litter}"
            left += 1
    return left


def main() -> None:
    """Spread the kills over all kinds of runs, or over those that are named."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    kills, seed = (numbers + [60, 0][len(numbers) :])[:2]
    names = [word for word in sys.argv[1:] if word in RUNS] or list(RUNS)
    for place, name in enumerate(names):
        share = kills // len(names) + (place < kills % len(names))
        started = time.monotonic()
        ended = disturb(name, share, seed)
        took = time.monotonic() - started
        told = f"{name:28} {share:3} kills, {ended} times to the end: same bits, no process, no litter; {took:.0f} s"
        sys.stdout.write(told + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

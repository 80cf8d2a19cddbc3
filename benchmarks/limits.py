"""How long learners go on after a limit or Ctrl-C, in processor seconds: python benchmarks/limits.py [METHOD…].

Each learner runs in a process of its own, on 300 and 800 columns (networks: 40), under a time limit of 0, under one of
3 seconds, and with Ctrl-C after 3 seconds. What is shown is the processor time from that moment to the answer, which is
judged and whole; "ended" where the learner had come to its own end before. At most 0.5 is allowed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ALLOWED = 0.5
AFTER = 3.0
NEURAL = ("notears-mlp", "dag-gnn", "gran-dag")
CASES = ("limit 0", "limit 3", "Ctrl-C")
FIT = """
import signal, sys, time, acyclic
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored in the background
from acyclic.learners import make_learner
method, d, case = sys.argv[1], int(sys.argv[2]), sys.argv[3]
table = acyclic.read_table(acyclic.simulate(n_nodes=d, n=1000, random_state=1).X)
table.moments, table.notes, table.digest, table.rows()
limit = {"limit 0": 0.0, "limit 3": 3.0}.get(case)
make_learner(method, time_limit=0).fit(acyclic.simulate(n_nodes=5, n=50).X)  # imports are no part of an answer
model = make_learner(method, time_limit=limit)
print(time.process_time(), flush=True)
model.fit(table)
print(time.process_time(), model.verdict_.end.kind.value, flush=True)
"""


def processor_seconds(process: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def overshoot(method: str, d: int, case: str) -> tuple[float | None, str]:
    """Processor seconds after the limit or signal, and how the fit ended."""
    command = [sys.executable, "-W", "ignore", "-c", FIT, method, str(d), case]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        begun = float(process.stdout.readline())
        if case != "limit 0":
            time.sleep(AFTER)
            begun = processor_seconds(process.pid) if process.poll() is None else float("inf")
        if case == "Ctrl-C":
            process.send_signal(signal.SIGINT)
        last = process.stdout.readline().split()
    if not last:
        return None, "no answer"
    spent, ended = float(last[0]) - begun, last[1]
    return (max(spent, 0.0), ended) if ended in ("time-limit", "interrupted") else (None, "ended")


def main() -> int:
    """Print the table; 1 if some learner takes longer than is allowed."""
    from acyclic.learners import LEARNERS

    methods = sys.argv[1:] or list(LEARNERS)
    print(f"{'method':16}{'columns':>8}" + "".join(f"{case:>12}" for case in CASES))
    late = 0
    for method in methods:
        for d in (40,) if method in NEURAL else (300, 800):
            found = [overshoot(method, d, case) for case in CASES]
            late += sum(spent is not None and spent > ALLOWED for spent, _ in found)
            late += sum(ended == "no answer" for _, ended in found)
            cells = "".join(f"{ended if spent is None else f'{spent:.2f}':>12}" for spent, ended in found)
            print(f"{method:16}{d:8}{cells}", flush=True)
    print(f"{late} above {ALLOWED} processor seconds")
    return int(late > 0)


if __name__ == "__main__":
    raise SystemExit(main())

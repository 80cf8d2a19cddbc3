"""Many columns: `learn` on tables of 1000 to 10 000, standardised and with equal noise variances in raw units.

    python benchmarks/scale.py [--columns 1000 5000 10000] [--kinds standardised equal] [--seeds 1] [--rows FILE]

Each row is one fit in a process of its own: d, processor and wall seconds, peak memory of the fit with its table,
precision and recall of adjacencies, SHD of the graphs, how the fit ended. Rows that the file has are printed and not
computed again.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

ROWS = 3000
HEAD = (
    f"{'d':>6} {'table':<13} {'seed':>4} {'cpu s':>7} {'wall s':>7} {'GB':>5} {'prec.':>6} {'recall':>6} {'SHD':>6} end"
)


def measure(d: int, kind: str, seed: int) -> dict[str, object]:
    """One fit; run it in a process of its own, since memory is that of the process."""
    import numpy as np

    import acyclic

    data = acyclic.simulate(d, ROWS, graph="ER2", random_state=seed)
    X, truth = np.array(data.X), edges_of(data.graph.weights)
    del data
    if kind == "standardised":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    forget_peak()
    cpu, wall = time.process_time(), time.monotonic()
    result = acyclic.learn(X)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    peak, found = find_peak(), edges_of(result.graph.weights)
    joined, meant = ({frozenset(edge) for edge in edges} for edges in (found, truth))
    turned = sum((j, i) in truth for i, j in found)
    return {
        "d": d,
        "kind": kind,
        "seed": seed,
        "cpu": cpu,
        "wall": wall,
        "peak": peak,
        "precision": len(joined & meant) / max(len(joined), 1),
        "recall": len(joined & meant) / max(len(meant), 1),
        "shd": len(joined ^ meant) + turned,
        "end": result.verdict.end.kind.value,
        "orientation": result.verdict.orientation.value,
        "compelled": len(result.cpdag.directed_edges()),
    }


def edges_of(weights: object) -> set[tuple[int, int]]:
    """The edges of a matrix, as pairs."""
    import numpy as np

    return set(zip(*(part.tolist() for part in np.nonzero(weights))))


def forget_peak() -> None:
    """Let the peak of memory begin anew, where the system can: the simulation needs more than the table."""
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5", encoding="ascii")


def find_peak() -> float:
    """The most memory of this process, in GB of 10⁹ bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def show(row: dict[str, object]) -> str:
    """One line of the table."""
    form = (
        "{d:>6} {kind:<13} {seed:>4} {cpu:>7.1f} {wall:>7.1f} {peak:>5.2f} {precision:>6.3f} {recall:>6.3f} {shd:>6} "
    )
    form += "{end}"
    return form.format(**row)


def main() -> None:
    """Print all rows, computing those that are not stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, nargs="+", default=[1000, 2000, 5000, 10_000])
    parser.add_argument("--kinds", nargs="+", default=["standardised", "equal"], choices=["standardised", "equal"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--rows", type=Path, default=Path("scale-rows.jsonl"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*json.loads(given.one))))
        return
    stored = [json.loads(line) for line in given.rows.read_text().splitlines()] if given.rows.exists() else []
    known = {(row["d"], row["kind"], row["seed"]): row for row in stored}
    print(HEAD)
    for case in [(d, kind, seed) for d in given.columns for kind in given.kinds for seed in given.seeds]:
        if case not in known:
            command = [sys.executable, __file__, "--one", json.dumps(case)]
            line = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]
            with given.rows.open("a") as file:
                file.write(line + "\n")
            known[case] = json.loads(line)
        print(show(known[case]), flush=True)


if __name__ == "__main__":
    main()

"""Ours and theirs on the same data in one run: SHD, SHD of CPDAGs, time ratio, peak memory; one thread each.

    python benchmarks/peers.py [--plan benchmarks/peers.toml] [--environment FOLDER] [--out docs/peers.md]

The peers are installed from the package index into an environment of their own (made where it is missing). Every fit
is a process of its own with a time-out. Peers run with their defaults and see the rows as they are. Undirected edges of
a class count as errors in SHD, as arcs both ways; compare classes by SHD of CPDAGs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path

import numpy as np

import acyclic
from acyclic.errors import InputError
from acyclic.graphs.metrics import shd_cpdag

HERE = Path(__file__).parent
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
CASE_KEYS = {"name", "nodes", "rows", "graph", "noise", "variances", "dataset", "seeds"}


def read_plan(path):
    plan = tomllib.loads(path.read_text())
    for where, given, known in [
        ("the plan", set(plan), {"timeout", "peers", "ours", "case"}),
        *[(f"case {case.get('name')!r}", set(case), CASE_KEYS) for case in plan.get("case", [])],
    ]:
        if given - known:
            raise SystemExit(f"{where} has unknown keys {sorted(given - known)}; known are {sorted(known)}")
    return plan


def environment(folder, packages):
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {', '.join(packages)} into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", packages[0]], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


def data(case, seed):
    if case.get("dataset") == "sachs":
        sachs = acyclic.load_sachs()
        return sachs.graphs["17"], np.log(sachs.X)
    if "dataset" in case:
        network = acyclic.load_network(case["dataset"])
        return network.graph, network.sample(case.get("rows", 1000), random_state=seed)
    variances = case.get("variances", "equal")
    simulated = acyclic.simulate(
        n_nodes=case["nodes"],
        n=case.get("rows", 1000),
        graph=case.get("graph", "ER2"),
        noise=case.get("noise", "gaussian"),
        variances=tuple(variances) if isinstance(variances, list) else variances,
        random_state=seed,
    )
    return simulated.graph, simulated.X


def fit(python, method, rows, timeout):
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        command = [python, HERE / "peer_worker.py", method, rows, answer]
        try:
            done = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return {"error": f"more than {timeout} s"}
        if done.returncode:
            return {"error": done.stderr.strip().splitlines()[-1][:80] if done.stderr.strip() else "failed"}
        return json.loads(answer.read_text())


def scored(truth, weights):
    """SHD and SHD of CPDAGs; the class of an estimate with arcs both ways is the estimate itself."""
    found = np.array(weights)
    both = (found != 0) & (found.T != 0)
    comparison = acyclic.compare(truth.weights, found, edge_direction="from row to column")
    if not both.any():
        return comparison.shd, comparison.shd_cpdag
    try:
        return comparison.shd, shd_cpdag(truth, acyclic.Cpdag(truth.names, (found != 0) & ~both, both))
    except InputError:
        return comparison.shd, None


def measure(plan, peer_python):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in plan["case"]:
            for seed in case["seeds"]:
                truth, X = data(case, seed)
                path = Path(folder, "rows.npy")
                np.save(path, X)
                methods = [(sys.executable, name) for name in plan["ours"]["methods"]]
                methods += [(peer_python, name) for name in plan["peers"]["methods"]]
                for python, method in methods:
                    answer = fit(python, method, path, plan["timeout"])
                    row = {"case": case["name"], "seed": seed, "method": method, **answer}
                    if "weights" in row:
                        row["shd"], row["shd_cpdag"] = scored(truth, row.pop("weights"))
                    rows.append(row)
                    print({key: value for key, value in row.items() if key != "case"}, flush=True)
    return rows


def mean(values):
    known = [value for value in values if value is not None]
    return f"{np.mean(known):.1f}" if known else "–"


def table(rows):
    lines = []
    cases = list(dict.fromkeys(row["case"] for row in rows))
    for case in cases:
        by_method = defaultdict(list)
        for row in rows:
            if row["case"] == case:
                by_method[row["method"]].append(row)
        base = np.mean([row["seconds"] for row in by_method["learn"]])
        lines += [
            f"\n### {case}\n",
            "| method | SHD | SHD of CPDAGs | seconds | × learn | peak MB |",
            "|---|---|---|---|---|---|",
        ]
        for method, group in by_method.items():
            done = [row for row in group if "seconds" in row]
            if not done:
                lines.append(f"| {method} | – | – | {group[0]['error']} | – | – |")
                continue
            seconds = np.mean([row["seconds"] for row in done])
            partly = "" if len(done) == len(group) else f" ({len(done)} of {len(group)} fits)"
            lines.append(
                f"| {method}{partly} | {mean(r['shd'] for r in done)} | {mean(r['shd_cpdag'] for r in done)} | "
                f"{seconds:.3g} | {seconds / base:.3g} | {mean(r['megabytes'] for r in done)} |"
            )
    return "\n".join(lines)


def plot(rows, path):
    """Time against SHD of CPDAGs, a panel for each case, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    cases = list(dict.fromkeys(row["case"] for row in rows))
    figure, axes = pyplot.subplots(1, len(cases), figsize=(4 * len(cases), 3.6), squeeze=False, layout="constrained")
    for axis, case in zip(axes[0], cases):
        groups = defaultdict(list)
        for row in rows:
            if row["case"] == case and row.get("shd_cpdag") is not None:
                groups[row["method"]].append((row["seconds"], row["shd_cpdag"]))
        for method, points in groups.items():
            x, y = np.mean(points, axis=0)
            axis.plot(x, y, "o" if method[0].isupper() or method == "learn" else "s")
            axis.annotate(method, (x, y), fontsize=7, xytext=(3, 3), textcoords="offset points")
        axis.set(xscale="log", xlabel="seconds", ylabel="SHD of CPDAGs", title=case)
        axis.title.set_fontsize(9)
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", type=Path, default=HERE / "peers.toml")
    parser.add_argument("--environment", type=Path, default=Path(tempfile.gettempdir(), "acyclic-peers"))
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "peers.md")
    chosen = parser.parse_args()
    plan = read_plan(chosen.plan)
    rows = measure(plan, environment(chosen.environment, plan["peers"]["packages"]))
    versions = ", ".join([f"acyclic {acyclic.__version__}", f"NumPy {np.__version__}", *plan["peers"]["packages"]])
    text = (
        f"# Ours and theirs\n\nMade by `python benchmarks/peers.py`: {versions}; Python {sys.version.split()[0]}, "
        f"one thread, time-out {plan['timeout']} s for each fit, means over seeds.\n\n"
        f"![time against SHD of CPDAGs](peers.svg)\n{table(rows)}\n"
    )
    plot(rows, chosen.out.with_suffix(".svg"))
    chosen.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()

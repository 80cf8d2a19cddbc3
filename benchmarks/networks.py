"""Published networks of categories: learn(), which counts, against the hill climbing of pgmpy.

    python benchmarks/networks.py [--networks asia ...] [--rows-of 500 5000] [--seeds 3] [--timeout 120]
                                  [--methods learn ...] [--file build/networks.jsonl] [--peers build/peers]

The networks come from the wheel of pgmpy; tables are drawn from their distributions here. Each method gets the codes
and is told that they are categories. What is compared is the equivalence class (SHD of CPDAGs) and processor seconds
after imports. Rows go into a file as they are made, and what is in there is not computed again, unless it is ours and
our sources have changed. A method that exceeds the time-out is not tried again on this network with as many rows.
"""

import argparse
import gzip
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from honest_fits import HERE, ONE_THREAD, Peers, digest_of_sources, last_line

import acyclic
from acyclic.data.table import read_table
from acyclic.graphs.cycles import sort_topologically

NETWORKS = [
    "asia", "cancer", "earthquake", "survey", "sachs", "child", "insurance", "alarm", "water", "hailfinder", "hepar2",
    "win95pts",
]  # fmt: skip
OURS = {"learn": {}, "counts, plain BIC": {"criterion": "counts", "penalty": "bic"}, "BDeu": {"criterion": "bdeu"}}
THEIRS = {"pgmpy, BIC": "bic-d", "pgmpy, BDeu": "bdeu"}


@dataclass
class Network:
    """Names, levels, parents and tables of a network of categories."""

    names: list
    levels: list
    parents: list
    tables: list  # for each column (combinations of the parents' levels, own levels), the last parent changing fastest

    @property
    def adjacency(self):
        matrix = np.zeros((len(self.names),) * 2, dtype=bool)
        for j, parents in enumerate(self.parents):
            matrix[parents, j] = True
        return matrix

    def sample(self, n, rng):
        """Codes (n, d)."""
        codes = np.zeros((n, len(self.names)), dtype=np.int64)
        for j in sort_topologically(self.adjacency):
            place = np.zeros(n, dtype=np.int64)
            for i in self.parents[j]:
                place = place * len(self.levels[i]) + codes[:, i]
            bounds = np.cumsum(self.tables[j], axis=1)[place]
            codes[:, j] = (rng.random((n, 1)) * bounds[:, -1:] >= bounds[:, :-1]).sum(axis=1)
        return codes


def read_bif(path):
    """The network of a file in the interchange format, compressed or not."""
    raw = Path(path).read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    found = re.findall(r"variable\s+(\S+)\s*\{[^{}]*type\s+discrete\s*\[\s*\d+\s*\]\s*\{([^}]*)\}", text)
    names, levels = [name for name, _ in found], [[word.strip() for word in words.split(",")] for _, words in found]
    parents, tables = [[] for _ in names], [None for _ in names]
    for head, body in re.findall(r"probability\s*\(([^)]*)\)\s*\{([^}]*)\}", text):
        child, *given = (part.strip() for part in re.split(r"[|,]", head))
        j, parents[names.index(child)] = names.index(child), [names.index(name) for name in given]
        tables[j] = read_tables(body, [levels[i] for i in parents[j]], len(levels[j]))
    return Network(names, levels, parents, tables)


def read_tables(body, given, r):
    table = np.full((int(np.prod([len(words) for words in given], dtype=int)), r), np.nan)
    for words, numbers in re.findall(r"(table|default|\([^)]*\))\s*([^;]*);", body):
        shares = np.array([float(number) for number in numbers.split(",")])
        if words == "table":
            table[:] = shares.reshape(-1, r)
        elif words == "default":
            table[np.isnan(table[:, 0])] = shares
        else:
            place = 0
            for own, word in zip(given, words[1:-1].split(",")):
                place = place * len(own) + own.index(word.strip())
            table[place] = shares
    assert not np.isnan(table).any(), "a combination of levels has no distribution"
    return table


def fit_ours(codes, options):
    """Arcs of the class and processor seconds."""
    names = [f"x{j}" for j in range(codes.shape[1])]
    table = read_table(codes.astype(float), columns=names, kinds=dict.fromkeys(names, "categorical"))
    before = time.process_time()
    learner = acyclic.OrderSearch(**options) if options else acyclic.Auto()
    found = learner.fit(table)
    return {"arcs": np.argwhere(found.causal_graph_.adjacency).tolist(), "seconds": time.process_time() - before}


def fit_theirs(peers, codes, network, score, timeout):
    with tempfile.TemporaryDirectory() as folder:
        rows, answer, job = (Path(folder, name) for name in ("rows.npy", "answer.json", "job.json"))
        np.save(rows, codes)
        asked = {"score": score, "levels": [len(words) for words in network.levels], "timeout": timeout}
        job.write_text(json.dumps(asked | {"rows": str(rows), "answer": str(answer)}))
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | ONE_THREAD
        command = [peers.python("pgmpy"), HERE / "networks_worker.py", job]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return {"error": f"more than {timeout:g} s"}
        return json.loads(answer.read_text()) if done.returncode == 0 else {"error": last_line(done.stderr)}


def measure(answer, network):
    """SHD of the classes."""
    if "arcs" not in answer:
        return answer
    d = len(network.names)
    matrix = np.zeros((d, d), dtype=bool)
    for i, j in answer.pop("arcs"):
        matrix[i, j] = True
    truth, found = acyclic.Dag(network.adjacency, network.names), acyclic.Dag(matrix, network.names)
    return answer | {"edges": int(matrix.sum()), "shd_cpdag": acyclic.compare(truth, found).shd_cpdag}


def run(args):
    """All rows that are not in the file yet; all rows of the run."""
    peers = Peers(args.peers)
    folder, made = peers.networks(), {}
    warm = np.arange(20).reshape(10, 2) % 3 % 2
    acyclic.Auto().fit(read_table(warm.astype(float)))  # what is imported late is no part of a fit
    if args.file.exists():
        rows = map(json.loads, args.file.read_text().splitlines())
        made = {(row["network"], row["n"], row["seed"], row["method"], row["made_by"]): row for row in rows}
    found = []
    for name in args.networks:
        network = read_bif(folder / f"{name}.bif.gz")
        for n in args.rows_of:
            late = set()
            for seed in range(args.seeds):
                codes = network.sample(n, np.random.default_rng([seed, n]))
                for method in args.methods:
                    by = digest_of_sources() if method in OURS else "pgmpy==1.1.2"
                    key = name, n, seed, method, by
                    if method in late:
                        continue
                    if key not in made:
                        ours = method in OURS
                        answer = (
                            fit_ours(codes, OURS[method])
                            if ours
                            else fit_theirs(peers, codes, network, THEIRS[method], args.timeout)
                        )
                        fields = dict(zip(("network", "n", "seed", "method", "made_by"), key))
                        made[key] = fields | measure(answer, network)
                        args.file.parent.mkdir(parents=True, exist_ok=True)
                        with open(args.file, "a") as file:
                            file.write(json.dumps(made[key]) + "\n")
                    if "error" in made[key]:
                        late.add(method)
                    found.append(made[key])
    return found


def show(rows, methods):
    """Means over seeds: SHD and processor seconds of each method."""
    cells = defaultdict(list)
    for row in rows:
        cells[row["network"], row["n"], row["method"]].append(row)
    print("| network | n | " + " | ".join(methods) + " |")
    print("|---" * (2 + len(methods)) + "|")
    for name, n in dict.fromkeys((row["network"], row["n"]) for row in rows):
        shown = []
        for method in methods:
            good = [row for row in cells[name, n, method] if "shd_cpdag" in row]
            bad = [row["error"] for row in cells[name, n, method] if "error" in row]
            means = (np.mean([row[key] for row in good]) for key in ("shd_cpdag", "seconds")) if good else ()
            shown.append("{:.1f} ({:.2f} s)".format(*means) if good else bad[0] if bad else "–")
        print(f"| {name} | {n} | " + " | ".join(shown) + " |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="+", default=NETWORKS, choices=NETWORKS)
    parser.add_argument("--rows-of", nargs="+", type=int, default=[500, 5000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--methods", nargs="+", default=[*OURS, *THEIRS], choices=[*OURS, *THEIRS])
    parser.add_argument("--file", type=Path, default=Path("build/networks.jsonl"))
    parser.add_argument("--peers", type=Path, default=Path("build/peers"))
    given = parser.parse_args()
    show(run(given), given.methods)

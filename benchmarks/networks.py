"""Published networks of categories: learn(), which counts, against pgmpy's hill climbing and GES and andrey's BOSS.

    python benchmarks/networks.py [--networks asia ...] [--rows-of 500 5000] [--seeds 5] [--first 0] [--timeout 60]
                                  [--methods learn ...] [--file build/networks.jsonl] [--peers build/peers]
                                  [--kept] [--page] [--write]

The networks come from the wheel of pgmpy; tables are drawn from their distributions here. Each method gets the codes
and is told that they are categories. What is compared is the equivalence class (SHD of CPDAGs) and processor seconds of
one thread after imports; ours is the least of three fits where those are short.
Rows go into a file as they are made, and what is in there is not computed again, unless it is ours and our sources have
changed; with --kept not even then. A method that exceeds the time-out, in processor seconds, is not tried again on this
network with as many rows or more, and the table says so. With --page nothing is computed: the tables are of the rows
that there are, in each line of those seeds that all of its methods have. With --write they go into docs/benchmarks.md.
"""

import argparse
import gzip
import json
import os
import re
import subprocess
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from honest import write_section
from honest_fits import HERE, ONE_THREAD, PLAN, Peers, as_class, digest_of_sources, last_line

import acyclic
from acyclic.data.table import read_table
from acyclic.graphs.cycles import sort_topologically

NETWORKS = [
    "asia", "cancer", "earthquake", "survey", "sachs", "child", "insurance", "alarm", "water", "hailfinder", "hepar2",
    "win95pts",
]  # fmt: skip
OURS = {"learn": {}, "ours, BDeu": {"criterion": "bdeu"}}
THEIRS = {
    "pgmpy HC, BIC": ("pgmpy", {"search": "HillClimbSearch", "score": "bic-d"}),
    "pgmpy HC, BDeu": ("pgmpy", {"search": "HillClimbSearch", "score": "bdeu"}),
    "pgmpy GES, BIC": ("pgmpy", {"search": "GES", "score": "bic-d"}),
    "pgmpy GES, BDeu": ("pgmpy", {"search": "GES", "score": "bdeu"}),
    "andrey BOSS, BIC": ("andrey", {"search": "boss", "score": "local_score_BIC_categorical"}),
    "andrey BOSS, BDeu": ("andrey", {"search": "boss", "score": "local_score_BDeu"}),
}
# A fit that takes less is repeated.
SHORT = 0.5


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
    seconds = []
    while not seconds or (min(seconds) < SHORT and len(seconds) < 3):
        table = read_table(codes.astype(float), columns=names, kinds=dict.fromkeys(names, "categorical"))
        before = time.process_time()
        learner = acyclic.OrderSearch(**options) if options else acyclic.Auto()
        found = learner.fit(table)
        seconds.append(time.process_time() - before)
    return {"arcs": np.argwhere(found.causal_graph_.adjacency).tolist(), "seconds": min(seconds)}


def fit_theirs(peers, package, known, tables, timeout):
    """Answers of the methods of a package, in its own environment: keys, arcs and processor seconds, or an error.

    Tables are (key, rows, columns that are categories, names of the methods), known are packages and options by name.
    """
    with tempfile.TemporaryDirectory() as folder:
        job, answers = Path(folder, "job.json"), Path(folder, "answers.jsonl")
        asked = []
        for k, (key, X, categories, names) in enumerate(tables):
            np.save(Path(folder, f"{k}.npy"), X)
            asked.append({"key": key, "rows": f"{folder}/{k}.npy", "categories": categories, "methods": names})
        methods = {name: {"function": own, "options": options} for name, (own, options) in known.items()}
        methods = {name: method for name, method in methods.items() if method["function"] == package}
        told = {"tables": asked, "methods": methods, "timeout": timeout, "answers": str(answers)}
        every = all(len(categories) == X.shape[1] for _, X, categories, _ in tables)
        job.write_text(json.dumps(told | {"all_categories": every}))
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | ONE_THREAD
        done = subprocess.run(
            [peers.python(package), HERE / "networks_worker.py", job], env=env, capture_output=True, text=True
        )
        if done.returncode:
            print(f"{package}: {last_line(done.stderr)}", flush=True)
        return [json.loads(line) for line in answers.read_text().splitlines()] if answers.exists() else []


def measure(answer, network):
    """SHD of the classes."""
    if "arcs" not in answer:
        return answer
    d = len(network.names)
    _, dag = as_class(answer.pop("arcs"), d)
    if dag is None:
        return answer | {"error": "no DAG has these edges"}
    truth, found = acyclic.Dag(network.adjacency, network.names), acyclic.Dag(dag.adjacency, network.names)
    return answer | {"edges": int(dag.adjacency.sum()), "shd_cpdag": acyclic.compare(truth, found).shd_cpdag}


def made_by(method):
    return digest_of_sources() if method in OURS else " ".join(PLAN["environments"][THEIRS[method][0]])


def run(args):
    """All rows that are not in the file yet; all rows of the run."""
    peers = Peers(args.peers)
    folder, made = peers.networks(), {}
    warm = np.arange(20).reshape(10, 2) % 3 % 2
    acyclic.Auto().fit(read_table(warm.astype(float)))  # what is imported late is no part of a fit
    if args.file.exists():
        rows = map(json.loads, args.file.read_text().splitlines())
        made = {key_of(row, args.kept): row for row in rows}
    found = []
    late = {}
    for name, n in product(args.networks, sorted(args.rows_of)):
        network = read_bif(folder / f"{name}.bif.gz")
        wanted = {
            (name, n, seed, method, "" if args.kept else made_by(method)): seed
            for seed in range(args.first, args.first + args.seeds)
            for method in args.methods
        }
        new = {key: seed for key, seed in wanted.items() if key not in made and (name, key[3]) not in late}
        for row in fit_new(peers, network, new, args.timeout):
            made[key_of(row, args.kept)] = row
            append(args.file, row)
        found += [made[key] for key in wanted if key in made]
        late |= {(name, row["method"]): row["error"] for row in found if "error" in row and row["network"] == name}
        fields = ("network", "n", "seed", "method", "made_by")
        found += [
            dict(zip(fields, key)) | {"error": late[name, key[3]]}
            for key in wanted
            if key not in made and (name, key[3]) in late
        ]
    return found


def read_common(args):
    """Rows that are there, of the seeds that every method with rows of this network and size has."""
    rows = {key_of(row, kept=True): row for row in map(json.loads, args.file.read_text().splitlines())}
    found = []
    for name, n in product(args.networks, sorted(args.rows_of)):
        here = [
            row for row in rows.values() if (row["network"], row["n"]) == (name, n) and row["method"] in args.methods
        ]
        failed = {row["method"]: row for row in here if "error" in row}
        seeds = defaultdict(set)
        for row in here:
            if row["method"] not in failed:
                seeds[row["method"]].add(row["seed"])
        common = set.intersection(*seeds.values()) if seeds else set()
        found += [row for row in here if row["method"] in seeds and row["seed"] in common]
        found += [row | {"seed": min(common)} for row in failed.values() if common]
    return found


def key_of(row, kept):
    """What a row is of; if those of other sources are kept, whatever made it."""
    return (row["network"], row["n"], row["seed"], row["method"], "" if kept else row["made_by"])


def fit_new(peers, network, new, timeout):
    """Rows of what is asked for, by key: ours one after the other, those of a package in one process."""
    tables = {}
    for name, n, seed, method, _ in new:
        fields = {"network": name, "n": n, "seed": seed}
        codes = network.sample(n, np.random.default_rng([seed, n]))
        if method in OURS:
            yield (
                fields
                | {"method": method, "made_by": made_by(method)}
                | measure(fit_ours(codes, OURS[method]), network)
            )
        else:
            package = tables.setdefault(THEIRS[method][0], {})
            package.setdefault(seed, (fields, codes, list(range(codes.shape[1])), []))[3].append(method)
    for package, asked in tables.items():
        for row in fit_theirs(peers, package, THEIRS, list(asked.values()), timeout):
            yield measure(row, network) | {"made_by": made_by(row["method"])}


def append(path, row):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        file.write(json.dumps(row) + "\n")


def show(rows, methods, key, form):
    """Means over seeds of one measure, a line for each network and number of rows."""
    cells = defaultdict(list)
    for row in rows:
        cells[row["network"], row["n"], row["method"]].append(row)
    lines = ["| network | n | tables | " + " | ".join(methods) + " |", "|---" * (3 + len(methods)) + "|"]
    for name, n in sorted(dict.fromkeys((row["network"], row["n"]) for row in rows), key=lambda cell: cell[1]):
        shown = []
        for method in methods:
            good = [row[key] for row in cells[name, n, method] if "shd_cpdag" in row]
            bad = [row["error"] for row in cells[name, n, method] if "error" in row]
            shown.append(bad[0].split(";")[0] if bad else form.format(np.mean(good)) if good else "–")
        tables = len({row["seed"] for row in rows if (row["network"], row["n"]) == (name, n)})
        lines.append(f"| {name} | {n} | {tables} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def count_wins(rows, methods):
    """In how many networks learn() is best or tied, and how many times faster than the fastest of pgmpy's, in words."""
    said = []
    for n in sorted({row["n"] for row in rows}):
        best, ratios = [], []
        names = list(dict.fromkeys(row["network"] for row in rows if row["n"] == n))
        for name in names:
            here = [row for row in rows if (row["network"], row["n"]) == (name, n)]
            late = {row["method"] for row in here if "error" in row}
            means = {
                method: [np.mean([row[key] for row in here if row["method"] == method]) for key in MEASURES]
                for method in methods
                if method not in late and any(row["method"] == method for row in here)
            }
            theirs = {method: pair for method, pair in means.items() if method in THEIRS}
            best.append(means["learn"][0] <= min((pair[0] for pair in theirs.values()), default=np.inf) + 1e-9)
            times = [pair[1] for method, pair in theirs.items() if method.startswith("pgmpy")]
            ratios += [min(times) / means["learn"][1]] if times else []
        said.append(
            f"n = {n}: `learn` has the least mean SHD of all packages, or shares it, in {sum(best)} of {len(names)}"
            f" networks, and takes 1/{min(ratios):.0f} to 1/{max(ratios):.0f} of the time of the fastest of pgmpy"
            f" (at least 10 times faster in {sum(ratio >= 10 for ratio in ratios)} of {len(ratios)})."
        )
    return "\n".join(said)


MEASURES = "shd_cpdag", "seconds"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="+", default=NETWORKS, choices=NETWORKS)
    parser.add_argument("--rows-of", nargs="+", type=int, default=[500, 5000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--methods", nargs="+", default=[*OURS, *THEIRS], choices=[*OURS, *THEIRS])
    parser.add_argument("--file", type=Path, default=Path("build/networks.jsonl"))
    parser.add_argument("--peers", type=Path, default=Path("build/peers"))
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    measured = read_common(given) if given.page else run(given)
    parts = [show(measured, given.methods, *pair) for pair in zip(MEASURES, ("{:.1f}", "{:.3f}"))]
    text = f"SHD of CPDAGs:\n\n{parts[0]}\n\nProcessor seconds:\n\n{parts[1]}\n\n{count_wins(measured, given.methods)}"
    print(text)
    if given.write:
        write_section(HERE.parent / "docs" / "benchmarks.md", "networks of categories", text)

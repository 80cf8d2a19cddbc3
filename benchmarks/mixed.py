"""Mixed tables, half numbers and half categories: learn() against andrey's BOSS; how many decided directions are wrong.

    python benchmarks/mixed.py [--kinds logit ...] [--rows-of 300 1000 5000] [--seeds 6] [--first 0] [--columns 20]
                               [--methods learn ...] [--file build/mixed.jsonl] [--peers build/peers] [--kept] [--write]

Graphs have two edges for each column (ER2), categories two to four levels. What is compared is the F1 of adjacencies
and processor seconds; of the directions that learn() calls decided, how many point the wrong way. BOSS has the
degenerate and the conditional Gaussian score. Rows go into a file as they are made, and what is in there is not
computed again, unless it is ours and our sources have changed; with --kept not even then. With --write the tables go
into docs/benchmarks.md. With --million FILE a Parquet file of a million rows is learned instead, once.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import defaultdict
from itertools import product
from pathlib import Path

import networks
import numpy as np
from honest import write_section
from honest_fits import HERE, PLAN, Peers, as_class, digest_of_sources

import acyclic
from acyclic.data.table import read_table

KINDS = {
    "logit": "numbers are sums of lines, level effects and normal noise, categories multinomial logits of such sums",
    "threshold": "the same, but categories are cut from such sums, with normal noise, at quantiles",
    "tables": "categories come first, each with a random table given its parents; numbers are as above",
    "roots": "categories come first, as logits; numbers are as above",
    "skewed": "as threshold, with exponential noise of the numbers",
    "spread": "as logit, but the noise of a number is two to four times larger at some level of a parent",
    "simulate": 'acyclic.simulate(sem="mixed")',
}
THEIRS = {
    "andrey BOSS, degenerate Gaussian": ("andrey", {"search": "boss", "score": "local_score_degen_gauss"}),
    "andrey BOSS, conditional Gaussian": ("andrey", {"search": "boss", "score": "local_score_cond_gauss"}),
}
METHODS = ["learn", *THEIRS]
MOST_SECONDS = 120.0


def draw(kind, d, n, seed):
    """Rows, of categories codes, the number of levels of each column (0: a number), and the true graph."""
    rng = np.random.default_rng([seed, d, n, *map(ord, kind)])
    if kind == "simulate":
        data = acyclic.simulate(d, n, graph="ER2", sem="mixed", random_state=int(rng.integers(2**31)))
        return data.X, list(data.levels), data.graph.adjacency
    order, graph = rng.permutation(d), np.zeros((d, d), dtype=bool)
    pairs = [(order[a], order[b]) for a in range(d) for b in range(a + 1, d)]
    for k in rng.choice(len(pairs), size=2 * d, replace=False):
        graph[pairs[k]] = True
    first = order if kind in ("tables", "roots") else rng.permutation(d)
    levels = np.where(np.isin(np.arange(d), first[: d // 2]), rng.integers(2, 5, size=d), 0)
    X = np.zeros((n, d))
    for j in order:
        parents = np.flatnonzero(graph[:, j])
        if not levels[j]:
            X[:, j] = draw_number(kind, X, levels, parents, rng)
        elif kind == "tables":
            X[:, j] = draw_from_table(X, levels, parents, levels[j], rng)
        elif kind in ("threshold", "skewed"):
            hidden = effects(X, levels, parents, 1, rng)[:, 0] + rng.normal(size=n)
            shares = rng.dirichlet(np.full(levels[j], 4.0)).cumsum()[:-1]
            X[:, j] = np.searchsorted(np.quantile(hidden, shares), hidden)
        else:
            odds = effects(X, levels, parents, levels[j] - 1, rng) + 0.3 * rng.normal(size=levels[j] - 1)
            odds = np.column_stack([np.zeros(n), odds])
            X[:, j] = np.argmax(odds + rng.gumbel(size=odds.shape), axis=1)
        if levels[j]:  # what was never drawn is no level
            found, X[:, j] = np.unique(X[:, j], return_inverse=True)
            levels[j] = max(len(found), 1)
    mixed = rng.permutation(d)
    return X[:, mixed], levels[mixed].tolist(), graph[np.ix_(mixed, mixed)]


def effects(X, levels, parents, r, rng):
    """Sums (n, r) of what the parents add."""
    total = np.zeros((len(X), r))
    for i in parents:
        weights = rng.uniform(0.5, 1.5, size=r) * rng.choice([-1, 1], size=r)
        if levels[i] and r == 1:
            total += (rng.permutation(np.linspace(-1, 1, levels[i]))[:, None] * weights)[X[:, i].astype(int)]
        elif levels[i]:
            total += 1.2 * rng.normal(size=(levels[i], r))[X[:, i].astype(int)]
        else:
            total += (X[:, [i]] - X[:, i].mean()) / max(X[:, i].std(), 1e-9) * weights
    return total


def draw_number(kind, X, levels, parents, rng):
    noise = rng.exponential(size=len(X)) if kind == "skewed" else rng.normal(size=len(X))
    grouped = [i for i in parents if levels[i]]
    if kind == "spread" and grouped:
        i = rng.choice(grouped)
        noise = noise * np.where(X[:, i] == rng.integers(levels[i]), rng.uniform(2, 4), 1.0)
    return effects(X, levels, parents, 1, rng)[:, 0] + noise


def draw_from_table(X, levels, parents, r, rng):
    place = np.zeros(len(X), dtype=int)
    for i in parents:
        place = place * levels[i] + X[:, i].astype(int)
    table = rng.dirichlet(np.ones(r), size=int(np.prod(levels[parents])))
    return (rng.random((len(X), 1)) > np.cumsum(table, axis=1)[place, :-1]).sum(axis=1)


def fit_ours(X, levels, truth):
    names = [f"x{j}" for j in range(X.shape[1])]
    kinds = {name: "categorical" if count else "continuous" for name, count in zip(names, levels)}
    table = read_table(X, columns=names, kinds=kinds)
    before = time.process_time()
    found = acyclic.Auto().fit(table)
    seconds = time.process_time() - before
    graph, support = found.causal_graph_, found.verdict_.support
    decided = [(names.index(a), names.index(b)) for (a, b), why in support.items() if why.is_decided]
    mixed = [(i, j) for i, j in decided if bool(levels[i]) != bool(levels[j])]
    return measure(graph.adjacency, truth) | {
        "seconds": seconds,
        "decided": len(decided),
        "wrong": sum(bool(truth[j, i]) for i, j in decided),
        "no such edge": sum(not (truth[i, j] or truth[j, i]) for i, j in decided),
        "decided, mixed": len(mixed),
        "wrong, mixed": sum(bool(truth[j, i]) for i, j in mixed),
        "world": "{mechanisms}, {noise}".format_map(defaultdict(str, found.verdict_.settings)),
    }


def measure(graph, truth):
    """F1 of adjacencies, and the SHD of classes where the graph has one."""
    joined, true = np.triu(graph | graph.T), np.triu(truth | truth.T)
    values = {"edges": int(joined.sum()), "f1": 2 * int((joined & true).sum()) / max(joined.sum() + true.sum(), 1)}
    _, dag = as_class(np.argwhere(graph).tolist(), len(graph))
    if dag is not None:
        values["shd_cpdag"] = acyclic.compare(acyclic.Dag(truth), acyclic.Dag(dag.adjacency)).shd_cpdag
    return values


def made_by(method):
    return digest_of_sources() if method == "learn" else " ".join(PLAN["environments"][THEIRS[method][0]])


def run(args):
    """All rows that are not in the file yet; all rows of the run."""
    peers, made = Peers(args.peers), {}
    if args.file.exists():
        rows = map(json.loads, args.file.read_text().splitlines())
        names = ("kind", "n", "seed", "d", "method")
        made = {(*(row[name] for name in names), "" if args.kept else row["made_by"]): row for row in rows}
    found = []
    for n, kind in product(args.rows_of, args.kinds):
        tables = []
        for seed in range(args.first, args.first + args.seeds):
            X, levels, truth = draw(kind, args.columns, n, seed)
            fields = {"kind": kind, "n": n, "seed": seed, "d": args.columns}
            for method in args.methods:
                key = (*fields.values(), method, "" if args.kept else made_by(method))
                if key in made:
                    found.append(made[key])
                elif method == "learn":
                    row = fields | {"method": method, "made_by": made_by(method)} | fit_ours(X, levels, truth)
                    networks.append(args.file, row)
                    found.append(row)
                else:
                    tables.append((fields, X, np.flatnonzero(levels).tolist(), [method]))
        if tables:
            for row in networks.fit_theirs(peers, "andrey", THEIRS, tables, MOST_SECONDS):
                truth = draw(kind, args.columns, n, row["seed"])[2]
                graph = np.zeros_like(truth)
                for i, j in row.pop("arcs", []):
                    graph[i, j] = True
                row |= {"made_by": made_by(row["method"])} | ({} if "error" in row else measure(graph, truth))
                networks.append(args.file, row)
                found.append(row)
    return found


def show(rows, methods):
    """Means over tables; then the directions that learn() decided."""
    cells = defaultdict(list)
    for row in rows:
        cells[row["n"], row["kind"], row["method"]].append(row)
    head = [f"{method}: F1 (s)" for method in methods]
    lines = ["| n | kind | tables | " + " | ".join(head) + " |", "|---" * (3 + len(head)) + "|"]
    for n, kind in dict.fromkeys((row["n"], row["kind"]) for row in rows):
        shown, count = [], 0
        for method in methods:
            good = [row for row in cells[n, kind, method] if "f1" in row]
            count = max(count, len(good))
            pair = (np.mean([row[key] for row in good]) for key in ("f1", "seconds")) if good else ()
            shown.append("{:.3f} ({:.1f})".format(*pair) if good else "–")
        lines.append(f"| {n} | {kind} | {count} | " + " | ".join(shown) + " |")
    said = []
    sizes = list(dict.fromkeys(row["n"] for row in rows))
    for n in sizes if len(sizes) == 1 else [*sizes, None]:
        ours = [row for row in rows if row["method"] == "learn" and n in (row["n"], None)]
        totals = {key: sum(row[key] for row in ours) for key in ("decided", "wrong", "decided, mixed", "wrong, mixed")}
        if totals["decided"]:
            said.append(
                f"{'all' if n is None else f'n = {n}'}: of {totals['decided']} directions that `learn` calls decided"
                f" {totals['wrong']} are wrong ({100 * totals['wrong'] / totals['decided']:.1f} %); between a number"
                f" and a category {totals['wrong, mixed']} of {totals['decided, mixed']}; {len(ours)} tables."
            )
    return "\n".join(lines) + "\n\n" + "\n".join(f"- {line}" for line in said)


def write_parquet(path, rows=1_000_000, chunk=100_000):
    """A table of 30 columns, half of them categories as text, of one model: drawn once and then row by row again."""
    import polars as pl

    X, levels, _ = draw("logit", 30, chunk, 0)
    words, rng = np.array(["north", "east", "south", "west"]), np.random.default_rng(1)
    parts = []
    for _ in range(rows // chunk):
        taken = X[rng.integers(chunk, size=chunk)]
        parts.append(
            pl.DataFrame(
                {
                    f"x{j}": words[taken[:, j].astype(int)] if count else taken[:, j] + 1e-3 * rng.normal(size=chunk)
                    for j, count in enumerate(levels)
                }
            )
        )
    pl.concat(parts).write_parquet(path)


def measure_million(path):
    """Learn a Parquet file of a million mixed rows in a process of its own: seconds and memory, in words."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_parquet(path)
    code = "import sys, acyclic; print(acyclic.learn(sys.argv[1]).graph.n_edges)"
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return (
        f"One million rows of 30 mixed columns, Parquet: {done.stdout.strip()} edges,"
        f" {time.perf_counter() - began:.0f} s on the wall, {seconds:.0f} processor s, {used.ru_maxrss / 1e6:.2f} GB."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--rows-of", nargs="+", type=int, default=[300, 1000, 5000])
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--file", type=Path, default=Path("build/mixed.jsonl"))
    parser.add_argument("--peers", type=Path, default=Path("build/peers"))
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--million", type=Path, help="only learn this file of a million rows, made if it is missing")
    given = parser.parse_args()
    if given.million:
        print(measure_million(given.million))
        sys.exit()
    text = show(run(given), given.methods)
    print(text)
    if given.write:
        seeds = f"Seeds {given.first} to {given.first + given.seeds - 1}, {given.columns} columns.\n\n"
        kinds = "\n".join(f"- *{name}*: {words}" for name, words in KINDS.items())
        write_section(HERE.parent / "docs" / "benchmarks.md", "mixed tables", f"{seeds}{text}\n\nKinds:\n\n{kinds}")

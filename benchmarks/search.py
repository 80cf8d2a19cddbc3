"""The order search beside FLOP, on real tables in any order of the columns, and with the proof up to 20 columns.

    python benchmarks/search.py grid      # FLOP at the same processor time, and ours in half of that of 100 restarts
    python benchmarks/search.py dense     # ER, 50 columns, mean degree 16: FLOP with 20 restarts
    python benchmarks/search.py proof     # iSCM, 20 columns, mean degree 8, 50 tables: how often the best known score
    python benchmarks/search.py orders    # real tables in 20 orders of the columns and units
    python benchmarks/search.py networks  # ecoli70, 10 000 rows, in raw units and standardised

    [--seeds 5] [--first-seed 0] [--cells TEXT ...] [--rows build/search.jsonl] [--peers build/peers] [--most SECONDS]

Processor seconds, also for time limits: two of them are one second on two cores. Ours are those of `OrderSearch().fit`,
which looks around its answer for near-ties too; FLOP's are of a process of its own, after imports. Both pay
ln n + 2 ln d for a parent. Scores are computed from the rows by QR, for all alike: where columns nearly determine each
other, moments have too few digits. What is in the file of rows is not computed again; the first seeds of all cells come
before the second.
"""

import argparse
import hashlib
import json
import time
import types
from collections import defaultdict
from math import ceil, log
from pathlib import Path

import numpy as np
from honest_data import draw, network, random_world, real, real_table, shuffle
from honest_fits import HERE, Method, Peers, as_class, digest_of_sources

import acyclic
import acyclic.deadline
from acyclic.scores.local import price_of_parent

TIE = 1e-3
# Mean degrees by world, family and columns, with 1000 rows; and some tables of fewer and more rows.
WORLDS = {
    ("standardised", "ER", 20): (4, 8),
    ("standardised", "ER", 50): (2, 4, 8, 16),
    ("standardised", "ER", 100): (2, 4, 8),
    ("standardised", "SF", 20): (4,),
    ("standardised", "SF", 50): (4, 8),
    ("standardised", "SF", 100): (4,),
    ("iSCM", "ER", 20): (4, 8),
    ("iSCM", "ER", 50): (4, 8),
    ("iSCM", "ER", 100): (4,),
    ("DaO", "ER", 20): (8,),
    ("DaO", "ER", 50): (4, 8),
    ("DaO", "ER", 100): (8,),
}
GRID = [
    *(random_world(world, family, d, k, 1000) for (world, family, d), degrees in WORLDS.items() for k in degrees),
    *(random_world("standardised", "ER", d, 4, n) for d, n in ((50, 200), (50, 5000), (100, 5000))),
    random_world("iSCM", "ER", 50, 8, 200),
]
DENSE = random_world("standardised", "ER", 50, 16, 1000)
PROOF = random_world("iSCM", "ER", 20, 8, 1000)
REAL = {"breast cancer": 30, "wine": 13, "diabetes": 11, "linnerud": 6, "Sachs": 11}


class Rows:
    """What was measured, by what it is of; of ours only what the present sources made."""

    def __init__(self, path):
        self.path, self.known = path, {}
        for line in path.read_text().splitlines() if path.exists() else ():
            key, row = json.loads(line)
            self.known[tuple(key)] = row

    def get(self, key, make):
        """The row of a key, made where it is missing."""
        if key not in self.known:
            self.known[key] = make()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


class Bench:
    def __init__(self, rows, peers, most):
        self.rows, self.peers, self.most = rows, peers, most

    def ours(self, cell, seed, X, **options):
        key = (cell.name, seed, "OrderSearch", json.dumps(options), digest_of_sources())
        return self.rows.get(key, lambda: fit(X, options))

    def flop(self, cell, seed, X, name, restarts):
        """FLOP with so many restarts; where an earlier run of this name used as much, that one."""
        method = Method("FLOP, 20 restarts", restarts=restarts)
        return self.rows.get(
            (cell.name, seed, name, method.made_by), lambda: self.ask(method, X) | {"restarts": restarts}
        )

    def ask(self, method, X):
        found = self.peers.fit(method, X, self.most)
        if "error" in found:
            return {"error": found["error"], "cpu": self.most, "score": float("inf"), "class": ""}
        return describe(X, as_class(found["arcs"], X.shape[1])[1].adjacency, found["cpu"])


def fit(X, options):
    start = time.process_time()
    model = acyclic.OrderSearch(**options).fit(X)
    cpu = time.process_time() - start
    rivals = model.rivals_
    told = {} if rivals is None else {"proved": rivals.proved, "chains": rivals.chains, "agreeing": rivals.agreeing}
    return describe(X, model.causal_graph_.adjacency, cpu) | told


def describe(X, adjacency, cpu):
    arcs = acyclic.Dag(adjacency).cpdag().arcs
    digest = hashlib.sha256(np.packbits(arcs).tobytes()).hexdigest()[:16]
    return {"cpu": cpu, "score": score(X, adjacency), "class": digest, "edges": np.argwhere(adjacency).tolist()}


def score(X, adjacency):
    """The extended BIC from standardised rows, by QR; constant columns count as explained."""
    n, d = X.shape
    Z = X - X.mean(axis=0)
    Z = Z / np.where(Z.any(axis=0), np.sqrt((Z**2).mean(axis=0)), 1)
    total = price_of_parent("ebic", n, d) * int(adjacency.sum())
    for j in np.flatnonzero(Z.any(axis=0)):
        R = np.linalg.qr(np.column_stack([Z[:, adjacency[:, j]], Z[:, j]]), mode="r")
        total += n * log(max(R[-1, -1] ** 2 / n, 1e-12)) if len(R) == adjacency[:, j].sum() + 1 else 0.0
    return float(total)


def count_processor_seconds():
    """Have deadlines count what the processor did: on a busy machine the clock on the wall says little."""
    clock = types.SimpleNamespace(monotonic=time.process_time)
    acyclic.deadline.time = clock


# ---- Tables ----


def compare_with_flop(bench, cell, seed):
    """Ours; FLOP with 100 restarts; FLOP for at least our seconds; ours in half of those of the 100 restarts."""
    truth, X, _ = draw(cell, seed)
    ours = bench.ours(cell, seed, X)
    hundred = bench.flop(cell, seed, X, "FLOP, 100 restarts", 100)
    enough = max(1, ceil(1.15 * ours["cpu"] / max(hundred["cpu"], 1e-3) * 100))
    same = bench.flop(cell, seed, X, f"FLOP, {ours['cpu']:.4f} s", enough)
    # To two digits, lest a row that was measured again asks for another fit of ours.
    half = bench.ours(cell, seed, X, time_limit=float(f"{hundred['cpu'] / 2:.2g}"))
    of_truth = describe(X, truth.adjacency, 0.0)
    return {"ours": ours, "100": hundred, "same": same, "half": half, "truth": of_truth}


def show_grid(bench, cells, seeds):
    runs = defaultdict(list)
    for seed in seeds:
        for cell in cells:
            runs[cell.name].append(compare_with_flop(bench, cell, seed))
            print(f"# {cell.name}, seed {seed}: {say(runs[cell.name][-1])}", flush=True)
    print(
        "\n| cell | tables | ours, s | FLOP, s | ours − FLOP | not worse | half: s, of s | exact: half | "
        "FLOP 100 | true class: half | FLOP 100 |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )
    totals = defaultdict(int)
    for cell in cells:
        rows = runs[cell.name]
        gaps = [row["ours"]["score"] - row["same"]["score"] for row in rows]
        not_worse = np.mean(gaps) <= TIE
        best = [min(other["score"] for other in row.values()) for row in rows]
        exact = {name: sum(row[name]["score"] <= low + TIE for row, low in zip(rows, best)) for name in ("half", "100")}
        true = {name: sum(row[name]["class"] == row["truth"]["class"] for row in rows) for name in ("half", "100")}
        seconds = {name: np.mean([row[name]["cpu"] for row in rows]) for name in ("ours", "same", "half", "100")}
        for name, value in (("cells", 1), ("not worse", not_worse), ("tables", len(rows))):
            totals[name] += value
        totals["tables not worse"] += sum(gap <= TIE for gap in gaps)
        for name in ("half", "100"):
            totals[name] += exact[name]
            totals[f"true, {name}"] += true[name]
        print(
            f"| {cell.name} | {len(rows)} | {seconds['ours']:.2f} | {seconds['same']:.2f} | {np.mean(gaps):+.1f} | "
            f"{'yes' if not_worse else '**no**'} | {seconds['half']:.2f}, {seconds['100']:.2f} | {exact['half']} | "
            f"{exact['100']} | {true['half']} | {true['100']} |"
        )
    print("\n" + ", ".join(f"{name} {value}" for name, value in totals.items()))


def show_dense(bench, cells, seeds):
    print("| seed | ours, s | FLOP, 20 restarts, s | ours − FLOP | time, ours / FLOP |\n|---|---|---|---|---|")
    ratios, gaps = [], []
    for seed in seeds:
        _, X, _ = draw(DENSE, seed)
        ours, flop = bench.ours(DENSE, seed, X), bench.flop(DENSE, seed, X, "FLOP, 20 restarts", 20)
        ratios.append(ours["cpu"] / flop["cpu"])
        gaps.append(ours["score"] - flop["score"])
        print(f"| {seed} | {ours['cpu']:.2f} | {flop['cpu']:.2f} | {gaps[-1]:+.1f} | {ratios[-1]:.2f} |", flush=True)
    ratio = np.exp(np.mean(np.log(ratios)))
    print(f"\nmean of ours − FLOP {np.mean(gaps):+.1f}, geometric mean of the ratios {ratio:.2f}")


def show_proof(bench, cells, seeds):
    ours, flop = [], []
    for seed in seeds:
        _, X, _ = draw(PROOF, seed)
        ours.append(bench.ours(PROOF, seed, X))
        flop.append(bench.flop(PROOF, seed, X, "FLOP, 100 restarts", 100))
    best = [min(pair[0]["score"], pair[1]["score"]) + TIE for pair in zip(ours, flop)]
    print(f"{PROOF.name}: {len(ours)} tables from seed {seeds[0]}; proved {sum(row['proved'] for row in ours)}")
    for title, rows in (("ours", ours), ("FLOP, 100 restarts", flop)):
        seconds = [row["cpu"] for row in rows]
        hits = sum(row["score"] <= low for row, low in zip(rows, best))
        print(f"{title}: at the best known score {hits}, {np.mean(seconds):.2f} s (most {max(seconds):.2f})")


def show_orders(bench, cells, seeds):
    print(
        "| table | fit | orders | classes | most in one class | lowest score | highest | proved | mean s |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    for name, d in REAL.items():
        cell, big = real(name, d), d > 20
        if not any(text in name for text in cells):
            continue
        fits = {"plain": {}} | ({"time_limit=10 on two cores": {"time_limit": 20.0}} if big else {})
        for title, options in fits.items():
            print(show_fits(name, title, [one_order(bench, cell, seed, options) for seed in seeds]), flush=True)
        if big:
            found = [one_order(bench, cell, seed, None) for seed in seeds[:3]]
            print(show_fits(name, "FLOP, 500 restarts", found), flush=True)


def one_order(bench, cell, seed, options):
    """A fit to the columns in an order of their own, with its class in that of the table."""
    X, columns = shuffle(real_table(cell.name), seed)
    if options is None:
        row = bench.flop(cell, seed, X, "FLOP, 500 restarts", 500)
    else:
        row = bench.ours(cell, seed, X, **options)
    adjacency = np.zeros((X.shape[1],) * 2, dtype=bool)
    adjacency[tuple(columns[np.transpose(row["edges"]).astype(int)])] = True
    return row | {"class": acyclic.Dag(adjacency).cpdag().arcs.tobytes()}


def show_fits(name, title, found):
    classes = [row["class"] for row in found]
    scores = [row["score"] for row in found]
    proved = sum(row.get("proved", False) for row in found)
    most = max(classes.count(one) for one in set(classes))
    return (
        f"| {name} | {title} | {len(found)} | {len(set(classes))} | {most} | {min(scores):.1f} | {max(scores):.1f} | "
        f"{proved} | {np.mean([row['cpu'] for row in found]):.1f} |"
    )


def show_networks(bench, cells, seeds):
    print("| network | rows | SHD of CPDAGs, raw | standardised | mean s |\n|---|---|---|---|---|")
    for cell in [network("ecoli70", None, n=10_000)]:
        found = defaultdict(list)
        for seed in seeds:
            truth, X, _ = draw(cell, seed)
            for title, rows in (("raw", X), ("standardised", (X - X.mean(axis=0)) / X.std(axis=0))):
                row = bench.ours(cell, f"{seed}, {title}", rows)
                adjacency = np.zeros((X.shape[1],) * 2, dtype=bool)
                adjacency[tuple(np.transpose(row["edges"]))] = True
                found[title].append(acyclic.compare(truth, acyclic.Dag(adjacency, truth.names)).shd_cpdag)
                found["cpu"].append(row["cpu"])
        raw, standardised = (", ".join(f"{shd:g}" for shd in found[title]) for title in ("raw", "standardised"))
        print(f"| ecoli70 | 10 000 | {raw} | {standardised} | {np.mean(found['cpu']):.1f} |")


def say(runs):
    low = min(row["score"] for row in runs.values())
    return ", ".join(f"{name} {row['score'] - low:.1f} in {row['cpu']:.2f} s" for name, row in runs.items())


TABLES = {
    "grid": (show_grid, 5),
    "dense": (show_dense, 5),
    "proof": (show_proof, 50),
    "orders": (show_orders, 20),
    "networks": (show_networks, 5),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--seeds", type=int, help="how many; 5, 20 orders, 50 tables of the proof if left out")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--cells", nargs="+", default=[""], help="only cells whose name contains one of these texts")
    parser.add_argument("--rows", type=Path, default=HERE.parent / "build" / "search.jsonl")
    parser.add_argument("--peers", type=Path, default=HERE.parent / "build" / "peers", help="folder of environments")
    parser.add_argument("--most", type=float, default=600.0, help="processor seconds for a fit of FLOP")
    chosen = parser.parse_args()
    count_processor_seconds()
    acyclic.OrderSearch().fit(np.random.default_rng(0).standard_normal((50, 4)))  # imports what is imported late
    show, usual = TABLES[chosen.table]
    seeds = range(chosen.first_seed, chosen.first_seed + (chosen.seeds or usual))
    cells = [cell for cell in GRID if any(text in cell.name for text in chosen.cells)]
    bench = Bench(Rows(chosen.rows), Peers(chosen.peers.resolve()), chosen.most)
    show(bench, chosen.cells if chosen.table == "orders" else cells, seeds)


if __name__ == "__main__":
    main()

"""Whether edge frequencies can be read as probabilities, and whether the audit tells sound tables from others.

Reliability: ER2 graphs with Gaussian noise of equal variances; each edge that some draw has goes into a bin by its
frequency, and the share of true edges in each bin is printed beside it. Edges at 80 to 100 % have to be right in at
least 80 % of cases. Audit: raw rows have to be sound in at least 90 % of cases, the same rows standardised in none.

    python benchmarks/confidence.py [--seeds 20] [--draws 100] [--nodes 30] [--rows 300] [--audit-rows 1000] [--jobs 2]
"""

import argparse
import time
from itertools import pairwise

import joblib
import numpy as np

import acyclic
from acyclic.findings.origin import list_versions
from acyclic.trust.audit import audit
from acyclic.trust.bootstrap import bootstrap

BINS = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


def reliability(args, **settings):
    """Frequencies of all edges found, and whether each is true; seconds of all bootstraps."""
    frequency, right, started = [], [], time.perf_counter()
    for seed in range(args.seeds):
        data = acyclic.simulate(args.nodes, args.rows, random_state=seed, **settings)
        found = bootstrap(acyclic.learn, data.X, args.draws, random_state=seed, n_jobs=args.jobs)
        seen = found.edge > 0
        frequency.append(found.edge[seen])
        right.append(data.graph.adjacency[seen])
    return np.concatenate(frequency), np.concatenate(right), time.perf_counter() - started


def print_reliability(args, title, **settings):
    """A table by bins of frequency; the share of right edges in the highest bin."""
    frequency, right, seconds = reliability(args, **settings)
    print(f"\n{title}: {args.seeds} tables, {args.draws} draws each, {seconds:.1f} s in all")
    print("   frequency      edges   mean frequency   right")
    for low, high in pairwise(BINS):
        inside = (frequency >= low) & ((frequency < high) | (high == BINS[-1]))
        if inside.any():
            share = right[inside].mean()
            print(f"   {low:4.0%} to {high:4.0%} {inside.sum():9d} {frequency[inside].mean():16.1%} {share:7.1%}")
    return right[frequency >= BINS[-2]].mean()


def print_audit(args):
    """How many raw tables are sound, and how many standardised ones are flagged."""
    sound, flagged, started = 0, 0, time.perf_counter()
    for seed in range(args.seeds):
        X = acyclic.simulate(args.nodes, args.audit_rows, random_state=seed).X
        sound += audit(X, random_state=seed).sound
        flagged += not audit(X / X.std(axis=0), random_state=seed).sound
    seconds = time.perf_counter() - started
    print(f"\naudit, n = {args.audit_rows}: {sound} of {args.seeds} raw tables sound, ", end="")
    print(f"{flagged} of {args.seeds} standardised tables flagged, {seconds:.1f} s in all")
    return sound, flagged


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (
        ("seeds", 20),
        ("draws", 100),
        ("nodes", 30),
        ("rows", 300),
        ("audit-rows", 1000),
        ("jobs", 2),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    print(", ".join(f"{name} {version}" for name, version in {**list_versions(), "joblib": joblib.__version__}.items()))
    print(f"ER2, d = {args.nodes}, n = {args.rows}, {args.jobs} processes")
    share = print_reliability(args, "equal variances, raw units")
    print_reliability(args, "the same, standardised", standardize=True)
    sound, flagged = print_audit(args)
    held = share >= 0.8 and flagged == args.seeds and sound >= 0.9 * args.seeds
    print("\nall three requirements hold" if held else "\nNOT all three requirements hold")


if __name__ == "__main__":
    main()

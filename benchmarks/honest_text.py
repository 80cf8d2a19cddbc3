"""The tables of benchmarks/honest.py as text, made of rows alone: no method is needed for that."""

from collections import Counter

import numpy as np
from honest_rows import FEW_SEEDS, THE_TABLE


def not_worse(ours, theirs):
    """Scores are sums of about 1e5; what is below the tenth digit is rounding."""
    return ours <= theirs + 1e-9 * max(abs(theirs), 1e3)


def mean(values, form="{:.2f}"):
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    error = f" ± {form.format(np.std(known, ddof=1) / np.sqrt(len(known)))}" if len(known) > 2 else ""
    return form.format(np.mean(known)) + error


def table_text(rows, cells, names, seeds):
    """All cells of a table that have rows: one line for each method over all of them, then each cell."""
    found = {
        cell: {name: [row for seed in seeds if (row := rows.latest(cell, seed, name)) is not None] for name in names}
        for cell in cells
    }
    found = {cell: by_method for cell, by_method in found.items() if any(by_method.values())}
    if not found:
        return "Not run yet.\n"
    is_real = next(iter(found)).world == "real"
    whole = summary(found, names, real_entry(rows) if is_real else truth_entry)
    text = real_text if is_real else truth_text
    about = "BIC above the best known" if is_real else "SHD of CPDAGs"
    whole = f"{about}, mean (processor seconds, fits):\n\n{whole}"
    return "\n".join([whole, *(text(rows, cell, seeds, by_method) for cell, by_method in found.items())])


def summary(found, names, entry):
    """One line for each method that was run at all, one column for each cell."""
    names = [name for name in names if any(found[cell][name] for cell in found)]
    lines = ["| method | " + " | ".join(cell.name for cell in found) + " |", "|" + "---|" * (len(found) + 1)]
    lines += [f"| {name} | {' | '.join(entry(cell, found[cell][name]) for cell in found)} |" for name in names]
    return "\n".join([*lines, ""])


def truth_entry(_, rows):
    done = [row["shd_cpdag"] for row in rows if "shd_cpdag" in row]
    return f"{np.mean(done):.1f} ({pace(rows)})" if done else failure(rows)


def real_entry(known):
    def entry(cell, rows):
        gaps = [row["score"] - known.best(cell) for row in rows if "score" in row]
        return f"{np.mean(gaps):.1f} ({pace(rows)})" if gaps else failure(rows)

    return entry


def pace(rows):
    """Seconds, and how many fits they are of."""
    spent = [row["cpu"] for row in rows if "cpu" in row]
    return f"{np.mean(spent):.2g} s, {len(spent)}"


def truth_text(rows, cell, seeds, by_method):
    """One cell with a known graph."""
    best = {seed: rows.best(cell, seed) for seed in seeds}
    lines = [
        f"### {cell.name}\n",
        sortability(rows, cell, seeds) + "\n",
        "| method | SHD of CPDAGs | SHD | precision | recall | AID | BIC above the best | at the best | exact classes "
        "| processor s |",
        "|" + "---|" * 10,
    ]
    for name, found in by_method.items():
        if not found:
            continue
        done = [row for row in found if "cpu" in row]
        if not done:
            lines.append(f"| {name} | {failure(found)} |" + " – |" * 8)
            continue
        gaps = [row["score"] - best[seed_of(row)] for row in done if "score" in row]
        at_best = sum("score" in row and not_worse(row["score"], best[seed_of(row)]) for row in done)
        distances = [mean([row.get(key) for row in done], "{:.1f}") for key in ("shd_cpdag", "shd")]
        rates = [mean([row.get(key) for row in done], "{:.3f}") for key in ("precision", "recall", "aid")]
        lines.append(
            f"| {name}{short(found, seeds)} | {' | '.join([*distances, *rates])} | {mean(gaps, '{:.1f}')} "
            f"| {at_best} of {len(done)} | {sum(row.get('exact', False) for row in done)} of {len(done)} "
            f"| {np.mean([row['cpu'] for row in done]):.3g} |"
        )
    return "\n".join([*lines, ""])


def real_text(rows, cell, seeds, by_method):
    """One real table: the same columns in other orders and units."""
    best, table = rows.best(cell), rows.latest(cell, seeds[0], THE_TABLE)
    lines = [
        f"### {cell.name}\n",
        f"{table['rows']} rows, {table['columns']} columns; best extended BIC known here {best:.1f} (the empty graph "
        "has 0).\n",
        "| method | column orders × units | classes | in the most frequent | at the best | BIC above it, mean | worst "
        "| processor s |",
        "|" + "---|" * 8,
    ]
    for name, found in by_method.items():
        if not found:
            continue
        done = [row for row in found if "score" in row]
        if not done:
            lines.append(f"| {name} | {failure(found)} |" + " – |" * 6)
            continue
        gaps, classes = [row["score"] - best for row in done], Counter(row["class"] for row in done)
        lines.append(
            f"| {name} | {len(done)} | {len(classes)} | {max(classes.values())} "
            f"| {sum(not_worse(row['score'], best) for row in done)} | {np.mean(gaps):.2f} | {np.max(gaps):.2f} "
            f"| {np.mean([row['cpu'] for row in done]):.3g} |"
        )
    return "\n".join([*lines, ""])


def seed_of(row):
    return row["key"][1]


def failure(rows):
    if not rows:
        return "not run"
    return rows[0].get("error", rows[0].get("problem", "failed"))


def short(found, seeds):
    """How many seeds, where not all, and how many of them were late."""
    late, done = sum("timeout" in row for row in found), sum("cpu" in row for row in found)
    parts = [f"{done} of {len(seeds)} seeds"] if done + late < len(seeds) else []
    parts += [f"{late} late"] if late else []
    return f" ({', '.join(parts)})" if parts else ""


def sortability(rows, cell, seeds):
    """What the data give away, and the price of the true graph, over at most three seeds."""
    tables = [table for seed in list(seeds)[:FEW_SEEDS] if (table := rows.latest(cell, seed, THE_TABLE)) is not None]
    names = "varsortability", "r2_sortability", "score", "edges"
    by_variance, by_r2, score, edges = (np.mean([table[name] for table in tables]) for name in names)
    return (
        f"Varsortability {by_variance:.2f}, R²-sortability {by_r2:.2f}; {edges:.0f} true edges, whose extended BIC is "
        f"{score:.1f} (means over {len(tables)} seeds)."
    )


def makers(rows, cells, names):
    """What made the rows of a table: versions, with how many rows where ours are of several."""
    used = Counter(
        maker for (cell, _, name, maker) in (tuple(row["key"]) for row in rows.newest.values())
        if name in names and cell in {cell.name for cell in cells}
    )  # fmt: skip
    ours = {maker: count for maker, count in used.items() if maker.startswith("acyclic ")}
    told = [f"{maker} ({count} rows)" if len(ours) > 1 else maker for maker, count in sorted(ours.items())]
    return [*told, *sorted(package for maker in used if maker not in ours for package in maker.split())]

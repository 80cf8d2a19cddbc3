"""Records that no one computed, for the drawings and the tables."""

import math
from dataclasses import replace

import numpy as np

from acyclic.experiments.cases import Case, pairs
from acyclic.experiments.constraint_tables import COMPLEXITY
from acyclic.experiments.plans import Method, Plan, Published, Setting
from acyclic.experiments.store import Record

PER_NODE = {
    "exponential": 0.25,
    "binomial": 0.24,
    "spectral-radius": 0.8,
    "single-term": 1.4,
    "fast-tmpi": 0.1,
    "tmpi": 0.1,
    "geometric": 0.1,
    "fast-geometric": 0.1,
    "NoCurl": 0.35,
    "Ges": 1.1,
    "Mmhc": 1.2,
    "EqualVariance": 0.02,
    "SortnRegress": 0.06,
    "learn": 0.015,
}
VERSIONS = {"acyclic": "0.1", "numpy": "2.4.6", "python": "3.13.1"}


def plan(**changes):
    """A small plan of fits: two constraints on two sizes of one kind of data."""
    methods = {
        "MSE + exponential": method({"learner": "Notears", "constraint": "exponential"}),
        "MSE + TMPI": method({"learner": "Notears", "constraint": "fast-tmpi"}),
        "EqualVariance": method({"learner": "EqualVariance"}),
    }
    data = {"graph": ("ER2",), "noise": ("gaussian",), "n_nodes": (10, 30), "n": (1000,)}
    small = Plan("small", "A small plan", "Figure 0", "About it.", "fit", "grid", 3, 60.0, data, methods)
    return replace(small, **changes)


def method(settings, measure="fit", **more):
    return Method(measure=measure, settings=settings, **more)


def notears(constraint, **more):
    return method({"learner": "Notears", "constraint": constraint, **more})


def plan_of(drawing):
    """A plan for every drawing, as large as those of the paper."""
    return replace(_plan_of(drawing), name=drawing, drawing=drawing)


def _plan_of(drawing):
    linear = {"sem": ("linear",), "graph": ("ER2",), "noise": ("gaussian",), "n_nodes": (10, 30, 50, 100), "n": (1000,)}
    return {
        "grid": lambda: plan(data={**linear, "graph": ("ER2", "ER3"), "noise": ("gaussian", "exponential", "gumbel")}),
        "row": lambda: plan(
            data=linear,
            methods={
                f"MSE + {name}{words}": notears(constraint, **more)
                for name, constraint in {"exponential": "exponential", "TMPI": "fast-tmpi"}.items()
                for words, more in {
                    "": {},
                    " + KKTS (published)": {"then": "kkt_search-published"},
                    " + KKTS": {"then": "kkt_search"},
                }.items()
            },
        ),
        "metrics": lambda: plan(
            data={**linear, "graph": ("ER2", "ER3")},
            methods={
                f"{loss} + {constraint}": method({"learner": learner, "constraint": constraint})
                for loss, learner in {"MSE": "Notears", "GOLEM": "Golem"}.items()
                for constraint in ("exponential", "fast-tmpi")
            }
            | {name: method({"learner": name}) for name in ("NoCurl", "learn")},
        ),
        "times": lambda: plan(
            data={**linear, "graph": ("ER3",)},
            methods={name: notears(name) for name in ("geometric", "fast-geometric", "tmpi", "fast-tmpi")},
        ),
        "table": lambda: plan(
            data={"dataset": ("sachs",)},
            methods={
                "GraN-DAG": method({"learner": "GranDag", "constraint": "exponential"}),
                "GraN-DAG/TMPI": method({"learner": "GranDag", "constraint": "fast-tmpi"}),
                "empty graph": method({"learner": "empty"}),
            },
            published=(
                Published("GraN-DAG", {}, "shd", 13, "Table 1, a single run"),
                Published("GraN-DAG", {}, "shd_cpdag", 11, "Table 1, a single run"),
                Published("GraN-DAG/TMPI", {}, "shd", 12, "Table 1, a single run"),
            ),
        ),
        "products": lambda: plan(
            measure="products",
            data={"n_nodes": (10, 100, 300), "spectral_radius": (0.1, 0.5, 0.9)},
            methods={name: method({"constraint": name}, "products") for name in COMPLEXITY},
        ),
        "truncation": lambda: plan(
            measure="truncation",
            data={"graph": ("ER2", "ER3"), "n_nodes": (100,)},
            methods={"TMPI": method({"constraint": "tmpi"}, "truncation")},
        ),
        "gradient-norms": lambda: plan(
            data=linear,
            methods={
                "Along the way": method(
                    {"constraint": "fast-tmpi"}, "gradient-norms", only={"n_nodes": (100,)}, runs=1
                ),
                **plan().methods,
            },
        ),
    }[drawing]()


def setting(plan, label, **data):
    """The setting of a plan with this label and these data."""
    fitting = (s for s in plan.settings() if s.label == label)
    return next(s for s in fitting if all(s.data[key] == value for key, value in data.items()))


def record(where: Setting, run=0, measure="fit", status="done", verdict="converged", cpu_seconds=1.0, **values):
    """A record of a setting."""
    case = Case(measure, pairs(where.data), pairs(where.method), run, 60.0)
    finished = f"2026-11-{run % 28 + 1:02d}T10:00:00+00:00"
    return Record(case, status, values, verdict, 2 * cpu_seconds, cpu_seconds, 1, VERSIONS, "", finished)


def records(plan, runs=None, seed=0):
    """Records of every case of a plan."""
    generator, by_key = np.random.default_rng(seed), {s.key: s for s in plan.settings()}
    found = {s: [] for s in by_key.values()}
    for case in plan.cases(runs):
        where = by_key[case.setting]
        values = MAKERS[case.measure](where, generator)
        found[where].append(record(where, case.run, case.measure, **values))
    return found


def fit_values(where, generator):
    d, method = where.data.get("n_nodes", 11), where.method
    rate = PER_NODE.get(method.get("constraint", method["learner"]), 1.0) * (0.6 if "then" in method else 1.0)
    shd = int(generator.poisson(rate * d * (0.1 if method["learner"] == "Golem" and d > 300 else 1.0)))
    share = min(shd / (2 * d), 1.0)
    return {
        "shd": shd,
        "shd_cpdag": shd + int(generator.integers(4)),
        "fdr": share / 2,
        "tpr": 1 - share / 3,
        "fpr": share / 20,
        "n_edges": 2 * d,
        "n_true": 2 * d,
        "stopped_early": method.get("constraint") == "single-term" and d >= 50,
        "cut_cyclic": bool(generator.random() < 0.2) if "constraint" in method else None,
        "varsortability": None if "dataset" in where.data else 0.9 + 0.1 * float(generator.random()),
        "cpu_seconds": rate * (d / 10) ** 2.5 * float(generator.uniform(0.8, 1.2)),
    }


def norm_values(where, generator):
    orders = list(range(1, where.data.get("n_nodes", 100) + 1))
    falling = [0.9**i for i in orders]
    curves = {
        "exponential": [f / math.factorial(i) for i, f in zip(orders, falling)],
        "binomial": [f / math.factorial(i) * 0.5 for i, f in zip(orders, falling)],
        "geometric": falling,
    }
    return {"orders": orders, **with_band({**curves, "spectral_radius": 0.9}), "way": "NOTEARS on a 100-node ER2 graph"}


def with_band(values):
    """Medians of a way, with tenths at the half and the double of them."""

    def scaled(by):
        return {name: [by * v for v in some] if isinstance(some, list) else some for name, some in values.items()}

    return {**values, "low": scaled(0.5), "high": scaled(2.0), "points": 40}


def product_values(where, generator):
    radius = where.data.get("spectral_radius", where.data.get("radius", 0.5))
    k, d = max(int(-14 / math.log(min(radius, 0.99))), 2), where.data["n_nodes"]
    counts = {"tmpi": 2 * k, "fast-tmpi": 4 * math.log2(k), "geometric": 2 * d, "fast-geometric": 4 * math.log2(d)}
    products = counts.get(where.method.get("constraint"), 3 * math.log2(d))
    return {
        "d": d, "k": k, "spectral_radius": radius, "products": products, "seconds": 1.1e-3 * products,
        "product_seconds": 1e-3, "order": k,
    }  # fmt: skip


def truncation_values(where, generator):
    k = list(range(1, 61))
    decay = float(generator.uniform(0.4, 0.7))
    falling = [decay**i if i < 50 else 0.0 for i in k]
    curves = {"power": falling, "value_error": [f / 3 for f in falling], "gradient_error": [f * 3 for f in falling]}
    return {"k": k, **with_band({**curves, "stop": 17})}


MAKERS = {
    "fit": fit_values,
    "gradient-norms": norm_values,
    "products": product_values,
    "truncation": truncation_values,
}

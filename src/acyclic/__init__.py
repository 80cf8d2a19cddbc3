# SPDX-License-Identifier: BSD-3-Clause
"""Learn directed acyclic graphs from tables by continuous optimisation, and say what the answer rests on."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from acyclic._version import __version__ as __version__

if TYPE_CHECKING:
    from acyclic.data.datasets import load_network, load_sachs
    from acyclic.data.knowledge import Knowledge
    from acyclic.data.moments import Moments
    from acyclic.data.simulate import simulate
    from acyclic.data.tables import Table, read_table
    from acyclic.graphs.dag import Dag
    from acyclic.graphs.equivalence import Cpdag
    from acyclic.graphs.metrics import compare
    from acyclic.learners.equal_variance import EqualVariance, OrderSearch
    from acyclic.learners.golem import Golem
    from acyclic.learners.greedy import Ges, Mmhc, mmpc
    from acyclic.learners.neural.dag_gnn import DagGnn
    from acyclic.learners.neural.gran_dag import GranDag
    from acyclic.learners.neural.notears_mlp import NotearsMlp
    from acyclic.learners.nocurl import NoCurl
    from acyclic.learners.notears import Notears
    from acyclic.learners.sortnregress import SortnRegress
    from acyclic.learners.verdict import Verdict
    from acyclic.learning import learn
    from acyclic.objective.constraints import constraint
    from acyclic.result import Result, load
    from acyclic.solvers.kkt import kkt_search
    from acyclic.trust.audit import Audit, audit
    from acyclic.trust.bootstrap import Bootstrap, bootstrap
    from acyclic.trust.choice import Choice, choose_l1
    from acyclic.trust.effects import TotalEffects, total_effects
    from acyclic.trust.stability import Stability, stability_selection

# Public names are imported at first use, so that `import acyclic` costs milliseconds.
_HOMES = {
    "Audit": "acyclic.trust.audit",
    "Bootstrap": "acyclic.trust.bootstrap",
    "Choice": "acyclic.trust.choice",
    "Cpdag": "acyclic.graphs.equivalence",
    "Dag": "acyclic.graphs.dag",
    "DagGnn": "acyclic.learners.neural.dag_gnn",
    "EqualVariance": "acyclic.learners.equal_variance",
    "Ges": "acyclic.learners.greedy",
    "Golem": "acyclic.learners.golem",
    "GranDag": "acyclic.learners.neural.gran_dag",
    "Knowledge": "acyclic.data.knowledge",
    "Mmhc": "acyclic.learners.greedy",
    "Moments": "acyclic.data.moments",
    "NoCurl": "acyclic.learners.nocurl",
    "Notears": "acyclic.learners.notears",
    "NotearsMlp": "acyclic.learners.neural.notears_mlp",
    "OrderSearch": "acyclic.learners.equal_variance",
    "Result": "acyclic.result",
    "SortnRegress": "acyclic.learners.sortnregress",
    "Stability": "acyclic.trust.stability",
    "Table": "acyclic.data.tables",
    "TotalEffects": "acyclic.trust.effects",
    "Verdict": "acyclic.learners.verdict",
    "audit": "acyclic.trust.audit",
    "bootstrap": "acyclic.trust.bootstrap",
    "choose_l1": "acyclic.trust.choice",
    "compare": "acyclic.graphs.metrics",
    "constraint": "acyclic.objective.constraints",
    "kkt_search": "acyclic.solvers.kkt",
    "learn": "acyclic.learning",
    "load": "acyclic.result",
    "load_network": "acyclic.data.datasets",
    "load_sachs": "acyclic.data.datasets",
    "mmpc": "acyclic.learners.greedy",
    "read_table": "acyclic.data.tables",
    "simulate": "acyclic.data.simulate",
    "stability_selection": "acyclic.trust.stability",
    "total_effects": "acyclic.trust.effects",
}

__all__ = [
    "Audit",
    "Bootstrap",
    "Choice",
    "Cpdag",
    "Dag",
    "DagGnn",
    "EqualVariance",
    "Ges",
    "Golem",
    "GranDag",
    "Knowledge",
    "Mmhc",
    "Moments",
    "NoCurl",
    "Notears",
    "NotearsMlp",
    "OrderSearch",
    "Result",
    "SortnRegress",
    "Stability",
    "Table",
    "TotalEffects",
    "Verdict",
    "audit",
    "bootstrap",
    "choose_l1",
    "compare",
    "constraint",
    "kkt_search",
    "learn",
    "load",
    "load_network",
    "load_sachs",
    "mmpc",
    "read_table",
    "simulate",
    "stability_selection",
    "total_effects",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'acyclic' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

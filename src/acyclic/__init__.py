# SPDX-License-Identifier: BSD-3-Clause
"""Learn directed acyclic graphs from tables by continuous optimisation, and say what the answer rests on."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from acyclic._version import __version__ as __version__

if TYPE_CHECKING:
    from acyclic.constraints.catalogue import constraint
    from acyclic.data.datasets import load_network, load_sachs
    from acyclic.data.knowledge import Knowledge
    from acyclic.data.moments import Moments
    from acyclic.data.simulate import simulate
    from acyclic.data.table import Table, read_table
    from acyclic.discrete.kkt import kkt_search
    from acyclic.discrete.skeleton import mmpc
    from acyclic.graphs.dag import Dag
    from acyclic.graphs.equivalence import Cpdag
    from acyclic.graphs.metrics import compare
    from acyclic.judging.verdict import Verdict
    from acyclic.learners.equal_variance import EqualVariance
    from acyclic.learners.ges import Ges
    from acyclic.learners.golem import Golem
    from acyclic.learners.mmhc import Mmhc
    from acyclic.learners.neural.dag_gnn.learner import DagGnn
    from acyclic.learners.neural.gran_dag.learner import GranDag
    from acyclic.learners.neural.notears_mlp.learner import NotearsMlp
    from acyclic.learners.nocurl import NoCurl
    from acyclic.learners.notears import Notears
    from acyclic.learners.order_search import OrderSearch
    from acyclic.learners.sortnregress import SortnRegress
    from acyclic.learning import learn
    from acyclic.result import Result, load
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
    "DagGnn": "acyclic.learners.neural.dag_gnn.learner",
    "EqualVariance": "acyclic.learners.equal_variance",
    "Ges": "acyclic.learners.ges",
    "Golem": "acyclic.learners.golem",
    "GranDag": "acyclic.learners.neural.gran_dag.learner",
    "Knowledge": "acyclic.data.knowledge",
    "Mmhc": "acyclic.learners.mmhc",
    "Moments": "acyclic.data.moments",
    "NoCurl": "acyclic.learners.nocurl",
    "Notears": "acyclic.learners.notears",
    "NotearsMlp": "acyclic.learners.neural.notears_mlp.learner",
    "OrderSearch": "acyclic.learners.order_search",
    "Result": "acyclic.result",
    "SortnRegress": "acyclic.learners.sortnregress",
    "Stability": "acyclic.trust.stability",
    "Table": "acyclic.data.table",
    "TotalEffects": "acyclic.trust.effects",
    "Verdict": "acyclic.judging.verdict",
    "audit": "acyclic.trust.audit",
    "bootstrap": "acyclic.trust.bootstrap",
    "choose_l1": "acyclic.trust.choice",
    "compare": "acyclic.graphs.metrics",
    "constraint": "acyclic.constraints.catalogue",
    "kkt_search": "acyclic.discrete.kkt",
    "learn": "acyclic.learning",
    "load": "acyclic.result",
    "load_network": "acyclic.data.datasets",
    "load_sachs": "acyclic.data.datasets",
    "mmpc": "acyclic.discrete.skeleton",
    "read_table": "acyclic.data.table",
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

"""The methods by name. A new learner is a class with a ``method`` name, and one line here.

Other packages add theirs by entry points (`acyclic.plugins`); these are found by name, and loaded when they are used.
"""

from inspect import isabstract
from typing import Any

from acyclic import plugins
from acyclic.errors import InputError, suggest
from acyclic.graphs.foreign import is_estimator
from acyclic.learners.auto import Auto as Auto
from acyclic.learners.base import COMMON
from acyclic.learners.base import ContinuousLearner as ContinuousLearner
from acyclic.learners.base import DagLearner as DagLearner
from acyclic.learners.cam import Cam as Cam
from acyclic.learners.equal_variance import EqualVariance as EqualVariance
from acyclic.learners.foreign import Foreign as Foreign
from acyclic.learners.foreign import make_foreign
from acyclic.learners.ges import Ges as Ges
from acyclic.learners.golem import Golem as Golem
from acyclic.learners.lingam import Lingam as Lingam
from acyclic.learners.mmhc import Mmhc as Mmhc
from acyclic.learners.neural.dag_gnn.learner import DagGnn as DagGnn
from acyclic.learners.neural.gran_dag.learner import GranDag as GranDag
from acyclic.learners.neural.notears_mlp.learner import NotearsMlp as NotearsMlp
from acyclic.learners.nocurl import NoCurl as NoCurl
from acyclic.learners.notears import Notears as Notears
from acyclic.learners.order_search import OrderSearch as OrderSearch
from acyclic.learners.sortnregress import SortnRegress as SortnRegress
from acyclic.ranges import check_parameters

LEARNERS: dict[str, type[DagLearner]] = {
    kind.method: kind
    for kind in list(globals().values())
    if isinstance(kind, type) and issubclass(kind, DagLearner) and isinstance(getattr(kind, "method", None), str)
}


def list_methods() -> list[str]:
    """The names that `make_learner` takes: ours, and those of other packages."""
    return [*LEARNERS, *plugins.name_plugins(plugins.LEARNERS, LEARNERS)]


def find_learner(method: object) -> Any:
    """The class of a method by name: a `DagLearner`, or what another package has of its own; None if there is none."""
    if isinstance(method, str) and method in LEARNERS:
        return LEARNERS[method]
    plugin = plugins.find_plugin(plugins.LEARNERS, method, LEARNERS)
    return None if plugin is None else load_learner(plugin)


def load_learner(plugin: plugins.Plugin) -> Any:
    """The class that another package offers; raises an AcyclicError where it is none that can be used."""
    kind = plugin.load()
    if not isinstance(kind, type) or isabstract(kind) or not is_estimator(kind):
        raise plugin.reject("is no class of learners; it needs a method fit(X)")
    if issubclass(kind, DagLearner) and getattr(kind, "method", None) != plugin.name:
        raise plugin.reject(f"calls itself {getattr(kind, 'method', None)!r}; its `method` has to be {plugin.name!r}")
    return kind


def make_learner(method: str = "auto", **settings: Any) -> DagLearner:
    """A learner by name, with settings; one that it does not have, or that is out of its range, is refused.

    Methods of other packages have the names under which these offer them (the entry points "acyclic.learners").
    ``random_state`` is taken by every method: one without random numbers obeys any seed.

    Examples
    --------
    >>> make_learner("golem", l1=0.05)
    Golem(l1=0.05)
    >>> make_learner("ges", l1=0.05)
    Traceback (most recent call last):
    acyclic.errors.InputError: ges has no setting 'l1'; it takes callback, knowledge, local_score, penalty, time_limit
    """
    kind = find_learner(method)
    if kind is None:
        known = list_methods()
        raise InputError(f"there is no method {method!r}{suggest(method, known)}; choose one of {', '.join(known)}")
    if not issubclass(kind, DagLearner):
        learner: DagLearner = make_foreign(method, kind, settings)
    else:
        if "random_state" not in kind._get_param_names():
            check_parameters({"random_state": settings.pop("random_state", 0)}, COMMON)
        kind.check_settings(settings)
        learner = kind(**settings)
    learner._check_parameters()
    return learner

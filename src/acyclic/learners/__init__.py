"""The methods by name. A new learner is a class with a ``method`` name, and one line here."""

from typing import Any

from acyclic.errors import InputError, suggest
from acyclic.learners.auto import Auto as Auto
from acyclic.learners.base import COMMON
from acyclic.learners.base import ContinuousLearner as ContinuousLearner
from acyclic.learners.base import DagLearner as DagLearner
from acyclic.learners.cam import Cam as Cam
from acyclic.learners.equal_variance import EqualVariance as EqualVariance
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
    if isinstance(kind, type) and issubclass(kind, DagLearner) and hasattr(kind, "method")
}


def make_learner(method: str = "auto", **settings: Any) -> DagLearner:
    """A learner by name, with settings; one that it does not have, or that is out of its range, is refused.

    ``random_state`` is taken by every method: one without random numbers obeys any seed.

    Examples
    --------
    >>> make_learner("golem", l1=0.05)
    Golem(l1=0.05)
    >>> make_learner("ges", l1=0.05)
    Traceback (most recent call last):
    acyclic.errors.InputError: ges has no setting 'l1'; it takes callback, knowledge, penalty, time_limit
    """
    if not isinstance(method, str) or method not in LEARNERS:
        listed = f"{suggest(method, LEARNERS)}; choose one of {', '.join(LEARNERS)}"
        raise InputError(f"there is no method {method!r}{listed}")
    kind = LEARNERS[method]
    if "random_state" not in kind._get_param_names():
        check_parameters({"random_state": settings.pop("random_state", 0)}, COMMON)
    kind.check_settings(settings)
    learner = kind(**settings)
    learner._check_parameters()
    return learner

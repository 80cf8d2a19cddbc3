"""scikit-learn's own estimator checks, for every registered learner.

One check is skipped by scikit-learn itself: array API input, which needs SCIPY_ARRAY_API and arrays of other libraries.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from acyclic import Golem, NoCurl, Notears, SortnRegress
from acyclic.learners import LEARNERS
from acyclic.learners.neural.base import NeuralLearner


def make_quick(kind):
    """With settings that make fits short: the checks make hundreds."""
    return kind(max_rounds=3) if kind is Notears else kind()


# The neural learners are checked beside their own tests, on short fits.
REGISTERED = [make_quick(kind) for kind in LEARNERS.values() if not issubclass(kind, NeuralLearner)]
VARIANTS = [
    Notears(inner="lbfgs", max_rounds=3),
    Notears(solver="central-path"),
    Golem(noise="unequal"),
    NoCurl(lambda1=10.0, inner="lbfgs"),
    SortnRegress(order="r2"),
]


@pytest.mark.slow
@parametrize_with_checks([*REGISTERED, *VARIANTS])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)

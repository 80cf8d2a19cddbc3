"""scikit-learn's own estimator checks, for every learner.

One check is skipped by scikit-learn itself: array API input, which needs SCIPY_ARRAY_API and arrays of other libraries.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import acyclic

LEARNERS = [
    acyclic.Notears(max_rounds=3),
    acyclic.Notears(inner="lbfgs", max_rounds=3),
    acyclic.Notears(solver="central-path"),
    acyclic.Golem(),
    acyclic.Golem(noise="unequal"),
    acyclic.EqualVariance(),
    acyclic.OrderSearch(),
    acyclic.NoCurl(),
    acyclic.NoCurl(lambda1=10.0, inner="lbfgs"),
    acyclic.Ges(),
    acyclic.Mmhc(),
    acyclic.SortnRegress(),
    acyclic.SortnRegress(order="r2"),
]


@pytest.mark.slow
@parametrize_with_checks(LEARNERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)

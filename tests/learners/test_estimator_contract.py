"""scikit-learn's own estimator checks for every learner, and what they do not cover."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import acyclic

LEARNERS = [
    acyclic.Notears(),
    acyclic.Notears(inner="lbfgs"),
    acyclic.Notears(solver="central-path", l1=0.03),
    acyclic.Golem(),
    acyclic.Golem(noise="unequal"),
]


@parametrize_with_checks(LEARNERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)

"""scikit-learn's own estimator checks, for every registered learner.

One check is skipped by scikit-learn itself: array API input, which needs SCIPY_ARRAY_API and arrays of other libraries.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import acyclic
from acyclic.learners import LEARNERS

# Learners that train networks have these checks, with quick settings, in their own files.
NEURAL = {"notears-mlp", "dag-gnn", "gran-dag"}
VARIANTS = [
    acyclic.Notears(inner="lbfgs", max_rounds=3),
    acyclic.Notears(solver="central-path"),
    acyclic.Golem(noise="unequal"),
    acyclic.NoCurl(lambda1=10.0, inner="lbfgs"),
    acyclic.SortnRegress(order="r2"),
]


def _quick(kind):
    """With settings that make fits short: the checks make hundreds."""
    return kind(max_rounds=3) if kind is acyclic.Notears else kind()


@pytest.mark.slow
@parametrize_with_checks([*(_quick(kind) for method, kind in LEARNERS.items() if method not in NEURAL), *VARIANTS])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)

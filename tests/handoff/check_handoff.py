"""Hand a learned graph to DoWhy and pgmpy, and compare their answers with ours; run in an environment that has both.

    python tests/handoff/check_handoff.py

A check stops with both numbers if they differ by more than sampling or rounding explains; the others are printed.
"""

from importlib.metadata import version

import numpy as np
import pandas as pd

from acyclic import Dag, EqualVariance, Moments, to_pgmpy
from acyclic.data.simulate import linear_sem
from acyclic.graphs.formats import from_networkx

TRUTH = Dag.from_edges(
    [
        ("rain (mm)", "river, level", 0.8),
        ("rain (mm)", "2nd gauge", -0.5),
        ("river, level", "2nd gauge", 1.5),
        ("river, level", "trust %", 0.4),
        ("2nd gauge", "trust %", 0.7),
    ],
    names=["trust %", "2nd gauge", "rain (mm)", "river, level", "\N{SNOWMAN}"],
)
CAUSE, OUTCOME = "river, level", "trust %"
ROWS = 20_000
STANDARD_ERRORS = 4.0


def learned() -> tuple[pd.DataFrame, Dag, Moments]:
    means = np.array([3.0, -2.0, 40.0, 0.5, 0.0])
    frame = pd.DataFrame(linear_sem(TRUTH, ROWS, random_state=1) + means, columns=list(TRUTH.names))
    moments = Moments.from_frame(frame)
    dag = EqualVariance().fit(moments).causal_graph_
    assert np.array_equal(dag.adjacency, TRUTH.adjacency), f"learned {dag}, not {TRUTH}"
    return frame, dag, moments


def total_effect(dag: Dag) -> float:
    return float(dag.total_effects()[dag.names.index(CAUSE), dag.names.index(OUTCOME)])


def agree(what: str, found, expected, error) -> str:
    """Say how far `found` is at most from `expected`; stop if that is further than `error` anywhere."""
    gap = np.abs(np.asarray(found) - expected)
    assert np.all(gap <= error), f"{what}: found {found}, expected {expected} to within {error}"
    return f"{what}: agrees to {np.max(gap):.2g}, allowed {np.max(error):.2g}"


def check_dowhy_regression(frame: pd.DataFrame, dag: Dag) -> str:
    from dowhy import CausalModel

    model = CausalModel(frame, treatment=CAUSE, outcome=OUTCOME, graph=dag.to_networkx())
    estimand = model.identify_effect(proceed_when_unidentifiable=True)
    assert estimand.get_backdoor_variables() == ["rain (mm)"]
    estimate = model.estimate_effect(estimand, method_name="backdoor.linear_regression")
    error = STANDARD_ERRORS * np.ravel(estimate.get_standard_error())[0]
    return agree("DoWhy, back-door regression of a total effect", estimate.value, total_effect(dag), error)


def check_dowhy_sampling(frame: pd.DataFrame, dag: Dag) -> str:
    from dowhy import gcm

    gcm.util.general.set_random_seed(0)
    gcm.config.disable_progress_bars()
    model = gcm.StructuralCausalModel(dag.to_networkx())
    for name in dag.names:
        regression = gcm.AdditiveNoiseModel(gcm.ml.create_linear_regressor())
        model.set_causal_mechanism(name, regression if dag.parents(name) else gcm.EmpiricalDistribution())
    gcm.fit(model, frame)
    drawn = [
        gcm.interventional_samples(model, {CAUSE: lambda _, value=value: value}, num_samples_to_draw=ROWS)[OUTCOME]
        for value in (0.0, 1.0)
    ]
    error = STANDARD_ERRORS * np.sqrt(sum(sample.var() for sample in drawn) / ROWS)
    return agree("DoWhy gcm, do-sampling", drawn[1].mean() - drawn[0].mean(), total_effect(dag), error)


def check_pgmpy_parameters(frame: pd.DataFrame, dag: Dag, moments: Moments) -> str:
    from pgmpy.parameter_estimator import LinearGaussianMLE

    ours = to_pgmpy(dag, moments)
    assert ours.check_model() and from_networkx(ours) == dag
    fitted = {cpd.variable: cpd for cpd in ours.copy().fit(frame, LinearGaussianMLE("mle")).cpds}
    gaps = []
    for cpd in ours.cpds:
        theirs = fitted[cpd.variable]
        slopes = dict(zip(theirs.evidence, theirs.beta[1:], strict=True))
        assert set(slopes) == set(cpd.evidence) == set(dag.parents(cpd.variable))
        expected = [theirs.beta[0], *(slopes[parent] for parent in cpd.evidence), theirs.std]
        gaps.append(np.abs(np.append(cpd.beta, cpd.std) - expected).max())
    return agree("pgmpy, weights, intercepts and deviations against its own fit", gaps, 0.0, 1e-8)


def check_pgmpy_moments(dag: Dag, moments: Moments) -> str:
    import networkx

    model = to_pgmpy(dag, moments)
    mean, covariance = model.to_joint_gaussian()
    sorted_moments = moments.select(list(networkx.topological_sort(model)))
    assert np.allclose(mean, sorted_moments.mean, rtol=0, atol=1e-6)
    S = sorted_moments.covariance
    error = STANDARD_ERRORS * np.sqrt((np.outer(np.diag(S), np.diag(S)) + S**2) / ROWS)
    return agree("pgmpy, covariance of the model against that of the table", covariance, S, error)


def check_pgmpy_sampling(dag: Dag, moments: Moments) -> str:
    model = to_pgmpy(dag, moments)
    drawn = [model.simulate(ROWS, do={CAUSE: value}, seed=seed)[OUTCOME] for seed, value in enumerate((0.0, 1.0))]
    error = STANDARD_ERRORS * np.sqrt(sum(sample.var() for sample in drawn) / ROWS)
    return agree("pgmpy, do-sampling", drawn[1].mean() - drawn[0].mean(), total_effect(dag), error)


def main() -> None:
    frame, dag, moments = learned()
    lines = [
        " ".join(f"{package} {version(package)}" for package in ("acyclic", "dowhy", "pgmpy", "networkx", "scipy")),
        f"learned {dag.n_edges} edges on {ROWS} rows; {CAUSE} changes {OUTCOME} by {total_effect(dag):.4f} per unit",
        check_dowhy_regression(frame, dag),
        check_dowhy_sampling(frame, dag),
        check_pgmpy_parameters(frame, dag, moments),
        check_pgmpy_moments(dag, moments),
        check_pgmpy_sampling(dag, moments),
    ]
    print("\n".join(lines))  # noqa: T201


if __name__ == "__main__":
    main()

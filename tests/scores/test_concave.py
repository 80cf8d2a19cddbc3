"""The minimax concave penalty against its definition, and what it does to weights."""

import numpy as np
import pytest
from scipy.integrate import quad

from acyclic.data.knowledge import Knowledge
from acyclic.data.moments import Moments
from acyclic.data.simulate import simulate
from acyclic.learners import Golem, Notears
from acyclic.scores.concave import WithMcp, with_mcp
from acyclic.scores.continuous import GaussianEqualVariance, LeastSquares

L1, GAMMA = 0.3, 2.0


def problem(d=5, seed=0):
    moments = Moments.from_array(simulate(d, 300, random_state=seed).X)
    return LeastSquares(moments), np.random.default_rng(seed).normal(size=(d, d)) * (1 - np.eye(d))


def test_the_value_is_the_integral_that_defines_it():
    score, W = problem()
    naive = sum(quad(lambda t: max(L1 - t / GAMMA, 0.0), 0, abs(w), points=[GAMMA * L1])[0] for w in W.flat)
    value = WithMcp(score, L1, GAMMA).value_and_gradient(W)[0] + L1 * np.abs(W).sum()
    # quad's own tolerance is 1.5e-8 for each of the 25 integrals.
    assert value == pytest.approx(score.value_and_gradient(W)[0] + naive, abs=4e-7)


def test_the_gradient_is_that_of_the_value():
    score, W = problem()
    penalised = WithMcp(score, L1, GAMMA)
    gradient = penalised.value_and_gradient(W)[1]
    step = np.cbrt(np.finfo(float).eps)
    for place in zip(*np.nonzero(W)):
        ahead, behind = W.copy(), W.copy()
        ahead[place] += step
        behind[place] -= step
        rise = penalised.value_and_gradient(ahead)[0] - penalised.value_and_gradient(behind)[0]
        # Where r bends, at γ·l1, the second derivative jumps by 1/γ: half a step of error at most.
        assert gradient[place] == pytest.approx(rise / (2 * step), rel=1e-6, abs=step)


def test_it_tends_to_the_score_as_gamma_grows():
    score, W = problem()
    assert WithMcp(score, L1, 1e12).value_and_gradient(W)[0] == pytest.approx(score.value_and_gradient(W)[0], rel=1e-10)


@pytest.mark.parametrize("learner", [Notears(l1=0.1, mcp=3.0), Golem(l1=0.05, mcp=3.0)], ids=["notears", "golem"])
def test_large_weights_are_not_shrunk(learner):
    """Beyond γ·l1 the penalty is flat: the weights of the true graph are those of least squares, unlike under L1."""
    data = simulate(6, 2000, graph="ER1", random_state=3)
    concave, plain = learner.fit(data.X).solution_, type(learner)(l1=learner.l1).fit(data.X).solution_
    true = data.graph.weights != 0
    errors = [np.abs(s.weights - data.graph.weights)[true].mean() for s in (concave, plain)]
    assert errors[0] < errors[1] and concave.converged


def test_an_edge_that_is_required_is_not_penalised():
    score, W = problem()
    mask = Knowledge(required=[("x0", "x1")]).compile([f"x{k}" for k in range(5)])
    gradient, plain = (s.value_and_gradient(W)[1] for s in (with_mcp(score, L1, GAMMA, mask), score))
    assert gradient[0, 1] == plain[0, 1] and gradient[1, 0] != plain[1, 0]
    assert with_mcp(score, L1, None, mask) is score


@pytest.mark.parametrize("noise", ["equal", "unequal"])
def test_golem_with_colide_learns_and_tells_its_loss(noise):
    data = simulate(8, 1000, random_state=1)
    fitted = Golem(loss="colide", noise=noise).fit(data.X)
    assert fitted.verdict_.converged
    likelihood = GaussianEqualVariance(Moments.from_array(data.X))
    assert (
        likelihood.value_and_gradient(fitted.solution_.weights)[0] < likelihood.value_and_gradient(np.zeros((8, 8)))[0]
    )

r"""
Directions from the shape of the noise
======================================

If mechanisms are lines but the noise is not normal, its shape gives directions away: that is LiNGAM's idea, and
``learn()`` uses it where the data have it.
"""

# %%
# Eight standardised columns with Laplace noise. Their variances are all 1: units cannot help.
import matplotlib.pyplot as plt
import numpy as np

import acyclic

data = acyclic.simulate(n_nodes=8, n=1500, graph="ER2", noise="laplace", scheme="standardized", random_state=4)
result = acyclic.learn(data.X)
print(result.verdict)
assert result.verdict.orientation == "noise-shape"
assert acyclic.compare(data.graph, result.graph).shd == 0

# %%
# The same with the method by its name, and with a method that looks at covariances only. The latter claims an
# equivalence class, which leaves some directions open.
lingam = acyclic.Lingam().fit(data.X)
covariances = acyclic.OrderSearch().fit(data.X)
for label, model in (("Lingam", lingam), ("OrderSearch", covariances)):
    said = acyclic.compare(data.graph, model.causal_graph_)
    print(f"{label:12} SHD {said.shd}, oriented by {model.verdict_.orientation.value}")
assert acyclic.compare(data.graph, lingam.causal_graph_).shd == 0
assert hasattr(covariances, "cpdag_")

# %%
# Why it works, on two columns: regress the effect on the cause and what is left does not depend on the cause. The other
# way round, it does.
rng = np.random.default_rng(0)
cause = rng.uniform(-1, 1, size=2000)
effect = cause + rng.uniform(-1, 1, size=2000)
slope_forward = np.cov(cause, effect)[0, 1] / cause.var()
slope_backward = np.cov(cause, effect)[0, 1] / effect.var()
forward, backward = effect - slope_forward * cause, cause - slope_backward * effect

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
axes[0].plot(cause, forward, ".", color="#1f5fa8", markersize=3)
axes[0].set(xlabel="cause", ylabel="what is left of the effect", title="Right direction: a square")
axes[1].plot(effect, backward, ".", color="#b3471d", markersize=3)
axes[1].set(xlabel="effect", ylabel="what is left of the cause", title="Wrong direction: a diamond")
plt.show()
# Uncorrelated both ways, but the spread depends on the other column in one of them only.
assert abs(np.corrcoef(np.abs(cause), np.abs(forward))[0, 1]) < 0.1
assert np.corrcoef(np.abs(effect), np.abs(backward))[0, 1] < -0.2

r"""
In a scikit-learn pipeline, with cross-validation
=================================================

Learners are estimators: ``fit``, ``transform`` (what is left of each column given its parents), ``score`` (mean
log-likelihood of rows), ``get_params``. So they go where estimators go.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import acyclic

data = acyclic.simulate(n_nodes=6, n=400, graph="ER1", random_state=2)

# %%
# Which L1 penalty? Let held-out rows say.
pipeline = make_pipeline(StandardScaler(), acyclic.Notears(threshold=0.1))
grid = {"notears__l1": [0.02, 0.05, 0.1, 0.2, 0.4]}
search = GridSearchCV(pipeline, grid, cv=3).fit(data.X)
print("best l1:", search.best_params_["notears__l1"])
held_out = search.cv_results_["mean_test_score"]
assert held_out[-1] < held_out.max()

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.errorbar(grid["notears__l1"], held_out, search.cv_results_["std_test_score"], fmt="o-", color="#1f5fa8", capsize=3)
axes.set(xscale="log", xlabel="l1", ylabel="log-likelihood of held-out rows", title="Three folds, NOTEARS on z-scores")
plt.show()

# %%
# The fitted model is the last step.
model = search.best_estimator_[-1]
print(model.causal_graph_)
residuals = search.best_estimator_.transform(data.X)
assert residuals.shape == data.X.shape
assert np.all(residuals.var(axis=0) <= 1 + 1e-9)

# %%
# Held-out likelihood is kind to small edges that are not there, and likes a small penalty. ``choose_l1`` weighs edges
# against it by the extended BIC, chooses penalty and threshold together, and needs no grid.
choice = acyclic.choose_l1(acyclic.Notears(), data.X)
print(choice)
assert 0 < choice.chosen < 0.2

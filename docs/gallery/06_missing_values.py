r"""
Missing values
==============

Nothing is guessed in silence: a table with missing cells is refused until you say what to do about them.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import acyclic

data = acyclic.simulate(n_nodes=8, n=800, graph="ER1", random_state=5)
rng = np.random.default_rng(0)
holes = np.where(rng.random(data.X.shape) < 0.1, np.nan, data.X)
try:
    acyclic.learn(holes)
except acyclic.errors.InputError as error:
    print(error)
else:
    raise AssertionError("missing cells were accepted")

# %%
# A tenth of the cells is gone, and with them more than half of the complete rows. Four ways to go on:
#
# - ``impute`` fills a gap with the value of a row that resembles its own, for columns of every kind.
# - ``drop-rows`` uses complete rows only. Simple, and sound if cells are missing at random, but it wastes the most.
# - ``pairwise`` takes each covariance from the rows that have both columns; these do not fit together.
# - ``em`` finds the covariance of a normal distribution that the cells which are there make most likely.
ways = ("impute", "em", "drop-rows", "pairwise")
distances = {way: acyclic.compare(data.graph, acyclic.learn(holes, missing=way).graph).shd for way in ways}
rows = {way: float(acyclic.read_table(holes, missing=way).moments.n) for way in ways}
for way in ways:
    print(f"{way:10} worth {rows[way]:5.0f} rows, SHD {distances[way]}")
assert distances["em"] == 0
assert rows["drop-rows"] < len(holes) / 2

# %%
# The more is missing, the more it matters. Mean distance to the truth over ten tables:
shares = [0.02, 0.05, 0.1, 0.15, 0.2]
curves = {way: [] for way in ways}
for share in shares:
    found = {way: [] for way in ways}
    for seed in range(10):
        truth = acyclic.simulate(n_nodes=8, n=300, graph="ER1", random_state=seed)
        gaps = np.random.default_rng(seed).random(truth.X.shape) < share
        table = np.where(gaps, np.nan, truth.X)
        for way in ways:
            graph = acyclic.learn(table, missing=way).graph
            found[way].append(acyclic.compare(truth.graph, graph).shd)
    for way in ways:
        curves[way].append(float(np.mean(found[way])))

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for way, colour in zip(ways, ("#2c7a4b", "#1f5fa8", "#7a828c", "#b3471d"), strict=True):
    axes.plot(shares, curves[way], "o-", color=colour, label=way)
axes.set(xlabel="share of missing cells", ylabel="mean SHD", title="8 columns, 300 rows")
axes.set_ylim(bottom=0)
axes.legend()
plt.show()
assert np.mean(curves["em"]) <= np.mean(curves["drop-rows"])

r"""
From a graph to effects
=======================

What happens to the outcome if we set a cause by hand? Given the graph, a linear model answers with a number and an
interval.
"""

# %%
# A factory: the recipe decides temperature and time, and both decide the yield.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import acyclic

rng = np.random.default_rng(3)
n = 800
recipe = rng.normal(size=n)
temperature = 0.8 * recipe + rng.normal(size=n)
duration = -0.5 * recipe + 0.6 * temperature + rng.normal(size=n)
output = 1.2 * temperature - 0.7 * duration + rng.normal(size=n)
factory = pd.DataFrame({"recipe": recipe, "temperature": temperature, "duration": duration, "output": output})

result = acyclic.learn(factory, knowledge=acyclic.Knowledge(roots=["recipe"], sinks=["output"]))
print(result.graph.edges())
assert {edge[:2] for edge in result.graph.edges()} == {
    ("recipe", "temperature"),
    ("recipe", "duration"),
    ("temperature", "duration"),
    ("temperature", "output"),
    ("duration", "output"),
}

# %%
# Temperature acts on the output directly, and through the duration: 1.2 − 0.7 · 0.6 = 0.78 in total. A plain regression
# of output on temperature would count the recipe in.
effects = acyclic.total_effects(result, factory, draws=200)
print(effects)
effect, lower, upper = effects.of("temperature", "output")
assert lower < 0.78 < upper
naive = np.cov(temperature, output)[0, 1] / temperature.var()
assert not lower < naive < upper

# %%
rows = effects.table()
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for place, row in enumerate(reversed(rows)):
    axes.plot([row["lower"], row["upper"]], [place, place], color="#1f5fa8", linewidth=3)
    axes.plot(row["effect"], place, "o", color="#1f5fa8")
axes.plot(
    naive, [row["cause"] + row["outcome"] for row in reversed(rows)].index("temperatureoutput"), "x", color="#b3471d"
)
axes.set_yticks(range(len(rows)), [f"{row['cause']} on {row['outcome']}" for row in reversed(rows)])
axes.axvline(0, color="#7a828c", linewidth=1)
axes.set(xlabel="change of the outcome per unit", title="Total effects, 90 % intervals; × is the plain regression")
plt.show()

# %%
# The intervals take the graph as given. If edges are in doubt, so are the effects: look at the alternatives first.

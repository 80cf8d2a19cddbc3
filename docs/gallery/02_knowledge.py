r"""
A table from scikit-learn, with what is known already
=====================================================

Nobody's age is caused by a blood test. Say so, and no method has to find it out.
"""

# %%
# 442 patients: age, sex, body mass index, blood pressure, six blood values, and how far diabetes had progressed a year
# later.
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

import acyclic

patients = load_diabetes(as_frame=True, scaled=False).frame.rename(
    columns={
        "bp": "pressure",
        "s1": "cholesterol",
        "s2": "ldl",
        "s3": "hdl",
        "s4": "ratio",
        "s5": "triglycerides",
        "s6": "glucose",
        "target": "progression",
    }
)
alone = acyclic.learn(patients)
into_age = [edge for edge in alone.graph.edges() if edge[1] in ("age", "sex")]
print("without knowledge, these lead into age or sex:", [f"{a} → {b}" for a, b, _ in into_age])
assert into_age

# %%
# Time orders the columns: age and sex come first, progression a year after the rest. No edge leads from a later tier
# into an earlier one.
blood = ["bmi", "pressure", "cholesterol", "ldl", "hdl", "ratio", "triglycerides", "glucose"]
knowledge = acyclic.Knowledge(tiers=[["age", "sex"], blood, ["progression"]])
result = acyclic.learn(patients, knowledge=knowledge)
tier = {name: place for place, names in enumerate(knowledge.tiers) for name in names}
assert all(tier[source] <= tier[target] for source, target, _ in result.graph.edges())

figure, axes = plt.subplots(figsize=(9, 6), layout="constrained")
result.plot(ax=axes)
axes.set_title("442 patients, with tiers")
plt.show()

# %%
# What is thought to act on the progression directly, and what else had been possible:
print("parents of progression:", ", ".join(result.graph.parents("progression")))
print(result.verdict)
assert "bmi" in result.graph.parents("progression")

# %%
# Contradictions are found before any fit.
try:
    acyclic.Knowledge(required=[("bmi", "age")], tiers=[["age"], ["bmi"]])
except acyclic.errors.KnowledgeError as error:
    print(error)
else:
    raise AssertionError("a contradiction was accepted")

"""The methods by name: thin scikit-learn shells over scores, constraints and solvers."""

"""The paper's experiments: plans of cases, a store that loses nothing, and the figures and tables made of it."""

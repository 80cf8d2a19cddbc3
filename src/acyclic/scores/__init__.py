"""What a graph costs: scores of a weight matrix, and regressions of a column on its parents."""

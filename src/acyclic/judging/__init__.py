"""From weights to a graph and its verdict: facts first, words last."""

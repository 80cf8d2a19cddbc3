"""How far to believe a graph: confidence of edges, what is owed to units, choice of penalties, effects."""

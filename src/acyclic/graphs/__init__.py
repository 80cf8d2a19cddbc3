"""The thing itself: directed acyclic graphs, their equivalence classes, metrics and formats."""

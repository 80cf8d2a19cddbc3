"""DAG-GNN."""

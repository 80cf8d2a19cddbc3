"""GraN-DAG."""

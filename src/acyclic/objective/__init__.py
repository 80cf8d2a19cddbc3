"""What is minimised: scores and DAG constraints."""

"""The DAG constraints h(B), for NumPy and for torch."""

"""NOTEARS-MLP and NOTEARS-Sobolev."""

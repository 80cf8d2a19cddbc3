"""Learners whose mechanisms are neural networks; they need the extra ``neural`` (PyTorch), loaded at the first fit."""

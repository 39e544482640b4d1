"""Weights and a dataset become numbers: scores, ledgers, statistics."""

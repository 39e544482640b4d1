"""Training many seeds together in one process."""

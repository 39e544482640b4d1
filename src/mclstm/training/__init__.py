"""A dataset and a model become weights: the order of samples, checkpoints, the journal of a run."""

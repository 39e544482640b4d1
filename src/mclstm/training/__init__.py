"""From data and a model to weights: the loop, the order of samples, checkpoints, the journal of a run."""

"""Pure functions on tensors: the paper's equations, their oracle, and the table of backends."""

"""Pure functions on tensors: the paper's equations, the fast backends, and the table of both."""

"""A second compiled library: the baselines' recurrences, training of small networks, random numbers."""

"""The addition problem: the sum of two marked numbers of a hundred."""

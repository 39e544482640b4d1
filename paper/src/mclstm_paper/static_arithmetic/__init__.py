"""Static arithmetic: sums and products of two subsets of a hundred numbers."""

"""Recurrent arithmetic: sums and products of two subsets, accumulated over steps."""

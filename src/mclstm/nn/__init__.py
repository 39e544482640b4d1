"""Modules: the layer, its cell, the feed-forward forms, the heads, and parts for hydrology."""

"""Modules: the layer, its cell, the feed-forward forms, heads and the parts they are combined with."""

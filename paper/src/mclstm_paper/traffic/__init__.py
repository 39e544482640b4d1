"""Inbound and outbound flows: the paper's traffic forecast, on cities of traffic4cast and on real flights."""

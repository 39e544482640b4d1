"""The rainfall-runoff comparison as people look at it: table, map, distributions, balance, snow."""

"""Auxiliary inputs that are computed: season, potential evapotranspiration, means of past days."""

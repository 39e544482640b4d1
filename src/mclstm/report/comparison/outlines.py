"""Borders of countries and of the states of the USA, for maps; OUTLINES.md says where they come from."""

from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["lines_within"]

FILE = Path(__file__).with_name("outlines.npz")
PARTS = 100.0  # of a degree, the unit of the file

Line = NDArray[np.float64]  # (points, 2) longitude and latitude in degrees


@cache
def every_line() -> list[Line]:
    """All lines of the file: `places` (points, 2) one line behind the other, `ends` the ends of the lines."""
    with np.load(FILE) as file:
        places, ends = file["places"] / PARTS, file["ends"]
    return np.split(places, ends[:-1])


def lines_within(west: float, east: float, south: float, north: float) -> list[Line]:
    """The lines that may be seen in a part of the world, in degrees.

    >>> len(lines_within(-125.0, -66.0, 24.0, 50.0)) > 48
    True
    >>> lines_within(-150.0, -140.0, -40.0, -30.0)
    []
    """
    corner, opposite = np.array([west, south]), np.array([east, north])
    return [
        line
        for line in every_line()
        if (line.min(axis=0) <= opposite).all() and (line.max(axis=0) >= corner).all()
    ]

"""New York's flights of 2013 every ten minutes: real flows that close (source and licence in FLIGHTS.md)."""

from importlib.resources import files
from pathlib import Path

__all__ = ["flights"]


def flights() -> Path:
    """The path of the npz file: time, in_<airport>, out_<distance>, airborne, <airport>_to_<distance>.

    >>> from mclstm.data.read import read
    >>> series = read(flights(), mass=["in_EWR", "in_JFK", "in_LGA"], target=["out_short", "out_far"])
    >>> series.attrs["step"], series.sizes["time"] // 144
    ('10min', 365)
    """
    return Path(str(files("mclstm.data") / "flights.npz"))

"""The river Fulda, 1979-1988: the small real series in the package (source and licence in FULDA.md)."""

from importlib.resources import files
from pathlib import Path

__all__ = ["AREA_KM2", "UNITS", "fulda"]

AREA_KM2 = 2977.0  # catchment of the gauge Grebenau
UNITS = {"tmax": "degC", "tmin": "degC", "tmean": "degC", "precipitation": "mm/day", "discharge": "m3/s"}


def fulda() -> Path:
    """The path of the CSV file: date, tmax, tmin, tmean, precipitation, discharge.

    >>> fulda().name
    'fulda.csv'
    """
    return Path(str(files("mclstm.data") / "fulda.csv"))

"""The unit of what a store holds, from the unit of what flows into it."""

import numpy as np
import pandas as pd

from mclstm.data.units import parse

__all__ = ["amount_unit"]

STEPS = {604800: "week", 86400: "day", 3600: "h", 60: "min", 1: "s"}  # seconds


def amount_unit(unit: str, steps: pd.DatetimeIndex) -> str:
    """The unit of a sum over steps: a rate's time cancels when it is the step, else both are named.

    >>> days = pd.date_range("2001-01-01", periods=3)
    >>> amount_unit("mm/day", days), amount_unit("m3/s", days), amount_unit("vehicles", days)
    ('mm', 'm3/s × 1 day', 'vehicles')
    """
    rate = parse(unit)
    lengths = np.diff(steps.as_unit("ns").asi8)
    if not rate.seconds or not lengths.size:
        return unit
    seconds = float(np.median(lengths)) / 1e9
    if seconds == rate.seconds:
        return rate.amount
    size, word = next((item for item in STEPS.items() if seconds % item[0] == 0), (1, "s"))
    return f"{unit} × {seconds / size:g} {word}"

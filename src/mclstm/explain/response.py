"""How a store answers to season and temperature: snow grows in the cold and melts in the warm."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["by_month", "by_temperature"]

Floats = NDArray[np.float64]
WIDTH = 2.0  # degrees a class


def by_month(days: pd.DatetimeIndex, series: dict[str, Floats]) -> pd.DataFrame:
    """The mean of each series (T,) in the twelve months, from October on: the hydrologist's year.

    >>> days = pd.date_range("2001-01-01", "2001-12-31")
    >>> by_month(days, {"snow": days.month.to_numpy(float)})["snow"].head(2).to_dict()
    {10: 10.0, 11: 11.0}
    """
    mean = pd.DataFrame(series, index=days).groupby(days.month).mean()
    order = [*range(10, 13), *range(1, 10)]
    return mean.reindex(order).rename_axis("month")


def by_temperature(temperature: Floats, series: dict[str, Floats], width: float = WIDTH) -> pd.DataFrame:
    """Mean daily change of each series (T,) by class of temperature (T,), and how many days a class has.

    A class is named by its middle; the change of a day belongs to the temperature of that day.

    >>> t = np.array([-5.0, -5.0, 5.0, 5.0])
    >>> by_temperature(t, {"snow": np.array([0.0, 4.0, 3.0, 1.0])})["snow"].tolist()
    [4.0, -1.5]
    """
    change = pd.DataFrame({name: np.diff(values) for name, values in series.items()})
    middle = (np.floor(temperature[1:] / width) + 0.5) * width
    groups = change.groupby(pd.Series(middle, name="temperature"))
    return groups.mean().assign(days=groups.size())

"""Flights from three airports to four distances: when do they arrive, and how many are on their way?

The same works for any table with a row per step and columns in_* and out_* of one unit: roads into a city,
doors of a building, stops of a bus line. Run it with: python transport.py
"""

import numpy as np
import pandas as pd

import mclstm
from mclstm.data.flights import flights


def counts() -> pd.DataFrame:
    """What left and reached a gate every ten minutes of 2013, and what was on its way: real data."""
    with np.load(flights()) as file:
        names = [name for name in file if name.startswith(("in_", "out_")) or name == "airborne"]
        return pd.DataFrame({name: file[name] for name in names}, index=pd.DatetimeIndex(file["time"]))


def main(updates: int = 600, days: int = 365, cells: int = 16) -> tuple[pd.DataFrame, float]:
    """Train on all but the last sixth of the days; print the scores of that and the error of the stock."""
    table = counts()[: 144 * days]
    later = 144 * (days - days // 6)
    model = mclstm.fit(
        table[:later],
        mass="in_*",
        target="out_*",
        sequences={"each": "day", "begin": "04:00"},  # every day begins with nothing on its way
        time_of_day=4,
        time_of_week=2,
        weekend=True,
        head="mcfc",  # one outlet per target; all that enters leaves by one of them
        trash_cell=False,
        residence="2h",  # a first guess of how long a flight takes
        hidden_size=cells,
        batch_size=32,
        updates=updates,
        quiet=False,
    )
    test = table[later:]
    scores = model.score(test)[["nse", "rmse", "mae"]]
    print(f"flights per ten minutes, the last {days // 6} days\n\n{scores.round(3)}\n")
    inside = model.simulate(test)["storage"].sum("cell").to_numpy()[0]
    error = float(np.sqrt(np.mean((inside - test["airborne"]) ** 2)))
    print(f"on their way: {test['airborne'].mean():.1f} on average, error of the model {error:.1f}")
    return scores, error


if __name__ == "__main__":
    main()

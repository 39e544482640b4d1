"""A warehouse, hour by hour: pallets in by supplier, pallets out by dock, and the stock that nobody counted.

The data are made up, see `made_up`. Replace it by pd.read_csv of your own table. Run: python warehouse.py
"""

from pathlib import Path

import numpy as np
import pandas as pd

import mclstm

# Workdays of delivery, pallets per open hour, hours that they stay on average, share for the north dock.
SUPPLIERS = {"farm": (5, 12.0, 6.0, 0.9), "factory": (4, 10.0, 40.0, 0.5), "port": (1, 25.0, 120.0, 0.1)}


def made_up(weeks: int) -> pd.DataFrame:
    """Every pallet leaves by one of two docks, in the first open hour after the time it stays."""
    source = np.random.default_rng(0)
    time = pd.date_range("2024-01-01", periods=168 * weeks, freq="h", name="time")
    table = (
        pd.DataFrame({"open": (time.hour >= 6) & (time.hour < 20) & (time.day_of_week < 5)}, index=time) * 1.0
    )
    opening = np.flatnonzero(table["open"])
    for supplier, (days, rate, stay, north) in SUPPLIERS.items():
        table[f"in_{supplier}"] = source.poisson(rate * table["open"] * (time.day_of_week < days))
        came = np.repeat(np.arange(len(time)), table[f"in_{supplier}"])
        due = opening.searchsorted(came + source.exponential(stay, len(came)))
        dock = np.where(source.random(len(came)) < north, "north", "south")
        for name in ("north", "south"):
            gone = opening[due[(dock == name) & (due < len(opening))]]
            table[f"out_{name}"] = table.get(f"out_{name}", 0) + np.bincount(gone, minlength=len(time))
    return table


def main(folder: Path = Path(), updates: int = 300, weeks: int = 26) -> tuple[pd.DataFrame, float]:
    """Write a table, train on all but its last fifth; print the scores of that and the error of the stock."""
    table = made_up(weeks)
    table.to_csv(folder / "warehouse.csv")
    later = 168 * (weeks - weeks // 5)
    model = mclstm.fit(
        table[:later], mass="in_*", aux="open", target="out_*", time_of_day=3, time_of_week=2,
        head="mcfc", trash_cell=False, residence="48h", hidden_size=12,
        length=504, warmup=336, batch_size=16, updates=updates, quiet=False,
    )  # fmt: skip
    # From the first hour on, because the warehouse began empty; the weeks of the training are not scored.
    scores = model.score(table, warmup=later)[["nse", "rmse", "mae"]]
    print(f"pallets per hour, the last {weeks // 5} weeks\n\n{scores.round(3)}\n")
    stock = (table.filter(like="in_").sum(axis=1) - table.filter(like="out_").sum(axis=1)).cumsum()
    difference = model.simulate(table)["storage"].sum("cell").to_numpy()[0] - stock
    error = float(np.sqrt(np.mean(difference[later:] ** 2)))
    print(f"stock: {stock[later:].mean():.0f} pallets on average, error of the model {error:.0f}")
    return scores, error


if __name__ == "__main__":
    main()

"""Generated rivers of different looks: rain that is stored, evaporates and flows out, in mm per step."""

import numpy as np
import pandas as pd

DAYS = 1826  # five years


def river(
    steps: int = DAYS, freq: str = "D", *, rain: float = 2.4, warm: float = 9.0, thirst: float = 0.13,
    outflow: float = 0.04, seed: int = 0,
) -> pd.DataFrame:  # fmt: skip
    """Rain, temperatures and flow, indexed by date.

    rain: mm per day · warm: mean temperature · thirst: mm per day that evaporate per degree · outflow: share
    of the store per day. Below zero degrees rain lies as snow until it melts.
    """
    source, dates = (
        np.random.default_rng(seed),
        pd.date_range("2001-01-01", periods=steps, freq=freq, name="date"),
    )
    day = (dates - dates[0]) / pd.Timedelta(days=1)
    length = float(day[1]) if steps > 1 else 1.0
    tmean = warm + 9 * np.sin(2 * np.pi * (day - 110) / 365.25) + 2.5 * source.standard_normal(steps)
    wet = source.random(steps) < 0.4
    fell = np.where(wet, source.gamma(0.7, rain * length / 0.28, steps), 0.0).round(2)
    snow, store, flow = 0.0, 20.0, np.zeros(steps)
    for step in range(steps):
        melt = min(snow, 4 * length * tmean[step]) if tmean[step] > 0 else 0.0
        snow += (fell[step] if tmean[step] <= 0 else 0.0) - melt
        store += melt + (fell[step] if tmean[step] > 0 else 0.0)
        store -= min(store, thirst * max(tmean[step], 0.0) * length * store / (store + 40))
        flow[step] = store * (1 - (1 - outflow) ** length)
        store -= flow[step]
    swing = 4 + source.random(steps)
    columns = {"rain": fell, "tmin": tmean - swing, "tmax": tmean + swing, "flow": flow}
    return pd.DataFrame(columns, index=dates).round({"tmin": 2, "tmax": 2, "flow": 4})


def counts(days: int = 30, *, stock: float = 0.0, counted: float = 1.0, seed: int = 0) -> pd.DataFrame:
    """Whole numbers of things that enter by two doors and leave by two others, every hour.

    stock: inside before the first hour · counted: the share of leaving things that is counted
    """
    source, hours = (
        np.random.default_rng(seed),
        pd.date_range("2024-01-01", periods=24 * days, freq="h", name="time"),
    )
    rush = 40 + 30 * np.sin((hours.hour.to_numpy() - 8) / 24 * 2 * np.pi)
    entered = source.poisson(np.stack([rush, rush / 2], axis=1))
    inside, left = round(stock), np.zeros((len(hours), 2), dtype=np.int64)
    for hour in range(len(hours)):
        inside += int(entered[hour].sum())
        leaving = source.binomial(inside, 0.35)
        inside -= leaving
        east = source.binomial(leaving, 0.7)
        left[hour] = source.binomial([east, leaving - east], counted)
    names = ["in_north", "in_west", "out_east", "out_south"]
    return pd.DataFrame(np.concatenate([entered, left], axis=1), index=hours, columns=names)

"""Days of inbound and outbound counts, from any file the library reads, and their clock as input."""

from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr
from torch import Tensor

from mclstm.data.columns import listed
from mclstm.data.features import with_clock
from mclstm.data.findings import raise_first
from mclstm.data.flights import flights
from mclstm.data.readers import load
from mclstm.data.site_tables import Request, Table
from mclstm.errors import DataError

__all__ = ["City", "Clock", "Days", "clock_inputs", "read_city"]

Clock = Literal["number", "harmonics", "none"]

STOCKS = ("airborne", "stock")  # columns that count who is inside, where somebody did
TEST_SHARE = 4  # of a single series, the last day in four is for the test
FEWEST = 8  # days
DAY_HARMONICS, WEEK_HARMONICS = 12, 2


class Days(NamedTuple):
    """Whole days of one city: T steps, N days, M inlets, O outlets."""

    x: Tensor  # (T, N, M) counts that enter
    y: Tensor  # (T, N, O) counts that leave
    first: pd.DatetimeIndex  # (N,) the first step of each day
    inlets: tuple[str, ...]
    outlets: tuple[str, ...]
    stock: Tensor | None = None  # (T, N) counted inside, after each step

    def of(self, days: Tensor) -> "Days":
        """Some of the days, by number or flag."""
        stock = None if self.stock is None else self.stock[:, days]
        return self._replace(
            x=self.x[:, days], y=self.y[:, days], first=self.first[days.numpy()], stock=stock
        )

    @property
    def step(self) -> pd.Timedelta:
        """The length of a step."""
        return pd.Timedelta(days=1) / len(self.x)


class City(NamedTuple):
    """A data set: days to learn from, and later days for the test."""

    name: str
    train: Days
    test: Days


def read_city(path: str | None, reader: str = "auto") -> City:
    """The data at a path: folders training/ and validation/ as in the challenge, or one series cut by date.

    Without a path, New York's flights.
    """
    place = flights() if path is None else Path(path)
    if (place / "training").is_dir():
        train, test = (read_days(place / split, reader) for split in ("training", "validation"))
        name = place.resolve().name
    else:
        days, name = read_days(place, reader), place.stem
        later = torch.arange(len(days.first)) >= len(days.first) - len(days.first) // TEST_SHARE
        train, test = days.of(~later), days.of(later)
    if len(train.first) < FEWEST:
        raise DataError(f"{place} has {len(train.first)} days to learn from. Give at least {FEWEST}.")
    return City(name.lower(), train, test)


def read_days(path: Path, reader: str = "auto") -> Days:
    """The columns in_* and out_* of one site as whole days; a day begins at the time of the first row."""
    raw = load(path, reader, Request())
    raise_first(raw.findings)
    if len(raw.tables) != 1:
        sites = listed([table.site for table in raw.tables])
        raise DataError(f"{path} holds the sites {sites}. Name the data of one city.")
    (table,) = raw.tables
    first, steps = whole_days(table, path)
    inlets, outlets = (
        tuple(name for name in table.values if name.startswith(way)) for way in ("in_", "out_")
    )
    if not inlets or not outlets:
        raise DataError(f"{path} has no columns in_* and out_*. Name the counts so.")
    stock = next((name for name in STOCKS if name in table.values), None)
    columns = {name: day_matrix(table, name, steps, path) for name in (*inlets, *outlets)}
    return Days(
        torch.stack([columns[name] for name in inlets], dim=-1),
        torch.stack([columns[name] for name in outlets], dim=-1),
        first,
        inlets,
        outlets,
        None if stock is None else day_matrix(table, stock, steps, path),
    )


def whole_days(table: Table, path: Path) -> tuple[pd.DatetimeIndex, int]:
    """The first step of each day and the steps of a day; every day must have them all."""
    times = table.times
    step = pd.Series(times).diff().median()
    if pd.isna(step) or not times.is_monotonic_increasing or pd.Timedelta(days=1) % step != pd.Timedelta(0):
        raise DataError(f"{path}: its steps do not divide a day. Bring the counts to such steps, in order.")
    steps = round(pd.Timedelta(days=1) / step)
    dates, counts = np.unique((times - (times[0] - times[0].normalize())).normalize(), return_counts=True)
    odd = np.flatnonzero(counts != steps)
    if len(odd):
        day = pd.Timestamp(dates[odd[0]])
        raise DataError(f"{path}: {day:%Y-%m-%d} has {counts[odd[0]]} of {steps} steps. Leave such days out.")
    return times[::steps], steps


def day_matrix(table: Table, name: str, steps: int, path: Path) -> Tensor:
    """A column as (T, N), refused where a count is missing or negative."""
    values = table.values[name]
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        when = table.times[int(bad.argmax())]
        raise DataError(
            f"{path}: {name} is {values[bad.argmax()]:g} at {when}. Correct it, or leave the day out."
        )
    return torch.from_numpy(values.reshape(-1, steps).T.astype(np.float32).copy())


def clock_inputs(days: Days, clock: Clock) -> Tensor:
    """The auxiliary input (T, N, A): the time of day from 0 to 1 as in the paper, harmonics, or nothing.

    "harmonics" are sines and cosines of the day and the week, and a mark of the weekend: 29 columns.
    """
    steps, count = days.x.shape[:2]
    if clock == "none":
        return torch.zeros(steps, count, 0)
    if clock == "number":
        return torch.linspace(0.0, 1.0, steps).view(-1, 1, 1).expand(-1, count, -1)
    last = days.first[-1] + (steps - 1) * days.step
    axis = {"time": pd.date_range(days.first[0], last, freq=days.step), "site": [""]}
    waves = with_clock(xr.Dataset(coords=axis), DAY_HARMONICS, WEEK_HARMONICS, weekend=True)
    columns = np.stack([waves[name].to_numpy()[0] for name in waves.data_vars], axis=-1)
    places = ((days.first - days.first[0]) / days.step).to_numpy().round().astype(int)
    return torch.from_numpy(columns[places + np.arange(steps)[:, np.newaxis]]).float()

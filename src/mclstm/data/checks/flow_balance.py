"""What flows in minus what flows out, day by day: counts of real flows seldom close."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from mclstm.data.columns import day
from mclstm.data.site_tables import Raw, Roles, Table

__all__ = ["DailyBalance", "daily_balances"]


class DailyBalance(NamedTuple):
    """The days of one site, and their inflow minus outflow."""

    site: str
    days: int
    inflow: float  # mean per day
    imbalance: float  # mean per day
    largest: float  # of the day with the largest absolute imbalance
    date: str  # of that day

    def sentence(self) -> str:
        """The balance in words.

        >>> DailyBalance("metro", 20, 1000.0, 1.5, -40.0, "2019-01-03").sentence()
        'metro: in - out per day is 1.5 of 1000 on average over 20 days; the largest is -40 (2019-01-03)'
        """
        mean = f"{self.imbalance:.4g} of {self.inflow:.4g} on average over {self.days} days"
        return f"{self.site}: in - out per day is {mean}; the largest is {self.largest:.4g} ({self.date})"


def daily_balances(raw: Raw, roles: Roles) -> list[DailyBalance]:
    """Every site's balance, for data with mass and targets and several steps per day; whole days count."""
    if not roles.mass or not roles.target:
        return []
    balances = [_balance(table, roles) for table in raw.tables]
    return [balance for balance in balances if balance is not None]


def _balance(table: Table, roles: Roles) -> DailyBalance | None:
    mass, target = ([table.values[name] for name in names if name in table.values] for names in roles[::3])
    if not mass or not target or not len(table.times):
        return None
    inflow = pd.Series(np.sum(mass, axis=0), index=table.times)
    change = inflow - np.sum(target, axis=0)
    steps = change.groupby(table.times.normalize()).count()  # without missing values
    whole = steps.index[(steps == steps.max()) & (steps > 1)]
    if not len(whole):
        return None
    by_day = change.groupby(table.times.normalize()).sum()[whole]
    largest = by_day.abs().idxmax()
    mean_inflow = inflow.groupby(table.times.normalize()).sum()[whole].mean()
    return DailyBalance(
        table.site, len(whole), float(mean_inflow), float(by_day.mean()), float(by_day[largest]), day(largest)
    )

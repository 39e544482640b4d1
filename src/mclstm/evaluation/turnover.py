"""How long mass stays in each cell, measured in a simulation: the order of cells in figures and tables."""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor, nn

from mclstm.data.clock import PERIODS
from mclstm.models.mass_model import MassModel
from mclstm.models.output import Output

__all__ = ["by_turnover", "short_time", "step_days", "throughput", "turnover_days"]

Floats = NDArray[np.float64]
STEPS = 365  # of each sequence that are looked at, evenly spread


def throughput(model: nn.Module, output: Output, static: Tensor) -> Floats | None:  # static (B, S)
    """What each cell held and what left it, sums over steps, (B, 2, K); None without such cells."""
    if output.c is None or not isinstance(model, MassModel) or not model.layer.conserving:
        return None
    held, passed = model.trace_of(output, static.to(output.c.device)).throughput(STEPS)
    return np.stack([held.cpu().numpy(), passed.cpu().numpy()], axis=1)


def turnover_days(sums: Floats, time: pd.DatetimeIndex) -> Floats:  # (..., 2, K) -> (..., K)
    """The days that mass stays in each cell; NaN where nothing passes.

    >>> turnover_days(np.array([[6.0, 1.0], [2.0, 0.0]]), pd.date_range("2001-01-01", periods=9))
    array([ 3., nan])
    """
    held, passed = sums[..., 0, :], sums[..., 1, :]
    known = passed > 0
    return np.where(known, held / np.where(known, passed, 1.0), np.nan) * step_days(time)


def step_days(time: pd.DatetimeIndex) -> float:
    """The usual step of the dates, in days."""
    return float(np.median(np.diff(time.as_unit("ns").asi8))) / PERIODS["day"] if len(time) > 1 else 1.0


def by_turnover(turnover: Floats, cells: Iterable[int] | None = None) -> list[int]:
    """Some cells, or all, in the order of every figure and table: the fastest first, unknown ones last.

    turnover: (K,), how long mass stays in each cell

    >>> by_turnover(np.array([np.nan, 30.0, 2.0])), by_turnover(np.array([np.nan] * 3), [2, 0])
    ([2, 1, 0], [0, 2])
    """
    some = range(len(turnover)) if cells is None else cells
    return sorted(some, key=lambda cell: (np.nan_to_num(turnover[cell], nan=np.inf), cell))


def short_time(days: float) -> str:
    """A time for a label, empty where it is not known.

    >>> short_time(41.2), short_time(0.5), short_time(0.01), short_time(float("nan"))
    ('41 d', '12 h', '14 min', '')
    """
    if days != days:
        return ""
    value, unit = (days, "d") if days >= 1 else (days * 24, "h") if days * 24 >= 1 else (days * 1440, "min")
    return f"{value:,.0f} {unit}" if value >= 9.5 else f"{value:.2g} {unit}"

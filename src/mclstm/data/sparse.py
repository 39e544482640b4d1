"""What a training sees of data that was counted at some times of the day only.

Targets at other times are unknown. Mass at other times may be imputed, from the training period alone.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from mclstm.data.clock import at_times, since_start
from mclstm.data.series import names, times
from mclstm.errors import ConfigError

__all__ = ["as_counted", "with_imputed_mass", "with_targets_at"]

Steps = NDArray[np.bool_]  # (time,)


def as_counted(
    series: xr.Dataset, slots: Sequence[str], impute: str | None, learned_from: Steps
) -> xr.Dataset:
    """The series as training sees it, if it was counted in these slots only; without slots, as it is.

    impute: what stands for the mass at other times, as for `with_imputed_mass`; None: the mass itself
    learned_from: the steps of training, in its sequences; a slot that holds none of them is refused
    """
    if not slots:
        return series
    for slot in slots:
        if not (at_times(times(series), [slot]) & learned_from).any():
            raise ConfigError(
                f"scored: no sequence of the training period has a step at {slot!r}. "
                "Give times inside the sequences, or begin these earlier."
            )
    scored = at_times(times(series), slots)
    series = with_targets_at(series, scored)
    return series if impute is None else with_imputed_mass(series, scored, learned_from, impute)


def with_targets_at(series: xr.Dataset, scored: Steps) -> xr.Dataset:
    """The series with its targets unknown at all but the scored steps.

    >>> import pandas as pd
    >>> flow = (("site", "time"), [[1.0, 2.0]], {"role": "target"})
    >>> series = xr.Dataset({"flow": flow}, {"time": pd.date_range("2024", periods=2)})
    >>> with_targets_at(series, np.array([True, False])).flow.to_numpy().tolist()
    [[1.0, nan]]
    """
    targets = names(series, "target")
    hidden = {
        name: series[name].copy(data=np.where(scored, series[name].to_numpy(), np.nan)) for name in targets
    }
    return series.assign(hidden)


def with_imputed_mass(series: xr.Dataset, scored: Steps, learned_from: Steps, how: str) -> xr.Dataset:
    """The series with every mass replaced by a mean of its site at all but the scored steps.

    how: "mean-per-step", the mean at that time of day; "mean", the mean of all times
    learned_from: the steps that the means are taken over; nothing else enters them

    >>> import pandas as pd
    >>> rain = (("site", "time"), [[1.0, 4.0, 3.0, 8.0]], {"role": "mass"})
    >>> series = xr.Dataset({"rain": rain}, {"time": pd.date_range("2024", periods=4, freq="12h")})
    >>> scored, train = np.array([True, False] * 2), np.array([True, True, True, False])
    >>> with_imputed_mass(series, scored, train, "mean-per-step").rain.to_numpy().tolist()
    [[1.0, 4.0, 3.0, 4.0]]
    """
    time = times(series)
    group = np.zeros(len(time), dtype=np.int64)
    if how == "mean-per-step":
        group = np.unique(since_start(time, "day"), return_inverse=True)[1]
    imputed = {}
    for name in names(series, "mass"):
        values = series[name].to_numpy()
        means = np.stack([_group_means(row, group, learned_from) for row in values])[:, group]
        # A step without mass has no input at all; it stays out.
        filled = np.where(scored | ~np.isfinite(values), values, means)
        imputed[name] = series[name].copy(data=filled)
    return series.assign(imputed)


def _group_means(
    values: NDArray[np.float64], group: NDArray[np.int64], counted: Steps
) -> NDArray[np.float64]:
    """The mean of each group over the counted values that are known: (time,) each -> (groups,)."""
    use = counted & np.isfinite(values)
    count = np.bincount(group[use], minlength=group.max() + 1)
    total = np.bincount(group[use], weights=values[use], minlength=group.max() + 1)
    # A time of day that the training never saw takes the mean of all times; a site it never saw has none.
    overall = float(values[use].mean()) if use.any() else np.nan
    return np.where(count > 0, total / np.maximum(count, 1), overall)

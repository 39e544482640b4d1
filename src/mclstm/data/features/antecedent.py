"""What came before as auxiliaries: trailing means of the inputs, for gates that shall know how wet it was.

The gates of an MC-LSTM see how its stores are filled in proportion, not how much they hold. Means over weeks
and months tell them; they steer the gates like every auxiliary and add no mass.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from mclstm.data.series import names
from mclstm.errors import DataError

__all__ = ["antecedent_names", "trailing_mean", "with_antecedent"]


def antecedent_names(columns: Iterable[str], steps: Sequence[int]) -> list[str]:
    """What the means are called, in the order in which a model sees them.

    >>> antecedent_names(["rain"], [7, 30])
    ['rain_mean_7', 'rain_mean_30']
    """
    return [f"{column}_mean_{many}" for column in columns for many in steps]


def trailing_mean(values: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """m_t = mean of x_{t-n+1} ... x_t, of what there is where the record begins later or has a gap.

    values: (site, time), NaN where there is none -> (site, time), NaN at the same places

    >>> trailing_mean(np.array([[np.nan, 1.0, 3.0, 5.0]]), 2).tolist()
    [[nan, 1.0, 2.0, 4.0]]
    """
    present = np.isfinite(values)
    total, count = (
        np.cumsum(np.pad(part, ((0, 0), (1, 0))), axis=1, dtype=np.float64)
        for part in (np.where(present, values, 0.0), present)
    )
    first = np.maximum(np.arange(values.shape[1]) + 1 - steps, 0)
    with np.errstate(invalid="ignore"):
        mean = (total[:, 1:] - total[:, first]) / (count[:, 1:] - count[:, first])
    return np.where(present, mean, np.nan)


def with_antecedent(series: xr.Dataset, steps: Sequence[int]) -> xr.Dataset:
    """The series with the trailing means of its mass and its auxiliaries as further auxiliaries."""
    added = {}
    for column in [*names(series, "mass"), *names(series, "aux")]:
        values, units = series[column].to_numpy(), series[column].attrs["units"]
        for many, name in zip(steps, antecedent_names([column], steps), strict=True):
            if name in series:
                raise DataError(f"the data already has a column {name!r}. Rename it, or change antecedent.")
            about = {"role": "aux", "units": units, "source": f"mean of {column} over {many} steps"}
            added[name] = (("site", "time"), trailing_mean(values, many), about)
    return series.assign(added)

"""Vapour pressure of the air, computed where it was not measured: from dew point or minimum temperature."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from mclstm.data.series import names
from mclstm.data.units import TEMPERATURES, convert, parse
from mclstm.errors import DataError

__all__ = ["saturated", "with_vapour_pressure"]

WARMEST = 45.0  # degC: above every dew point and nightly minimum measured, below every one in kelvin


def saturated(temperature: NDArray[np.float64]) -> NDArray[np.float64]:
    """e = 610.8 exp(17.27 T / (T + 237.3)), Pa: the pressure of vapour in saturated air.

    temperature: T in degC, any shape; at the dew point the air is saturated. FAO-56 (Allen et al. 1998),
    equation 11. Its example 3, 24.5 degC:

    >>> round(float(saturated(np.array(24.5)))), round(float(saturated(np.array(15.0))))
    (3075, 1705)
    """
    pressure: NDArray[np.float64] = 610.8 * np.exp(17.27 * temperature / (temperature + 237.3))
    return pressure


def with_vapour_pressure(series: xr.Dataset, column: str, source: str, aux: Sequence[str]) -> xr.Dataset:
    """The series with an auxiliary `column` in Pa, from dew point or minimum temperature in `source`.

    At night air cools to about its dew point: FAO-56, equation 48, and Daymet take the minimum temperature of
    a day for it. In dry air it lies above the dew point, and so does the pressure from it.
    aux: the auxiliaries of the series in their order; others, read only for this, are dropped
    """
    unit = str(series[source].attrs.get("units", "")) or "degC"
    if parse(unit).amount not in TEMPERATURES:
        raise DataError(f"data.vapour_pressure: {source} is in {unit}, no temperature. Name another column.")
    values = convert(series[source].to_numpy(), unit, "degC", role="aux")
    warmest = float(np.nanmax(values, initial=-np.inf))
    if warmest > WARMEST:
        raise DataError(
            f"data.vapour_pressure: {source} reaches {warmest:g} degC, no dew point and no minimum of a day. "
            f"Declare its unit, for example units: {{{source}: K}}."
        )
    about = {"role": "aux", "units": "Pa", "source": f"saturated at {source}"}
    whole = series.assign({column: (("site", "time"), saturated(values), about)})
    others = [str(name) for name in series.data_vars if name not in names(series, "aux")]
    return whole[[*others, *aux]]

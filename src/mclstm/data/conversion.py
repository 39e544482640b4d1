"""A series in other units: declared conversions, over the sites' areas where a volume becomes a depth."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.data.units import convert
from mclstm.errors import DataError

__all__ = ["areas", "in_units"]


def areas(
    series: xr.Dataset, area_km2: float | str | Mapping[str, float] | None, attributes: pd.DataFrame
) -> Any:
    """The area of each site in km2, (site, 1), from a number, a mapping, or the name of an attribute."""
    if area_km2 is None:
        return None
    sites = list(series["site"].to_numpy())
    if isinstance(area_km2, str):
        if area_km2 not in attributes.columns:
            raise DataError(
                f"there is no attribute {area_km2!r} with the area. Give the area in km2 or an attribute."
            )
        found = pd.to_numeric(attributes[area_km2].reindex(sites), errors="coerce").to_numpy(np.float64)
    elif isinstance(area_km2, Mapping):
        found = np.array([area_km2.get(site, np.nan) for site in sites], dtype=np.float64)
    else:
        found = np.full(len(sites), float(area_km2))
    bad = ~(found > 0) | ~np.isfinite(found)
    if bad.any():
        raise DataError(
            f"the area of site {sites[int(np.argmax(bad))]} is not a positive number of km2. Correct it."
        )
    return found[:, np.newaxis]


def in_units(series: xr.Dataset, wanted: Mapping[str, str], area_km2: Any) -> xr.Dataset:
    """The same series with some variables in other units: the only scaling mass ever sees."""
    series = series.copy()
    for name, unit in wanted.items():
        if name not in series:
            continue  # a target that prediction goes without
        item = series[name]
        stated = item.attrs["units"]
        if not stated:
            raise DataError(
                f"{name} is to be converted to {unit}, but its unit is not declared. Declare it in units."
            )
        area = area_km2[:, 0] if area_km2 is not None and item.dims == ("site",) else area_km2
        values = convert(item.to_numpy(), stated, unit, area_km2=area, role=item.attrs["role"])
        series[name] = (item.dims, values, item.attrs | {"units": unit})
    return series

"""Declared unit conversions: mass is scaled by them alone, and never shifted.

A unit is an amount per time (`mm/day`, `m3/s`, `veh/5min`), an amount, a pressure, or a temperature. A volume
and a depth convert into each other over an area. An amount that this module does not know converts only in
its time part.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from mclstm.errors import DataError

__all__ = ["Unit", "amount_unit", "convert", "factor", "in_units", "known", "parse", "site_areas"]

LENGTHS = {"mm": 1.0, "cm": 10.0, "m": 1000.0, "in": 25.4, "kg m-2": 1.0}  # mm; 1 kg of water on 1 m2 is 1 mm
VOLUMES = {"m3": 1.0, "l": 1e-3, "ft3": 0.028316846592, "km3": 1e9, "hm3": 1e6}  # in m3
PRESSURES = {"Pa": 1.0, "hPa": 100.0, "kPa": 1000.0}  # in Pa
TIMES = {"s": 1, "min": 60, "h": 3600, "day": 86400, "week": 604800}  # in seconds
TEMPERATURES = {"degC": 273.15, "K": 0.0}  # what to add to reach kelvin

SCALED = {"length": LENGTHS, "volume": VOLUMES, "pressure": PRESSURES}
KINDS = SCALED | {"temperature": TEMPERATURES}

TIME_WORDS = {
    "s": "s", "sec": "s", "second": "s", "seconds": "s",
    "min": "min", "minute": "min", "minutes": "min",
    "h": "h", "hr": "h", "hour": "h", "hours": "h",
    "d": "day", "day": "day", "days": "day",
    "week": "week", "weeks": "week",
}  # fmt: skip
ALIASES = {
    "cms": "m3/s", "cumec": "m3/s", "cumecs": "m3/s", "cfs": "ft3/s", "cusec": "ft3/s",
    "c": "degC", "°c": "degC", "degc": "degC", "deg c": "degC", "celsius": "degC", "degrees_celsius": "degC",
    "k": "K", "kelvin": "K",
}  # fmt: skip
AMOUNT_WORDS = {"L": "l", "litre": "l", "liter": "l", "kg/m2": "kg m-2", "kg/m^2": "kg m-2", "inch": "in"}


class Unit(NamedTuple):
    """A parsed unit: the amount and, for a rate, the seconds it is counted over (else 0)."""

    amount: str
    seconds: float


def parse(text: str) -> Unit:
    """Take a unit apart.

    >>> parse("m3 s-1"), parse("veh/5min"), parse("degC")
    (Unit(amount='m3', seconds=1.0), Unit(amount='veh', seconds=300.0), Unit(amount='degC', seconds=0.0))
    """
    plain = text.strip()
    for old, new in (("³", "3"), ("²", "2"), ("**", "^"), ("^3", "3"), ("^-", "-")):
        plain = plain.replace(old, new)
    plain = ALIASES.get(plain.lower(), plain)
    for pattern in (r"(.+)/\s*(\d*)\s*([A-Za-z]+)", r"(.+?)\s+()([A-Za-z]+)-1"):
        match = re.fullmatch(pattern, plain)
        if match and match[3].lower() in TIME_WORDS:
            seconds = TIMES[TIME_WORDS[match[3].lower()]] * float(match[2] or 1)
            if seconds > 0:
                return Unit(_amount(match[1]), seconds)
    return Unit(_amount(plain), 0.0)


def known(text: str) -> bool:
    """Whether this module can convert the amount of a unit."""
    return _kind(parse(text).amount) != "other"


def factor(source: str, target: str, *, area_km2: Any = None) -> Any:
    """The number that turns values in `source` into values in `target`.

    area_km2: a number, or an array that broadcasts with the values

    >>> factor("m3/s", "mm/day", area_km2=86.4)
    1.0
    >>> factor("mm/h", "mm/day"), factor("kg m-2 s-1", "mm/day")
    (24.0, 86400.0)
    """
    if source.strip() == target.strip():
        return 1.0
    old, new = parse(source), parse(target)
    if (old.seconds == 0) != (new.seconds == 0):
        rate, total = (target, source) if new.seconds else (source, target)
        raise DataError(
            f"{source} cannot become {target}: {rate} is a rate, {total} is not. "
            f"If the values are totals per step, declare them as such, for example {parse(total).amount}/day."
        )
    scale = _scale(old.amount, new.amount, source, target, area_km2)
    return scale * new.seconds / old.seconds if old.seconds else scale


def convert(values: Any, source: str, target: str, *, area_km2: Any = None, role: str = "mass") -> Any:
    """Values in `source` expressed in `target`. Temperatures are shifted, and are refused as mass."""
    old, new = parse(source).amount, parse(target).amount
    if old == new and parse(source).seconds == parse(target).seconds:
        return values
    if old in TEMPERATURES and new in TEMPERATURES:
        if role == "mass":
            raise DataError(f"a mass column is in {source}: mass is never shifted. Correct it, or use --aux.")
        return values + (TEMPERATURES[old] - TEMPERATURES[new])
    return values * factor(source, target, area_km2=area_km2)


def in_units(series: xr.Dataset, units: Mapping[str, str], area_km2: Any) -> xr.Dataset:
    """The same series with some variables in other units.

    area_km2: (site, 1), the area over which a volume becomes a depth, or None
    """
    series = series.copy()
    for name, unit in units.items():
        if name not in series:
            continue  # a target that prediction goes without
        item = series[name]
        stated = item.attrs["units"]
        if not stated:
            raise DataError(f"{name} cannot become {unit}: its unit is not declared. Declare it in units.")
        area = area_km2[:, 0] if area_km2 is not None and item.dims == ("site",) else area_km2
        values = convert(item.to_numpy(), stated, unit, area_km2=area, role=item.attrs["role"])
        series[name] = (item.dims, values, item.attrs | {"units": unit, "converted_from": stated})
    return series


def site_areas(
    sites: list[str], area_km2: float | str | Mapping[str, float] | None, attributes: pd.DataFrame
) -> Any:
    """The area of each site in km2, (site, 1), from a number, a mapping, or the name of an attribute."""
    if area_km2 is None:
        return None
    if isinstance(area_km2, str):
        if area_km2 not in attributes.columns:
            raise DataError(f"there is no attribute {area_km2!r}. Give the area in km2 or an attribute.")
        areas = pd.to_numeric(attributes[area_km2].reindex(sites), errors="coerce").to_numpy(np.float64)
    elif isinstance(area_km2, Mapping):
        areas = np.array([area_km2.get(site, np.nan) for site in sites], dtype=np.float64)
    else:
        areas = np.full(len(sites), float(area_km2))
    bad = ~(areas > 0) | ~np.isfinite(areas)
    if bad.any():
        site = sites[int(np.argmax(bad))]
        raise DataError(f"the area of site {site} is not a positive number of km2. Correct it.")
    return areas[:, np.newaxis]


def amount_unit(unit: str, times: pd.DatetimeIndex) -> str:
    """The unit of a sum over steps: a rate's time cancels when it is the step, else both are named.

    >>> days = pd.date_range("2001-01-01", periods=3)
    >>> amount_unit("mm/day", days), amount_unit("m3/s", days), amount_unit("vehicles", days)
    ('mm', 'm3/s × 1 day', 'vehicles')
    """
    rate = parse(unit)
    lengths = np.diff(times.as_unit("ns").asi8)
    if not rate.seconds or not lengths.size:
        return unit
    seconds = float(np.median(lengths)) / 1e9
    if seconds == rate.seconds:
        return rate.amount
    word = next((word for word in reversed(TIMES) if seconds % TIMES[word] == 0), "s")
    return f"{unit} × {seconds / TIMES[word]:g} {word}"


def _scale(old: str, new: str, source: str, target: str, area_km2: Any) -> Any:
    kinds = _kind(old), _kind(new)
    if old == new:
        return 1.0
    if kinds[0] == kinds[1] and kinds[0] in SCALED:
        return SCALED[kinds[0]][old] / SCALED[kinds[0]][new]
    if set(kinds) == {"length", "volume"}:
        if area_km2 is None:
            raise DataError(f"{source} becomes {target} only over an area: declare the area in km2.")
        if kinds == ("volume", "length"):
            return VOLUMES[old] / LENGTHS[new] / (area_km2 * 1e3)  # 1 m3 on 1 km2 is 1e-3 mm
        return LENGTHS[old] / VOLUMES[new] * (area_km2 * 1e3)
    raise DataError(f"{source} cannot become {target}: they are different things. Declare the file's unit.")


def _amount(text: str) -> str:
    text = re.sub(r"\s+", " ", text.strip().strip("*. "))
    return AMOUNT_WORDS.get(text, text)


def _kind(amount: str) -> str:
    for kind, table in KINDS.items():
        if amount in table:
            return kind
    return "other"

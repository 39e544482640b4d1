"""Declared unit conversions: the only way mass is ever scaled, and never shifted.

A unit is an amount per time (`mm/day`, `m3/s`, `veh/5min`), an amount, a pressure, or a temperature. A volume
and a depth convert into each other over an area; amounts this module does not know convert only in their
time part.
"""

import re
from typing import Any, NamedTuple

from mclstm.errors import DataError

__all__ = ["Unit", "convert", "factor", "known", "parse"]

LENGTHS = {
    "mm": 1.0,
    "cm": 10.0,
    "m": 1000.0,
    "in": 25.4,
    "kg m-2": 1.0,
}  # in mm; 1 kg of water on 1 m2 is 1 mm
VOLUMES = {"m3": 1.0, "l": 1e-3, "ft3": 0.028316846592, "km3": 1e9, "hm3": 1e6}  # in m3
PRESSURES = {"Pa": 1.0, "hPa": 100.0, "kPa": 1000.0}  # in Pa
TIMES = {"s": 1, "min": 60, "h": 3600, "day": 86400, "week": 604800}  # in seconds
TEMPERATURES = {"degC": 273.15, "K": 0.0}  # what to add to reach kelvin

KINDS = {"length": LENGTHS, "volume": VOLUMES, "pressure": PRESSURES, "temperature": TEMPERATURES}

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
    """A parsed unit: what is counted and, for a rate, the seconds it is counted over (else 0)."""

    amount: str
    seconds: float


def parse(text: str) -> Unit:
    """Take a unit apart.

    >>> parse("m3 s-1"), parse("veh/5min"), parse("degC")
    (Unit(amount='m3', seconds=1.0), Unit(amount='veh', seconds=300.0), Unit(amount='degC', seconds=0.0))
    """
    plain = (
        text.strip()
        .replace("³", "3")
        .replace("²", "2")
        .replace("**", "^")
        .replace("^3", "3")
        .replace("^-", "-")
    )
    plain = ALIASES.get(plain.lower(), plain)
    for pattern in (r"(.+)/\s*(\d*)\s*([A-Za-z]+)", r"(.+?)\s+()([A-Za-z]+)-1"):
        match = re.fullmatch(pattern, plain)
        if match and match[3].lower() in TIME_WORDS:
            seconds = TIMES[TIME_WORDS[match[3].lower()]] * float(match[2] or 1)
            if seconds > 0:
                return Unit(_amount(match[1]), seconds)
    return Unit(_amount(plain), 0.0)


def known(text: str) -> bool:
    """Whether the unit's amount is one this module can convert."""
    return _kind(parse(text).amount) != "other"


def factor(source: str, target: str, *, area_km2: Any = None) -> Any:
    """What values in `source` are multiplied by to be in `target`; `area_km2` is a number or an array.

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
    """Values in `source` expressed in `target`; what is not mass may be a temperature and is shifted."""
    old, new = parse(source).amount, parse(target).amount
    if old == new and parse(source).seconds == parse(target).seconds:
        return values
    if old in TEMPERATURES and new in TEMPERATURES:
        if role == "mass":
            raise DataError(
                f"a mass column is declared in {source}: mass is never shifted. "
                "Declare a unit of mass, or the column as --aux."
            )
        return values + (TEMPERATURES[old] - TEMPERATURES[new])
    return values * factor(source, target, area_km2=area_km2)


def _scale(old: str, new: str, source: str, target: str, area_km2: Any) -> Any:
    kinds = _kind(old), _kind(new)
    if old == new:
        return 1.0
    if kinds == ("length", "length"):
        return LENGTHS[old] / LENGTHS[new]
    if kinds == ("volume", "volume"):
        return VOLUMES[old] / VOLUMES[new]
    if kinds == ("pressure", "pressure"):
        return PRESSURES[old] / PRESSURES[new]
    if set(kinds) == {"length", "volume"}:
        if area_km2 is None:
            raise DataError(f"{source} becomes {target} only over an area: declare the area in km2.")
        if kinds == ("volume", "length"):
            return VOLUMES[old] / LENGTHS[new] / (area_km2 * 1e3)  # 1 m3 on 1 km2 is 1e-3 mm
        return LENGTHS[old] / VOLUMES[new] * (area_km2 * 1e3)
    raise DataError(
        f"{source} cannot become {target}: they measure different things. Declare the file's own unit."
    )


def _amount(text: str) -> str:
    text = re.sub(r"\s+", " ", text.strip().strip("*. "))
    return AMOUNT_WORDS.get(text, text)


def _kind(amount: str) -> str:
    for kind, table in KINDS.items():
        if amount in table:
            return kind
    return "other"

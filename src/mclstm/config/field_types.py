"""Types of values that several sections of a config share, and the rules that every section follows."""

import re
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

__all__ = [
    "DEVICE",
    "EXPONENT",
    "NAME",
    "READER",
    "READER_NAMES",
    "RULES",
    "SEARCHED",
    "WORDS",
    "Column",
    "Columns",
    "Count",
    "FilePath",
    "Moment",
    "Period",
    "after",
    "rising",
    "without_doubles",
]

# Strict: text never becomes a number, nor a number true. Frozen: a checked config cannot change.
RULES = ConfigDict(
    extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
)
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
WORDS = r"^\w[\w .-]*$"
SEARCHED = r"^(model|training)(\.[A-Za-z0-9_-]+)+$"  # a key that can be tuned
READER_NAMES = (
    "auto",
    "csv",
    "netcdf",
    "zarr",
    "parquet",
    "npz",
    "generic_nh",
    "caravan",
    "camels_us",
    "traffic4cast",
)
DEVICE = r"^(auto|cpu|cuda(:\d{1,3})?)$"
READER = rf"^({'|'.join(READER_NAMES)}|(camels_us|traffic4cast)/[a-z_]+)$"
FIRST_YEAR, LAST_YEAR = 1678, 2261  # the years pandas can hold in nanoseconds


def exponent(value: Any) -> Any:
    """The number 1e-3, which YAML 1.1 takes for text because it has no dot."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d+(\.\d*)?[eE][+-]?\d+", value):
        return float(value)
    return value


def iso(value: Any) -> str:
    """A date or a date with a time, as YAML gives it or as text, in ISO form."""
    parsed = value
    if isinstance(value, str):
        with suppress(ValueError):
            parsed = (date if len(value) <= 10 else datetime).fromisoformat(value)
    if not isinstance(parsed, date) or getattr(parsed, "tzinfo", None) is not None:
        raise ValueError("needs a date such as 1979-01-31 or 1979-01-31T06:00, without a time zone.")
    if not FIRST_YEAR <= parsed.year <= LAST_YEAR:
        raise ValueError(f"needs a date between the years {FIRST_YEAR} and {LAST_YEAR}.")
    return parsed.isoformat()


def after(end: str) -> datetime:
    """The first instant after a period that ends here; a date counts to the end of its day.

    >>> after("1984-12-31")
    datetime.datetime(1985, 1, 1, 0, 0)
    """
    step = timedelta(microseconds=1) if "T" in end else timedelta(days=1)
    return datetime.fromisoformat(end) + step


def in_order(period: list[str]) -> list[str]:
    start, end = period
    if datetime.fromisoformat(start) >= after(end):
        raise ValueError(f"starts after its end, {start} > {end}. Exchange the two dates.")
    return period


def rising(pair: list[float]) -> list[float]:
    if pair[0] >= pair[1]:
        raise ValueError(f"is {pair[0]:g} to {pair[1]:g}. Write the lower number first.")
    return pair


def without_nul(path: str) -> str:
    if "\0" in path:
        raise ValueError("holds a NUL character, which no path can. Remove it.")
    return path


def without_doubles(values: list[Any]) -> list[Any]:
    doubles = sorted({repr(v) for v in values if values.count(v) > 1})
    if doubles:
        raise ValueError(f"names {doubles[0]} twice. Remove one of them.")
    return values


# Last in an Annotated: bounds that follow a validator are checked, but missing in the JSON schema.
EXPONENT = BeforeValidator(exponent)
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Column = Annotated[str, Field(min_length=1, max_length=200)]
FilePath = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(without_nul)]
Columns = Annotated[list[Column], Field(max_length=1000), AfterValidator(without_doubles)]
Moment = Annotated[str, Field(json_schema_extra={"format": "date"}), BeforeValidator(iso)]
Period = Annotated[list[Moment], Field(min_length=2, max_length=2), AfterValidator(in_order)]

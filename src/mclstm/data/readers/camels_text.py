"""The text files of CAMELS-US: forcing with four lines of header, flow in cubic feet per second."""

import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mclstm.data.readers.text import read_bytes
from mclstm.data.units import factor
from mclstm.errors import DataError

__all__ = ["Forcing", "discharge", "forcing", "model_output"]

HEADER_LINES = 4
DATE_NAMES = ["year", "mnth", "day", "hr"]
NO_FLOW = -999.0
OUTPUT_DATES = {"yr": "year", "dy": "day"}  # what the model output calls them


class Forcing(NamedTuple):
    """The columns of one basin, their units, and its area."""

    times: pd.DatetimeIndex
    values: dict[str, np.ndarray]
    units: dict[str, str]
    area_km2: float


def forcing(path: Path) -> Forcing:
    """One file of forcing. Names are in lower case and without unit: the products differ in both."""
    data = read_bytes(path)
    lines = data.split(b"\n", HEADER_LINES)
    if len(lines) <= HEADER_LINES or not lines[HEADER_LINES].strip():
        raise DataError(f"{path} ends before the first row of data. Copy the file again.")
    names, units = _header(lines[HEADER_LINES - 1].decode("utf-8", "replace"), path)
    times, values = _dated(_numbers(lines[HEADER_LINES], names, path, HEADER_LINES), path, HEADER_LINES)
    return Forcing(times, values, units, _area(lines[2], path))


def discharge(path: Path, site: str, area_km2: float) -> pd.Series:
    """Flow in mm/day over the area, NaN where the file has -999."""
    data = read_bytes(path)
    columns = _numbers(data, ["site", *DATE_NAMES[:3], "flow", "flag"], path, 0, text=("flag",))
    if not site.isdigit() or (columns["site"] != float(site)).any():
        raise DataError(f"{path} has lines of another gauge than {site}. Keep one gauge per file.")
    times, values = _dated(columns, path, 0)
    if not times.is_unique:
        twice = times[times.duplicated()][0]
        raise DataError(f"{path} has two rows for {twice:%Y-%m-%d}. Keep one row per day.")
    depth = values["flow"] * factor("ft3/s", "mm/day", area_km2=area_km2)
    return pd.Series(np.where(values["flow"] == NO_FLOW, np.nan, depth), index=times, name="discharge")


def model_output(data: bytes, path: Path) -> tuple[pd.DatetimeIndex, dict[str, np.ndarray]]:
    """Output of Snow-17 and SAC-SMA in CAMELS, below a line YR MNTH DY HR SWE ...; lower-case names."""
    first, _, rest = data.partition(b"\n")
    words = first.decode("utf-8", "replace").lower().split()
    names = [OUTPUT_DATES.get(word, word) for word in words]
    if names[:4] != DATE_NAMES or len(set(names)) != len(names) or not rest.strip():
        raise DataError(f"{path} does not begin with YR MNTH DY HR and columns of data. Copy the file again.")
    return _dated(_numbers(rest, names, path, 1), path, 1)


def _header(line: str, path: Path) -> tuple[list[str], dict[str, str]]:
    words = line.split()
    names = [word.partition("(")[0].lower() for word in words]
    if names[:4] != DATE_NAMES or len(names) < 5 or len(set(names)) != len(names):
        raise DataError(f"{path}, line 4 does not name columns (Year Mnth Day Hr ...). Copy the file again.")
    units = {
        name: re.sub(r"^C$", "degC", word.partition("(")[2].rstrip(")"))
        for name, word in zip(names, words, strict=True)
    }
    return names, {name: unit for name, unit in units.items() if unit}


def _area(line: bytes, path: Path) -> float:
    """The area in km2, from the third line, which has m2."""
    try:
        area = float(line)
    except ValueError:
        area = float("nan")
    if not 0 < area < 1e14:
        text = line[:30].decode("utf-8", "replace").strip()
        raise DataError(f"{path}, line 3 is not the area in m2 ({text!r}). Copy the file again.")
    return area / 1e6


def _numbers(
    data: bytes, names: list[str], path: Path, skipped: int, text: tuple[str, ...] = ()
) -> dict[str, np.ndarray]:
    # No names or usecols: with them pandas drops surplus fields in silence. Categories are fast.
    kinds: Any = {number: "category" if name in text else np.float64 for number, name in enumerate(names)}
    try:
        frame = pd.read_csv(io.BytesIO(data), sep=r"\s+", header=None, dtype=kinds, low_memory=False)
    except (ValueError, pd.errors.ParserError, OverflowError):
        raise _located(data, names, path, skipped, text) from None
    whole = frame.shape[1] == len(names) and data.endswith(b"\n")
    # Column by column: operations on whole frames take as long as parsing them.
    columns = {
        name: frame[number].to_numpy() for number, name in enumerate(names) if whole and name not in text
    }
    if not whole or any(np.isnan(column).any() for column in columns.values()):
        raise _located(data, names, path, skipped, text)
    return columns


def _located(data: bytes, names: list[str], path: Path, skipped: int, text: tuple[str, ...]) -> DataError:
    """The error for the first line that does not have a number for each column."""
    lines = data.decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, skipped + 1):
        cells = line.split()
        if len(cells) != len(names):
            fields = f"{len(cells)} fields instead of {len(names)}"
            return DataError(f"{path}, line {number} has {fields}. Copy the file again.")
        for name, cell in zip(names, cells, strict=True):
            if name not in text and not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", cell):
                place = f"{path}, line {number}, column {name}"
                return DataError(f"{place}: {cell[:30]!r} is not a number. Correct the line.")
    return DataError(f"{path}, line {skipped + len(lines)} is cut short. Copy the file again.")


def _dated(
    columns: dict[str, np.ndarray], path: Path, skipped: int
) -> tuple[pd.DatetimeIndex, dict[str, np.ndarray]]:
    """The dates that the columns of year, month and day make, and the other columns."""
    year, month, day = (columns[name] for name in DATE_NAMES[:3])
    plausible = (year >= 1800) & (year <= 2200) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    parts = ((year, 1970), (month, 1), (day, 1))
    y, m, d = (np.where(plausible, part, default).astype(np.int64) for part, default in parts)
    months = (y - 1970) * 12 + m - 1
    dates = months.astype("datetime64[M]").astype("datetime64[D]") + (d - 1)
    # Day 31 of a short month would become a day of the next month.
    good = plausible & (dates.astype("datetime64[M]").astype(np.int64) == months)
    if not good.all():
        row = int(np.argmin(good))
        text = "-".join(f"{part[row]:g}" for part in (year, month, day))
        raise DataError(f"{path}, line {skipped + row + 1}: {text} is not a date. Correct the line.")
    values = {name: column for name, column in columns.items() if name not in DATE_NAMES}
    return pd.DatetimeIndex(dates.astype("datetime64[ns]")), values

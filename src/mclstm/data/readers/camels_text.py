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
    """Columns under their names without the unit, in lower case: the products differ in both."""
    data = read_bytes(path)
    lines = data.split(b"\n", HEADER_LINES)
    if len(lines) <= HEADER_LINES or not lines[HEADER_LINES].strip():
        raise DataError(f"{path} ends before the first row of data. Copy the file again.")
    names, units = _header(lines[HEADER_LINES - 1].decode("utf-8", "replace"), path)
    columns = _numbers(lines[HEADER_LINES], names, path, HEADER_LINES)
    times = _index(columns, path, HEADER_LINES)
    values = {name: column for name, column in columns.items() if name not in DATE_NAMES}
    return Forcing(times, values, units, _area(lines[2], path))


def discharge(path: Path, site: str, area_km2: float) -> pd.Series:
    """Flow in mm/day over the area, NaN where it is -999."""
    data = read_bytes(path)
    columns = _numbers(data, ["site", *DATE_NAMES[:3], "flow", "flag"], path, 0, text=("flag",))
    if not site.isdigit() or (columns["site"] != float(site)).any():
        raise DataError(f"{path} has lines of another gauge than {site}. Keep one gauge a file.")
    flow = columns["flow"]
    flow = np.where(flow == NO_FLOW, np.nan, flow * factor("ft3/s", "mm/day", area_km2=area_km2))
    return pd.Series(flow, index=_index(columns, path, 0), name="discharge")


def model_output(data: bytes, path: Path) -> tuple[pd.DatetimeIndex, dict[str, np.ndarray]]:
    """Snow-17 and SAC-SMA as CAMELS ships them: one header line YR MNTH DY HR SWE ..., all lower case."""
    first, _, rest = data.partition(b"\n")
    words = first.decode("utf-8", "replace").lower().split()
    names = [OUTPUT_DATES.get(word, word) for word in words]
    if names[: len(DATE_NAMES)] != DATE_NAMES or len(set(names)) != len(names) or not rest.strip():
        raise DataError(f"{path} does not begin with YR MNTH DY HR and columns of data. Copy the file again.")
    columns = _numbers(rest, names, path, 1)
    values = {name: column for name, column in columns.items() if name not in DATE_NAMES}
    return _index(columns, path, 1), values


def _header(line: str, path: Path) -> tuple[list[str], dict[str, str]]:
    words = line.split()
    names = [word.partition("(")[0].lower() for word in words]
    if (
        names[: len(DATE_NAMES)] != DATE_NAMES
        or len(names) < len(DATE_NAMES) + 1
        or len(set(names)) != len(names)
    ):
        raise DataError(
            f"{path}, line 4 does not name the columns (Year Mnth Day Hr ...). Copy the file again."
        )
    units = {
        name: re.sub(r"^C$", "degC", word.partition("(")[2].rstrip(")"))
        for name, word in zip(names, words, strict=True)
    }
    return names, {name: unit for name, unit in units.items() if unit}


def _area(line: bytes, path: Path) -> float:
    """From m2, the third line, to km2."""
    try:
        area = float(line)
    except ValueError:
        area = float("nan")
    if not 0 < area < 1e14:
        raise DataError(
            f"{path}, line 3 is not the area in m2 ({line[:30].decode('utf-8', 'replace').strip()!r}). "
            "Copy the file again."
        )
    return area / 1e6


def _numbers(
    data: bytes, names: list[str], path: Path, skipped: int, text: tuple[str, ...] = ()
) -> dict[str, np.ndarray]:
    # Neither names nor usecols: with them pandas drops surplus fields in silence. Categories are quick.
    kinds: Any = {number: "category" if name in text else np.float64 for number, name in enumerate(names)}
    try:
        frame = pd.read_csv(io.BytesIO(data), sep=r"\s+", header=None, dtype=kinds, low_memory=False)
    except (ValueError, pd.errors.ParserError, OverflowError):
        raise _located(data, names, path, skipped, text) from None
    whole = frame.shape[1] == len(names) and data.endswith(b"\n")
    # Columns one by one: operations on whole frames take as long as parsing them.
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
            return DataError(
                f"{path}, line {number} has {len(cells)} fields instead of {len(names)}. Copy the file again."
            )
        for name, cell in zip(names, cells, strict=True):
            if name not in text and not re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", cell):
                return DataError(
                    f"{path}, line {number}, column {name}: {cell[:30]!r} is not a number. Correct the line."
                )
    return DataError(
        f"{path}, line {skipped + len(lines)} does not end: the file was cut short. Copy the file again."
    )


def _index(columns: dict[str, np.ndarray], path: Path, skipped: int) -> pd.DatetimeIndex:
    year, month, day = (columns[name] for name in DATE_NAMES[:3])
    plausible = (year >= 1800) & (year <= 2200) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    safe = [
        np.where(plausible, part, fallback).astype(np.int64)
        for part, fallback in ((year, 1970), (month, 1), (day, 1))
    ]
    months = (safe[0] - 1970) * 12 + safe[1] - 1
    dates = months.astype("datetime64[M]").astype("datetime64[D]") + (safe[2] - 1)
    # The 31st of a short month would roll over into the next.
    good = plausible & (dates.astype("datetime64[M]").astype(np.int64) == months)
    if not good.all():
        row = int(np.argmin(good))
        shown = "-".join(f"{part[row]:g}" for part in (year, month, day))
        raise DataError(f"{path}, line {skipped + row + 1}: {shown} is not a date. Correct the line.")
    return pd.DatetimeIndex(dates.astype("datetime64[ns]"))

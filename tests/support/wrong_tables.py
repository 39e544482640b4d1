"""Tables that can be read and trained on, but are wrong, for the suite and for `make record-side-by-side`.

The second half was written after the checks were finished, to see what they miss.

    PYTHONPATH=tests python -m support.wrong_tables FOLDER
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from support.rivers import river

DEPTHS = {"rain": "mm/day", "flow": "mm/day", "tmin": "degC", "tmax": "degC"}
AREA_KM2 = 2977.0
FLOW = {**DEPTHS, "flow": "m3/s"}


class Wrong(NamedTuple):
    """A change of a sound table, what the sentence about it must say, and how the table is declared."""

    change: Callable[[pd.DataFrame], pd.DataFrame | str]
    word: str
    units: dict[str, str] = DEPTHS
    options: dict[str, Any] = {}  # noqa: RUF012


def times(**factors: float) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Some columns multiplied."""
    return lambda table: table.assign(**{name: table[name] * factor for name, factor in factors.items()})


def volume(factor: float) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Flow in m3/s from the area, times a factor."""
    return times(flow=AREA_KM2 / 86.4 * factor)


def half(table: pd.DataFrame, **factors: float) -> pd.DataFrame:
    """Some columns multiplied in the second half of the record."""
    late = np.arange(len(table)) >= len(table) // 2
    return table.assign(
        **{name: table[name].where(~late, table[name] * factor) for name, factor in factors.items()}
    )


def one(table: pd.DataFrame, column: str, value: float, row: int = 700) -> pd.DataFrame:
    """One value replaced."""
    return table.assign(**{column: table[column].where(np.arange(len(table)) != row, value)})


def text(table: pd.DataFrame, dates: str = "%Y-%m-%d", **options: Any) -> str:
    return table.to_csv(date_format=dates, **options)


OVER_AREA = {"area_km2": AREA_KM2}
FIRST: dict[str, Wrong] = {
    "rain in mm/h, declared mm/day": Wrong(times(rain=1 / 24), "per hour and per day"),
    "rain in inches, declared mm/day": Wrong(times(rain=1 / 25.4), "inches and mm"),
    "rain in m, declared mm/day": Wrong(times(rain=1 / 1000), "m and mm"),
    "rain in tenths of mm": Wrong(times(rain=10), "tenths of mm"),
    "flow in m3/s, declared mm/day": Wrong(volume(1), "what flows out is"),
    "flow in m3/s, nothing declared": Wrong(volume(1), "beside mm/day", {}),
    "flow in ft3/s, declared m3/s": Wrong(volume(35.3147), "ft3 and m3", FLOW, OVER_AREA),
    "flow in litres, declared m3/s": Wrong(volume(1000), "litres and m3", FLOW, OVER_AREA),
    "area in square miles": Wrong(volume(1), "square miles", FLOW, {"area_km2": AREA_KM2 / 2.59}),
    "area in hectares": Wrong(volume(1), "hectares", FLOW, {"area_km2": AREA_KM2 * 100}),
    "kelvin, declared degC": Wrong(lambda table: table.assign(tmax=table["tmax"] + 273.15), "temperatures"),
    "rain and flow exchanged": Wrong(
        lambda table: table.rename(columns={"rain": "flow", "flow": "rain"}), "exchanged"),
    "flow two days early": Wrong(lambda table: table.assign(flow=table["flow"].shift(-2)), "before the mass"),
    "a running total of rain": Wrong(
        lambda table: table.assign(rain=table["rain"].cumsum()), "running total"),
    "highest and lowest temperature exchanged": Wrong(
        lambda table: table.rename(columns={"tmin": "tmax", "tmax": "tmin"}), "Exchange the two"),
    "the target among the inputs": Wrong(
        lambda table: table.assign(level=table["flow"] * 3 + 1), "told what it is to predict"),
    "a decimal point lost": Wrong(lambda table: one(table, "rain", 4250.0), "decimal point"),
    "inches from the middle on": Wrong(lambda table: half(table, rain=1 / 25.4), "one unit"),
    "decimal commas": Wrong(lambda table: text(table, sep=";", decimal=","), "--decimal ,"),
    "days before months": Wrong(lambda table: text(table, "%d/%m/%Y"), "--date-format '%d/%m/%Y'"),
}  # fmt: skip


def scattered(table: pd.DataFrame, column: str, value: float) -> pd.DataFrame:
    """A value in every 61st row."""
    return table.assign(**{column: table[column].where(np.arange(len(table)) % 61 != 7, value)})


def monthly_means(table: pd.DataFrame) -> pd.DataFrame:
    months = [table.index.year, table.index.month]
    return table.assign(rain=table["rain"].groupby(months).transform("mean").round(3))


def with_thousands(table: pd.DataFrame) -> str:
    large = table.assign(flow=[f"{value * 1000:,.1f}" for value in table["flow"]])
    return large.to_csv(sep=";")


def units_below(table: pd.DataFrame) -> str:
    header, *rows = table.to_csv().splitlines()
    return "\n".join([header, "-,mm/day,degC,degC,mm/day", *rows]) + "\n"


def hourly(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda _: change(river(24 * 400, "h"))


def second_gauge(table: pd.DataFrame) -> pd.DataFrame:
    error = np.random.default_rng(9).uniform(0.8, 1.2, len(table))
    return table.assign(precip=(table["rain"] * error).round(2))


PER_HOUR = {**DEPTHS, "rain": "mm/h", "flow": "mm/h"}
SECOND: dict[str, Wrong] = {
    "water level instead of flow": Wrong(
        lambda table: table.assign(flow=80 + 25 * np.sqrt(table["flow"])), "what flows out is 4"),
    "flow of other years": Wrong(
        lambda table: table.assign(flow=np.roll(table["flow"], 400)), "does not follow the mass"),
    "flow in m3 per day, declared m3/s": Wrong(volume(86_400), "per second and per day", FLOW, OVER_AREA),
    "flow in ft3/s from the middle on": Wrong(lambda table: half(table, flow=35.3147), "one unit"),
    "monthly rain on every day": Wrong(monthly_means, "longer means were spread over steps"),
    "a year of zeros for missing rain": Wrong(
        lambda table: table.assign(rain=table["rain"].where(table.index.year != 2003, 0.0)),
        "--missing-mass"),
    "Fahrenheit, declared degC": Wrong(
        lambda table: table.assign(tmax=table["tmax"] * 1.8 + 32), "cannot be temperatures"),
    "tenths of a degree": Wrong(times(tmin=10, tmax=10), "cannot be temperatures"),
    "missing rain as 999.9": Wrong(lambda table: scattered(table, "rain", 999.9), "--missing 999.9"),
    "missing flow as -1": Wrong(lambda table: scattered(table, "flow", -1.0), "--missing -1"),
    "thousands separators": Wrong(with_thousands, "is not a number"),
    "a line of units below the header": Wrong(units_below, "Remove the line"),
    "hourly rain in another time zone": Wrong(
        hourly(lambda table: table.assign(rain=table["rain"].shift(6, fill_value=0.0))),
        "rises 6 steps", PER_HOUR),
    "a running total of each day": Wrong(
        hourly(lambda table: table.assign(rain=table["rain"].groupby(table.index.normalize()).cumsum())),
        "running total", PER_HOUR),
    "every row twice": Wrong(lambda table: pd.concat([table, table]), "more than once"),
    "two gauges of the same rain": Wrong(second_gauge, "counted twice", {**DEPTHS, "precip": "mm/day"}),
    "flow sorted on its own": Wrong(lambda table: table.assign(flow=np.sort(table["flow"])), "never falls"),
    "rain shuffled": Wrong(
        lambda table: table.assign(rain=np.random.default_rng(9).permutation(table["rain"])),
        "does not follow"),
    "a point slipped in the area": Wrong(volume(1), "decimal point", FLOW, {"area_km2": AREA_KM2 / 10}),
    "no leap days": Wrong(
        lambda table: table[(table.index.month != 2) | (table.index.day != 29)], "steps of D are missing"),
}  # fmt: skip
WRONG = FIRST | SECOND


def write_table(path: Path, content: pd.DataFrame | str) -> None:
    path.write_text(content if isinstance(content, str) else content.to_csv())


def main(folder: Path) -> None:
    """Write every table as FOLDER/01/river.csv and how it is declared beside it; 00 is the sound one."""
    tables = {"no mistake": Wrong(lambda table: table, ""), **WRONG}
    for number, (name, wrong) in enumerate(tables.items()):
        home = folder / f"{number:02}"
        home.mkdir(parents=True, exist_ok=True)
        write_table(home / "river.csv", wrong.change(river()))
        about = {"name": name, "word": wrong.word, "units": wrong.units, **wrong.options}
        (home / "declared.json").write_text(json.dumps(about) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

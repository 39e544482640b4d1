"""Right tables of twenty looks: `check` finds nothing to say about any of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.data.checks.data_check import check
from mclstm.data.site_tables import Request, Roles
from support.rivers import counts, river

DEPTHS = {"rain": "mm/day", "flow": "mm/day", "tmin": "degC", "tmax": "degC"}
Made = tuple[Path, dict[str, Any]]  # the path, and the options of `check`


def csv(path: Path, table: pd.DataFrame, units: dict[str, str] | None = None, **options: Any) -> Made:
    table.to_csv(path)
    return path, {"units": DEPTHS if units is None else units, **options}


def written(path: Path, request: Request, date_format: str | None = None, **form: Any) -> Made:
    river().to_csv(path, date_format=date_format, **form)
    return path, {"units": DEPTHS, "request": request}


def volumes(path: Path, unit: str, per_mm_day: float, area: float | str, **options: Any) -> Made:
    table = river()
    scaled = table.assign(flow=table["flow"] * per_mm_day)
    return csv(path, scaled, {**DEPTHS, "flow": unit}, area_km2=area, **options)


def sites(seeds: range = range(3)) -> dict[str, pd.DataFrame]:
    return {f"0{seed}": river(1100, rain=1.5 + seed, seed=seed) for seed in seeds}


def long_table(path: Path) -> Made:
    return csv(path, pd.concat([table.assign(site=f"g{name}") for name, table in sites().items()]))


def wide_table(path: Path) -> Made:
    tables = [table.add_suffix(f".{name}") for name, table in sites().items()]
    return csv(path, pd.concat(tables, axis=1), request=Request(separator="."))


def folder(path: Path) -> Made:
    home = path.with_suffix("")
    home.mkdir()
    for name, table in sites().items():
        table.to_csv(home / f"{name}.csv")
    rows = [f"{name},{100 + number},{300 * (number + 1)}" for number, name in enumerate(sites())]
    (home / "attributes.csv").write_text("gauge_id,area,elevation\n" + "\n".join(rows) + "\n")
    roles = Roles(("rain",), ("tmin", "tmax"), ("area", "elevation"), ("flow",))
    return home, {"roles": roles, "units": DEPTHS}


def netcdf(path: Path) -> Made:
    data = xr.concat([xr.Dataset.from_dataframe(table) for table in sites().values()], "site")
    for name, unit in DEPTHS.items():
        data[name].attrs["units"] = unit
    data.assign_coords(site=list(sites())).to_netcdf(path.with_suffix(".nc"), engine="h5netcdf")
    return path.with_suffix(".nc"), {}


def monthly(path: Path) -> Made:
    return csv(path, river(3652).resample("MS").mean())


def dry_river(path: Path) -> Made:
    """A desert stream: dry most of the year, floods after storms, three of a hundred drops flow out."""
    table = river(3652, rain=0.6, warm=18)
    quick = np.maximum(table["rain"] - 4, 0) * 0.3
    return csv(path, table.assign(flow=quick.round(3)))


def named_units(path: Path) -> Made:
    names = {"rain": "Precip [mm]", "flow": "Q (mm/d)", "tmin": "tmin [°C]", "tmax": "tmax [°C]"}
    return csv(path, river().rename(columns=names), {})


def kelvin(path: Path) -> Made:
    table = river()
    warm = table.assign(tmin=table["tmin"] + 273.15, tmax=table["tmax"] + 273.15)
    return csv(path, warm, {**DEPTHS, "tmin": "K", "tmax": "K"})


def some_flow_missing(path: Path) -> Made:
    """A gauge that begins a year late. Missing targets are said: the test looks past that."""
    table = river()
    return csv(path, table.assign(flow=table["flow"].where(table.index >= "2002-01-01")))


def hourly_volumes(path: Path) -> Made:
    table = river(24 * 400, "h")
    units = {**DEPTHS, "rain": "mm/h", "flow": "m3/s"}
    return csv(path, table.assign(flow=table["flow"] * 50 / 3.6), units, area_km2=50.0)


DOORS = {"in_north": "people", "in_west": "people", "out_east": "people", "out_south": "people"}
RIGHT: dict[str, Callable[[Path], Made]] = {
    "daily depths": lambda path: csv(path, river()),
    "hourly depths": lambda path: csv(path, river(24 * 400, "h"), {**DEPTHS, "rain": "mm/h", "flow": "mm/h"}),
    "hourly, flow in m3/s": hourly_volumes,
    "ten days every quarter of an hour": lambda path: csv(
        path, river(960, "15min"), {**DEPTHS, "rain": "mm/15min", "flow": "mm/15min"}),
    "monthly means": monthly,
    "decimal commas, declared": lambda path: written(path, Request(decimal=","), sep=";", decimal=","),
    "German dates, declared": lambda path: written(path, Request(date_format="%d.%m.%Y"), "%d.%m.%Y"),
    "tabs": lambda path: written(path, Request(), sep="\t"),
    "a snow basin": lambda path: csv(path, river(3652, rain=3.0, warm=-1.0)),
    "a dry river": dry_river,
    "the humid tropics": lambda path: csv(path, river(rain=11.0, warm=26.0)),
    "half a year": lambda path: csv(path, river(180)),
    "flow in m3/s over an area": lambda path: volumes(path, "m3/s", 2977 / 86.4, 2977.0),
    "flow in ft3/s over an area": lambda path: volumes(path, "ft3/s", 2977 / 86.4 * 35.3147, 2977.0),
    "units in the names": named_units,
    "kelvin, declared": kelvin,
    "people counted at doors": lambda path: csv(path, counts(), DOORS),
    "some exits not counted": lambda path: csv(path, counts(counted=0.7), DOORS),
    "a stock at the beginning": lambda path: csv(path, counts(stock=800), DOORS),
    "several sites in one table": long_table,
    "a wide table": wide_table,
    "a folder with attributes": folder,
    "netCDF": netcdf,
    "a gauge that begins late": some_flow_missing,
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_table_raises_nothing(name: str, tmp_path: Path) -> None:
    path, options = RIGHT[name](tmp_path / "river.csv")
    findings = check(path, **options).findings
    if name == "a gauge that begins late":
        (missing,) = findings
        assert missing.remedy.startswith("Nothing to do")
    else:
        assert findings == []


def test_there_are_enough() -> None:
    assert len(RIGHT) >= 20

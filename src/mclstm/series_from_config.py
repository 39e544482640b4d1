"""From a config to its series: the columns behind patterns, the data read and checked, the computed columns.

This module never imports torch: a mistake in the data is reported before torch is loaded.
"""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from mclstm.config import Config, DataConfig
from mclstm.data.features import (
    PET,
    SEASON,
    antecedent_names,
    clock_names,
    with_antecedent,
    with_clock,
    with_pet,
    with_season,
)
from mclstm.data.findings import respelled
from mclstm.data.patterns import by_column, has_patterns, resolve, table_columns
from mclstm.data.read import read
from mclstm.data.site_tables import Request, Roles
from mclstm.data.units import in_units
from mclstm.data.vapour_pressure import with_vapour_pressure

__all__ = ["inputs", "read_series", "with_columns"]


def inputs(config: Config) -> dict[str, list[str]]:
    """The columns of a series by role; the computed ones are auxiliaries."""
    data = config.data
    aux = [*data.aux, *antecedent_names([*data.mass, *data.aux], data.antecedent)]
    aux += [*(SEASON if data.day_of_year else ()), *([] if data.pet is None else [PET])]
    aux += clock_names(**_clock(data))
    return {"mass": data.mass, "aux": aux, "static": data.static, "target": data.target}


def _clock(data: DataConfig) -> dict[str, Any]:
    return data.model_dump(include={"time_of_day", "time_of_week", "weekend"})


def with_columns(config: Config) -> Config:
    """The config with the columns of the data in place of patterns such as in_*, in roles and in units."""
    data = config.data
    roles = Roles(tuple(data.mass), tuple(data.aux), tuple(data.static), tuple(data.target))
    if not has_patterns(roles):
        return config
    request = Request(
        static=(*data.static, *data.only_read), time=data.time, site=data.site, date_format=data.date_format,
        separator=data.separator, decimal=data.decimal, attributes=data.attributes, sites=tuple(data.sites),
    )  # fmt: skip
    taken = [*data.only_read, *([data.area] if isinstance(data.area, str) else [])]
    with respelled("data."):
        roles = resolve(roles, table_columns(data.path, data.reader, request), data.path, taken)
    update: dict[str, Any] = {role: list(names) for role, names in roles._asdict().items()}
    update |= {key: by_column(getattr(data, key), roles.columns()) for key in ("units", "convert")}
    return config.model_copy(update={"data": data.model_copy(update=update)})


def read_series(
    config: Config, *, require_target: bool, trained_in: Mapping[str, str] | None = None
) -> xr.Dataset:
    """Read the data of a config as a checked series, with the computed columns.

    trained_in: the unit of each column in training. A column in another unit is converted; a column without
    a unit is taken to have this one.
    """
    data, demanded, vapour = config.data, dict(trained_in or {}), config.data.vapour_pressure
    wanted = data.convert | ({} if data.target_unit is None else dict.fromkeys(data.target, data.target_unit))
    wanted |= demanded
    vapour_unit = None if vapour is None else wanted.pop(vapour.column, None)
    with respelled("data."):
        series = read(
            data.path, data.reader,
            mass=data.mass, aux=data.read_as_aux, static=[*data.static, *data.only_read], target=data.target,
            time=data.time, site=data.site, sites=data.sites, date_format=data.date_format,
            units=data.units, convert=wanted, assume=demanded,
            area_km2=data.area, attributes=data.attributes,
            separator=data.separator, decimal=data.decimal, missing=data.missing_values,
            missing_mass=data.missing_mass, missing_aux=data.missing_aux, require_target=require_target,
            allow_negative_mass=getattr(config.model, "allow_negative_mass", False),
        )  # fmt: skip
    if vapour is not None:
        series = with_vapour_pressure(series, vapour.column, vapour.source, data.aux)
        series = in_units(series, {} if vapour_unit is None else {vapour.column: vapour_unit}, None)
    series = with_antecedent(series, data.antecedent)
    series = with_season(series) if data.day_of_year else series
    series = series if data.pet is None else with_pet(series, **data.pet.model_dump())
    return with_clock(series.drop_vars(data.only_read), **_clock(data))

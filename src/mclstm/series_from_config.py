"""From a config to its series: the columns behind patterns, the data read and checked, the computed columns.

This module never imports torch: a mistake in the data is reported before torch is loaded.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
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
from mclstm.data.parts import Parts, blocks
from mclstm.data.patterns import by_column, has_patterns, resolve, table_columns
from mclstm.data.read import read
from mclstm.data.readers import SITES, detect
from mclstm.data.readers.text import require_file
from mclstm.data.site_tables import Request, Roles
from mclstm.data.units import in_units
from mclstm.data.vapour_pressure import with_vapour_pressure
from mclstm.errors import ConfigError, DataError

__all__ = ["inputs", "read_parts", "read_series", "sites_to_read", "with_columns"]


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
    sites = data.sites if data.in_memory else sites_to_read(data)[:1]
    request = _request(data)._replace(static=(*data.static, *data.only_read), sites=tuple(sites))
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
    Of the data of a run without a test period, only training and validation are read.
    """
    checked = _read_checked(config, require_target, trained_in)
    return _with_computed(config, trained_in, checked)


def read_parts(
    config: Config,
    *,
    require_target: bool,
    trained_in: Mapping[str, str] | None = None,
    finished: Callable[[xr.Dataset], xr.Dataset] = lambda part: part,
) -> Parts:
    """The same, some sites at a time: no more of them are in memory than one part has.

    finished: is done to each part when it is used
    """
    sections = (
        config.data.model_copy(update={"sites": list(part)}) for part in blocks(sites_to_read(config.data))
    )
    checked = (
        _read_checked(config.model_copy(update={"data": section}), require_target, trained_in)
        for section in sections
    )
    return Parts(checked, lambda part: finished(_with_computed(config, trained_in, part)))


def sites_to_read(data: DataConfig) -> list[str]:
    """The names of the sites, of a layout that can be read in parts; no values are read."""
    path = Path(data.path)
    if not path.is_dir():
        require_file(path)
    reader = detect(path) if data.reader == "auto" else data.reader
    if reader not in SITES:
        raise ConfigError(
            f"data.in_memory: the layout {reader} is read as a whole. Leave in_memory out, or export the "
            f"data in one of the layouts {', '.join(SITES)}."
        )
    with respelled("data."):
        sites = data.sites or SITES[reader](path, _request(data))
    twice = [site for site, count in Counter(sites).items() if count > 1]
    if twice:
        raise DataError(f"{data.path} holds the site {twice[0]!r} more than once. Give every site one name.")
    if not sites:
        raise DataError(f"{data.path} holds no site. Check the path.")
    return list(sites)


def _request(data: DataConfig) -> Request:
    """What describes the files of a config; all columns and sites."""
    return Request(
        time=data.time, site=data.site, date_format=data.date_format, separator=data.separator,
        decimal=data.decimal, attributes=data.attributes,
    )  # fmt: skip


def _wanted_units(data: DataConfig, trained_in: Mapping[str, str] | None) -> dict[str, str]:
    """The units to convert columns to."""
    targets = {} if data.target_unit is None else dict.fromkeys(data.target, data.target_unit)
    return data.convert | targets | dict(trained_in or {})


def _read_checked(
    config: Config, require_target: bool, trained_in: Mapping[str, str] | None = None
) -> xr.Dataset:
    """The checked series of what is in the files."""
    data, demanded = config.data, dict(trained_in or {})
    wanted = _wanted_units(data, trained_in)
    if data.vapour_pressure is not None:
        wanted.pop(data.vapour_pressure.column, None)
    with respelled("data."):
        return read(
            data.path, data.reader,
            mass=data.mass, aux=data.read_as_aux, static=[*data.static, *data.only_read], target=data.target,
            time=data.time, site=data.site, sites=data.sites, date_format=data.date_format,
            units=data.units, convert=wanted, assume=demanded,
            area_km2=data.area, attributes=data.attributes,
            separator=data.separator, decimal=data.decimal, missing=data.missing_values,
            missing_mass=data.missing_mass, missing_aux=data.missing_aux, require_target=require_target,
            allow_negative_mass=getattr(config.model, "allow_negative_mass", False),
            within=config.periods.unscored if trained_in is None else [],
        )  # fmt: skip


def _with_computed(config: Config, trained_in: Mapping[str, str] | None, series: xr.Dataset) -> xr.Dataset:
    """A checked series with the computed columns."""
    data, vapour = config.data, config.data.vapour_pressure
    if vapour is not None:
        unit = _wanted_units(data, trained_in).get(vapour.column)
        series = with_vapour_pressure(series, vapour.column, vapour.source, data.aux)
        series = in_units(series, {} if unit is None else {vapour.column: unit}, None)
    series = with_antecedent(series, data.antecedent)
    series = with_season(series) if data.day_of_year else series
    series = series if data.pet is None else with_pet(series, **data.pet.model_dump())
    return with_clock(series.drop_vars(data.only_read), **_clock(data))

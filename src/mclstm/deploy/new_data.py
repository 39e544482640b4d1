"""A user's own data, read under the names and in the units of the model.

A file of columns (YAML, `--columns`) states other names, units and the form of the data:

    columns: {prcp: total_precipitation_sum, tmax: temperature_2m_max}   # the model's name: the user's name
    units: {temperature_2m_max: K}                                       # of the user's columns
    area: area                                                           # km2, or the name of an attribute
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from mclstm.config import Config, DataConfig
from mclstm.config.error_messages import nearest
from mclstm.config.load import checked, unshared
from mclstm.config.safe_yaml import Place, read_yaml
from mclstm.data.columns import listed
from mclstm.data.features import antecedent_names
from mclstm.data.read import require_units
from mclstm.deploy.trained_model import TrainedModel
from mclstm.errors import ConfigError, DataError, MissingColumnError
from mclstm.from_config import read_series

__all__ = ["Source", "column_names", "read_new_data"]

# Keys of a file of columns besides `columns`: those of the section `data` that describe files.
FORM = (
    "units", "area", "time", "site", "sites", "date_format", "separator", "decimal", "missing_values",
    "missing_mass", "missing_aux",
)  # fmt: skip
# Where a value came from, for error messages.
OPTIONS: dict[Place, str] = {
    (): "the model's config",
    ("data", "path"): "--data",
    ("data", "reader"): "--reader",
    ("data", "attributes"): "--attributes",
}
ROLES = {"mass": "mass input", "aux": "auxiliary input", "static": "attribute", "target": "target"}


class Source(NamedTuple):
    """Where new data is, and how its form differs from the training data."""

    path: str
    reader: str | None = None  # None: as in training, or detected
    attributes: str | None = None  # a table with one row of attributes per site
    columns: Path | None = None  # a file of columns


class ColumnsFile(NamedTuple):
    """The content of a file of columns, and the line of every key."""

    columns: dict[str, str]  # the model's name -> the user's name
    form: dict[str, Any]
    origins: dict[Place, str]


def column_names(model: TrainedModel) -> list[str]:
    """The columns that a user gives, without those that are computed from them."""
    data = model.config.data
    return [*(name for role in ROLES for name in getattr(data, role)), *data.only_read]


def read_new_data(model: TrainedModel, source: Source, others: Sequence[str] = ()) -> xr.Dataset:
    """The data as a checked series with the model's columns, in the units of the training data.

    A column without a stated unit is taken to be in the model's unit. others: columns of the other models of
    an ensemble, which a file of columns may name too.
    """
    data, names = model.config.data, column_names(model)
    file = _read_columns_file(source.columns, [*names, *others])
    theirs = {name: file.columns.get(name, name) for name in names}
    config = _config(model, source, file, theirs)
    units = {theirs[name]: model.units[name] for name in names if model.units.get(name)}
    try:
        series = read_series(config, require_target=False, trained_in=units)
    except MissingColumnError as error:
        ours = {their: name for name, their in theirs.items()}.get(error.column)
        if ours is None:
            raise
        raise DataError(f"{_need(model, ours)}, but {error} Name yours in a file for --columns.") from error
    renamed = {their: name for name, their in theirs.items() if their != name}
    renamed |= {f"{their}_filled": f"{name}_filled" for their, name in renamed.items() if name in data.mass}
    means = (antecedent_names(names, data.antecedent) for names in (renamed, renamed.values()))
    renamed |= dict(zip(*means, strict=True))
    return series.rename({their: name for their, name in renamed.items() if their in series})


def _read_columns_file(path: Path | None, names: list[str]) -> ColumnsFile:
    if path is None:
        return ColumnsFile({}, {}, {})
    document = read_yaml(path)
    content = document.values if isinstance(document.values, dict) else {}
    if not content:
        raise ConfigError(f"{path} holds no keys. Begin with columns:, and below it model's name: your name.")
    for key in content:
        if key not in ("columns", *FORM):
            near = nearest(str(key), ("columns", *FORM))
            hint = f"Did you mean {near!r}?" if near else f"Known here: columns, {', '.join(FORM)}."
            raise ConfigError(f"{path}: there is no such key as {str(key)[:40]!r}. {hint}")
    columns = content.get("columns") or {}
    if not isinstance(columns, dict) or not all(isinstance(word, str) for word in columns.values()):
        raise ConfigError(f"{path}, columns: needs a mapping, model's name: your name. Write prcp: rain.")
    for name in columns:
        if name not in names:
            known = f"It has {listed(names)}."
            raise ConfigError(f"{path}, columns: the model has no column {str(name)[:40]!r}. {known}")
    form = {key: value for key, value in content.items() if key != "columns"}
    lines = {("data", *place): f"{path}, line {line}" for place, line in document.lines.items()}
    return ColumnsFile(columns, form, lines | {("data",): str(path)})


def _config(model: TrainedModel, source: Source, file: ColumnsFile, theirs: dict[str, str]) -> Config:
    """The config of the training with the columns, form and place of the user's data."""
    data = model.config.data
    raw = model.config.model_dump()
    roles = {role: [theirs[name] for name in getattr(data, role)] for role in ROLES}
    units = {name: unit for name, unit in data.units.items() if theirs.get(name, name) == name}
    # The only conversions are those to the units of the training, which the caller asks for.
    raw["data"] |= {**roles, **_place(data, source), "units": units, "convert": {}, "target_unit": None}
    if data.pet is not None:
        raw["data"]["pet"] = {key: theirs.get(name, name) for key, name in data.pet.model_dump().items()}
    raw["data"] |= file.form
    stated = file.form.get("units")
    if isinstance(stated, dict):
        require_units(stated, [*theirs.values(), *([file.form["area"]] if "area" in file.form else [])])
        raw["data"]["units"] = units | stated
    return checked(Config, unshared(raw), OPTIONS | file.origins)


def _place(data: DataConfig, source: Source) -> dict[str, Any]:
    """Where the data is. Other data has other sites; attributes of the training may be gone."""
    same = Path(source.path).resolve() == Path(data.path).resolve()
    attributes = data.attributes if same or (data.attributes and Path(data.attributes).exists()) else None
    place = {"path": source.path, "reader": source.reader or data.reader}
    return {**place, "sites": data.sites if same else [], "attributes": source.attributes or attributes}


def _need(model: TrainedModel, name: str) -> str:
    role = next((role for role in ROLES if name in getattr(model.config.data, role)), "static")
    unit = model.units.get(name)
    return f"The model needs the {ROLES[role]} {name!r}{f' in {unit}' if unit else ', of no stated unit'}"

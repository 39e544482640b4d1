"""A user's own data under the names and in the units of the model.

A file of columns (YAML) says what is called otherwise, and how the data are written:

    columns: {prcp: total_precipitation_sum, tmax: temperature_2m_max}   # the model's: the user's
    units: {temperature_2m_max: K}                                       # of the user's columns
    area: area                                                           # km2, or the name of an attribute
"""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from mclstm.config import Config, DataConfig
from mclstm.config.load import checked, unshared
from mclstm.config.source import Place, read_yaml
from mclstm.data.checks.guess import listed
from mclstm.data.features.antecedent import antecedent_names
from mclstm.data.readers import require_units
from mclstm.deploy.trained import Trained
from mclstm.errors import ConfigError, DataError, MissingColumnError
from mclstm.from_config import read_series

__all__ = ["Source", "columns_of", "series_for"]

# What a file of columns may say besides the names: keys of the section `data` that describe files.
FORM = (
    "units", "area", "time", "site", "sites", "date_format", "separator", "decimal", "missing_values",
    "missing_mass", "missing_aux",
)  # fmt: skip
# Where a value that cannot be used came from, for the message.
OPTIONS: dict[Place, str] = {
    (): "the model's config",
    ("data", "path"): "--data",
    ("data", "reader"): "--reader",
    ("data", "attributes"): "--attributes",
}
ROLES = {"mass": "mass input", "aux": "auxiliary input", "static": "attribute", "target": "target"}


class Source(NamedTuple):
    """Where new data is, and how it differs in form from what the model was trained on."""

    path: str
    reader: str | None = None  # None: as in training, or found out
    attributes: str | None = None  # a table with one row of attributes a site
    columns: Path | None = None  # a file of columns


class Given(NamedTuple):
    """What a file of columns says, and where it says it."""

    columns: dict[str, str]  # the model's name -> the user's
    form: dict[str, Any]
    origins: dict[Place, str]


def columns_of(trained: Trained) -> list[str]:
    """The columns a user gives: what is computed from them is not among them."""
    data = trained.config.data
    return [*(name for role in ROLES for name in getattr(data, role)), *data.only_read]


def series_for(trained: Trained, source: Source, others: Sequence[str] = ()) -> xr.Dataset:
    """The data as a checked series with the model's columns, in the units it was trained in.

    A column that neither its file nor the user gives a unit is taken to be in the model's. others: columns
    that a file of columns may name besides, because another model of the same ensemble has them.
    """
    data, names = trained.config.data, columns_of(trained)
    given = Given({}, {}, {}) if source.columns is None else _read(source.columns, [*names, *others])
    theirs = {name: given.columns.get(name, name) for name in names}
    config = _config(trained, source, given, theirs)
    wanted = {theirs[name]: trained.units[name] for name in names if trained.units.get(name)}
    try:
        series = read_series(config, require_target=False, trained_in=wanted)
    except MissingColumnError as error:
        ours = {their: name for name, their in theirs.items()}.get(error.column)
        if ours is None:
            raise
        raise DataError(f"{_need(trained, ours)}, but {error} Name yours in a file for --columns.") from error
    renamed = {their: name for name, their in theirs.items() if their != name}
    renamed |= {f"{their}_filled": f"{name}_filled" for their, name in renamed.items() if name in data.mass}
    means = (antecedent_names(names, data.antecedent) for names in (renamed, renamed.values()))
    renamed |= dict(zip(*means, strict=True))
    return series.rename({their: name for their, name in renamed.items() if their in series})


def _read(path: Path, names: list[str]) -> Given:
    document = read_yaml(path)
    content = document.values if isinstance(document.values, dict) else {}
    if not content:
        raise ConfigError(f"{path} holds no keys. Begin with columns:, and below it model's name: your name.")
    for key in content:
        if key not in ("columns", *FORM):
            near = get_close_matches(str(key), ("columns", *FORM), 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known here: columns, {', '.join(FORM)}."
            raise ConfigError(f"{path}: there is no such key as {str(key)[:40]!r}. {hint}")
    columns = content.get("columns") or {}
    if not isinstance(columns, dict) or not all(isinstance(word, str) for word in columns.values()):
        raise ConfigError(f"{path}, columns: needs a mapping, model's name: your name. Write prcp: rain.")
    strange = [str(name) for name in columns if name not in names]
    if strange:
        raise ConfigError(
            f"{path}, columns: the model has no column {strange[0][:40]!r}. It has {listed(names)}."
        )
    origins: dict[Place, str] = {
        ("data", *place): f"{path}, line {line}" for place, line in document.lines.items()
    }
    form = {key: value for key, value in content.items() if key != "columns"}
    return Given(columns, form, origins | {("data",): str(path)})


def _config(trained: Trained, source: Source, given: Given, theirs: dict[str, str]) -> Config:
    """The config of the training with the user's data: their columns, their form, their place."""
    data = trained.config.data
    raw = trained.config.model_dump()
    roles = {role: [theirs[name] for name in getattr(data, role)] for role in ROLES}
    units = {name: unit for name, unit in data.units.items() if theirs.get(name, name) == name}
    # All conversions are those to the units of the training, which the caller demands.
    raw["data"] |= {**roles, **_place(data, source), "units": units, "convert": {}, "target_unit": None}
    if data.pet is not None:
        raw["data"]["pet"] = {key: theirs.get(name, name) for key, name in data.pet.model_dump().items()}
    form = dict(given.form)
    if isinstance(form.get("units"), dict):
        require_units(form["units"], [*theirs.values(), *([form["area"]] if "area" in form else [])])
        form["units"] = units | form["units"]
    raw["data"] |= form
    return checked(Config, unshared(raw), OPTIONS | given.origins)


def _place(data: DataConfig, source: Source) -> dict[str, Any]:
    """Where the data is: of other data, the list of sites and attributes left behind do not hold."""
    same = Path(source.path).resolve() == Path(data.path).resolve()
    kept = data.attributes if same or (data.attributes and Path(data.attributes).exists()) else None
    return {
        "path": source.path,
        "reader": source.reader or data.reader,
        "sites": data.sites if same else [],
        "attributes": source.attributes or kept,
    }


def _need(trained: Trained, name: str) -> str:
    role = next((role for role in ROLES if name in getattr(trained.config.data, role)), "static")
    unit = trained.units.get(name)
    return f"The model needs the {ROLES[role]} {name!r}{f' in {unit}' if unit else ', of no stated unit'}"

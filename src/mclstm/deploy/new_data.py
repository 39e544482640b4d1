"""A user's own data, read under the names and in the units of the model.

A file of columns (YAML, `--columns`) states other names, units and the form of the data:

    columns: {prcp: total_precipitation_sum, tmax: temperature_2m_max}   # the model's name: the user's name
    units: {temperature_2m_max: K}                                       # of the user's columns
    area: area                                                           # km2, or the name of an attribute
    vapour_pressure: {tmin: temperature_2m_min}                          # computes vp; or dew_point: ...
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr

from mclstm.config import Config, DataConfig
from mclstm.config.error_messages import nearest
from mclstm.config.load import checked, unshared
from mclstm.config.safe_yaml import Place, read_yaml
from mclstm.data.checks.departures import departures, trained_ratio
from mclstm.data.checks.mass_budget import budget_findings, series_budgets
from mclstm.data.columns import day, listed
from mclstm.data.features import antecedent_names
from mclstm.data.findings import VALUE, Finding, raise_or_warn, respell
from mclstm.data.parts import Parts
from mclstm.data.read import require_units
from mclstm.deploy.trained_model import TrainedModel
from mclstm.errors import ConfigError, DataError, MissingColumnError
from mclstm.from_config import guided_of
from mclstm.series_from_config import read_parts, read_series

__all__ = ["Dates", "Source", "column_names", "need", "read_new_data", "read_new_parts", "steps_of"]

# Keys of a file of columns besides `columns`: those of the section `data` that describe files.
FORM = (
    "units", "area", "time", "site", "sites", "date_format", "separator", "decimal", "missing_values",
    "missing_mass", "missing_aux", "vapour_pressure", "budget",
)  # fmt: skip
# Where a value came from, for error messages.
OPTIONS: dict[Place, str] = {
    (): "the model's config",
    ("data", "path"): "--data",
    ("data", "reader"): "--reader",
    ("data", "attributes"): "--attributes",
}
ROLES = {"mass": "mass input", "aux": "auxiliary input", "static": "attribute", "target": "target"}
KEY = re.compile(
    rf"\bdata\.(path|reader|attributes|{'|'.join((*ROLES, *FORM))})\b(?:: ({VALUE}))?"
)  # in a message


class Source(NamedTuple):
    """Where new data is, and how its form differs from the training data."""

    path: str
    reader: str | None = None  # None: as in training, or detected
    attributes: str | None = None  # a table with one row of attributes per site
    columns: Path | None = None  # a file of columns


class Dates(NamedTuple):
    """The first and the last date to predict; None leaves an end open."""

    start: str | None = None
    end: str | None = None


class ColumnsFile(NamedTuple):
    """The content of a file of columns, and the line of every key."""

    columns: dict[str, str]  # the model's name -> the user's name
    form: dict[str, Any]
    origins: dict[Place, str]


def column_names(model: TrainedModel) -> list[str]:
    """The columns that a user gives, without those that are computed from them."""
    data = model.config.data
    return [*data.mass, *data.read_as_aux, *data.static, *data.target, *data.only_read]


def read_new_data(model: TrainedModel, source: Source, others: Sequence[str] = ()) -> xr.Dataset:
    """The data as a checked series with the model's columns, in the units of the training data.

    A column without a stated unit is taken to be in the model's unit. others: columns of the other models of
    an ensemble, which a file of columns may name too.
    """
    plan = _plan(model, source, others)
    with _in_own_words(model, plan):
        series = read_series(plan.config, require_target=False, trained_in=plan.units)
    series = _renamed(model, plan, series)
    _judge(model, [series], plan)
    return series


def read_new_parts(model: TrainedModel, source: Source, others: Sequence[str] = ()) -> Parts:
    """The same in parts, all of which are checked before the first is used."""
    plan = _plan(model, source, others)
    with _in_own_words(model, plan):
        parts = read_parts(
            plan.config, require_target=False, trained_in=plan.units, finished=partial(_renamed, model, plan)
        )
    _judge(model, parts, plan)
    return parts


class Plan(NamedTuple):
    """How new data is read: under which names of the user, and in which units."""

    config: Config
    names: dict[str, str]  # the model's name -> the user's name
    units: dict[str, str]  # that the model needs, by the user's name


def _plan(model: TrainedModel, source: Source, others: Sequence[str]) -> Plan:
    data, names = model.config.data, column_names(model)
    file = _read_columns_file(source.columns, [*names, *others])
    theirs = {name: file.columns.get(name, name) for name in names}
    columns = [*names, *(name for name in data.aux if name not in names)]  # with a computed one
    units = {theirs.get(name, name): model.units[name] for name in columns if model.units.get(name)}
    return Plan(_config(model, source, file, theirs), theirs, units)


@contextmanager
def _in_own_words(model: TrainedModel, plan: Plan) -> Iterator[None]:
    """Around code that reads: messages name the user's options, and what the model needs."""
    try:
        with own_options():
            yield
    except MissingColumnError as error:
        ours = {their: name for name, their in plan.names.items()}.get(error.column)
        if ours is None:
            raise
        raise DataError(f"{need(model, ours)}, but {error} Name yours in a file for --columns.") from error


def _renamed(model: TrainedModel, plan: Plan, series: xr.Dataset) -> xr.Dataset:
    """The series under the model's names."""
    data = model.config.data
    renamed = {their: name for name, their in plan.names.items() if their != name}
    renamed |= {f"{their}_filled": f"{name}_filled" for their, name in renamed.items() if name in data.mass}
    means = (antecedent_names(names, data.antecedent) for names in (renamed, renamed.values()))
    renamed |= dict(zip(*means, strict=True))
    return series.rename({their: name for their, name in renamed.items() if their in series})


def _judge(model: TrainedModel, parts: Sequence[xr.Dataset], plan: Plan) -> None:
    """Refuse or warn of what differs from the data of training."""
    findings = _unlike_training(model, parts, plan.config.data.budget)
    raise_or_warn([item._replace(remedy=_own_words(respell(item.remedy, "data."))) for item in findings], "")


def _unlike_training(
    model: TrainedModel, parts: Sequence[xr.Dataset], budget: Sequence[float] | None
) -> list[Finding]:
    """What differs from the data of training, and the mass budget where there are observations."""
    later = (parts[at] for at in range(1, len(parts)))
    findings = departures(parts[0], model.moments, model.ranges, later)
    if not model.config.balances:
        return findings
    guided = guided_of(model.config)  # what a cell holds has not left
    targets = [name for name in model.config.data.target if name not in guided]
    trained = trained_ratio(model.config.data.mass, targets, model.moments)
    flows = (part.drop_vars(guided, errors="ignore") for part in parts)
    budgets = [item for part in flows for item in series_budgets(part)]
    return findings + budget_findings(budgets, budget, trained)


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
    roles = {role: [theirs.get(name, name) for name in getattr(data, role)] for role in ROLES}
    units = {name: unit for name, unit in data.units.items() if theirs.get(name, name) == name}
    # The only conversions are those to the units of the training, which the caller asks for.
    raw["data"] |= {**roles, **_place(data, source), "units": units, "convert": {}, "target_unit": None}
    if data.pet is not None:
        raw["data"]["pet"] = {key: theirs.get(name, name) for key, name in data.pet.model_dump().items()}
    if data.vapour_pressure is not None:
        vapour = data.vapour_pressure.model_dump(exclude_none=True)
        raw["data"]["vapour_pressure"] = {key: theirs.get(name, name) for key, name in vapour.items()}
    raw["data"] |= file.form
    stated = file.form.get("units")
    if isinstance(stated, dict):
        require_units(stated, [*theirs.values(), *_only_there(file.form)])
        raw["data"]["units"] = units | stated
    return checked(Config, unshared(raw), OPTIONS | file.origins)


def _only_there(form: dict[str, Any]) -> list[str]:
    """Columns that a file of columns brings in: an attribute with the area, a temperature for the vapour."""
    vapour = form.get("vapour_pressure")
    columns = [form.get("area"), *(vapour.values() if isinstance(vapour, dict) else [])]
    return [name for name in columns if isinstance(name, str)]


def _place(data: DataConfig, source: Source) -> dict[str, Any]:
    """Where the data is. Other data has other sites; attributes of the training may be gone."""
    same = Path(source.path).resolve() == Path(data.path).resolve()
    attributes = data.attributes if same or (data.attributes and Path(data.attributes).exists()) else None
    place = {"path": source.path, "reader": source.reader or data.reader}
    return {**place, "sites": data.sites if same else [], "attributes": source.attributes or attributes}


@contextmanager
def own_options() -> Iterator[None]:
    """Around code that reads new data: remedies name options of `mclstm predict` instead of keys."""
    try:
        yield
    except DataError as error:
        error.args = (_own_words(str(error)),)
        raise


def _own_words(text: str) -> str:
    return KEY.sub(lambda match: _spelled(*match.groups()), text)


def _spelled(key: str, value: str | None) -> str:
    """An option of `predict`, or what a file of columns has to say."""
    if key in ("path", "reader", "attributes"):
        return "--data" if key == "path" else f"--{key}"
    line = "columns" if key in ROLES else key
    return f"{line if value is None else f'{line}: {value}'} (--columns FILE)"


def steps_of(series: xr.Dataset, dates: Dates, path: str) -> tuple[int, int]:
    """The first step to predict and the step after the last; both dates belong to it."""
    time = series["time"].to_index()
    try:
        steps = time.slice_indexer(dates.start, dates.end)
    except (TypeError, ValueError, OverflowError):
        stated = [f"--{name} {date}" for name, date in dates._asdict().items() if date is not None]
        raise ConfigError(f"{', '.join(stated)}: write dates as 2001-12-31.") from None
    if steps.stop <= steps.start:
        extent = f"{path} covers {day(time[0])} to {day(time[-1])}"
        raise DataError(f"{extent}: --start and --end leave no step of it. Change them.")
    return int(steps.start), int(steps.stop)


def need(model: TrainedModel, name: str) -> str:
    """What to say of a column that is missing: its role and its unit, without a full stop."""
    role = next((role for role in ROLES if name in getattr(model.config.data, role)), "static")
    unit = model.units.get(name)
    return f"The model needs the {ROLES[role]} {name!r}{f' in {unit}' if unit else ', of no stated unit'}"

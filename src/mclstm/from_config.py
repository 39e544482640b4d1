"""From a config, or the folder of a run, to what it stands for: the series, the columns, the model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr
from torch import nn

from mclstm.config import Config, DataConfig, load_config
from mclstm.config.same_model import fingerprinted, seeds_of
from mclstm.data.clock import parse_duration, step_length
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
from mclstm.data.scaling import Moment, moments_from_json
from mclstm.data.sequences import Rhythm, inside_sequences
from mclstm.data.series import times
from mclstm.data.site_tables import Request, Roles
from mclstm.data.sparse import as_counted
from mclstm.data.windows import span
from mclstm.errors import ConfigError
from mclstm.evaluation.prediction_dataset import nonnegative
from mclstm.models import MODELS
from mclstm.models.mass_model import start_of
from mclstm.models.members import seeded
from mclstm.models.output import Sizes, scale_of
from mclstm.training.checkpoint import model_hash
from mclstm.training.folder import RunFolder

__all__ = [
    "SavedRun", "build", "clip_negative", "inputs", "open_run", "read_series", "rhythm_of",
    "seen_in_training", "start_with", "warmup_of", "with_columns",
    "with_residence",
]  # fmt: skip


class SavedRun(NamedTuple):
    """A run from its folder, without its data and with untrained weights."""

    folder: RunFolder
    config: Config
    moments: dict[str, Moment]
    model: nn.Module
    model_hash: str


def open_run(path: Path) -> SavedRun:
    """A run from its folder alone, which may be far from the data it was trained on."""
    folder = RunFolder.existing(path)
    config = load_config(folder.config)
    set_threads(config)
    columns = [name for names in inputs(config).values() for name in names]
    moments = moments_from_json(folder.read_json(folder.moments), str(folder.moments), columns)
    return SavedRun(folder, config, moments, *build(config, moments))


def set_threads(config: Config) -> None:
    """Use the threads of the config: sums, and so the last bits of all results, depend on their number."""
    if config.training.threads is not None:
        torch.set_num_threads(config.training.threads)


def build(config: Config, moments: dict[str, Moment]) -> tuple[nn.Module, str]:
    """The model of a config with its seeded initial weights, and the hash of what defines it.

    Several members are one module; their hash is that of a single one.
    """
    columns, options = inputs(config), config.model.model_dump(exclude={"name", "residence"})
    mass, aux, static, targets = columns.values()
    sizes, scale = Sizes(len(mass), len(aux), len(static), targets), scale_of(moments, mass, targets)
    try:
        model = seeded(lambda: MODELS[config.model.name](sizes, scale, **options), seeds_of(config))
    except ValueError as error:
        raise ConfigError(f"model: {error}") from error
    return model, model_hash({"model": fingerprinted(config.model), "inputs": columns})


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
    data, demanded = config.data, dict(trained_in or {})
    wanted = data.convert | ({} if data.target_unit is None else dict.fromkeys(data.target, data.target_unit))
    with respelled("data."):
        series = read(
            data.path, data.reader,
            mass=data.mass, aux=data.aux, static=[*data.static, *data.only_read], target=data.target,
            time=data.time, site=data.site, sites=data.sites, date_format=data.date_format,
            units=data.units, convert=wanted | demanded, assume=demanded,
            area_km2=data.area, attributes=data.attributes,
            separator=data.separator, decimal=data.decimal, missing=data.missing_values,
            missing_mass=data.missing_mass, missing_aux=data.missing_aux, require_target=require_target,
            allow_negative_mass=getattr(config.model, "allow_negative_mass", False),
        )  # fmt: skip
    series = with_antecedent(series, data.antecedent)
    series = with_season(series) if data.day_of_year else series
    series = series if data.pet is None else with_pet(series, **data.pet.model_dump())
    return with_clock(series.drop_vars(data.only_read), **_clock(data))


def rhythm_of(config: Config) -> Rhythm | None:
    """When sequences begin and end; None where windows slide."""
    return None if config.sequences is None else Rhythm(**config.sequences.model_dump())


def with_residence(config: Config, series: xr.Dataset) -> Config:
    """The config with `stay` and `output_bias` in place of a residence time, from the step of the series."""
    residence = getattr(config.model, "residence", None)
    if residence is None:
        return config
    start = {"residence": None, **start_with(residence, times(series))}
    return config.model_copy(update={"model": config.model.model_copy(update=start)})


def start_with(residence: str, time: pd.DatetimeIndex) -> dict[str, float]:
    """The options `stay` and `output_bias` for a residence time such as 30min, from the steps of the data."""
    step = step_length(time)
    if not step:
        raise ConfigError("residence needs data with steps of one length. Set stay and output_bias instead.")
    try:
        return start_of(parse_duration(residence) / step)
    except ValueError as error:
        raise ConfigError(f"residence: {error}") from None


def seen_in_training(config: Config, series: xr.Dataset, *, impute: bool = True) -> xr.Dataset:
    """The series as training and validation see it, if only some times of the day are scored.

    Without `impute` the mass is what it is; the targets at other times are unknown all the same.
    """
    training, rhythm, time = config.training, rhythm_of(config), times(series)
    learned_from = np.ones(len(time), dtype=bool) if rhythm is None else inside_sequences(time, rhythm)
    first, after = span(series, config.periods.train_pair, "train")
    learned_from[:first] = learned_from[after:] = False
    return as_counted(series, training.scored, training.impute if impute else None, learned_from)


def warmup_of(config: Config) -> int:
    """The steps to run before a period: as many as the model was trained with."""
    training = config.training
    return training.warmup if training.scheme == "sequence" else training.length - 1


def clip_negative(config: Config, predictions: xr.Dataset) -> xr.Dataset:
    """Set predictions below zero to zero, as `evaluation.nonnegative` says; null spares negative masses."""
    choice, negative = config.evaluation.nonnegative, getattr(config.model, "allow_negative_mass", False)
    return nonnegative(predictions, False if choice is None and negative else choice)

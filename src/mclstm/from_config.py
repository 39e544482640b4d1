"""From a config, or the folder of a run, to what it stands for: the series, the columns, the model."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
import xarray as xr
from torch import nn

from mclstm.config import Config, load_config
from mclstm.config.same_model import fingerprinted
from mclstm.data.features import PET, SEASON, antecedent_names, with_antecedent, with_pet, with_season
from mclstm.data.findings import respelled
from mclstm.data.read import read
from mclstm.data.scaling import Moment, moments_from_json
from mclstm.errors import ConfigError
from mclstm.evaluation.prediction_dataset import nonnegative
from mclstm.models import MODELS
from mclstm.models.output import Sizes, scale_of
from mclstm.training.checkpoint import model_hash
from mclstm.training.folder import RunFolder

__all__ = ["SavedRun", "build", "clip_negative", "inputs", "open_run", "read_series", "warmup_of"]


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
    """The model of a config with its seeded initial weights, and the hash of what defines it."""
    columns, options = inputs(config), config.model.model_dump(exclude={"name"})
    mass, aux, static, targets = columns.values()
    sizes, scale = Sizes(len(mass), len(aux), len(static), targets), scale_of(moments, mass, targets)
    torch.manual_seed(config.training.seed)
    try:
        model = MODELS[config.model.name](sizes, scale, **options)
    except ValueError as error:
        raise ConfigError(f"model: {error}") from error
    return model, model_hash({"model": fingerprinted(config.model), "inputs": columns})


def inputs(config: Config) -> dict[str, list[str]]:
    """The columns of a series by role; the computed ones are auxiliaries."""
    data = config.data
    aux = [*data.aux, *antecedent_names([*data.mass, *data.aux], data.antecedent)]
    aux += [*(SEASON if data.day_of_year else ()), *([] if data.pet is None else [PET])]
    return {"mass": data.mass, "aux": aux, "static": data.static, "target": data.target}


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
    return series.drop_vars(data.only_read)


def warmup_of(config: Config) -> int:
    """The steps to run before a period: as many as the model was trained with."""
    training = config.training
    return training.warmup if training.scheme == "sequence" else training.length - 1


def clip_negative(config: Config, predictions: xr.Dataset) -> xr.Dataset:
    """Set predictions below zero to zero, as `evaluation.nonnegative` says; null spares negative masses."""
    choice, negative = config.evaluation.nonnegative, getattr(config.model, "allow_negative_mass", False)
    return nonnegative(predictions, False if choice is None and negative else choice)

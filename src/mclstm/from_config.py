"""What a config and a run folder stand for: the series, the inputs, the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
import xarray as xr
from torch import nn

from mclstm.config import Config, load_config
from mclstm.config.identity import defining
from mclstm.data.features.antecedent import antecedent_names, with_antecedent
from mclstm.data.features.evapotranspiration import PET, with_pet
from mclstm.data.features.season import SEASON, with_season
from mclstm.data.finding import respelled
from mclstm.data.readers import read
from mclstm.data.scaling import Moment, moments_from_json
from mclstm.errors import ConfigError
from mclstm.evaluation.nonnegative import nonnegative
from mclstm.models import MODELS
from mclstm.models.output import Sizes, scale_of
from mclstm.training.checkpoint import model_hash
from mclstm.training.folder import RunFolder

__all__ = ["Opened", "build", "counted", "inputs", "open_run", "read_series", "warmup_of"]


@dataclass(frozen=True)
class Opened:
    """A run without its data: all that prediction needs."""

    folder: RunFolder
    config: Config
    moments: dict[str, Moment]
    model: nn.Module
    model_hash: str


def open_run(path: Path) -> Opened:
    """A run from its folder alone, which may be far from the data it was trained on."""
    folder = RunFolder.existing(path)
    config = load_config(folder.config)
    if config.training.threads is not None:
        # Sums depend on the number of threads: what is evaluated later must not differ in its last bits.
        torch.set_num_threads(config.training.threads)
    needed = [name for columns in inputs(config).values() for name in columns]
    found = moments_from_json(folder.read_json(folder.moments), str(folder.moments), needed)
    return Opened(folder, config, found, *build(config, found))


def build(config: Config, found: dict[str, Moment]) -> tuple[nn.Module, str]:
    """The model of a config with its seeded start, and the fingerprint of what defines it."""
    columns, options = inputs(config), config.model.model_dump(exclude={"name"})
    mass, aux, static, targets = columns.values()
    sizes, scale = Sizes(len(mass), len(aux), len(static), targets), scale_of(found, mass, targets)
    torch.manual_seed(config.training.seed)
    try:
        model = MODELS[config.model.name](sizes, scale, **options)
    except ValueError as error:
        raise ConfigError(f"model: {error}") from error
    return model, model_hash({"model": defining(config.model), "inputs": columns})


def inputs(config: Config) -> dict[str, list[str]]:
    """The columns of a series by role, those that are computed among the auxiliaries."""
    data = config.data
    aux = [*data.aux, *antecedent_names([*data.mass, *data.aux], data.antecedent)]
    aux += [*(SEASON if data.day_of_year else ()), *([] if data.pet is None else [PET])]
    return {"mass": data.mass, "aux": aux, "static": data.static, "target": data.target}


def read_series(
    config: Config, *, require_target: bool, trained_in: Mapping[str, str] | None = None
) -> xr.Dataset:
    """The data a config names as a checked series.

    trained_in: units a model demands, by column: what is in another unit is converted, what names none is
    taken to be in it.
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
    """Steps to run before a period: what the model was trained with."""
    training = config.training
    return training.warmup if training.scheme == "sequence" else training.length - 1


def counted(config: Config, predictions: xr.Dataset) -> xr.Dataset:
    """Predictions as they are scored and given away: amounts of mass that can only be positive are."""
    negative = getattr(config.model, "allow_negative_mass", False)
    wanted = config.evaluation.nonnegative
    return nonnegative(predictions, False if wanted is None and negative else wanted)

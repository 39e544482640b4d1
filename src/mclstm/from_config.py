"""From a config, or the folder of a run, to what it stands for: the model, how it starts, what it sees."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr
from torch import nn

from mclstm.config import Config, load_config
from mclstm.config.same_model import fingerprinted, seeds_of
from mclstm.data.clock import parse_duration, step_length
from mclstm.data.scaling import Moment, moments_from_json
from mclstm.data.sequences import Rhythm, inside_sequences
from mclstm.data.series import times
from mclstm.data.sparse import as_counted
from mclstm.data.windows import span
from mclstm.errors import ConfigError
from mclstm.evaluation.prediction_dataset import is_mass, nonnegative
from mclstm.models import MODELS
from mclstm.models.mass_model import start_of
from mclstm.models.members import seeded
from mclstm.models.output import Sizes, scale_of
from mclstm.series_from_config import inputs
from mclstm.training.checkpoint import model_hash
from mclstm.training.device import find_device
from mclstm.training.folder import RunFolder
from mclstm.training.ranks import Ranks
from mclstm.training.start import Start, read_start

__all__ = [
    "SavedRun", "alone", "build", "clip_negative", "clipped_targets", "guided_of", "open_run", "rhythm_of",
    "seen_in_training", "start_with", "training_start", "warmup_of", "with_residence",
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


def alone(config: Config) -> Ranks:
    """This process as the only one that trains, on the device of the config."""
    return Ranks(find_device(config.training.device, torch.cuda.device_count()))


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


def guided_of(config: Config) -> list[str]:
    """The targets that are the content of a cell and no outflow."""
    return list(getattr(config.model, "guided", {}))


def training_start(config: Config) -> Start | None:
    """The weights to begin with and their scaling, if the config names any."""
    if config.training.start is None:
        return None
    columns = [name for names in inputs(config).values() for name in names]
    return read_start(Path(config.training.start), config.training.seed, columns)


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
    return nonnegative(predictions, clips_negative(config))


def clips_negative(config: Config) -> bool | None:
    """Whether predictions below zero are set to zero; None: those of targets in the unit of the mass."""
    choice, negative = config.evaluation.nonnegative, getattr(config.model, "allow_negative_mass", False)
    return False if choice is None and negative else choice


def clipped_targets(config: Config, units: Mapping[str, str]) -> list[bool]:
    """Of every target whether it is set to zero where it is predicted below it; units: of the training."""
    choice, mass = clips_negative(config), units.get(config.data.mass[0], "")
    return [is_mass(units.get(name, ""), mass) if choice is None else choice for name in config.data.target]

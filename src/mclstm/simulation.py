"""A period simulated as a config says: continuously, with restarts or in sequences, by a model or members."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
import xarray as xr
from torch import nn

from mclstm.config import Config
from mclstm.config.same_model import seeds_of
from mclstm.data.clock import at_times
from mclstm.data.parts import with_inputs
from mclstm.data.scaling import Moment
from mclstm.data.sequences import inside_sequences, sequence_begins
from mclstm.data.series import names, times
from mclstm.data.windows import Tensors, span, tensors
from mclstm.errors import ConfigError
from mclstm.evaluation.ensemble import simulate_all
from mclstm.evaluation.process_rivals import PROCESS_RIVALS, weather_of
from mclstm.evaluation.restarts import simulate_with_restarts, with_restarts
from mclstm.evaluation.rival_scores import record_of, rival_predictions
from mclstm.evaluation.rivals import Weather
from mclstm.evaluation.simulate import simulate
from mclstm.evaluation.simulate_sequences import simulate_sequences
from mclstm.from_config import clip_negative, rhythm_of, seen_in_training, warmup_of
from mclstm.models.members import Members

__all__ = ["process_weather", "simulate_parts", "simulate_period", "simulate_rivals"]


def simulate_period(
    config: Config,
    model: nn.Module,
    data: Tensors,
    series: xr.Dataset,
    period: tuple[int, int],
    stores: bool = True,
) -> xr.Dataset:
    """The predictions of a period, (site, time); of several members the mean, with each of them beside it.

    The stores of a ledger restart with sequences, never with `evaluation.restart`.
    """
    rhythm, restart = rhythm_of(config), config.evaluation.restart

    def one(single: nn.Module, cells: bool) -> xr.Dataset:
        if rhythm is not None:
            return simulate_sequences(single, data, series, period, rhythm, stores=stores, cells=cells)
        arguments = single, data, series, period, warmup_of(config)
        if restart is None:
            return simulate(*arguments, stores=stores, cells=cells).predictions
        restarted = simulate_with_restarts(*arguments, restart, config.training.batch_size)
        return with_restarts(simulate(*arguments).predictions, restarted) if stores else restarted

    if not isinstance(model, Members):
        return one(model, True)
    # The mean is that of predictions as they would be scored alone.
    return simulate_all(model, lambda *member: clip_negative(config, one(*member)), seeds_of(config))


def simulate_parts(
    config: Config,
    model: nn.Module,
    parts: Sequence[xr.Dataset],
    moments: Mapping[str, Moment],
    period: tuple[int, int],
    stores: bool = True,
) -> Iterator[xr.Dataset]:
    """The predictions of a period, part after part of a series."""
    for part, before in with_inputs(parts, slice(*period)):
        data = tensors(part, moments, torch.float32)
        predictions = simulate_period(config, model, data, part, period, stores)
        yield predictions.isel(site=slice(before, None))


def simulate_rivals(
    config: Config, series: xr.Dataset, period: slice, predictions: xr.Dataset
) -> dict[str, xr.Dataset]:
    """The predictions of every rival in a period, fitted on what the model was trained on."""
    chosen, time, rhythm = config.evaluation.against, times(series), rhythm_of(config)
    if not chosen:
        return {}
    begins, train = np.zeros((2, len(time)), dtype=bool)
    train[slice(*span(series, config.periods.train_pair, "train"))] = True
    if rhythm is not None:
        begins, train = sequence_begins(time, rhythm), train & inside_sequences(time, rhythm)
    slots, seen = config.training.scored, seen_in_training(config, series)
    scored = at_times(time, slots) if slots else np.ones(len(time), dtype=bool)
    known = {name: np.where(train, seen[name], series[name]) for name in names(series, "mass")}
    mass = {name: series[name].copy(data=values) for name, values in known.items()}
    record = record_of(series.assign(mass), begins, scored)._replace(weather=process_weather(config, series))
    parts = {name: rival_predictions(name, record, train, period, predictions) for name in chosen}
    return {name: clip_negative(config, flows) for name, flows in parts.items()}


def process_weather(config: Config, series: xr.Dataset) -> Weather | None:
    """What the process models among the rivals see; None where there is none of them."""
    chosen = [name for name in config.evaluation.against if name in PROCESS_RIVALS]
    if not chosen:
        return None
    if config.data.pet is None:
        raise ConfigError(f"evaluation.against: {chosen[0]} needs evapotranspiration. Add data.pet.")
    if rhythm_of(config) is not None or config.training.scored:
        raise ConfigError(f"evaluation.against: {chosen[0]} needs days without breaks. Remove it.")
    return weather_of(series, config.data.pet.tmax, config.data.pet.tmin)

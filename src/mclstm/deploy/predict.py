"""Prediction on new data: without observations, from a saved state if there is one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr

from mclstm.data.manifest import require_step
from mclstm.data.windows import Tensors, tensors
from mclstm.deploy.new_data import Dates, Source, column_names, read_new_data, steps_of
from mclstm.deploy.saved_states import (
    SavedStates,
    joined_states,
    load_states,
    require_states,
    save_states,
    sites_of,
)
from mclstm.deploy.site_weights import read_site_weights
from mclstm.deploy.trained_model import (
    TrainedModel,
    model_folders,
    only_member,
    open_model,
    require_one_ensemble,
)
from mclstm.errors import ConfigError
from mclstm.evaluation.ensemble import ensemble_mean
from mclstm.evaluation.simulate import simulate
from mclstm.evaluation.simulate_sequences import simulate_sequences
from mclstm.from_config import clip_negative, rhythm_of, warmup_of
from mclstm.models.output import State

__all__ = [
    "Prediction", "Prepared", "SiteStates", "open_models", "predict", "predict_unsaved", "predicted",
    "prepare", "save_all", "up_to",
]  # fmt: skip

WARMUP = "warmup"


class Prediction(NamedTuple):
    """Predictions for new data by so many members, and a function that saves the states at their end."""

    predictions: xr.Dataset
    save_states: Callable[[Path], None]
    members: int


class Prepared(NamedTuple):
    """New data as a series and as tensors, up to the last step to predict; `first` is the first one."""

    series: xr.Dataset
    data: Tensors
    first: int


class SiteStates(NamedTuple):
    """The states of some sites after the last step, with their names and the step of the data."""

    states: SavedStates
    sites: list[str]
    step: str


def predict(
    path: Path, data: str | Source, state_in: Path | None = None, state_out: Path | None = None
) -> xr.Dataset:
    """Run a trained model over all of `data`, from the start or from a saved state.

    path: a run; a packed model, whose members are averaged; or a folder of packed models, which form one
    ensemble. Predicting one file with `state_out` and the next with `state_in` gives the same numbers as
    predicting both as one file.
    """
    result = predict_unsaved(path, data, state_in, saves=state_out is not None)
    if state_out is not None:
        result.save_states(state_out)
    return result.predictions


def predict_unsaved(
    path: Path,
    data: str | Source,
    state_in: Path | None = None,
    *,
    saves: bool = False,
    dates: Dates = Dates(),  # noqa: B008  # immutable
    member: int | None = None,
) -> Prediction:
    """As `predict`, but the caller saves the states: after the predictions are written, not before.

    saves: whether the caller will; models that cannot continue from a state are then refused
    dates: what to predict; data before it fills the stores · member: the seed of the only one to use
    """
    source = data if isinstance(data, Source) else Source(data)
    models = open_models(path, member, with_states=saves or state_in is not None)
    names = [name for model in models.values() for name in column_names(model)]
    prepared = (prepare(model, source, dates, names) for model in models.values())
    predictions, states = predicted(path, models, prepared, state_in)
    count = sum(len(model.members) for model in models.values())
    return Prediction(predictions, partial(save_all, path, models, [states]), count)


def open_models(path: Path, member: int | None, *, with_states: bool) -> dict[Path, TrainedModel]:
    """The models of an ensemble by folder, or the single one with the wanted member alone.

    with_states: whether they begin or end with a saved state; models that cannot are refused
    """
    models = {folder: open_model(folder) for folder in model_folders(path)}
    if with_states:
        require_states(path, list(models.values()))
    if len(models) == 1:
        return {
            folder: model if member is None else only_member(model, member, path)
            for folder, model in models.items()
        }
    if member is not None:
        raise ConfigError(f"{path} holds several models, whose members share seeds. Choose one of them.")
    require_one_ensemble(models)
    return models


def predicted(
    path: Path, models: Mapping[Path, TrainedModel], prepared: Iterator[Prepared], state_in: Path | None
) -> tuple[xr.Dataset, SiteStates | None]:
    """The mean of all members on the data prepared for each model, and the states of a single model."""
    if len(models) == 1:
        (model,) = models.values()
        return _predict_one(model, partial(_mean, path, models), next(prepared), state_in)
    warmup = max(map(_warmup, models.values()))
    members = (
        one
        for model, data in zip(models.values(), prepared, strict=True)
        for one in _simulate_members(model, data, None, {}, warmup, False)
    )
    return _mean(path, models, members), None


def save_all(
    path: Path, models: Mapping[Path, TrainedModel], states: Sequence[SiteStates | None], file: Path
) -> None:
    """Write the states of all parts of the data into one file; several models have none in common."""
    require_states(path, list(models.values()))
    (model,) = models.values()
    parts = [part for part in states if part is not None]
    sites = [name for part in parts for name in part.sites]
    save_states(file, model, joined_states([part.states for part in parts]), sites, parts[0].step)


def _mean(path: Path, models: Mapping[Path, TrainedModel], members: Iterator[xr.Dataset]) -> xr.Dataset:
    """The mean of all members of the models in a folder, with the weights that it may hold for some sites."""
    names = [
        name if folder == path else f"{folder.name}/{name}"
        for folder, model in models.items()
        for name in model.members
    ]
    first = next(members)
    weights = read_site_weights(path, names, [str(site) for site in first["site"].to_numpy()])
    return ensemble_mean(chain([first], members), weights)


def _predict_one(
    model: TrainedModel,
    mean: Callable[[Iterator[xr.Dataset]], xr.Dataset],
    prepared: Prepared,
    state_in: Path | None,
) -> tuple[xr.Dataset, SiteStates]:
    step = model.step or prepared.series.attrs["step"]  # a single row has no step
    sites = sites_of(prepared.series, prepared.data.covered)
    before = None if state_in is None else load_states(state_in, model, sites, step)
    after: dict[str, State] = {}
    alone = len(model.members) == 1
    members = _simulate_members(model, prepared, before, after, _warmup(model), alone)
    predictions = mean(members)
    last = [None] * len(sites) if before is None else before.dates
    last = [date if site.last is None else site.last for site, date in zip(sites, last, strict=True)]
    filled = _filled(prepared.data, before)
    states = SavedStates(after, last, [None if np.isnan(count) else int(count) for count in filled[:, -1]])
    return predictions, SiteStates(states, [site.name for site in sites], step)


def prepare(
    model: TrainedModel,
    source: Source,
    dates: Dates = Dates(),  # noqa: B008
    names: Sequence[str] = (),
) -> Prepared:
    """New data for a model; names: columns of the other models of the ensemble."""
    series = read_new_data(model, source, names)
    require_step(series, model.step, source.path)
    return up_to(model, series, steps_of(series, dates, source.path))


def up_to(model: TrainedModel, series: xr.Dataset, steps: tuple[int, int]) -> Prepared:
    """A series up to the last step to predict; steps: the first one and the one after the last."""
    series = series.isel(time=slice(steps[1]))
    return Prepared(series, tensors(series, model.moments, torch.float32), steps[0])


def _warmup(model: TrainedModel) -> int:
    """The steps that fill the stores; none where every sequence begins anew, in training too."""
    return 0 if model.config.sequences is not None else warmup_of(model.config)


def _filled(data: Tensors, before: SavedStates | None) -> np.ndarray:
    """How many steps have filled the stores of a site, each step included, (site, time); NaN: not known."""
    known = [0] * len(data.x) if before is None else before.steps
    start = np.array([np.nan if count is None else count for count in known], dtype=np.float64)
    total: np.ndarray = start[:, np.newaxis] + np.cumsum(data.covered, axis=1)
    return total


def _simulate_members(
    trained: TrainedModel,
    prepared: Prepared,
    before: SavedStates | None,
    after: dict[str, State],
    warmup: int,
    cells: bool,
) -> Iterator[xr.Dataset]:
    """The members' simulations, one at a time to save memory; their last states go into `after`."""
    series, data, first = prepared
    rhythm, period = rhythm_of(trained.config), (first, series.sizes["time"])
    filling = data.covered & (_filled(data, before) <= warmup)  # NaN is never less
    about = {"long_name": "1 while the stores fill up: the simulation is not to be used"}
    mark = (("site", "time"), filling[:, first:].astype(np.int8), about)
    for name, model in trained.members.items():
        if rhythm is not None:
            predictions = simulate_sequences(model, data, series, period, rhythm, trained.units, cells=cells)
        else:
            state = None if before is None else before.states[name]
            result = simulate(
                model, data, series, period, warmup=first, state=state, target_units=trained.units,
                cells=cells,
            )  # fmt: skip
            after[name], predictions = result.state, result.predictions
        yield clip_negative(trained.config, predictions).assign({WARMUP: mark})

"""Prediction on new data: without observations, from a saved state if there is one."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
import xarray as xr

from mclstm.data.manifest import require_step
from mclstm.data.windows import Tensors, tensors
from mclstm.deploy.new_data import Source, column_names, read_new_data
from mclstm.deploy.saved_states import SavedStates, load_states, save_states, sites_of
from mclstm.deploy.trained_model import TrainedModel, model_folders, open_model, require_one_ensemble
from mclstm.errors import ConfigError
from mclstm.evaluation.ensemble import ensemble_mean
from mclstm.evaluation.simulate import simulate
from mclstm.evaluation.simulate_sequences import simulate_sequences
from mclstm.from_config import clip_negative, rhythm_of
from mclstm.models.output import State

__all__ = ["Prediction", "predict", "predict_unsaved"]


class Prediction(NamedTuple):
    """Predictions for new data, and a function that saves the states after the last step."""

    predictions: xr.Dataset
    save_states: Callable[[Path], None]


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
    path: Path, data: str | Source, state_in: Path | None = None, *, saves: bool = False
) -> Prediction:
    """As `predict`, but the caller saves the states: after the predictions are written, not before.

    saves: whether the caller will; models that cannot continue from a state are then refused
    """
    source = data if isinstance(data, Source) else Source(data)
    models = {folder: open_model(folder) for folder in model_folders(path)}
    require_states = partial(_require_states, path, list(models.values()))
    if saves or state_in is not None:
        require_states()
    if len(models) == 1:
        return _predict_one(next(iter(models.values())), source, state_in)
    require_one_ensemble(models)
    names = [name for model in models.values() for name in column_names(model)]
    members = (
        member
        for model in models.values()
        for member in _simulate_members(model, *_prepare(model, source, names), None, {}, cells=False)
    )
    return Prediction(ensemble_mean(members), lambda _: require_states())


def _predict_one(model: TrainedModel, source: Source, state_in: Path | None) -> Prediction:
    series, data = _prepare(model, source)
    step = model.step or series.attrs["step"]  # a single row has no step
    sites = sites_of(series, data.covered)
    before = None if state_in is None else load_states(state_in, model, sites, step)
    after: dict[str, State] = {}
    alone = len(model.members) == 1
    predictions = ensemble_mean(_simulate_members(model, series, data, before, after, cells=alone))
    dates = [None] * len(sites) if before is None else before.dates
    dates = [date if site.last is None else site.last for site, date in zip(sites, dates, strict=True)]
    states, names = SavedStates(after, dates), [site.name for site in sites]
    save = partial(save_states, model_hash=model.model_hash, states=states, sites=names, step=step)
    return Prediction(predictions, save)


def _require_states(path: Path, models: list[TrainedModel]) -> None:
    """Refuse models that cannot continue from a saved state."""
    if len(models) > 1:
        raise ConfigError(f"{path} holds several models, which have no common file of states. Choose one.")
    if models[0].config.sequences is not None:
        raise ConfigError(
            f"{path} begins every sequence anew and has no state to go on from. "
            "Leave the state out and give it whole sequences."
        )
    if models[0].config.data.antecedent:
        raise ConfigError(
            f"{path} sees means of earlier steps (data.antecedent), which a saved state does not hold. "
            "Leave the state out and give it the whole record."
        )


def _prepare(model: TrainedModel, source: Source, names: Sequence[str] = ()) -> tuple[xr.Dataset, Tensors]:
    """New data as a series and as tensors; names: columns of the other models of the ensemble."""
    series = read_new_data(model, source, names)
    require_step(series, model.step, source.path)
    return series, tensors(series, model.moments, torch.float32)


def _simulate_members(
    trained: TrainedModel,
    series: xr.Dataset,
    data: Tensors,
    before: SavedStates | None,
    after: dict[str, State],
    *,
    cells: bool,
) -> Iterator[xr.Dataset]:
    """The members' simulations, one at a time to save memory; their last states go into `after`."""
    rhythm, period = rhythm_of(trained.config), (0, series.sizes["time"])
    for name, model in trained.members.items():
        if rhythm is not None:
            predictions = simulate_sequences(model, data, series, period, rhythm, trained.units, cells=cells)
        else:
            state = None if before is None else before.states[name]
            result = simulate(
                model, data, series, period, warmup=0, state=state, target_units=trained.units, cells=cells
            )
            after[name], predictions = result.state, result.predictions
        yield clip_negative(trained.config, predictions)

"""Prediction on new data: no observations needed, from a saved state if there is one."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr

from mclstm.data.windows import tensors
from mclstm.errors import CheckpointError, DataError
from mclstm.evaluation.simulate import simulate
from mclstm.models.output import State
from mclstm.pipeline import Loaded, load_run, read_series
from mclstm.training import checkpoint
from mclstm.training.state import load_weights

__all__ = ["Predicted", "predict", "predicted"]


class Predicted(NamedTuple):
    """What a model says of new data, and a way to keep the stores as they are after it."""

    predictions: xr.Dataset
    keep_state: Callable[[Path], None]


def predict(path: Path, data: str, state_in: Path | None = None, state_out: Path | None = None) -> xr.Dataset:
    """Run a trained model over all of `data`; with a saved state it goes on where that state was taken.

    Two halves equal one whole: predicting a first file with `state_out` and the next with `state_in` gives
    the numbers of predicting both as one. Without a state the stores begin as the model's start says.
    """
    found = predicted(path, data, state_in)
    if state_out is not None:
        found.keep_state(state_out)
    return found.predictions


def predicted(path: Path, data: str, state_in: Path | None = None) -> Predicted:
    """As `predict`, with the state still to be kept: after the predictions are safe, not before."""
    run = load_run(path)
    load_weights(run.folder.weights(), run.model, run.model_hash)
    series = read_series(run.config, require_target=False, path=data)
    sites = [str(site) for site in series["site"].to_numpy()]
    time = series["time"].to_index()
    before = None if state_in is None else load_state(state_in, run, sites, time[0], series.attrs["step"])
    prepared = tensors(series, run.moments, torch.float32)
    result = simulate(run.model, prepared, series, (0, len(time)), warmup=0, state=before)
    keep = partial(save_state, run=run, state=result.state, sites=sites, last=time[-1])
    return Predicted(result.predictions, keep)


def save_state(path: Path, run: Loaded, state: State, sites: list[str], last: pd.Timestamp) -> None:
    """The stores of every site after its last step, with the model and the date they belong to."""
    tensors = {f"state.{name}": value for name, value in state.items()}
    checkpoint.save(path, tensors, {"model_hash": run.model_hash, "sites": sites, "time": last.isoformat()})


def load_state(path: Path, run: Loaded, sites: list[str], first: pd.Timestamp, step: str) -> State:
    """A saved state for these sites; it must belong to this model and end one step before the data begins."""
    about = checkpoint.load(path, model=run.model_hash)[1]
    try:
        known, ended = [str(site) for site in about["sites"]], pd.Timestamp(about["time"])
        due = ended + pd.tseries.frequencies.to_offset(step) if step else first
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(
            f"{path} is a checkpoint, not a state. Give a file made by --state-out."
        ) from error
    if len(known) == len(sites) == 1 and run.config.data.site is None:
        known = sites  # a file without a column of sites names its only one, and the next is called otherwise
    absent = [site for site in sites if site not in known]
    if absent:
        raise DataError(f"{path} holds no state of site {absent[0]!r}. Predict it without --state-in.")
    if due != first:
        raise DataError(
            f"the data begins at {first}, but the state in {path} is of {ended}. "
            f"Give the data that follows the state, from {due} on."
        )
    stored, _ = checkpoint.load(path, expected=blank_state(run, len(known)), model=run.model_hash)
    if not all(bool(torch.isfinite(value).all()) for value in stored.values()):
        raise CheckpointError(f"{path} holds a store that is not finite. Use the state of an earlier date.")
    rows = torch.from_numpy(np.array([known.index(site) for site in sites]))
    return {name.removeprefix("state."): value[rows] for name, value in stored.items()}


@torch.no_grad()
def blank_state(run: Loaded, sites: int) -> State:
    """Names, types and shapes of the state of so many sites, from one empty step of the model."""
    x, a = (torch.zeros(1, sites, values.shape[-1]) for values in (run.data.x, run.data.a))
    state: State = run.model(x, a, torch.zeros(sites, run.data.static.shape[-1])).state
    return {f"state.{name}": value for name, value in state.items()}

"""Prediction on new data: no observations needed, from a saved state if there is one."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray

from mclstm.config import Config
from mclstm.data.manifest import require_step, step_in, units_in
from mclstm.data.windows import tensors
from mclstm.errors import CheckpointError, DataError
from mclstm.evaluation.simulate import simulate
from mclstm.models.output import State
from mclstm.pipeline import Opened, inputs, open_run, read_series
from mclstm.training import checkpoint
from mclstm.training.state import load_weights

__all__ = ["Predicted", "predict", "predicted"]


class Predicted(NamedTuple):
    """What a model says of new data, and a way to keep the stores as they are after it."""

    predictions: xr.Dataset
    keep_state: Callable[[Path], None]


class Site(NamedTuple):
    """A site of the new data with its first and last step that has inputs; None where there is none."""

    name: str
    first: pd.Timestamp | None
    last: pd.Timestamp | None


class Saved(NamedTuple):
    """The stores of sites, and the date of each; None where a site has not begun."""

    state: State  # each (sites, ...)
    dates: list[pd.Timestamp | None]


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
    run = open_run(path)
    load_weights(run.folder.weights(), run.model, run.model_hash)
    about, where = run.folder.read_json(run.folder.manifest), str(run.folder.manifest)
    series = read_series(pointed_at(run.config, data), require_target=False)
    trained = step_in(about, where)
    require_step(series, trained, data)
    step = trained or series.attrs["step"]  # a single row has none of its own
    prepared = tensors(series, run.moments, torch.float32)
    sites = sites_of(series, prepared.covered)
    before = None if state_in is None else load_state(state_in, run, sites, step)
    after, units = (0, series.sizes["time"]), units_in(about, where)
    result = simulate(
        run.model, prepared, series, after, warmup=0,
        state=None if before is None else before.state, target_units=units,
    )  # fmt: skip
    dates = [None] * len(sites) if before is None else before.dates
    dates = [date if site.last is None else site.last for site, date in zip(sites, dates, strict=True)]
    keep = partial(
        save_state, run=run, saved=Saved(result.state, dates), sites=[s.name for s in sites], step=step
    )
    return Predicted(result.predictions, keep)


def pointed_at(config: Config, path: str) -> Config:
    """The config with other data: its list of sites, and attributes that were left behind, do not hold."""
    data = config.data
    if Path(path).resolve() == Path(data.path).resolve():
        return config
    kept = data.attributes if data.attributes and Path(data.attributes).exists() else None
    other = data.model_copy(update={"path": path, "sites": [], "attributes": kept})
    return config.model_copy(update={"data": other})


def sites_of(series: xr.Dataset, covered: NDArray[np.bool_]) -> list[Site]:
    """Every site with its span: sites may begin late and end early."""
    time, found = series["time"].to_index(), []
    for name, row in zip(series["site"].to_numpy(), covered, strict=True):
        steps = np.flatnonzero(row)
        ends = (time[steps[0]], time[steps[-1]]) if steps.size else (None, None)
        found.append(Site(str(name), *ends))
    return found


def save_state(path: Path, run: Opened, saved: Saved, sites: list[str], step: str) -> None:
    """The stores of every site after its last step, with the model and the dates they belong to."""
    tensors = {f"state.{name}": value for name, value in saved.state.items()}
    dates = [None if date is None else date.isoformat() for date in saved.dates]
    about = {"model_hash": run.model_hash, "sites": sites, "time": dates, "step": step}
    checkpoint.save(path, tensors, about)


def load_state(path: Path, run: Opened, sites: list[Site], step: str) -> Saved:
    """A saved state for these sites; it must be of this model and of one step before each site begins."""
    about = checkpoint.load(path, model=run.model_hash)[1]
    try:
        known, dates = [str(site) for site in about["sites"]], dates_in(about)
        offset = pd.tseries.frequencies.to_offset(step or about.get("step") or None)
        due = [None if date is None or offset is None else date + offset for date in dates]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(
            f"{path} is a checkpoint, not a state. Give a file made by --state-out."
        ) from error
    if len(known) == len(sites) == 1 and run.config.data.site is None:
        known = [sites[0].name]  # a file without a column of sites names its only one as it is called itself
    for site in sites:
        if site.name not in known:
            raise DataError(f"{path} holds no state of site {site.name!r}. Predict it without --state-in.")
        require_due(site, dates[known.index(site.name)], due[known.index(site.name)], path)
    stored, _ = checkpoint.load(path, expected=blank_state(run, len(known)), model=run.model_hash)
    if not all(bool(torch.isfinite(value).all()) for value in stored.values()):
        raise CheckpointError(f"{path} holds a store that is not finite. Use the state of an earlier date.")
    rows = [known.index(site.name) for site in sites]
    chosen = {name.removeprefix("state."): value[torch.tensor(rows)] for name, value in stored.items()}
    return Saved(chosen, [dates[row] for row in rows])


def dates_in(about: dict[str, Any]) -> list[pd.Timestamp | None]:
    """The date of every site in a state; older files have one for all."""
    times, sites = about["time"], len(about["sites"])
    if not isinstance(times, list):
        return [pd.Timestamp(times)] * sites
    if len(times) != sites:
        raise ValueError(f"{len(times)} dates for {sites} sites.")
    return [None if time is None else pd.Timestamp(time) for time in times]


def require_due(site: Site, ended: pd.Timestamp | None, due: pd.Timestamp | None, path: Path) -> None:
    """Refuse data that overlaps a site's state or leaves a gap after it; what has not begun may do so now."""
    if site.first is None or due is None or due == site.first:
        return
    raise DataError(
        f"the data begins at {site.first} for site {site.name!r}, but its state in {path} is of {ended}. "
        f"Give the data that follows the state, from {due} on."
    )


@torch.no_grad()
def blank_state(run: Opened, sites: int) -> State:
    """Names, types and shapes of the state of so many sites, from one empty step of the model."""
    sizes = {role: len(columns) for role, columns in inputs(run.config).items()}
    x, a = (torch.zeros(1, sites, sizes[role]) for role in ("mass", "aux"))
    state: State = run.model(x, a, torch.zeros(sites, sizes["static"])).state
    return {f"state.{name}": value for name, value in state.items()}

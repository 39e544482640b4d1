"""The mass of a page's first sites traced, or a sentence that says why it was not."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr
from torch import nn

from mclstm.config import Config
from mclstm.config.same_model import Run, conserving
from mclstm.data.windows import Tensors, span, tensors
from mclstm.deploy.new_data import Source, read_new_data
from mclstm.deploy.trained_model import TrainedModel, by_seed, open_model
from mclstm.errors import CheckpointError, ConfigError, DataError, DataWarning
from mclstm.explain.cell_reading import Storages, read_members
from mclstm.explain.mass_ages import require_conserving
from mclstm.from_config import rhythm_of, warmup_of
from mclstm.report.page.age_data import age_data

__all__ = ["Ages", "Traceable", "ages_of", "ages_of_runs", "opened"]

FEWEST = 30  # steps


class Ages(NamedTuple):
    """What tracing tells of the first sites of a page, in the order of `PageModel`."""

    ages: Mapping[str, Mapping[str, Any]] = {}  # by site, see `age_data`
    why: str = ""  # other sites have none
    cells: Mapping[str, pd.DataFrame] = {}  # by site, see `read_members`


class Traceable(NamedTuple):
    """Models of one config, and the data they ran on."""

    config: Config
    models: Mapping[int, nn.Module]  # by seed
    data: Tensors
    series: xr.Dataset
    warmup: int | None  # steps before the first of the page that filled the stores; None: all there are


def opened(model: TrainedModel, source: Source, warmup: int | None) -> Traceable:
    """A trained model with data read from the disk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # said when the data was read first
        series = read_new_data(model, source)
    data = tensors(series, model.moments, torch.float32)
    return Traceable(model.config, by_seed(model), data, series, warmup)


def ages_of_runs(
    runs: list[Run], data: Path | None, predictions: xr.Dataset, most: int, storages: Storages
) -> Ages:
    """Ages of the mean of some runs, whose data may lie elsewhere now."""
    config = runs[0].config
    why = reason(config)
    if why or most < 1:
        return Ages(why=why or "No ages were wanted.")
    try:
        models = [open_model(run.path) for run in runs]
        source = Source(str(data or config.data.path))
        whole = opened(models[0], source, warmup_of(config))
    except (CheckpointError, ConfigError, DataError, OSError) as error:
        return Ages(why=f"No mass was traced: {error}")
    members = {seed: member for model in models for seed, member in by_seed(model).items()}
    return ages_of(whole._replace(models=members), predictions, most, storages)


def reason(config: Config) -> str:
    """Why the mass of a model cannot be traced; empty where it can."""
    if not conserving(config):
        return f"{config.model.name} does not conserve mass from inputs to outlets: its outflow has no age."
    if rhythm_of(config) is not None:
        return (
            "Every sequence begins anew, so that no mass grows old: see mclstm trace for entries and exits."
        )
    return ""


def ages_of(whole: Traceable, predictions: xr.Dataset, most: int, storages: Storages) -> Ages:
    """Ages of the first `most` sites, over the dates of the predictions; storages: compared with cells."""
    why = reason(whole.config)
    if why or predictions.sizes["time"] < FEWEST:
        return Ages(why=why or f"Fewer than {FEWEST} steps are too few to tell ages.")
    known = {str(site): row for row, site in enumerate(whole.series["site"].to_numpy())}
    sites = [str(site) for site in predictions["site"].to_numpy()]
    rows = [known[site] for site in sites[:most] if site in known]
    time = predictions["time"].to_index()
    first, after = span(whole.series, (str(time[0]), str(time[-1])), "page")
    start = 0 if whole.warmup is None else max(0, first - whole.warmup)
    models = {seed: require_conserving(model) for seed, model in whole.models.items()}
    data = part(whole.data, np.array(rows), slice(start, after))
    series = whole.series.isel(site=rows, time=slice(start, after))
    ages = age_data(list(models.values()), data, series, first - start, whole.config.data.target[0])
    cells = {site: read_members(models, data, series, site, storages) for site in ages}
    more = f"Mass was traced at the first {len(rows)} sites; mclstm report --traced {len(sites)} traces all."
    return Ages(ages, more if len(sites) > len(rows) else "", cells)


def part(data: Tensors, rows: np.ndarray, steps: slice) -> Tensors:
    """Some sites and steps of a series."""
    at = torch.from_numpy(rows)
    x, a, y = (values[at, steps] for values in (data.x, data.a, data.y))
    return Tensors(x, a, data.static[at], y, data.covered[rows, steps])

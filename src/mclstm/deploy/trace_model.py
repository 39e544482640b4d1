"""The mass of a trained model traced through data: ages, fates, and the inputs behind an outflow."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr

from mclstm.data.manifest import require_step
from mclstm.data.readers.land import read_land, series_of
from mclstm.data.series import times
from mclstm.data.windows import tensors
from mclstm.deploy.new_data import Source, read_new_data
from mclstm.deploy.trained_model import by_seed, only_member, open_model
from mclstm.errors import ConfigError, DataError
from mclstm.explain.cell_reading import read_members
from mclstm.explain.mass_ages import age_classes, require_conserving, trace_ages
from mclstm.explain.mass_paths import entry_to_exit, origins
from mclstm.from_config import rhythm_of

__all__ = ["Traced", "summary", "trace_model"]

MOST_SITES = 10  # of which the largest outflow is explained unless a date is named


class Traced(NamedTuple):
    """What a trace found."""

    mass: xr.Dataset  # ages and fates by site, see `trace_ages`; where days begin anew, see `entry_to_exit`
    target: str
    origins: dict[str, pd.DataFrame]  # by site, what is behind its outflow at the chosen date
    cells: pd.DataFrame  # what each cell of each member does at these sites, a sentence each


def trace_model(
    path: Path,
    source: Source | None = None,
    *,
    sites: Sequence[str] = (),
    peak: pd.Timestamp | None = None,
    longest: float | None = None,
    member: int | None = None,
    snow: Path | None = None,
) -> Traced:
    """Trace all mass of a run or a packed model through its own data, or through other data.

    sites: by default all · peak: a date whose outflow is explained; by default the largest of each site, if
    there are at most ten · longest: days for which ages are followed · member: the seed of one to trace alone
    · snow: snow water equivalent by site to compare the cells with, see `read_land`
    """
    model = open_model(path) if member is None else only_member(open_model(path), member, path)
    seeded = {seed: require_conserving(alone) for seed, alone in by_seed(model).items()}
    members = list(seeded.values())
    if source is None and not (path / "config.yaml").is_file():
        raise ConfigError(f"{path} is a packed model without data. Give some with --data.")
    source = source or Source(str(model.config.data.path))
    series = read_new_data(model, source)
    require_step(series, model.step, source.path)
    series = _chosen(series, sites)
    data, target = tensors(series, model.moments, torch.float32), model.config.data.target[0]
    rhythm = rhythm_of(model.config)
    if rhythm is not None:
        paths = entry_to_exit(members, data, series, (0, series.sizes["time"]), rhythm)
        return Traced(paths, target, {}, pd.DataFrame())
    mass = trace_ages(members, data, series, age_classes(times(series), longest))
    dates = _dates(mass, target, peak)
    behind = {site: origins(members, data, series, site, date, target) for site, date in dates.items()}
    storages = {} if snow is None else {"swe": series_of(read_land(snow), "swe")}
    tables = [read_members(seeded, data, series, site, storages).assign(site=site) for site in behind]
    return Traced(mass, target, behind, pd.concat(tables) if tables else pd.DataFrame())


def _chosen(series: xr.Dataset, sites: Sequence[str]) -> xr.Dataset:
    known = [str(site) for site in series["site"].to_numpy()]
    for site in sites:
        if site not in known:
            raise DataError(f"the data has no site {site!r}. It has {', '.join(known[:10])}.")
    return series.isel(site=[known.index(site) for site in sites]) if sites else series


def _dates(mass: xr.Dataset, outlet: str, peak: pd.Timestamp | None) -> dict[str, pd.Timestamp]:
    """By site, the date whose outflow is explained: `peak`, or the largest of each site that has any."""
    sites = [str(site) for site in mass["site"].to_numpy()]
    if peak is not None:
        return dict.fromkeys(sites, peak)
    flows = mass["outflow_by_age"].sel(outlet=outlet).sum("age_class", skipna=False).to_numpy()
    return {
        site: pd.Timestamp(mass["time"].to_numpy()[np.nanargmax(flow)])
        for site, flow in zip(sites, flows, strict=True)
        if len(sites) <= MOST_SITES and np.isfinite(flow).any()
    }


def summary(mass: xr.Dataset, target: str) -> pd.DataFrame:
    """One row per site: median age and young share of all outflow, and what became of each input.

    Where days begin anew, one row per hour of entry, input and exit.
    """
    if "transit" not in mass:  # days that begin anew
        return mass.to_dataframe().reset_index()
    ages, transit = mass["age"].to_numpy(), mass["transit"].sel(outlet=target).to_numpy()
    total = transit.sum(-1, keepdims=True)
    shares = np.cumsum(transit / np.where(total > 0, total, 1.0), axis=-1)
    at = (shares >= 0.5).argmax(-1)
    followed = at < len(ages) - 2
    table = pd.DataFrame({"site": mass["site"].to_numpy().astype(str)})
    table["median age (days)"] = np.where(followed, ages[at], np.nan)
    young = mass["young_share"].attrs["young_days"]
    table[f"younger than {young:g} days"] = shares[:, np.searchsorted(ages, young) - 1]
    for name in mass["input"].to_numpy()[:-1]:
        fate = mass["fate"].sel(input=name)
        entered = fate.sum("exit")
        for exit_name in mass["exit"].to_numpy():
            column = str(exit_name) if mass.sizes["input"] == 2 else f"{name}: {exit_name}"
            table[column] = (fate.sel(exit=exit_name) / entered.where(entered > 0)).to_numpy()
    return table

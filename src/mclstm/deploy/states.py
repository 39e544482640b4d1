"""The stores of every site between two predictions, in one file: what they belong to, and since when."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray

from mclstm.deploy.trained import Trained
from mclstm.errors import CheckpointError, DataError
from mclstm.from_config import inputs
from mclstm.models.output import State
from mclstm.training import checkpoint

__all__ = ["Saved", "Site", "load_state", "save_state", "sites_of"]


class Site(NamedTuple):
    """A site of the new data with its first and last step that has inputs; None where there is none."""

    name: str
    first: pd.Timestamp | None
    last: pd.Timestamp | None


class Saved(NamedTuple):
    """The stores of sites, and the date of each; None where a site has not begun."""

    states: dict[str, State]  # by member; each (sites, ...)
    dates: list[pd.Timestamp | None]


def sites_of(series: xr.Dataset, covered: NDArray[np.bool_]) -> list[Site]:
    """Every site with its span: sites may begin late and end early."""
    time, found = series["time"].to_index(), []
    for name, row in zip(series["site"].to_numpy(), covered, strict=True):
        steps = np.flatnonzero(row)
        ends = (time[steps[0]], time[steps[-1]]) if steps.size else (None, None)
        found.append(Site(str(name), *ends))
    return found


def save_state(path: Path, model_hash: str, saved: Saved, sites: list[str], step: str) -> None:
    """The stores of every site after its last step, with the model and the dates they belong to."""
    tensors = {
        f"{prefix(member)}{name}": value
        for member, state in saved.states.items()
        for name, value in state.items()
    }
    dates = [None if date is None else date.isoformat() for date in saved.dates]
    checkpoint.save(path, tensors, {"model_hash": model_hash, "sites": sites, "time": dates, "step": step})


def load_state(path: Path, trained: Trained, sites: list[Site], step: str) -> Saved:
    """A saved state for these sites; it must be of this model and of one step before each site begins."""
    about = checkpoint.load(path, model=trained.model_hash)[1]
    try:
        known, dates = [str(site) for site in about["sites"]], dates_in(about)
        offset = pd.tseries.frequencies.to_offset(step or about.get("step") or None)
        due = [None if date is None or offset is None else date + offset for date in dates]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(
            f"{path} is a checkpoint, not a state. Give a file made by --state-out."
        ) from error
    if len(known) == len(sites) == 1 and trained.config.data.site is None:
        known = [sites[0].name]  # a file without a column of sites names its only one as it is called itself
    for site in sites:
        if site.name not in known:
            raise DataError(f"{path} holds no state of site {site.name!r}. Predict it without --state-in.")
        require_due(site, dates[known.index(site.name)], due[known.index(site.name)], path)
    rows = [known.index(site.name) for site in sites]
    return Saved(stores(path, trained, len(known), rows), [dates[row] for row in rows])


def stores(path: Path, trained: Trained, known: int, rows: list[int]) -> dict[str, State]:
    """Every member's stores of some of the known sites."""
    blank = blank_state(trained, known)
    expected = {
        f"{prefix(member)}{name}": value for member in trained.members for name, value in blank.items()
    }
    stored, _ = checkpoint.load(path, expected=expected, model=trained.model_hash)
    if not all(bool(torch.isfinite(value).all()) for value in stored.values()):
        raise CheckpointError(f"{path} holds a store that is not finite. Use the state of an earlier date.")
    chosen = torch.tensor(rows)
    return {
        member: {name: stored[f"{prefix(member)}{name}"][chosen] for name in blank}
        for member in trained.members
    }


def prefix(member: str) -> str:
    """What stands before the names of a member's stores; the only member of a run has no name.

    >>> prefix(""), prefix("member-3")
    ('state.', 'state.member-3.')
    """
    return f"state.{member}." if member else "state."


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
def blank_state(trained: Trained, sites: int) -> State:
    """Names, types and shapes of a member's state of so many sites, from one empty step of the model."""
    sizes = {role: len(columns) for role, columns in inputs(trained.config).items()}
    x, a = (torch.zeros(1, sites, sizes[role]) for role in ("mass", "aux"))
    model = next(iter(trained.members.values()))
    state: State = model(x, a, torch.zeros(sites, sizes["static"])).state
    return state

"""The states of all sites between two predictions, in one file with their model and their dates."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray

from mclstm.deploy.trained_model import TrainedModel
from mclstm.errors import CheckpointError, ConfigError, DataError
from mclstm.evaluation.simulate import first_state
from mclstm.models.output import Output, State
from mclstm.series_from_config import inputs
from mclstm.training import checkpoint

__all__ = [
    "SavedStates", "Site", "empty_states", "joined_states", "load_states", "require_states", "save_states",
    "sites_of", "without_first",
]  # fmt: skip


class Site(NamedTuple):
    """A site of the new data, with its first and last step that has inputs; None where no step has."""

    name: str
    first: pd.Timestamp | None
    last: pd.Timestamp | None


class SavedStates(NamedTuple):
    """The states of sites, and the date of each; None for a site that has had no inputs yet."""

    states: dict[str, State]  # by member; each (sites, ...)
    dates: list[pd.Timestamp | None]
    steps: list[int | None]  # that filled the stores of each site; None where an older file does not say


def joined_states(parts: Sequence[SavedStates]) -> SavedStates:
    """The states of the sites of all parts."""
    first = parts[0].states
    states = {
        member: {name: torch.cat([part.states[member][name] for part in parts]) for name in state}
        for member, state in first.items()
    }
    dates = [date for part in parts for date in part.dates]
    return SavedStates(states, dates, [steps for part in parts for steps in part.steps])


def without_first(states: SavedStates, count: int) -> SavedStates:
    """The states of all but the first sites."""
    rest = {
        member: {name: value[count:] for name, value in state.items()}
        for member, state in states.states.items()
    }
    return SavedStates(rest, states.dates[count:], states.steps[count:])


def sites_of(series: xr.Dataset, covered: NDArray[np.bool_]) -> list[Site]:
    """Every site with its first and last step; covered (sites, time): where a site has its inputs."""
    time, sites = series["time"].to_index(), []
    for name, row in zip(series["site"].to_numpy(), covered, strict=True):
        steps = np.flatnonzero(row)
        ends = (time[steps[0]], time[steps[-1]]) if steps.size else (None, None)
        sites.append(Site(str(name), *ends))
    return sites


def save_states(path: Path, model: TrainedModel, states: SavedStates, sites: list[str], step: str) -> None:
    """Write the state of every site after its last step, with the model, its weights and the dates."""
    tensors = {
        prefix(member) + name: value
        for member, state in states.states.items()
        for name, value in state.items()
    }
    dates = [None if date is None else date.isoformat() for date in states.dates]
    about = {"model_hash": model.model_hash, "weights": weights_hash(model)}
    when = {"sites": sites, "time": dates, "step": step, "steps": states.steps}
    checkpoint.save(path, tensors, about | when)


def weights_hash(model: TrainedModel) -> str:
    """The SHA-256 of all weights: what stores hold has a meaning with the weights that filled them alone."""
    total = hashlib.sha256()
    for member in model.members.values():
        for name, value in member.state_dict().items():
            # As float32: a stepper may compute in float64 with the same weights.
            total.update(name.encode() + value.detach().cpu().float().contiguous().numpy().tobytes())
    return total.hexdigest()


def load_states(path: Path, model: TrainedModel, sites: list[Site], step: str) -> SavedStates:
    """Saved states of these sites; they must be of these weights and of the step before each site begins."""
    about = checkpoint.load(path, model=model.model_hash)[1]
    if about.get("weights", weights_hash(model)) != weights_hash(model):  # older files do not name them
        raise CheckpointError(
            f"{path} was made by a model with other weights: what its cells hold means nothing to this one. "
            "Use the model that made it, or predict the whole record without --state-in."
        )
    try:
        known, dates, steps = [str(site) for site in about["sites"]], dates_in(about), steps_in(about)
        offset = pd.tseries.frequencies.to_offset(step or about.get("step") or None)
        due = [None if date is None or offset is None else date + offset for date in dates]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(
            f"{path} is a checkpoint, not a state. Give a file made by --state-out."
        ) from error
    if len(known) == len(sites) == 1 and model.config.data.site is None:
        known = [sites[0].name]  # a file without a column of sites takes the name of its site from its own
    rows = []
    for site in sites:
        if site.name not in known:
            raise DataError(f"{path} holds no state of site {site.name!r}. Predict it without --state-in.")
        rows.append(known.index(site.name))
        require_due(site, dates[rows[-1]], due[rows[-1]], path)
    states = read_states(path, model, len(known), rows)
    return SavedStates(states, [dates[row] for row in rows], [steps[row] for row in rows])


@torch.no_grad()
def empty_states(
    model: TrainedModel,
    static: torch.Tensor,  # (N, S)
) -> dict[str, State]:
    """The states before the first step by member, each (N, ...); an empty step tells their shapes."""
    columns = inputs(model.config)
    x, a = (static.new_zeros(1, len(static), len(columns[role])) for role in ("mass", "aux"))
    states = {}
    for name, member in model.members.items():
        member.train(False)
        output: Output = member(x, a, static)
        states[name] = {key: first_state(key, output, len(static)) for key in output.state}
    return states


def read_states(path: Path, model: TrainedModel, sites: int, rows: list[int]) -> dict[str, State]:
    """The states of every member, from those rows of a file with so many sites.

    The names, types and shapes that the file must have are those of empty states.
    """
    first = next(iter(model.members.values()))
    static = torch.zeros(sites, len(model.config.data.static), dtype=next(first.parameters()).dtype)
    blank = next(iter(empty_states(model, static).values()))
    expected = {prefix(member) + name: value for member in model.members for name, value in blank.items()}
    tensors, _ = checkpoint.load(path, expected=expected, model=model.model_hash)
    if not all(bool(torch.isfinite(value).all()) for value in tensors.values()):
        raise CheckpointError(f"{path} holds a store that is not finite. Use the state of an earlier date.")
    return {
        member: {name: tensors[prefix(member) + name][torch.tensor(rows)] for name in blank}
        for member in model.members
    }


def prefix(member: str) -> str:
    """How the names of a member's tensors begin; the single member of a run has no name.

    >>> prefix(""), prefix("member-3")
    ('state.', 'state.member-3.')
    """
    return f"state.{member}." if member else "state."


def dates_in(about: dict[str, Any]) -> list[pd.Timestamp | None]:
    """The date of every site in a file of states; older files have one date for all."""
    times, sites = about["time"], len(about["sites"])
    if not isinstance(times, list):
        return [pd.Timestamp(times)] * sites
    if len(times) != sites:
        raise ValueError(f"{len(times)} dates for {sites} sites.")
    return [None if time is None else pd.Timestamp(time) for time in times]


def steps_in(about: dict[str, Any]) -> list[int | None]:
    """How many steps filled the stores of every site; unknown in older files."""
    sites = len(about["sites"])
    steps = about.get("steps", [None] * sites)
    if len(steps) != sites or any(type(value) is not int and value is not None for value in steps):
        raise ValueError("the steps of its sites are no numbers.")
    return list(steps)


def require_states(path: Path | str, models: Sequence[TrainedModel]) -> None:
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


def require_due(site: Site, ended: pd.Timestamp | None, due: pd.Timestamp | None, path: Path) -> None:
    """Refuse data that overlaps a site's state or leaves a gap after it; a site without a date may begin."""
    if site.first is None or due is None or due == site.first:
        return
    raise DataError(
        f"the data begins at {site.first} for site {site.name!r}, but its state in {path} is of {ended}. "
        f"Give the data that follows the state, from {due} on."
    )

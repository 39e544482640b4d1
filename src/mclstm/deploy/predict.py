"""Prediction on new data: no observations needed, from a saved state if there is one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import torch
import xarray as xr

from mclstm.data.manifest import require_step
from mclstm.data.windows import Tensors, tensors
from mclstm.deploy.new_data import Source, columns_of, series_for
from mclstm.deploy.states import Saved, load_state, save_state, sites_of
from mclstm.deploy.trained import Trained, opened, packs_in, require_one_ensemble
from mclstm.errors import ConfigError
from mclstm.evaluation.ensemble import together
from mclstm.evaluation.simulate import simulate
from mclstm.from_config import counted
from mclstm.models.output import State

__all__ = ["Predicted", "predict", "predicted"]


class Predicted(NamedTuple):
    """What a model says of new data, and a way to keep the stores as they are after it."""

    predictions: xr.Dataset
    keep_state: Callable[[Path], None]


def predict(
    path: Path, data: str | Source, state_in: Path | None = None, state_out: Path | None = None
) -> xr.Dataset:
    """Run a trained model over all of `data`; with a saved state it goes on where that state was taken.

    path: a run, or a packed model, of which every member simulates and the mean is the prediction; or a
    folder of packed models, whose members are one ensemble.
    Two halves equal one whole: predicting a first file with `state_out` and the next with `state_in` gives
    the numbers of predicting both as one. Without a state the stores begin as the model's start says.
    """
    found = predicted(path, data, state_in, keeps=state_out is not None)
    if state_out is not None:
        found.keep_state(state_out)
    return found.predictions


def predicted(
    path: Path, data: str | Source, state_in: Path | None = None, *, keeps: bool = False
) -> Predicted:
    """As `predict`, with the state still to be kept: after the predictions are safe, not before.

    keeps: whether it will be, which not every model can
    """
    source = data if isinstance(data, Source) else Source(data)
    kinds = {folder: opened(folder) for folder in packs_in(path)}
    if keeps or state_in is not None:
        _require_states(path, list(kinds.values()))
    if len(kinds) > 1:
        return Predicted(_of_several(kinds, source), lambda _: _require_states(path, list(kinds.values())))
    return _of_one(next(iter(kinds.values())), source, state_in)


def _of_several(kinds: Mapping[Path, Trained], source: Source) -> xr.Dataset:
    """What several models say together: the mean of all their members."""
    require_one_ensemble(kinds)
    names = [name for trained in kinds.values() for name in columns_of(trained)]
    each = (_alone(trained, source, names) for trained in kinds.values())
    return together(chain.from_iterable(each))


def _of_one(trained: Trained, source: Source, state_in: Path | None) -> Predicted:
    """What the members of one model say, from a saved state if there is one."""
    series, prepared = _prepared(trained, source)
    step = trained.step or series.attrs["step"]  # a single row has none of its own
    sites = sites_of(series, prepared.covered)
    before = None if state_in is None else load_state(state_in, trained, sites, step)
    after: dict[str, State] = {}
    alone = len(trained.members) == 1
    predictions = together(_each(trained, prepared, series, before, after, cells=alone))
    dates = [None] * len(sites) if before is None else before.dates
    dates = [date if site.last is None else site.last for site, date in zip(sites, dates, strict=True)]
    keep = partial(
        save_state,
        model_hash=trained.model_hash,
        saved=Saved(after, dates),
        sites=[site.name for site in sites],
        step=step,
    )
    return Predicted(predictions, keep)


def _require_states(path: Path, kinds: list[Trained]) -> None:
    """Refuse states of what cannot go on from one."""
    if len(kinds) > 1:
        raise ConfigError(
            f"{path} holds several models, which have no common file of states. Take one of them."
        )
    if kinds[0].config.data.antecedent:
        raise ConfigError(
            f"{path} sees means of what came before (data.antecedent), which a saved state does not hold. "
            "Leave the state out and give it the whole record."
        )


def _alone(trained: Trained, source: Source, names: list[str]) -> Iterator[xr.Dataset]:
    """The members of one of several models; names: the columns that any of them knows."""
    series, prepared = _prepared(trained, source, names)
    yield from _each(trained, prepared, series, None, {}, cells=False)


def _prepared(trained: Trained, source: Source, names: Sequence[str] = ()) -> tuple[xr.Dataset, Tensors]:
    series = series_for(trained, source, names)
    require_step(series, trained.step, source.path)
    return series, tensors(series, trained.moments, torch.float32)


def _each(
    trained: Trained,
    prepared: Tensors,
    series: xr.Dataset,
    before: Saved | None,
    after: dict[str, State],
    *,
    cells: bool,
) -> Iterator[xr.Dataset]:
    """The members' simulations one by one, for many would fill the memory; their states go into `after`."""
    for name, model in trained.members.items():
        done = simulate(
            model, prepared, series, (0, series.sizes["time"]), warmup=0,
            state=None if before is None else before.states[name], target_units=trained.units, cells=cells,
        )  # fmt: skip
        after[name] = done.state
        yield counted(trained.config, done.predictions)

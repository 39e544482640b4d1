"""A trained model in operation: one step at a time, with the state in hand."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from pandas.tseries.frequencies import to_offset

from mclstm.data.columns import listed
from mclstm.deploy.corrections import inserted, kalman_update, require_observed
from mclstm.deploy.running_ledger import RunningLedger
from mclstm.deploy.saved_states import (
    SavedStates,
    Site,
    empty_states,
    load_states,
    require_states,
    save_states,
)
from mclstm.deploy.step_inputs import StepInputs
from mclstm.deploy.trained_model import TrainedModel, in_dtype, model_folders, open_model
from mclstm.errors import ConfigError, DataError
from mclstm.from_config import clipped_targets
from mclstm.models.output import Output, State

__all__ = ["Simulated", "Stepper"]

Array = NDArray[np.float64]
STORAGE = "storage"  # what may be observed beside the targets


class Simulated(NamedTuple):
    """What a step predicts, in the units of the targets in training."""

    time: pd.Timestamp
    values: Array  # (E, N, B, targets): members, realisations, sites

    @property
    def mean(self) -> Array:
        """The mean over members and realisations, (B, targets)."""
        return np.asarray(self.values.mean(axis=(0, 1)))

    def quantiles(self, shares: Sequence[float]) -> Array:
        """Quantiles over members and realisations together, (shares, B, targets)."""
        return np.asarray(np.quantile(self.values, shares, axis=(0, 1)))


class Stepper:
    """A run or packed model that makes one step after another, for all its sites, members and realisations.

    T single steps equal one call over T steps: the same numbers as `mclstm predict` gives for the same sites.
    The state goes into the same files. Inputs are in the units of the training, by column; what is computed
    from the date (season, time of day, evapotranspiration) is computed from the date of the step.

        stepper = Stepper("runs/brook/20260101-000000-ab12", sites=["brook"], attributes={"area": 12.0})
        stepper.step({"rain": 3.0, "temperature": 11.5}, time="2026-01-01").mean   # (sites, targets)
        stepper.step({"rain": 0.0, "temperature": 12.0}).mean                      # the day after
        stepper.save("state.safetensors")

    Args:
        model: a run, a packed model or its folder.
        sites: their names, B of them.
        attributes: static inputs by column, a number or one per site.
        realisations: N copies of every site, each with stores of its own and, if you like, inputs of its own:
            weather members, or an ensemble for `assimilate`.
        dtype: torch.float64 closes the ledger to about 1e-13; `predict` reads states of torch.float32 only.
    """

    states: dict[str, State]  # by member, each (N B, ...)
    ledger: RunningLedger | None  # None for a model without stores

    def __init__(
        self,
        model: TrainedModel | str | Path,
        sites: Sequence[str] = ("site",),
        attributes: Mapping[str, ArrayLike] | None = None,
        *,
        realisations: int = 1,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.model = in_dtype(_opened(model), dtype)
        self.sites, self.realisations, self.dtype = list(sites), realisations, dtype
        if not self.sites or len(set(self.sites)) < len(self.sites) or realisations < 1:
            raise ConfigError("A stepper needs sites, each named once, and at least one realisation.")
        self.targets = list(self.model.config.data.target)
        self.inputs = StepInputs(self.model, self.sites, realisations, attributes or {}, dtype)
        self.offset = to_offset(self.model.step) if self.model.step else None
        self.clipped = np.array(clipped_targets(self.model.config, self.model.units))
        self.time: pd.Timestamp | None = None
        self.last: Simulated | None = None
        self.filled: int | None = 0  # steps that filled the stores; None where an old file does not say
        self._begin(empty_states(self.model, self.inputs.static))

    @property
    def shape(self) -> tuple[int, int, int]:
        """(E, N, B): members, realisations, sites."""
        return len(self.model.members), self.realisations, len(self.sites)

    @property
    def has_stores(self) -> bool:
        """Whether the model keeps mass; a plain LSTM does not."""
        return self.ledger is not None

    @torch.no_grad()
    def step(self, inputs: Mapping[str, ArrayLike], time: str | pd.Timestamp | None = None) -> Simulated:
        """Make one step and return what it predicts.

        inputs: mass and auxiliaries by column, each a number, (B,) or (N, B), in the units of the training
        time: of this step; without it, the step after the last one. Nothing changes if it is refused.
        """
        now = self._due(time)
        x, a = self.inputs.tensors(inputs, now.to_datetime64())
        members = self.model.members
        outputs = {
            name: member(x, a, self.inputs.static, self.states[name]) for name, member in members.items()
        }
        self.states = {name: output.state for name, output in outputs.items()}
        count = len(self.targets)
        values = self._numbers([output.y[0, :, :count] for output in outputs.values()])
        if self.ledger is not None:
            inflow = np.broadcast_to(self._numbers([x[0]]).sum(-1), self.shape)
            outflow = self._numbers([_outflow(output) for output in outputs.values()]).sum(-1)
            self.ledger.step(inflow, outflow, self.stores.sum(-1))
        self.filled = None if self.filled is None else self.filled + 1
        self.time, self.last = now, Simulated(now, np.where(self.clipped & (values < 0), 0.0, values))
        return self.last

    @property
    def stores(self) -> Array:
        """What every cell holds, (E, N, B, K), a copy; in the unit of the mass times a step."""
        if self.ledger is None:
            raise ConfigError("This model has no stores: nothing can be read from them or corrected.")
        return self._stores()

    def set_stores(self, stores: Array) -> None:
        """Put other amounts into the cells, (E, N, B, K), and book the difference as a correction."""
        before, rows = self.stores, torch.tensor(stores, dtype=self.dtype)
        if stores.shape != before.shape or not bool(rows.isfinite().all()):
            raise DataError(
                f"The stores are finite numbers of {self.dtype}, of shape {before.shape}. Give all of them."
            )
        if not self.inputs.negative_mass and (stores < 0).any():
            raise DataError(f"A store cannot hold {stores.min():g}. Give amounts >= 0.")
        assert self.ledger is not None
        for cells, (name, state) in zip(rows.flatten(1, 2), self.states.items(), strict=True):
            self.states[name] = {**state, "cells": cells}
        self.ledger.correct(self.stores.sum(-1))

    def insert(self, observed: ArrayLike, cells: Sequence[int] | None = None) -> None:
        """Direct insertion: the cells, all or some, hold what was observed, and keep their shares of it.

        observed: an amount, (B,) or (N, B); NaN leaves a site as it is
        """
        stores, amounts = self._correctable(), require_observed(observed, self.shape[1:])
        if cells is not None and self.shape[0] > 1:
            raise ConfigError("The cells of different members mean different things. Insert the total.")
        self.set_stores(inserted(stores, np.broadcast_to(amounts, self.shape), cells))

    def assimilate(self, what: str, observed: ArrayLike, error: ArrayLike) -> None:
        """Ensemble Kalman update of the stores by an observation, over the realisations of each member.

        what: the target of the last step that was observed, or "storage" for the total of all cells
        observed: (B,), NaN leaves a site as it is · error: its standard error, a number or (B,)
        """
        if self.realisations < 2:
            raise ConfigError("A Kalman update needs an ensemble. Give realisations=20 or more.")
        pairs = zip(self._correctable(), self._predicted(what), strict=True)
        amounts = require_observed(observed, self.shape[2:], negative=what != STORAGE)
        errors = require_observed(error, self.shape[2:])
        updated = [kalman_update(stores, predicted, amounts, errors) for stores, predicted in pairs]
        self.set_stores(np.stack(updated))

    def fork(self, realisations: int | None = None) -> "Stepper":
        """A stepper that goes on from here by itself: for a forecast from the present state.

        realisations: so many copies of a single one, for weather members; their ledgers begin here
        """
        other = copy.copy(self)
        other.states = dict(self.states)
        other.ledger = None if self.ledger is None else self.ledger.copy()
        if realisations is None:
            return other
        if self.realisations > 1 or realisations < 1:
            raise ConfigError(
                "Only a single realisation can be copied, at least once. Fork without a number."
            )
        other.realisations, other.last = realisations, None
        other.inputs = self.inputs.repeated(realisations)
        other._begin({name: _repeated(state, realisations) for name, state in self.states.items()})
        return other

    def save(self, path: str | Path) -> None:
        """Write the state as `mclstm predict --state-out` does."""
        rows = self._rows
        saved = SavedStates(self.states, [self.time] * len(rows), [self.filled] * len(rows))
        save_states(Path(path), self.model, saved, rows, self.model.step)

    def load(self, path: str | Path) -> None:
        """Go on from a saved state, of `save` or of `mclstm predict --state-out`; the ledger begins anew."""
        sites = [Site(name, None, None) for name in self._rows]
        saved = load_states(Path(path), self.model, sites, self.model.step)
        dates = list(dict.fromkeys(saved.dates))
        if len(dates) > 1:
            raise DataError(
                f"{path} holds states of {dates[0]} and of {dates[1]}; a stepper has one date for all its "
                "sites. Predict the sites that are behind up to the same date first."
            )
        self.time, self.last = dates[0], None
        known = [count for count in saved.steps if count is not None]
        self.filled = min(known) if len(known) == len(saved.steps) else None
        self._begin(saved.states)

    @property
    def _rows(self) -> list[str]:
        """The names of the N B rows of a state; realisations of a site are numbered."""
        if self.realisations == 1:
            return self.sites
        return [f"{site}~{n}" for n in range(self.realisations) for site in self.sites]

    def _begin(self, states: dict[str, State]) -> None:
        self.states = states
        stored = getattr(next(iter(self.model.members.values())), "layer", None) is not None
        self.ledger = RunningLedger.begun(self._stores().sum(-1)) if stored else None

    def _due(self, time: str | pd.Timestamp | None) -> pd.Timestamp:
        """The time of the next step: as given, if it follows the last one."""
        due = None if self.time is None or self.offset is None else self.time + self.offset
        if time is None:
            if due is None:
                raise DataError("The time of this step is not known. Give time=, such as 2026-01-31.")
            return due
        now = pd.Timestamp(time)
        early = self.time is not None and now <= self.time
        if early or (due is not None and now != due):
            raise DataError(f"The last step was {self.time}, this one is {now}. Give {due or 'a later one'}.")
        return now

    def _stores(self) -> Array:
        return self._numbers([state["cells"] for state in self.states.values()])

    def _numbers(self, rows: Sequence[torch.Tensor]) -> Array:
        """(N B, ...) of every member -> (E, N, B, ...) float64."""
        stacked = np.array([value.numpy() for value in rows], dtype=np.float64)
        return stacked.reshape(len(rows), *self.shape[1:], *stacked.shape[2:])

    def _correctable(self) -> Array:
        """The stores, if corrections by observations are defined for them."""
        if self.inputs.negative_mass:
            raise ConfigError("The stores of this model may be negative. Put amounts in with set_stores.")
        return self.stores

    def _predicted(self, what: str) -> Array:
        """What the realisations predict of an observation, (E, N, B)."""
        if what == STORAGE:
            return np.asarray(self.stores.sum(-1))
        if what not in self.targets:
            raise ConfigError(f"{what!r} is not predicted. Choose {listed([*self.targets, STORAGE])}.")
        if self.last is None:
            raise DataError(f"No step has predicted {what} yet. Make one, then give its observation.")
        return self.last.values[..., self.targets.index(what)]


def _opened(model: TrainedModel | str | Path) -> TrainedModel:
    """The model, if it can continue from a state."""
    if isinstance(model, TrainedModel):
        require_states("The model", [model])
        return model
    models = [open_model(folder) for folder in model_folders(Path(model))]
    require_states(model, models)
    return models[0]


def _repeated(state: State, times: int) -> State:
    """Every row of a state so many times, one block after another: (B, ...) -> (N B, ...)."""
    return {name: torch.cat([value] * times) for name, value in state.items()}


def _outflow(output: Output) -> torch.Tensor:  # (N B, K)
    assert output.h is not None
    return output.h[0]

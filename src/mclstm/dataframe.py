"""From a DataFrame to predictions in three lines, without a config or a run folder.

>>> import numpy as np, pandas as pd
>>> days = pd.date_range("2001-01-01", periods=120)
>>> table = pd.DataFrame({"rain": np.random.default_rng(0).random(120), "flow": 0.5}, index=days)
>>> river = fit(table, mass="rain", target="flow", hidden_size=3, warmup=20, length=40, updates=2)
>>> river.predict(table[["rain"]]).shape
(120,)
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
import xarray as xr
from torch import nn

from mclstm.config import TrainingConfig, check_sequences, check_training
from mclstm.config.error_messages import MODELS as MODEL_SECTIONS
from mclstm.data.columns import require_columns
from mclstm.data.features import clock_names, with_clock
from mclstm.data.findings import respelled
from mclstm.data.patterns import has_patterns, resolve
from mclstm.data.read import from_frames
from mclstm.data.scaling import Moment, moments
from mclstm.data.sequences import Rhythm, inside_sequences
from mclstm.data.sequences import sequences as cut_sequences
from mclstm.data.series import times
from mclstm.data.site_tables import Roles
from mclstm.data.sparse import as_counted
from mclstm.data.windows import Tensors, Windows, tensors, windows
from mclstm.errors import ConfigError, Interrupted
from mclstm.evaluation.ensemble import simulate_all
from mclstm.evaluation.metrics import score
from mclstm.evaluation.outlets import require_target_names, variable
from mclstm.evaluation.score_tables import score_table
from mclstm.evaluation.simulate import simulate
from mclstm.evaluation.simulate_sequences import simulate_sequences
from mclstm.from_config import start_with
from mclstm.models import MODELS
from mclstm.models.members import seeded
from mclstm.models.output import Sizes, scale_of
from mclstm.nn.arguments import one_of
from mclstm.training.loop import fit as train
from mclstm.training.loss import importance_of
from mclstm.training.progress import Show, showing

__all__ = ["Fitted", "fit"]

WINDOWS = (545, 365, 10)  # length, warmup and stride, where there are no sequences


class Fitted(NamedTuple):
    """A trained model with what it needs to read another table of the same columns."""

    model: nn.Module
    roles: Roles
    moments: dict[str, Moment]
    reading: dict[str, Any]  # how a table is read: missing_mass, missing_aux, allow_negative_mass
    clock: dict[str, Any]  # which inputs tell the time: time_of_day, time_of_week, weekend
    rhythm: Rhythm | None = None  # when sequences begin, if the model was trained on sequences
    seeds: Sequence[int] = (0,)

    def simulate(self, frame: pd.DataFrame) -> xr.Dataset:
        """All results for a table: predictions, storage, outflow, ledger; (site, time)."""
        present = tuple(name for name in self.roles.target if name in frame)
        series = _series(frame, self.roles._replace(target=present), self.reading, self.clock)
        data, period = tensors(series, self.moments, torch.float32), (0, series.sizes["time"])

        def one(model: nn.Module, cells: bool) -> xr.Dataset:
            if self.rhythm is not None:
                return simulate_sequences(model, data, series, period, self.rhythm, cells=cells)
            return simulate(model, data, series, period, warmup=0, cells=cells).predictions

        return simulate_all(self.model, one, self.seeds)

    def predict(self, frame: pd.DataFrame) -> pd.Series | pd.DataFrame:
        """The target at every date of a table, or a column for each target; observations are not needed."""
        predictions, names = self.simulate(frame).isel(site=0), self.roles.target
        if len(names) == 1:
            return predictions["simulated"].to_series().rename(names[0])
        columns = {name: predictions[variable("simulated", name)].to_series() for name in names}
        return pd.DataFrame(columns)

    def score(self, frame: pd.DataFrame, warmup: int = 0) -> dict[str, float] | pd.DataFrame:
        """NSE, KGE and the other metrics of a table that holds all targets, after its first `warmup` steps.

        Several targets give a table: a row for each, for their `total`, and for all of them `pooled`.
        """
        require_columns(frame.columns, self.roles.target, "the DataFrame")
        if len(self.roles.target) == 1:
            simulated, observed = self.predict(frame), frame[self.roles.target[0]]
            return score(simulated.to_numpy()[warmup:], observed.to_numpy()[warmup:])
        table = score_table(self.simulate(frame).isel(time=slice(warmup, None)))
        return table.drop(columns="site").set_index("target")


def fit(
    frame: pd.DataFrame,
    *,
    mass: str | Sequence[str],
    target: str | Sequence[str],
    aux: str | Sequence[str] = (),
    model: str = "mclstm",
    warmup: int = 365,
    length: int = 545,
    stride: int | None = 10,
    sequences: Mapping[str, Any] | None = None,
    time_of_day: int = 0,
    time_of_week: int = 0,
    weekend: bool = False,
    scored: Sequence[str] = (),
    impute: str | None = None,
    batch_size: int = 32,
    updates: int = 200,
    learning_rate: float = 0.02,
    clip: float | None = 1.0,
    loss: str = "nse",
    seed: int = 0,
    members: int | None = None,
    missing_mass: str = "error",
    missing_aux: str = "error",
    quiet: bool = True,
    **options: Any,
) -> Fitted:
    """Train a model on a table indexed by date; `options` are those of the model, such as hidden_size=16.

    Mass and target must have the same unit, for example mm/day: what flows out is what flowed in. Columns may
    be named by pattern, mass="in_*". Missing inputs raise DataError unless missing_mass ("zero",
    "interpolate") or missing_aux ("interpolate") say how to fill them. Every table that the model reads later
    is filled in the same way.

    Each window has `length` steps; its first `warmup` steps are not scored. With sequences={"each": "day",
    "begin": "04:00", "end": "23:50"} windows are whole days instead, scored from their first step.
    `time_of_day`, `time_of_week` and `weekend` add harmonics and a flag as auxiliaries. `scored` and `impute`
    train on some times of the day only; `members` trains so many models, whose mean is predicted; the option
    residence="30min" is how long mass stays on average before training. A config has the same keys.
    """
    training = check_training(
        "fit", batch_size=batch_size, updates=updates, learning_rate=learning_rate, clip=clip, loss=loss,
        seed=seed, scored=list(scored), impute=impute, members=members,
        length=length, warmup=warmup, stride=stride,
    )  # fmt: skip
    rhythm = _rhythm(sequences, windows=(length, warmup, stride), policies=(missing_mass, missing_aux))
    build, usual = MODELS[one_of("model", model, MODELS)], usual_options(model)
    if members is not None and options.get("dropout", usual.get("dropout")):
        raise ConfigError("fit: members would draw their dropout from one stream. Leave one of them out.")
    roles = _roles(frame, _names(mass), _names(aux), _names(target))
    require_target_names(roles.target)
    negative = options.get("allow_negative_mass", False)
    reading = {"missing_mass": missing_mass, "missing_aux": missing_aux, "allow_negative_mass": negative}
    clock: dict[str, Any] = {"time_of_day": time_of_day, "time_of_week": time_of_week, "weekend": weekend}
    series = _series(frame, roles, reading, clock)
    time, period = times(series), (0, series.sizes["time"])
    learned_from = np.ones(len(time), dtype=bool) if rhythm is None else inside_sequences(time, rhythm)
    scaling = moments(as_counted(series, training.scored, None, learned_from))
    data = tensors(as_counted(series, training.scored, impute, learned_from), scaling, torch.float32)
    sizes = Sizes(len(roles.mass), len(roles.aux) + len(clock_names(**clock)), 0, roles.target)
    scale, seeds = scale_of(scaling, roles.mass, roles.target), range(seed, seed + (members or 1))
    options = usual | _start(options, time)
    network = seeded(lambda: build(sizes, scale, **options), seeds)
    if rhythm is None:
        where = windows(data, period, training.scheme, length, warmup, stride)
    else:
        where = cut_sequences(data, time, period, rhythm, observed=True).windows
    with showing(updates, model, quiet) as show:
        _train(network, data, where, training, show)
    return Fitted(network, roles, scaling, reading, clock, rhythm, seeds)


def _train(network: nn.Module, data: Tensors, where: Windows, training: TrainingConfig, show: Show) -> None:
    """Train a network in a folder that is thrown away."""
    settings = training.for_the_loop() | {"checkpoint_every": training.updates}
    importance = importance_of(data.y, **training.for_the_loss())
    try:
        with tempfile.TemporaryDirectory() as folder:
            (place := Path(folder)).joinpath("checkpoints").mkdir()
            train(
                network, data, where, importance, place, validate=None, show=show, model_hash="", **settings
            )
    except Interrupted as stop:
        raise KeyboardInterrupt from stop  # there is no run folder to resume


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _roles(
    frame: pd.DataFrame, mass: tuple[str, ...], aux: tuple[str, ...], target: tuple[str, ...]
) -> Roles:
    """The roles of the frame's columns, with columns in place of patterns."""
    if not target:
        raise ConfigError("no target column is named. Name at least one, for example target='flow'.")
    roles = Roles(mass, aux, (), target)
    if not has_patterns(roles) or not isinstance(frame, pd.DataFrame):
        return roles
    return resolve(roles, [str(name) for name in frame.columns], "the DataFrame")


def _series(frame: pd.DataFrame, roles: Roles, reading: dict[str, Any], clock: dict[str, Any]) -> xr.Dataset:
    with respelled(""):
        series = from_frames({"site": frame}, roles, **reading)
    return with_clock(series, **clock)


def _rhythm(
    options: Mapping[str, Any] | None, windows: tuple[int, int, int | None], policies: tuple[str, str]
) -> Rhythm | None:
    """When sequences begin, or None; refuses options that contradict them."""
    if options is None:
        if "skip" in policies:
            raise ConfigError("fit: there are no sequences to skip where inputs are missing. Add sequences.")
        return None
    if windows != WINDOWS:
        raise ConfigError("fit: sequences replace length, warmup and stride. Leave those out.")
    return Rhythm(**check_sequences("fit, sequences", options).model_dump())


def usual_options(model: str) -> dict[str, Any]:
    """The options of a model as a config has them by default.

    >>> usual_options("hybrid")["redistribution_norm"], usual_options("lstm")["hidden_size"]
    ('relu', 16)
    """
    return MODEL_SECTIONS[model].model_validate({"name": model}).model_dump(exclude={"name", "residence"})


def _start(options: dict[str, Any], time: pd.DatetimeIndex) -> dict[str, Any]:
    """The options of the model, with stay and output_bias in place of a residence time."""
    residence = options.get("residence")
    if residence is None:
        return options
    twice = [name for name in ("stay", "output_bias") if name in options]
    if twice:
        raise ConfigError(f"fit: residence sets stay and output_bias; leave {twice[0]} out.")
    rest = {name: value for name, value in options.items() if name != "residence"}
    return rest | start_with(residence, time)

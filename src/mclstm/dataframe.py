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
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import xarray as xr
from torch import nn

from mclstm.config import TrainingConfig, check_model, check_sequences, check_training
from mclstm.config.error_messages import MODELS as MODEL_SECTIONS
from mclstm.config.error_messages import nearest
from mclstm.data.checks.mass_budget import budget_findings, series_budgets
from mclstm.data.checks.unit_check import require_balance
from mclstm.data.findings import raise_or_warn
from mclstm.data.lengths import window_lengths
from mclstm.data.patterns import has_patterns, resolve
from mclstm.data.scaling import Moment, moments
from mclstm.data.sequences import Rhythm, inside_sequences
from mclstm.data.sequences import sequences as cut_sequences
from mclstm.data.series import times
from mclstm.data.site_tables import Roles
from mclstm.data.sparse import as_counted
from mclstm.data.windows import Scheme, Tensors, Windows, tensors, windows
from mclstm.errors import ConfigError, Interrupted
from mclstm.evaluation.outlets import require_target_names
from mclstm.fitted import Fitted, build, series_of
from mclstm.from_config import start_with
from mclstm.models import MODELS
from mclstm.nn.arguments import one_of
from mclstm.training.loop import fit as train
from mclstm.training.loss import Importance, importance_of
from mclstm.training.progress import Show, showing

__all__ = ["fit"]

STRIDE = 10  # steps between windows, where a window scores as many


def fit(
    frame: pd.DataFrame,
    *,
    mass: str | Sequence[str],
    target: str | Sequence[str],
    aux: str | Sequence[str] = (),
    model: str = "mclstm",
    warmup: int | None = None,
    length: int | None = None,
    stride: int | None = None,
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
    budget: Sequence[float] | None = None,
    quiet: bool = True,
    **options: Any,
) -> Fitted:
    """Train a model on a table indexed by date; `options` are those of the model, such as hidden_size=16.

    Mass and target must have the same unit, for example mm/day: what flows out is what flowed in. Columns may
    be named by pattern, mass="in_*". Missing inputs raise DataError unless missing_mass ("zero",
    "interpolate") or missing_aux ("interpolate") say how to fill them. Every table that the model reads later
    is filled in the same way. `budget` is the lowest and highest outflow over inflow that is right; else what
    lies outside 0.02 to 1 is warned of and what lies outside 0.001 to 3 refused.

    Each window has `length` steps; its first `warmup` steps fill the stores and are not scored. By default a
    warm-up is a year, but at most 2000 steps and a quarter of the table. With sequences={"each": "day",
    "begin": "04:00", "end": "23:50"} windows are whole days instead, scored from their first step.
    `time_of_day`, `time_of_week` and `weekend` add harmonics and a flag as auxiliaries. `scored` and `impute`
    train on some times of the day only; `members` trains so many models, whose mean is predicted; the option
    residence="30min" is how long mass stays on average before training. A config has the same keys.
    """
    rhythm = _rhythm(sequences, (length, warmup, stride), policies=(missing_mass, missing_aux))
    cut = _lengths(frame, length, warmup, stride)
    training = check_training(
        "fit", batch_size=batch_size, updates=updates, learning_rate=learning_rate, clip=clip, loss=loss,
        seed=seed, scored=list(scored), impute=impute, members=members, **cut,
    )  # fmt: skip
    options = _checked_options(one_of("model", model, MODELS), options, members)
    roles = _roles(frame, _names(mass), _names(aux), _names(target))
    reading = {
        "missing_mass": missing_mass, "missing_aux": missing_aux,
        "allow_negative_mass": options.get("allow_negative_mass", False),
    }  # fmt: skip
    clock: dict[str, Any] = {"time_of_day": time_of_day, "time_of_week": time_of_week, "weekend": weekend}
    series = series_of(frame, roles, reading, clock)
    _require_budget(series, options, budget)
    scaling, data = _scaled(series, training, rhythm)
    options, seeds = _start(options, times(series)), range(seed, seed + (members or 1))
    network = build(model, options, roles, clock, scaling, seeds)
    where = _where(data, series, rhythm, training.scheme, cut)
    loss_terms = training.for_the_loss(roles.target, options.get("guided", ()))
    with showing(updates, model, quiet) as show:
        _train(network, data, where, importance_of(data.y, **loss_terms), training, show)
    filling = cut["warmup"] if rhythm is None else 0
    return Fitted(network, model, options, roles, scaling, reading, clock, filling, rhythm, seeds)


def _checked_options(model: str, options: dict[str, Any], members: int | None) -> dict[str, Any]:
    """The options of the model, with its defaults for those that are not named."""
    usual = usual_options(model)
    for name in options:
        near = nearest(name, [*signature(fit).parameters, *usual, "residence"])
        if name not in (*usual, "residence") and near is not None:
            raise ConfigError(f"fit, {name}: there is no such argument. Did you mean {near!r}?")
    check_model("fit", model, options)
    if members is not None and options.get("dropout", usual.get("dropout")):
        raise ConfigError("fit: members would draw their dropout from one stream. Leave one of them out.")
    return usual | options


def _scaled(
    series: xr.Dataset, training: TrainingConfig, rhythm: Rhythm | None
) -> tuple[dict[str, Moment], Tensors]:
    """The moments of what training sees, and the series as tensors."""
    time = times(series)
    learned_from = np.ones(len(time), dtype=bool) if rhythm is None else inside_sequences(time, rhythm)
    scaling = moments(as_counted(series, training.scored, None, learned_from))
    counted = as_counted(series, training.scored, training.impute, learned_from)
    return scaling, tensors(counted, scaling, torch.float32)


def _where(
    data: Tensors, series: xr.Dataset, rhythm: Rhythm | None, scheme: Scheme, cut: dict[str, Any]
) -> Windows:
    """Windows of the whole table, or its sequences."""
    period = (0, series.sizes["time"])
    if rhythm is None:
        return windows(data, period, scheme, **cut)
    return cut_sequences(data, times(series), period, rhythm, observed=True).windows


def _train(
    network: nn.Module,
    data: Tensors,
    where: Windows,
    importance: Importance,
    training: TrainingConfig,
    show: Show,
) -> None:
    """Train a network in a folder that is thrown away."""
    settings = training.for_the_loop() | {"checkpoint_every": training.updates}
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
    if has_patterns(roles) and isinstance(frame, pd.DataFrame):
        roles = resolve(roles, [str(name) for name in frame.columns], "the DataFrame")
    require_target_names(roles.target)
    return roles


def _require_budget(series: xr.Dataset, options: Mapping[str, Any], budget: Sequence[float] | None) -> None:
    """Refuse or warn of an outflow that cannot be the inflow's, where the model conserves."""
    pair = budget if isinstance(budget, (list, tuple)) and len(budget) == 2 else (1, 0)
    if budget is not None and not 0 <= pair[0] < pair[1]:
        raise ConfigError(
            f"fit, budget: {budget!r} is no range. Give the lowest and highest, such as (0.2, 1.3)."
        )
    if options.get("head") in ("sum", "mcfc"):
        flows = series.drop_vars(list(options["guided"]), errors="ignore")  # what a cell holds has not left
        require_balance(flows)
        raise_or_warn(budget_findings(series_budgets(flows), budget), "")


def _lengths(
    frame: pd.DataFrame, length: int | None, warmup: int | None, stride: int | None
) -> dict[str, Any]:
    """Length, warm-up and stride of the windows; those that are not given fit the table."""
    stated: dict[str, Any] = {"length": length, "warmup": warmup, "stride": stride}
    if not all(value is None or isinstance(value, int) for value in stated.values()):
        return {name: value for name, value in stated.items() if value is not None}  # to be refused by name
    index = frame.index if isinstance(frame, pd.DataFrame) else None
    fitting = window_lengths(index if isinstance(index, pd.DatetimeIndex) else pd.DatetimeIndex([]))
    if warmup is None:
        warmup = fitting.warmup if length is None else min(fitting.warmup, length * 2 // 3)
    length = warmup + fitting.length - fitting.warmup if length is None else length
    stride = max(1, min(STRIDE, length - warmup)) if stride is None else stride
    return {"length": length, "warmup": warmup, "stride": stride}


def _rhythm(
    options: Mapping[str, Any] | None,
    windows: tuple[int | None, int | None, int | None],
    policies: tuple[str, str],
) -> Rhythm | None:
    """When sequences begin, or None; refuses options that contradict them."""
    if options is None:
        if "skip" in policies:
            raise ConfigError("fit: there are no sequences to skip where inputs are missing. Add sequences.")
        return None
    if windows != (None, None, None):
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
    rest = {name: value for name, value in options.items() if name != "residence"}
    return rest | start_with(residence, time)

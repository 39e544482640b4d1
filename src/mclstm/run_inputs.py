"""What a run begins with: its checked data, in memory or in parts, and the scaling from its training."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import xarray as xr

from mclstm.config import Config
from mclstm.data.checks.mass_budget import Budget, budget_findings, series_budgets
from mclstm.data.checks.unit_check import require_balance
from mclstm.data.findings import raise_or_warn
from mclstm.data.manifest import manifest, manifest_of_parts
from mclstm.data.parts import Parts
from mclstm.data.scaling import Moment, moments
from mclstm.data.series import times
from mclstm.data.windows import StoredTensors, Tensors, span, stored, tensors
from mclstm.errors import ConfigError
from mclstm.evaluation.outlets import require_target_names
from mclstm.evaluation.prediction_store import require_zarr
from mclstm.evaluation.rival_scores import require_rivals
from mclstm.evaluation.simulate import require_periods
from mclstm.from_config import guided_of, seen_in_training, training_start, with_residence
from mclstm.series_from_config import read_parts, read_series, with_columns
from mclstm.simulation import process_weather

__all__ = ["Inputs", "manifest_for", "open_series", "read_inputs", "tensors_of"]


class Inputs(NamedTuple):
    """What a run begins with."""

    config: Config  # with columns for patterns and steps for durations
    series: xr.Dataset
    parts: Sequence[xr.Dataset]
    scaling: dict[str, Moment]  # from training


def read_inputs(config: Config, series: xr.Dataset | None = None) -> Inputs:
    """The data of a config, if the caller has not read it already; refuses what cannot be trained on."""
    if series is None:
        config = with_columns(config)
    outline, parts = open_series(config) if series is None else (series, [series])
    require_target_names(config.data.target)
    require_rivals(config.evaluation.against, times(outline))
    process_weather(config, outline)
    config = with_residence(config, outline)
    # Before the training and not after it: a period that no site covers cannot be simulated.
    periods = {name: config.periods.pair(name) for name in ("train", "validation", "test")}
    require_periods(parts, outline, periods)
    period = slice(*span(outline, config.periods.train_pair, "train"))
    start = training_start(config)
    seen = (seen_in_training(config, part, impute=False).isel(time=period) for part in parts)
    scaling = moments(seen) if start is None else start.moments
    if config.balances:
        raise_or_warn(budget_findings(_budgets(config, parts), config.data.budget), "data.")
    return Inputs(config, outline, parts, scaling)


def _budgets(config: Config, parts: Sequence[xr.Dataset]) -> list[Budget]:
    budgets: list[Budget] = []
    for part in parts:
        flows = part.drop_vars(guided_of(config), errors="ignore")  # what a cell holds has not left
        require_balance(flows)
        budgets += series_budgets(flows)
    return budgets


def open_series(config: Config) -> tuple[xr.Dataset, Sequence[xr.Dataset]]:
    """The series of a config and its parts; of many parts its sites and dates alone."""
    if config.data.in_memory:
        series = read_series(config, require_target=True)
        return series, [series]
    require_separable(config)
    require_zarr()  # evaluations of it are written so, whatever the layout of the data
    parts = read_parts(config, require_target=True)
    return parts.outline, parts


def manifest_for(config: Config, series: xr.Dataset, parts: Sequence[xr.Dataset]) -> dict[str, Any]:
    if isinstance(parts, Parts):
        return manifest_of_parts(series, parts, config.data.path)
    return manifest(series, config.data.path)


def tensors_of(parts: Sequence[xr.Dataset], scaling: dict[str, Moment]) -> Tensors | StoredTensors:
    return stored(parts, scaling) if isinstance(parts, Parts) else tensors(parts[0], scaling, torch.float32)


def require_separable(config: Config) -> None:
    """Refuse what needs all sites together, or was never tried with sites in parts."""
    wholes = {
        "sequences": config.sequences is not None,
        "training.scored": bool(config.training.scored),
        "evaluation.against": bool(config.evaluation.against),
    }
    for name, used in wholes.items():
        if used:
            raise ConfigError(f"{name} needs all sites in memory. Leave it out, or data.in_memory: false.")

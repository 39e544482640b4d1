"""What a run learns from, as its config says: the data that training sees, its windows, and the loss."""

from typing import NamedTuple

import torch
import xarray as xr

from mclstm.config import Config
from mclstm.data.scaling import Moment
from mclstm.data.sequences import sequences
from mclstm.data.series import times
from mclstm.data.windows import StoredTensors, Tensors, Windows, span, tensors, windows
from mclstm.errors import ConfigError
from mclstm.from_config import guided_of, rhythm_of, seen_in_training
from mclstm.training.loss import Importance, importance_of

__all__ = ["Lessons", "lessons_of", "require_shares"]


class Lessons(NamedTuple):
    """What training and validation see, where its windows lie, and what an error counts."""

    series: xr.Dataset
    data: Tensors | StoredTensors
    where: Windows
    importance: Importance
    notes: list[str]  # for the log of the run


def lessons_of(
    config: Config, series: xr.Dataset, moments: dict[str, Moment], data: Tensors | StoredTensors
) -> Lessons:
    """The windows of the training period; `training.scored` may limit what is seen of the targets.

    data: the series as tensors
    """
    training = config.training
    if training.scored:
        series = seen_in_training(config, series)
        data = tensors(series, moments, torch.float32)
    period = span(series, config.periods.train_pair, "train")
    where, notes = _windows(config, series, data, period)
    counts = training.for_the_loss(config.data.target, guided_of(config))
    importance = importance_of(data.y, steps=slice(*period), **counts)
    return Lessons(series, data, where, importance, notes + _silent_sites(series, set(where.site.tolist())))


def require_shares(config: Config, ranks: int) -> None:
    """Refuse what several processes cannot divide among themselves."""
    if ranks > config.training.batch_size:
        raise ConfigError(
            f"training.batch_size is {config.training.batch_size}, too few windows for {ranks} processes. "
            "Start fewer."
        )
    if ranks > 1 and getattr(config.model, "state_norm", None) == "batch":
        raise ConfigError(
            f"model.state_norm is batch, which needs a batch in one process, not in {ranks}. "
            "Set it to sample, or train without torchrun."
        )


def _windows(
    config: Config, series: xr.Dataset, data: Tensors | StoredTensors, period: tuple[int, int]
) -> tuple[Windows, list[str]]:
    training, rhythm = config.training, rhythm_of(config)
    if rhythm is None:
        where = windows(data, period, training.scheme, training.length, training.warmup, training.stride)
        return where, []
    assert isinstance(data, Tensors)  # `read_inputs` refuses sequences of data in parts
    time = times(series)
    for name in ("validation", "test"):  # a period without a whole sequence cannot be simulated
        later = config.periods.pair(name)
        if later is not None:
            sequences(data, time, span(series, later, name), rhythm, observed=False)
    where, left_out = sequences(data, time, period, rhythm, observed=True)
    return where, [
        f"each {rhythm}: {len(where.site)} sequences to train on, {left_out} left out as incomplete"
    ]


def _silent_sites(series: xr.Dataset, teaching: set[int]) -> list[str]:
    silent = [str(site) for row, site in enumerate(series["site"].to_numpy()) if row not in teaching]
    if not silent:
        return []
    return [f"{len(silent)} sites have no window and teach nothing: {', '.join(silent[:20])}"]

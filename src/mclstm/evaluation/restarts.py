"""Simulation with restarts: a period in pieces, each from empty stores after its own warm-up.

The paper predicts every day of the test years like that: pieces of one step, a year of warm-up for each.
A model that conserves mass hardly differs from one continuous run; another model may drift.

One batch holds pieces of one site, in order of time. With `state_norm="batch"` the result depends on the
batch, and these are the batches of the published evaluation: windows of one basin, in order, as many as in
a training batch. Otherwise a piece does not depend on its batch.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import nn

from mclstm.data.windows import Tensors, spans
from mclstm.evaluation.prediction_dataset import prediction_dataset
from mclstm.models.output import Output, device_of

__all__ = ["simulate_with_restarts", "with_restarts"]

BATCH = 256  # pieces run together: the paper's batch size


class Pieces(NamedTuple):
    """Pieces of one site and one length; the first `warm` steps of a piece are warm-up."""

    site: int
    start: NDArray[np.int64]  # (n,), the first step of the warm-up
    warm: int
    length: int


def simulate_with_restarts(
    model: nn.Module,
    data: Tensors,
    series: xr.Dataset,
    period: tuple[int, int],
    warmup: int,
    restart: int,
    batch_size: int = BATCH,
) -> xr.Dataset:
    """Targets and observations, (site, time), of a model that restarts every `restart` steps.

    Each piece begins with empty stores, `warmup` steps earlier if there is data. NaN where inputs miss.
    """
    targets = len(model.targets)  # type: ignore[arg-type]
    values = np.full((len(data.x), period[1] - period[0], targets), np.nan)
    model.train(False)
    for part in pieces(data, period, warmup, restart):
        counted = np.arange(part.warm, part.length)
        for at in range(0, len(part.start), batch_size):
            start = part.start[at : at + batch_size]
            y = _run(model, data, part.site, start, part.length)
            steps = start[:, np.newaxis] + counted - period[0]
            values[part.site, steps] = y[part.warm :, :, :targets].transpose(1, 0, 2)
    return prediction_dataset(model, {"simulated": values}, series.isel(time=slice(*period)))


def pieces(data: Tensors, period: tuple[int, int], warmup: int, restart: int) -> Iterator[Pieces]:
    """All pieces, grouped by site, warm-up and length."""
    for first, after, sites in spans(data.covered):
        begins = np.arange(max(period[0], first), min(period[1], after), restart, dtype=np.int64)
        ends = np.minimum(begins + restart, min(period[1], after))
        starts = np.maximum(begins - warmup, first)
        kinds = np.stack([begins - starts, ends - starts], axis=1)
        for warm, length in np.unique(kinds, axis=0):
            alike = starts[(kinds == (warm, length)).all(1)]
            yield from (Pieces(int(site), alike, int(warm), int(length)) for site in sites)


@torch.no_grad()
def _run(
    model: nn.Module, data: Tensors, site: int, start: NDArray[np.int64], length: int
) -> NDArray[np.float64]:  # (length, n, outlets)
    rows = torch.full((len(start),), site)
    steps = torch.from_numpy(start).unsqueeze(0) + torch.arange(length).unsqueeze(1)
    inputs = data.x[rows, steps], data.a[rows, steps], data.static[rows]
    output: Output = model(*(value.to(device_of(model)) for value in inputs))
    y: NDArray[np.float64] = output.y.double().cpu().numpy()
    return y


def with_restarts(continuous: xr.Dataset, restarted: xr.Dataset) -> xr.Dataset:
    """Predictions of a continuous run whose `simulated` comes from the restarts.

    The continuous simulation is kept as `continuous`: the stores and the balance belong to it.
    """
    result = continuous.copy()
    for name in (str(name) for name in restarted.data_vars):
        if name.startswith("simulated"):
            result[name.replace("simulated", "continuous", 1)] = continuous[name]
            result[name] = restarted[name]
    return result

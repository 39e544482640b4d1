"""A period simulated in pieces, each from empty stores and with a warm-up of its own: as windows in training.

The paper predicts every day of the test years like that, a year of warm-up for each (`restart` of one step).
A model that conserves hardly differs from one run through the period; a model that does not may drift.

Pieces run side by side are of one site, in order of time. A model whose samples do not see each other gives
the same in any company. With the state normalised over the batch (the published protocol) they do, and this
company is that of the published evaluation: windows of one basin, in order, as many as in a training batch.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import nn

from mclstm.data.windows import Tensors, spans
from mclstm.evaluation.predictions import dataset
from mclstm.models.output import Output

__all__ = ["simulate_afresh", "with_restarts"]

TOGETHER = 256  # pieces run side by side, and the paper's batch


class Pieces(NamedTuple):
    """Pieces of one site and length: where each begins to warm up; its first `warm` steps do not count."""

    site: int
    start: NDArray[np.int64]  # (n,)
    warm: int
    length: int


def simulate_afresh(
    model: nn.Module,
    data: Tensors,
    series: xr.Dataset,
    period: tuple[int, int],
    warmup: int,
    restart: int,
    together: int = TOGETHER,
) -> xr.Dataset:
    """Every `restart` steps of the period from empty stores, after `warmup` steps as far as there is data.

    What flowed out at the targets and what was observed, (site, time); NaN where a site has no inputs.
    """
    targets = len(model.targets)  # type: ignore[arg-type]
    values = np.full((len(data.x), period[1] - period[0], targets), np.nan)
    model.train(False)
    for part in pieces(data, period, warmup, restart):
        counted = np.arange(part.warm, part.length)
        for at in range(0, len(part.start), together):
            start = part.start[at : at + together]
            y = _run(model, data, part.site, start, part.length)
            steps = start[:, np.newaxis] + counted - period[0]
            values[part.site, steps] = y[part.warm :, :, :targets].transpose(1, 0, 2)
    return dataset(model, {"simulated": values}, series.isel(time=slice(*period)))


def pieces(data: Tensors, period: tuple[int, int], warmup: int, restart: int) -> Iterator[Pieces]:
    """All pieces, those of one site and of equal length and warm-up together."""
    for first, after, sites in spans(data.covered):
        begins = np.arange(max(period[0], first), min(period[1], after), restart, dtype=np.int64)
        ends = np.minimum(begins + restart, min(period[1], after))
        starts = np.maximum(begins - warmup, first)
        kinds = np.stack([begins - starts, ends - starts], axis=1)
        for warm, length in np.unique(kinds, axis=0):
            mine = starts[(kinds == (warm, length)).all(1)]
            yield from (Pieces(int(site), mine, int(warm), int(length)) for site in sites)


@torch.no_grad()
def _run(
    model: nn.Module, data: Tensors, site: int, start: NDArray[np.int64], length: int
) -> NDArray[np.float64]:  # (length, n, outlets)
    rows = torch.full((len(start),), site)
    steps = torch.from_numpy(start).unsqueeze(0) + torch.arange(length).unsqueeze(1)
    output: Output = model(data.x[rows, steps], data.a[rows, steps], data.static[rows])
    y: NDArray[np.float64] = output.y.double().numpy()
    return y


def with_restarts(through: xr.Dataset, afresh: xr.Dataset) -> xr.Dataset:
    """Predictions run through a period, with the simulation in pieces as `simulated`.

    What was `simulated` becomes `continuous`: the stores and the balance belong to it.
    """
    result = through.copy()
    for name in (str(name) for name in afresh.data_vars):
        if name.startswith("simulated"):
            result[name.replace("simulated", "continuous", 1)] = through[name]
            result[name] = afresh[name]
    return result

"""A model run through the whole sequences of a period, each from its start: empty, given or learned."""

from collections.abc import Mapping

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import nn

from mclstm.data.sequences import Rhythm, sequences
from mclstm.data.series import times
from mclstm.data.windows import Tensors, gather
from mclstm.evaluation.prediction_dataset import output_series, prediction_dataset
from mclstm.evaluation.turnover import throughput, turnover_days
from mclstm.models.output import Output, device_of

__all__ = ["simulate_sequences"]

BATCH = 256  # sequences run together, to bound the memory; with state_norm="batch" it changes the result


@torch.no_grad()
def simulate_sequences(
    model: nn.Module,
    data: Tensors,
    series: xr.Dataset,
    period: tuple[int, int],
    rhythm: Rhythm,
    target_units: Mapping[str, str] | None = None,
    stores: bool = True,
    cells: bool = True,
    batch_size: int = BATCH,
) -> xr.Dataset:
    """Predictions, (site, time), of every whole sequence in the period; NaN between sequences.

    `sequence` numbers the sequences of the period from 0, -1 between them. The ledger is theirs:
    `storage_before` is the sum of what they began with, `storage_left` of what was stored at their ends.
    Without `stores` only the targets are kept; without `cells` the storage is one number, the total.
    """
    where = sequences(data, times(series), period, rhythm, observed=False).windows
    shape = (len(data.x), period[1] - period[0])
    number = np.full(shape, -1, dtype=np.int64)
    collected: dict[str, NDArray[np.float64]] = {}
    passages: NDArray[np.float64] | None = None
    model.train(False)
    order = np.argsort(where.start, kind="stable")  # in order of time
    for at in range(0, len(order), batch_size):
        chosen = order[at : at + batch_size]
        batch = gather(data, where, chosen).to(device_of(model))
        output: Output = model(batch.x, batch.a, batch.static)
        site = where.site[chosen, np.newaxis]
        steps = where.start[chosen, np.newaxis] + np.arange(where.length) - period[0]
        for name, values in output_series(model, output, stores, cells).items():
            into = collected.setdefault(name, np.full((*shape, *values.shape[2:]), np.nan))
            into[site, steps] = values.transpose(0, 1).cpu().numpy()
        passed = throughput(model, output, batch.static) if stores and cells else None
        if passed is not None:
            passages = np.zeros((len(data.x), *passed.shape[1:])) if passages is None else passages
            np.add.at(passages, where.site[chosen], passed)
        number[site, steps] = np.unique(where.start).searchsorted(where.start[chosen])[:, np.newaxis]
    if passages is not None:
        collected["turnover"] = turnover_days(passages, times(series))
    return prediction_dataset(model, collected, series.isel(time=slice(*period)), target_units, number)

"""From entry to exit and back: which inputs an outflow is made of, and where and when each input leaves."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from mclstm.data.clock import PERIODS, step_length
from mclstm.data.sequences import Rhythm, sequences
from mclstm.data.series import names, times
from mclstm.data.windows import Tensors, Windows, gather
from mclstm.errors import DataError
from mclstm.evaluation.prediction_dataset import outlet_names
from mclstm.explain.mass_ages import DAY, START, exits
from mclstm.models.mass_model import MassModel

__all__ = ["entry_to_exit", "largest_peaks", "origins", "origins_at"]

SEQUENCES = 64  # traced together, to bound the memory
HOUR = PERIODS["day"] // 24


def origins(
    models: Sequence[MassModel], data: Tensors, series: xr.Dataset, site: str, date: pd.Timestamp, outlet: str
) -> pd.DataFrame:
    """What the outflow of one step is made of: `date`, `input`, `amount` and `share`, earliest first.

    The last row is what was in the stores at the start. The shares sum to one; of members the mean is taken.
    """
    return origins_at(models, data, series, site, [date], outlet)[0]


@torch.no_grad()
def origins_at(
    models: Sequence[MassModel],
    data: Tensors,
    series: xr.Dataset,
    site: str,
    dates: Sequence[pd.Timestamp],
    outlet: str,
) -> list[pd.DataFrame]:
    """As `origins` of every date, with one run of each model for all of them."""
    row, steps = _row(series, site), [_step(series, date) for date in dates]
    covered = np.flatnonzero(data.covered[row])
    for date, step in zip(dates, steps, strict=True):
        if step not in covered:
            raise DataError(f"site {site!r} has no inputs at {date}. Choose a date that its data covers.")
    if not steps:
        return []
    first, some = int(covered[0]), slice(covered[0], max(steps) + 1)
    column = outlet_names(models[0]).index(outlet)
    x, a = (value[[row], some].transpose(0, 1) for value in (data.x, data.a))
    amounts, start = torch.zeros(()), torch.zeros(())
    for model in models:
        trace = model.train(False).trace(x, a, data.static[[row]])
        origins = trace.behind(torch.tensor(steps) - first, exits(model)[:, column])
        amounts = amounts + origins.x[:, 0] / len(models)  # (T, G, M)
        start = start + origins.start[0].sum(-1) / len(models)  # (G,)
    return [
        _table(series, first, amounts[: step - first + 1, at], float(start[at]))
        for at, step in enumerate(steps)
    ]


def _table(series: xr.Dataset, first: int, amounts: Tensor, start: float) -> pd.DataFrame:  # amounts (T, M)
    masses = names(series, "mass")
    table = pd.DataFrame({
        "date": [*np.repeat(times(series)[first : first + len(amounts)], len(masses)), pd.NaT],
        "input": [*masses * len(amounts), START],
        "amount": [*amounts.flatten().tolist(), start],
    })  # fmt: skip
    total = table["amount"].sum()
    return table.assign(share=table["amount"] / (total if total > 0 else 1.0))


def largest_peaks(flow: NDArray[np.float64], count: int, apart: int) -> list[int]:
    """The steps of the largest values of a series (T,), the largest first, at least so many steps apart.

    >>> largest_peaks(np.array([1.0, 5.0, 4.0, np.nan, 3.0]), 2, 2)
    [1, 4]
    """
    rest = np.where(flow > 0, flow, 0.0)
    steps: list[int] = []
    while len(steps) < count and rest.any():
        steps.append(int(rest.argmax()))
        rest[max(0, steps[-1] - apart + 1) : steps[-1] + apart] = 0.0
    return steps


@torch.no_grad()
def entry_to_exit(
    models: Sequence[MassModel], data: Tensors, series: xr.Dataset, period: tuple[int, int], rhythm: Rhythm
) -> xr.Dataset:
    """How much of what enters leaves where, and after how long: sums over all sequences, by hour of entry.

    `amount` (hour, input, exit), the last exit is still inside at the end · `dwell` (hour, input, outlet),
    the mean time from entry to exit in minutes; NaN where nothing leaves.
    """
    where = sequences(data, times(series), period, rhythm, observed=False).windows
    of_members = [_exits(model, data, where) for model in models]
    left, inside, exited = (torch.stack(parts).mean(0) for parts in zip(*of_members, strict=True))
    # The time from entry to exit summed over all mass: exits minus entries, in steps.
    waited = exited - left * torch.arange(where.length, dtype=torch.float64).view(-1, 1, 1)
    time = times(series)
    entered = time[where.start[0] : where.start[0] + where.length]
    hours = (entered.as_unit("ns").asi8 % DAY) // HOUR
    names_of_hours = list(dict.fromkeys(hours.tolist()))
    amounts, waits = (
        np.stack([values.numpy()[hours == hour].sum(0) for hour in names_of_hours])
        for values in (torch.cat([left, inside.unsqueeze(-1)], dim=-1), waited)
    )
    gone, outlets = amounts[..., :-1], outlet_names(models[0])
    dwell = np.where(gone > 0, waits / np.where(gone > 0, gone, 1.0), np.nan) * step_length(time) / HOUR * 60
    return xr.Dataset(
        {
            "amount": (("hour", "input", "exit"), amounts),
            "dwell": (("hour", "input", "outlet"), dwell, {"units": "min"}),
        },
        {"hour": names_of_hours, "input": names(series, "mass"), "outlet": outlets,
         "exit": [*outlets, "still inside"]},
    )  # fmt: skip


def _exits(model: MassModel, data: Tensors, where: Windows) -> tuple[Tensor, Tensor, Tensor]:
    """By step of entry and input, sums over all sequences: what left by outlet, and what is still inside.

    (T, M, O), (T, M), and as the third what left times the step in which it did, (T, M, O)
    """
    steps, masses, share = where.length, data.x.shape[-1], exits(model)
    tags = torch.arange(steps * masses).view(steps, masses)
    left = exited = torch.zeros(steps * masses, share.shape[-1], dtype=torch.float64)
    inside = torch.zeros(steps * masses, dtype=torch.float64)
    for at in range(0, len(where.site), SEQUENCES):
        batch = gather(data, where, np.arange(at, min(at + SEQUENCES, len(where.site))))
        trace = model.train(False).trace(batch.x, batch.a, batch.static)
        now = 0
        for flows, cells in trace.forward_parts(tags, share):
            amounts = flows.sum(1)[:, :-1]  # (T', tags, O)
            clock = torch.arange(now, now + len(flows), dtype=torch.float64)
            left, exited = left + amounts.sum(0), exited + (amounts * clock.view(-1, 1, 1)).sum(0)
            now, stored = now + len(flows), cells.sum((0, -1))[:-1]
        inside = inside + stored
    return left.view(steps, masses, -1), inside.view(steps, masses), exited.view(steps, masses, -1)


def _row(series: xr.Dataset, site: str) -> int:
    sites = [str(name) for name in series["site"].to_numpy()]
    if site not in sites:
        raise DataError(f"the data has no site {site!r}. It has {', '.join(sites[:10])}.")
    return sites.index(site)


def _step(series: xr.Dataset, date: pd.Timestamp) -> int:
    time = times(series)
    if date not in time:
        raise DataError(f"the data has no step at {date}; it covers {time[0]} to {time[-1]}.")
    return int(time.searchsorted(date))

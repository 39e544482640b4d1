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
from mclstm.data.windows import Tensors, gather
from mclstm.errors import DataError
from mclstm.evaluation.prediction_dataset import outlet_names
from mclstm.explain.mass_ages import DAY, START, exits
from mclstm.models.mass_model import MassModel

__all__ = ["entry_to_exit", "largest_outflow", "largest_peaks", "origins", "origins_at"]

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


def largest_outflow(simulated: xr.DataArray, site: str) -> pd.Timestamp:
    """The date of the largest simulated flow of a site; simulated: (site, time)."""
    values = simulated.sel(site=site)
    if not np.isfinite(values).any():
        raise DataError(f"site {site!r} has no simulated flow. Choose another site.")
    return pd.Timestamp(values["time"].to_numpy()[int(np.nanargmax(values))])


@torch.no_grad()
def entry_to_exit(
    models: Sequence[MassModel], data: Tensors, series: xr.Dataset, period: tuple[int, int], rhythm: Rhythm
) -> xr.Dataset:
    """How much of what enters leaves where, and after how long: sums over all sequences, by hour of entry.

    `amount` (hour, input, exit), the last exit is still inside at the end · `dwell` (hour, input, outlet),
    the mean time from entry to exit in minutes; NaN where nothing leaves.
    """
    where = sequences(data, times(series), period, rhythm, observed=False).windows
    masses, steps = data.x.shape[-1], where.length
    tags = torch.arange(steps * masses).view(steps, masses)
    left, moment, inside = torch.zeros(()), torch.zeros(()), torch.zeros(())
    for model in models:
        share = exits(model)
        for at in range(0, len(where.site), SEQUENCES):
            batch = gather(data, where, np.arange(at, min(at + SEQUENCES, len(where.site))))
            trace = model.train(False).trace(batch.x, batch.a, batch.static)
            now, stored = 0, torch.zeros(())
            for flows, cells in trace.forward_parts(tags, share):
                amounts = flows.sum(1)[:, :-1] / len(models)  # (T', tags, O)
                left = left + amounts.sum(0)
                clock = torch.arange(now, now + len(flows), dtype=torch.float64)
                moment = moment + (amounts * clock.view(-1, 1, 1)).sum(0)
                now += len(flows)
                stored = cells.sum((0, -1))[:-1] / len(models)
            inside = inside + stored
    entered = times(series)[where.start[0] : where.start[0] + steps]
    hours = (entered.as_unit("ns").asi8 % DAY) // HOUR
    step = step_length(times(series)) / HOUR * 60
    # The time from entry to exit summed over all mass: exits minus entries, in steps.
    waited = moment - left * torch.arange(steps).repeat_interleave(masses).unsqueeze(-1)
    columns = torch.cat([left, inside.unsqueeze(-1), waited], dim=-1).view(steps, masses, -1).numpy()
    names_of_hours = list(dict.fromkeys(hours.tolist()))
    by_hour = np.stack([columns[hours == hour].sum(0) for hour in names_of_hours])
    outlets = outlet_names(models[0])
    gone, waited_for = by_hour[..., : len(outlets)], by_hour[..., len(outlets) + 1 :]
    dwell = np.where(gone > 0, waited_for / np.where(gone > 0, gone, 1.0), np.nan) * step
    return xr.Dataset(
        {
            "amount": (("hour", "input", "exit"), by_hour[..., : len(outlets) + 1]),
            "dwell": (("hour", "input", "outlet"), dwell, {"units": "min"}),
        },
        {"hour": names_of_hours, "input": names(series, "mass"), "outlet": outlets,
         "exit": [*outlets, "still inside"]},
    )  # fmt: skip


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

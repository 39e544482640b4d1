"""What each cell of a model does at a site: how long mass stays, its season, and what opens its outlet.

What is chosen, such as the input that opens an outlet, is chosen in the first half of the record and measured
in the second. A sentence says only what the numbers of the second half support.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import torch
import xarray as xr
from numpy.typing import NDArray

from mclstm.data.series import names, times
from mclstm.data.windows import Tensors
from mclstm.evaluation.prediction_dataset import losses_of, outlet_names
from mclstm.evaluation.turnover import by_turnover, short_time, turnover_days
from mclstm.explain.mass_ages import exits
from mclstm.explain.snow_cells import correlation, usual
from mclstm.models.mass_model import MassModel

__all__ = ["Storages", "cell_sentence", "read_cells", "read_members"]

Floats = NDArray[np.float64]
Storages = Mapping[str, Mapping[str, pd.Series]]  # observed or modelled, by name and by site, dated
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
# Correlations from which a sentence speaks of a season, of an input, or of a storage.
SEASONAL, STEERED, FOLLOWING = 0.5, 0.3, 0.5
NEARLY_EMPTY = 0.001  # share of all mass
# Columns of correlations with a storage: of a cell, of the usual value of the date, of all cells together.
WITH, DATE_WITH, TOTAL_WITH = "r with ", "r of the date with ", "r of the total with "


def read_members(
    models: Mapping[int, MassModel],
    data: Tensors,
    series: xr.Dataset,
    site: str,
    storages: Storages,
) -> pd.DataFrame:
    """The cells of every member by its seed, each with a `sentence`: cells of two members share nothing."""
    own = {name: by_site[site] for name, by_site in storages.items() if site in by_site}
    tables = [
        read_cells(model, data, series, site, own).assign(member=seed) for seed, model in models.items()
    ]
    table = pd.concat(tables, ignore_index=True)
    return table.assign(sentence=[cell_sentence(row) for _, row in table.iterrows()])


@torch.no_grad()
def read_cells(
    model: MassModel,
    data: Tensors,
    series: xr.Dataset,
    site: str,
    storages: Mapping[str, pd.Series],
) -> pd.DataFrame:
    """One row per cell, the fastest first.

    storages: observed or modelled ones by name, dated. Beside the correlation of every cell with them stand
    two yardsticks that need no cells: the usual value of the date, the total storage.
    """
    row = [str(name) for name in series["site"].to_numpy()].index(site)
    steps = np.flatnonzero(data.covered[row])
    some = slice(steps[0], steps[-1] + 1)
    x, a = (value[[row], some].transpose(0, 1) for value in (data.x, data.a))
    trace = model.train(False).trace(x, a, data.static[[row]])
    time = times(series)[some]
    stored = trace.c[:, 0].double().numpy()  # (T + 1, K)
    leaves = np.concatenate([part.leaves[:, 0].numpy() for part in trace.parts()])  # (T, K)
    passed = np.stack([sums[0].numpy() for sums in trace.throughput(trace.steps)])  # (2, K)
    mean = stored[1:].mean(0)
    table = pd.DataFrame({"cell": np.arange(len(mean)), "losses": names_of_losses(model)})
    table["share of storage"] = mean / max(mean.sum(), 1e-300)
    table["turnover (days)"] = turnover_days(passed, time)
    table = table.join(pd.DataFrame([season(values, time) for values in stored[1:].T]))
    known = {
        name: series[name][row, some].to_numpy() for name in (*names(series, "mass"), *names(series, "aux"))
    }
    table = table.join(pd.DataFrame([steering(values, known) for values in leaves.T]))
    for name, values in storages.items():
        own = values.reindex(time).to_numpy(np.float64)
        for column, numbers in beside(name, own, stored[1:], time).items():
            table[column] = np.broadcast_to(np.asarray(numbers, dtype=np.float64), len(table))
    return table.iloc[by_turnover(table["turnover (days)"].to_numpy())].reset_index(drop=True)


def names_of_losses(model: MassModel) -> list[str]:
    """By cell, the name of the losses where nothing else leaves it, else empty."""
    losses = losses_of(model)
    if losses is None:
        return [""] * model.layer.gates.hidden_size
    return [losses if share == 1 else "" for share in exits(model)[:, outlet_names(model).index(losses)]]


def season(values: Floats, time: pd.DatetimeIndex) -> dict[str, object]:  # (T,)
    """The month in which a store is fullest, and how well the date alone tells its content in later years."""
    half = len(time) // 2
    if time[-1] - time[0] < pd.Timedelta("730D"):
        return {"fullest in": "", "r of the date": np.nan}
    by_month = pd.Series(values[:half], index=time[:half]).groupby(time[:half].month).mean()
    r = correlation(usual(time[:half], values[:half], time[half:]), values[half:])
    return {"fullest in": MONTHS[by_month.index[int(by_month.argmax())] - 1], "r of the date": r}


def steering(leaves: Floats, inputs: Mapping[str, Floats]) -> dict[str, object]:  # (T,), each (T,)
    """The input that goes with an outlet best in the first half, and its correlation in the second."""
    half = len(leaves) // 2
    # Of shares near 0 or 1 the logit varies, not the share.
    logit = np.log(np.clip(leaves, 1e-12, None)) - np.log(np.clip(1 - leaves, 1e-12, None))
    past = {name: correlation(logit[:half], values[:half]) for name, values in inputs.items()}
    past = {name: r for name, r in past.items() if r == r}
    if not past:
        return {"opens with": "", "r of opening": np.nan}
    best = max(past, key=lambda name: abs(past[name]))
    return {"opens with": best, "r of opening": correlation(logit[half:], inputs[best][half:])}


def beside(name: str, values: Floats, stored: Floats, time: pd.DatetimeIndex) -> dict[str, object]:
    """Correlations with a storage in the second half: of each cell, of the date, and of the total."""
    half = len(time) // 2
    known = np.isfinite(values)
    past, held = known & (np.arange(len(time)) < half), known & (np.arange(len(time)) >= half)
    if past.sum() < 2 or held.sum() < 2:
        return {f"{WITH}{name}": np.nan}
    return {
        f"{WITH}{name}": [correlation(cell[held], values[held]) for cell in stored.T],
        f"{DATE_WITH}{name}": correlation(usual(time[past], values[past], time[held]), values[held]),
        f"{TOTAL_WITH}{name}": correlation(stored[held].sum(1), values[held]),
    }


def cell_sentence(row: pd.Series) -> str:
    """One sentence about a cell, with only what its numbers support.

    >>> about = {"cell": 3, "losses": "", "share of storage": 0.2, "turnover (days)": 41.0,
    ...          "fullest in": "March", "r of the date": 0.8, "opens with": "tmax", "r of opening": 0.7}
    >>> cell_sentence(pd.Series(about)).split(", ")[1:]
    ['is fullest in March', 'and empties faster with high tmax.']
    """
    name = f"Cell {row['cell']}" + (f" ({row['losses']})" if row["losses"] else "")
    if not row["share of storage"] >= NEARLY_EMPTY:
        return f"{name} is nearly always empty."
    percent, stays = 100 * row["share of storage"], short_time(row["turnover (days)"])
    parts = [f"holds {percent:.{0 if percent >= 9.5 else 1}f} % of the stored mass"]
    if stays:
        parts[0] += f" for {stays} before it moves on"
    if row["r of the date"] >= SEASONAL:
        parts.append(f"is fullest in {row['fullest in']}")
    if abs(row["r of opening"]) >= STEERED:
        side = "high" if row["r of opening"] > 0 else "low"
        parts.append(f"empties faster with {side} {row['opens with']}")
    parts += following(row)
    if len(parts) == 1:
        return f"{name} {parts[0]}."
    comma = "," if len(parts) > 2 else ""
    return f"{name} {', '.join(parts[:-1])}{comma} and {parts[-1]}."


def following(row: pd.Series) -> list[str]:
    """Which storages a cell follows better than the date and the total storage do, which need no cells.

    >>> about = {"r with swe": 0.9, "r of the date with swe": 0.7, "r of the total with swe": 0.4}
    >>> following(pd.Series(about))
    ['follows swe (r = 0.90; the date alone 0.70, all cells together 0.40)']
    """
    words = []
    for name in (str(key).removeprefix(WITH) for key in row.index if str(key).startswith(WITH)):
        r, date, total = (row.get(f"{what}{name}", np.nan) for what in (WITH, DATE_WITH, TOTAL_WITH))
        if r >= FOLLOWING and r > np.nanmax([date, total, -1.0]):
            yardsticks = f"the date alone {date:.2f}, all cells together {total:.2f}"
            words.append(f"follows {name} (r = {r:.2f}; {yardsticks})")
    return words

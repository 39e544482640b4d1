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
from mclstm.evaluation.turnover import by_turnover, turnover_days
from mclstm.explain.snow_cells import correlation, usual
from mclstm.models.mass_model import MassModel

__all__ = ["cell_sentence", "read_cells"]

Floats = NDArray[np.float64]
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
SEASONAL, STEERED = 0.5, 0.3  # correlations from which a sentence speaks of a season, or of an input
NEARLY_EMPTY = 0.001  # share of all mass


@torch.no_grad()
def read_cells(
    model: MassModel,
    data: Tensors,
    series: xr.Dataset,
    site: str,
    storages: Mapping[str, Floats] | None = None,
) -> pd.DataFrame:
    """One row per cell, the fastest first.

    storages: observed or modelled ones, each (T,) with NaN where unknown. Beside the correlation of every
    cell with them stand two yardsticks that need no cells: the usual value of the date, the total storage.
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
    table = pd.DataFrame({"cell": np.arange(len(mean)), "share of storage": mean / max(mean.sum(), 1e-300)})
    table["turnover (days)"] = turnover_days(passed, time)
    table = table.join(pd.DataFrame([season(values, time) for values in stored[1:].T]))
    known = {
        name: series[name][row, some].to_numpy() for name in (*names(series, "mass"), *names(series, "aux"))
    }
    table = table.join(pd.DataFrame([steering(values, known) for values in leaves.T]))
    for name, values in (storages or {}).items():
        for column, numbers in beside(name, values[some], stored[1:], time).items():
            table[column] = np.broadcast_to(np.asarray(numbers, dtype=np.float64), len(table))
    return table.iloc[by_turnover(table["turnover (days)"].to_numpy())].reset_index(drop=True)


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
        return {f"r with {name}": np.nan}
    return {
        f"r with {name}": [correlation(cell[held], values[held]) for cell in stored.T],
        f"r of the date with {name}": correlation(usual(time[past], values[past], time[held]), values[held]),
        f"r of the total with {name}": correlation(stored[held].sum(1), values[held]),
    }


def cell_sentence(row: pd.Series) -> str:
    """One sentence about a cell, with only what its numbers support.

    >>> about = {"cell": 3, "share of storage": 0.2, "turnover (days)": 41.0, "fullest in": "March",
    ...          "r of the date": 0.8, "opens with": "tmax", "r of opening": 0.7}
    >>> cell_sentence(pd.Series(about)).split(", ")[1:]
    ['is fullest in March', 'and empties faster with high tmax.']
    """
    if not row["share of storage"] >= NEARLY_EMPTY:
        return f"Cell {row['cell']} is nearly always empty."
    turnover = row["turnover (days)"]
    parts = [f"holds {100 * row['share of storage']:.2g} % of the stored mass"]
    if turnover == turnover:
        parts[0] += f" for {turnover:.2g} days on average"
    if row["r of the date"] >= SEASONAL:
        parts.append(f"is fullest in {row['fullest in']}")
    if abs(row["r of opening"]) >= STEERED:
        side = "high" if row["r of opening"] > 0 else "low"
        parts.append(f"empties faster with {side} {row['opens with']}")
    if len(parts) == 1:
        return f"Cell {row['cell']} {parts[0]}."
    comma = "," if len(parts) > 2 else ""
    return f"Cell {row['cell']} {', '.join(parts[:-1])}{comma} and {parts[-1]}."

"""Rivals beside a model: from a series to their predictions, and to scores over the model's own steps."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from mclstm.data.readers.hdf5_safety import require_safe
from mclstm.data.series import covered, names
from mclstm.errors import DataError
from mclstm.evaluation.outlets import targets, variable
from mclstm.evaluation.process_rivals import PROCESS_RIVALS
from mclstm.evaluation.rivals import DAY, RIVALS, WEEK, Record
from mclstm.evaluation.score_tables import score_table

__all__ = ["read_rivals", "record_of", "require_rivals", "rival_predictions", "rival_table", "together"]


def require_rivals(chosen: Iterable[str], time: pd.DatetimeIndex) -> None:
    """Refuse a rival that steps like these cannot have."""
    step = pd.Series(time).diff().median()
    for name in chosen:
        if name == "regression-by-time" and not step < DAY:
            raise DataError(
                "evaluation.against: regression-by-time needs steps shorter than a day. Choose regression."
            )
        if name == "last-week" and (pd.isna(step) or WEEK % step != pd.Timedelta(0)):
            raise DataError(
                "evaluation.against: last-week needs steps that divide a week. Choose climatology."
            )


def record_of(series: xr.Dataset, begins: NDArray[np.bool_], scored: NDArray[np.bool_]) -> Record:
    """The series as rivals see it.

    begins: (time,), where sequences begin · scored: (time,), where targets count
    """
    outside = ~covered(series).to_numpy()

    def stacked(role: str, missing: NDArray[np.bool_], fill: float) -> NDArray[np.float64]:
        columns = [np.where(missing, fill, series[name].to_numpy()) for name in names(series, role)]
        return np.stack(columns, -1) if columns else np.zeros((*missing.shape, 0))

    x, a = (stacked(role, outside, 0.0) for role in ("mass", "aux"))
    first = np.arange(len(begins)) == 0
    y = stacked("target", outside | ~scored, np.nan)
    return Record(x, a, y, pd.DatetimeIndex(series["time"].to_numpy()), begins | first)


def rival_predictions(
    name: str, record: Record, train: NDArray[np.bool_], period: slice, predictions: xr.Dataset
) -> xr.Dataset:
    """A model's predictions of a period with a rival's simulation in place of its own.

    train: (time,), the steps to fit on. Where the model predicts nothing, neither does the rival.
    """
    values = (RIVALS | PROCESS_RIVALS)[name](record, train)[:, period]
    kept = [variable("observed", target) for target in targets(predictions)] + ["inflow"]
    result = predictions[[key for key in kept if key in predictions]]
    for at, target in enumerate(targets(predictions)):
        own = predictions[variable("simulated", target)]
        simulated = np.where(np.isfinite(own.to_numpy()), values[..., at], np.nan)
        result = result.assign({str(own.name): own.copy(data=simulated)})
    return result


def rival_table(rivals: Mapping[str, xr.Dataset], metrics: Sequence[str]) -> pd.DataFrame:
    """The scores of every rival as `score_table` gives them, with its name in the column `model`."""
    tables = [score_table(flows, metrics).assign(model=name) for name, flows in rivals.items()]
    if not tables:
        return pd.DataFrame(columns=["model"])
    whole = pd.concat(tables, ignore_index=True)
    return whole[["model", *whole.columns.drop("model")]]


def together(rivals: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """The simulations of all rivals, (model, site, time): what rivals.nc holds."""
    simulated = [
        flows[[variable("simulated", target) for target in targets(flows)]] for flows in rivals.values()
    ]
    return xr.concat(simulated, pd.Index(list(rivals), name="model"))


def read_rivals(path: Path, flows: xr.Dataset) -> dict[str, xr.Dataset]:
    """The flows of every rival in a rivals.nc, none where there is no file; flows: those of the model."""
    if not path.is_file():
        return {}
    require_safe(path)
    with xr.open_dataset(path, engine="h5netcdf", decode_timedelta=False) as file:
        simulated = file.load()
    rivals = [str(name) for name in simulated["model"].to_numpy()]
    return {name: flows.assign(simulated.isel(model=at, drop=True)) for at, name in enumerate(rivals)}

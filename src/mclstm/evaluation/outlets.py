"""Several targets of one model: their names, their sum, and scores over all of them together."""

from collections.abc import Iterable, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from mclstm.data.units import parse
from mclstm.errors import DataError
from mclstm.evaluation.metrics import UNDEFINED, valid_pairs

__all__ = [
    "POOLED", "TOTAL", "pooled_score", "require_target_names", "scored_targets", "share_a_unit", "targets",
    "variable", "with_total",
]  # fmt: skip

TOTAL = "total"  # the sum of all targets, as a target of its own
POOLED = "pooled"  # the pairs of all targets together
EXTREMES = ("lowest of", "highest of")  # how the long names of an ensemble's extreme members begin

Floats = NDArray[np.float64]


def targets(predictions: xr.Dataset) -> list[str]:
    """The names of the targets; a single target has the name "".

    >>> targets(xr.Dataset({"simulated_flow": 0, "observed_flow": 0, "simulated_evaporation": 0}))
    ['flow', 'evaporation']
    """
    names = [str(name) for name in predictions.data_vars if str(name).startswith("simulated")]
    own = [n for n in names if not str(predictions[n].attrs.get("long_name", "")).startswith(EXTREMES)]
    return [name.removeprefix("simulated").removeprefix("_") for name in own]


def variable(what: str, target: str) -> str:
    """The name of a target's `simulated` or `observed` series.

    >>> variable("simulated", "flow"), variable("observed", "")
    ('simulated_flow', 'observed')
    """
    return f"{what}_{target}" if target else what


def scored_targets(predictions: xr.Dataset) -> list[str]:
    """The targets that have observations to be scored against."""
    return [name for name in targets(predictions) if variable("observed", name) in predictions]


def require_target_names(names: Sequence[str]) -> None:
    """Refuse a name among several targets that tables need for all of them."""
    for name in names:
        if len(names) > 1 and name in (TOTAL, POOLED):
            raise DataError(
                f"the target {name!r} has the name that tables of scores give to all targets together. "
                "Rename the column."
            )


def share_a_unit(predictions: xr.Dataset, names: Iterable[str]) -> bool:
    """Whether targets can be added: all in one unit, or all without a stated one."""
    units = {str(predictions[variable("simulated", name)].attrs.get("units", "")) for name in names}
    return len(units) == 1 or (all(units) and len({parse(unit) for unit in units}) == 1)


def with_total(predictions: xr.Dataset) -> xr.Dataset:
    """The predictions with the sum of all targets as one more target, if there are several in one unit.

    A step of the total is observed where every target is.

    >>> days = {"site": ["A"], "time": [0, 1]}
    >>> parts = {"simulated_north": [[1.0, 2.0]], "simulated_south": [[3.0, 4.0]]}
    >>> flows = xr.Dataset({name: (("site", "time"), values) for name, values in parts.items()}, days)
    >>> with_total(flows)["simulated_total"].to_numpy().tolist()
    [[4.0, 6.0]]
    """
    names = targets(predictions)
    if len(names) < 2 or TOTAL in names or not share_a_unit(predictions, names):
        return predictions
    result = predictions.copy()
    for what in ("simulated", "observed"):
        parts = [predictions[key] for name in names if (key := variable(what, name)) in predictions]
        if len(parts) == len(names):
            values = np.sum([part.to_numpy() for part in parts], axis=0)
            about = {**parts[0].attrs, "long_name": f"{what} {TOTAL}"}
            result[variable(what, TOTAL)] = parts[0].copy(data=values).assign_attrs(about)
    return result


def pooled_score(pairs: Iterable[Sequence[Floats]], metric: str) -> float:
    """One score of all targets of a site; pairs: simulated and observed (T,) of each target.

    NSE  = 1 - sum_k sum_t (s - o)^2 / sum_k sum_t (o - mean_t o)^2, k the targets
    RMSE = sqrt(mean_kt (s - o)^2), MAE = mean_kt |s - o|; other metrics are NaN.
    This NSE is the mean over targets, each weighted by its observed variance. It ranks models as RMSE does.

    >>> north, south = np.array([[1.0, 2.0], [1.0, 3.0]]), np.array([[0.0, 4.0], [0.0, 4.0]])
    >>> pooled_score([north, south], "nse"), pooled_score([north, south], "rmse")
    (0.9, 0.5)
    """
    known = [valid_pairs(simulated, observed) for simulated, observed in pairs]
    errors = np.concatenate([s - o for s, o in known])
    spread = sum(float(((o - o.mean()) ** 2).sum()) for _, o in known if o.size)
    if errors.size < 2 or (metric == "nse" and spread == 0):
        return UNDEFINED
    scores = {
        "nse": 1 - float((errors**2).sum()) / (spread or 1.0),
        "rmse": float(np.sqrt((errors**2).mean())),
        "mae": float(np.abs(errors).mean()),
    }
    return scores.get(metric, UNDEFINED)

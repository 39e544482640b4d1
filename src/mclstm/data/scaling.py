"""Moments of the training period. Auxiliaries and statics are standardised with them; mass never is."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from mclstm.data.series import names
from mclstm.errors import CheckpointError, DataError

__all__ = ["Moment", "moments", "moments_from_json", "standardised"]


class Moment(NamedTuple):
    """Mean and standard deviation of one variable."""

    mean: float
    std: float


def moments(training: xr.Dataset) -> dict[str, Moment]:
    """Mean and deviation of every variable over the training period, all sites together.

    A constant variable gets deviation 1: it carries no information, and dividing by zero would destroy all.

    >>> series = xr.Dataset({"t": (("site", "time"), [[1.0, 3.0]], {"role": "aux"})})
    >>> moments(series)
    {'t': Moment(mean=2.0, std=1.0)}
    """
    found = {}
    for role in ("mass", "aux", "static", "target"):
        for name in names(training, role):
            values = training[name].to_numpy()
            known = values[np.isfinite(values)]
            if known.size == 0:
                raise DataError(
                    f"{name} has no value in the training period. Choose another period or column."
                )
            deviation = float(known.std())
            found[name] = Moment(float(known.mean()), deviation if deviation > 0 else 1.0)
    return found


def standardised(values: np.ndarray, moment: Moment) -> np.ndarray:
    """(values - mean) / std, any shape.

    >>> standardised(np.array([2.0, 4.0]), Moment(2.0, 2.0)).tolist()
    [0.0, 1.0]
    """
    return (values - moment.mean) / moment.std


def moments_from_json(
    content: Mapping[str, object], source: str, required: Iterable[str] = ()
) -> dict[str, Moment]:
    """What a run stored, with all that is required, or a CheckpointError naming the file."""
    try:
        found = {str(name): Moment(*map(float, pair)) for name, pair in content.items()}  # type: ignore[call-overload]
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            f"{source} does not hold mean and deviation of each variable. Restore it."
        ) from error
    if not all(np.isfinite(pair).all() and pair.std > 0 for pair in found.values()):
        raise CheckpointError(f"{source} holds a moment that is not finite. Restore the file.")
    absent = [name for name in required if name not in found]
    if absent:
        raise CheckpointError(f"{source} has no mean and deviation of {absent[0]!r}. Restore the file.")
    return found

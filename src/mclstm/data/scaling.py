"""Mean and deviation in the training period. They standardise auxiliary and static inputs, never mass."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from mclstm.data.series import names
from mclstm.errors import CheckpointError, DataError

__all__ = ["Moment", "moments", "moments_from_json", "same_moments", "standardised"]

ROUNDING = 1e-9  # of a sum; versions and machines add in another order


class Moment(NamedTuple):
    """Mean and standard deviation of one variable."""

    mean: float
    std: float


class Tally(NamedTuple):
    """The known values of one site: how many, their sum, and the sum of squares about their own mean."""

    size: int
    total: float
    spread: float


def moments(training: xr.Dataset | Iterable[xr.Dataset]) -> dict[str, Moment]:
    """Mean and deviation of every variable over the training period, all sites together.

    A constant variable gets deviation 1: it carries no information, and division by zero would give NaN.
    Sums are those of each site, added exactly: parts give the same bits as all sites together.

    >>> series = xr.Dataset({"t": (("site", "time"), [[1.0, 3.0]], {"role": "aux"})})
    >>> moments(series)
    {'t': Moment(mean=2.0, std=1.0)}
    """
    tallies: dict[str, list[Tally]] = {}
    for part in [training] if isinstance(training, xr.Dataset) else training:
        for name in (name for role in ("mass", "aux", "static", "target") for name in names(part, role)):
            values = part[name].to_numpy()
            rows = values if values.ndim > 1 else values[:, np.newaxis]
            tallies.setdefault(name, []).extend(map(_tally, rows))
    return {name: _moment(name, of_sites) for name, of_sites in tallies.items()}


def _tally(row: np.ndarray) -> Tally:
    """Of one site: row (time,)."""
    known = row[np.isfinite(row)]
    total = float(known.sum())
    spread = float(np.square(known - total / max(known.size, 1)).sum())
    return Tally(known.size, total, spread)


def _moment(name: str, of_sites: list[Tally]) -> Moment:
    size = sum(tally.size for tally in of_sites)
    if size == 0:
        raise DataError(f"{name} has no value in the training period. Change period or column.")
    mean = math.fsum(tally.total for tally in of_sites) / size
    apart = (tally.size * (tally.total / max(tally.size, 1) - mean) ** 2 for tally in of_sites)
    within = math.fsum([*(tally.spread for tally in of_sites), *apart])
    deviation = math.sqrt(within / size)
    return Moment(mean, deviation if deviation > 0 else 1.0)


def standardised(values: np.ndarray, moment: Moment) -> np.ndarray:
    """(values - mean) / std, any shape.

    >>> standardised(np.array([2.0, 4.0]), Moment(2.0, 2.0)).tolist()
    [0.0, 1.0]
    """
    return (values - moment.mean) / moment.std


def same_moments(one: Mapping[str, Moment], other: Mapping[str, Moment]) -> bool:
    """Whether two scalings are those of the same data, up to the rounding of sums.

    >>> same_moments({"t": Moment(0.3, 1.0)}, {"t": Moment(0.1 + 0.2, 1.0)})
    True
    >>> same_moments({"t": Moment(0.3, 1.0)}, {"t": Moment(0.31, 1.0)})
    False
    """
    return one.keys() == other.keys() and all(
        math.isclose(here, there, rel_tol=ROUNDING, abs_tol=ROUNDING * one[name].std)
        for name in one
        for here, there in zip(one[name], other[name], strict=True)
    )


def moments_from_json(
    content: Mapping[str, object], source: str, required: Iterable[str] = ()
) -> dict[str, Moment]:
    """The moments that a run stored, or a CheckpointError that names the file."""
    try:
        result = {str(name): Moment(*map(float, pair)) for name, pair in content.items()}  # type: ignore[call-overload]
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{source} lacks mean and deviation of a variable. Restore it.") from error
    if not all(np.isfinite(pair).all() and pair.std > 0 for pair in result.values()):
        raise CheckpointError(f"{source} holds a moment that is not finite. Restore the file.")
    absent = [name for name in required if name not in result]
    if absent:
        raise CheckpointError(f"{source} has no mean and deviation of {absent[0]!r}. Restore the file.")
    return result

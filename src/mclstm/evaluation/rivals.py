"""Simple models to score beside a trained one: fitted on its training steps, without gradients.

Every rival takes (record, train) and returns predictions (S, T, Y) of all steps; `RIVALS` lists them by name.
S sites, T steps, M masses, A auxiliaries, Y targets. Each site has a fit of its own. The regressions and the
share of inflow see what the model sees: the masses, its auxiliaries, the time; before the beginning of a
sequence there was nothing. `climatology` sees the time alone. `last-week` and `persistence` see more than the
model: earlier observations of the targets, those of the scored period too.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mclstm.evaluation.regression import shrunk

__all__ = [
    "LAGS", "RIVALS", "Record", "Weather", "climatology", "lagged", "last_week", "persistence",
    "regression", "regression_by_time", "share_of_inflow",
]  # fmt: skip

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Of the inflow: this step and the 12, 24, 36 or 48 before it, whichever leaves the smallest error.
LAGS = (13, 25, 37, 49)
DAY, WEEK = pd.Timedelta(days=1), pd.Timedelta(weeks=1)


class Weather(NamedTuple):
    """What process models see, each (S, T), 0 where a site has no inputs."""

    precipitation: Floats  # mm/day
    temperature: Floats  # degC
    pet: Floats  # mm/day


class Record(NamedTuple):
    """The data of a run, in float64."""

    x: Floats  # (S, T, M) mass, 0 where a site has no inputs
    a: Floats  # (S, T, A) auxiliaries, 0 where a site has no inputs
    y: Floats  # (S, T, Y) targets, NaN where they are not observed or not scored
    time: pd.DatetimeIndex  # (T,)
    begins: Flags  # (T,) at the first step of every sequence, and of the record
    weather: Weather | None = None  # only for process models

    def first(self) -> NDArray[np.int64]:
        """The first step of the sequence that each step belongs to, (T,)."""
        steps = np.arange(len(self.time))
        return np.maximum.accumulate(np.where(self.begins, steps, 0))

    def slots(self) -> NDArray[np.int64]:
        """The time of the day of every step, counted from 0, (T,)."""
        return np.unique(self.time - self.time.normalize(), return_inverse=True)[1]


Rival = Callable[[Record, Flags], Floats]


def mean_by(values: Floats, classes: NDArray[np.int64], train: Flags) -> Floats:
    """The mean of the training steps of the same class, at every step; NaN for a class without any.

    values: (S, T, Y) · classes: (T,) · train: (T,)

    >>> flow = np.array([[[1.0], [2.0], [5.0], [9.0]]])
    >>> mean_by(flow, np.array([0, 1, 0, 1]), np.array([True, True, True, False])).ravel().tolist()
    [3.0, 2.0, 3.0, 2.0]
    """
    _, places = np.unique(classes, return_inverse=True)
    inside = values[:, train].transpose(1, 0, 2)
    known = np.isfinite(inside)
    total, count = (np.zeros((places.max() + 1, *inside.shape[1:])) for _ in range(2))
    np.add.at(total, places[train], np.where(known, inside, 0.0))
    np.add.at(count, places[train], known)
    mean = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return np.asarray(mean[places].transpose(1, 0, 2))


def climatology(record: Record, train: Flags) -> Floats:
    """The mean of the time of day, of workdays and weekends apart; for steps of days, of the day of the year.

    A class that training lacks takes the mean of the time of day, then that of all steps.
    """
    slots, weekend = record.slots(), np.asarray(record.time.day_of_week) >= 5
    every = np.zeros_like(slots)
    coarser = (
        [2 * slots + weekend, slots, every] if slots.any() else [np.asarray(record.time.day_of_year), every]
    )
    result = np.full_like(record.y, np.nan)
    for classes in coarser:
        result = np.where(np.isfinite(result), result, mean_by(record.y, classes, train))
    return result


def last_week(record: Record, train: Flags) -> Floats:
    """What was observed a week before; the climatology where nothing was."""
    places = record.time.get_indexer(record.time - WEEK)
    before = np.where(places[:, np.newaxis] >= 0, record.y[:, places], np.nan)
    return np.where(np.isfinite(before), before, climatology(record, train))


def persistence(record: Record, train: Flags) -> Floats:
    """The last observation before a step; 0 where its sequence has none yet. It needs no training."""
    steps = np.arange(record.y.shape[1])[:, np.newaxis]
    seen = np.maximum.accumulate(np.where(np.isfinite(record.y), steps, -1), axis=1)
    last = np.concatenate([np.full_like(seen[:, :1], -1), seen[:, :-1]], axis=1)
    values = np.take_along_axis(record.y, np.maximum(last, 0), axis=1)
    return np.where(last >= record.first()[:, np.newaxis], values, 0.0)


def lagged(values: Floats, first: NDArray[np.int64], lags: int) -> Floats:
    """Each column at this step and at the lags - 1 steps before it, 0 before the sequence began.

    values: (S, T, M) · first: (T,), the first step of each step's sequence -> (S, T, lags, M)

    >>> lagged(np.array([[[1.0], [2.0], [3.0]]]), np.array([0, 0, 2]), 2)[0, :, :, 0].tolist()
    [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    """
    earlier = np.arange(values.shape[1])[:, np.newaxis] - np.arange(lags)
    inside = earlier >= first[:, np.newaxis]
    return np.where(inside[..., np.newaxis], values[:, np.maximum(earlier, 0)], 0.0)


def share_of_inflow(record: Record, train: Flags, lags: int = LAGS[-1]) -> Floats:
    """y_t = s X_{t-l}: a share s of the total inflow, l steps later; by least squares, for each target."""
    total = lagged(record.x.sum(-1, keepdims=True), record.first(), lags)[..., 0]  # (S, T, lags)
    result = np.full_like(record.y, np.nan)
    for site, target in np.ndindex(len(record.y), record.y.shape[-1]):
        known = train & np.isfinite(record.y[site, :, target])
        inflow, flow = total[site, known], record.y[site, known, target]
        power = (inflow**2).sum(0)
        shares = np.divide(flow @ inflow, power, out=np.zeros(lags), where=power > 0)
        errors = ((flow[:, np.newaxis] - shares * inflow) ** 2).sum(0)
        lag = int(errors.argmin())
        if known.any():
            result[site, :, target] = shares[lag] * total[site, :, lag]
    return result


class Fit(NamedTuple):
    """A regression of one site with some number of lags."""

    flow: Floats  # (T, Q) at all steps
    left_out: Floats  # (N, Q) errors of the steps to learn from, each predicted from the others

    def error(self) -> float:
        """The sum of squares of what is left out."""
        return float((self.left_out**2).sum())


def regression(record: Record, train: Flags, lags: Sequence[int] = LAGS) -> Floats:
    """y_t = b + sum_l B_l x_{t-l} + C a_t: a linear map of the last inflows and of the auxiliaries.

    Its ridge penalty and its number of lags are chosen by leaving out one training step at a time.
    """
    return _best(record, train, lags, _common)


def regression_by_time(record: Record, train: Flags, lags: Sequence[int] = LAGS) -> Floats:
    """The regression with coefficients of its own for each time of the day, shrunk towards the common ones.

    y_t = b + d_k + sum_l (B_l + D_kl) x_{t-l} + (C + E_k) a_t, k the time of day. d, D and E learn from what
    the regression leaves of a step that it was not fitted on. One ridge penalty on all of them and the lags
    are chosen by leaving out one training day at a time. A time that training lacks has none.
    """
    return _best(record, train, lags, partial(_by_time, slots=record.slots()))


def _best(record: Record, train: Flags, lags: Sequence[int], fit: Callable[..., Fit]) -> Floats:
    """The flow of the fit whose number of lags leaves the smallest error, for each site and its targets."""
    result = np.full_like(record.y, np.nan)
    for site, y in enumerate(record.y):
        for known, targets in _alike(y, train):
            tried = _possible(record, known, lags)
            fits = (fit(_features(record, site, train, each), y[:, targets], known) for each in tried)
            result[site][:, targets] = min(fits, key=Fit.error).flow
    return result


def _possible(record: Record, known: Flags, lags: Sequence[int]) -> Sequence[int]:
    """The numbers of lags that sequences are long enough for, with fewer coefficients than known steps."""
    longest = int((np.arange(len(known)) - record.first()).max()) + 1
    most = min(longest, known.sum() // max(1, record.x.shape[-1]))
    return [each for each in lags if each <= most] or lags[:1]


def _common(features: Floats, y: Floats, known: Flags) -> Fit:
    """One map for all steps; features: (T, P) · y: (T, Q) · known: (T,), the steps to learn from."""
    centre, mean, scale = features[known].mean(0), y[known].mean(0), _deviation(y[known])
    fit = shrunk([(features[known] - centre, (y[known] - mean) / scale)])
    flow = mean + scale * ((features - centre) @ fit.coefficients[0])
    return Fit(flow, scale * fit.left_out[0])


def _by_time(features: Floats, y: Floats, known: Flags, slots: NDArray[np.int64]) -> Fit:
    """A map for each time of the day; shapes as for `_common`, slots: (T,)."""
    common, scale = _common(features, y, known), _deviation(y[known])
    whole = np.concatenate([np.ones((len(features), 1)), features], axis=1)
    times, inside = np.unique(slots[known]), slots[known]
    own = shrunk([(whole[known][inside == at], common.left_out[inside == at] / scale) for at in times])
    flow = common.flow.copy()
    for at, weights in zip(times, own.coefficients, strict=True):
        flow[slots == at] += scale * (whole[slots == at] @ weights)
    return Fit(flow, scale * np.concatenate(own.left_out))


def _features(record: Record, site: int, train: Flags, lags: int) -> Floats:
    """The lagged inflows and auxiliaries of a site (T, P), of mean 0 and deviation 1 in training."""
    inflows = lagged(record.x[site : site + 1], record.first(), lags)[0]
    features = np.concatenate(
        [inflows.reshape(len(inflows), lags * record.x.shape[-1]), record.a[site]], axis=1
    )
    inside = features[train]
    return np.asarray((features - inside.mean(0)) / _deviation(inside))


def _alike(y: Floats, train: Flags) -> Iterator[tuple[Flags, NDArray[np.intp]]]:
    """Training steps (T,) with an observation, and the targets observed at just these steps; y (T, Y)."""
    known = np.isfinite(y) & train[:, np.newaxis]
    patterns, places = np.unique(known, axis=1, return_inverse=True)
    for at, pattern in enumerate(patterns.T):
        if pattern.any():
            yield pattern, np.flatnonzero(places.ravel() == at)


def _deviation(values: Floats) -> Floats:
    """The deviation of every column (N, P), 1 of a constant one."""
    deviation = values.std(0)
    return np.where(deviation > 1e-12 * np.abs(values).max(0, initial=1e-300), deviation, 1.0)


RIVALS: dict[str, Rival] = {
    "climatology": climatology,
    "last-week": last_week,
    "persistence": persistence,
    "regression": regression,
    "regression-by-time": regression_by_time,
    "share-of-inflow": share_of_inflow,
}

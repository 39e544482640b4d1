"""Simple models to score beside a trained one: fitted on its training steps, without gradients.

Every rival takes (record, train) and returns predictions (S, T, Y) of all steps; `RIVALS` lists them by name.
S sites, T steps, M masses, A auxiliaries, Y targets. Each site has a fit of its own. Rivals see what the
model sees: the masses, its auxiliaries, the time. Before the beginning of a sequence there was nothing.
"""

from collections.abc import Callable, Iterator
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

LAGS = 13  # of the inflow: this step and the twelve before it
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


def share_of_inflow(record: Record, train: Flags, lags: int = LAGS) -> Floats:
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


def regression(record: Record, train: Flags, lags: int = LAGS) -> Floats:
    """y_t = b + sum_l B_l x_{t-l} + C a_t: a linear map of the last inflows and of the auxiliaries.

    Its ridge penalty is chosen by leaving out one training step at a time.
    """
    result = np.full_like(record.y, np.nan)
    for site, features in _features(record, train, lags):
        for known, targets in _alike(record.y[site], train):
            flow, centre = record.y[site][known][:, targets], features[known].mean(0)
            mean, scale = flow.mean(0), _deviation(flow)
            (found,) = shrunk([(features[known] - centre, (flow - mean) / scale)])
            result[site][:, targets] = mean + scale * ((features - centre) @ found)
    return result


def regression_by_time(record: Record, train: Flags, lags: int = LAGS) -> Floats:
    """The regression with coefficients of its own for each time of the day, shrunk towards the common ones.

    y_t = b + d_k + sum_l (B_l + D_kl) x_{t-l} + (C + E_k) a_t, k the time of day. One ridge penalty on all of
    d, D and E is chosen by leaving out one training day at a time. A time that training lacks has none.
    """
    result, slots = regression(record, train, lags), record.slots()
    for site, features in _features(record, train, lags):
        whole = np.concatenate([np.ones((len(features), 1)), features], axis=1)
        for known, targets in _alike(record.y[site], train):
            rest = record.y[site][:, targets] - result[site][:, targets]
            scale = _deviation(record.y[site][known][:, targets])
            times = np.unique(slots[known])
            rows = [known & (slots == time) for time in times]
            own = shrunk([(whole[row], rest[row] / scale) for row in rows])
            for time, found in zip(times, own, strict=True):
                here = slots == time
                result[site][np.ix_(here, targets)] += scale * (whole[here] @ found)
    return result


def _features(record: Record, train: Flags, lags: int) -> Iterator[tuple[int, Floats]]:
    """Every site with its lagged inflows and auxiliaries (T, P), of mean 0 and deviation 1 in training."""
    for site in range(len(record.x)):
        inflows = lagged(record.x[site : site + 1], record.first(), lags)[0]
        features = np.concatenate([inflows.reshape(len(inflows), -1), record.a[site]], axis=1)
        inside = features[train]
        yield site, (features - inside.mean(0)) / _deviation(inside)


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

"""Stores corrected by observations, never below zero: direct insertion, and an ensemble Kalman update.

Both are plain functions of numbers. `Stepper` calls them and books what they add or remove.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mclstm.errors import ConfigError, DataError

__all__ = ["inserted", "kalman_update", "require_observed"]

Array = NDArray[np.float64]
ROUNDING = 1e-12  # of a prediction; far above its rounding, far below a spread that matters


def inserted(
    stores: Array,  # (..., K)
    observed: Array,  # (...)
    cells: Sequence[int] | None = None,
) -> Array:
    """Stores whose chosen cells hold the observed amount together; NaN leaves a sample as it is.

    The cells keep their shares, c_k' = c_k observed / sum_n c_n. Empty ones share it evenly.

    >>> inserted(np.array([[1.0, 3.0, 5.0], [0.0, 0.0, 5.0]]), np.array([8.0, 1.0]), cells=[0, 1]).tolist()
    [[2.0, 6.0, 5.0], [0.5, 0.5, 5.0]]
    """
    every = range(stores.shape[-1])
    chosen = list(every if cells is None else cells)
    if not chosen or not set(chosen) <= set(every) or len(set(chosen)) < len(chosen):
        raise ConfigError(f"cells is {cells}. Choose some of the cells 0 to {every[-1]}, each once.")
    parts = stores[..., chosen]
    total = parts.sum(-1, keepdims=True)
    shares = np.where(total > 0, parts / np.where(total > 0, total, 1.0), 1.0 / len(chosen))
    amounts = observed[..., np.newaxis]
    result = stores.copy()
    result[..., chosen] = np.where(np.isnan(amounts), parts, shares * amounts)
    return result


def kalman_update(
    stores: Array,  # (N, B, K)
    predicted: Array,  # (N, B)
    observed: Array,  # (B,)
    error: Array,  # (B,)
) -> Array:
    """The stores of N realisations after a scalar observation of each site; NaN leaves a site as it is.

    With the sample covariance P of stores and prediction, the sample variance v of the prediction and r the
    square of the standard error of the observation,

        mean' = mean + P / (v + r) (observed - predicted mean)
        deviation' = deviation - P / (v + r) (predicted deviation) / (1 + √(r / (v + r)))

    the serial square-root filter of Whitaker and Hamill (2002): no random numbers, and the variance of a
    linear prediction becomes v r / (v + r). Where that would make a store negative it is set to zero and the
    other stores of the realisation give what it lacks, so that the total is that of the filter, or zero.

    >>> stores = np.array([[[1.0, 0.5]], [[3.0, 0.5]]])  # two realisations of a site, two cells
    >>> kalman_update(stores, stores[..., 0], np.array([4.0]), np.array([0.0])).tolist()
    [[[4.0, 0.5]], [[4.0, 0.5]]]
    """
    count = len(stores)
    mean, spread = predicted.mean(0), predicted - predicted.mean(0)
    variance = (spread**2).sum(0) / (count - 1)
    covariance = ((stores - stores.mean(0)) * spread[..., np.newaxis]).sum(0) / (count - 1)  # (B, K)
    total = variance + error**2
    # A spread that is rounding tells nothing: its gain would be noise.
    least = (ROUNDING * np.abs(predicted).max(0)) ** 2
    known = ~np.isnan(observed) & (total > least)
    total = np.where(known, total, 1.0)
    gain = covariance / total[:, np.newaxis]
    gap = np.where(known, observed - mean, 0.0)
    drawn = spread / (1.0 + np.sqrt(error**2 / total))
    wanted = stores + gain * (gap - drawn)[..., np.newaxis]
    return np.where(known[:, np.newaxis], _without_negative(wanted), stores)


def _without_negative(wanted: Array) -> Array:
    """Negative stores are set to zero and the others scaled, so that the total stays: (..., K)."""
    positive = np.maximum(wanted, 0.0)
    held = positive.sum(-1, keepdims=True)
    total = np.maximum(wanted.sum(-1, keepdims=True), 0.0)
    return positive * np.where(held > 0, total / np.where(held > 0, held, 1.0), 0.0)


def require_observed(observed: ArrayLike, shape: tuple[int, ...], negative: bool = False) -> Array:
    """Observed amounts, or their errors, as an array of this shape; NaN stands for none."""
    try:
        values: Array = np.broadcast_to(np.asarray(observed, dtype=np.float64), shape)
    except (TypeError, ValueError):
        raise DataError(f"An observation has one amount for each site, {shape[-1]} here. Give all.") from None
    if np.isinf(values).any() or (not negative and (values < 0).any()):
        raise DataError("An observation or its error is negative or infinite. Give NaN where there is none.")
    return values

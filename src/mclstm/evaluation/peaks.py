"""How far simulated peaks lie from observed ones, in time steps."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.signal import find_peaks

from mclstm.evaluation.pairs import Series, valid_steps

__all__ = ["peak_timing"]

DISTANCE = 100  # steps between two peaks that count as separate floods, as in neuralhydrology


def peak_timing(simulated: ArrayLike, observed: ArrayLike, window: int = 3) -> float:
    """Mean distance in time steps between observed peaks and the simulated peaks around them.

    mean over p of |t_p - argmax s(t)|, t within `window` of t_p; a local maximum at t_p is a hit at once.
    simulated, observed (T,), one value each step of a regular axis. Observed peaks stand out by at least one
    standard deviation; those within `window` of an end or of a gap are left out; NaN where none is left.

    >>> days = np.arange(400.0)
    >>> peak_timing(np.exp(-((days - 202) ** 2)), np.exp(-((days - 200) ** 2)))
    2.0
    """
    s, o, steps = valid_steps(simulated, observed)
    if o.size < 2:
        return float("nan")
    peaks, _ = find_peaks(o, distance=DISTANCE, prominence=np.std(o))
    errors = [timing_error(s, int(p), window) for p in peaks if unbroken(steps, int(p), window)]
    return float(np.mean(errors)) if errors else float("nan")


def unbroken(steps: NDArray[np.intp], peak: int, window: int) -> bool:
    first, last = peak - window, peak + window
    return first >= 0 and last < steps.size and bool(steps[last] - steps[first] == 2 * window)


def timing_error(s: Series, peak: int, window: int) -> int:
    if s[peak] > s[peak - 1] and s[peak] > s[peak + 1]:
        return 0
    return abs(int(np.argmax(s[peak - window : peak + window + 1])) - window)

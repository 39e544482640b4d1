"""Where to look closely at a long series: the steps around its highest flow, and those of its lowest."""

import numpy as np
from matplotlib.axes import Axes

from mclstm.report.site_series import Floats, SiteSeries
from mclstm.report.style import COLOURS, axis_label, date_axis

__all__ = ["draw_window", "event_windows", "mark_windows"]

DAYS, SHORT_STEPS = 60, 120  # steps of a window: of days or longer, and of shorter steps
SEVERAL = 4  # windows that a series must hold; a shorter one shows its details as it is
KNOWN = 0.8  # share of a window in which the flow must be known


def event_windows(series: SiteSeries) -> dict[str, slice]:
    """The steps around the highest flow and the steps of the lowest mean flow; none for a short series.

    The observed flow decides, or the simulated one where nothing was observed.
    """
    step = float(np.median(np.diff(series.days))) if series.days.size > 1 else 1.0
    size = DAYS if step >= 1 else SHORT_STEPS
    flow = series.observed if series.has_observations else series.simulated
    if flow.size < SEVERAL * size or not np.isfinite(flow).any():
        return {}
    first = int(np.clip(np.nanargmax(flow) - size // 3, 0, flow.size - size))
    windows = {"highest flow": slice(first, first + size)}
    means = rolling_means(flow, size)
    if np.isfinite(means).any():
        low = int(np.nanargmin(means))
        windows["lowest flow"] = slice(low, low + size)
    return windows


def rolling_means(flow: Floats, size: int) -> Floats:
    """The mean of every `size` steps in a row, NaN where too few are known: (T,) -> (T - size + 1,).

    >>> rolling_means(np.array([1.0, 3.0, np.nan, np.nan]), 2).tolist()
    [2.0, nan, nan]
    """
    each = np.ones(size)
    count = np.convolve(np.isfinite(flow), each, "valid")
    total = np.convolve(np.nan_to_num(flow), each, "valid")
    return np.where(count >= KNOWN * size, total / np.maximum(count, 1), np.nan)


def draw_window(axis: Axes, series: SiteSeries, where: slice, title: str) -> None:
    """Observed and simulated flow of a few steps, on a scale of their own."""
    days = series.days[where]
    if series.has_observations:
        axis.plot(days, series.observed[where], color=COLOURS["observed"], linewidth=1.2)
    axis.plot(days, series.simulated[where], color=COLOURS["simulated"], linewidth=1.2)
    axis.set(xlim=(days[0], days[-1]), title=title)
    axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]) if (series.simulated < 0).any() else 0)
    axis.set_ylabel(axis_label("", series.unit).strip(" ()"))
    date_axis(axis, ticks=5)


def mark_windows(axis: Axes, series: SiteSeries, windows: dict[str, slice]) -> None:
    """A grey band where each window lies in the whole series."""
    for where in windows.values():
        days = series.days[where]
        axis.axvspan(days[0], days[-1], color=COLOURS["guide"], alpha=0.15, linewidth=0)

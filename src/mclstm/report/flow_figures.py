"""Simulated and observed flow of one site: the scatter plot and the flow-duration curve."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from mclstm.errors import DataError
from mclstm.report.site_series import Floats, site_series
from mclstm.report.style import COLOURS, axis_label, legend_above, logarithmic, plot_style, title_text

__all__ = ["exceedance", "flow_duration", "scatter", "spread_over_decades"]

CROWDED = 3000  # more points are one image inside the SVG
SMALLEST = 1e-6  # of the highest flow, where a logarithmic axis ends: a model may come very near to zero


def scatter(predictions: xr.Dataset, site: str, target: str = "") -> Figure:
    """All steps with an observation, and the 1:1 line; logarithmic if flows span decades."""
    series = site_series(predictions, site, target)
    if not series.has_observations:
        raise DataError(f"site {site[:60]!r} has no observations to compare with. Leave this figure out.")
    pairs = series.pairs()
    log = spread_over_decades(pairs)
    seen = pairs[:, (pairs > 0).all(0)] if log else pairs
    with plot_style():
        figure = Figure(figsize=(4.4, 4.6), layout="constrained")
        axis = figure.subplots()
        limits = square(seen, log)
        axis.plot(limits, limits, color=COLOURS["guide"], linewidth=0.8, dashes=(5, 3))
        axis.plot(
            seen[1], seen[0], "o", markersize=3, alpha=0.35, markeredgewidth=0,
            color=COLOURS["simulated"], rasterized=seen.shape[1] > CROWDED,
        )  # fmt: skip
        axis.set(xlim=limits, ylim=limits, aspect="equal")
        axis.set_xlabel(axis_label(f"observed {series.target}", series.unit))
        axis.set_ylabel(axis_label(f"simulated {series.target}", series.unit))
        if log:
            logarithmic(axis, "x")
            logarithmic(axis, "y")
        axis.set_title(title_text(site))
        axis.text(0.04, 0.97, note(series.scores(), pairs, seen), transform=axis.transAxes, va="top")
    return figure


def spread_over_decades(values: Floats) -> bool:
    """Whether a logarithmic axis shows more: at most 5 % of values at or below zero, and a wide range.

    >>> spread_over_decades(np.array([0.1, 1.0, 10.0])), spread_over_decades(np.array([5.0, 6.0]))
    (True, False)
    """
    positive = values[values > 0]
    if not positive.size or positive.size < 0.95 * values.size:
        return False
    low, high = np.quantile(positive, [0.01, 0.99])
    return bool(high > 10 * low)


def square(values: Floats, log: bool) -> tuple[float, float]:
    """The same limits for both axes, with a little room."""
    low, high = float(values.min()), float(values.max())
    if log:
        return low / 1.3, high * 1.3
    room = 0.04 * (high - low) or 1.0
    return (0.0 if low >= 0 else low - room), high + room


def note(scores: str, pairs: Floats, seen: Floats) -> str:
    """Scores, the number of steps, and how many of them a logarithmic axis cannot show."""
    lines = [*scores.split(" · "), f"{pairs.shape[1]} steps"]
    hidden = pairs.shape[1] - seen.shape[1]
    if hidden:
        lines.append(f"{hidden} not above 0, not shown")
    return "\n".join(filter(None, lines))


def flow_duration(predictions: xr.Dataset, site: str, target: str = "") -> Figure:
    """Sorted flows, logarithmic, over the share of steps with a higher flow; the same steps of both."""
    series = site_series(predictions, site, target)
    simulated, observed = series.pairs()
    curves = {"observed": observed, "simulated": simulated}
    if not series.has_observations:
        curves = {"simulated": series.simulated[np.isfinite(series.simulated)]}
    with plot_style():
        figure = Figure(figsize=(5.4, 3.9), layout="constrained")
        axis = figure.subplots()
        for name, values in curves.items():
            axis.plot(*exceedance(values), color=COLOURS[name], linewidth=1.4, label=name)
        limits = decades(np.concatenate(list(curves.values())))
        if limits is not None:
            axis.set_ylim(limits)
            logarithmic(axis, "y")
            axis.text(0.03, 0.04, "\n".join(dry(curves)), transform=axis.transAxes)
        axis.set(xlim=(0, 100), xlabel="steps with a higher value (%)")
        axis.set_ylabel(axis_label(series.target, series.unit))
        axis.set_title(title_text(site))
        legend_above(axis)
    return figure


def decades(values: Floats) -> tuple[float, float] | None:
    """The ends of a logarithmic axis; None where values are negative or hardly vary, which it does not suit.

    >>> decades(np.array([0.0, 1.0, 10.0])), decades(np.array([-1.0, 1.0, 10.0]))
    ((0.8, 12.5), None)
    """
    positive = values[values > 0]
    if not positive.size or (values < 0).any() or positive.max() < 2 * positive.min():
        return None
    low = max(float(positive.min()), float(positive.max()) * SMALLEST)
    return 0.8 * low, 1.25 * float(positive.max())


def dry(curves: dict[str, Floats]) -> list[str]:
    """What a logarithmic axis cannot show: how often nothing flows.

    >>> dry({"observed": np.array([0.0, 0.0, 1.0, 2.0]), "simulated": np.array([1.0])})
    ['observed: 50 % of steps at 0']
    """
    shares = {name: float((values <= 0).mean()) for name, values in curves.items()}
    return [f"{name}: {100 * share:.0f} % of steps at 0" for name, share in shares.items() if share > 0]


def exceedance(values: Floats) -> tuple[Floats, Floats]:
    """Weibull's plotting positions rank / (n + 1) in percent, and the values from the highest down.

    >>> [column.tolist() for column in exceedance(np.array([1.0, 4.0, 2.0]))]
    [[25.0, 50.0, 75.0], [4.0, 2.0, 1.0]]
    """
    ranks = np.arange(1, values.size + 1)
    return 100.0 * ranks / (values.size + 1), np.sort(values)[::-1]

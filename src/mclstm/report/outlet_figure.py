"""All outlets of one site on one page: a row for each, and one for their total."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.evaluation.outlets import TOTAL, targets, with_total
from mclstm.report.flow_figures import square
from mclstm.report.site_series import SiteSeries, site_series
from mclstm.report.style import COLOURS, axis_label, date_axis, legend_above, plot_style, title_text

__all__ = ["largest", "outlets"]

ROWS = 12  # outlets on one page
DAYS = 7.0  # of steps shorter than a day: more of them would be a blur
CROWDED = 3000  # more points are one image inside the SVG


def outlets(predictions: xr.Dataset, site: str) -> Figure:
    """Observed and simulated flow of the largest outlets and of their total: over time, and as a scatter.

    Steps shorter than a day are shown over the first week; the scatter and the scores count all of them.
    """
    whole, shown = with_total(predictions), largest(predictions, site, ROWS)
    names = [*shown, *([TOTAL] if TOTAL in targets(whole) else [])]
    many = len(targets(predictions))
    which = f"{many} outlets" if len(shown) == many else f"the {len(shown)} largest of {many} outlets"
    with plot_style():
        figure = Figure(figsize=(8.0, 0.8 + 1.35 * len(names)), layout="constrained")
        axes = figure.subplots(len(names), 2, width_ratios=(4.4, 1), squeeze=False)
        for (left, right), name in zip(axes, names, strict=True):
            series = site_series(whole, site, name)
            draw_steps(left, series)
            draw_pairs(right, series)
            if name != names[-1]:
                left.sharex(axes[-1, 0])
                left.tick_params(labelbottom=False)
        legend_above(axes[0, 0])
        date_axis(axes[-1, 0], ticks=9)
        axes[-1, 1].set_xlabel("observed")
        figure.align_ylabels(list(axes[:, 0]))
        figure.suptitle(f"{title_text(site)}   {which}", x=0.01, ha="left")
    return figure


def largest(predictions: xr.Dataset, site: str, most: int) -> list[str]:
    """At most so many targets of a site, in their own order: those with the largest mean simulation."""
    names = targets(predictions)
    means = [np.nan_to_num(site_series(predictions, site, name).simulated).mean() for name in names]
    chosen = sorted(np.argsort(-np.array(means), kind="stable")[:most].tolist())
    return [names[at] for at in chosen]


def draw_steps(axis: Axes, series: SiteSeries) -> None:
    """Flow over time, with the scores of all steps."""
    first, last = series.span()
    short = series.days.size > 1 and float(np.median(np.diff(series.days))) < 1
    inside = series.days <= (series.days[0] + DAYS if short else last)
    if series.has_observations:
        axis.plot(series.days[inside], series.observed[inside], color=COLOURS["observed"], label="observed")
    axis.plot(series.days[inside], series.simulated[inside], color=COLOURS["simulated"], label="simulated")
    axis.set(xlim=(first, min(last, float(series.days[inside][-1]) + 0.01)))
    axis.set_ylim(bottom=min(0.0, float(np.nanmin(series.simulated, initial=0.0))))
    axis.set_title("   ".join(filter(None, [title_text(series.target), series.scores()])), fontsize=8)
    axis.set_ylabel(axis_label("", series.unit).strip(" ()"))


def draw_pairs(axis: Axes, series: SiteSeries) -> None:
    """Simulated over observed flow, and the 1:1 line."""
    pairs = series.pairs()
    if not pairs.size:
        axis.set_axis_off()
        return
    limits = square(pairs, log=False)
    axis.plot(limits, limits, color=COLOURS["guide"], linewidth=0.8, dashes=(5, 3))
    axis.plot(
        pairs[1], pairs[0], "o", markersize=2, alpha=0.3, markeredgewidth=0, color=COLOURS["simulated"],
        rasterized=pairs.shape[1] > CROWDED,
    )  # fmt: skip
    axis.set(xlim=limits, ylim=limits, aspect="equal")
    axis.tick_params(labelsize=6)

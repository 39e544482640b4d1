"""The snow figures: the paper's, and how the chosen stores answer to season and temperature."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mclstm.explain.snow import Period, SnowSum
from mclstm.report.style import COLOURS, dated, legend_above, shown, styled

__all__ = ["response_figure", "snow_figure"]

SWE, CELLS = COLOURS["inflow"], COLOURS["simulated"]
MONTHS = "JFMAMJJASOND"


def snow_figure(site: str, chosen: SnowSum, held: Period, reference: float) -> Figure:
    """Snow water equivalent and the sum of the chosen cells in the years that had no part in the choice."""
    days = date2num(held.days.to_numpy())  # type: ignore[no-untyped-call]
    with styled():
        figure = Figure(figsize=(8.0, 3.0), layout="constrained")
        axis = figure.subplots()
        axis.plot(days, held.swe, color=SWE, label="snow water equivalent")
        cells = ", ".join(map(str, chosen.cells))
        axis.plot(
            days, held.storage[:, list(chosen.cells)].sum(1), color=CELLS, label=f"sum of cells {cells}"
        )
        axis.set(xlim=(days[0], days[-1]), ylim=(0, None), ylabel="mm")
        dated(axis)
        legend_above(axis)
        scores = (
            f"r = {chosen.held_out:.2f}, of anomalies {chosen.anomaly:.2f}, of the date alone {reference:.2f}"
        )
        axis.set_title(f"{shown(site)}   {scores}   (cells chosen in other years)", loc="left", pad=18)
    return figure


def response_figure(site: str, months: pd.DataFrame, classes: pd.DataFrame | None) -> Figure:
    """Mean storage by month and, where temperature is known, mean daily change by temperature.

    months, classes: what `by_month` and `by_temperature` give of the series `swe` and `cells`
    """
    panels = 1 if classes is None else 2
    with styled():
        figure = Figure(figsize=(4.2 * panels, 3.3), layout="constrained")
        axes = figure.subplots(1, panels, squeeze=False)[0]
        lines(axes[0], np.arange(12), months)
        axes[0].set_xticks(range(12), [MONTHS[int(month) - 1] for month in months.index])
        axes[0].set(ylim=(0, None), xlabel="month", ylabel="mean storage (mm)")
        if classes is not None:
            often = classes[classes["days"] >= 10]
            axes[1].axhline(0, color=COLOURS["guide"], linewidth=0.6)
            axes[1].axvline(0, color=COLOURS["guide"], linewidth=0.6)
            lines(axes[1], often.index.to_numpy(), often)
            axes[1].set(xlabel="daily mean temperature (°C)", ylabel="mean change (mm/day)")
        figure.suptitle(shown(site), x=0.01, ha="left")
    return figure


def lines(axis: Axes, x: ArrayLike, table: pd.DataFrame) -> None:
    for name, colour, words in (("swe", SWE, "SWE"), ("cells", CELLS, "chosen cells")):
        axis.plot(np.asarray(x), table[name].to_numpy(), "o-", color=colour, markersize=3, label=words)
    legend_above(axis)

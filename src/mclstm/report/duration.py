"""The flow-duration curve: how often a flow is exceeded."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from mclstm.report.scatter import spread_over_decades
from mclstm.report.series import Floats, SiteSeries, site_series
from mclstm.report.style import COLOURS, labelled, legend_above, logarithmic, shown, styled

__all__ = ["exceedance", "flow_duration"]


def flow_duration(predictions: xr.Dataset, site: str, target: str = "") -> Figure:
    """Sorted flows over the share of steps that exceed them; both series over the same steps."""
    series = site_series(predictions, site, target)
    curves = compared(series)
    with styled():
        figure = Figure(figsize=(5.4, 3.9), layout="constrained")
        axis = figure.subplots()
        for name, values in curves.items():
            axis.plot(*exceedance(values), color=COLOURS[name], linewidth=1.4, label=name)
        if spread_over_decades(np.concatenate(list(curves.values()))):
            logarithmic(axis, "y")
        axis.set(xlim=(0, 100), xlabel="steps with a higher value (%)")
        axis.set_ylabel(labelled(series.target, series.unit))
        axis.set_title(shown(site))
        legend_above(axis)
    return figure


def compared(series: SiteSeries) -> dict[str, Floats]:
    """Observed and simulated where both are known; without observations all that was simulated."""
    if series.has_observations:
        simulated, observed = series.pairs()
        return {"observed": observed, "simulated": simulated}
    return {"simulated": series.simulated[np.isfinite(series.simulated)]}


def exceedance(values: Floats) -> tuple[Floats, Floats]:
    """Weibull's plotting positions rank / (n + 1) in percent, and the values from the highest down.

    >>> [column.tolist() for column in exceedance(np.array([1.0, 4.0, 2.0]))]
    [[25.0, 50.0, 75.0], [4.0, 2.0, 1.0]]
    """
    ranks = np.arange(1, values.size + 1)
    return 100.0 * ranks / (values.size + 1), np.sort(values)[::-1]

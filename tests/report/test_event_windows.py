"""The windows of the hydrograph: around the highest flow, and over the lowest, of a series long enough."""

import numpy as np
import pytest
import xarray as xr

from mclstm.report.event_windows import event_windows
from mclstm.report.hydrograph import hydrograph
from mclstm.report.site_series import site_series
from mclstm.report.style import render
from report.predictions import made


def with_events(freq: str = "D", steps: int = 600) -> xr.Dataset:
    """A flow of one, a flood at step 400 and a drought from step 100 on."""
    predictions = made(freq=freq, steps=steps)
    flow = np.ones(steps)
    flow[400], flow[100:260] = 50.0, 0.1
    return predictions.assign(observed=predictions["observed"].copy(data=flow[np.newaxis]))


@pytest.mark.parametrize(("freq", "size"), [("D", 60), ("h", 120), ("MS", 60)])
def test_the_flood_and_the_drought_are_inside(freq: str, size: int) -> None:
    windows = event_windows(site_series(with_events(freq), "A"))
    flood, drought = windows["highest flow"], windows["lowest flow"]
    assert flood.start < 400 < flood.stop
    assert drought.start >= 100
    assert drought.stop <= 260
    assert [where.stop - where.start for where in (flood, drought)] == [size, size]


def test_without_observations_the_simulation_decides() -> None:
    predictions = with_events()
    simulated = predictions["observed"].copy(data=np.roll(predictions["observed"], 50, axis=1))
    windows = event_windows(site_series(predictions.drop_vars("observed").assign(simulated=simulated), "A"))
    assert windows["highest flow"].start < 450 < windows["highest flow"].stop


def test_ends_gaps_and_short_series() -> None:
    assert event_windows(site_series(made(steps=239), "A")) == {}
    predictions = with_events()
    predictions["observed"][0, -1] = 99.0
    assert event_windows(site_series(predictions, "A"))["highest flow"] == slice(540, 600)
    predictions["observed"][0, 1::2] = np.nan
    assert list(event_windows(site_series(predictions, "A"))) == ["highest flow"]


def test_they_stand_below_the_long_panels_which_keep_their_dates() -> None:
    figure = hydrograph(with_events(), "A")
    titles = [axis.get_title() or axis.get_title(loc="left") for axis in figure.axes]
    assert titles[-2:] == ["highest flow", "lowest flow"]
    assert len(figure.axes) == 6
    assert render(figure, "png")
    dated = [axis.xaxis.get_tick_params()["labelbottom"] for axis in figure.axes[:4]]
    assert dated == [False, False, False, True]

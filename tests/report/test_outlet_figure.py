"""The figure of all outlets: a row for each and one for the total, at most twelve, over the first week."""

import numpy as np
import pytest
import xarray as xr

from mclstm.report.outlet_figure import largest, outlets
from mclstm.report.style import render
from report.predictions import made


def several(count: int, **options: object) -> xr.Dataset:
    """Outlets o00, o01, ..., each larger than the one before it."""
    one = made(**options)  # type: ignore[arg-type]
    parts = {
        f"{what}_o{at:02}": one[what] * (1 + at) for at in range(count) for what in ("simulated", "observed")
    }
    return one.drop_vars(["simulated", "observed"]).assign(parts)


def test_a_row_for_each_outlet_and_one_for_the_total() -> None:
    figure = outlets(several(2), "A")
    assert [axis.get_title(loc="left").split()[0] for axis in figure.axes[::2]] == ["o00", "o01", "total"]
    assert figure.get_suptitle() == "A   2 outlets"
    total = figure.axes[4].lines[1].get_ydata()
    np.testing.assert_allclose(total, 3 * made()["simulated"].to_numpy()[0])
    assert render(figure, "png")


def test_of_many_outlets_the_largest_are_shown() -> None:
    predictions = several(14)
    assert largest(predictions, "A", 3) == ["o11", "o12", "o13"]
    figure = outlets(predictions, "A")
    assert len(figure.axes) == 2 * 13
    assert figure.get_suptitle() == "A   the 12 largest of 14 outlets"


@pytest.mark.parametrize(("freq", "steps"), [("h", 168), ("D", 400)])
def test_short_steps_are_shown_over_a_week_and_days_over_all(freq: str, steps: int) -> None:
    figure = outlets(several(2, freq=freq, steps=400), "A")
    assert abs(len(figure.axes[0].lines[1].get_xdata()) - steps) <= 1
    assert len(figure.axes[1].lines[1].get_xdata()) == 400


def test_targets_of_two_units_have_no_total_and_none_needs_observations() -> None:
    predictions = several(2).drop_vars("observed_o01")
    predictions["simulated_o01"].attrs["units"] = "degC"
    figure = outlets(predictions, "A")
    assert len(figure.axes) == 4
    assert render(figure, "svg")

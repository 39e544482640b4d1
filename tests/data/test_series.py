"""The one in-memory form: what it is, what is refused, how missing inputs are filled."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.data.read import from_frames
from mclstm.data.series import Policy, build, covered, names, require_series
from mclstm.data.site_tables import Roles, Table
from mclstm.data.units import in_units
from mclstm.errors import DataError

ROLES = Roles(mass=("rain",), aux=("temp",), target=("flow",))
DATES = pd.date_range("2001-01-01", periods=5)


def frame(rain: list[float] | None = None, temp: list[float] | None = None) -> pd.DataFrame:
    columns = {
        "rain": rain or [1.0, 2, 3, 4, 5],
        "temp": temp or [0.0, 1, 2, 3, 4],
        "flow": [1.0, np.nan, 1, 1, 1],
    }
    return pd.DataFrame(columns, DATES)


def test_rows_of_one_matrix_are_taken_as_they_are_and_only_those() -> None:
    def built(rain: np.ndarray, order: list[int]) -> np.ndarray:
        other = {"temp": np.zeros(5), "flow": np.zeros(5)}
        tables = [
            Table(f"{place}", "file", DATES, {"rain": rain[row], **other}) for place, row in enumerate(order)
        ]
        return build(tables, ROLES, {}, pd.DataFrame(), Policy())["rain"].to_numpy()

    rain = np.arange(15.0).reshape(3, 5).copy()
    assert np.shares_memory(built(rain, [0, 1, 2]), rain)
    for order in ([2, 1, 0], [0, 1], [1, 1, 1]):
        found = built(rain, order)
        assert not np.shares_memory(found, rain)
        np.testing.assert_array_equal(found, rain[order])
    wide = np.arange(30.0).reshape(3, 10).copy()
    np.testing.assert_array_equal(built(wide[:, ::2], [0, 1, 2]), wide[:, ::2])


def test_roles_units_and_kinds() -> None:
    static = pd.DataFrame({"area": [3.0]}, index=["A"])
    series = from_frames(
        {"A": frame()}, ROLES._replace(static=("area",)), units={"rain": "mm/day"}, static=static
    )
    assert [names(series, role) for role in ("mass", "aux", "static", "target", "filled")] == [
        ["rain"], ["temp"], ["area"], ["flow"], ["rain_filled"],
    ]  # fmt: skip
    assert series["rain"].attrs == {"role": "mass", "units": "mm/day", "source": "DataFrame"}
    assert series["rain"].dtype == np.float64
    assert series["rain_filled"].dtype == bool
    assert np.isnan(series["flow"].to_numpy()[0, 1])


def test_missing_mass_is_an_error_unless_declared() -> None:
    holes = {"A": frame(rain=[1.0, np.nan, np.nan, 4, 5])}
    with pytest.raises(DataError, match="site A, column rain, from 2001-01-02: 2 of 5"):
        from_frames(holes, ROLES)
    zero = from_frames(holes, ROLES, missing_mass="zero")
    line = from_frames(holes, ROLES, missing_mass="interpolate")
    assert zero["rain"].to_numpy()[0].tolist() == [1, 0, 0, 4, 5]
    assert line["rain"].to_numpy()[0].tolist() == [1, 2, 3, 4, 5]
    for series in (zero, line):
        assert series["rain_filled"].to_numpy()[0].tolist() == [False, True, True, False, False]


def test_missing_aux_is_an_error_unless_declared() -> None:
    holes = {"A": frame(temp=[0.0, 1, np.nan, 3, 4])}
    with pytest.raises(DataError, match="column temp"):
        from_frames(holes, ROLES)
    assert from_frames(holes, ROLES, missing_aux="interpolate")["temp"].to_numpy()[0].tolist() == [
        0,
        1,
        2,
        3,
        4,
    ]


def test_ends_are_not_extrapolated() -> None:
    with pytest.raises(DataError, match="at an end"):
        from_frames({"A": frame(rain=[np.nan, 1, 2, 3, 4])}, ROLES, missing_mass="interpolate")


def test_a_gap_in_the_dates_is_missing_mass() -> None:
    gap = {"A": frame().drop(DATES[2])}
    with pytest.raises(DataError, match="2001-01-03"):
        from_frames(gap, ROLES)
    series = from_frames(gap, ROLES, missing_mass="zero", missing_aux="interpolate")
    assert series["rain_filled"].to_numpy()[0].tolist() == [False, False, True, False, False]
    assert series["temp"].to_numpy()[0].tolist() == [0, 1, 2, 3, 4]


def test_covered_is_where_all_inputs_are() -> None:
    late = frame().set_axis(DATES + pd.Timedelta(days=2))
    both = covered(from_frames({"A": frame(), "B": late}, ROLES)).to_numpy()
    assert both.tolist() == [[True] * 5 + [False] * 2, [False] * 2 + [True] * 5]


def test_conversion_changes_values_and_unit_only() -> None:
    series = from_frames({"A": frame()}, ROLES, units={"rain": "mm/h"})
    wanted = in_units(series, {"rain": "mm/day"}, None)
    assert wanted["rain"].to_numpy()[0].tolist() == [24, 48, 72, 96, 120]
    assert wanted["rain"].attrs["role"] == "mass"


def test_frames_with_mistakes() -> None:
    with pytest.raises(DataError, match="'temp'"):
        from_frames({"A": frame().drop(columns="temp")}, ROLES)
    with pytest.raises(DataError, match="not indexed by dates"):
        from_frames({"A": frame().reset_index(drop=True)}, ROLES)
    with pytest.raises(DataError, match="more than once"):
        from_frames({"A": pd.concat([frame(), frame().iloc[-1:]])}, ROLES)
    with pytest.raises(DataError, match="another time"):
        from_frames({"A": frame(), "B": frame().set_axis(DATES + pd.Timedelta("7h13min"))}, ROLES)
    with pytest.raises(DataError, match="no site"):
        from_frames({}, ROLES)


def test_a_frame_is_examined_like_a_file() -> None:
    for bad, word in ((-1.0, "negative"), (-999.0, "sentinel|stands for missing"), (np.inf, "infinite")):
        with pytest.raises(DataError, match=word):
            from_frames({"A": frame(rain=[1.0, bad, 2, 3, 4])}, ROLES)
    with pytest.raises(DataError, match="not numeric"):
        from_frames({"A": frame().assign(rain="wet")}, ROLES)


def test_noon_and_midnight_are_not_mixed() -> None:
    """Not even where missing mass may be filled: the axis would have twice the steps."""
    noon = frame().set_axis(DATES + pd.Timedelta("12h"))
    with pytest.raises(DataError, match="another time"):
        from_frames({"A": frame(), "B": noon}, ROLES, missing_mass="zero", missing_aux="interpolate")
    items = {"A": frame(), "B": noon}.items()
    tables = [Table(site, "f", item.index, {"rain": item["rain"].to_numpy()}) for site, item in items]
    with pytest.raises(DataError, match="regular step"):
        build(tables, Roles(mass=("rain",)), {}, pd.DataFrame(), Policy("zero"))


CHANGES = {
    "no time": lambda series: series.isel(time=0),
    "unsorted": lambda series: series.isel(time=[1, 0, 2, 3, 4]),
    "irregular": lambda series: series.assign_coords(time=DATES + pd.to_timedelta([0, 0, 0, 0, 5], "h")),
    "site twice": lambda series: xr.concat([series, series], "site"),
    "float32": lambda series: series.assign(rain=series["rain"].astype(np.float32)),
    "no role": lambda series: series.assign(rain=series["rain"].drop_attrs()),
    "transposed": lambda series: series.assign(rain=series["rain"].transpose()),
    "no mass": lambda series: series.drop_vars(["rain"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_other_forms_are_refused(name: str) -> None:
    series = from_frames({"A": frame()}, ROLES)
    assert require_series(series) is series
    with pytest.raises(DataError):
        require_series(CHANGES[name](series))


def test_a_series_is_not_the_users_table() -> None:
    table = pd.DataFrame({"rain": np.arange(5.0)}, DATES)
    table["temp"], table["flow"] = 1.0, 2.0  # blocks of their own
    series = from_frames({"A": table}, ROLES)
    for name in ("rain", "temp", "flow"):
        assert not np.shares_memory(series[name].to_numpy(), table[name].to_numpy())

"""netCDF, Parquet, Generic and Caravan give the values that were written."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.config.field_types import READER_NAMES
from mclstm.data.read import read
from mclstm.data.readers import READERS, detect
from mclstm.errors import DataError

RAIN = np.arange(20.0).reshape(2, 10) % 3
DATES = pd.date_range("2001-01-01", periods=10)


@pytest.fixture
def data() -> xr.Dataset:
    return xr.Dataset(
        {"rain": (("site", "time"), RAIN.copy(), {"units": "mm/day"}), "area": ("site", [5.0, 6.0])},
        coords={"site": ["01", "B"], "time": DATES},
    )


@pytest.mark.parametrize("order", [("site", "time"), ("time", "site")])
def test_netcdf_in_either_order(data: xr.Dataset, order: tuple[str, str], tmp_path: Path) -> None:
    data.transpose(*order).to_netcdf(tmp_path / "d.nc", engine="h5netcdf")
    series = read(tmp_path / "d.nc", mass=["rain"], static=["area"])
    np.testing.assert_array_equal(series["rain"].to_numpy(), RAIN)
    assert series["rain"].attrs["units"] == "mm/day"
    assert list(series["site"].to_numpy()) == ["01", "B"]
    assert series["area"].to_numpy().tolist() == [5.0, 6.0]


def test_netcdf_version_3_of_one_site(data: xr.Dataset, tmp_path: Path) -> None:
    data["rain"].isel(site=1, drop=True).to_dataset().to_netcdf(tmp_path / "Fulda.nc", engine="scipy")
    series = read(tmp_path / "Fulda.nc", mass=["rain"])
    assert list(series["site"].to_numpy()) == ["Fulda"]
    np.testing.assert_array_equal(series["rain"].to_numpy(), RAIN[1:])


def test_our_own_series_can_be_written_and_read(data: xr.Dataset, tmp_path: Path) -> None:
    data.to_netcdf(tmp_path / "d.nc", engine="h5netcdf")
    first = read(tmp_path / "d.nc", mass=["rain"], static=["area"])
    first.to_netcdf(tmp_path / "e.nc", engine="h5netcdf")
    second = read(tmp_path / "e.nc", mass=["rain"], static=["area"])
    xr.testing.assert_equal(first, second)


def test_sites_of_one_file_may_end_early(data: xr.Dataset, tmp_path: Path) -> None:
    data["rain"].values[0, 7:] = np.nan
    data.to_netcdf(tmp_path / "d.nc", engine="h5netcdf")
    series = read(tmp_path / "d.nc", mass=["rain"])
    assert series["rain"].isnull().sum() == 3


def test_parquet(data: xr.Dataset, tmp_path: Path) -> None:
    data["rain"].to_dataframe().reset_index().to_parquet(tmp_path / "d.parquet")
    np.testing.assert_array_equal(read(tmp_path / "d.parquet", mass=["rain"])["rain"].to_numpy(), RAIN)


def test_parquet_damaged_or_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "d.parquet").write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read(tmp_path / "d.parquet", mass=["rain"])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(DataError, match=r"pip install 'mclstm\[parquet\]'"):
        read(tmp_path / "d.parquet", mass=["rain"])


def test_generic_layout(data: xr.Dataset, tmp_path: Path) -> None:
    (tmp_path / "time_series").mkdir()
    (tmp_path / "attributes").mkdir()
    for row, site in enumerate(["01", "B"]):
        one = data[["rain"]].isel(site=row, drop=True).rename(time="date")
        one.to_netcdf(tmp_path / "time_series" / f"{site}.nc", engine="h5netcdf")
    (tmp_path / "attributes" / "a.csv").write_text("gauge_id,area\n01,5\nB,6\nC,7\n")
    assert detect(tmp_path) == "generic_nh"
    series = read(tmp_path, mass=["rain"], static=["area"])
    np.testing.assert_array_equal(series["rain"].to_numpy(), RAIN)
    assert series["area"].to_numpy().tolist() == [5.0, 6.0]


@pytest.mark.parametrize("form", ["csv", "netcdf"])
def test_caravan(data: xr.Dataset, form: str, tmp_path: Path) -> None:
    folder = tmp_path / "timeseries" / form / "lamah"
    folder.mkdir(parents=True)
    for row in range(2):
        one = data[["rain"]].isel(site=row, drop=True).rename(time="date", rain="total_precipitation_sum")
        if form == "csv":
            one.to_dataframe().to_csv(folder / f"lamah_{row}.csv")
        else:
            one.to_netcdf(folder / f"lamah_{row}.nc", engine="h5netcdf")
    (tmp_path / "attributes" / "lamah").mkdir(parents=True)
    for name, column in (("caravan", "p_mean"), ("other", "area")):
        text = f"gauge_id,{column}\nlamah_0,1.5\nlamah_1,2.5\n"
        (tmp_path / "attributes" / "lamah" / f"attributes_{name}_lamah.csv").write_text(text)
    assert detect(tmp_path) == "caravan"
    series = read(tmp_path, mass=["total_precipitation_sum"], static=["area", "p_mean"])
    np.testing.assert_array_equal(series["total_precipitation_sum"].to_numpy(), RAIN)
    assert series["total_precipitation_sum"].attrs["units"] == "mm/day"
    assert series["p_mean"].to_numpy().tolist() == [1.5, 2.5]


def test_registry_names_every_reader() -> None:
    assert list(READERS) == [
        "csv",
        "netcdf",
        "zarr",
        "parquet",
        "npz",
        "generic_nh",
        "caravan",
        "camels_us",
        "traffic4cast",
    ]


def test_a_static_column_of_caravans_series_does_not_hide_its_attributes(tmp_path: Path) -> None:
    series, static = tmp_path / "timeseries/csv/hy", tmp_path / "attributes/hy"
    series.mkdir(parents=True)
    static.mkdir(parents=True)
    table = pd.DataFrame({"date": DATES, "rain": RAIN[0], "area": 5.0})
    table.to_csv(series / "hy_1.csv", index=False)
    pd.DataFrame({"gauge_id": ["hy_1"], "area": [5.0], "slope": [0.3]}).to_csv(static / "a.csv", index=False)
    found = read(tmp_path, mass=["rain"], static=["area", "slope"])
    assert (found["area"].item(), found["slope"].item()) == (5.0, pytest.approx(0.3))


def test_a_config_may_name_every_reader() -> None:
    assert ("auto", *READERS) == READER_NAMES

"""CAMELS-US on real data, against numbers computed by hand from the raw lines."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

from mclstm.data.read import read
from mclstm.data.readers import cache, detect
from mclstm.data.readers.camels_text import discharge

BASIN = "02361000"
AUX = ["tmax", "tmin", "srad", "vp"]
STATIC = ["area_gages2", "frac_snow", "p_mean"]


def raw_lines(root: Path, pattern: str) -> list[str]:
    return next(root.rglob(pattern)).read_text().splitlines()


@pytest.fixture(scope="module")
def series(camels: Path) -> xr.Dataset:
    return read(camels, mass=["prcp"], aux=AUX, static=STATIC, target=["discharge"])


def test_layout_is_detected(camels: Path) -> None:
    assert detect(camels) == "camels_us"


def test_all_basins_and_days(series: xr.Dataset) -> None:
    assert series.sizes == {"site": 30, "time": 10593}
    assert series.attrs["step"] == "D"
    assert list(series["site"].to_numpy()) == sorted(series["site"].to_numpy())
    assert str(series["time"].to_numpy()[0])[:10] == "1980-01-01"
    assert not series["prcp_filled"].any()


def test_flow_is_converted_over_the_area_of_the_forcing_file(camels: Path, series: xr.Dataset) -> None:
    area_m2 = float(raw_lines(camels, f"{BASIN}*forcing_leap.txt")[2])
    for line in raw_lines(camels, f"{BASIN}_streamflow_qc.txt")[:2000:77]:
        _, year, month, day, flow, _ = line.split()
        by_hand = 28316846.592 * float(flow) * 86400 / (area_m2 * 1e6)
        ours = float(series["discharge"].sel(site=BASIN, time=f"{year}-{month}-{day}"))
        assert ours == pytest.approx(by_hand, rel=8 * np.finfo(float).eps)
    assert series["discharge"].attrs["units"] == "mm/day"


def test_forcing_is_as_in_the_file(camels: Path, series: xr.Dataset) -> None:
    words = raw_lines(camels, f"{BASIN}*forcing_leap.txt")[4 + 40].split()
    row = series.sel(site=BASIN).isel(time=40)
    got = [float(row[name]) for name in ("prcp", "srad", "tmax", "tmin", "vp")]
    assert got == [float(words[column]) for column in (5, 6, 8, 9, 10)]
    assert series["tmax"].attrs == {"role": "aux", "units": "degC", "source": series["tmax"].attrs["source"]}
    assert series["prcp"].attrs["units"] == "mm/day"


def test_missing_flow_is_nan(camels: Path) -> None:
    """-999 (flag M): in these basins only after the forcing ends, so the text is read directly."""
    file = next(camels.rglob(f"{BASIN}_streamflow_qc.txt"))
    words = [line.split() for line in file.read_text().splitlines()]
    missing = np.array([float(row[4]) == -999 for row in words])
    flow = discharge(file, BASIN, 100.0)
    assert missing.sum() == 92
    np.testing.assert_array_equal(flow.isna(), missing)
    assert flow.min() >= 0


def test_flow_that_starts_late_is_nan_before(camels: Path, series: xr.Dataset) -> None:
    files = camels.rglob("*_streamflow_qc.txt")
    lengths = {file.name[:8]: len(file.read_bytes().splitlines()) for file in files}
    short = min(lengths, key=lambda site: lengths[site])
    observed = np.isfinite(series["discharge"].sel(site=short).to_numpy())
    assert 0 < observed.sum() < 10593


def test_attributes_keep_their_leading_zeros(camels: Path, series: xr.Dataset) -> None:
    lines = (camels / "camels_attributes_v2.0" / "camels_topo.txt").read_text().splitlines()
    column = lines[0].split(";").index("area_gages2")
    by_hand = {line.split(";")[0]: float(line.split(";")[column]) for line in lines[1:]}
    for site in series["site"].to_numpy():
        assert len(site) == 8
        assert float(series["area_gages2"].sel(site=site)) == by_hand[site]


def test_cache_gives_the_same_and_notices_a_change(camels: Path, series: xr.Dataset, tmp_path: Path) -> None:
    again = read(camels, mass=["prcp"], aux=AUX, static=STATIC, target=["discharge"])
    xr.testing.assert_identical(series, again)
    kept = list(cache.folder().glob("camels_us-*.nc"))
    assert kept
    kept[0].write_bytes(kept[0].read_bytes()[:1000])
    xr.testing.assert_identical(
        series, read(camels, mass=["prcp"], aux=AUX, static=STATIC, target=["discharge"])
    )


def test_what_is_done_to_a_series_stays_out_of_the_cache(camels: Path, series: xr.Dataset) -> None:
    asked = {"mass": ["prcp"], "aux": AUX, "static": STATIC, "target": ["discharge"]}
    read(camels, **asked)["prcp"].to_numpy()[:] = -1.0
    xr.testing.assert_identical(series, read(camels, **asked))


def test_a_cache_of_something_else_is_not_used(camels: Path, series: xr.Dataset) -> None:
    read(camels, mass=["prcp"], aux=AUX, static=STATIC, target=["discharge"])
    kept = max(cache.folder().glob("camels_us-*.nc"), key=lambda file: file.stat().st_size)
    with h5py.File(kept, "r+") as file:
        del file["prcp"]
        file["prcp"] = np.array([["a", "b"]], dtype=h5py.string_dtype())
    xr.testing.assert_identical(
        series, read(camels, mass=["prcp"], aux=AUX, static=STATIC, target=["discharge"])
    )


def test_a_basin_without_a_gauge_can_be_read_for_prediction(camels: Path, tmp_path: Path) -> None:
    shutil.copytree(camels, tmp_path / "camels")
    next((tmp_path / "camels").rglob(f"{BASIN}_streamflow_qc.txt")).unlink()
    sites = ["12010000", BASIN]
    asked = {"mass": ["prcp"], "target": ["discharge"], "sites": sites, "require_target": False}
    for _ in range(2):
        some = read(tmp_path / "camels", **asked)
        assert list(some["site"].to_numpy()) == sites
    assert not list(cache.folder().glob("*.tmp"))


def test_named_basins_in_their_order(camels: Path) -> None:
    sites = [BASIN, "12010000"]
    some = read(camels, "camels_us/maurer_extended", mass=["prcp"], sites=sites)
    assert list(some["site"].to_numpy()) == sites


def test_swe_is_read_only_when_asked_for(camels: Path) -> None:
    some = read(camels, mass=["prcp"], aux=["swe"], sites=[BASIN])
    assert float(some["swe"].max()) == 0

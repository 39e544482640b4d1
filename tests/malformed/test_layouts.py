"""Malformed folders in the layouts of NeuralHydrology (Generic) and Caravan."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.cli.main import main

Refused = Callable[[list[str], str], None]
SERIES_B = "timeseries/csv/camels/camels_B.csv"
OTHER = "attributes/camels/attributes_other_camels.csv"
ROLES = ["--mass", "rain", "--aux", "temp", "--static", "area"]


def site_data(seed: int = 0) -> xr.Dataset:
    values = (np.arange(30.0) + seed) % 7
    dates = pd.date_range("2001-01-01", periods=30)
    return xr.Dataset({"rain": ("date", values), "temp": ("date", values * 2)}, coords={"date": dates})


@pytest.fixture
def generic(tmp_path: Path) -> Path:
    for name in ("time_series", "attributes"):
        (tmp_path / name).mkdir()
    for seed, site in enumerate("AB"):
        site_data(seed).to_netcdf(tmp_path / "time_series" / f"{site}.nc", engine="h5netcdf")
    (tmp_path / "attributes" / "a.csv").write_text("site,area\nA,1\nB,2\n")
    return tmp_path


@pytest.fixture
def caravan(tmp_path: Path) -> Path:
    for name in ("timeseries/csv/camels", "attributes/camels"):
        (tmp_path / name).mkdir(parents=True)
    for seed, site in enumerate("AB"):
        site_data(seed).to_dataframe().to_csv(tmp_path / "timeseries/csv/camels" / f"camels_{site}.csv")
    text = "gauge_id,area\ncamels_A,1\ncamels_B,2\n"
    (tmp_path / "attributes/camels/attributes_other_camels.csv").write_text(text)
    return tmp_path


def put(path: Path, content: bytes | str) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def renamed(path: Path, **names: str) -> None:
    site_data().rename(names).to_netcdf(path, engine="h5netcdf")


def emptied(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


GENERIC: dict[str, tuple[Callable[[Path], object], str]] = {
    "no files": (lambda root: emptied(root / "time_series"), "no .nc file"),
    "empty file": (lambda root: put(root / "time_series/B.nc", b""), "B.nc"),
    "text file": (lambda root: put(root / "time_series/B.nc", "date,rain\n"), "B.nc"),
    "other coordinate": (lambda root: renamed(root / "time_series/B.nc", date="t"), "B.nc"),
    "other column": (lambda root: renamed(root / "time_series/B.nc", rain="rian"), "'rian'"),
    "a loop": (lambda root: os.symlink(root / "time_series/C.nc", root / "time_series/C.nc"), "C.nc"),
    "a folder": (lambda root: (root / "time_series/C.nc").mkdir(), "C.nc"),
    "no attributes": (lambda root: emptied(root / "attributes"), "area"),
    "attributes of one site": (lambda root: put(root / "attributes/a.csv", "site,area\nA,1\n"), "site B"),
    "attribute in two files": (
        lambda root: put(root / "attributes/b.csv", "site,area\nA,1\nB,2\n"),
        "'area'",
    ),
    "attributes are no text": (lambda root: put(root / "attributes/a.csv", b"\xff\xfe\x00"), "attributes"),
    "attributes ragged": (lambda root: put(root / "attributes/a.csv", "site,area\nA\nB,2\n"), "line 2"),
}

CARAVAN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no prefix": (lambda root: (root / "timeseries/csv/camels").rename(root / "else"), "timeseries/csv"),
    "empty prefix": (lambda root: emptied(root / "timeseries/csv/camels"), "no .csv file"),
    "empty file": (lambda root: put(root / SERIES_B, ""), "camels_B.csv"),
    "no date": (lambda root: put(root / SERIES_B, "rain,temp\n1,2\n"), "--time"),
    "bad date": (
        lambda root: put(root / SERIES_B, "date,rain,temp\n2001-99,1,2\n"), "2001-99"),
    "gauge not in attributes": (
        lambda root: put(root / OTHER, "gauge_id,area\ncamels_A,1\n"),
        "camels_B"),
    "attributes are a folder": (lambda root: (root / "attributes/camels/x.csv").mkdir(), "x.csv"),
    "NUL in attributes": (
        lambda root: put(root / OTHER, "gauge_id,area\n\0"), "NUL"),
}  # fmt: skip


@pytest.mark.parametrize("name", GENERIC)
def test_generic(name: str, generic: Path, refused: Refused) -> None:
    change, word = GENERIC[name]
    change(generic)
    refused([str(generic), *ROLES], word)


@pytest.mark.parametrize("name", CARAVAN)
def test_caravan(name: str, caravan: Path, refused: Refused) -> None:
    change, word = CARAVAN[name]
    change(caravan)
    refused([str(caravan), *ROLES], word)


def test_the_good_folders_pass(generic: Path) -> None:
    assert main(["check", str(generic), *ROLES]) == 0


def test_the_good_caravan_passes(caravan: Path) -> None:
    assert main(["check", str(caravan), *ROLES]) == 0

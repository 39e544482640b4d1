"""Malformed netCDF: damaged files, hostile HDF5, and sound files of the wrong shape."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from mclstm.cli.main import main

Refused = Callable[[list[str], str], None]
ROLES = ["--mass", "rain", "--aux", "temp"]
DAYS = 40


def good(sites: int = 3) -> xr.Dataset:
    rows = np.arange(sites * DAYS, dtype=np.float64).reshape(sites, DAYS)
    coords = {
        "site": [f"s{number}" for number in range(sites)],
        "time": pd.date_range("2001-01-01", periods=DAYS),
    }
    return xr.Dataset(
        {"rain": (("site", "time"), rows % 7), "temp": (("site", "time"), rows % 11)}, coords=coords
    )


def changed(name: str, value: float) -> xr.Dataset:
    data = good()
    data[name].values[1, 5] = value
    return data


def times(values: np.ndarray, **attrs: str) -> xr.Dataset:
    return good().assign_coords(time=("time", values, attrs))


# name: (a Dataset to be written, arguments, what the message must name)
SHAPES: dict[str, tuple[Callable[[], xr.Dataset], list[str], str]] = {
    "no time dimension": (lambda: good().rename(time="step"), ROLES, "named date or time"),
    "time without coordinate": (lambda: good().drop_vars("time"), ROLES, "no coordinate"),
    "time is plain numbers": (lambda: times(np.arange(DAYS)), ROLES, "no dates"),
    "time is text": (lambda: times(np.array([f"day {d}" for d in range(DAYS)])), ROLES, "no dates"),
    "time in unknown units": (lambda: times(np.arange(DAYS), units="moons since 2001-01-01"), ROLES, "time"),
    "time since never": (lambda: times(np.arange(DAYS), units="days since never"), ROLES, "time"),
    "calendar noleap": (
        lambda: times(np.arange(DAYS), units="days since 2001-01-01", calendar="noleap"), ROLES, "calendar"),
    "time out of range": (
        lambda: times(np.arange(DAYS) * 10**9, units="days since 2001-01-01"), ROLES, "calendar"),
    "missing dates": (
        lambda: times(np.where(np.arange(DAYS) == 3, np.nan, np.arange(DAYS)), units="days since 2001-01-01"),
        ROLES, "missing dates"),
    "duplicate dates": (lambda: good().isel(time=[0, 1, 1, *range(2, DAYS)]), ROLES, "more than once"),
    "gap in the dates": (lambda: good().isel(time=[0, 1, *range(5, DAYS)]), ROLES, "2001-01-03"),
    "irregular dates": (lambda: good().isel(time=[0, 1, 4]).assign_coords(
        time=pd.to_datetime(["2001-01-01T00", "2001-01-02T00", "2001-01-03T07"])), ROLES, "regular"),
    "no days": (lambda: good().isel(time=[]), ROLES, "empty"),
    "no sites": (lambda: good().isel(site=[]), ROLES, "site"),
    "two time dimensions": (lambda: good().assign(x=("date", [1.0])), ROLES, "--time"),
    "latitude and longitude": (lambda: good().expand_dims(lat=2, lon=2), ROLES, "'lat'"),
    "declared time absent": (good, [*ROLES, "--time", "t"], "'t'"),
    "declared site absent": (good, [*ROLES, "--site", "gauge"], "'gauge'"),
    "mass absent": (lambda: good().rename(rain="rian"), ROLES, "'rian'"),
    "aux absent": (lambda: good().drop_vars("temp"), ROLES, "'temp'"),
    "static absent": (good, [*ROLES, "--static", "area"], "area"),
    "static missing": (
        lambda: good().assign(area=("site", [1.0, np.nan, 3.0])), [*ROLES, "--static", "area"], "site s1"),
    "mass is text": (
        lambda: good().assign(rain=(("site", "time"), np.full((3, DAYS), "wet"))), ROLES, "not hold numbers"),
    "mass over sites alone": (lambda: good().assign(rain=("site", [1.0, 2.0, 3.0])), ROLES, "'rain'"),
    "mass over time alone": (lambda: good().assign(rain=("time", np.ones(DAYS))), ROLES, "dimension 'site'"),
    "NaN in mass": (lambda: changed("rain", np.nan), ROLES, "site s1, column rain, from 2001-01-06"),
    "NaN in aux": (lambda: changed("temp", np.nan), ROLES, "site s1, column temp"),
    "infinite mass": (lambda: changed("rain", np.inf), ROLES, "infinite"),
    "negative mass": (lambda: changed("rain", -0.5), ROLES, "negative"),
    "sentinel": (lambda: changed("temp", -9999.0), ROLES, "--missing -9999"),
    "default fill value": (lambda: changed("temp", 9.969209968386869e36), ROLES, "missing"),
    "site twice": (lambda: good().assign_coords(site=["a", "b", "a"]), ROLES, "site a"),
    "site is a path": (lambda: good().assign_coords(site=["a", "../../b", "c"]), ROLES, "'../../b'"),
    "site is absolute": (lambda: good().assign_coords(site=["a", "/b", "c"]), ROLES, "'/b'"),
    "site is empty": (lambda: good().assign_coords(site=["a", "", "c"]), ROLES, "empty name"),
    "nothing inside": (xr.Dataset, ROLES, "--time"),
}  # fmt: skip


def external_link(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file["secret"] = h5py.ExternalLink("/etc/passwd", "/")


def external_link_in_a_group(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.create_group("inner")["secret"] = h5py.ExternalLink("other.h5", "/x")


def soft_link(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file["alias"] = h5py.SoftLink("/rain")


def external_storage(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.create_dataset("secret", (10,), "u1", external=[("/etc/passwd", 0, 10)])


def virtual_dataset(path: Path) -> None:
    layout = h5py.VirtualLayout(shape=(4,), dtype="f8")
    layout[:] = h5py.VirtualSource("other.h5", "x", shape=(4,))
    with h5py.File(path, "a") as file:
        file.create_virtual_dataset("secret", layout)


def huge_shape(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.create_dataset("bomb", (2**40,), "f8", chunks=(2**16,))


def overflowing_shape(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.create_dataset("bomb", (2**31, 2**31), "f8", chunks=(8, 8))


def packed_bomb(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.create_dataset("bomb", (2**26,), "f8", chunks=(2**20,), compression="gzip")


def group_in_itself(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.create_group("loop")
        file["loop/again"] = file["loop"]


def unknown_filter(path: Path) -> None:
    with h5py.File(path, "a") as file:
        settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        settings.set_chunk((4,))
        settings.set_filter(40000, h5py.h5z.FLAG_OPTIONAL, ())
        space = h5py.h5s.create_simple((4,))
        h5py.h5d.create(file.id, b"odd", h5py.h5t.NATIVE_DOUBLE, space, settings)


def endless_heap(path: Path) -> None:
    """Free space of no length in a global heap: the library would walk it for ever."""
    data = bytearray(path.read_bytes())
    place = data.index(b"GCOL") + 16
    while any(data[place : place + 2]):
        place += 16 + -(-int.from_bytes(data[place + 8 : place + 16], "little") // 8) * 8
    data[place + 8 : place + 16] = bytes(8)
    path.write_bytes(data)


def complex_mass(path: Path) -> None:
    """As h5netcdf and h5py write complex numbers; read as real ones they would lose a part."""
    with h5py.File(path, "a") as file:
        scales = [file[name] for name in ("site", "time")]
        del file["rain"]
        rain = file.create_dataset("rain", data=np.full((3, DAYS), 1 + 2j))
        for axis, scale in enumerate(scales):
            rain.dims[axis].attach_scale(scale)


def plain_hdf5(path: Path) -> None:
    path.unlink()
    with h5py.File(path, "w") as file:
        file["array"] = np.zeros((3, 4))


HOSTILE = {
    "external link": (external_link, "external link"),
    "external link in a group": (external_link_in_a_group, "external link"),
    "soft link": (soft_link, "soft link"),
    "external storage": (external_storage, "another file"),
    "virtual dataset": (virtual_dataset, "another file"),
    "huge shape": (huge_shape, "declares"),
    "overflowing shape": (overflowing_shape, "declares"),
    "packed bomb": (packed_bomb, "declares"),
    "group in itself": (group_in_itself, "nests"),
    "unknown filter": (unknown_filter, "filter 40000"),
    "endless heap": (endless_heap, "damaged near byte"),
    "plain HDF5": (plain_hdf5, "data.nc"),
    "complex mass": (complex_mass, "complex"),
}

BYTES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "not a netCDF"),
    "text": (lambda data: b"date,rain\n", "not a netCDF"),
    "signature only": (lambda data: data[:8], "damaged"),
    "signature of version 3 only": (lambda data: b"CDF\x01", "cannot be read"),
    "version 3, then noise": (lambda data: b"CDF\x02" + bytes(range(256)) * 4, "cannot be read"),
    "version 5": (lambda data: b"CDF\x05" + bytes(100), "not a netCDF"),
    "zeros after the signature": (lambda data: data[:8] + bytes(4000), "damaged"),
    "last half zeros": (lambda data: data[: len(data) // 8] + bytes(len(data)), "data.nc"),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    good().to_netcdf(folder / "four.nc", engine="h5netcdf")
    good(1).isel(site=0, drop=True).to_netcdf(folder / "three.nc", engine="scipy")
    return folder


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name: str, tmp_path: Path, refused: Refused) -> None:
    make, arguments, word = SHAPES[name]
    make().to_netcdf(tmp_path / "data.nc", engine="h5netcdf")
    refused([str(tmp_path / "data.nc"), *arguments], word)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name: str, tmp_path: Path, sound: Path, refused: Refused) -> None:
    path = tmp_path / "data.nc"
    path.write_bytes((sound / "four.nc").read_bytes())
    make, word = HOSTILE[name]
    make(path)
    refused([str(path), *ROLES], word)


@pytest.mark.parametrize("name", BYTES)
def test_bytes(name: str, tmp_path: Path, sound: Path, refused: Refused) -> None:
    change, word = BYTES[name]
    path = tmp_path / "data.nc"
    path.write_bytes(change((sound / "four.nc").read_bytes()))
    refused([str(path), *ROLES], word)


@pytest.mark.parametrize("version", ["four.nc", "three.nc"])
@pytest.mark.parametrize("seed", range(6))
def test_cut_short(version: str, seed: int, tmp_path: Path, sound: Path, refused: Refused) -> None:
    data = (sound / version).read_bytes()
    path = tmp_path / "data.nc"
    path.write_bytes(data[: random.Random(seed).randrange(9, len(data) - 8)])
    refused([str(path), *ROLES], str(path))


def test_places(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "folder.nc").mkdir()
    os.symlink(tmp_path / "loop.nc", tmp_path / "loop.nc")
    refused([str(tmp_path / "none.nc")], "none.nc")
    refused([str(tmp_path / "loop.nc")], "loop.nc")
    refused([str(tmp_path / "folder.nc"), "--reader", "netcdf"], "folder")


@pytest.mark.parametrize("version", ["four.nc", "three.nc"])
def test_the_good_files_pass(version: str, sound: Path) -> None:
    assert main(["check", str(sound / version), *ROLES]) == 0

"""Groups of zarr: what is read, what is refused, and that the extra is named where it is missing."""

import json
import subprocess
import sys
from pathlib import Path

import numcodecs
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

from mclstm.data.read import read
from mclstm.data.readers import SITES, detect
from mclstm.data.site_tables import Request
from mclstm.errors import DataError

RAIN = np.arange(12.0).reshape(3, 4)
TABLE = xr.Dataset(
    {"rain": (("site", "time"), RAIN, {"units": "mm/day"}), "area": ("site", [1.0, 2.0, 3.0])},
    {"site": ["A", "B", "C"], "time": pd.date_range("2001-01-01", periods=4)},
)


def written(folder: Path, version: int = 2) -> Path:
    path = folder / "river.zarr"
    # Format 3 has no stable form of text: there, sites are numbers.
    table = TABLE if version == 2 else TABLE.assign_coords(site=[1, 2, 3])
    table.to_zarr(path, zarr_format=version, consolidated=False)
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_both_formats_are_read(version: int, tmp_path: Path) -> None:
    path = written(tmp_path, version)
    assert detect(path) == "zarr"
    series = read(path, mass=["rain"], static=["area"])
    np.testing.assert_array_equal(series["rain"], RAIN)
    assert series["rain"].attrs["units"] == "mm/day"
    assert series["area"].to_numpy().tolist() == [1.0, 2.0, 3.0]


def test_named_sites_alone_are_read(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert SITES["zarr"](path, Request()) == ["A", "B", "C"]
    np.testing.assert_array_equal(read(path, mass=["rain"], sites=["A", "C"])["rain"], RAIN[[0, 2]])
    (path / "rain" / "1.0").unlink(missing_ok=True)
    with pytest.raises(DataError, match="has no site 'D'"):
        read(path, mass=["rain"], sites=["A", "D"])


@pytest.mark.parametrize(
    ("codec", "message"),
    [
        (numcodecs.Pickle(), "cannot be read"),  # it would run code: zarr refuses it itself
        (numcodecs.Quantize(2, "f8"), "'area' is packed with 'quantize'. Export it with zstd or blosc"),
    ],
)
def test_unknown_codecs_are_refused(codec: numcodecs.abc.Codec, message: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    about = json.loads((path / "area" / ".zarray").read_text())
    (path / "area" / ".zarray").write_text(json.dumps(about | {"filters": [codec.get_config()]}))
    with pytest.raises(DataError, match=message):
        read(path, mass=["rain"])


def test_a_copy_of_the_metadata_hides_no_codec(tmp_path: Path) -> None:
    path = written(tmp_path)
    zarr.consolidate_metadata(path)
    about = json.loads((path / "area" / ".zarray").read_text())
    codec = numcodecs.Quantize(2, "f8").get_config()
    (path / "area" / ".zarray").write_text(json.dumps(about | {"filters": [codec]}))
    with pytest.raises(DataError, match="'area' is packed with 'quantize'"):
        read(path, mass=["rain"])


@pytest.mark.parametrize(
    ("name", "declared"),
    [("time", {"shape": [10**11]}), ("rain", {"chunks": [10**6, 10**5]})],  # read on opening; unpacked whole
)
def test_nothing_is_unpacked_before_its_size_is_checked(
    name: str, declared: dict[str, list[int]], tmp_path: Path
) -> None:
    path = written(tmp_path)
    about = json.loads((path / name / ".zarray").read_text())
    (path / name / ".zarray").write_text(json.dumps(about | declared))
    with pytest.raises(DataError, match=r"declares 745 GB of data"):
        read(path, mass=["rain"])


def test_sizes_that_no_folder_holds_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.zarr"
    TABLE[["time"]].to_zarr(path, zarr_format=2, consolidated=False)
    group = zarr.open_group(path, mode="a", zarr_format=2)
    group.create_array("rain", shape=(10**9, 4), dtype="f8", chunks=(10**6, 4))
    (path / "rain" / ".zattrs").write_text(json.dumps({"_ARRAY_DIMENSIONS": ["site", "time"]}))
    with pytest.raises(DataError, match=r"declares 29.8 GB of data"):
        read(path, mass=["rain"])


@pytest.mark.parametrize("name", [".zgroup", "rain/.zarray", "time/.zattrs"])
def test_damaged_metadata_are_one_sentence(name: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    (path / name).write_text("{")
    with pytest.raises(DataError, match=r"cannot be read \(.*Copy or export it again"):
        read(path, mass=["rain"])


def test_damaged_chunks_are_one_sentence(tmp_path: Path) -> None:
    path = written(tmp_path)
    (path / "rain" / "0.0").write_bytes(b"no chunk")
    with pytest.raises(DataError, match=r"cannot be read \(.*Copy or export it again"):
        read(path, mass=["rain"])


def test_a_folder_that_is_no_group_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no group of zarr"):
        read(tmp_path, "zarr", mass=["rain"])


def test_without_the_extra_it_is_named(tmp_path: Path) -> None:
    path = written(tmp_path)
    code = (
        "import sys; sys.modules['zarr'] = None\n"
        "from mclstm.cli.main import main\n"
        f"sys.exit(main(['check', {str(path)!r}]))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert shown.returncode == 2
    assert shown.stderr == (
        'mclstm check: the package zarr is missing. Install it with: pip install "mclstm[zarr]"\n'
    )

"""npz: the arrays that were written come back as columns, matrices as several."""

from pathlib import Path

import numpy as np
import pytest

from mclstm.data.flights import flights
from mclstm.data.read import read
from mclstm.data.readers import load
from mclstm.data.site_tables import Request
from mclstm.errors import DataError

TIMES = np.arange("2001-01-01T00:00", "2001-01-01T01:00", 10, dtype="datetime64[m]")


def write(path: Path, **arrays: np.ndarray) -> Path:
    np.savez_compressed(path, **arrays)
    return path


def test_vectors_and_matrices_are_columns(tmp_path: Path) -> None:
    flows = np.arange(12, dtype=np.uint8).reshape(6, 2)
    path = write(tmp_path / "shop.npz", time=TIMES, **{"in": flows, "stock": np.linspace(0, 1, 6)})
    series = read(path, mass=["in_0", "in_1"], aux=["stock"])
    assert series["in_1"].to_numpy().tolist() == [[1, 3, 5, 7, 9, 11]]
    assert (series.attrs["step"], list(series["site"].to_numpy())) == ("10min", ["shop"])


def test_a_vector_of_names_divides_sites(tmp_path: Path) -> None:
    path = write(
        tmp_path / "d.npz", time=np.tile(TIMES, 2), site=np.repeat(["a", "b"], 6), rain=np.arange(12.0)
    )
    series = read(path, mass=["rain"])
    assert series["rain"].to_numpy().tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]


def test_arrays_that_are_no_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'x' has 5 rows, 'time' has 6"):
        read(write(tmp_path / "a.npz", time=TIMES, x=np.ones(5)), mass=["x"])
    with pytest.raises(DataError, match="'x' has 3 dimensions"):
        read(write(tmp_path / "b.npz", time=TIMES, x=np.ones((6, 1, 1))), mass=["x"])
    with pytest.raises(DataError, match="'x_0' is there twice"):
        read(write(tmp_path / "c.npz", time=TIMES, x=np.ones((6, 1)), x_0=np.ones(6)), mass=["x_0"])
    with pytest.raises(DataError, match="more than 10,000 columns"):
        read(write(tmp_path / "d.npz", time=TIMES, x=np.ones((6, 10_001), np.int8)), mass=["x_0"])


def test_the_flights_in_the_package_close() -> None:
    """Every flight enters once and exits once, and whoever is not yet out is airborne."""
    (table,) = load(flights(), "auto", Request()).tables
    inflow, outflow = (
        sum(column for name, column in table.values.items() if name.startswith(way))
        for way in ("in_", "out_")
    )
    assert np.array_equal(np.cumsum(inflow - outflow), table.values["airborne"])
    assert (inflow.sum(), outflow.sum()) == (327_346, 327_345)
    for band in ("short", "medium", "long", "far"):
        origins = sum(table.values[f"{airport}_to_{band}"] for airport in ("EWR", "JFK", "LGA"))
        assert np.array_equal(origins, table.values[f"out_{band}"])

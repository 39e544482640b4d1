"""traffic4cast: counts at the frame against counts by hand, in both orders of the headings."""

import tracemalloc
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from mclstm.data.read import read
from mclstm.data.readers import detect, load
from mclstm.data.site_tables import Request, Table
from mclstm.errors import DataError

STEPS, HEIGHT, WIDTH = 288, 5, 6
HEADINGS = {"ne_nw_se_sw": ["NE", "NW", "SE", "SW"], "ne_se_sw_nw": ["NE", "SE", "SW", "NW"]}
# Pixel (row, column), heading -> the columns that one vehicle adds to, by hand.
BY_HAND = {
    ((2, 0), "NE"): {"in_W": 1.0},
    ((2, 0), "NW"): {"out_W": 1.0},
    ((2, 5), "SW"): {"in_E": 1.0},
    ((2, 5), "SE"): {"out_E": 1.0},
    ((0, 3), "SE"): {"in_N": 1.0},
    ((0, 3), "NW"): {"out_N": 1.0},
    ((4, 3), "NE"): {"in_S": 1.0},
    ((4, 3), "SE"): {"out_S": 1.0},
    ((0, 0), "SE"): {"in_N": 0.5, "in_W": 0.5},
    ((0, 0), "NW"): {"out_N": 0.5, "out_W": 0.5},
    ((0, 0), "NE"): {"out_N": 1.0},
    ((0, 0), "SW"): {"out_W": 1.0},
    ((0, 5), "SW"): {"in_N": 0.5, "in_E": 0.5},
    ((0, 5), "SE"): {"out_E": 1.0},
    ((4, 0), "NE"): {"in_S": 0.5, "in_W": 0.5},
    ((4, 0), "NW"): {"out_W": 1.0},
    ((4, 5), "SE"): {"out_S": 0.5, "out_E": 0.5},
    ((4, 5), "NE"): {"out_E": 1.0},
    ((4, 5), "SW"): {"out_S": 1.0},
    ((2, 2), "NE"): {},
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCLSTM_CACHE", str(tmp_path / "cache"))


def write(path: Path, array: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_dataset("array", data=array, chunks=(1, *array.shape[1:]), compression="gzip")
    return path


def day(channels: int = 9) -> np.ndarray:
    """A day without vehicles, but with speeds and incidents everywhere."""
    array = np.full((STEPS, HEIGHT, WIDTH, channels), 7, np.uint8)
    array[..., 0:8:2] = 0
    return array


def one(path: Path, reader: str = "auto") -> Table:
    (table,) = load(path, reader, Request()).tables
    return table


@pytest.mark.parametrize("order", HEADINGS)
@pytest.mark.parametrize("channels", [8, 9])
def test_every_crossing_against_counts_by_hand(order: str, channels: int, tmp_path: Path) -> None:
    array = day(channels)
    for step, ((row, column), heading) in enumerate(BY_HAND):
        array[step, row, column, 2 * HEADINGS[order].index(heading)] = 3
    table = one(write(tmp_path / f"2019-01-02_BERLIN_{channels}ch.h5", array), f"traffic4cast/{order}")
    assert table.site == "berlin"
    for step, (key, shares) in enumerate(BY_HAND.items()):
        counted = {name: column[step] / 3 for name, column in table.values.items() if column[step]}
        assert counted == shares, key
    assert all(not column[len(BY_HAND) :].any() for column in table.values.values())


def test_sums_do_not_wrap_at_256(tmp_path: Path) -> None:
    array = day()
    array[0, :, 0, 0] = 255  # heading NE: three pixels of the western border flow in, and two corners
    table = one(write(tmp_path / "2019-01-02_berlin_9ch.h5", array))
    assert table.values["in_W"][0] == 3 * 255 + 255 / 2
    assert table.values["in_S"][0] == 255 / 2
    assert table.values["out_N"][0] == 255


def test_a_city_is_one_table_of_its_days_in_order(tmp_path: Path) -> None:
    for folder, date, count in (
        ("training", "2019-01-03", 2),
        ("training", "2019-01-02", 1),
        ("validation", "2019-07-01", 3),
        ("testing", "2019-07-02", 9),
    ):
        array = day()
        array[:, 2, 0, 0] = count
        write(tmp_path / "MOSCOW" / folder / f"{date}_moscow_9ch.h5", array)
    assert detect(tmp_path) == detect(tmp_path / "MOSCOW") == "traffic4cast"
    table = one(tmp_path / "MOSCOW")
    assert table.values["in_W"].reshape(3, STEPS)[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert str(table.times[STEPS + 1]) == "2019-01-03 00:05:00"
    again = one(tmp_path / "MOSCOW")  # from the cache
    assert again.times.equals(table.times)
    assert again.values["in_W"].tolist() == table.values["in_W"].tolist()
    series = read(tmp_path / "MOSCOW" / "training", mass=["in_W", "in_E"], target=["out_W"])
    assert (series.attrs["step"], series.sizes["time"]) == ("5min", 2 * STEPS)


def test_a_full_size_day_is_read_in_bounded_memory(tmp_path: Path) -> None:
    frame = np.zeros((495, 436, 9), np.uint8)
    frame[[0, -1], :, 0] = 1  # heading NE along the northern and the southern border
    packed = zlib.compress(frame.tobytes(), 1)
    path = tmp_path / "2019-01-02_berlin_9ch.h5"
    with h5py.File(path, "w") as file:
        array = file.create_dataset(
            "array", (STEPS, *frame.shape), "u1", chunks=(1, *frame.shape), compression=1
        )
        for step in range(STEPS):
            array.id.write_direct_chunk((step, 0, 0, 0), packed)
    tracemalloc.start()
    table = one(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 32 * 2**20 < STEPS * frame.nbytes / 10
    # In the south 434 flow in, and half of the south-western corner, whose other half is of the west; in the
    # north 434 flow out, the north-western corner, and half of the north-eastern one.
    # The other halves and the south-eastern corner leave over the east.
    per_step = {name: column[0] for name, column in table.values.items() if column.any()}
    assert per_step == {"in_S": 434.5, "in_W": 0.5, "out_N": 435.5, "out_E": 1.5}
    assert all((column == column[0]).all() for column in table.values.values())


def test_an_unknown_order_and_a_foreign_file_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "2019-01-02_berlin_9ch.h5", day())
    with pytest.raises(DataError, match="traffic4cast/ne_se_sw_nw"):
        one(path, "traffic4cast/nw_ne")
    with pytest.raises(DataError, match="not named as"):
        one(write(tmp_path / "berlin.h5", day()), "traffic4cast")
    with pytest.raises(DataError, match="has no column 'in_X'"):
        read(path, mass=["in_X"])

"""traffic4cast: vehicles that cross the frame of a city, per border and 5 minutes; each day is an HDF5 file.

    <CITY>/{training,validation}/2019-MM-DD_<city>_9ch.h5    dataset `array` (288, H, W, 9) uint8, 8 in 2021

The channels are volume and speed of four headings, then incidents. Row 0 of the grid is its northern border,
column 0 the western one. On the outermost ring of pixels a heading that points into the frame is inflow of
its border, one that points out is outflow. In a corner the heading that points diagonally in (out) is split
half and half between both borders; the other two headings leave over one border each.
Only the ring is read. Volumes are scaled to 0..255 by the publisher, so that the flows do not quite close.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np
import pandas as pd

from mclstm.data.columns import listed, require_columns
from mclstm.data.readers import cache
from mclstm.data.readers.hdf5_safety import require_safe
from mclstm.data.readers.text import require_file
from mclstm.data.site_names import require_site
from mclstm.data.site_tables import Raw, Request, Table, read_each
from mclstm.errors import DataError

__all__ = ["FILE", "ORDERS", "days_of", "holds_days", "load"]

FILE = re.compile(r"(\d{4}-\d\d-\d\d)_(.+)_[89]ch\.h5")
PLACES = ("*ch.h5", "*/*ch.h5", "*/*/*ch.h5")  # in a folder of days, of a city, of several cities
STEPS, CHANNELS, HEADINGS = 288, (8, 9), 4
LARGEST_CHUNK, BLOCK = 256 * 2**20, 32 * 2**20  # bytes: that HDF5 must unpack at once; read together
# Sources disagree: the paper's authors and the 2022 specification have the first order, the 2020 README the
# second.
ORDERS = {"ne_nw_se_sw": ("NE", "NW", "SE", "SW"), "ne_se_sw_nw": ("NE", "SE", "SW", "NW")}
INWARD = {"W": ("NE", "SE"), "E": ("NW", "SW"), "N": ("SE", "SW"), "S": ("NE", "NW")}
COLUMNS = tuple(f"{way}_{border}" for way in ("in", "out") for border in INWARD)


def load(path: Path, request: Request, order: str = "ne_nw_se_sw") -> Raw:
    """Read a day, a folder of days, a city, or a folder of cities: one table per city, days in order.

    order: the headings' order in the channels, one of ORDERS
    """
    if order not in ORDERS:
        names = ", ".join(f"traffic4cast/{name}" for name in ORDERS)
        raise DataError(f"there is no order of headings {order!r}. Choose one of {names}.")
    require_columns(COLUMNS, request.required(), str(path))
    files = days_of(path) if path.is_dir() else [require_file(path)]
    files = [file for file in files if city_of(file) in request.sites or not request.sites]
    if not files:
        raise DataError(f"{path} has no file 2019-MM-DD_<city>_9ch.h5. Name the folder of a city.")
    raw = cities(path, files, order)
    wanted = request.dynamic or COLUMNS
    return raw._replace(
        tables=[table._replace(values={name: table.values[name] for name in wanted}) for table in raw.tables]
    )


def cities(path: Path, files: list[Path], order: str) -> Raw:
    """Every city's table, from the cache when nothing has changed since."""
    place = cache.key("traffic4cast", [str(path.resolve()), order, *map(str, files)], files)
    cached = cache.fetch(place, ())
    if cached is not None:
        return Raw(cached[0], pd.DataFrame(), {}, [])
    days = read_each(files, lambda file: Raw([day_table(file, ORDERS[order])], pd.DataFrame(), {}, []))
    names = dict.fromkeys(day.site for day in days.tables)
    raw = days._replace(
        tables=[joined_days([day for day in days.tables if day.site == name]) for name in names]
    )
    if not raw.findings:
        cache.store(place, raw.tables, {})
    return raw


def holds_days(path: Path) -> bool:
    """Whether a folder has the layout of a city, or of several."""
    return any(next(path.glob(pattern), None) is not None for pattern in PLACES)


def days_of(path: Path) -> list[Path]:
    """The files of whole days below a folder, by date, without the fragments in folders named testing."""
    named = [file for pattern in PLACES for file in path.glob(pattern)]
    files = [file for file in named if FILE.fullmatch(file.name)]
    whole = [file for file in files if file.parent.name.lower() not in ("testing", "test")]
    return sorted(whole, key=lambda file: (file.name, file))


def city_of(file: Path) -> str:
    match = FILE.fullmatch(file.name)
    if match is None:
        raise DataError(f"{file} is not named as 2019-MM-DD_<city>_9ch.h5. Keep the publisher's name.")
    return require_site(match[2].lower(), str(file))


def joined_days(days: Sequence[Table]) -> Table:
    """The days of one city in one table."""
    ordered = sorted(days, key=lambda day: day.times[0])
    times = pd.DatetimeIndex(np.concatenate([day.times.to_numpy() for day in ordered])).as_unit("ns")
    values = {name: np.concatenate([day.values[name] for day in ordered]) for name in COLUMNS}
    return Table(ordered[0].site, ordered[0].file, times, values)


def day_table(file: Path, order: Sequence[str]) -> Table:
    """Inflow and outflow of every border in each 5 minutes of one day."""
    city = city_of(file)
    try:
        first = pd.Timestamp(file.name[:10])
    except ValueError:
        raise DataError(f"{file}: {file.name[:10]} is no date. Keep the publisher's name.") from None
    require_safe(require_file(file))
    try:
        # The cache holds a block of frames, so that its four borders unpack it once.
        with h5py.File(file, "r", rdcc_nbytes=2 * BLOCK) as content:
            values = flows(require_day(content, file), order)
    except OSError as error:
        raise DataError(f"{file} is damaged ({str(error)[:120]}). Copy or download it again.") from None
    times = pd.date_range(first, periods=STEPS, freq="5min").as_unit("ns")
    return Table(city, str(file), times, values)


def require_day(content: h5py.File, file: Path) -> h5py.Dataset:
    """The dataset of a day, refused in any other form than the publisher's."""
    if not isinstance(content.get("array"), h5py.Dataset):
        names = listed(list(content))
        raise DataError(f"{file} has no dataset 'array', only {names}. Name files of traffic4cast.")
    array = content["array"]
    fits = len(array.shape) == 4 and array.shape[0] == STEPS and array.shape[3] in CHANNELS
    if not fits or min(array.shape[1:3]) < 3 or array.dtype != np.uint8:
        raise DataError(
            f"{file}: 'array' is {array.dtype} {array.shape}, not uint8 (288, height, width, 8 or 9). "
            "Name the file of a whole day."
        )
    if array.chunks is not None and np.prod(array.chunks, dtype=float) > LARGEST_CHUNK:
        raise DataError(f"{file} is packed in chunks of {array.chunks}. Write it with one step per chunk.")
    return array


def flows(array: h5py.Dataset, order: Sequence[str]) -> dict[str, np.ndarray]:
    """The columns of one day, (288,) each, block of frames by block of frames."""
    values = {name: np.zeros(STEPS) for name in COLUMNS}
    chunk = array.chunks[0] if array.chunks else 1
    block = chunk * max(1, BLOCK // (chunk * int(np.prod(array.shape[1:]))))
    for start in range(0, STEPS, block):
        steps = slice(start, min(start + block, STEPS))
        part = {name: column[steps] for name, column in values.items()}  # views
        for borders, counts in ring(array, steps).items():
            add_crossings(part, counts, borders, order)
    return values


def ring(array: h5py.Dataset, steps: slice) -> dict[tuple[str, ...], np.ndarray]:
    """Volumes of each border without corners, and of each corner, by the borders they lie on: (T, 4) each."""
    south, east = array.shape[1] - 1, array.shape[2] - 1
    volumes = slice(0, 2 * HEADINGS, 2)
    parts: dict[tuple[str, ...], np.ndarray] = {}
    # Wide integers first: sums of uint8 would wrap at 256.
    for border, row in (("N", 0), ("S", south)):
        line = array[steps, row, :, volumes].astype(np.int64)
        parts |= {(border, "W"): line[:, 0], (border,): line[:, 1:-1].sum(1), (border, "E"): line[:, -1]}
    for border, column in (("W", 0), ("E", east)):
        parts[border,] = array[steps, 1:south, column, volumes].astype(np.int64).sum(1)
    return parts


def add_crossings(
    values: Mapping[str, np.ndarray],  # (T,) by column
    counts: np.ndarray,  # (T, 4) by heading
    borders: tuple[str, ...],  # those that the pixels lie on: one, or two in a corner
    order: Sequence[str],
) -> None:
    """Add the vehicles of some pixels: those that leave over any border are outflow, all others inflow."""
    for heading, volume in zip(order, counts.T, strict=True):
        left = [border for border in borders if heading not in INWARD[border]]
        way, crossed = ("out", left) if left else ("in", borders)
        for border in crossed:
            values[f"{way}_{border}"] += volume / len(crossed)

"""Readers by name: from a path to one table per site, as the files have it."""

from collections.abc import Callable
from pathlib import Path

from mclstm.data.readers import camels_us, caravan, csv, generic_nh, netcdf, parquet
from mclstm.data.readers.text import with_attributes
from mclstm.data.site_tables import Raw, Request
from mclstm.errors import DataError

__all__ = ["READERS", "UNITS", "detect", "load"]

READERS: dict[str, Callable[[Path, Request], Raw]] = {
    "csv": csv.load,
    "netcdf": netcdf.load,
    "parquet": parquet.load,
    "generic_nh": generic_nh.load,
    "caravan": caravan.load,
    "camels_us": camels_us.load,
}

# Units that a format fixes without stating them in its files, by reader.
UNITS = {"caravan": caravan.UNITS, "camels_us": camels_us.UNITS}

SUFFIXES = {
    ".csv": "csv", ".txt": "csv", ".tsv": "csv",
    ".nc": "netcdf", ".nc4": "netcdf", ".cdf": "netcdf", ".h5": "netcdf", ".hdf5": "netcdf",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


def load(path: Path, reader: str, request: Request) -> Raw:
    """Read a path with a reader of READERS, `auto`, or `camels_us/<product>`."""
    name, _, product = reader.partition("/")
    name = detect(path) if name == "auto" else name
    if name not in READERS or (product and name != "camels_us"):
        raise DataError(f"there is no reader {reader!r}. Choose one of auto, {', '.join(READERS)}.")
    raw = camels_us.load(path, request, product) if product else READERS[name](path, request)
    return with_attributes(raw, request)._replace(reader=name)


def detect(path: Path) -> str:
    """The reader for a path, by the layout of a folder or the ending of a file."""
    if not path.is_dir():
        if path.suffix.lower() not in SUFFIXES and path.is_file():
            raise DataError(
                f"{path}: the ending {path.suffix!r} does not tell the format. Name it with --reader."
            )
        return SUFFIXES.get(path.suffix.lower(), "csv")
    layouts = {
        "camels_us": camels_us.root_of(path) is not None,
        "caravan": (path / "timeseries").is_dir(),
        "generic_nh": (path / "time_series").is_dir(),
        "csv": any(file.suffix.lower() == ".csv" for file in path.iterdir()),
    }
    for name, fits in layouts.items():
        if fits:
            return name
    formats = "CAMELS-US, Caravan or NeuralHydrology"
    raise DataError(f"{path} has no .csv file and no layout of {formats}. Name the folder of the data.")

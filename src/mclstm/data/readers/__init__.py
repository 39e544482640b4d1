"""Readers by name: from a path to one table per site, as the files have it."""

from collections.abc import Callable
from pathlib import Path

from mclstm.data.readers import (
    camels_us,
    caravan,
    csv,
    generic_nh,
    netcdf,
    npz,
    parquet,
    traffic4cast,
    zarr,
)
from mclstm.data.readers.text import with_attributes
from mclstm.data.site_tables import Raw, Request
from mclstm.errors import DataError

__all__ = ["READERS", "SITES", "UNITS", "detect", "load"]

READERS: dict[str, Callable[..., Raw]] = {  # (path, request), and the variant for those of VARIANTS
    "csv": csv.load,
    "netcdf": netcdf.load,
    "zarr": zarr.load,
    "parquet": parquet.load,
    "npz": npz.load,
    "generic_nh": generic_nh.load,
    "caravan": caravan.load,
    "camels_us": camels_us.load,
    "traffic4cast": traffic4cast.load,
}

# The names of the sites, for layouts of which some sites can be read without the others.
SITES: dict[str, Callable[[Path, Request], list[str]]] = {
    "netcdf": netcdf.sites,
    "zarr": zarr.sites,
    "generic_nh": generic_nh.sites,
    "caravan": caravan.sites,
}

VARIANTS = ("camels_us", "traffic4cast")  # readers of `name/variant`: a product, an order of headings

# Units that a format fixes without stating them in its files, by reader.
UNITS = {"caravan": caravan.UNITS, "camels_us": camels_us.UNITS}

SUFFIXES = {
    ".csv": "csv", ".txt": "csv", ".tsv": "csv",
    ".nc": "netcdf", ".nc4": "netcdf", ".cdf": "netcdf", ".h5": "netcdf", ".hdf5": "netcdf",
    ".parquet": "parquet", ".pq": "parquet", ".npz": "npz",
}  # fmt: skip


def load(path: Path, reader: str, request: Request) -> Raw:
    """Read a path with a reader of READERS, `auto`, or `<reader>/<variant>`, such as camels_us/daymet."""
    if "\0" in str(path):
        raise DataError(f"the path {str(path)[:60]!r} holds a NUL character. Remove it.")
    name, _, variant = reader.partition("/")
    name = detect(path) if name == "auto" else name
    if name not in READERS or (variant and name not in VARIANTS):
        raise DataError(f"there is no reader {reader!r}. Choose one of auto, {', '.join(READERS)}.")
    raw = READERS[name](path, request, *([variant] if variant else []))
    return with_attributes(raw, request)._replace(reader=name)


def detect(path: Path) -> str:
    """The reader for a path, by the layout of a folder or the ending of a file."""
    if not path.is_dir():
        if traffic4cast.FILE.fullmatch(path.name):
            return "traffic4cast"
        if path.suffix.lower() not in SUFFIXES and path.is_file():
            raise DataError(
                f"{path}: the ending {path.suffix!r} does not tell the format. Name it with --reader."
            )
        return SUFFIXES.get(path.suffix.lower(), "csv")
    layouts = {
        "camels_us": camels_us.root_of(path) is not None,
        "caravan": (path / "timeseries").is_dir(),
        "generic_nh": (path / "time_series").is_dir(),
        "traffic4cast": traffic4cast.holds_days(path),
        "zarr": zarr.holds_zarr(path),
        "csv": any(file.suffix.lower() == ".csv" for file in path.iterdir()),
        "netcdf": any(file.suffix.lower() == ".nc" for file in path.iterdir()),
    }
    for name, fits in layouts.items():
        if fits:
            return name
    formats = "CAMELS-US, Caravan, NeuralHydrology or traffic4cast"
    raise DataError(
        f"{path} has no .csv or .nc file and no layout of {formats}. Name the folder of the data."
    )

"""Readers by name, and `read`: from a path to the one in-memory form.

>>> from mclstm.data.fulda import AREA_KM2, UNITS, fulda
>>> series = read(fulda(), mass=["precipitation"], aux=["tmean"], target=["discharge"], units=UNITS,
...               convert={"discharge": "mm/day"}, area_km2=AREA_KM2)
>>> dict(series.sizes), series.discharge.attrs["units"]
({'site': 1, 'time': 3653}, 'mm/day')
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import xarray as xr

from mclstm.data.checks.guess import listed
from mclstm.data.checks.table_check import inspect
from mclstm.data.conversion import areas, in_units
from mclstm.data.finding import raise_first
from mclstm.data.policy import require_policy
from mclstm.data.readers import camels_us, caravan, csv, generic_nh, netcdf, parquet
from mclstm.data.series import build
from mclstm.data.tables import Raw, Request, Roles, declare_missing
from mclstm.errors import ConfigError, DataError

__all__ = ["READERS", "UNITS", "detect", "load", "read", "require_roles", "require_units"]

READERS: dict[str, Callable[[Path, Request], Raw]] = {
    "csv": csv.load,
    "netcdf": netcdf.load,
    "parquet": parquet.load,
    "generic_nh": generic_nh.load,
    "caravan": caravan.load,
    "camels_us": camels_us.load,
}

# What a format fixes without saying it in its files, by reader.
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
    if name == "camels_us":
        return camels_us.load(path, request, product)
    return READERS[name](path, request)


def detect(path: Path) -> str:
    """The reader for a path, by the layout of a folder or the ending of a file."""
    if not path.is_dir():
        if path.suffix.lower() not in SUFFIXES and path.is_file():
            raise DataError(
                f"{path}: the ending {path.suffix!r} says nothing of the format. Name it with --reader."
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
    raise DataError(
        f"{path} holds no .csv file and none of the layouts of CAMELS-US, Caravan or NeuralHydrology. "
        "Name the folder or file that holds the data."
    )


def read(
    path: str | Path,
    reader: str = "auto",
    *,
    mass: Sequence[str],
    aux: Sequence[str] = (),
    static: Sequence[str] = (),
    target: Sequence[str] = (),
    time: str | None = None,
    site: str | None = None,
    sites: Sequence[str] = (),
    units: Mapping[str, str] | None = None,
    convert: Mapping[str, str] | None = None,
    assume: Mapping[str, str] | None = None,
    area_km2: float | str | Mapping[str, float] | None = None,
    attributes: str | None = None,
    date_format: str | None = None,
    separator: str | None = None,
    decimal: str = ".",
    missing: Sequence[float] = (),
    missing_mass: str = "error",
    missing_aux: str = "error",
    require_target: bool = True,
    allow_negative_mass: bool = False,
) -> xr.Dataset:
    """Data from a path as a checked series; the first thing wrong is raised as a DataError.

    `units` declares what the file has, `convert` what the series shall have; a volume becomes a depth over
    `area_km2`: a number, one a site, or the name of an attribute. `assume` holds the units of columns for
    which neither the caller nor the file names one. Prediction needs no observations: with
    `require_target=False` a target that is not there is left out.
    """
    require_policy(missing_mass, missing_aux)
    roles = Roles(tuple(mass), tuple(aux), tuple(static), tuple(target))
    require_roles(roles, need_mass=True)
    require_units(convert or {}, [name for columns in roles for name in columns])
    request = Request(
        roles.dynamic(), (*roles.static, *([area_km2] if isinstance(area_km2, str) else [])),
        () if require_target else roles.target, time, site, date_format, separator, decimal,
        attributes, tuple(map(str, sites)),
    )  # fmt: skip
    raw = declare_missing(load(Path(path), reader, request), tuple(missing))
    raise_first(raw.findings)
    _require_sites(request.sites, raw, str(path))
    stated = dict(assume or {}) | {name: unit for name, unit in raw.units.items() if unit} | dict(units or {})
    roles = _present(roles, raw)
    policy = {"missing_mass": missing_mass, "missing_aux": missing_aux}
    raise_first(inspect(raw, roles, stated, **policy, allow_negative_mass=allow_negative_mass))
    series = build(raw.tables, roles, stated, raw.attributes, **policy)
    return in_units(series, convert or {}, areas(series, area_km2, raw.attributes))


def require_roles(roles: Roles, *, need_mass: bool = False) -> None:
    """Every column has one role, and mass is not optional in a model of mass."""
    everything = [name for columns in roles for name in columns]
    twice = [name for name in dict.fromkeys(everything) if everything.count(name) > 1]
    if twice:
        raise ConfigError(f"the column {twice[0]!r} is named more than once. Give every column one role.")
    if need_mass and not roles.mass:
        raise ConfigError("no mass column is declared. Name at least one, for example mass: [rain].")


def require_units(units: Mapping[str, str], have: Iterable[str]) -> None:
    """Refuse a unit for a column that is not there."""
    names = list(have)
    for name in units:
        if name not in names:
            raise ConfigError(
                f"a unit is named for {name!r}, which is not read. The columns are {listed(names)}."
            )


def _present(roles: Roles, raw: Raw) -> Roles:
    there = tuple(name for name in roles.target if all(name in table.values for table in raw.tables))
    return roles._replace(target=there)


def _require_sites(sites: tuple[str, ...], raw: Raw, path: str) -> None:
    absent = sorted(set(sites) - {table.site for table in raw.tables})
    if absent:
        raise DataError(f"{path} has no site {listed(absent)}. Correct the list of sites.")

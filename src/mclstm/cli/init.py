"""`mclstm init DATA`: a first config for a table, with roles, units, periods and lengths guessed from it."""

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mclstm.cli.check import Names, area_in, names_in, units_in
from mclstm.cli.show import Json
from mclstm.errors import ConfigError, DataError, StorageError

if TYPE_CHECKING:
    import xarray as xr

    from mclstm.data.checks.data_check import Report
    from mclstm.data.site_tables import Roles

__all__ = ["init"]


def init(
    data: Annotated[Path, typer.Argument(help="file or folder")],
    out: Annotated[Path | None, typer.Option(help="config to write [default: NAME.yaml, here]")] = None,
    mass: Names = None,
    aux: Names = None,
    static: Names = None,
    target: Names = None,
    unit: Annotated[list[str] | None, typer.Option(help="name=unit, for example flow=m3/s; repeat")] = None,
    area: Annotated[
        str | None, typer.Option(help="km2, or an attribute: turns a volume such as m3/s into a depth")
    ] = None,
    attributes: Annotated[Path | None, typer.Option(help="CSV with one row of attributes per site")] = None,
    reader: Annotated[str, typer.Option(help="layout of the data, as for check")] = "auto",
    missing_mass: Annotated[str, typer.Option(help="error, zero or interpolate")] = "error",
    missing_aux: Annotated[str, typer.Option(help="error or interpolate")] = "error",
    force: Annotated[bool, typer.Option("--force", help="replace a config that is there")] = False,
    as_json: Json = False,
) -> None:
    """Write a commented config for your data: roles, units, time step, periods and lengths are guessed."""
    from mclstm.config import check_config
    from mclstm.config.draft import calendar, data_section, draft, split
    from mclstm.config.safe_yaml import parse_yaml
    from mclstm.data.series import times
    from mclstm.data.site_tables import Roles
    from mclstm.training.atomic import write_text_atomic

    name = re.sub(r"[^A-Za-z0-9._-]+", "-", data.resolve().stem).strip("-._") or "run"
    config = out or Path(f"{name}.yaml")
    if config.exists() and not force:
        raise StorageError(f"{config} is there already. Choose another name with --out, or add --force.")
    declared = Roles(*(names_in(words) for words in (mass, aux, static, target)))
    policies: dict[str, Any] = {"missing_mass": missing_mass, "missing_aux": missing_aux}
    report = _examined(data, reader, declared, units_in(unit or []), attributes, area, policies)
    form = _form(report, reader, attributes, policies, config.parent)
    path, roles = _beside(data, config.parent), report.roles._asdict()
    section = data_section(path, roles, report.units, form, area_in(area))
    _require_area(section)
    series = _series(report, section, config.parent)
    time, step = times(series), series.attrs["step"]
    observed = series[list(report.roles.target)].to_array().notnull().any(["variable", "site"]).to_numpy()
    dates = split(time, observed)
    text = draft(config, name, section | calendar(time), dates, series.sizes["site"], step)
    check_config(parse_yaml(text, str(config)).values)
    write_text_atomic(config, text)
    _tell(config, section, dates._asdict(), step, as_json)


def _series(report: "Report", section: dict[str, Any], folder: Path) -> "xr.Dataset":
    """The data as training will read it; only the section `data` of the config counts here."""
    from mclstm.config import check_config
    from mclstm.series_from_config import read_series

    paths = {key: str((folder / section[key]).resolve()) for key in ("path", "attributes") if key in section}
    ends = {"train": [report.first[:10]] * 2, "test": [report.last[:10]] * 2}
    rest = {"periods": ends, "model": {"name": "mclstm"}, "training": {"updates": 1}}
    return read_series(check_config({"name": "draft", "data": section | paths, **rest}), require_target=True)


def _examined(
    data: Path,
    reader: str,
    declared: "Roles",
    units: dict[str, str],
    attributes: Path | None,
    area: str | None,
    policies: dict[str, Any],
) -> "Report":
    """What `mclstm check` finds, with what it guesses declared; refuses data that cannot be trained on."""
    from mclstm.data.checks.data_check import check
    from mclstm.data.findings import raise_first
    from mclstm.data.site_tables import Request, Roles

    request = Request(attributes=None if attributes is None else str(attributes))
    first = check(data, reader, Roles(static=declared.static), request, **policies)
    taken = declared.columns()
    roles = Roles(*(
        own or tuple(name for name in guessed if name not in taken)
        for own, guessed in zip(declared, first.roles, strict=True)
    ))  # fmt: skip
    units = {name: unit for name, unit in first.units.items() if roles.of(name)} | units
    report = check(
        data, reader, roles, first.request._replace(attributes=request.attributes), units=units,
        missing=first.missing_values, area_km2=area_in(area), **policies,
    )  # fmt: skip
    raise_first(report.findings)
    if not roles.target:
        raise DataError(f"{data}: no column is known as target, what flows out. Name it with --target.")
    return report._replace(missing_values=first.missing_values)


def _form(
    report: "Report", reader: str, attributes: Path | None, policies: dict[str, Any], folder: Path
) -> dict[str, Any]:
    """The keys that describe the files, those that are not the default."""
    request = report.request._asdict()
    keys: dict[str, Any] = {} if reader == "auto" else {"reader": reader}
    keys |= {key: request[key] for key in ("time", "site", "date_format", "separator") if request[key]}
    keys |= {} if request["decimal"] == "." else {"decimal": request["decimal"]}
    keys |= {} if attributes is None else {"attributes": _beside(attributes, folder)}
    keys |= {"missing_values": list(report.missing_values)} if report.missing_values else {}
    return keys | {key: value for key, value in policies.items() if value != "error"}


def _beside(path: Path, folder: Path) -> str:
    """A path as it is written in a config of a folder."""
    return os.path.relpath(path.resolve(), folder.resolve())


def _require_area(section: dict[str, Any]) -> None:
    """A volume becomes a depth only over an area."""
    from mclstm.data.units import LENGTHS, VOLUMES, parse

    wanted = str(section.get("target_unit", ""))
    for name in section["target"] if wanted and "area" not in section else ():
        unit = section["units"].get(name, wanted)
        if parse(unit).amount in VOLUMES and parse(wanted).amount in LENGTHS:
            raise ConfigError(f"{name} is in {unit}, the mass in {wanted}. Add the area in km2: --area KM2.")


def _tell(config: Path, section: dict[str, Any], dates: dict[str, Any], step: str, as_json: bool) -> None:
    periods = {name: dates[name] for name in ("train", "validation", "test")}
    if as_json:
        print(json.dumps({"config": str(config), "data": section, "periods": periods, "step": step}))
        return
    units = section.get("units", {})
    for role in ("mass", "aux", "static", "target"):
        columns = [f"{name} ({units[name]})" if name in units else name for name in section.get(role, [])]
        print(f"{role:<11}{', '.join(columns) or 'none'}")
    for name, (first, last) in periods.items():
        print(f"{name:<11}{first} to {last}")
    print(f"config     {config}\nnext       mclstm check {config}; mclstm train {config}")
    if not units:
        print("warning: no unit is known; mass and target must have the same. Add --unit.", file=sys.stderr)

"""`mclstm check DATA`: everything wrong with the data, before any training."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mclstm.cli.check_text import print_text
from mclstm.data.checks.data_check import Report, joined
from mclstm.data.checks.data_check import check as check_data
from mclstm.data.findings import errors, respell
from mclstm.data.site_tables import Request, Roles
from mclstm.errors import ConfigError, DataError

__all__ = ["Names", "area_in", "check", "names_in", "units_in"]

Names = Annotated[list[str] | None, typer.Option(help="column; repeat, or separate with commas")]
CONFIGS = (".yaml", ".yml")


def check(
    context: typer.Context,
    data: Annotated[Path, typer.Argument(help="file or folder of data, or a config, which names them")],
    reader: Annotated[
        str, typer.Option(help="auto, csv, netcdf, npz, ..., or camels_us/daymet, traffic4cast/ne_se_sw_nw")
    ] = "auto",
    mass: Names = None,
    aux: Names = None,
    static: Names = None,
    target: Names = None,
    time: Annotated[str | None, typer.Option(help="column of dates")] = None,
    site: Annotated[str | None, typer.Option(help="column of sites")] = None,
    unit: Annotated[list[str] | None, typer.Option(help="name=unit, for example flow=m3/s; repeat")] = None,
    area: Annotated[
        str | None, typer.Option(help="km2 over which a volume becomes a depth, or an attribute")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="outflow over inflow that is right, lowest and highest: 0.2,1.3")
    ] = None,
    attributes: Annotated[str | None, typer.Option(help="CSV with one row of attributes per site")] = None,
    date_format: Annotated[str | None, typer.Option(help="form of the dates, for example %d.%m.%Y")] = None,
    separator: Annotated[
        str | None, typer.Option(help="between name and site in the columns of a wide table")
    ] = None,
    decimal: Annotated[str, typer.Option(help="decimal mark of a CSV")] = ".",
    missing: Annotated[list[float] | None, typer.Option(help="value that means missing; repeat")] = None,
    missing_mass: Annotated[str, typer.Option(help="error, zero or interpolate")] = "error",
    missing_aux: Annotated[str, typer.Option(help="error or interpolate")] = "error",
    as_json: Annotated[bool, typer.Option("--json", help="the whole report as JSON")] = False,
) -> int:
    """Check data and list everything wrong with it."""
    if data.suffix in CONFIGS:
        _refuse_options(context, data)
        return _check_config(data, as_json)
    request = Request(time=time, site=site, attributes=attributes, date_format=date_format,
                      separator=separator, decimal=decimal)  # fmt: skip
    report = check_data(
        data, reader, Roles(names_in(mass), names_in(aux), names_in(static), names_in(target)), request,
        units=units_in(unit or []), area_km2=area_in(area), budget=budget_in(budget), missing=missing or [],
        missing_mass=missing_mass, missing_aux=missing_aux,
    )  # fmt: skip
    return _outcome(report, as_json, None)


def _refuse_options(context: typer.Context, path: Path) -> None:
    """Refuse options beside a config, which would be ignored."""
    for name in set(context.params) - {"data", "as_json"}:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise ConfigError(f"{path} is a config and says what {option} would. Leave {option} out.")


def _check_config(path: Path, as_json: bool) -> int:
    """Check the data of a config as `train` will read it: its roles, units, area and budget."""
    from mclstm.config import load_config
    from mclstm.config.load import anchored
    from mclstm.data.checks.unit_check import require_balance
    from mclstm.data.parts import blocks
    from mclstm.series_from_config import read_parts, read_series, sites_to_read, with_columns

    config = anchored(load_config(path), path.parent)
    data = config.data
    request = Request(
        time=data.time, site=data.site, attributes=data.attributes, date_format=data.date_format,
        separator=data.separator, decimal=data.decimal,
    )  # fmt: skip
    parts = [data.sites] if data.in_memory else blocks(sites_to_read(data))
    columns = data.mass, data.read_as_aux, [*data.static, *data.only_read], data.target
    targets = {} if data.target_unit is None else dict.fromkeys(data.target, data.target_unit)
    reports = [
        check_data(
            data.path, data.reader, Roles(*map(tuple, columns)), request._replace(sites=tuple(sites)),
            units=data.units, convert=data.convert | targets, area_km2=data.area, budget=data.budget,
            balances=config.balances, missing=data.missing_values, missing_mass=data.missing_mass,
            missing_aux=data.missing_aux,
        )
        for sites in parts
    ]  # fmt: skip
    code = _outcome(reports[0] if data.in_memory else joined(reports), as_json, "data.")
    settings = with_columns(config)
    if data.in_memory:
        series = read_series(settings, require_target=True)
    else:
        series = read_parts(settings, require_target=True)[0]  # which reads them all
    if config.balances:
        require_balance(series)
    return code


def _outcome(report: Report, as_json: bool, section: str | None) -> int:
    """Print the report; data with errors are refused. section: where a config has the keys of remedies."""
    if section is not None:
        findings = [item._replace(remedy=respell(item.remedy, section)) for item in report.findings]
        report = report._replace(findings=findings)
    if as_json:
        _print_json(report)
    else:
        print_text(report)
    bad = errors(report.findings)
    if not bad:
        return 0
    count = "1 error" if len(bad) == 1 else f"{len(bad)} errors; the first"
    raise DataError(f"{count}: {bad[0].sentence()}")


def names_in(words: list[str] | None) -> tuple[str, ...]:
    """Names from repeated options, each of which may hold several."""
    return tuple(name.strip() for word in words or [] for name in word.split(",") if name.strip())


def units_in(words: list[str]) -> dict[str, str]:
    """Units by column, from options of the form name=unit."""
    units = {}
    for word in words:
        name, mark, unit = word.partition("=")
        if not (mark and name.strip() and unit.strip()):
            raise ConfigError(f"--unit {word!r} is not of the form name=unit. Write, say, --unit flow=m3/s.")
        units[name.strip()] = unit.strip()
    return units


def area_in(word: str | None) -> float | str | None:
    """A number of km2, or the name of an attribute."""
    try:
        return None if word is None else float(word)
    except ValueError:
        return word


def budget_in(word: str | None) -> list[float] | None:
    try:
        pair = None if word is None else [float(part) for part in word.split(",")]
    except ValueError:
        pair = []
    if pair is not None and not (len(pair) == 2 and 0 <= pair[0] < pair[1]):
        raise ConfigError(
            f"--budget {word!r} is no range. Write the lowest and highest, say, --budget 0.2,1.3."
        )
    return pair


def _print_json(report: Report) -> None:
    content: dict[str, Any] = report._asdict() | {
        "request": report.request._asdict(),
        "roles": report.roles._asdict(),
        "findings": [finding._asdict() for finding in report.findings],
        "balances": [balance._asdict() for balance in report.balances],
        "budgets": [budget._asdict() | {"ratio": budget.ratio} for budget in report.budgets],
    }
    print(json.dumps(content, indent=1))

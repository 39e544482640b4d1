"""`mclstm check DATA`: everything wrong with the data, before any training."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from mclstm.data.checks.data_check import Report
from mclstm.data.checks.data_check import check as check_data
from mclstm.data.findings import errors
from mclstm.data.site_tables import Request, Roles
from mclstm.errors import ConfigError, DataError

__all__ = ["check"]

MOST_LINES = 100  # findings in the table; --json has all

Names = Annotated[list[str] | None, typer.Option(help="column; repeat, or separate with commas")]


def check(
    data: Annotated[Path, typer.Argument(help="file or folder")],
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
    request = Request(time=time, site=site, attributes=attributes, date_format=date_format,
                      separator=separator, decimal=decimal)  # fmt: skip
    report = check_data(
        data, reader, Roles(_names(mass), _names(aux), _names(static), _names(target)), request,
        units=_units(unit or []), missing=missing or [], missing_mass=missing_mass, missing_aux=missing_aux,
    )  # fmt: skip
    if as_json:
        _print_json(report)
    else:
        _print_text(report)
    bad = errors(report.findings)
    if not bad:
        return 0
    count = "1 error" if len(bad) == 1 else f"{len(bad)} errors; the first"
    raise DataError(f"{count}: {bad[0].sentence()}")


def _names(words: list[str] | None) -> tuple[str, ...]:
    return tuple(name.strip() for word in words or [] for name in word.split(",") if name.strip())


def _units(words: list[str]) -> dict[str, str]:
    units = {}
    for word in words:
        name, mark, unit = word.partition("=")
        if not (mark and name.strip() and unit.strip()):
            raise ConfigError(f"--unit {word!r} is not of the form name=unit. Write, say, --unit flow=m3/s.")
        units[name.strip()] = unit.strip()
    return units


def _print_json(report: Report) -> None:
    content = report._asdict() | {
        "roles": report.roles._asdict(),
        "findings": [finding._asdict() for finding in report.findings],
        "balances": [balance._asdict() for balance in report.balances],
    }
    print(json.dumps(content, indent=1))


def _summary(report: Report) -> list[str]:
    roles = [f"{role} {', '.join(names)}" for role, names in report.roles._asdict().items() if names]
    bad = len(errors(report.findings))
    return [
        f"{report.reader}: {report.sites} sites, {report.rows} rows, {report.first} to {report.last}",
        f"read as: {'; '.join(roles) or 'nothing'}",
        f"missing values: {sum(int(str(row['count'])) for row in report.missing)}; "
        f"findings: {bad} errors, {len(report.findings) - bad} warnings",
        *(balance.sentence() for balance in report.balances[:MOST_LINES]),
    ]


def _print_text(report: Report) -> None:
    if sys.stdout.isatty():
        _print_table(report)
    else:
        for finding in report.findings[:MOST_LINES]:
            print(f"{finding.severity}: {finding.kind}: {finding.sentence()}")
    if len(report.findings) > MOST_LINES:
        print(f"... and {len(report.findings) - MOST_LINES} more findings; --json lists them all")
    print("\n".join(_summary(report)))


def _print_table(report: Report) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("", "what", "where", "finding", "remedy")
    for finding in report.findings[:MOST_LINES]:
        colour = "red" if finding.severity == "error" else "yellow"
        cells = [finding.kind, finding.place(), finding.message, finding.remedy]
        table.add_row(f"[{colour}]{finding.severity}[/]", *map(escape, cells))
    if report.findings:
        Console().print(table)
    if report.missing:
        Console().print(_missing_table(report))


def _missing_table(report: Report) -> object:
    """Missing values by site and column, and in which years."""
    from rich.markup import escape
    from rich.table import Table

    grouped: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in report.missing:
        place = str(row["site"]), str(row["column"])
        grouped.setdefault(place, []).append((int(str(row["year"])), int(str(row["count"]))))
    table = Table("site", "column", "missing", "by year", title="missing values")
    for (site, column), years in list(grouped.items())[:MOST_LINES]:
        by_year = ", ".join(f"{year}: {count}" for year, count in years[:12])
        table.add_row(escape(site), escape(column), str(sum(count for _, count in years)), by_year)
    return table

"""The report of `mclstm check` for people: a table on a terminal, plain lines elsewhere, then a summary."""

import sys

from mclstm.cli.show import counted
from mclstm.data.checks.data_check import Report
from mclstm.data.clock import STEPS
from mclstm.data.findings import errors

__all__ = ["print_text"]

MOST_LINES = 100  # findings in the table; --json has all
MOST_BUDGETS = 5


def print_text(report: Report) -> None:
    """Print all findings, and what was read."""
    if sys.stdout.isatty():
        _print_table(report)
    else:
        for finding in report.findings[:MOST_LINES]:
            print(f"{finding.severity}: {finding.kind}: {finding.sentence()}")
    if len(report.findings) > MOST_LINES:
        print(f"... and {len(report.findings) - MOST_LINES} more findings; --json lists them all")
    print("\n".join(_summary(report)))


def _summary(report: Report) -> list[str]:
    roles = [f"{role} {', '.join(names)}" for role, names in report.roles._asdict().items() if names]
    bad = len(errors(report.findings))
    step = f" in steps of {STEPS.get(report.step, report.step)}" if report.step else ""
    ratios = sorted(report.budgets, key=lambda budget: budget.ratio)
    shown = ratios if len(ratios) <= MOST_BUDGETS else [ratios[0], ratios[len(ratios) // 2], ratios[-1]]
    count = f"{counted(bad, 'error')}, {counted(len(report.findings) - bad, 'warning')}"
    if not report.rows:
        return [f"nothing could be read; findings: {count}"]
    read = f"{counted(report.sites, 'site')}, {counted(report.rows, 'row')}"
    return [
        f"{report.reader}: {read}, {report.first} to {report.last}{step}",
        f"read as: {'; '.join(roles) or 'nothing'}",
        f"missing values: {sum(int(str(row['count'])) for row in report.missing)}; findings: {count}",
        *(budget.sentence() for budget in shown),
        *(balance.sentence() for balance in report.balances[:MOST_LINES]),
    ]


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

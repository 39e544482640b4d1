"""The tables of docs/trace.md: ages of rivers, snow beside rain, ways of flights, and what tracing costs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mclstm.report.markdown import NOTHING, text_table
from mclstm_paper.experiment import Block
from mclstm_paper.results import committed_results

__all__ = ["BLOCKS"]

COMMAND = "`python -m mclstm_paper.tracing.{}`."
Row = dict[str, Any]


def recorded(root: Path, name: str) -> Row:
    return committed_results(root / "results" / "trace" / f"{name}.json")


def quartiles(values: Sequence[float | None], form: str) -> str:
    """The median, and the quartiles in brackets, of known values.

    >>> quartiles([1.0, 2.0, None, 3.0], "{:.1f}")
    '2.0 (1.5 to 2.5)'
    """
    known = [value for value in values if value is not None]
    low, middle, high = (form.format(value) for value in np.quantile(known, [0.25, 0.5, 0.75]))
    return f"{middle} ({low} to {high})"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def spread(row: Row, name: str, form: str) -> str:
    """The ensemble's age or share, and the lowest and highest of its members."""
    every = [member[name] for member in row["by member"]]
    ends = [form.format(end) if end is not None else NOTHING for end in (min(every), max(every))]
    return f"{form.format(row[name])} ({ends[0]} to {ends[1]})"


def rivers_table(root: Path) -> str:
    """The Fulda and ten basins: age, young share, and the rain behind the largest flood."""
    fulda, basins = recorded(root, "fulda"), recorded(root, "ages")
    head = ["river", "median age (days)", "younger than 70 days", "largest flood", "day that gave most",
            "days that gave half"]  # fmt: skip
    lines = [
        [
            row["site"], spread(row, "median", "{:.0f}"), spread(row, "young", "{:.2f}"), row["flood"],
            f"{row['behind']['day']}, {percent(row['behind']['share'])}", str(row["behind"]["half"]),
        ]
        for row in (fulda | {"site": "Fulda"}, *basins["ten"])
    ]  # fmt: skip
    return (
        f"{text_table(head, lines)}\n\nThe mean of all members, in brackets the lowest and highest of them. "
        f"Fulda: the demo's {len(fulda['by member'])} hybrids, {dates(fulda)}; the others: "
        f"{len(basins['ten'][0]['by member'])} MC-LSTMs of `weights/mclstm-mixed/tuned`, {dates(basins)}, "
        f"every 45th of the 447 basins. The first {fulda['filling']} days fill the stores and do not count. "
        f"{COMMAND.format('basin_ages --fulda RUN')[:-1]}, {COMMAND.format('basin_ages --data CAMELS_US')}"
    )


def dates(record: Row) -> str:
    return " to ".join(record["period"])


def snow_and_rain(record: Row) -> dict[str, list[Row]]:
    """The basins: all of them, those with much snow, and those with little."""
    rows, limits = record["basins"], record["limits"]
    snow, rain = limits["snow"], limits["rain"]
    return {
        f"all {len(rows)}": rows,
        f"snow: more than {percent(snow)} of precipitation": [row for row in rows if row["snow"] > snow],
        f"rain: less than {percent(rain)}": [row for row in rows if row["snow"] < rain],
    }


def basins_table(root: Path) -> str:
    """All basins, and those with much snow beside those with little."""
    record = recorded(root, "ages")
    contrast = record["contrast"]
    classes = [name for name in record["basins"][0]["flood by age"] if "start" not in name]
    head = [
        "basins",
        "n",
        "median age (days)",
        "younger than 70 days",
        *(f"flood: {name}" for name in classes),
    ]
    lines = [
        [
            name, str(len(group)), quartiles([row["median"] for row in group], "{:.0f}"),
            quartiles([row["young"] for row in group], "{:.2f}"),
            *(f"{np.median([row['flood by age'][label] for row in group]):.2f}" for label in classes),
        ]
        for name, group in snow_and_rain(record).items()
    ]  # fmt: skip
    tests = [
        [words, f"{contrast[name]['p']:.0e}", f"{contrast[name]['spearman']:.2f}"]
        for name, words in (("median", "median age"), ("young", "young share"))
    ]
    what = ["", "snow against rain: p", "all basins: Spearman's r with the share of snow"]
    return (
        f"{text_table(head, lines)}\n\n{text_table(what, tests)}\n\nMedians over basins, quartiles in "
        "brackets; `flood` is the share of the largest flood by age. p by Mann-Whitney's test, two-sided. "
        f"One member of `weights/mclstm-mixed/tuned`, {dates(record)}. "
        f"{COMMAND.format('basin_ages --data CAMELS_US')}"
    )


def flights_table(root: Path) -> str:
    """Where flights of each airport went and how long they were under way: traced beside true."""
    record = recorded(root, "flights")
    airports, bands = ([name.split("_")[1] for name in record[key]] for key in ("inlets", "outlets"))
    share, minutes = (np.mean([one[key] for one in record["traced"]], axis=0) for key in ("share", "minutes"))
    true = {key: np.array(values) for key, values in record["true"].items()}
    lines = [
        [
            airport,
            *(f"{a:.2f} / {b:.2f}" for a, b in zip(true["share"][at], share[at], strict=True)),
            f"{true['minutes'][at]:.0f} / {minutes[at]:.0f}",
        ]
        for at, airport in enumerate(airports)
    ]
    errors = [
        ["share of an airport's flights, mean absolute error", "share error", "{:.3f}"],
        ["minutes under way, mean absolute error", "minutes error", "{:.1f}"],
        ["arrivals by hour, airport and distance, correlation", "arrivals r", "{:.2f}"],
    ]
    against = [
        [words, form.format(np.mean(record[key])), form.format(record[f"{key}, all alike"])]
        for words, key, form in errors
    ]
    return (
        f"{text_table(['from', *bands, 'minutes under way'], lines)}\n\nTrue / traced: shares of an "
        "airport's flights by distance.\n\n"
        f"{text_table(['', 'traced', 'all airports alike'], against)}\n\nMean of {len(record['traced'])} "
        f"seeds, {record['updates']} updates each. {COMMAND.format('flight_paths examples/transport.yaml')}"
    )


def cost_table(root: Path) -> str:
    """CPU time and memory of tracing, beside one run per tag."""
    rows = recorded(root, "cost")["rows"]
    cells: dict[tuple[int, str, int], list[Row]] = {}
    for row in rows:
        cells.setdefault((row["sites"], row["method"].split(",")[0], row["days"]), []).append(row)
    cpu = {key: float(np.median([row["cpu"] for row in group])) for key, group in cells.items()}
    lines = []
    for key in sorted(cells, key=lambda key: (key[0], key[2])):
        sites, method, days = key
        brute = cpu.get((sites, "brute force", days))
        share = NOTHING if brute is None or method == "brute force" else f"{cpu[key] / brute:.1%}"
        memory = f"{np.median([row['memory'] for row in cells[key]]):,.0f}"
        lines.append(
            [str(sites), f"{days:,}", method, f"{cpu[key]:,.1f}", share, memory, str(len(cells[key]))]
        )
    head = [
        "sites",
        "days",
        "what is traced",
        "CPU seconds",
        "of brute force",
        "memory on top (MB)",
        "rounds",
    ]
    tags = recorded(root, "cost")["tags"]
    return (
        f"{text_table(head, lines)}\n\nMedians, one core, one member with 32 cells, a process for each "
        f"measurement. Brute force is one run per day with the gates held, timed for {tags} days and scaled "
        f"up. {COMMAND.format('trace_cost --data CAMELS_US')}"
    )


BLOCKS: dict[str, Block] = {
    "trace-rivers": rivers_table,
    "trace-basins": basins_table,
    "trace-flights": flights_table,
    "trace-cost": cost_table,
}

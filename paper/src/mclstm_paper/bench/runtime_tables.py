"""The tables of a bench in Markdown, each made from the content of the results file."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd

from mclstm.report.markdown import NOTHING, markdown
from mclstm_paper.bench.ratios import (
    BOTH,
    FORWARD,
    Row,
    attainment,
    better_product,
    curve,
    every,
    exponent,
    find,
    limit,
    ratio,
)
from mclstm_paper.bench.targets import verdicts

__all__ = ["AXES", "TABLES", "judged", "models"]

AXES = ("B", "T", "K", "A", "M", "E")
NOT_MEASURED = "Not measured yet."


def text(value: float) -> str:
    """Three digits that matter, no exponent.

    >>> text(1234.5), text(12.34), text(0.01234)
    ('1234', '12.3', '0.0123')
    """
    return f"{value:.0f}" if value >= 1000 else f"{value:#.3g}".rstrip(".")


def listed(lines: list[dict[str, Any]]) -> str:
    return markdown(pd.DataFrame(lines)) if lines else NOT_MEASURED


def with_quartiles(row: Row | None) -> str:
    if row is None:
        return NOTHING
    return f"{text(row['value'])} ({text(row['low'])} to {text(row['high'])})"


def times(slow: Row | None, fast: Row | None) -> str:
    share = ratio(slow, fast)
    return NOTHING if share is None else text(share.value)


def percent(row: Row | None, rate: Row | None) -> str:
    share = attainment(row, rate)
    return NOTHING if share is None else f"{100 * share.value:.0f} %"


def models(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["model"] for row in rows if row["metric"] != "gflops"))


def machine(record: dict[str, Any]) -> str:
    """One paragraph about the machine and its load."""
    made, about = record["made"], record["made"]["machine"]
    flags = ", ".join(about["flags"]) or "none of interest"
    first = {job["group"]: job["load_before"] for job in reversed(record["jobs"])}
    loads = ", ".join(f"{group} {load:g}" for group, load in reversed(first.items()))
    scale = "" if record["profile"] == "paper" else f" Scale: {record['profile']}, not the paper's sizes."
    return (
        f"Made on {made['date']} at commit {made['commit']}: {about['cpu']}, {about['cores']} cores, {flags},"
        f" {about['memory_gb']} GB, torch {about['torch']} with {about['blas']}, kernel {about['kernel']}; "
        f"{made['wall_seconds'] / 60:.0f} minutes. "
        "Load average of the machine at the start of each group "
        f"(over one minute, all processes, the previous group included): {loads}.{scale}"
    )


def judged(record: dict[str, Any], only_measured: bool = False) -> str:
    """Every target: the wanted range, the measured value, met or missed."""
    words = {True: "met", False: "missed", None: "not measured"}
    lines = [
        {
            "target": verdict.target,
            "wanted": verdict.wanted,
            "measured": NOTHING if verdict.value is None else text(verdict.value),
            "": words[verdict.holds],
        }
        for verdict in verdicts(record["rows"])
        if verdict.holds is not None or not only_measured
    ]
    return listed(lines)


def paper(record: dict[str, Any]) -> str:
    """The paper's configuration, one pair of tables per number of threads."""
    rows = every(record["rows"], group="paper")
    counts = sorted({row["threads"] for row in rows})
    return "\n\n".join(paper_on(every(rows, threads=threads), threads) for threads in counts) or NOT_MEASURED


def paper_on(rows: list[Row], threads: int) -> str:
    kind = "CPU time" if threads == 1 else "wall time"
    head = f"Threads: {threads}, {kind}, median of {rows[0]['n']} rounds with quartiles."
    return "\n\n".join([head + rates(rows), *(one_pass(rows, metric) for metric in (FORWARD, BOTH))])


def rates(rows: list[Row]) -> str:
    """Which limit the passes are compared with, and the rates beside it."""
    most = limit(rows)
    if most is None:
        return ""
    words = f" The limit: float32 {rate(most)}."
    beside = [rate(row) for row in every(rows, metric="gflops") if row is not most]
    return f"{words} Beside it: {'; '.join(beside)}." if beside else words


def rate(row: Row) -> str:
    return f"{row['model']}, {text(row['value'])} GFLOP/s (best {text(max(row['values']))})"


def one_pass(rows: list[Row], metric: str) -> str:
    of, most, product = partial(find, rows, metric=metric), limit(rows), better_product(rows)
    lines = []
    for model in models(rows):
        mine = of(model=model)
        line = {
            metric: model,
            "ms": with_quartiles(mine),
            "times as fast as neuralhydrology": times(of(model="neuralhydrology"), mine),
            "time / nn.LSTM": times(mine, of(model="lstm")),
            "of the limit": percent(mine, most),
        }
        # Where the better product is the limit itself, its column would only repeat that of the limit.
        lines.append(line if product is most else line | {"of the better product": percent(mine, product)})
    return listed(lines)


def table(record: dict[str, Any]) -> str:
    """The paper's runtime table with its own numbers beside ours; its GPU column was not measured."""
    rows = every(record["rows"], group="table")
    passes = every(rows, metric=FORWARD)
    lines = []
    for model in models(passes):
        ours, shares = {}, {}
        for row in every(passes, model=model):
            loop = find(passes, model="lstm-python", threads=row["threads"])
            ours[f"threads: {row['threads']}"] = with_quartiles(row)
            shares[f"time / lstm-python, threads: {row['threads']}"] = times(row, loop)
        cpu, gpu = printed(passes, model), printed(every(rows, metric="forward on a GPU"), model)
        loop_cpu = printed(passes, "lstm-python")
        theirs = {"paper, CPU": f"{cpu:g}" if cpu else NOTHING, "paper, GPU": f"{gpu:g}" if gpu else NOTHING}
        shares["time / lstm-python, paper, CPU"] = text(cpu / loop_cpu) if cpu and loop_cpu else NOTHING
        lines.append({"forward, ms": model, **ours, "GPU": "not measured", **theirs, **shares})
    return listed(lines)


def printed(rows: list[Row], model: str) -> float | None:
    """The paper's number for a model, if it prints one."""
    row = find(rows, model=model)
    return None if row is None else row["paper"]


def small(record: dict[str, Any]) -> str:
    """Milliseconds per seed of an update with its optimiser, and the gain over the plain model."""
    rows = every(record["rows"], group="small")
    lines = []
    for row in rows:
        plain = find(rows, part=row["part"], model="mclstm-eager")
        cells = {"ms per update and seed": with_quartiles(row), "times as fast": times(plain, row)}
        lines.append({"task": row["part"], "": row["model"], **cells})
    return listed(lines)


def single(record: dict[str, Any]) -> str:
    """One sequence at a time: milliseconds, and the gain over the eager loop."""
    rows = every(record["rows"], group="single")
    lines = []
    for setting in dict.fromkeys(row["setting"] for row in rows if row["metric"] != "gflops"):
        for metric in (FORWARD, BOTH):
            of = partial(find, rows, setting=setting, metric=metric)
            cells = {f"{model}, ms": with_quartiles(of(model=model)) for model in models(rows)}
            gain = times(of(model="mclstm-eager"), of(model="mclstm-native"))
            cells["native, times as fast as eager"] = gain
            lines.append({"one sequence": setting, "": metric, **cells})
    return listed(lines)


def memory(record: dict[str, Any]) -> str:
    """Peak memory of forward and backward above the inputs."""
    lines = []
    for row in every(record["rows"], group="memory"):
        line = {"": row["model"], "T": row["sizes"]["T"], "peak above the inputs, MB": text(row["value"])}
        lines.append(line | {"of this, stored cells and gradients of inputs, MB": text(row["stored"])})
    return listed(lines)


def growth(record: dict[str, Any]) -> str:
    """The exponent of every sweep, measured and counted."""
    rows = every(record["rows"], group="growth")
    lines = []
    for axis in AXES:
        swept = every(rows, part=axis)
        for model, metric in dict.fromkeys((row["model"], row["metric"]) for row in swept):
            points = curve(rows, axis, model, metric)
            if points is None:
                continue
            size = {"": axis, "from": points.at[0], "to": points.at[-1], "model": model, "pass": metric}
            measured, counted = power(points.at, points.ms), power(points.at, points.operations)
            lines.append(size | {"exponent": measured, "of the operations": counted})
    return listed(lines)


def power(at: list[int], costs: Sequence[float] | None) -> str:
    return NOTHING if costs is None else f"{exponent(at, costs):.2f}"


def absent(record: dict[str, Any]) -> str:
    """Candidates that could not run, and why."""
    lines = [
        f"- {entry['group']} ({entry['part']}, threads: {entry['threads']}): {entry['model']} is missing: "
        f"{entry['reason']}"
        for entry in record["missing"]
    ]
    return "\n".join(lines) or "Every candidate ran."


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "machine": machine,
    "targets": judged,
    "paper": paper,
    "table": table,
    "small": small,
    "single": single,
    "memory": memory,
    "growth": growth,
    "missing": absent,
}

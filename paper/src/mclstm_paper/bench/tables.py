"""The tables of a bench in Markdown; each takes the content of its results file."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from mclstm.report.tables import NOTHING, markdown
from mclstm_paper.bench.growth import curve
from mclstm_paper.bench.rows import BOTH, FORWARD, Row, attainment, every, exponent, find, ratio
from mclstm_paper.bench.targets import verdicts

__all__ = ["AXES", "TABLES", "judged", "models"]

AXES = ("B", "T", "K", "A", "M", "E")


def text(value: float) -> str:
    """Three digits that matter, no exponent.

    >>> text(1234.5), text(12.34), text(0.01234)
    ('1234', '12.3', '0.0123')
    """
    return f"{value:.0f}" if value >= 1000 else f"{value:#.3g}".rstrip(".")


def with_quartiles(row: Row | None) -> str:
    if row is None:
        return NOTHING
    return f"{text(row['value'])} ({text(row['low'])} to {text(row['high'])})"


def times(slow: Row | None, fast: Row | None) -> str:
    found = ratio(slow, fast)
    return NOTHING if found is None else text(found.value)


def models(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["model"] for row in rows if row["metric"] != "gflops"))


def machine(found: dict[str, Any]) -> str:
    """One paragraph: what it was measured on."""
    made, jobs = found["made"], found["jobs"]
    about = made["machine"]
    flags = ", ".join(about["flags"]) or "none of interest"
    first = {job["group"]: job["load_before"] for job in reversed(jobs)}
    loads = ", ".join(f"{group} {load:g}" for group, load in reversed(first.items()))
    scale = "" if found["profile"] == "paper" else f" Scale: {found['profile']}, not the paper's sizes."
    return (
        f"Made on {made['date']} at commit {made['commit']}: {about['cpu']}, {about['cores']} cores, {flags},"
        f" {about['memory_gb']} GB, torch {about['torch']} with {about['blas']}, kernel {about['kernel']}; "
        f"{made['wall_seconds'] / 60:.0f} minutes. "
        "Load average of the machine (a minute, all processes, those of the group before included) "
        f"when a group began: {loads}.{scale}"
    )


def judged(found: dict[str, Any], only_measured: bool = False) -> str:
    """Every target: what was wanted, what was measured, met or missed."""
    words = {True: "met", False: "missed", None: "not measured"}
    lines = [
        {
            "target": verdict.target.text,
            "wanted": verdict.wanted,
            "measured": NOTHING if verdict.value is None else text(verdict.value),
            "": words[verdict.holds],
        }
        for verdict in verdicts(found["rows"])
        if verdict.holds is not None or not only_measured
    ]
    return markdown(pd.DataFrame(lines)) if lines else nothing()


def paper(found: dict[str, Any]) -> str:
    """The paper's configuration, a table for every number of threads."""
    rows = every(found["rows"], group="paper")
    counts = sorted({row["threads"] for row in rows})
    return "\n\n".join(paper_on(every(rows, threads=threads), threads) for threads in counts) or nothing()


def paper_on(rows: list[Row], threads: int) -> str:
    product = find(rows, metric="gflops")
    kind = "CPU time" if threads == 1 else "wall time"
    limit = "" if product is None else (
        f" The limit: float32 matrix product, {text(product['value'])} GFLOP/s "
        f"(best {text(max(product['values']))})."
    )  # fmt: skip
    head = f"Threads: {threads}, {kind}, median of {rows[0]['n']} rounds with quartiles.{limit}"
    return "\n\n".join([head, *(one_pass(rows, metric, product) for metric in (FORWARD, BOTH))])


def one_pass(rows: list[Row], metric: str, product: Row | None) -> str:
    of = partial(find, rows, metric=metric)
    lines = []
    for model in models(rows):
        mine = of(model=model)
        share = attainment(mine, product) if mine and "operations" in mine else None
        lines.append(
            {
                metric: model,
                "ms": with_quartiles(mine),
                "times as fast as neuralhydrology": times(of(model="neuralhydrology"), mine),
                "time / nn.LSTM": times(mine, of(model="lstm")),
                "of the limit": NOTHING if share is None else f"{100 * share.value:.0f} %",
            }
        )
    return markdown(pd.DataFrame(lines))


def table(found: dict[str, Any]) -> str:
    """The paper's runtime table with its own numbers beside ours; its GPU column was not measured."""
    rows = every(found["rows"], group="table")
    passes = every(rows, metric=FORWARD)
    lines = []
    for model in models(passes):
        mine, over = {}, {}
        for row in every(passes, model=model):
            loop = find(passes, model="lstm-python", threads=row["threads"])
            mine[f"threads: {row['threads']}"] = with_quartiles(row)
            over[f"time / lstm-python, threads: {row['threads']}"] = times(row, loop)
        cpu, gpu = find(passes, model=model), find(rows, model=model, metric="forward on a GPU")
        theirs = {"paper, CPU": number(cpu), "paper, GPU": number(gpu)}
        over["time / lstm-python, paper, CPU"] = papers_times(cpu, find(passes, model="lstm-python"))
        lines.append({"forward, ms": model, **mine, "GPU": "not measured", **theirs, **over})
    return markdown(pd.DataFrame(lines)) if lines else nothing()


def number(row: Row | None) -> str:
    return NOTHING if row is None or row["paper"] is None else f"{row['paper']:g}"


def papers_times(slow: Row | None, fast: Row | None) -> str:
    """The same ratio of the paper's numbers."""
    if slow is None or fast is None or slow["paper"] is None or fast["paper"] is None:
        return NOTHING
    return text(slow["paper"] / fast["paper"])


def small(found: dict[str, Any]) -> str:
    """An update with its optimiser, a seed, and how many times as fast as the plain model."""
    rows = every(found["rows"], group="small")
    lines = []
    for row in rows:
        plain = find(rows, part=row["part"], model="mclstm-eager")
        cells = {"ms an update and seed": with_quartiles(row), "times as fast": times(plain, row)}
        lines.append({"task": row["part"], "": row["model"], **cells})
    return markdown(pd.DataFrame(lines)) if lines else nothing()


def single(found: dict[str, Any]) -> str:
    """One sequence at a time: milliseconds, and against the eager loop."""
    rows = every(found["rows"], group="single")
    lines = []
    for setting in dict.fromkeys(row["setting"] for row in rows if row["metric"] != "gflops"):
        for metric in (FORWARD, BOTH):
            of = partial(find, rows, setting=setting, metric=metric)
            cells = {f"{model}, ms": with_quartiles(of(model=model)) for model in models(rows)}
            gain = times(of(model="mclstm-eager"), of(model="mclstm-native"))
            lines.append(
                {"one sequence": setting, "": metric, **cells, "native, times as fast as eager": gain}
            )
    return markdown(pd.DataFrame(lines)) if lines else nothing()


def memory(found: dict[str, Any]) -> str:
    """Peak of forward and backward above the inputs."""
    lines = [
        {
            "": row["model"],
            "T": row["sizes"]["T"],
            "peak above the inputs, MB": text(row["value"]),
            "of it stored cells and gradients of inputs, MB": text(row["stored"]),
        }
        for row in every(found["rows"], group="memory")
    ]
    return markdown(pd.DataFrame(lines)) if lines else nothing()


def growth(found: dict[str, Any]) -> str:
    """The exponent of every sweep, measured and counted."""
    rows = every(found["rows"], group="growth")
    lines = []
    for axis in AXES:
        swept = every(rows, part=axis)
        for model, metric in dict.fromkeys((row["model"], row["metric"]) for row in swept):
            points = curve(rows, axis, model, metric)
            if points is None:
                continue
            counted = None if points.operations is None else exponent(points.at, points.operations)
            lines.append(
                {
                    "": axis,
                    "from": points.at[0],
                    "to": points.at[-1],
                    "model": model,
                    "pass": metric,
                    "exponent": f"{exponent(points.at, points.ms):.2f}",
                    "of the operations": NOTHING if counted is None else f"{counted:.2f}",
                }
            )
    return markdown(pd.DataFrame(lines)) if lines else nothing()


def absent(found: dict[str, Any]) -> str:
    """Candidates that could not run, and why; empty if there is none."""
    lines = [
        f"- {entry['group']} ({entry['part']}, threads: {entry['threads']}): {entry['model']} is missing: "
        f"{entry['reason']}"
        for entry in found["missing"]
    ]
    return "\n".join(lines) or "Every candidate ran."


def nothing() -> str:
    return "Not measured yet."


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

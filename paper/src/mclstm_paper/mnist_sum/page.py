"""Success over the length of a sequence: tables, figure and blocks of the page about the MNIST sum."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.report.markdown import NOTHING, markdown
from mclstm.report.style import COLOURS, OUTLETS, legend_above, plot_style, render
from mclstm_paper.experiment import Block, Headline, Line, percent
from mclstm_paper.mnist_sum.models import RECIPES
from mclstm_paper.mnist_sum.success_by_length import FEWEST, passing_chance
from mclstm_paper.mnist_sum.switches import DEGREE_OF_FREEDOM_TOO_FEW
from mclstm_paper.number_format import budget, count, infinite, rate, spread
from mclstm_paper.pages.sections import claims_table, missing, not_run, read
from mclstm_paper.protocols import PROTOCOLS, Protocol
from mclstm_paper.results import Row

__all__ = ["BLOCKS", "DRAWINGS", "HEADLINES", "SUMMARY", "expected", "length_figure", "length_table"]

NAME = "mnist-sum"

SHOWN = (1, 10, 100, 200, 500, 1000)  # of the table; the figure has all
# model: colour and marker, the same in every figure
LOOKS: dict[str, tuple[str, str]] = {
    "mclstm": (COLOURS["simulated"], "o"),
    "mclstm-softplus": (COLOURS["simulated"], "o"),
    "mclstm-tuned": (COLOURS["inflow"], "D"),
    "nau": (OUTLETS[0], "s"),
    "lstm": (OUTLETS[2], "^"),
    "constant": (COLOURS["losses"], "x"),
}


def length_table(rows: Sequence[Row]) -> str:
    """Success rates with their intervals, then test errors with the thresholds, by model and length.

    Errors are over the seeds where they are finite. Two columns count the others: those that failed in
    training, and those without a finite test error.
    """
    cells = {(r["model"], r["setting"], r["metric"]): r for r in rows}
    names = list(dict.fromkeys(r["model"] for r in rows))
    settings = [f"length {length}" for length in SHOWN]
    settings = [where for where in settings if any(r["setting"] == where for r in rows)]

    def column(metric: str, where: str, models: Sequence[str]) -> list[str]:
        show = rate if metric == "success" else spread
        return [show(cells.get((model, where, metric))) for model in models]

    with_rate = [name for name in names if (name, settings[0], "success") in cells]
    success = {"success rate": with_rate, **{w: column("success", w, with_rate) for w in settings}}
    errors = {"mse": names, **{w: column("mse", w, names) for w in settings}}
    for where in settings:
        errors[where].append(spread(cells.get(("reference", where, "threshold"))))
    errors["mse"] = [*names, "threshold"]
    errors["NaN"] = [*(count(cells.get((name, settings[0], "nan"))) for name in names), NOTHING]
    errors["not finite"] = [*(infinite(cells, name, settings) for name in names), NOTHING]
    errors["seeds × updates"] = [*(budget(rows, name) for name in names), NOTHING]
    success["seeds × updates"] = [budget(rows, name) for name in with_rate]
    return f"{markdown(pd.DataFrame(success))}\n\n{markdown(pd.DataFrame(errors))}"


def length_figure(rows: Sequence[Row]) -> Figure:
    """Success rate of every model over length, 95 % intervals as bars; models stand beside each other."""
    lengths = sorted({int(r["setting"].split()[1]) for r in rows if r["metric"] == "success"})
    by_model: dict[str, dict[int, Row]] = {}
    for r in rows:
        if r["metric"] == "success" and r["model"] in LOOKS:
            by_model.setdefault(r["model"], {})[int(r["setting"].split()[1])] = r
    with plot_style():
        figure = Figure(figsize=(6.4, 3.0), layout="constrained")
        axes = figure.add_subplot()
        for at, (model, rates) in enumerate(by_model.items()):
            curve(axes, model, rates, lengths, shift=0.09 * (at - (len(by_model) - 1) / 2))
        axes.set_xticks(range(len(lengths)), [str(length) for length in lengths])
        axes.set(xlabel="digits in a sequence", ylabel="success rate", ylim=(-0.04, 1.04))
        axes.grid(visible=False, axis="x")
        legend_above(axes)
    return figure


def curve(axes: Axes, model: str, rates: Mapping[int, Row], lengths: Sequence[int], shift: float) -> None:
    """One model's rates; the place on the axis is the number of the length, moved by `shift`."""
    points = [(at + shift, rates[length]) for at, length in enumerate(lengths) if length in rates]
    x = np.array([at for at, _ in points])
    value, low, high = (np.array([r[key] for _, r in points]) for key in ("value", "low", "high"))
    colour, marker = LOOKS[model]
    learned = model != "constant"  # which has no seeds, and so no interval
    bars = np.stack([value - low, high - value]).clip(min=0.0) if learned else None
    line = "-" if learned else ":"
    axes.errorbar(
        x, value, bars, label=model, color=colour, marker=marker, linestyle=line, markersize=4, capsize=2,
        elinewidth=0.8,
    )  # fmt: skip


def judged_file(root: Path, protocol: Protocol) -> dict[str, Any] | None:
    """The result file of a protocol, None if it has too few references for a threshold."""
    content = read(root, f"{NAME}/{protocol}.json")
    return content if content is not None and references(content["rows"]) else None


def references(rows: Sequence[Row]) -> int:
    """How many networks the thresholds are of; none if they are too few for one."""
    counts = (r["n"] for r in rows if r["metric"] == "threshold" and r["n"] >= FEWEST)
    return next(counts, 0)


def length_page(root: Path, protocol: Protocol) -> str:
    """What a page says of a protocol: tables, claims, figure; one line as long as there is no result."""
    content = judged_file(root, protocol)
    if content is None:
        return missing(NAME, protocol, " --seeds 5 --first-seed 10 --epochs 30")
    rows: list[Row] = content["rows"]
    lost = 2 if DEGREE_OF_FREEDOM_TOO_FEW.on(protocol) else 1
    networks = references(rows)
    chance = (
        f"{networks} reference networks: one more of their kind, adding without fault, is below their "
        f"threshold {100 * passing_chance(networks, lost):.0f} % of the time."
    )
    figure = f"![success over length, {protocol}](figures/mnist_sum_{protocol}.svg)"
    parts = [length_table(rows), *not_run(expected(protocol), rows), chance]
    claims = [claims_table(content["claims"])] if content["claims"] else []
    return "\n\n".join([*parts, *claims, figure])


def longer(root: Path) -> str:
    """What a training as long as the paper's makes of one seed."""
    content = read(root, f"long/{NAME}/stated.json")
    command = "python -m mclstm_paper.record_queue.session --only 'one sum of digits' --mnist MNIST"
    return f"Not run yet: `{command}`." if content is None else length_table(content["rows"])


def expected(protocol: Protocol) -> dict[str, tuple[str, ...]]:
    """The models of a protocol; whoever has one length has all."""
    models = [name for name in LOOKS if name not in RECIPES or protocol in RECIPES[name].protocols]
    return dict.fromkeys(models, ("length 10",))


def length_svg(root: Path, protocol: Protocol) -> bytes | None:
    """The figure of a page, None as long as there is no result."""
    content = judged_file(root, protocol)
    return None if content is None else render(length_figure(content["rows"]), "svg")


BLOCKS: dict[str, Block] = {
    f"{NAME}-{protocol}": partial(length_page, protocol=protocol) for protocol in PROTOCOLS
} | {f"{NAME}-long": longer}
DRAWINGS: dict[str, Callable[[Path], bytes | None]] = {
    f"mnist_sum_{protocol}.svg": partial(length_svg, protocol=protocol) for protocol in PROTOCOLS
}
SUMMARY = tuple(
    Line(
        f"sum of {n} MNIST digits: solved by {model}",
        f"length {n}",
        model,
        "success",
        percent,
        protocols=RECIPES[model].protocols,
        in_figure=model != "mclstm-tuned",
    )
    for n in (10, 1000)
    for model in ("mclstm-softplus", "mclstm", "mclstm-tuned", "nau")
)
HEADLINES = (
    Headline(
        "sum of 1000 MNIST digits (stated protocol): solved runs",
        "length 1000",
        "mclstm-tuned",
        "success",
        percent,
    ),
)

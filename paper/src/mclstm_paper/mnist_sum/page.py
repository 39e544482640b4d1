"""Success over the length of a sequence: the tables and the figure of the MNIST sum."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mclstm.report.results import Row, read_results
from mclstm.report.style import COLOURS, OUTLETS, legend_above, rendered, styled
from mclstm.report.tables import NOTHING, markdown
from mclstm_paper.arithmetic.entries import budget, count, infinite, rate, spread
from mclstm_paper.arithmetic.page import missing
from mclstm_paper.arithmetic.tables import claims_table, not_run
from mclstm_paper.mnist_sum.references import FEWEST, passing_chance
from mclstm_paper.protocols import Protocol, switched

__all__ = ["length_figure", "length_page", "length_svg", "length_table"]

SHOWN = (1, 10, 100, 200, 500, 1000)  # of the table; the figure has all
# model: colour and marker, the same in every figure
LOOKS: dict[str, tuple[str, str]] = {
    "mclstm": (COLOURS["simulated"], "o"),
    "mclstm-tuned": (COLOURS["inflow"], "D"),
    "nau": (OUTLETS[0], "s"),
    "lstm": (OUTLETS[2], "^"),
    "constant": (COLOURS["trash"], "x"),
}


def length_table(rows: Sequence[Row]) -> str:
    """Success rates with their intervals, then test errors with the thresholds, by model and length.

    Errors are of seeds where they are finite; how many failed in training, or have none, stands beside them.
    """
    cells = {(r["model"], r["setting"], r["metric"]): r for r in rows}
    names = list(dict.fromkeys(r["model"] for r in rows))
    settings = [f"length {length}" for length in SHOWN]
    settings = [where for where in settings if any(r["setting"] == where for r in rows)]

    def column(metric: str, where: str, models: Sequence[str]) -> list[str]:
        show = rate if metric == "success" else spread
        return [show(cells.get((model, where, metric))) for model in models]

    judged = [name for name in names if (name, settings[0], "success") in cells]
    success = {"success rate": judged, **{w: column("success", w, judged) for w in settings}}
    errors = {"mse": names, **{w: column("mse", w, names) for w in settings}}
    for where in settings:
        errors[where].append(spread(cells.get(("reference", where, "threshold"))))
    errors["mse"] = [*names, "threshold"]
    errors["NaN"] = [*(count(cells.get((name, settings[0], "nan"))) for name in names), NOTHING]
    errors["not finite"] = [*(infinite(cells, name, settings) for name in names), NOTHING]
    errors["seeds × updates"] = [*(budget(rows, name) for name in names), NOTHING]
    success["seeds × updates"] = [budget(rows, name) for name in judged]
    return f"{markdown(pd.DataFrame(success))}\n\n{markdown(pd.DataFrame(errors))}"


def length_figure(rows: Sequence[Row]) -> Figure:
    """Success rate of every model over length, 95 % intervals as bars; models stand beside each other."""
    lengths = sorted({int(r["setting"].split()[1]) for r in rows if r["metric"] == "success"})
    by_model: dict[str, dict[int, Row]] = {}
    for r in rows:
        if r["metric"] == "success" and r["model"] in LOOKS:
            by_model.setdefault(r["model"], {})[int(r["setting"].split()[1])] = r
    with styled():
        figure = Figure(figsize=(6.4, 3.0), layout="constrained")
        axes = figure.add_subplot()
        for at, (model, found) in enumerate(by_model.items()):
            curve(axes, model, found, lengths, shift=0.09 * (at - (len(by_model) - 1) / 2))
        axes.set_xticks(range(len(lengths)), [str(length) for length in lengths])
        axes.set(xlabel="digits in a sequence", ylabel="success rate", ylim=(-0.04, 1.04))
        axes.grid(visible=False, axis="x")
        legend_above(axes)
    return figure


def curve(axes: Axes, model: str, found: Mapping[int, Row], lengths: Sequence[int], shift: float) -> None:
    """One model's rates; the place on the axis is the number of the length, moved by `shift`."""
    kept = [(at + shift, found[length]) for at, length in enumerate(lengths) if length in found]
    x = np.array([at for at, _ in kept])
    value, low, high = (np.array([r[key] for _, r in kept]) for key in ("value", "low", "high"))
    colour, marker = LOOKS[model]
    learned = model != "constant"  # which has no seeds, and so no interval
    bars = np.stack([value - low, high - value]).clip(min=0.0) if learned else None
    line = "-" if learned else ":"
    axes.errorbar(
        x, value, bars, label=model, color=colour, marker=marker, linestyle=line, markersize=4, capsize=2,
        elinewidth=0.8,
    )  # fmt: skip


def kept(root: Path, protocol: Protocol) -> dict[str, Any] | None:
    """The result file of a protocol, None as long as there is none in which somebody can have succeeded."""
    content = read_results(root / "results" / "mnist-sum" / f"{protocol}.json")
    return content if content is not None and references(content["rows"]) else None


def references(rows: Sequence[Row]) -> int:
    """How many networks the thresholds are of; none if they are too few for one."""
    counts = (r["n"] for r in rows if r["metric"] == "threshold" and r["n"] >= FEWEST)
    return next(counts, 0)


def length_page(root: Path, protocol: Protocol) -> str:
    """What a page says of a protocol: tables, claims, figure; one line as long as there is no result."""
    content = kept(root, protocol)
    if content is None:
        return missing("mnist-sum", protocol, " --seeds 5 --first-seed 10 --epochs 30")
    rows: list[Row] = content["rows"]
    lost = 2 if switched("mnist sum: a degree of freedom too few", protocol) else 1
    networks = references(rows)
    chance = (
        f"{networks} reference networks: one more of their kind, adding without fault, is below their "
        f"threshold {100 * passing_chance(networks, lost):.0f} % of the time."
    )
    figure = f"![success over length, {protocol}](figures/mnist_sum_{protocol}.svg)"
    parts = [length_table(rows), *not_run(expected(protocol), rows), chance]
    claims = [claims_table(content["claims"])] if content["claims"] else []
    return "\n\n".join([*parts, *claims, figure])


def expected(protocol: Protocol) -> dict[str, tuple[str, ...]]:
    """The models of a protocol; whoever has one length has all."""
    models = [name for name in LOOKS if protocol == "stated" or name != "mclstm-tuned"]
    return dict.fromkeys(models, ("length 10",))


def length_svg(root: Path, protocol: Protocol) -> bytes | None:
    """The figure of a page, None as long as there is no result."""
    content = kept(root, protocol)
    return None if content is None else rendered(length_figure(content["rows"]), "svg")

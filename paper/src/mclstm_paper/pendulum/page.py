"""Tables of the pendulum, the blocks of its page, and its lines of the README's table."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mclstm.report.markdown import NOTHING, markdown
from mclstm_paper.experiment import Block, Headline, Line, two_digits
from mclstm_paper.number_format import known, updates
from mclstm_paper.pages.sections import missing, read
from mclstm_paper.pendulum.error_rows import PARTS
from mclstm_paper.pendulum.printed import CORE_HOURS, DEVIATION, PRINTED, TARGETS, Target
from mclstm_paper.pendulum.task import SETTINGS
from mclstm_paper.protocols import PROTOCOLS
from mclstm_paper.results import Row
from mclstm_paper.seed_rows import find

__all__ = ["BLOCKS", "HEADLINES", "SUMMARY", "error_tables", "figure_links", "targets_table"]

NAME = "pendulum"
FIGURES = ("energies", "redistribution")
Cells = Mapping[tuple[str, str, str], Row]


def error_tables(rows: Sequence[Row]) -> str:
    """Errors over all sets, then by training length and without friction, as mean and median."""
    cells = {(r["model"], r["setting"], r["metric"]): r for r in rows}
    models = list(dict.fromkeys(r["model"] for r in rows))
    whole = whole_table(cells, models)
    by_part = {
        part: [mean_and_median(cells.get((model, part, "mse"))) for model in models]
        for part in PARTS
        if any(r["setting"] == part and r["seeds"] != sets_of(cells, r["model"]) for r in rows)
    }
    return f"{whole}\n\n{markdown(pd.DataFrame({'mean, median': models} | by_part))}" if by_part else whole


def sets_of(cells: Cells, model: str) -> list[int]:
    """All sets of a model; a part that has them all says nothing new."""
    sets: list[int] = cells[model, "all", "mse"]["seeds"]
    return sets


def whole_table(cells: Cells, models: Sequence[str]) -> str:
    """One line for each model: its errors over all sets, and what its predicted total does."""
    lines = [whole_line(cells, model) for model in models]
    return markdown(pd.DataFrame(lines))


def whole_line(cells: Cells, model: str) -> dict[str, str]:
    error = known(cells.get((model, "all", "mse")))
    if error is None:
        return {"model": model}
    rise, least = (cells[model, "all", metric]["value"] for metric in ("rise", "least"))
    trained = error.get("trained")
    return {
        "model": model,
        "mean": f"{error['value']:.2g}",
        "95 %": f"{error['low']:.2g} to {error['high']:.2g}" if error["n"] > 1 else NOTHING,
        "deviation": f"{error['sd']:.2g}",
        "median": f"{error['median']:.2g}",
        "largest rise of the total (J)": f"{rise:.1g}",
        "lowest energy (J)": f"{least:.1g}",
        "sets × updates": f"{error['n']} × {updates(trained)}" if trained else NOTHING,
        "scorings": str(error["scorings"]) if trained else NOTHING,
    }


def mean_and_median(row: Row | None) -> str:
    row = known(row)
    return NOTHING if row is None else f"{row['value']:.2g}, {row['median']:.2g}"


def paper_table() -> str:
    """The paper's numbers."""
    table = {
        "model": list(PRINTED),
        "mean": [f"{value:g}" for value in PRINTED.values()],
        "deviation": [f"{DEVIATION[model]:g}" for model in PRINTED],
    }
    return markdown(pd.DataFrame(table))


def targets_table(root: Path, name: str, targets: Sequence[Target], sets: int) -> str:
    """What we set out to reach, and what we measured; sets: how many there are.

    Some of the sets are no sample of all, so they do not decide whether a target is reached.
    """
    lines = []
    for target in targets:
        content = read(root, f"{name}/{target.protocol}.json")
        row = known(find(content["rows"] if content else [], target.model, target.setting, "mse"))
        measured = None if row is None else row["value" if target.statistic == "mean" else "median"]
        decided = None if row is None or row["n"] < sets else measured
        lines.append(
            {
                "model": target.model,
                "protocol": target.protocol,
                "number": target.statistic,
                "sets": NOTHING if row is None else str(row["n"]),
                "target": f"{target.limit:g}",
                "measured": NOTHING if measured is None else f"{measured:.2g}",
                "reached": NOTHING if decided is None else "yes" if decided <= target.limit else "no",
            }
        )
    return markdown(pd.DataFrame(lines))


def figure_links(root: Path, name: str, figures: Sequence[str]) -> str:
    """The figures of the runs, under each protocol that has them."""
    links = [
        f"![{figure}, {protocol}](../results/{name}/{protocol}-{figure}.svg)"
        for protocol in PROTOCOLS
        for figure in figures
        if (root / "results" / name / f"{protocol}-{figure}.svg").exists()
    ]
    return "\n\n".join(links) or missing(name, "stated")


def cost_table(root: Path) -> str:
    """Minutes of one core that each model of all sets took, and whether the whole stayed in its limit."""
    lines = []
    for protocol in PROTOCOLS:
        content = read(root, f"{NAME}/{protocol}.json")
        jobs = content["made"].get("jobs", {}) if content else {}
        minutes: dict[str, float] = {}
        for name, cost in jobs.items():
            model = name.split("/")[0]
            minutes[model] = minutes.get(model, 0.0) + cost["cpu_seconds"] / 60
        if minutes:
            each = {f"{model} (min)": f"{spent:.1f}" for model, spent in minutes.items()}
            hours = sum(minutes.values()) / 60
            reached = "yes" if hours <= CORE_HOURS else "no"
            whole = {"all (h)": f"{hours:.2f}", "target (h)": f"{CORE_HOURS}", "reached": reached}
            lines.append({"protocol": protocol} | each | whole)
    return markdown(pd.DataFrame(lines)) if lines else missing(NAME, "stated")


def trials_table(root: Path) -> str:
    """The recipes that were tried on other data sets, in their order."""
    content = read(root, f"{NAME}/trials.json")
    if content is None:
        return "Nothing was tried."
    lines = [
        {name: str(one[name]) for name in ("model", "protocol", "seed", "sets")}
        | {"changes": ", ".join(f"{key} {value}" for key, value in one["changes"].items()) or "none"}
        | {name: f"{one[name]:.2g}" for name in ("mean", "median", "no friction")}
        for one in content["trials"]
    ]
    return markdown(pd.DataFrame(lines))


BLOCKS: dict[str, Block] = {
    "pendulum-paper": lambda root: paper_table(),
    "pendulum-targets": lambda root: targets_table(root, NAME, TARGETS, len(SETTINGS)),
    "pendulum-cost": cost_table,
    "pendulum-figures": lambda root: figure_links(root, NAME, FIGURES),
    "pendulum-trials": trials_table,
}
SUMMARY = tuple(
    Line(f"pendulum: error of {model}", "all", model, "mse", two_digits)
    for model in ("mclstm", "lstm", "mclstm-invariant", "mclstm-clock", "half-total", "damped-cosine")
)
HEADLINES = (
    Headline("damped pendulum, its energies: squared error", "all", "mclstm", "mse", two_digits, "published"),
)

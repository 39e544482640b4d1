"""The report on disk: a page to read, tables to go on with, figures to print."""

from pathlib import Path

import pandas as pd

from mclstm.evaluation.comparison import COMPARED
from mclstm.report.comparison.build import Built
from mclstm.report.comparison.cycle_figure import METRICS as CYCLE
from mclstm.report.comparison.cycle_figure import cycle_table
from mclstm.report.comparison.score_table import comparison_table
from mclstm.report.comparison.tests_table import tests_table
from mclstm.report.figures import save
from mclstm.report.tables import markdown
from mclstm.training.atomic import make_folder, write_text_atomic

__all__ = ["balance_summary", "page", "write"]


TESTS = """Wilcoxon's signed-rank test over sites, two-sided, of distances from the perfect value: `better`
and `worse` where p < 0.05, else `same`; p in brackets."""
SEASONS = """Twelve monthly means over the whole years of the period, of what a model loses (the outlet
`evapotranspiration`, or `trash`) against potential evapotranspiration (PET) and that of a process model (ET,
in CAMELS' files SAC-SMA): their correlation, the ratio of the yearly sums, the months of the maxima. Mean
over members, range in brackets. No model was trained on either; the lines `precipitation` and `modelled-et`
say what a constant share of the rain and the process model reach."""


def write(built: Built, folder: Path) -> list[Path]:
    """report.md, <table>.csv and figures/<name>.svg and .png below a folder."""
    make_folder(folder / "figures")
    written = [folder / "report.md"]
    for name, table in built.tables.items():
        written.append(folder / f"{name}.csv")
        write_text_atomic(written[-1], table.to_csv(index=False))
    for name, figure in built.figures.items():
        written += save(figure, folder / "figures", name)
    write_text_atomic(folder / "report.md", page(built))
    return written


def page(built: Built) -> str:
    """The report as Markdown: the table, what the tests say, the balance, the snow, every figure."""
    parts = [
        "# Comparison",
        comparison_table(scores(built), built.conserving),
        "\n".join(f"* {note}" for note in built.notes),
    ]
    parts += ["## Tests", claims_table(built)]
    parts += ["## Water balance, mean over sites, amounts a year", markdown(balance_summary(built), 1)]
    if "snow" in built.tables:
        parts += ["## Snow", snow_table(built.tables["snow"])]
    cycles = [row for row in built.rows if row["metric"] in CYCLE]
    if cycles:
        parts += ["## Evapotranspiration", SEASONS, cycle_table(cycles)]
    parts += ["## Figures", *(f"![{name}](figures/{name}.png)" for name in built.figures)]
    return "\n\n".join(parts) + "\n"


def scores(built: Built) -> list[dict[str, object]]:
    """The rows about scores; those about snow and evapotranspiration have their own tables."""
    return [row for row in built.rows if row["metric"] in COMPARED]


def claims_table(built: Built) -> str:
    """Who is better than whom, and the claims about all of them."""
    pairs = [claim for claim in built.claims if " is better than " in claim["claim"]]
    others = [claim for claim in built.claims if claim not in pairs]
    parts = [markdown(pd.DataFrame(others)[["claim", "test", "p", "holds"]], 4)] if others else []
    if pairs:
        parts = [TESTS, tests_table(pairs, pairs[0]["claim"].split(" is ")[0]), *parts]
    return "\n\n".join(parts) or "One model without stores: there is nothing to test."


def balance_summary(built: Built) -> pd.DataFrame:
    """The mean over sites of every term, one column a model; the largest error of a site."""
    table = built.tables["balance"].drop(columns="site").groupby("model", sort=False)
    mean = table.mean()
    if "relative error" in mean:
        mean["relative error"] = table["relative error"].max()
    return mean.T


def snow_table(sums: pd.DataFrame) -> str:
    """Correlations of the chosen sums with snow water equivalent, the mean over members."""
    columns = ["r chosen", "r held out", "r of anomalies", "r of the date"]
    mean = sums.groupby(["site", "count"])[columns].mean().reset_index()
    lines = [
        "Sums of cells chosen in the validation period by their correlation with snow water equivalent,",
        "then scored in the test period (held out). `r of anomalies` compares what is more or less than",
        "usual on a day; `r of the date` is what the mean snow of each day of the year gives.",
        "Mean over members.",
    ]
    return "\n".join(lines) + "\n\n" + markdown(mean.rename(columns={"count": "cells"}), 2)

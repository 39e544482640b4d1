"""The blocks of the page about Hamiltonian networks, and its lines of the README's table."""

from pathlib import Path

import pandas as pd

from mclstm.report.markdown import markdown
from mclstm_paper.experiment import Block, Line, two_digits
from mclstm_paper.hnn.printed import PRINTED, TARGETS, WINS
from mclstm_paper.hnn.task import SETTINGS
from mclstm_paper.pendulum.page import figure_links, targets_table
from mclstm_paper.results import committed_results
from mclstm_paper.statistics import binomial_test

__all__ = ["BLOCKS", "SUMMARY"]

NAME = "hnn"


def paper_table() -> str:
    """The paper's numbers, and its test."""
    table = {"model": list(PRINTED), "mean": [f"{value:.1e}" for value in PRINTED.values()]}
    wins, series = WINS
    test = f"mclstm is better on {wins} of {series} series: p = {binomial_test(*WINS).p:.2f}, binomial test."
    return f"{markdown(pd.DataFrame(table))}\n\n{test}"


def draws_tables(root: Path) -> str:
    """Both misses with other draws: MC-LSTM with the leak, and the Hamiltonian network's worst series."""
    content = committed_results(root / "results" / NAME / "draws.json")
    leaked = [
        {
            "draw of the noise": str(one["draw"]),
            "mean": f"{one['mean']:.1e}",
            "median": f"{one['median']:.1e}",
            "series not seen whole": str(one["unfinished"]),
            "mean of the others": f"{one['finished']:.1e}",
        }
        for one in content["mclstm with the leak"]
    ]
    worst = [
        {"noise": str(one["noise"]), "start": str(one["start"]), "hnn": f"{one['mse']:.1e}"}
        for one in content["hnn on its worst series"]
    ]
    return f"{markdown(pd.DataFrame(leaked))}\n\n{markdown(pd.DataFrame(worst))}"


BLOCKS: dict[str, Block] = {
    "hnn-paper": lambda root: paper_table(),
    "hnn-targets": lambda root: targets_table(root, NAME, TARGETS, len(SETTINGS)),
    "hnn-draws": draws_tables,
    "hnn-figures": lambda root: figure_links(root, NAME, ("energies", "friction")),
}
SUMMARY = tuple(
    Line(f"pendulum without friction: error of {model}", "all", model, "mse", two_digits)
    for model in ("mclstm", "hnn", "mclstm-invariant", "half-total", "damped-cosine")
)

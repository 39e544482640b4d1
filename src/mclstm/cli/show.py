"""What verbs about runs print, for people and as JSON."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mclstm.training.journal import without_nan

if TYPE_CHECKING:
    from mclstm.pipeline import Evaluation, Tables

__all__ = ["Json", "Quiet", "print_run"]

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Quiet = Annotated[bool, typer.Option("--quiet", help="no progress")]
HEADLINE = ("nse", "kge", "rmse")


def print_run(run: Path, results: "Evaluation | Tables", as_json: bool) -> None:
    """Print the median scores, the largest error of the mass balance, and where the files are."""
    scores = results.scores
    if (
        "target" in scores
    ):  # scores of different targets are not averaged: the first target stands for the run
        scores = scores[scores["target"] == scores["target"].iloc[0]]
    numbers = scores.drop(columns=["site", "target"], errors="ignore")
    medians = {str(name): float(numbers[name].median()) for name in numbers}
    error = results.balance["relative error"].max() if "relative error" in results.balance else None
    if as_json:
        content = {"run": str(run), "median": medians, "mass_error": error, "files": str(results.folder)}
        print(json.dumps(without_nan(content), allow_nan=False))
        return
    headline = ", ".join(f"{name.upper()} {medians[name]:.3f}" for name in HEADLINE if name in medians)
    sites = len(scores)
    print(f"{headline} ({'median of ' if sites > 1 else ''}{sites} site{'s' if sites > 1 else ''})")
    if error is not None:
        print(f"mass balance: the largest error of a site is {error:.1e} of its mass")
    print(f"run {run}\nresults {results.folder}")

"""What verbs about runs print, for people and as JSON."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mclstm.training.journal import without_nan

if TYPE_CHECKING:
    import pandas as pd

    from mclstm.evaluation_files import Evaluation, Tables

__all__ = ["HEADLINE", "Dask", "Figures", "Json", "Quiet", "Workers", "counted", "medians", "print_run"]

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Quiet = Annotated[bool, typer.Option("--quiet", help="no progress")]
Workers = Annotated[int, typer.Option(help="processes, also of --dask local", min=1)]
Dask = Annotated[
    str | None,
    typer.Option(help="address of a Dask scheduler whose workers to use, or local", metavar="ADDRESS"),
]
Figures = Annotated[bool, typer.Option("--figures/--no-figures", help="draw figures")]
HEADLINE = ("nse", "kge", "rmse")
TABLE = ("nse", "kge", "rmse", "mae")
MOST = 20  # targets in a printed table; metrics.csv has all


def print_run(run: Path, results: "Evaluation | Tables", as_json: bool, page: Path | None = None) -> None:
    """Print the median scores, the largest error of the mass balance, where the files are, last the page."""
    from mclstm.evaluation.score_tables import headline

    rows = headline(results.scores)
    middle = medians(rows)
    error = results.balance["relative error"].max() if "relative error" in results.balance else None
    ensemble = ensemble_medians(results.folder)
    if as_json:
        content = {"run": str(run), "median": middle, "mass_error": error, "files": str(results.folder)}
        content |= {} if page is None else {"page": str(page)}
        content |= {"ensemble": ensemble} if ensemble else {}
        print(json.dumps(without_nan(content | details(results)), allow_nan=False))
        return
    known = {name: middle[name] for name in HEADLINE if name in middle and middle[name] == middle[name]}
    shown = ", ".join(f"{name.upper()} {value:.3f}" for name, value in known.items())
    sites, targets = len(rows), results.scores["target"].nunique() if "target" in results.scores else 1
    whose = "all targets, " if targets > 1 else ""
    print(f"{shown} ({whose}{'median of ' if sites > 1 else ''}{counted(sites, 'site')})")
    tables = [table(title, scores) for title, scores in details(results).items()]
    print("".join(f"\n{text}\n" for text in tables), end="\n" if tables else "")
    if ensemble:
        print(
            f"members: CRPS {ensemble['crps']:.3g} beside a MAE of their mean of {ensemble['mae']:.3g}; "
            f"{ensemble['coverage_90']:.0%} of the observations lie in their 90 % interval"
        )
    if error is not None:
        print(f"mass balance: the largest error of a site is {error:.1e} of its mass")
    print(f"run {run}\nresults {results.folder}" + ("" if page is None else f"\npage {page}"))


def medians(scores: "pd.DataFrame") -> dict[str, float]:
    """The median of every metric over sites."""
    numbers = scores.drop(columns=["site", "target"], errors="ignore")
    return {str(name): float(numbers[name].median()) for name in numbers}


def ensemble_medians(folder: Path) -> dict[str, float]:
    """The median scores of the members as a forecast with a spread; empty where a single one was scored."""
    from mclstm.evaluation.score_tables import read_table
    from mclstm.evaluation_files import ENSEMBLE

    return medians(read_table(folder / ENSEMBLE)) if (folder / ENSEMBLE).is_file() else {}


def details(results: "Evaluation | Tables") -> dict[str, dict[str, dict[str, float]]]:
    """Median scores of each of several targets, and of each rival; nothing where there are none."""
    from mclstm.evaluation.score_tables import headline

    parts: dict[str, Any] = {}
    if "target" in results.scores:
        by_target = results.scores.groupby("target", sort=False)
        parts["targets"] = {str(target): medians(rows) for target, rows in by_target}
    rivals = results.rival_scores
    if len(rivals):
        own = {"this model": medians(headline(results.scores))}
        by_model = {name: rows.drop(columns="model") for name, rows in rivals.groupby("model", sort=False)}
        parts["against"] = own | {str(name): medians(headline(rows)) for name, rows in by_model.items()}
    return parts


def table(title: str, scores: dict[str, dict[str, float]]) -> str:
    """A Markdown table of the most telling metrics, a line per target or model."""
    import pandas as pd

    from mclstm.report.markdown import markdown

    frame = pd.DataFrame.from_dict(scores, orient="index").rename_axis(title.removesuffix("s"))
    shown = frame[[name for name in TABLE if name in frame]].dropna(axis="columns", how="all")
    return markdown(pd.concat([shown.iloc[: MOST - 2], shown.iloc[MOST - 2 :].tail(2)]))


def counted(number: int, word: str) -> str:
    """A number of things.

    >>> counted(1, "site"), counted(2, "site")
    ('1 site', '2 sites')
    """
    return f"{number} {word}" if number == 1 else f"{number} {word}s"

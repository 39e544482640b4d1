"""`mclstm report RUN...`: the models of some runs side by side, with benchmarks, balance, snow and losses."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Json

__all__ = ["report"]


def report(
    runs: Annotated[list[Path], typer.Argument(help="folders of evaluated runs, or folders of such folders")],
    benchmarks: Annotated[Path | None, typer.Option(help="folder with published scores by basin")] = None,
    simulations: Annotated[
        Path | None, typer.Option(help="folder with one file of simulations a model, .nc or .csv")
    ] = None,
    snow: Annotated[
        Path | None,
        typer.Option(help="swe, pet, et by basin: CAMELS model output, a CSV, or a folder of them"),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="where the data lies now [default: as the runs say]")
    ] = None,
    together: Annotated[
        list[str] | None, typer.Option(help="name=model,model: their members as one more ensemble; repeat")
    ] = None,
    out: Annotated[Path, typer.Option(help="folder for the page, the tables and the figures")] = Path(
        "report"
    ),
    results: Annotated[Path | None, typer.Option(help="result file (JSON) to add rows and claims to")] = None,
    split: Annotated[str, typer.Option(help="the period to compare")] = "test",
    as_json: Json = False,
) -> None:
    """Compare models: runs that differ in their seed only are members of one."""
    from mclstm.jobs.locks import alone
    from mclstm.report.comparison.build import Others, build
    from mclstm.report.comparison.page import scores, write
    from mclstm.report.comparison.rows import update_results
    from mclstm.report.comparison.score_table import comparison_table
    from mclstm.training.atomic import make_folder

    built = build(runs, Others(benchmarks, simulations, snow, data, together or ()), split)
    written = write(built, out)
    if results is not None:
        make_folder(results.parent)
        with alone(results.parent):  # an experiment may be adding its rows
            update_results(results, built.rows, built.claims)
    if as_json:
        shown = {"rows": built.rows, "claims": built.claims, "notes": built.notes}
        print(json.dumps({**shown, "files": [str(path) for path in written]}, allow_nan=False))
        return
    print(comparison_table(scores(built), built.conserving))
    print("\n".join(["", *built.notes, f"report {written[0]}"]))

"""`mclstm evaluate RUN`: predictions, scores, mass balance and figures for a period."""

from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Json, print_run

__all__ = ["evaluate"]


def evaluate(
    run: Annotated[Path, typer.Argument(help="folder of the run")],
    split: Annotated[str, typer.Option(help="train, validation or test")] = "test",
    figures: Annotated[bool, typer.Option(help="draw figures")] = True,
    as_json: Json = False,
) -> None:
    """Score a run on one of its periods."""
    from mclstm import pipeline

    print_run(run, pipeline.evaluate(run, split, figures=figures), as_json)

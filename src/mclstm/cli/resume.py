"""`mclstm resume RUN`: continue an interrupted run in place."""

from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Json, Quiet, print_run

__all__ = ["resume"]


def resume(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="folder of the run")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run from its last checkpoint, then evaluate it on the test period unless that was done."""
    from mclstm import pipeline

    run = pipeline.resume(path, quiet=quiet or as_json)
    print_run(run.path, pipeline.evaluate_once(run), as_json)

"""`mclstm resume RUN`: go on with a run that was interrupted, in place."""

from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Json, Quiet, print_run

__all__ = ["resume"]


def resume(
    run: Annotated[Path, typer.Argument(help="folder of the run")],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run where its last checkpoint left it, then evaluate it on the test period, once."""
    from mclstm import pipeline

    folder = pipeline.resume(run, quiet=quiet or as_json)
    print_run(folder.path, pipeline.evaluated_once(folder.path), as_json)

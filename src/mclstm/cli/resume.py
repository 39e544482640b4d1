"""`mclstm resume RUN`: continue an interrupted run in place."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Figures, Json, Quiet, print_run

__all__ = ["resume"]


def resume(
    path: Annotated[Path, typer.Argument(metavar="RUN", help="folder of the run")],
    device: Annotated[
        str | None, typer.Option(help="train here instead of on training.device of the run")
    ] = None,
    figures: Figures = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue a run from its last checkpoint, then evaluate it on the test period unless that was done."""
    from mclstm import pipeline
    from mclstm.deploy.result_page import page_of_run
    from mclstm.evaluation_files import Evaluation
    from mclstm.from_config import open_run
    from mclstm.overfitting import warn_of_overfitting
    from mclstm.training.folder import RunFolder
    from mclstm.training.state import read_progress
    from mclstm.training.torchrun import joined

    last = RunFolder.existing(path).checkpoints / "last.safetensors"
    finished = last.is_file() and read_progress(last).finished
    with joined(device or open_run(path).config.training.device) as ranks:
        if not ranks.first:
            pipeline.assist(path, ranks)
            return
        run = pipeline.resume(path, quiet=quiet or as_json, ranks=ranks)
    results = pipeline.evaluate_once(run, figures=figures)
    if finished:
        print(f"{path} was finished before: nothing was trained.", file=sys.stderr)
    else:
        warn_of_overfitting(run)
    page = None
    if isinstance(results, Evaluation) and run.config.data.in_memory:
        page = page_of_run(run, results)
    print_run(run.path, results, as_json, page)

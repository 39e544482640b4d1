"""`mclstm train CONFIG`: from a config to a trained, evaluated run."""

from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Figures, Json, Quiet, print_run

__all__ = ["train"]


def train(
    config: Annotated[Path, typer.Argument(help="YAML file that describes the run")],
    override: Annotated[list[str] | None, typer.Option("--set", help="section.key=value; repeat")] = None,
    out: Annotated[Path, typer.Option(help="folder in which the run's folder is made")] = Path("runs"),
    figures: Figures = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model and evaluate it on the test period."""
    # Config and data are read before torch is imported, which takes seconds: mistakes are said at once.
    from mclstm.config import load_config
    from mclstm.config.load import anchored
    from mclstm.series_from_config import read_series, with_columns

    settings = with_columns(anchored(load_config(config, override or []), config.parent))
    series = read_series(settings, require_target=True) if settings.data.in_memory else None
    from mclstm import pipeline
    from mclstm.deploy.result_page import page_of_run
    from mclstm.training.torchrun import joined

    with joined(settings.training.device) as ranks:
        if not ranks.first:
            pipeline.assist(settings, ranks, series)
            return
        run = pipeline.train(settings, out, quiet=quiet or as_json, series=series, ranks=ranks)
    results = pipeline.evaluate(run, figures=figures)
    pipeline.warn_of_overfitting(run)
    page = page_of_run(run, results) if settings.data.in_memory else None
    print_run(run.path, results, as_json, page)

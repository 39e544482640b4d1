"""`mclstm train CONFIG`: from a config to a trained, evaluated run, or to one run per seed."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mclstm.cli.one_voice import require_alone
from mclstm.cli.show import Dask, Figures, Json, Quiet, Workers, print_run
from mclstm.errors import ConfigError

if TYPE_CHECKING:
    from mclstm.config import Config

__all__ = ["train"]


def train(
    config: Annotated[Path, typer.Argument(help="YAML file that describes the run")],
    override: Annotated[list[str] | None, typer.Option("--set", help="section.key=value; repeat")] = None,
    out: Annotated[Path, typer.Option(help="folder in which the run's folder is made")] = Path("runs"),
    runs: Annotated[int | None, typer.Option(help="an ensemble: so many runs, one per seed", min=2)] = None,
    workers: Workers = 1,
    dask: Dask = None,
    figures: Figures = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model and evaluate it on the test period."""
    if runs is not None:
        require_alone("train --runs")
    # Config and data are read before torch is imported, which takes seconds: mistakes are said at once.
    from mclstm.config import load_config
    from mclstm.config.load import anchored
    from mclstm.series_from_config import read_series, with_columns

    settings = with_columns(anchored(load_config(config, override or []), config.parent))
    series = read_series(settings, require_target=True) if settings.data.in_memory else None
    if runs is not None:
        train_ensemble(settings, runs, out / f"{settings.name}-ensemble", workers, dask, as_json, quiet)
        return
    if dask is not None or workers > 1:
        raise ConfigError("--workers and --dask are for several runs. Add --runs, or leave them out.")
    from mclstm import pipeline
    from mclstm.deploy.result_page import page_of_run
    from mclstm.overfitting import warn_of_overfitting
    from mclstm.training.torchrun import joined

    with joined(settings.training.device) as ranks:
        if not ranks.first:
            pipeline.assist(settings, ranks, series)
            return
        run = pipeline.train(settings, out, quiet=quiet or as_json, series=series, ranks=ranks)
    results = pipeline.evaluate(run, figures=figures)
    warn_of_overfitting(run)
    page = page_of_run(run, results) if settings.data.in_memory else None
    print_run(run.path, results, as_json, page)


def train_ensemble(
    settings: "Config", runs: int, folder: Path, workers: int, dask: str | None, as_json: bool, quiet: bool
) -> None:
    """Train the runs that are not finished, one per seed; print their scores and what to do with them."""
    from mclstm.jobs.execution import run_jobs
    from mclstm.jobs.executors import cluster
    from mclstm.training_job import seed_jobs

    if settings.training.members is not None:
        raise ConfigError("--runs trains one model per run, training.members several. Remove one of them.")
    jobs = seed_jobs(settings, runs)
    with cluster(dask, workers) as executor:
        results = run_jobs(jobs, folder, workers=workers, executor=executor, quiet=quiet or as_json)
    scores = {name: result["nse"] for name, result in results.items()}
    if as_json:
        print(json.dumps({"runs": str(folder), "nse": scores}))
        return
    for name, score in scores.items():
        print(f"{folder / name}: {'no NSE' if score is None else f'NSE {score:.3f}'}")
    print(f"make them one model: mclstm pack {folder} --out {folder.name.removesuffix('-ensemble')}")

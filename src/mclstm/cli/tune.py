"""`mclstm tune CONFIG`: search better settings by validation score."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mclstm.cli.show import Dask, Json, Quiet, Workers, counted
from mclstm.errors import ConfigError

if TYPE_CHECKING:
    from mclstm.tuning.search import Search

__all__ = ["tune"]


def tune(
    config: Annotated[Path, typer.Argument(help="YAML file of a run, with a section tune")],
    override: Annotated[list[str] | None, typer.Option("--set", help="section.key=value; repeat")] = None,
    trials: Annotated[int | None, typer.Option(help="in place of tune.trials", min=1)] = None,
    out: Annotated[Path, typer.Option(help="folder in which the folder of the search is made")] = Path(
        "runs"
    ),
    workers: Workers = 1,
    dask: Dask = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the trials of a search that are not finished and show what mattered; run again to continue."""
    from mclstm.config import load_config
    from mclstm.config.load import anchored
    from mclstm.series_from_config import read_series, with_columns

    changes = [*(override or []), *([] if trials is None else [f"tune.trials={trials}"])]
    settings = with_columns(anchored(load_config(config, changes), config.parent))
    if settings.tune is None:
        raise ConfigError(
            f"{config} has no section `tune`. Say what to search, for example tune: {{log_ranges: "
            "{training.learning_rate: [0.001, 0.1]}}."
        )
    import optuna  # noqa: F401  # a missing extra is told before the work begins

    blind = settings.model_copy(update={"periods": settings.periods.model_copy(update={"test": None})})
    read_series(blind, require_target=True)  # mistakes in the data are told before torch is imported
    from mclstm.jobs.executors import cluster
    from mclstm.tuning.search import tune as search

    with cluster(dask, workers) as executor:
        folder = out / f"{settings.name}-tuning"
        result = search(settings, folder, workers=workers, executor=executor, quiet=quiet or as_json)
    show(result, as_json)


def show(result: "Search", as_json: bool) -> None:
    """Print the best values, what mattered, and where the files are."""
    states = result.trials["state"].value_counts().to_dict()
    files = {"best": result.folder / "best.yaml", "table": result.folder / "trials.csv"}
    files |= {"figure": result.figure}
    if as_json:
        content = {"trial": result.best, "score": result.score, "values": result.values, "states": states}
        content |= {"importance": result.importance, **{name: str(path) for name, path in files.items()}}
        print(json.dumps(content))
        return
    rest = ", ".join(f"{number} {state}" for state, number in states.items())
    print(f"best of {counted(len(result.trials), 'trial')} ({rest}): validation NSE {result.score:.3f}")
    for key in result.importance or result.values:
        share = f" (importance {result.importance[key]:.0%})" if key in result.importance else ""
        value = result.values[key]
        print(f"  {key}: {f'{value:.4g}' if isinstance(value, float) else value}{share}")
    print("\n".join(f"{name} {path}" for name, path in files.items()))
    print(f"train it: mclstm train {files['best']}")

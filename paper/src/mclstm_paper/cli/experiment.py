"""`mclstm experiment NAME`: run an experiment of the paper and print its table."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mclstm.cli.show import Dask, Json, Quiet, Workers

if TYPE_CHECKING:
    from mclstm_paper.runner import Outcome

__all__ = ["experiment"]


def experiment(
    name: Annotated[str, typer.Argument(help="addition, static-arithmetic, hydrology, ...")],
    profile: Annotated[
        Literal["quick", "paper"], typer.Option(help="minutes, or the paper's scale")
    ] = "quick",
    protocol: Annotated[
        Literal["stated", "published"], typer.Option(help="as the text says, or as the published code did")
    ] = "stated",
    models: Annotated[
        str | None, typer.Option(help="a,b,...: only these, also variants beside the table")
    ] = None,
    operations: Annotated[str | None, typer.Option(help="a,b,...: only these settings")] = None,
    seeds: Annotated[
        int | None, typer.Option("--seeds", "--members", help="how many, instead of the profile's", min=1)
    ] = None,
    updates: Annotated[
        int | None, typer.Option(help="of each member, instead of the profile's", min=1)
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="instead of updates, where samples are a fixed set", min=1)
    ] = None,
    first_seed: Annotated[int, typer.Option(help="the first seed", min=0)] = 0,
    data: Annotated[
        Path | None, typer.Option(help="CAMELS-US for hydrology, MNIST for mnist-sum, a city for traffic")
    ] = None,
    reader: Annotated[str, typer.Option(help="of the data of traffic; auto finds it")] = "auto",
    download: Annotated[
        bool, typer.Option("--download", help="fetch MNIST first, for mnist-sum; checked")
    ] = False,
    basins: Annotated[Path | None, typer.Option(help="file of basins to use, one per line")] = None,
    scheme: Annotated[
        Literal["sequence", "last"] | None, typer.Option(help="windows scored whole, or their last day")
    ] = None,
    cells: Annotated[int | None, typer.Option(help="hidden size, instead of the profile's", min=2)] = None,
    no_test: Annotated[
        bool, typer.Option("--no-test", help="score the validation years, and leave the test years alone")
    ] = False,
    snow: Annotated[Path | None, typer.Option(help="output of Snow-17, for hydrology-guided")] = None,
    block: Annotated[
        int, typer.Option(help="seeds per job; finished jobs are found by the same number", min=1)
    ] = 100,
    workers: Workers = 1,
    dask: Dask = None,
    grid: Annotated[
        bool, typer.Option("--grid", help="only choose learning rates on validation data")
    ] = False,
    rates: Annotated[Path | None, typer.Option(help="use the learning rates such a choice recorded")] = None,
    out: Annotated[Path, typer.Option(help="folder of the jobs")] = Path("runs/experiments"),
    results: Annotated[Path | None, typer.Option(help="folder of the result files, such as results")] = None,
    add: Annotated[
        bool, typer.Option("--add", help="do not train again what the result files hold, made anywhere")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the jobs of an experiment that are not finished and print its table; run again to continue."""
    from mclstm.jobs.executors import cluster
    from mclstm_paper.experiment import refuse_unused_options
    from mclstm_paper.hydrology.basins import read_basins
    from mclstm_paper.options import Options
    from mclstm_paper.rates import choose, chosen_rates
    from mclstm_paper.registry import experiment as load
    from mclstm_paper.runner import run

    options = Options(
        profile=profile,
        protocol=protocol,
        models=None if models is None else tuple(models.split(",")),
        settings=None if operations is None else tuple(operations.split(",")),
        seeds=seeds,
        first_seed=first_seed,
        updates=updates,
        epochs=epochs,
        block=block,
        rates={} if rates is None else chosen_rates(rates, name),
        data=data,
        download=download,
        basins=None if basins is None else read_basins(basins),
        scheme=scheme,
        cells=cells,
        add=add,
        reader=reader,
        no_test=no_test,
        snow=snow,
    )
    silent = quiet or as_json
    if download:
        refuse_unused_options(load(name), options)
        load(name).download(data)
    with cluster(dask, workers) as executor:
        where: dict[str, Any] = {"results_dir": results, "workers": workers, "executor": executor}
        if grid:
            path, table = choose(name, options, out, quiet=silent, **where)
            print(path.read_text() if as_json else f"{table}\n\n{path}")
        else:
            show(run(name, options, out, quiet=silent, **where), as_json)


def show(outcome: "Outcome", as_json: bool) -> None:
    """Print the table and where its files are, or the content of the result files as JSON."""
    if as_json:
        print(json.dumps({str(path): content for path, content in outcome.results.items()}))
        return
    print(f"\n{outcome.table}\n\n{outcome.folder}")
    for path in (*outcome.results, *outcome.figures):
        print(path)

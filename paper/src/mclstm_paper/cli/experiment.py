"""`mclstm experiment NAME`: a table of the paper, made again."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mclstm.cli.show import Json, Quiet

if TYPE_CHECKING:
    from mclstm_paper.runner import Made

__all__ = ["experiment"]

Names = Annotated[str | None, typer.Option(help="a,b,...: only these, also variants beside the table")]


def experiment(
    name: Annotated[str, typer.Argument(help="addition, static-arithmetic, hydrology, ...")],
    profile: Annotated[
        Literal["quick", "paper"], typer.Option(help="minutes, or the paper's scale")
    ] = "quick",
    protocol: Annotated[
        Literal["stated", "published"], typer.Option(help="as the text says, or as the published code did")
    ] = "stated",
    models: Names = None,
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
        Path | None, typer.Option(help="folder of CAMELS-US for hydrology, of MNIST for mnist-sum")
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="fetch MNIST first, for mnist-sum; checked")
    ] = False,
    basins: Annotated[Path | None, typer.Option(help="file of basins to use, one a line")] = None,
    scheme: Annotated[
        Literal["sequence", "last"] | None, typer.Option(help="windows scored whole, or their last day")
    ] = None,
    cells: Annotated[int | None, typer.Option(help="hidden size, instead of the profile's", min=2)] = None,
    block: Annotated[
        int, typer.Option(help="seeds a job; it finds finished jobs by the same number", min=1)
    ] = 100,
    workers: Annotated[int, typer.Option(help="processes", min=1)] = 1,
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
    """Run what is left of an experiment's jobs and print its table; the same command goes on after a stop."""
    from mclstm_paper.experiment import Options, require_heard
    from mclstm_paper.hydrology.basins import read_basins
    from mclstm_paper.mnist_sum.digits import home
    from mclstm_paper.mnist_sum.download import download_mnist
    from mclstm_paper.rates import choose, chosen_rates
    from mclstm_paper.runner import experiment as of_name
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
    )
    calm = quiet or as_json
    if download:
        require_heard(of_name(name), options)
        download_mnist(data or home())
    if grid:
        path, text = choose(name, options, out, kept=results, workers=workers, quiet=calm)
        print(path.read_text() if as_json else f"{text}\n\n{path}")
        return
    show(run(name, options, out, kept=results, workers=workers, quiet=calm), as_json)


def show(made: "Made", as_json: bool) -> None:
    """The table and where its files are, or the content of these as JSON."""
    if as_json:
        print(json.dumps({str(path): content for path, content in made.results.items()}))
        return
    print(f"\n{made.table}\n\n{made.folder}")
    for path in (*made.results, *made.figures):
        print(path)

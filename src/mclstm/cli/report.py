"""`mclstm report RUN...`: one page about some runs, with their models side by side."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mclstm.cli.show import Json
from mclstm.errors import ConfigError

if TYPE_CHECKING:
    from mclstm.report.comparison.comparison_report import Comparison

__all__ = ["report"]


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(help="folders of evaluated runs or of such folders; packed models, with --data"),
    ],
    benchmarks: Annotated[Path | None, typer.Option(help="folder with published scores by basin")] = None,
    simulations: Annotated[
        Path | None, typer.Option(help="folder with one file of simulations per model, .nc or .csv")
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
    weights: Annotated[
        str, typer.Option(help="a period: fit weights of members on it, one set per site, beside the mean")
    ] = "",
    out: Annotated[
        Path, typer.Option(help="folder for the page, the text, the tables and the figures")
    ] = Path("report"),
    split: Annotated[str, typer.Option(help="the period to compare")] = "test",
    prefix: Annotated[str, typer.Option(help="what names of runs begin with and tables leave out")] = "",
    traced: Annotated[int, typer.Option(help="sites whose mass is traced for the page", min=0)] = 20,
    single_file: Annotated[
        bool, typer.Option("--single-file", help="put all of the page into one file")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare models on a page that opens from disk; runs that differ in their seed only are one model."""
    _require_data(runs, data)
    from mclstm.deploy.result_page import page_of_comparison
    from mclstm.report.comparison.comparison_report import Others, compare, write

    others = Others(benchmarks, simulations, snow, data, together or (), prefix, weights)
    comparison = compare(_evaluated(runs, data, out / "packs", split), others, split)
    paths = write(comparison, out)
    page = page_of_comparison(comparison, out, split, data, traced, single_file=single_file)
    if as_json:
        _print_json(comparison, paths, page)
        return
    print(comparison.sections[0].text)
    print("\n".join(["", *comparison.notes, f"report {paths[0]}", f"page {page}"]))


def _is_pack(path: Path) -> bool:
    return (path / "model.json").is_file()


def _require_data(runs: list[Path], data: Path | None) -> None:
    pack = next(filter(_is_pack, runs), None)
    if pack is not None and data is None:
        raise ConfigError(f"{pack} is a packed model, which carries no data. Add --data.")


def _evaluated(runs: list[Path], data: Path | None, folder: Path, split: str) -> list[Path]:
    """Folders with results: those of the runs, and for packed models new ones below `folder`."""
    from mclstm.deploy.evaluate_model import evaluate_model
    from mclstm.deploy.new_data import Source

    packs = [path for path in runs if _is_pack(path)]
    places = {path: folder / f"{at}-{path.resolve().name}" for at, path in enumerate(packs)}
    for path, place in places.items():
        evaluate_model(path, Source(str(data)), place, split, figures=False)
    return [places.get(path, path) for path in runs]


def _print_json(comparison: "Comparison", paths: list[Path], page: Path) -> None:
    from mclstm.report.comparison.balance_section import closures
    from mclstm.training.journal import without_nan

    content = {
        "rows": comparison.rows,
        "tests": comparison.tests.to_dict("records"),
        "closures": [closure._asdict() for closure in closures(comparison.groups)],
        "notes": comparison.notes,
        "files": [str(path) for path in paths],
        "page": str(page),
    }
    print(json.dumps(without_nan(content), allow_nan=False))

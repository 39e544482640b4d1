"""`mclstm evaluate RUN`: predictions, scores, mass balance and figures for a period."""

from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.predict import Attributes, Columns, End, Member, Reader, Start, require_data
from mclstm.cli.show import Figures, Json, print_run
from mclstm.errors import ConfigError

__all__ = ["evaluate"]


def evaluate(
    run: Annotated[Path, typer.Argument(help="folder of the run, or of a packed model with --data")],
    split: Annotated[str, typer.Option(help="train, validation or test")] = "test",
    data: Annotated[
        Path | None, typer.Option(help="file or folder to score on [default: what the run was trained on]")
    ] = None,
    reader: Reader = None,
    attributes: Attributes = None,
    columns: Columns = None,
    start: Start = None,
    end: End = None,
    member: Member = None,
    out: Annotated[
        Path | None, typer.Option(help="folder for the results, with --data [default: evaluated/NAME]")
    ] = None,
    figures: Figures = True,
    as_json: Json = False,
) -> None:
    """Score a run on one of its periods, or any model on data that holds observations."""
    if data is None:
        alone = {"reader": reader, "attributes": attributes, "columns": columns, "start": start, "end": end,
                 "member": member, "out": out}  # fmt: skip
        for name in (name for name, value in alone.items() if value is not None):
            raise ConfigError(f"--{name} goes with --data. Name the data to score on, or leave it out.")
        if (run / "model.json").is_file():
            raise ConfigError(f"{run} is a packed model, which carries no data. Add --data.")
        from mclstm import pipeline

        print_run(run, pipeline.evaluate(run, split, figures=figures), as_json)
        return
    require_data(data)  # before torch is imported
    from mclstm.deploy.evaluate_model import evaluate_model
    from mclstm.deploy.new_data import Dates, Source

    place = out or Path("evaluated") / run.resolve().name
    source = Source(str(data), reader, None if attributes is None else str(attributes), columns)
    result = evaluate_model(
        run, source, place, split, dates=Dates(start, end), member=member, figures=figures
    )
    print_run(place, result, as_json)

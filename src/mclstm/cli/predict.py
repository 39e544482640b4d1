"""`mclstm predict RUN --data DATA`: simulate new data, with or without observations."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mclstm.cli.predict_text import summary, tell
from mclstm.cli.show import Json
from mclstm.errors import ConfigError, DataError

if TYPE_CHECKING:
    from mclstm.deploy.new_data import Source
    from mclstm.deploy.predict import Prediction

__all__ = ["predict"]

Start = Annotated[str | None, typer.Option(help="first date; the data before it fills the stores")]
End = Annotated[str | None, typer.Option(help="last date")]
Member = Annotated[int | None, typer.Option(help="seed of one member to use alone, with its cells")]
Reader = Annotated[
    str | None, typer.Option(help="layout of the data, as for check [default: as in training, or detected]")
]
Attributes = Annotated[Path | None, typer.Option(help="CSV with one row of attributes per site")]
Columns = Annotated[
    Path | None, typer.Option(help="YAML with your names (columns:), units: and area: of the data")
]


def predict(
    run: Annotated[Path, typer.Argument(help="folder of the run, of a packed model, or of several")],
    data: Annotated[
        Path, typer.Option(help="file or folder with the columns the model needs; targets may be absent")
    ],
    reader: Reader = None,
    attributes: Attributes = None,
    columns: Columns = None,
    start: Start = None,
    end: End = None,
    member: Member = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="netCDF file to write [default: in the run's folder; for a packed model, here]; "
            "NAME.zarr is a folder of zarr, written part after part, for many sites"
        ),
    ] = None,
    state_in: Annotated[Path | None, typer.Option(help="saved state to start from")] = None,
    state_out: Annotated[Path | None, typer.Option(help="where to save the state at the end")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="also write the simulated series as CSV")] = False,
    as_json: Json = False,
) -> None:
    """Predict new data, with or without observations, from the start or from a saved state."""
    require_data(data)  # before torch is imported
    from mclstm.deploy.new_data import Dates, Source

    source = Source(str(data), reader, None if attributes is None else str(attributes), columns)
    streamed = out is not None and out.suffix == ".zarr"
    if streamed and csv:
        raise ConfigError(f"--csv goes with a netCDF file, not with {out}. Leave one of them out.")
    about, files = (_stream if streamed else _predict)(
        run, source, out or _home(run, data), state_in, state_out, csv, dates=Dates(start, end), member=member
    )
    tell(about, files, as_json)


Said = tuple[dict[str, Any], dict[str, Path]]  # what to say of a prediction, and its files by name


def _predict(
    run: Path, source: "Source", out: Path, state_in: Path | None, state_out: Path | None, csv: bool,
    **options: Any,
) -> Said:  # fmt: skip
    """Predict into a netCDF file, with a page beside it."""
    from mclstm.deploy.predict import predict_unsaved
    from mclstm.deploy.result_page import page_of_prediction

    result = predict_unsaved(run, source, state_in, saves=state_out is not None, **options)
    files = _write(result, out, state_out, csv)
    files["page"] = page_of_prediction(
        out.with_suffix(".html"), run, source, result.predictions, options["member"],
        from_state=state_in is not None,
    )  # fmt: skip
    return summary(result.predictions, result.members), files


def _stream(
    run: Path, source: "Source", out: Path, state_in: Path | None, state_out: Path | None, csv: bool,
    **options: Any,
) -> Said:  # fmt: skip
    """Predict into a folder of zarr, part after part."""
    from mclstm.deploy.predict_parts import predict_to_store

    result = predict_to_store(run, source, out, state_in, state_out, **options)
    files = {"predictions": out} | ({} if state_out is None else {"state": state_out})
    return summary(result.predictions, result.members, result.scores, result.warmup), files


def _home(run: Path, data: Path) -> Path:
    """The netCDF file to write: a packed model is shared and may be read-only, so nothing goes into it."""
    from mclstm.data.site_names import slug

    folder = run if (run / "config.yaml").is_file() else Path()
    return folder / "predictions" / f"{slug(data.stem)}.nc"


def _write(result: "Prediction", target: Path, state_out: Path | None, csv: bool) -> dict[str, Path]:
    """Write what was predicted; every file by its name."""
    from mclstm.evaluation.prediction_dataset import as_netcdf
    from mclstm.training.atomic import make_folder, write_bytes_atomic, write_text_atomic

    files, predictions = {"predictions": target}, result.predictions
    make_folder(target.parent)
    write_bytes_atomic(target, as_netcdf(predictions))
    if csv:
        files["csv"] = target.with_suffix(".csv")
        names = [name for name in predictions if str(name).startswith("simulated") or name == "warmup"]
        write_text_atomic(files["csv"], predictions[names].to_dataframe().to_csv())
    if state_out is not None:
        files["state"] = state_out
        # Last: if the predictions cannot be written, the old state is still there.
        result.save_states(state_out)
    return files


def require_data(path: Path) -> None:
    """Refuse a path at which there is nothing."""
    if not path.exists():
        raise DataError(f"--data {path}: there is no such file or folder. Check the path.")

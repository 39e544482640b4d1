"""`mclstm predict RUN --data DATA`: simulate new data, with or without observations."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Json

__all__ = ["predict"]


def predict(
    run: Annotated[Path, typer.Argument(help="folder of the run, of a packed model, or of several")],
    data: Annotated[
        Path, typer.Option(help="file or folder with the columns the model needs; targets may be absent")
    ],
    reader: Annotated[
        str | None,
        typer.Option(help="layout of the data, as for check [default: as in training, or detected]"),
    ] = None,
    attributes: Annotated[Path | None, typer.Option(help="CSV with one row of attributes per site")] = None,
    columns: Annotated[
        Path | None, typer.Option(help="YAML with your names (columns:), units: and area: of the data")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="netCDF file to write [default: in the run's folder; for a packed model, here]"),
    ] = None,
    state_in: Annotated[Path | None, typer.Option(help="saved state to start from")] = None,
    state_out: Annotated[Path | None, typer.Option(help="where to save the state at the end")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="also write the simulated series as CSV")] = False,
    as_json: Json = False,
) -> None:
    """Predict new data, with or without observations, from the start or from a saved state."""
    from mclstm.data.site_names import slug
    from mclstm.deploy.new_data import Source
    from mclstm.deploy.predict import predict_unsaved
    from mclstm.evaluation.prediction_dataset import as_netcdf
    from mclstm.training.atomic import make_folder, write_bytes_atomic, write_text_atomic

    source = Source(str(data), reader, None if attributes is None else str(attributes), columns)
    predictions, save_states = predict_unsaved(run, source, state_in, saves=state_out is not None)
    # A packed model is shared and may be read-only, so nothing is written into it.
    home = run if (run / "config.yaml").is_file() else Path()
    target = out or home / "predictions" / f"{slug(data.stem)}.nc"
    make_folder(target.parent)
    write_bytes_atomic(target, as_netcdf(predictions))
    if csv:
        table = predictions[[name for name in predictions if str(name).startswith("simulated")]]
        write_text_atomic(target.with_suffix(".csv"), table.to_dataframe().to_csv())
    if state_out is not None:
        save_states(state_out)  # last: if the predictions cannot be written, the old state is still there
    written = {
        "predictions": str(target),
        "sites": predictions.sizes["site"],
        "steps": predictions.sizes["time"],
    }
    print(json.dumps(written) if as_json else f"{written['sites']} sites, {written['steps']} steps: {target}")

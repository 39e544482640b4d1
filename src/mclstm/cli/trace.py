"""`mclstm trace RUN`: how old the outflow is, what became of the mass, and what is behind a flood."""

from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Json, show_table

__all__ = ["trace"]


def trace(
    run: Annotated[Path, typer.Argument(help="folder of the run or of a packed model")],
    data: Annotated[Path | None, typer.Option(help="other data to trace [default: that of the run]")] = None,
    site: Annotated[list[str] | None, typer.Option(help="a site; may be repeated [default: all]")] = None,
    peak: Annotated[
        str | None, typer.Option(help="date whose outflow is explained [default: the largest of each site]")
    ] = None,
    longest: Annotated[float | None, typer.Option(help="days for which ages are followed", min=0)] = None,
    attributes: Annotated[Path | None, typer.Option(help="CSV with one row of attributes per site")] = None,
    columns: Annotated[
        Path | None, typer.Option(help="YAML with your names (columns:), units: and area: of the data")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="folder to write to [default: RUN/trace, or trace]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Trace all mass: its age when it leaves, where each input went, the inputs behind a flood."""
    import pandas as pd

    from mclstm.data.site_names import site_files
    from mclstm.deploy.new_data import Source
    from mclstm.deploy.trace_model import summary, trace_model
    from mclstm.errors import ConfigError
    from mclstm.evaluation.prediction_dataset import as_netcdf
    from mclstm.report.run_figures import save
    from mclstm.report.trace_figures import behind_outflow, outflow_ages
    from mclstm.training.atomic import make_folder, write_bytes_atomic, write_text_atomic

    try:
        date = None if peak is None else pd.Timestamp(peak)
    except ValueError:
        raise ConfigError(f"--peak {peak!r} is no date. Write it as 2001-07-31.") from None
    beside = None if attributes is None else str(attributes)
    source = None if data is None else Source(str(data), None, beside, columns)
    mass, target, origins = trace_model(run, source, sites=site or (), peak=date, longest=longest)
    folder = out or (run / "trace" if (run / "config.yaml").is_file() else Path("trace"))
    make_folder(folder / "figures")
    write_bytes_atomic(folder / "trace.nc", as_netcdf(mass))
    if "fate" not in mass:  # days that begin anew
        table = mass.to_dataframe().reset_index()
        write_text_atomic(folder / "entry_to_exit.csv", table.to_csv(index=False))
        show_table(table, as_json)
        return
    table, unit = summary(mass, target), str(mass["transit"].attrs.get("units", ""))
    write_text_atomic(folder / "ages.csv", table.to_csv(index=False))
    files = site_files(str(name) for name in mass["site"].to_numpy())
    for name, rows in origins.items():
        write_text_atomic(folder / f"behind-{files[name]}.csv", rows.to_csv(index=False))
        save(behind_outflow(rows, name, target, unit), folder / "figures", f"behind-{files[name]}")
        save(outflow_ages(mass, name, target), folder / "figures", f"ages-{files[name]}")
    show_table(table, as_json)
    if not as_json:
        print(f"wrote {folder}")

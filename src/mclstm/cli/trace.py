"""`mclstm trace RUN`: how old the outflow is, what became of the mass, and what is behind a flood."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mclstm.cli.predict import Attributes, Columns, Member, Reader
from mclstm.cli.show import Json
from mclstm.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd

    from mclstm.deploy.trace_model import Traced

__all__ = ["trace"]

MOST = 20  # rows that are printed


def trace(
    run: Annotated[Path, typer.Argument(help="folder of the run or of a packed model")],
    data: Annotated[Path | None, typer.Option(help="other data to trace [default: that of the run]")] = None,
    site: Annotated[list[str] | None, typer.Option(help="a site; may be repeated [default: all]")] = None,
    peak: Annotated[
        str | None, typer.Option(help="date whose outflow is explained [default: the largest of each site]")
    ] = None,
    longest: Annotated[float | None, typer.Option(help="days for which ages are followed", min=0)] = None,
    snow: Annotated[
        Path | None, typer.Option(help="swe by site to compare cells with, as for report")
    ] = None,
    reader: Reader = None,
    attributes: Attributes = None,
    columns: Columns = None,
    member: Member = None,
    out: Annotated[
        Path | None, typer.Option(help="folder to write to [default: RUN/trace, or trace]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Trace all mass: its age when it leaves, where each input went, the inputs behind a flood."""
    import pandas as pd

    from mclstm.deploy.new_data import Source
    from mclstm.deploy.trace_model import trace_model
    from mclstm.report.markdown import markdown

    try:
        date = None if peak is None else pd.Timestamp(peak)
    except ValueError:
        raise ConfigError(f"--peak {peak!r} is no date. Write it as 2001-07-31.") from None
    beside = None if attributes is None else str(attributes)
    source = None if data is None else Source(str(data), reader, beside, columns)
    traced = trace_model(run, source, sites=site or (), peak=date, longest=longest, member=member, snow=snow)
    folder = out or (run / "trace" if (run / "config.yaml").is_file() else Path("trace"))
    table = write_trace(traced, folder)
    if as_json:
        print(json.dumps({"files": str(folder), "rows": json.loads(table.to_json(orient="records"))}))
        return
    print(markdown(table.head(MOST).set_index(str(table.columns[0]))))
    print(f"{len(table) - MOST} more rows are in the folder\n" if len(table) > MOST else "", end="")
    print(f"trace {folder}")


def write_trace(traced: "Traced", folder: Path) -> "pd.DataFrame":
    """Write netCDF, tables and figures into a folder; gives the table that people read."""
    from mclstm.data.site_names import site_files
    from mclstm.deploy.trace_model import summary
    from mclstm.evaluation.prediction_dataset import as_netcdf
    from mclstm.report.run_figures import save
    from mclstm.report.trace_figures import behind_outflow, outflow_ages
    from mclstm.training.atomic import make_folder, write_bytes_atomic, write_text_atomic

    mass, target = traced.mass, traced.target
    make_folder(folder / "figures")
    write_bytes_atomic(folder / "trace.nc", as_netcdf(mass))
    table = summary(mass, target)
    name = "ages.csv" if "transit" in mass else "entry_to_exit.csv"
    write_text_atomic(folder / name, table.to_csv(index=False))
    unit = str(mass["transit"].attrs.get("units", "")) if traced.origins else ""
    files = site_files(str(site) for site in mass["site"].to_numpy()) if traced.origins else {}
    for site, rows in traced.origins.items():
        write_text_atomic(folder / f"behind-{files[site]}.csv", rows.to_csv(index=False))
        save(behind_outflow(rows, site, target, unit), folder / "figures", f"behind-{files[site]}")
        save(outflow_ages(mass, site, target), folder / "figures", f"ages-{files[site]}")
    if len(traced.cells):
        leading = ["site", "member", "cell", "sentence"]
        rest = [name for name in traced.cells if name not in leading]
        write_text_atomic(folder / "cells.csv", traced.cells[[*leading, *rest]].to_csv(index=False))
    return table

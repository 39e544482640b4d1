"""`mclstm export RUN --out FOLDER`: one step as ONNX and whole sequences as .pt2, for other programs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Json

__all__ = ["export"]


def export(
    model: Annotated[Path, typer.Argument(help="folder of a run or of a packed model")],
    out: Annotated[Path, typer.Option(help="folder to create; it must not exist yet")],
    precision: Annotated[str, typer.Option(help="of the stores: float32 or float64")] = "float32",
    as_json: Json = False,
) -> None:
    """Export a model, if the files compute what it computes; else nothing is written."""
    from mclstm.deploy import export as exporting

    result = exporting.export(model, out, precision)
    if as_json:
        gaps = {"step": result.step, "sequence": result.sequence}
        print(json.dumps({"folder": str(result.folder), "largest_difference": gaps}))
        return
    print(f"{exporting.STEP}: one step, within {result.step:.0e} of the model")
    print(f"{exporting.SEQUENCE}: a sequence of any length, within {result.sequence:.0e}")
    print(f"columns, units and the first state: {result.folder / exporting.ABOUT}")

"""`mclstm pack RUN... --out FOLDER`: weights, model.json and a card, for `mclstm predict` anywhere."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Json

__all__ = ["pack"]


def pack(
    runs: Annotated[
        list[Path],
        typer.Argument(help="folders of finished runs that differ in their seed, or of such folders"),
    ],
    out: Annotated[Path, typer.Option(help="the folder to make; it must not be there yet")],
    as_json: Json = False,
) -> None:
    """Pack the members of one model: weights only, at most 25 MB, usable without the training data."""
    from mclstm.deploy.pack import pack as packed

    made = packed(runs, out)
    if as_json:
        print(json.dumps({"folder": str(made.folder), "seeds": made.seeds, "bytes": made.size}))
        return
    count = f"{len(made.seeds)} member{'s' if len(made.seeds) > 1 else ''}"
    print(f"{count}, {made.size / 1e6:.1f} MB: {made.folder}")
    print(f"predict with: mclstm predict {made.folder} --data DATA")

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
    out: Annotated[Path, typer.Option(help="folder to create; it must not exist yet")],
    weights: Annotated[
        str, typer.Option(help="a period: weigh members at each of its sites as they do best in it")
    ] = "",
    as_json: Json = False,
) -> None:
    """Pack the members of one model into a folder that predicts without the training data, at most 25 MB."""
    from mclstm.deploy import pack as packing

    packed = packing.pack(runs, out, weights=weights)
    if as_json:
        print(json.dumps({"folder": str(packed.folder), "seeds": packed.seeds, "bytes": packed.size}))
        return
    count = f"{len(packed.seeds)} member{'s' if len(packed.seeds) > 1 else ''}"
    print(f"{count}, {packed.size / 1e6:.1f} MB: {packed.folder}")
    print(f"predict with: mclstm predict {packed.folder} --data DATA")

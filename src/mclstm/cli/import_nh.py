"""`mclstm import-nh CONFIG`: from a config of neuralhydrology to one of ours."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from mclstm.cli.show import Json

__all__ = ["import_nh"]


def import_nh(
    config: Annotated[Path, typer.Argument(help="config.yml of neuralhydrology, or the folder of its run")],
    out: Annotated[Path | None, typer.Option(help="file to write [default: print it]")] = None,
    as_json: Json = False,
) -> None:
    """Translate a config, and name every key without a counterpart."""
    from mclstm.config.neuralhydrology import as_yaml
    from mclstm.config.neuralhydrology import import_nh as translate
    from mclstm.training.atomic import write_text_atomic

    imported = translate(config)
    text = as_yaml(imported, str(config))
    if out is not None:
        write_text_atomic(out, text)
    if as_json:
        print(json.dumps(imported._asdict(), indent=1))
    elif out is None:
        print(text, end="")
    for key, reason in imported.lost.items():
        print(f"no counterpart: {key} ({reason})", file=sys.stderr)
    if out is not None and not as_json:
        print(f"config {out}")

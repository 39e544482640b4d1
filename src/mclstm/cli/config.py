"""`mclstm config CONFIG`: check a config, show it with every default, or print its JSON schema."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mclstm.errors import ConfigError

__all__ = ["config"]


def config(
    path: Annotated[Path | None, typer.Argument(help="YAML file to check and show in full")] = None,
    override: Annotated[list[str] | None, typer.Option("--set", help="section.key=value; repeat")] = None,
    schema: Annotated[bool, typer.Option("--schema", help="print the JSON schema for editors")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of YAML")] = False,
) -> None:
    """Check a config without running it."""
    from mclstm.config import dump_config, json_schema, load_config

    if schema:
        print(json.dumps(json_schema(), indent=1))
    elif path is None:
        raise ConfigError("no config is named. Give a YAML file, or --schema for the JSON schema.")
    else:
        checked = load_config(path, override or [])
        print(checked.model_dump_json(indent=1) if as_json else dump_config(checked), end="")

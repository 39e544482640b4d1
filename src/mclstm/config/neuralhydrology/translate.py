"""A config of neuralhydrology becomes one of ours; what has no counterpart is named, never dropped."""

from pathlib import Path
from typing import Any, NamedTuple

import yaml

from mclstm.config.load import check_config, unshared
from mclstm.config.neuralhydrology.given import Given
from mclstm.config.neuralhydrology.keys import UNNEEDED, WITHOUT
from mclstm.config.neuralhydrology.sections import (
    data_of,
    floor_of,
    metrics_of,
    model_of,
    name_of,
    periods_of,
    training_of,
)
from mclstm.config.source import read_yaml
from mclstm.errors import ConfigError

__all__ = ["Imported", "as_yaml", "import_nh"]


class Imported(NamedTuple):
    """Our config as nested dictionaries, and what was found on the way, a reason by key."""

    config: dict[str, Any]
    lost: dict[str, str]  # changes the run and has no counterpart
    unneeded: dict[str, str]
    changed: dict[str, str]  # has one that differs on purpose


def import_nh(path: Path) -> Imported:
    """Read a config.yml, or the folder of a run that holds one, and translate it.

    Raises ConfigError where no valid config of ours can say what the file says.
    """
    file = path / "config.yml" if path.is_dir() else path
    values = read_yaml(file).values
    if not isinstance(values, dict):
        raise ConfigError(f"{file} holds no keys. Give a config of neuralhydrology.")
    given = Given(unshared(values), file)
    changed: dict[str, str] = {}
    config = {
        "name": name_of(given),
        "data": data_of(given, changed),
        "periods": periods_of(given),
        "model": model_of(given, changed),
        "training": training_of(given, changed),
    }
    metrics, missing = metrics_of(given)
    evaluation = ({"metrics": metrics} if metrics else {}) | {"nonnegative": floor_of(given)}
    config["evaluation"] = evaluation
    rest = [key for key in given.values if key not in given.used]
    lost = {key: WITHOUT.get(key, "has no counterpart here") for key in rest if key not in UNNEEDED} | missing
    checked(config, file)
    return Imported(config, lost, {key: UNNEEDED[key] for key in rest if key in UNNEEDED}, changed)


def checked(config: dict[str, Any], file: Path) -> None:
    try:
        check_config(config)
    except ConfigError as error:
        first = str(error).splitlines()[0].removeprefix("config, ")
        raise ConfigError(f"{file} cannot become a config of mclstm: {first}") from None


def as_yaml(found: Imported, source: str) -> str:
    """The config as YAML with everything that was found as comments above it."""
    parts = {
        "Has no counterpart, so that this run will differ:": found.lost,
        "Differs on purpose:": found.changed,
        "Is not needed here:": found.unneeded,
    }
    lines = [f"# From {source}, by mclstm import-nh."]
    for title, reasons in parts.items():
        lines += (
            [f"# {title}", *(f"#   {key}: {reason}" for key, reason in reasons.items())] if reasons else []
        )
    body = yaml.safe_dump(
        found.config, sort_keys=False, allow_unicode=True, width=100, default_flow_style=None
    )
    return "\n".join(lines) + "\n" + body

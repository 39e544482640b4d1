"""From a YAML file and `--set` to a checked config, and back to YAML."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from mclstm.config.messages import explain
from mclstm.config.run import Config
from mclstm.config.source import Place, parse_yaml, read_yaml
from mclstm.config.training import TrainingConfig
from mclstm.errors import ConfigError

__all__ = ["anchored", "check_config", "check_training", "dump_config", "json_schema", "load_config"]

Section = TypeVar("Section", bound=BaseModel)


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read and check a config; `overrides` are the `a.b=v` of --set, applied before the check.

    Raises ConfigError: one message of at most five lines with file, line, key and what to do.

    >>> load_config("missing.yaml")
    Traceback (most recent call last):
    mclstm.errors.ConfigError: Cannot read missing.yaml: No such file or directory. Check the path.
    """
    document = read_yaml(Path(path))
    where = str(path)
    if not isinstance(document.values, dict):
        raise ConfigError(f"{where} holds no sections. Begin with name:, data:, periods:, model:, training:.")
    raw = unshared(document.values)
    origins: dict[Place, str] = {(): where}
    origins |= {place: f"{where}, line {line}" for place, line in document.lines.items()}
    for text in overrides:
        place = override(raw, text)
        origins = {old: origin for old, origin in origins.items() if old[: len(place)] != place}
        origins[place] = "--set"
    return checked(Config, raw, origins)


def check_config(raw: dict[str, Any]) -> Config:
    """Check a config given as nested dictionaries, as from Python, with the messages of `load_config`.

    >>> check_config({"name": "fulda"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    mclstm.errors.ConfigError: config, data: this key is missing. Add it: Where the data is and what its...
    config, periods: this key is missing. Add it: Which dates are used for what.
    config, model: this key is missing. Add it: What is trained.
    config, training: this key is missing. Add it: How it is trained.
    """
    return checked(Config, unshared(raw), {(): "config"})


def check_training(place: str, **given: Any) -> TrainingConfig:
    """Check the section `training` alone, as from the keywords of a function; `place` begins the message.

    >>> check_training("fit", updates=0)
    Traceback (most recent call last):
    mclstm.errors.ConfigError: fit, updates: needs a number of at least 1; got 0.
    """
    return checked(TrainingConfig, given, {(): place})


def anchored(config: Config, folder: Path) -> Config:
    """The config with paths made absolute; relative ones are meant from the folder the config lies in."""
    paths = {
        key: str((folder / value).resolve())
        for key, value in (("path", config.data.path), ("attributes", config.data.attributes))
        if value is not None
    }
    return config.model_copy(update={"data": config.data.model_copy(update=paths)})


def checked(kind: type[Section], raw: dict[str, Any], origins: dict[Place, str]) -> Section:
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(explain(error, raw, origins)) from None


def unshared(value: Any) -> Any:
    """A copy in which aliases are values of their own and every key is text, as it is in --set and JSON."""
    if isinstance(value, dict):
        return {str(key): unshared(item) for key, item in value.items()}
    return [unshared(item) for item in value] if isinstance(value, list) else value


def override(raw: dict[str, Any], text: str) -> Place:
    """Set one value and give its place: `model.hidden_size=64`; what follows the first = is read as YAML."""
    dotted, equals, written = text.partition("=")
    keys = dotted.strip().split(".")
    if not equals or not all(keys):
        raise ConfigError(f"--set {text[:80]!r}: write section.key=value, for example model.hidden_size=64.")
    section: Any = raw
    for depth, key in enumerate(keys[:-1]):
        if section.get(key) is None:
            section[key] = {}  # a section left empty in the file
        section = section[key]
        if not isinstance(section, dict):
            inner = ".".join(keys[: depth + 1])
            raise ConfigError(f"--set {dotted[:80]}: {inner} is a value, not a section. Set {inner} itself.")
    section[keys[-1]] = parse_yaml(written, f"--set {dotted[:80]}").values
    return tuple(keys)


def dump_config(config: Config) -> str:
    """The resolved config as YAML, every default written out; loading it gives the same config."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False, allow_unicode=True, width=100)


def json_schema() -> dict[str, Any]:
    """The JSON schema of a config, for completion and checks in editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}

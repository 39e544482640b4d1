"""The whole config of a run: from a YAML file and `--set` to a checked config, and back to YAML."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import (
    BaseModel,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from mclstm.config.data import DataConfig, PeriodsConfig
from mclstm.config.error_messages import MODELS, explain
from mclstm.config.field_types import NAME, RULES
from mclstm.config.model import ConservingConfig, ModelConfig
from mclstm.config.rhythm import SequencesConfig
from mclstm.config.safe_yaml import Place, parse_yaml, read_yaml
from mclstm.config.training import EvaluationConfig, TrainingConfig
from mclstm.config.tuning import TuneConfig
from mclstm.errors import ConfigError

__all__ = [
    "Config", "anchored", "check_config", "check_model", "check_sequences", "check_training", "checked",
    "dump_config", "json_schema", "load_config", "unshared",
]  # fmt: skip

Section = TypeVar("Section", bound=BaseModel)
TABLES = (".csv", ".tsv", ".nc", ".parquet", ".npz", ".xlsx")  # endings of data, never of configs
# Keys of the section `training` that cut windows, which `sequences` replace.
REPLACED = ("scheme", "length", "warmup", "warmup_gradient", "stride")


class Config(BaseModel, **RULES):
    """A run of mclstm from file to scores."""

    name: Annotated[str, Field(pattern=NAME, max_length=64)]
    """The name of the run, part of the path of its folder."""
    data: DataConfig
    """Where the data is and what its columns mean."""
    periods: PeriodsConfig
    """Which dates are used for what."""
    model: ModelConfig
    """What is trained."""
    training: TrainingConfig
    """How it is trained."""
    evaluation: EvaluationConfig = EvaluationConfig()
    """What is computed from the predictions."""
    sequences: SequencesConfig | None = None
    """Whole days or weeks instead of windows that slide; null slides."""
    tune: TuneConfig | None = None
    """What `mclstm tune` searches; other commands leave it alone."""

    @property
    def balances(self) -> bool:
        """Whether what is predicted is mass that entered, so that inflow and outflow share a unit."""
        return isinstance(self.model, ConservingConfig) and self.model.head in ("sum", "mcfc")

    @model_validator(mode="after")
    def what_early_stopping_needs(self) -> "Config":
        if self.training.early_stopping is not None and self.periods.validation is None:
            raise ValueError("stops early without periods.validation. Add it, or remove early_stopping.")
        return self

    @model_validator(mode="after")
    def what_tuning_needs(self) -> "Config":
        if self.tune is not None and self.periods.validation is None:
            raise ValueError("has tune without periods.validation. Add it: trials are chosen by its score.")
        return self

    @model_validator(mode="after")
    def sequences_or_windows(self) -> "Config":
        twice = [f"training.{key}" for key in REPLACED if key in self.training.model_fields_set]
        twice += [] if self.evaluation.restart is None else ["evaluation.restart"]
        if self.sequences is not None and twice:
            raise ValueError(f"has sequences, which replace {twice[0]}. Remove one of them.")
        if self.sequences is None and "skip" in (self.data.missing_mass, self.data.missing_aux):
            raise ValueError("skips sequences with missing inputs, but has none. Add sequences, or fill.")
        return self

    @model_validator(mode="after")
    def members_draw_nothing_in_common(self) -> "Config":
        if self.training.members is not None and getattr(self.model, "dropout", False):
            raise ValueError(
                "trains members with dropout, which they would draw from one stream. Remove one."
            )
        if self.training.members is not None and self.evaluation.restart is not None:
            raise ValueError("has members and evaluation.restart. Remove one, or train the members as runs.")
        return self

    @model_validator(mode="after")
    def nothing_shows_what_impute_hides(self) -> "Config":
        if self.training.impute is not None and self.data.antecedent:
            raise ValueError("has data.antecedent, means of the mass that impute hides. Remove one of them.")
        return self

    @model_serializer(mode="wrap")
    def without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Neither sections that are not there nor the keys they replace: what is written loads again."""
        raw: dict[str, Any] = handler(self)
        if self.tune is None:
            raw.pop("tune", None)
        if self.sequences is None:
            raw.pop("sequences", None)
        elif "training" in raw:
            raw["training"] = {key: raw["training"][key] for key in raw["training"] if key not in REPLACED}
        return raw


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> Config:
    """Read and check a config; `overrides` are the `a.b=v` of --set, applied before the check.

    Raises ConfigError: one message of at most five lines with file, line, key and what to do.

    >>> load_config("missing.yaml")
    Traceback (most recent call last):
    mclstm.errors.ConfigError: Cannot read missing.yaml: No such file or directory. Check the path.
    """
    where = str(path)
    if Path(path).suffix.lower() in TABLES:
        raise ConfigError(f"{where} is data and no config. Write one with `mclstm init {where}`, give that.")
    document = read_yaml(Path(path))
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
    """Check a config in nested dictionaries, with the messages of `load_config`.

    >>> check_config({"name": "fulda"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    mclstm.errors.ConfigError: config, data: this key is missing. Add it: Where the data is and what its...
    config, periods: this key is missing. Add it: Which dates are used for what.
    config, model: this key is missing. Add it: What is trained.
    config, training: this key is missing. Add it: How it is trained.
    """
    return checked(Config, unshared(raw), {(): "config"})


def check_training(place: str, **options: Any) -> TrainingConfig:
    """Check the section `training` alone, from the keywords of a function; `place` begins the message.

    >>> check_training("fit", updates=0)
    Traceback (most recent call last):
    mclstm.errors.ConfigError: fit, updates: needs a number of at least 1; got 0.
    """
    return checked(TrainingConfig, options, {(): place})


def check_model(place: str, name: str, options: Mapping[str, Any]) -> None:
    """Check the section `model` of one model, from the keywords of a function; `place` begins the message.

    >>> check_model("fit", "lstm", {"hidden_size": 0})
    Traceback (most recent call last):
    mclstm.errors.ConfigError: fit, hidden_size: needs a number of at least 1; got 0.
    """
    written = {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}
    checked(MODELS[name], {"name": name, **written}, {(): place})


def check_sequences(place: str, options: Mapping[str, Any]) -> SequencesConfig:
    """Check the section `sequences` alone; `place` begins the message.

    >>> check_sequences("fit, sequences", {"begin": "4am"})
    Traceback (most recent call last):
    mclstm.errors.ConfigError: fit, sequences: '4am' is no time of a day. Write it as '04:00', in quotes.
    """
    return checked(SequencesConfig, dict(options), {(): place})


def anchored(config: Config, folder: Path) -> Config:
    """The config with absolute paths; relative ones start from the folder of the config."""
    paths = config.data.model_dump(include={"path", "attributes"}, exclude_none=True)
    paths = {key: str((folder / path).resolve()) for key, path in paths.items()}
    update: dict[str, BaseModel] = {"data": config.data.model_copy(update=paths)}
    if config.training.start is not None:
        start = {"start": str((folder / config.training.start).resolve())}
        update["training"] = config.training.model_copy(update=start)
    return config.model_copy(update=update)


def checked(kind: type[Section], raw: dict[str, Any], origins: dict[Place, str]) -> Section:
    """A section of a class, or a ConfigError; `origins` says where each place of `raw` was written."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(explain(kind, error, raw, origins)) from None


def unshared(value: Any) -> Any:
    """A copy in which every alias is a value of its own and every key is text, as in --set and JSON."""
    if isinstance(value, dict):
        return {str(key): unshared(item) for key, item in value.items()}
    return [unshared(item) for item in value] if isinstance(value, list) else value


def override(raw: dict[str, Any], text: str) -> Place:
    """Set one value, such as `model.hidden_size=64`, and return its place. The value is read as YAML."""
    dotted, equals, value = text.partition("=")
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
    section[keys[-1]] = parse_yaml(value, f"--set {dotted[:80]}").values
    return tuple(keys)


def dump_config(config: Config) -> str:
    """The resolved config as YAML, every default written out; loading it gives the same config."""
    return yaml.safe_dump(config.model_dump(), sort_keys=False, allow_unicode=True, width=100)


def json_schema() -> dict[str, Any]:
    """The JSON schema of a config, for completion and checks in editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}

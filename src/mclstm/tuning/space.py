"""The space of a search: its keys and their values, and the config that some values stand for."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from mclstm.config import Config
from mclstm.config.load import checked
from mclstm.config.tuning import TuneConfig
from mclstm.errors import ConfigError

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

__all__ = ["distributions", "require_valid_ends", "trial_config", "with_values"]


def distributions(space: TuneConfig) -> dict[str, "BaseDistribution"]:
    """Every key with what Optuna draws for it."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    drawn: dict[str, BaseDistribution] = {
        key: CategoricalDistribution(values) for key, values in space.choices.items()
    }
    for log, ranges in ((False, space.ranges), (True, space.log_ranges)):
        for key, (low, high) in ranges.items():
            if isinstance(low, int) and isinstance(high, int):
                drawn[key] = IntDistribution(low, high, log=log)
            else:
                drawn[key] = FloatDistribution(low, high, log=log)
    return drawn


def with_values(raw: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A config in nested dictionaries with other values, by dotted key.

    >>> with_values({"model": {"stay": 0.9}}, {"model.stay": 0.5, "training.peak.weight": 1.0})
    {'model': {'stay': 0.5}, 'training': {'peak': {'weight': 1.0}}}
    """
    changed = deepcopy(dict(raw))
    for dotted, value in values.items():
        *sections, key = dotted.split(".")
        inner = changed
        for section in sections:
            inner[section] = inner.get(section) or {}
            inner = inner[section]
        inner[key] = value
    return changed


def trial_config(raw: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The config of a trial: it has no test period, so that nothing of it is read."""
    blind = with_values(raw, values) | {"periods": {**raw["periods"], "test": None}}
    blind.pop("tune", None)
    return blind | {"evaluation": {**raw.get("evaluation", {}), "against": []}}


def require_valid_ends(config: Config, space: TuneConfig) -> None:
    """Refuse a key that is not there, and a value that it cannot have, before the first trial."""
    raw = config.model_dump(exclude_unset=True)
    for section, key, value in ends(space):
        try:
            checked(Config, trial_config(raw, {key: value}), {(): f"tune.{section}"})
        except ConfigError as error:
            if key in str(error):  # other mistakes may go away with another value of another key
                raise


def ends(space: TuneConfig) -> Iterator[tuple[str, str, Any]]:
    """Every choice, and the ends of every range."""
    for section in ("choices", "ranges", "log_ranges"):
        for key, values in getattr(space, section).items():
            for value in values:
                yield section, key, value

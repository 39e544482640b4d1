"""The keys of a config of neuralhydrology, and the values that are written in a way of its own."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

from mclstm.errors import ConfigError

__all__ = ["Given", "day", "rates"]


class Given:
    """The keys of a file, which remembers those that were asked for."""

    def __init__(self, values: dict[str, Any], where: Path) -> None:
        self.values, self.where = values, where
        self.used: set[str] = set()

    def take(self, key: str, default: Any = None) -> Any:
        self.used.add(key)
        value = self.values.get(key)
        return default if value is None or value == "None" else value

    def need(self, key: str) -> Any:
        value = self.take(key)
        if value is None:
            raise ConfigError(f"{self.where} has no {key}, without which no run can be described. Add it.")
        return value

    def names(self, *keys: str) -> list[str]:
        """A list of names under the first of these keys that is there; one name alone is a list, too."""
        found = [self.take(key) for key in keys]
        value: Any = next((item for item in found if item is not None), [])
        if isinstance(value, dict):
            raise ConfigError(
                f"{self.where}, {keys[0]}: several frequencies cannot be trained together here. "
                "Give the names of one."
            )
        flat = [value] if isinstance(value, str) else value
        if not isinstance(flat, list) or not all(isinstance(name, str) for name in flat):
            raise ConfigError(f"{self.where}, {keys[0]} is no list of names. Correct it.")
        return flat


def day(value: Any, where: Path) -> str:
    """A date as neuralhydrology writes it, DD/MM/YYYY, in ISO form.

    >>> day("01/10/1999", Path("config.yml"))
    '1999-10-01'
    """
    if isinstance(value, date):
        return value.isoformat()[:10]
    try:
        return datetime.strptime(str(value), "%d/%m/%Y").date().isoformat()
    except ValueError:
        raise ConfigError(
            f"{where}: {str(value)[:40]!r} is no date of the form DD/MM/YYYY. Correct it."
        ) from None


def rates(value: Any, where: Path) -> tuple[Any, dict[int, Any]]:
    """The first learning rate and the later ones by epoch; epochs count from 1 there and from 0 here.

    >>> rates({"0": 0.01, "20": 0.005}, Path("config.yml"))
    (0.01, {19: 0.005})
    """
    if not isinstance(value, dict):
        return value, {}
    steps = {int(epoch): rate for epoch, rate in value.items() if str(epoch).isdigit()}
    if 0 not in steps or len(steps) != len(value):
        raise ConfigError(
            f"{where}, learning_rate is neither a number nor numbers by epoch, the first at 0. Correct it."
        )
    return steps[0], {epoch - 1: rate for epoch, rate in sorted(steps.items()) if epoch > 0}

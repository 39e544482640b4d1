"""Paths and lists of basins as a config of neuralhydrology names them."""

from pathlib import Path
from typing import Any

from mclstm.errors import ConfigError

__all__ = ["basins", "located"]


def located(value: str, where: Path) -> Path:
    """The absolute path of a relative one: from the working folder, as there, or else from the config's."""
    choices = [Path(value).absolute(), (where.parent / value).absolute()]
    return next((path for path in choices if path.exists()), choices[0])


def basins(files: dict[str, Any], where: Path) -> list[str]:
    """The sites of the basin files, which must name the same ones; empty where there is no file."""
    lists = {split: read(str(file), where) for split, file in files.items() if file is not None}
    if len({tuple(sorted(sites)) for sites in lists.values()}) > 1:
        raise ConfigError(
            f"{where} names other basins for {' than for '.join(lists)}, but all periods have the same sites "
            "here. Make one list, and predict the others with mclstm predict."
        )
    return next(iter(lists.values()), [])


def read(file: str, where: Path) -> list[str]:
    path = located(file, where)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(
            f"{where} names the basin file {file}, which cannot be read: {reason}. Correct its path."
        ) from None
    return [line.strip() for line in lines if line.strip()]

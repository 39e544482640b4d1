"""The YAML file that `BmiMCLSTM.initialize` reads: which model, which sites, from when on."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from mclstm.config.field_types import EXPONENT, RULES, Column, Columns, Count, Moment
from mclstm.config.load import checked, unshared
from mclstm.config.safe_yaml import Place, read_yaml
from mclstm.errors import ConfigError

__all__ = ["BmiConfig", "read_bmi_config"]

Number = Annotated[float, EXPONENT]
PathText = Annotated[str, Field(min_length=1, max_length=4096)]


class BmiConfig(BaseModel, **RULES):
    """A model behind the Basic Model Interface."""

    model: PathText
    """The folder of a run or of a packed model; a relative path starts from this file."""
    start: Moment
    """The date of the first step."""
    steps: Count | None = None
    """After so many steps the end time is reached; null sets none."""
    sites: Annotated[Columns, Field(min_length=1)] = ["site"]
    """The sites, which are the nodes of the grid."""
    attributes: dict[Column, Number | list[Number]] = {}
    """The static inputs by column: a number for all sites, or one per site."""
    longitude: list[Number] = []
    """The x of every node; without it, nodes are numbered."""
    latitude: list[Number] = []
    """The y of every node; without it, 0."""
    names: dict[Column, Annotated[str, Field(min_length=1, max_length=200)]] = {}
    """The names of columns outside, where they differ from the standard names."""
    state: PathText | None = None
    """A saved state to go on from; its date is the step before the start."""
    precision: Literal["float64", "float32"] = "float64"
    """What the model computes in; float32 gives the bits of mclstm predict."""
    serialization: bool = False
    """Answer the ngen::serialization_* variables, a protocol that may still change."""


def read_bmi_config(path: Path) -> BmiConfig:
    """Read and check a file, with messages that name its lines; relative paths start from its folder."""
    document = read_yaml(path)
    if not isinstance(document.values, dict):
        raise ConfigError(
            f"{path} holds no keys. Begin with model:, the folder of a run, and start:, a date."
        )
    origins: dict[Place, str] = {(): str(path)}
    origins |= {place: f"{path}, line {line}" for place, line in document.lines.items()}
    config = checked(BmiConfig, unshared(document.values), origins)
    for name in ("longitude", "latitude"):
        if len(getattr(config, name)) not in (0, len(config.sites)):
            raise ConfigError(f"{path}, {name}: needs one number for each of {len(config.sites)} sites.")
    folder = path.resolve().parent
    paths = {key: str(folder / text) for key in ("model", "state") if (text := getattr(config, key))}
    return config.model_copy(update=paths)

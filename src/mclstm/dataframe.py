"""From a DataFrame to predictions in three lines, for those who need no run folder.

>>> import numpy as np, pandas as pd
>>> days = pd.date_range("2001-01-01", periods=120)
>>> table = pd.DataFrame({"rain": np.random.default_rng(0).random(120), "flow": 0.5}, index=days)
>>> river = fit(table, mass="rain", target="flow", hidden_size=3, warmup=20, length=40, updates=2)
>>> river.predict(table[["rain"]]).shape
(120,)
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch
import xarray as xr
from torch import nn

from mclstm.config import check_training
from mclstm.data.checks.guess import require_columns
from mclstm.data.finding import respelled
from mclstm.data.frames import from_frames
from mclstm.data.scaling import Moment, moments
from mclstm.data.tables import Roles
from mclstm.data.windows import tensors
from mclstm.errors import ConfigError, Interrupted
from mclstm.evaluation.metrics import score
from mclstm.evaluation.simulate import simulate
from mclstm.models import MODELS
from mclstm.models.output import Sizes, scale_of
from mclstm.nn.arguments import one_of
from mclstm.training.loop import fit as train
from mclstm.training.progress import showing

__all__ = ["Fitted", "fit"]


class Fitted(NamedTuple):
    """A trained model with what it needs to read another table of the same columns."""

    model: nn.Module
    roles: Roles
    moments: dict[str, Moment]
    reading: dict[str, Any]  # how a table is read: missing_mass, missing_aux, allow_negative_mass

    def simulate(self, frame: pd.DataFrame) -> xr.Dataset:
        """Everything the model says about a table: predictions, storage, outflow, ledger; (site, time)."""
        present = tuple(name for name in self.roles.target if name in frame)
        with respelled(""):
            series = from_frames({"site": frame}, self.roles._replace(target=present), **self.reading)
        data = tensors(series, self.moments, torch.float32)
        return simulate(self.model, data, series, (0, len(frame)), warmup=0).predictions

    def predict(self, frame: pd.DataFrame) -> pd.Series:
        """The first target at every date of a table; observations are not needed."""
        found = self.simulate(frame)
        name = "simulated" if "simulated" in found else f"simulated_{self.roles.target[0]}"
        return found[name].isel(site=0).to_series().rename(self.roles.target[0])

    def score(self, frame: pd.DataFrame) -> dict[str, float]:
        """NSE, KGE and the other metrics of a table that holds the target."""
        require_columns(frame.columns, self.roles.target[:1], "the DataFrame")
        return score(self.predict(frame).to_numpy(), frame[self.roles.target[0]].to_numpy())


def fit(
    frame: pd.DataFrame,
    *,
    mass: str | Sequence[str],
    target: str | Sequence[str],
    aux: str | Sequence[str] = (),
    model: str = "mclstm",
    warmup: int = 365,
    length: int = 545,
    stride: int | None = 10,
    batch_size: int = 32,
    updates: int = 200,
    learning_rate: float = 0.02,
    clip: float | None = 1.0,
    loss: str = "nse",
    seed: int = 0,
    missing_mass: str = "error",
    missing_aux: str = "error",
    quiet: bool = True,
    **options: Any,
) -> Fitted:
    """Train a model on a table indexed by date; `options` are those of the model, such as hidden_size=16.

    Mass enters in its own unit and must be in the unit of the target (a depth in mm/day for both, say), for
    what flows out is what flowed in. Windows of `length` steps are scored after their first `warmup`. Holes
    in the inputs are refused unless missing_mass ("zero", "interpolate") or missing_aux ("interpolate") say
    what to put there; the same is done to every table the model reads later.
    """
    training = check_training(
        "fit", length=length, warmup=warmup, stride=stride, batch_size=batch_size, updates=updates,
        learning_rate=learning_rate, clip=clip, loss=loss, seed=seed,
    )  # fmt: skip
    build = MODELS[one_of("model", model, MODELS)]
    roles = Roles(_names(mass), _names(aux), (), _names(target))
    if not roles.target:
        raise ConfigError("no target column is named. Name at least one, for example target='flow'.")
    reading: dict[str, Any] = {"missing_mass": missing_mass, "missing_aux": missing_aux}
    reading["allow_negative_mass"] = options.get("allow_negative_mass", False)
    with respelled(""):
        series = from_frames({"site": frame}, roles, **reading)
    found = moments(series)
    torch.manual_seed(seed)
    sizes = Sizes(len(roles.mass), len(roles.aux), 0, roles.target)
    network = build(sizes, scale_of(found, roles.mass, roles.target), **{"hidden_size": 16, **options})
    with tempfile.TemporaryDirectory() as folder, showing(updates, model, quiet) as show, as_interrupt():
        Path(folder, "checkpoints").mkdir()
        train(
            network, tensors(series, found, torch.float32), (0, len(frame)), Path(folder),
            validate=None, show=show, model_hash="",
            **training.for_the_loop() | {"checkpoint_every": updates},  # nobody goes on with this folder
        )  # fmt: skip
    return Fitted(network, roles, found, reading)


@contextmanager
def as_interrupt() -> Iterator[None]:
    """Ctrl-C is a KeyboardInterrupt again: there is no run folder to go on with."""
    try:
        yield
    except Interrupted as stop:
        raise KeyboardInterrupt from stop


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)

"""From a DataFrame to predictions in three lines, without a config or a run folder.

>>> import numpy as np, pandas as pd
>>> days = pd.date_range("2001-01-01", periods=120)
>>> table = pd.DataFrame({"rain": np.random.default_rng(0).random(120), "flow": 0.5}, index=days)
>>> river = fit(table, mass="rain", target="flow", hidden_size=3, warmup=20, length=40, updates=2)
>>> river.predict(table[["rain"]]).shape
(120,)
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import torch
import xarray as xr
from torch import nn

from mclstm.config import check_training
from mclstm.data.columns import require_columns
from mclstm.data.findings import respelled
from mclstm.data.read import from_frames
from mclstm.data.scaling import Moment, moments
from mclstm.data.site_tables import Roles
from mclstm.data.windows import tensors, windows
from mclstm.errors import ConfigError, Interrupted
from mclstm.evaluation.metrics import score
from mclstm.evaluation.outlets import require_target_names, variable
from mclstm.evaluation.score_tables import score_table
from mclstm.evaluation.simulate import simulate
from mclstm.models import MODELS
from mclstm.models.output import Sizes, scale_of
from mclstm.nn.arguments import one_of
from mclstm.training.loop import fit as train
from mclstm.training.progress import showing
from mclstm.training.update import site_weights

__all__ = ["Fitted", "fit"]


class Fitted(NamedTuple):
    """A trained model with what it needs to read another table of the same columns."""

    model: nn.Module
    roles: Roles
    moments: dict[str, Moment]
    reading: dict[str, Any]  # how a table is read: missing_mass, missing_aux, allow_negative_mass

    def simulate(self, frame: pd.DataFrame) -> xr.Dataset:
        """All results for a table: predictions, storage, outflow, ledger; (site, time)."""
        present = tuple(name for name in self.roles.target if name in frame)
        with respelled(""):
            series = from_frames({"site": frame}, self.roles._replace(target=present), **self.reading)
        data = tensors(series, self.moments, torch.float32)
        return simulate(self.model, data, series, (0, len(frame)), warmup=0).predictions

    def predict(self, frame: pd.DataFrame) -> pd.Series | pd.DataFrame:
        """The target at every date of a table, or a column for each target; observations are not needed."""
        predictions, names = self.simulate(frame).isel(site=0), self.roles.target
        if len(names) == 1:
            return predictions["simulated"].to_series().rename(names[0])
        columns = {name: predictions[variable("simulated", name)].to_series() for name in names}
        return pd.DataFrame(columns)

    def score(self, frame: pd.DataFrame, warmup: int = 0) -> dict[str, float] | pd.DataFrame:
        """NSE, KGE and the other metrics of a table that holds all targets, after its first `warmup` steps.

        Several targets give a table: a row for each, for their `total`, and for all of them `pooled`.
        """
        require_columns(frame.columns, self.roles.target, "the DataFrame")
        if len(self.roles.target) == 1:
            simulated, observed = self.predict(frame), frame[self.roles.target[0]]
            return score(simulated.to_numpy()[warmup:], observed.to_numpy()[warmup:])
        table = score_table(self.simulate(frame).isel(time=slice(warmup, None)))
        return table.drop(columns="site").set_index("target")


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

    Mass and target must have the same unit, for example mm/day: what flows out is what flowed in. Each window
    has `length` steps; its first `warmup` steps are not scored. Missing inputs raise DataError unless
    missing_mass ("zero", "interpolate") or missing_aux ("interpolate") say how to fill them. Every table that
    the model reads later is filled in the same way.
    """
    training = check_training(
        "fit", length=length, warmup=warmup, stride=stride, batch_size=batch_size, updates=updates,
        learning_rate=learning_rate, clip=clip, loss=loss, seed=seed,
    )  # fmt: skip
    build = MODELS[one_of("model", model, MODELS)]
    roles = Roles(_names(mass), _names(aux), (), _names(target))
    if not roles.target:
        raise ConfigError("no target column is named. Name at least one, for example target='flow'.")
    require_target_names(roles.target)
    negative = options.get("allow_negative_mass", False)
    reading = {"missing_mass": missing_mass, "missing_aux": missing_aux, "allow_negative_mass": negative}
    with respelled(""):
        series = from_frames({"site": frame}, roles, **reading)
    scaling = moments(series)
    torch.manual_seed(seed)
    sizes = Sizes(len(roles.mass), len(roles.aux), 0, roles.target)
    network = build(sizes, scale_of(scaling, roles.mass, roles.target), **{"hidden_size": 16, **options})
    data = tensors(series, scaling, torch.float32)
    where = windows(data, (0, len(frame)), training.scheme, length, warmup, stride)
    weights = site_weights(data.y[:, : len(frame)], loss)
    settings = training.for_the_loop() | {"checkpoint_every": updates}
    try:
        with tempfile.TemporaryDirectory() as folder, showing(updates, model, quiet) as show:
            (place := Path(folder)).joinpath("checkpoints").mkdir()
            train(network, data, where, weights, place, validate=None, show=show, model_hash="", **settings)
    except Interrupted as stop:
        raise KeyboardInterrupt from stop  # there is no run folder to resume
    return Fitted(network, roles, scaling, reading)


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)

"""A model that `fit` trained: it predicts, simulates, scores and draws other tables of the same columns."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import torch
import xarray as xr
from torch import nn

from mclstm.data.checks.departures import departures
from mclstm.data.columns import require_columns
from mclstm.data.features import clock_names, with_clock
from mclstm.data.findings import respelled, warn
from mclstm.data.read import from_frames
from mclstm.data.scaling import Moment, moments_from_json
from mclstm.data.sequences import Rhythm
from mclstm.data.site_tables import Roles
from mclstm.data.windows import tensors
from mclstm.errors import CheckpointError, ConfigError, DataError
from mclstm.evaluation.ensemble import simulate_all
from mclstm.evaluation.metrics import score
from mclstm.evaluation.outlets import variable
from mclstm.evaluation.score_tables import score_table
from mclstm.evaluation.simulate import simulate
from mclstm.evaluation.simulate_sequences import simulate_sequences
from mclstm.models import MODELS
from mclstm.models.members import seeded
from mclstm.models.output import Sizes, scale_of
from mclstm.training import checkpoint
from mclstm.training.state import Progress, load_weights, weights_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Fitted", "build", "series_of"]

SITE = "site"  # a table is one site, and has no name


class Fitted(NamedTuple):
    """A trained model with what it needs to read another table of the same columns."""

    model: nn.Module
    kind: str  # its name in MODELS
    options: dict[str, Any]  # of the model
    roles: Roles
    moments: dict[str, Moment]
    reading: dict[str, Any]  # how a table is read: missing_mass, missing_aux, allow_negative_mass
    clock: dict[str, Any]  # which inputs tell the time: time_of_day, time_of_week, weekend
    warmup: int  # steps that fill the stores and are not scored
    rhythm: Rhythm | None = None  # when sequences begin, if the model was trained on sequences
    seeds: Sequence[int] = (0,)

    def __repr__(self) -> str:
        inputs = ", ".join((*self.roles.mass, *self.roles.aux))
        members = f", {len(self.seeds)} members" if len(self.seeds) > 1 else ""
        size = f"{self.options['hidden_size']} cells"
        return f"Fitted({self.kind}, {size}{members}: {inputs} -> {', '.join(self.roles.target)})"

    def simulate(self, frame: pd.DataFrame) -> xr.Dataset:
        """All results for a table: predictions, storage, outflow, ledger; (site, time)."""
        present = tuple(name for name in self.roles.target if name in frame)
        series = series_of(frame, self.roles._replace(target=present), self.reading, self.clock)
        warn(departures(series, self.moments, {}), "")
        data, period = tensors(series, self.moments, torch.float32), (0, series.sizes["time"])

        def one(model: nn.Module, cells: bool) -> xr.Dataset:
            if self.rhythm is not None:
                return simulate_sequences(model, data, series, period, self.rhythm, cells=cells)
            return simulate(model, data, series, period, warmup=0, cells=cells).predictions

        return simulate_all(self.model, one, self.seeds)

    def predict(self, frame: pd.DataFrame) -> pd.Series | pd.DataFrame:
        """The target at every date of a table, or a column for each target; observations are not needed.

        In the first `warmup` steps the stores still fill up: do not use these predictions.
        """
        predictions, names = self.simulate(frame).isel(site=0), self.roles.target
        if len(names) == 1:
            return predictions["simulated"].to_series().rename(names[0])
        columns = {name: predictions[variable("simulated", name)].to_series() for name in names}
        return pd.DataFrame(columns)

    def score(self, frame: pd.DataFrame, warmup: int | None = None) -> dict[str, float] | pd.DataFrame:
        """NSE, KGE and the other metrics of a table that holds all targets, after its first `warmup` steps.

        Several targets give a table: a row for each, for their `total`, and for all of them `pooled`.
        warmup: None takes that of the training; sequences have none
        """
        require_columns(frame.columns, self.roles.target, "the DataFrame")
        warmup = self.warmup if warmup is None else warmup
        if len(frame) <= warmup:
            raise DataError(
                f"the table has {len(frame)} steps, and the first {warmup} only fill the stores. "
                "Give it the steps before as well, or pass warmup=0 to score them all the same."
            )
        if len(self.roles.target) == 1:
            simulated, observed = self.predict(frame), frame[self.roles.target[0]]
            return score(simulated.to_numpy()[warmup:], observed.to_numpy()[warmup:])
        table = score_table(self.simulate(frame).isel(time=slice(warmup, None)))
        return table.drop(columns="site").set_index("target")

    def plot(self, frame: pd.DataFrame, target: str | None = None) -> "Figure":
        """The hydrograph of a table: inflow, flow, stores, balance; `.savefig("river.png")` writes it."""
        from mclstm.report.hydrograph import hydrograph

        names = self.roles.target
        require_columns(names, [target or names[0]], "the model")
        return hydrograph(self.simulate(frame), SITE, "" if len(names) == 1 else target or names[0])

    def save(self, path: str | Path) -> None:
        """Write weights and all the rest into one file, a safetensors file; `Fitted.load` reads it."""
        about = self._asdict() | {"roles": self.roles._asdict(), "seeds": list(self.seeds)}
        about |= {"rhythm": None if self.rhythm is None else self.rhythm._asdict()}
        about = {name: value for name, value in about.items() if name != "model"}
        try:
            json.dumps(about)
        except TypeError as error:
            raise ConfigError(
                f"an option of the model cannot be saved: {error}. Give options as numbers, text and lists."
            ) from None
        metadata = {"model_hash": _hash(about), "progress": Progress(finished=True)._asdict()}
        checkpoint.save(path, weights_of(self.model), metadata | {"fitted": about})

    @classmethod
    def load(cls, path: str | Path) -> "Fitted":
        """A model that `save` wrote."""
        about: Any = checkpoint.load(path)[1].get("fitted")
        try:
            roles = Roles(*(tuple(about["roles"][role]) for role in Roles._fields))
            columns = [*roles.columns(), *clock_names(**about["clock"])]
            scaling = moments_from_json(about["moments"], str(path), columns)
            rest = {key: about[key] for key in ("reading", "clock", "warmup")}
            rhythm = None if about["rhythm"] is None else Rhythm(**about["rhythm"])
            model = build(about["kind"], about["options"], roles, about["clock"], scaling, about["seeds"])
            fitted = cls(model, about["kind"], about["options"], roles, scaling, **rest, rhythm=rhythm,
                         seeds=about["seeds"])  # fmt: skip
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise CheckpointError(f"{path} was not written by Fitted.save. Give a file that was.") from error
        load_weights(Path(path), model, _hash(about))
        return fitted


def build(
    kind: str,
    options: dict[str, Any],
    roles: Roles,
    clock: dict[str, Any],
    scaling: dict[str, Moment],
    seeds: Sequence[int],
) -> nn.Module:
    """The model of `fit` with its seeded initial weights."""
    sizes = Sizes(len(roles.mass), len(roles.aux) + len(clock_names(**clock)), 0, roles.target)
    scale = scale_of(scaling, roles.mass, roles.target)
    return seeded(lambda: MODELS[kind](sizes, scale, **options), seeds)


def series_of(
    frame: pd.DataFrame, roles: Roles, reading: dict[str, Any], clock: dict[str, Any]
) -> xr.Dataset:
    """A table as a checked series, with the inputs that tell the time."""
    with respelled(""):
        series = from_frames({SITE: frame}, roles, **reading)
    return with_clock(series, **clock)


def _hash(about: dict[str, Any]) -> str:
    return checkpoint.model_hash({key: about[key] for key in ("kind", "options", "roles", "clock")})

"""The inputs of one step: from values by column to what a model sees, without a table in between."""

import copy
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from mclstm.data.clock import day_of_year, season, time_of_step
from mclstm.data.columns import listed
from mclstm.data.features import extraterrestrial, hargreaves, in_celsius, require_latitudes
from mclstm.data.scaling import standardised
from mclstm.data.units import convert
from mclstm.data.vapour_pressure import saturated
from mclstm.deploy.new_data import need
from mclstm.deploy.trained_model import TrainedModel
from mclstm.errors import DataError
from mclstm.series_from_config import inputs

__all__ = ["StepInputs"]

Array = NDArray[np.float64]


class StepInputs:
    """Turns the values of a step into tensors, as `mclstm predict` turns a file into them.

    Mass stays as it is, auxiliaries and attributes are standardised with the moments of the training. Season,
    time of day and week, and evapotranspiration are computed from the time of the step.
    """

    def __init__(
        self,
        model: TrainedModel,
        sites: Sequence[str],
        realisations: int,
        attributes: Mapping[str, ArrayLike],
        dtype: torch.dtype,
    ) -> None:
        self.model, self.sites, self.dtype = model, list(sites), dtype
        self.shape = (realisations, len(sites))
        data, columns = model.config.data, inputs(model.config)
        self.mass, self.supplied = columns["mass"], [*data.mass, *data.read_as_aux]
        self.negative_mass = bool(getattr(model.config.model, "allow_negative_mass", False))
        moments = [model.moments[name] for name in columns["aux"]]
        self.mean, self.std = (np.array([pair[part] for pair in moments]) for part in (0, 1))
        known = self._attributes(attributes)
        rows = [standardised(known[name], model.moments[name]) for name in data.static]
        one = np.stack(rows, -1) if rows else np.zeros((len(sites), 0))
        self.static = torch.tensor(np.tile(one, (realisations, 1)), dtype=dtype)  # (N B, S)
        self.latitude = None if data.pet is None else self._latitude(data.pet.latitude, known)

    def repeated(self, realisations: int) -> "StepInputs":
        """The inputs of so many realisations instead of one."""
        other = copy.copy(self)
        other.shape = (realisations, len(self.sites))
        other.static = self.static.repeat(realisations, 1)
        return other

    def _attributes(self, attributes: Mapping[str, ArrayLike]) -> dict[str, Array]:
        data = self.model.config.data
        wanted = [*data.static, *data.only_read]
        self._require_columns(attributes, wanted, "attributes")
        return {name: self._values(name, attributes[name], self.shape[1:]) for name in wanted}

    def _latitude(self, latitude: float | str, known: Mapping[str, Array]) -> Array:
        north = known[latitude] if isinstance(latitude, str) else np.full(self.shape[1:], latitude)
        return require_latitudes(north, latitude)

    def tensors(self, values: Mapping[str, ArrayLike], time: np.datetime64) -> tuple[Tensor, Tensor]:
        """Mass x (1, N B, M) and auxiliaries a (1, N B, A) of one step.

        values: of every column of the model, in the units of the training, each a number, (B,) or (N, B)
        """
        self._require_columns(values, self.supplied, "inputs")
        known = {name: self._values(name, values[name], self.shape) for name in self.supplied}
        x = np.stack([known[name] for name in self.mass], -1)
        if not self.negative_mass and (x < 0).any():
            place = np.argwhere(x < 0)[0]
            raise DataError(
                f"{self.mass[place[-1]]} is {x[tuple(place)]:g} at site {self.sites[place[1]]!r}: mass is "
                "not negative. Correct it, or train with allow_negative_mass."
            )
        return self._tensor(x), self._tensor((self._auxiliaries(known, time) - self.mean) / self.std)

    def _auxiliaries(self, known: Mapping[str, Array], time: np.datetime64) -> Array:
        """All auxiliaries of a step in the order in which the model sees them, (N, B, A)."""
        data, now = self.model.config.data, np.array([time])
        if data.vapour_pressure is not None:
            known = {**known, data.vapour_pressure.column: self._vapour_pressure(known)}
        columns = [known[name] for name in data.aux]
        columns += [*season(now)] if data.day_of_year else []
        if data.pet is not None and self.latitude is not None:
            tmax, tmin = (
                in_celsius(known[name], self.model.units.get(name, ""), name)
                for name in (data.pet.tmax, data.pet.tmin)
            )
            columns.append(hargreaves(tmax, tmin, extraterrestrial(self.latitude, day_of_year(now))[:, 0]))
        columns += time_of_step(now, data.time_of_day, data.time_of_week, data.weekend)
        result = np.empty((*self.shape, len(columns)))
        for at, column in enumerate(columns):
            result[..., at] = column
        return result

    def _vapour_pressure(self, known: Mapping[str, Array]) -> Array:
        """Computed as in training, in its unit there, (N, B)."""
        data, units = self.model.config.data, self.model.units
        assert data.vapour_pressure is not None
        column, source = data.vapour_pressure.column, data.vapour_pressure.source
        unit = units.get(source) or data.convert.get(source) or data.units.get(source, "")
        pressure = saturated(in_celsius(known[source], unit, source))
        converted: Array = convert(pressure, "Pa", units.get(column) or "Pa", role="aux")
        return converted

    def _tensor(self, values: Array) -> Tensor:  # (N, B, columns) -> (1, N B, columns)
        flat = values.reshape(1, -1, values.shape[-1])
        return torch.from_numpy(flat).to(self.dtype)

    def _values(self, name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
        try:
            values: Array = np.broadcast_to(np.asarray(value, dtype=np.float64), shape)
        except (TypeError, ValueError):
            one = " or ".join(str(shape[at:]) for at in range(len(shape)))
            raise DataError(
                f"{name} is no number and no array of numbers of shape {one}. Give one of them."
            ) from None
        if not np.isfinite(values).all():
            site = self.sites[int(np.argwhere(~np.isfinite(values))[0][-1])]
            raise DataError(f"{name} is missing or infinite at site {site!r}. Fill it before the step.")
        return values

    def _require_columns(self, values: Mapping[str, ArrayLike], wanted: Sequence[str], what: str) -> None:
        if values.keys() == set(wanted):
            return
        for name in wanted:
            if name not in values:
                raise DataError(f"{need(self.model, name)}, which is not among the {what}. Add it.")
        unknown = next(name for name in values if name not in wanted)
        raise DataError(f"the model has no column {unknown!r} among its {what}. It has {listed(wanted)}.")

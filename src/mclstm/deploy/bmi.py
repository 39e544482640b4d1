"""The Basic Model Interface (CSDMS) of a trained model, for NextGen and other frameworks.

`BmiMCLSTM` has all methods of BMI 2.0 and needs no package of CSDMS: frameworks call methods by their names.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from mclstm.data.columns import listed
from mclstm.deploy.bmi_config import read_bmi_config
from mclstm.deploy.bmi_variables import (
    Variable,
    amount_of,
    array_variable,
    inputs_of,
    mass_variables,
    outputs_of,
    serialization,
)
from mclstm.deploy.stepper import Stepper
from mclstm.errors import ConfigError, DataError

__all__ = ["BmiMCLSTM"]

Array = NDArray[Any]
GRID = 0  # the only grid: one node per site
UNTIL = 1e-6  # steps; how far a time may be from a whole number of steps


class BmiMCLSTM:
    """A run or packed model with the methods of the Basic Model Interface; `initialize` takes a YAML file.

    Times are seconds since the first step. Values are float64, one per site. Inputs and outputs have CSDMS
    standard names where their columns are known, and the units of the training. Until somebody sets them,
    mass inputs are 0 and auxiliaries at their mean in training.

    Beside the listed variables there are `ngen::mass_in`, `mass_out`, `mass_stored` and `mass_leaked`,
    `mclstm::stores` to read or set what every cell holds, and on demand `ngen::serialization_*`.
    """

    def initialize(self, config_file: str) -> None:
        """Open the model that a file names."""
        config = read_bmi_config(Path(config_file))
        dtype = {"float32": torch.float32, "float64": torch.float64}[config.precision]
        self._stepper = Stepper(config.model, config.sites, config.attributes, dtype=dtype)
        self._start, self._steps = pd.Timestamp(config.start), config.steps
        self._length = self._step_length(config.model)
        self._begin(config.state)
        nodes = np.arange(len(config.sites), dtype=np.float64)
        self._x = np.array(config.longitude) if config.longitude else nodes
        self._y = np.array(config.latitude) if config.latitude else np.zeros_like(nodes)
        self._columns = inputs_of(self._stepper, config.names)
        self._outputs = outputs_of(self._stepper, config.names)
        self._variables = self._all_variables(config.serialization)
        self._refresh()

    def _step_length(self, model: str) -> float:
        """Seconds of a step."""
        offset = self._stepper.offset
        dates = (
            pd.DatetimeIndex([]) if offset is None else pd.date_range(self._start, periods=14, freq=offset)
        )
        lengths = np.diff(dates.to_numpy())
        if not len(lengths) or (lengths != lengths[0]).any():
            raise ConfigError(
                f"{model} was trained on steps of no fixed length, which BMI needs. Use another."
            )
        return float(lengths[0] / np.timedelta64(1, "s"))

    def _begin(self, state: str | None) -> None:
        """The state before the first step has the date of the step before it."""
        before = self._start - pd.Timedelta(seconds=self._length)
        if state is not None:
            self._stepper.load(state)
            if self._stepper.time != before:
                raise DataError(
                    f"{state} is of {self._stepper.time}, but the step before the start is {before}. "
                    "Correct start:, or give the state of that date."
                )
        self._stepper.time = before

    def _all_variables(self, with_serialization: bool) -> dict[str, Variable]:
        stepper, units = self._stepper, self._stepper.model.units
        moments, sites = stepper.model.moments, len(stepper.sites)
        variables = {}
        for name, column in self._columns.items():
            first = 0.0 if column in stepper.inputs.mass else moments[column].mean
            variables[name] = array_variable(units.get(column) or "1", np.full(sites, first), settable=True)
        targets = [units.get(target) or "1" for target in stepper.targets]
        beside = [amount_of(stepper)] if stepper.has_stores else []
        for unit, (name, values) in zip([*targets, *beside], self._outputs.items(), strict=True):
            if name in variables:
                raise ConfigError(f"An input and an output are called {name!r}. Name them apart in names:.")
            variables[name] = array_variable(unit, values, settable=False)
        variables |= mass_variables(stepper) if stepper.has_stores else {}
        return variables | (serialization(stepper) if with_serialization else {})

    def update(self) -> None:
        """Make one step with the present values of the inputs."""
        self._stepper.step({column: self._array(name) for name, column in self._columns.items()})
        self._refresh()

    def update_until(self, time: float) -> None:
        """Make steps up to a time, a whole number of steps from the start."""
        steps = (time - self.get_current_time()) / self._length
        if steps < -UNTIL or abs(steps - round(steps)) > UNTIL:
            raise DataError(f"{time} s is no whole number of steps of {self._length:g} s ahead. Give one.")
        for _ in range(round(steps)):
            self.update()

    def finalize(self) -> None:
        """Let the model go."""
        self.__dict__.clear()

    def _refresh(self) -> None:
        """Put the results of the last step into the arrays of the outputs."""
        last, arrays = self._stepper.last, list(self._outputs.values())
        if last is not None:
            for values, column in zip(arrays, last.mean.T, strict=False):
                values[:] = column
        if self._stepper.ledger is not None:
            arrays[-1][:] = self._stepper.ledger.storage.mean(axis=(0, 1))

    def get_component_name(self) -> str:
        return "MC-LSTM"

    def get_input_item_count(self) -> int:
        return len(self._columns)

    def get_output_item_count(self) -> int:
        return len(self._outputs)

    def get_input_var_names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def get_output_var_names(self) -> tuple[str, ...]:
        return tuple(self._outputs)

    def get_start_time(self) -> float:
        return 0.0

    def get_current_time(self) -> float:
        assert self._stepper.time is not None
        return (self._stepper.time - self._start).total_seconds() + self._length

    def get_end_time(self) -> float:
        return float(np.finfo(np.float64).max) if self._steps is None else self._steps * self._length

    def get_time_step(self) -> float:
        return self._length

    def get_time_units(self) -> str:
        return "s"

    def get_var_units(self, name: str) -> str:
        return self._variable(name).unit

    def get_var_type(self, name: str) -> str:
        return str(self._array(name).dtype)

    def get_var_itemsize(self, name: str) -> int:
        return self._array(name).itemsize

    def get_var_nbytes(self, name: str) -> int:
        return self._array(name).nbytes

    def get_var_grid(self, name: str) -> int:
        self._require_on_grid(name)
        return GRID

    def get_var_location(self, name: str) -> str:
        self._require_on_grid(name)
        return "node"

    def get_value(self, name: str, dest: Array) -> Array:
        """Copy the values of a variable into an array, and return it."""
        dest[:] = self._array(name)
        return dest

    def get_value_ptr(self, name: str) -> Array:
        """The array of a variable; writing into that of an input sets it, into others changes nothing."""
        return self._array(name)

    def get_value_at_indices(self, name: str, dest: Array, inds: Array) -> Array:
        dest[:] = self._array(name)[inds]
        return dest

    def set_value(self, name: str, src: Array) -> None:
        """Set an input, what the cells hold (booked as a correction), or a state to go on from."""
        put = self._variable(name).put
        if put is None:
            raise DataError(f"{name} is computed by the model and cannot be set. Set an input instead.")
        put(np.asarray(src).ravel())
        self._refresh()

    def set_value_at_indices(self, name: str, inds: Array, src: Array) -> None:
        values = self._array(name).copy()
        values[inds] = src
        self.set_value(name, values)

    def get_grid_type(self, grid: int) -> str:
        return "scalar" if len(self._x) == 1 else "unstructured"

    def get_grid_rank(self, grid: int) -> int:
        return 0 if len(self._x) == 1 else 2

    def get_grid_size(self, grid: int) -> int:
        return len(self._x)

    def get_grid_node_count(self, grid: int) -> int:
        return len(self._x)

    def get_grid_edge_count(self, grid: int) -> int:
        return 0

    def get_grid_face_count(self, grid: int) -> int:
        return 0

    def get_grid_x(self, grid: int, x: Array) -> Array:
        x[:] = self._x
        return x

    def get_grid_y(self, grid: int, y: Array) -> Array:
        y[:] = self._y
        return y

    def get_grid_z(self, grid: int, z: Array) -> Array:
        raise NotImplementedError("The nodes have no height.")

    def get_grid_shape(self, grid: int, shape: Array) -> Array:
        raise NotImplementedError("The nodes are single points, no array.")

    get_grid_spacing = get_grid_origin = get_grid_shape

    def get_grid_edge_nodes(self, grid: int, nodes: Array) -> Array:
        return nodes  # points have no edges and no faces: there is nothing to write

    get_grid_face_nodes = get_grid_face_edges = get_grid_nodes_per_face = get_grid_edge_nodes

    def _variable(self, name: str) -> Variable:
        if name not in self._variables:
            raise DataError(f"There is no variable {name!r}. There are {listed(list(self._variables))}.")
        return self._variables[name]

    def _array(self, name: str) -> Array:
        return self._variable(name).values()

    def _require_on_grid(self, name: str) -> None:
        """Refuse variables without one value per site: the reserved ones."""
        if name not in self._columns and name not in self._outputs:
            raise DataError(f"{name!r} has no place on the grid of sites. Ask for an input or an output.")

"""The variables of a model behind the Basic Model Interface: names, units, arrays."""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mclstm.data.units import amount_unit
from mclstm.deploy.stepper import Stepper
from mclstm.errors import DataError

__all__ = [
    "Variable", "amount_of", "array_variable", "inputs_of", "mass_variables", "outputs_of", "serialization",
]  # fmt: skip

# CSDMS standard names of usual columns. A rate of rain or runoff is a volume per area and time.
STANDARD_NAMES = {
    "prcp": "atmosphere_water__liquid_equivalent_precipitation_rate",
    "rain": "atmosphere_water__liquid_equivalent_precipitation_rate",
    "precipitation": "atmosphere_water__liquid_equivalent_precipitation_rate",
    "temperature": "land_surface_air__temperature",
    "tmax": "land_surface_air__time_max_of_temperature",
    "tmin": "land_surface_air__time_min_of_temperature",
    "srad": "land_surface_radiation~incoming~shortwave__energy_flux",
    "vp": "land_surface_air_water~vapor__partial_pressure",
    "flow": "land_surface_water__runoff_volume_flux",
    "discharge": "land_surface_water__runoff_volume_flux",
}
STORAGE = "land_water__depth"  # what all cells of a site hold together
CELLS = "mclstm::stores"  # what every cell holds, by member, site and cell
SLACK = 512  # bytes; the length of a state varies with the digits of its numbers


class Variable(NamedTuple):
    """A unit, the array of values, and what happens when somebody sets them; None: they cannot be set."""

    unit: str
    values: Callable[[], NDArray[Any]]  # one-dimensional; inputs, outputs and masses always the same array
    put: Callable[[NDArray[Any]], None] | None = None


def outside(column: str, names: Mapping[str, str]) -> str:
    """The name of a column outside: as configured, its standard name, or its own."""
    return names.get(column, STANDARD_NAMES.get(column, column))


def inputs_of(stepper: Stepper, names: Mapping[str, str]) -> dict[str, str]:
    """The columns that a step needs by their names outside; refused where two have one name."""
    columns = {outside(column, names): column for column in stepper.inputs.supplied}
    if len(columns) < len(stepper.inputs.supplied):
        raise DataError("Two inputs have the same name outside. Name them apart in names:.")
    return columns


def array_variable(unit: str, values: NDArray[np.float64], *, settable: bool) -> Variable:
    """A variable that is an array, changed in place."""

    def put(new: NDArray[Any]) -> None:
        values[:] = new

    return Variable(unit, lambda: values, put if settable else None)


def outputs_of(stepper: Stepper, names: Mapping[str, str]) -> dict[str, NDArray[np.float64]]:
    """Arrays for the targets, and the total storage where there are stores, one number per site."""
    taken = [outside(target, names) for target in stepper.targets]
    if len(set(taken)) < len(taken):
        raise DataError("Two targets have the same name outside. Name them apart in names:.")
    return {
        name: np.zeros(len(stepper.sites)) for name in [*taken, *([STORAGE] if stepper.has_stores else [])]
    }


def amount_of(stepper: Stepper) -> str:
    """The unit of what a store holds."""
    unit = stepper.model.units.get(stepper.inputs.mass[0], "")
    return amount_unit(unit, pd.date_range("2001-01-01", periods=2, freq=stepper.offset)) if unit else "1"


def mass_variables(stepper: Stepper) -> dict[str, Variable]:
    """The four masses of NextGen's protocol and the cells: reserved, in no list of names.

    mass_in counts what was stored at the start, the inflow and the corrections. What rounding loses is in
    mass_leaked: mass_in - mass_out - mass_stored - mass_leaked is exactly 0 in this order. All are sums over
    sites, of the mean over members.
    """
    unit, masses = amount_of(stepper), np.zeros(4)

    def total(amounts: NDArray[np.float64]) -> float:  # (E, N, B)
        return float(amounts.mean(axis=(0, 1)).sum())

    def booked(at: int) -> NDArray[np.float64]:
        books = stepper.ledger
        assert books is not None
        masses[:3] = (
            total(books.initial + books.inflow + books.corrected),
            total(books.outflow),
            total(books.storage),
        )
        masses[3] = masses[0] - masses[1] - masses[2]
        return masses[at : at + 1]

    def put(cells: NDArray[Any]) -> None:
        stepper.set_stores(np.asarray(cells, dtype=np.float64).reshape(stepper.stores.shape))

    names = ("mass_in", "mass_out", "mass_stored", "mass_leaked")
    variables = {f"ngen::{name}": Variable(unit, partial(booked, at)) for at, name in enumerate(names)}
    return variables | {CELLS: Variable(unit, lambda: stepper.stores.ravel(), put)}


def serialization(stepper: Stepper) -> dict[str, Variable]:
    """The state as bytes, by NextGen's protocol: create, size, state, free; a set state is restored.

    The bytes are a file of states behind their length, filled up to a length that never changes: callers size
    their buffers before there is a state. What does not fit the model is refused as a file would be.
    """
    captured: list[bytes] = []
    room = 8 + len(_bytes(stepper)) + SLACK

    def content() -> bytes:
        state = _bytes(stepper)
        return (len(state).to_bytes(8, "little") + state).ljust(room, b"\0")

    def state() -> NDArray[np.uint8]:
        return np.frombuffer(captured[0] if captured else content(), dtype=np.uint8)

    def restore(payload: NDArray[Any]) -> None:
        whole = np.asarray(payload, dtype=np.uint8).tobytes()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "ngen::serialization_state")
            file.write_bytes(whole[8 : 8 + int.from_bytes(whole[:8], "little")])
            stepper.load(file)

    def capture(_: NDArray[Any]) -> None:
        captured[:] = [content()]

    def free(_: NDArray[Any]) -> None:
        captured.clear()

    def size() -> NDArray[np.int64]:
        return np.array([sum(map(len, captured))], dtype=np.int64)

    trigger = np.zeros(1, dtype=np.int32)
    variables = {
        "create": Variable("ngen::trigger", lambda: trigger, capture),
        "free": Variable("ngen::trigger", lambda: trigger, free),
        "size": Variable("bytes", size),
        "state": Variable("ngen::opaque", state, restore),
    }
    return {f"ngen::serialization_{name}": variable for name, variable in variables.items()}


def _bytes(stepper: Stepper) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        stepper.save(Path(folder, "state"))
        return Path(folder, "state").read_bytes()

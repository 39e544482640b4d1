"""Whether an exported model computes what the model computes: random inputs, zero mass and zero states."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from mclstm.data.scaling import standardised
from mclstm.deploy.export_program import ENTERED, INPUTS, MEMBERS, OUTFLOW, PREDICTION
from mclstm.deploy.running_ledger import RunningLedger
from mclstm.deploy.trained_model import TrainedModel
from mclstm.errors import ConfigError
from mclstm.from_config import clipped_targets
from mclstm.models.output import Output
from mclstm.series_from_config import inputs

__all__ = ["Arrays", "difference", "random_values", "require_parity", "simulated"]

Array = NDArray[np.float64]
Arrays = dict[str, NDArray[np.floating]]
WARM = 12  # random steps that fill the stores of a random state
MOST = 32.0  # epsilons that a step may differ from the model, relative to the largest value


class Kinds(NamedTuple):
    """Of every row whether its mass, and whether its state, is random; else it is zero."""

    mass: NDArray[np.bool_]  # (B,)
    state: NDArray[np.bool_]  # (B,)


def kinds(rows: int) -> Kinds:
    """Of four rows: one with neither mass nor state, one without each, one with both."""
    at = np.arange(rows) % 4
    return Kinds(at % 2 == 1, at >= 2)


def random_values(
    model: TrainedModel, dtype: torch.dtype, steps: int, rows: int, source: np.random.Generator
) -> Arrays:
    """Inputs of T steps of B samples in the units of the training, and states that earlier steps left.

    mass (T, B, M), aux (T, B, A), static (B, S), as far as the model has them; every state (E, B, ...)
    """
    columns, chosen = inputs(model.config), kinds(rows)
    drawn = {role: _drawn(model, columns[role], (WARM + steps, rows), source) for role in ("mass", "aux")}
    if not getattr(model.config.model, "allow_negative_mass", False):
        drawn["mass"] = np.maximum(drawn["mass"], 0.0)  # about as many dry steps as data have
    static = _drawn(model, columns["static"], (rows,), source)
    before = {name: value[:WARM] for name, value in drawn.items()} | {"static": static}
    states = {
        name: value * chosen.state.reshape(1, -1, *[1] * (value.ndim - 2)).astype(value.dtype)
        for name, value in simulated(model, before, dtype).items()
        if name not in (PREDICTION, MEMBERS, OUTFLOW, ENTERED)
    }
    drawn["mass"][WARM:] *= chosen.mass[:, np.newaxis]
    values = {name: value[WARM:] for name, value in drawn.items()} | {"static": static}
    return states | {name: value for name, value in values.items() if value.shape[-1]}


def _drawn(
    model: TrainedModel, names: list[str], shape: tuple[int, ...], source: np.random.Generator
) -> Array:
    """Values around the moments of the training, (*shape, columns)."""
    moments = np.array([model.moments[name] for name in names]).reshape(-1, 2)
    return moments[:, 0] + moments[:, 1] * source.standard_normal((*shape, len(names)))


@torch.no_grad()
def simulated(model: TrainedModel, values: Mapping[str, NDArray[np.floating]], dtype: torch.dtype) -> Arrays:
    """What the model itself gives: its own backend, scaling as `mclstm predict` does it.

    values, result: names and shapes as those of `SequenceProgram`; without states it begins anew
    """
    columns = inputs(model.config)
    x = torch.tensor(values["mass"], dtype=dtype)
    rows: dict[str, torch.Tensor] = {}
    for role, shape in (("aux", x.shape[:2]), ("static", x.shape[1:2])):
        scaled = [
            standardised(values[role][..., at], model.moments[name]) for at, name in enumerate(columns[role])
        ]
        rows[role] = torch.tensor(np.stack(scaled, -1) if scaled else np.zeros((*shape, 0)), dtype=dtype)
    outputs: list[Output] = []
    for at, member in enumerate(model.members.values()):
        member.train(False)
        states = {name: torch.tensor(value[at]) for name, value in values.items() if name not in INPUTS}
        outputs.append(member(x, rows["aux"], rows["static"], states or None))
    return _results(model, outputs)


def _results(model: TrainedModel, outputs: list[Output]) -> Arrays:
    count = len(model.config.data.target)
    y = np.stack([output.y[..., :count].double().numpy() for output in outputs], axis=1)  # (T, E, B, targets)
    members = np.where(np.array(clipped_targets(model.config, model.units)) & (y < 0), 0.0, y)
    results: Arrays = {PREDICTION: members.mean(axis=1), MEMBERS: members}
    for name in outputs[0].state:
        results[name] = np.stack([output.state[name].numpy() for output in outputs])
    for name, kept in ((OUTFLOW, [o.h for o in outputs]), (ENTERED, [o.x for o in outputs])):
        known = [value.numpy() for value in kept if value is not None]
        results |= {name: np.stack(known, axis=1)} if known else {}
    return results


def difference(results: Mapping[str, NDArray[np.floating]], expected: Arrays) -> float:
    """The largest difference of any value, relative to the largest value of its kind; inf where not finite.

    >>> difference({"cells": np.array([2.0, 4.4])}, {"cells": np.array([2.0, 4.0])})
    0.10000000000000009
    """
    worst = 0.0
    for name, want in expected.items():
        size = float(np.abs(want).max()) or 1.0
        gap = float(np.abs(results[name].astype(np.float64) - want).max()) / size
        worst = max(worst, gap if np.isfinite(gap) else np.inf)
    return worst


def require_parity(
    model: TrainedModel,
    dtype: torch.dtype,
    program: Callable[[Arrays], Arrays],
    what: str,
    steps: int,
    rows: int,
) -> float:
    """The difference of a program from the model, if it is rounding; else a ConfigError in one sentence.

    program: takes and gives what `SequenceProgram` does · what: its name in the message
    """
    values = random_values(model, dtype, steps, rows, np.random.default_rng(steps))
    expected, results = simulated(model, values, dtype), program(values)
    gap = difference(results, expected)
    limit = MOST * torch.finfo(dtype).eps * np.sqrt(steps)  # rounding of steps adds up as a random walk
    if gap > limit:
        raise ConfigError(
            f"{what} differs from the model by {gap:.1e} of its largest value, more than {limit:.0e}, so "
            "nothing was written. Export with the other --precision, and report this."
        )
    layers = [getattr(member, "layer", None) for member in model.members.values()]
    if all(layer is not None and layer.conserving for layer in layers):
        _require_balance(values, results, what, dtype)
    return gap


def _require_balance(values: Arrays, results: Arrays, what: str, dtype: torch.dtype) -> None:
    """Refuse a program that loses mass; empty stores without inflow must stay empty."""
    ledger = RunningLedger.begun(values["cells"].astype(np.float64).sum(-1))  # (E, B)
    inflow, outflow = (results[name].astype(np.float64).sum(axis=(0, -1)) for name in (ENTERED, OUTFLOW))
    ledger.step(inflow, outflow, results["cells"].astype(np.float64).sum(-1))
    ledger.steps = len(results[OUTFLOW])
    if (np.abs(ledger.residual) > ledger.promised(values["cells"].shape[-1], dtype)).any():
        worst = float(np.abs(ledger.residual).max())
        raise ConfigError(
            f"{what} loses {worst:.1e} of mass in {ledger.steps} steps, so nothing was written. Report this."
        )

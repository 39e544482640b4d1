"""Which networks of the arithmetic tasks the kernel library can train, and how it is told about them.

Those that are a linear map of all that comes in and a small output layer: MC-LSTM whose gates see the marker
only, MC-FC, NAU and NAC, recurrent or not, with one of them, NMU or NAC• as output layer; and NALU behind
NALU, without time. All others, and all of them without the library, torch trains.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from mclstm.nn.mcfc import MCFC, MultiplicativeMCFC
from mclstm_paper.baselines import Linear
from mclstm_paper.baselines.nac import NAC, NACMul
from mclstm_paper.baselines.nalu import NALU
from mclstm_paper.baselines.nau import NAU
from mclstm_paper.baselines.nmu import NMU
from mclstm_paper.baselines.recurrent import RecurrentUnit
from mclstm_paper.kernels.learning import Trained, learn, learns
from mclstm_paper.recurrent_arithmetic.task import RecurrentArithmetic
from mclstm_paper.seeds.ensemble import Ensemble
from mclstm_paper.seeds.recipes import (
    MassConserving,
    OutputPenalty,
    Recipe,
    Recurrent,
    SparsityPenalty,
    no_penalty,
)
from mclstm_paper.static_arithmetic.task import StaticArithmetic

__all__ = ["Advance", "native_learning"]

BATCH = 128
Advance = Callable[[Ensemble, int], None]  # so many updates more of an ensemble that has had its first
Part = tuple[str, int, list[Tensor | None]]  # its name in the library, its outputs, its parameters in order


def native_learning(
    network: nn.Module, recipe: Recipe, task: StaticArithmetic | RecurrentArithmetic
) -> Advance | None:
    """Training by the library, None where it cannot; gradients are those of torch's, within rounding."""
    layer, head = first_layer(network), output_layer(network)
    if layer is None or head is None or not learns(BATCH, layer[1]):
        return None
    if not (follows(recipe, layer[0], head[0]) and ready(layer[2] + head[2]) and unit_range(task)):
        return None
    masks, seeds = task.subsets.masks, torch.tensor(task.seeds)
    offsets = masks[:, 0].argmax(dim=1)

    def advance(ensemble: Ensemble, updates: int) -> None:
        trained = Trained(
            layer=layer[0],
            head=head[0],
            operation=task.operation,
            inputs=task.input_size,
            steps=task.steps,
            batch=BATCH,
            outputs=layer[1],
            subset=int(masks[0, 0].sum()),
            overlap=int(masks[0].prod(dim=0).sum()),
            low=task.train_range[0],
            seeds=seeds,
            offsets=offsets,
            parameters=[ensemble.moments(parameter) for parameter in layer[2] + head[2]],
            failed=ensemble.failed,
            epsilon=recipe.epsilon,
            l2=recipe.penalty.factor if isinstance(recipe.penalty, OutputPenalty) else 0.0,
        )
        numbers = range(ensemble.update, ensemble.update + updates)
        rates = [ensemble.rate * (recipe.decay.at(u) if recipe.decay else 1.0) for u in numbers]
        schedule = recipe.penalty.schedule if isinstance(recipe.penalty, SparsityPenalty) else None
        pulls = [schedule.at(u) if schedule else 0.0 for u in numbers]
        learn(trained, ensemble.update, *(torch.tensor(v, dtype=torch.float64) for v in (rates, pulls)))
        ensemble.advanced(updates)

    return advance


def follows(recipe: Recipe, layer: str, head: str) -> bool:
    """Whether the library does what the recipe says: penalties, clamps."""
    units = layer in ("nau", "recurrent-nau") or head in ("nau", "nmu")
    known = {OutputPenalty: head == "linear", SparsityPenalty: units}
    penalty = recipe.penalty is no_penalty or known.get(type(recipe.penalty), False)
    paired = (layer == "nalu") == (head == "nalu")  # its outputs are made in the head
    return penalty and paired and recipe.clamped == units and recipe.cell_penalty == 0.0


def ready(parameters: list[Tensor | None]) -> bool:
    """Whether these are what the library can change: all of them learned, in single precision, here."""
    return all(
        p is None
        or (p.requires_grad and p.dtype == torch.float32 and p.device.type == "cpu" and p.is_contiguous())
        for p in parameters
    )


def unit_range(task: StaticArithmetic | RecurrentArithmetic) -> bool:
    """Whether its numbers are U[low, low + 1)."""
    low, high = task.train_range
    return high - low == 1.0


def first_layer(network: nn.Module) -> Part | None:
    """The first layer as the library knows it."""
    if isinstance(network, MassConserving):
        gates = network.layer.gates
        linear = gates.form.gates_see == ("aux",) and gates.form.redistribution == "static"
        usual = (
            gates.form.input_norm == gates.form.redistribution_norm == "softmax" and network.layer.conserving
        )
        empty = gates.mask is None and gates.log_c0 is None and gates.initial_state == "zero"
        fixed = not gates.W_i.requires_grad and not gates.W_i.any()
        if not (linear and usual and empty and fixed and gates.aux_size == 1):
            return None
        parameters = [gates.b_i, gates.W_o, gates.b_o, gates.B_r, network.first]
        return "mass", gates.hidden_size, parameters
    if isinstance(network, Recurrent):
        return None if network.marker else recurrent_unit(network.layer)
    layer = network[0] if isinstance(network, nn.Sequential) and len(network) == 2 else None
    if isinstance(layer, MCFC) and layer.input_norm == "softmax" and layer.b_o is not None:
        return "mcfc", layer.hidden_size, [layer.B_i, layer.b_o]
    if isinstance(layer, NAU):
        return "nau", layer.output_size, [layer.W]
    if isinstance(layer, NALU):
        return "nalu", layer.output_size, [layer.W_hat, layer.M_hat, layer.G]
    return ("nac", layer.output_size, [layer.W_hat, layer.M_hat]) if isinstance(layer, NAC) else None


def recurrent_unit(layer: nn.Module) -> Part | None:
    """A recurrent NAU or NAC as the library knows it."""
    if not isinstance(layer, RecurrentUnit):
        return None
    if isinstance(layer.unit, NAU):
        return "recurrent-nau", layer.output_size, [layer.unit.W, layer.h0]
    if isinstance(layer.unit, NAC):
        return "recurrent-nac", layer.output_size, [layer.unit.W_hat, layer.unit.M_hat, layer.h0]
    return None


def output_layer(network: nn.Module) -> Part | None:
    """The output layer as the library knows it."""
    head = network[1] if isinstance(network, nn.Sequential) else getattr(network, "head", None)
    if isinstance(head, MultiplicativeMCFC):
        inner = head.mcfc
        usual = (
            head.trash and inner.input_norm == "softmax" and inner.b_o is not None and inner.hidden_size == 2
        )
        return ("product", 1, [inner.B_i, inner.b_o, head.alpha]) if usual else None
    if getattr(head, "output_size", None) != 1:
        return None
    if isinstance(head, Linear) and head.b is None:
        return "linear", 1, [head.W]
    if isinstance(head, NALU):
        return "nalu", 1, [head.W_hat, head.M_hat, head.G]
    if isinstance(head, NACMul):
        return "nac-mul", 1, [head.nac.W_hat, head.nac.M_hat]
    if isinstance(head, NAC):
        return "nac", 1, [head.W_hat, head.M_hat]
    if isinstance(head, NAU | NMU):
        return ("nau" if isinstance(head, NAU) else "nmu"), 1, [head.W]
    return None

"""Training of arithmetic networks by the kernel library, for the networks that it knows.

It knows networks of a first layer and a small output layer. The first layer is an MC-LSTM with a static R
whose gates see the marker and perhaps the cells, an MC-FC, or a NAU or NAC, recurrent or not. The output
layer is a linear layer, a multiplicative MC-FC, a NAU, NAC, NMU or NAC•. It also knows two NALU without
recurrence. torch trains all other networks, and all networks where the library is missing.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from mclstm.nn.mcfc import MCFC, MultiplicativeMCFC
from mclstm_paper.arithmetic.task import Task
from mclstm_paper.baselines import Linear
from mclstm_paper.baselines.arithmetic_units import ArithmeticUnit, RecurrentUnit
from mclstm_paper.kernels.learning import GATED_CELLS, LAYERS, Trained, learn, learns
from mclstm_paper.seeds.member_ensemble import Ensemble
from mclstm_paper.seeds.networks import MassConserving, Recurrent
from mclstm_paper.seeds.recipes import OutputPenalty, Recipe, SparsityPenalty, no_penalty

__all__ = ["Advance", "native_learning"]

BATCH = 128
Advance = Callable[[Ensemble, int], None]  # makes this many updates, after the first one
Part = tuple[str, int, list[Tensor | None]]  # a layer: name in the library, outputs, parameters in its order


def native_learning(network: nn.Module, recipe: Recipe, task: Task) -> Advance | None:
    """Training by the library, None if it cannot; its gradients equal torch's within rounding."""
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
    """Whether the library has the penalties and clamps of the recipe."""
    units = layer in ("nau", "recurrent-nau") or head in ("nau", "nmu")
    known = {OutputPenalty: head == "linear", SparsityPenalty: units}
    penalty = recipe.penalty is no_penalty or known.get(type(recipe.penalty), False)
    paired = (layer == "nalu") == (head == "nalu")  # the head computes the outputs of the first layer
    return penalty and paired and recipe.clamped == units and recipe.cell_penalty == 0.0


def ready(parameters: list[Tensor | None]) -> bool:
    """Whether the library can read these, and change those that are learned."""
    return all(
        p is None or (p.dtype == torch.float32 and p.device.type == "cpu" and p.is_contiguous())
        for p in parameters
    )


def unit_range(task: Task) -> bool:
    """Whether the numbers of the task are U[low, low + 1)."""
    low, high = task.train_range
    return high - low == 1.0


def first_layer(network: nn.Module) -> Part | None:
    """The first layer of a network, None if the library does not know it."""
    if isinstance(network, MassConserving):
        return mass_part(network)
    if isinstance(network, Recurrent):
        cell = network.layer
        if network.marker or not isinstance(cell, RecurrentUnit) or cell.unit.kind not in ("nau", "nac"):
            return None
        return f"recurrent-{cell.unit.kind}", cell.output_size, [*cell.unit.parameters(), cell.h0]
    layer = network[0] if isinstance(network, nn.Sequential) and len(network) == 2 else None
    if isinstance(layer, MCFC) and layer.input_norm == "softmax" and layer.b_o is not None:
        return "mcfc", layer.hidden_size, [layer.B_i, layer.b_o]
    if isinstance(layer, ArithmeticUnit) and layer.kind in LAYERS:
        return layer.kind, layer.output_size, list(layer.parameters())
    return None


def mass_part(network: MassConserving) -> Part | None:
    """An MC-LSTM; it is linear where the input gate is fixed and the outlets see the marker alone."""
    gates = network.layer.gates
    form, cells = gates.form, gates.hidden_size
    plain = (form.redistribution, form.outlet, form.state_norm) == ("static", "gate", "sample")
    usual = form.input_norm == form.redistribution_norm == "softmax" and network.layer.conserving
    empty = gates.mask is None and gates.initial_state == "zero"
    if not (plain and usual and empty and (gates.aux_size, gates.static_size) == (1, 0)):
        return None
    fixed = not gates.W_i.requires_grad and not gates.W_i.any()
    if fixed and form.gates_see == ("aux",):
        return "mass", cells, [gates.b_i, gates.W_o, gates.b_o, gates.B_r, network.first]
    if form.gates_see not in (("aux",), ("aux", "state")) or cells not in GATED_CELLS:
        return None
    parameters = [gates.W_i, gates.b_i, gates.W_o, gates.b_o, gates.B_r, network.first]
    return "gated-mass", cells, parameters


def output_layer(network: nn.Module) -> Part | None:
    """The output layer of a network, None if the library does not know it."""
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
    return (head.kind, 1, list(head.parameters())) if isinstance(head, ArithmeticUnit) else None

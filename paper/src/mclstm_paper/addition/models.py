"""The models of the addition problem: one hidden layer of ten units each, as the paper's table has them."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from mclstm.nn.arguments import one_of
from mclstm.nn.heads import SumHead
from mclstm_paper.addition.switches import (
    LN_LSTM_CARRIES_NORMALISED,
    LSTM_MISALIGNED_START,
    LSTM_NO_FORGET_BIAS,
    NALU_ENDS_IN_NAU,
    NAU_WITHOUT_PENALTY,
    URNN_SQUARED_MODULUS,
)
from mclstm_paper.baselines import BASELINES, UNITS, Linear
from mclstm_paper.baselines.arithmetic_units import ArithmeticUnit
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.networks import MassConserving, Recurrent, Sources, mass_layer
from mclstm_paper.seeds.recipes import Recipe

__all__ = ["MODELS", "VARIANTS", "recipe"]

CELLS = 10
NAU_PENALTY, CELL_PENALTY = 1e-4, 1e-4

# Learning rates are those of the published scripts, which the paper chose on validation data.
MODELS: dict[str, float] = {
    "mclstm": 0.05,
    "mclstm-dynamic": 0.05,
    "lstm": 0.001,
    "ln-lstm": 0.001,
    "urnn": 0.001,
    "nalu": 0.001,
    "nau": 0.01,
}
# The plain sum as output layer, and L2 on the cells against a trash cell that leaks.
VARIANTS: dict[str, float] = {"mclstm-sum": 0.05, "mclstm-l2": 0.05, "mclstm-sum-l2": 0.05}


def recipe(model: str, protocol: Protocol) -> Recipe:
    """How a model of the table, or a variant, is built and trained under a protocol.

    >>> recipe("nau", "stated").learning_rate
    0.01
    """
    rates = MODELS | VARIANTS
    rate = rates[one_of("model", model, rates)]
    if model.startswith("mclstm"):
        penalty = CELL_PENALTY if model.endswith("-l2") else 0.0
        return Recipe(mass(model, protocol), rate, cell_penalty=penalty)
    plain = Recipe(baseline(model, protocol), rate)
    if model == "nau":
        no_penalty = NAU_WITHOUT_PENALTY.on(protocol)
        return plain._replace(clamped=True) if no_penalty else plain._replace(clamped=True, penalty=decay)
    return plain._replace(clamped=output_unit(model, protocol) == "nau")


def mass(model: str, protocol: Protocol) -> Callable[[Sources], nn.Module]:
    def build(sources: Sources) -> nn.Module:
        dynamic = model == "mclstm-dynamic"
        layer = mass_layer(1, CELLS, sources, protocol, "dynamic" if dynamic else "static")
        if "-sum" in model:
            return MassConserving(layer, SumHead(CELLS, {"prediction": range(CELLS)}))
        return MassConserving(layer, Linear(CELLS, 1, members=len(sources), seeds=sources))

    return build


def baseline(model: str, protocol: Protocol) -> Callable[[Sources], nn.Module]:
    def build(sources: Sources) -> nn.Module:
        layer = BASELINES[model](2, CELLS, **options(model, protocol), members=len(sources), seeds=sources)
        unit = output_unit(model, protocol)
        size = layer.output_size
        head: nn.Module
        if unit is not None:
            head = UNITS[unit](size, 1, members=len(sources), seeds=sources)
        else:
            start: Literal["kaiming", "xavier"] = "xavier" if model == "urnn" else "kaiming"
            head = Linear(size, 1, start=start, members=len(sources), seeds=sources)
        return Recurrent(layer, head, marker=True)

    return build


def options(model: str, protocol: Protocol) -> dict[str, object]:
    """The arguments of a baseline's constructor beside its sizes."""
    bias = 0.0 if LSTM_NO_FORGET_BIAS.on(protocol) else 3.0
    by_model: dict[str, dict[str, object]] = {
        "lstm": {"forget_bias": bias, "published": LSTM_MISALIGNED_START.on(protocol)},
        "ln-lstm": {
            "forget_bias": bias,
            "published": LN_LSTM_CARRIES_NORMALISED.on(protocol),
        },
        "urnn": {"published": URNN_SQUARED_MODULUS.on(protocol)},
    }
    return by_model.get(model, {})


def output_unit(model: str, protocol: Protocol) -> str | None:
    """The arithmetic unit that is the output layer of a network of such units."""
    nau = model == "nau" or NALU_ENDS_IN_NAU.on(protocol)
    return None if model not in UNITS else "nau" if nau else model


def decay(model: nn.Module, update: int) -> Tensor:
    """The paper's L2 penalty of NAU: 1e-4 / 2 times the sum of its squared weights, (E,)."""
    units = [unit for unit in model.modules() if isinstance(unit, ArithmeticUnit) and unit.kind == "nau"]
    squares = [W.square().sum(dim=(1, 2)) for unit in units for W in unit.parameters()]
    return NAU_PENALTY / 2.0 * (squares[0] + squares[1])

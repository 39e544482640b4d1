"""The models of recurrent and static arithmetic, by operation, with the settings of the published scripts."""

from collections.abc import Callable

import torch
from torch import nn

from mclstm.nn.mcfc import MCFC, MultiplicativeMCFC
from mclstm_paper.arithmetic.tuned import tuned_recipe
from mclstm_paper.baselines import BASELINES, UNITS, Linear
from mclstm_paper.baselines.lstm import LSTM
from mclstm_paper.baselines.regularisers import RECOMMENDED
from mclstm_paper.protocols import Protocol, switched
from mclstm_paper.seeds.recipes import (
    MassConserving,
    OutputPenalty,
    Recipe,
    Recurrent,
    Sources,
    SparsityPenalty,
    fix_input_gate,
    mass_layer,
    start_as_torch_,
)

__all__ = ["RECURRENT", "RECURRENT_VARIANTS", "STATIC", "recurrent_recipe", "static_recipe"]

SUMS, PRODUCTS = ("addition", "subtraction"), ("multiplication",)
UNIT_RATE, LSTM_RATE, LSTM_PENALTY = 0.001, 0.01, 0.01

# Which model learns which operation: the rows and columns of the paper's tables.
RECURRENT: dict[str, tuple[str, ...]] = {
    "mclstm": SUMS + PRODUCTS,
    "lstm": SUMS + PRODUCTS,
    "nau": SUMS,
    "nmu": PRODUCTS,
    "nac": SUMS,
    "nac-mul": PRODUCTS,
    "nalu": SUMS + PRODUCTS,
}
# Beside the tables: R anew at every step; subtraction without a trash cell; settings of our own.
RECURRENT_VARIANTS: dict[str, tuple[str, ...]] = {
    "mclstm-dynamic": SUMS + PRODUCTS,
    "mclstm-two-cells": ("subtraction",),
    "mclstm-tuned": SUMS + PRODUCTS,
}
STATIC: dict[str, tuple[str, ...]] = {
    "mcfc": SUMS + PRODUCTS,
    **{name: operations for name, operations in RECURRENT.items() if name not in ("mclstm", "lstm")},
}

CELLS = {"addition": 2, "subtraction": 3, "multiplication": 3}
MASS_RATES = {"addition": 0.01, "subtraction": 0.01, "multiplication": 0.05}
MASS_PENALTIES = {"addition": 1e-3, "subtraction": 1e-4}
MCFC_RATES = {"addition": 1e-4, "subtraction": 1e-4, "multiplication": 0.01}


def recurrent_recipe(model: str, operation: str, protocol: Protocol, inputs: int = 10) -> Recipe:
    """How a model of recurrent arithmetic is built and trained.

    >>> recurrent_recipe("mclstm", "multiplication", "stated").learning_rate
    0.05
    """
    if model == "mclstm-tuned":
        return tuned_recipe(operation, inputs)
    if model.startswith("mclstm"):
        recipe = Recipe(mass(model, operation, protocol, inputs), MASS_RATES[operation])
        factor = MASS_PENALTIES.get(operation)
        return recipe if factor is None else recipe._replace(penalty=OutputPenalty(factor))
    if model == "lstm":
        return Recipe(lstm(operation, protocol, inputs), LSTM_RATE, OutputPenalty(LSTM_PENALTY))
    like_nmu = switched("nau: schedule of nmu in recurrent arithmetic", protocol)
    adds = switched("nac-mul: adds in recurrent arithmetic", protocol)
    first, second = unit_names(model)
    second = "nac" if second == "nac-mul" and adds else second

    def build(drawn: Sources) -> nn.Module:
        layer = BASELINES[first](inputs, 2, members=len(drawn), seeds=drawn)
        return Recurrent(layer, UNITS[second](2, 1, members=len(drawn), seeds=drawn), marker=False)

    return regularised(Recipe(build, UNIT_RATE), "nmu" if model == "nau" and like_nmu else model)


def static_recipe(model: str, operation: str, inputs: int = 100) -> Recipe:
    """How a model of static arithmetic is built and trained; the protocols do not differ here.

    >>> static_recipe("mcfc", "addition").learning_rate
    0.0001
    """
    if model == "mcfc":
        return Recipe(mcfc(operation, inputs), MCFC_RATES[operation])
    first, second = unit_names(model)

    def build(drawn: Sources) -> nn.Module:
        layer = UNITS[first](inputs, 2, members=len(drawn), seeds=drawn)
        return nn.Sequential(layer, UNITS[second](2, 1, members=len(drawn), seeds=drawn))

    return regularised(Recipe(build, UNIT_RATE), model)


def unit_names(model: str) -> tuple[str, str]:
    """First and second layer: sums come first, for the operation is one between sums."""
    return {"nmu": ("nau", "nmu"), "nac-mul": ("nac", "nac-mul")}.get(model, (model, model))


def regularised(recipe: Recipe, schedule: str) -> Recipe:
    """NAU and NMU with the sparsity penalty and the clamp; the others as they are."""
    if schedule not in RECOMMENDED:
        return recipe
    return recipe._replace(penalty=SparsityPenalty(RECOMMENDED[schedule]), clamped=True)


def mass(model: str, operation: str, protocol: Protocol, inputs: int) -> Callable[[Sources], nn.Module]:
    cells = 2 if model == "mclstm-two-cells" else CELLS[operation]
    learned = switched("recurrent arithmetic: learned initial state", protocol)
    dynamic = model == "mclstm-dynamic"

    def build(drawn: Sources) -> nn.Module:
        layer = mass_layer(inputs, cells, drawn, protocol, "dynamic" if dynamic else "static", learned)
        if switched("recurrent arithmetic: static input gate", protocol):
            fix_input_gate(layer, drawn)
        first = torch.zeros(len(drawn), cells) if learned else None
        return MassConserving(layer, mass_head(operation, cells, drawn), first)

    return build


def mass_head(operation: str, cells: int, drawn: Sources) -> nn.Module:
    """A free linear layer without bias for sums, a multiplicative MC-FC with a trash output for products."""
    if operation in PRODUCTS:
        return MultiplicativeMCFC(cells, 1, trash=True, members=len(drawn), seeds=drawn)
    return Linear(cells, 1, bias=False, start="xavier", members=len(drawn), seeds=drawn)


def lstm(operation: str, protocol: Protocol, inputs: int) -> Callable[[Sources], nn.Module]:
    cells = 2 if operation == "addition" else 10

    def build(drawn: Sources) -> nn.Module:
        many = len(drawn)
        layer = LSTM(inputs, cells, members=many, seeds=drawn)
        if switched("recurrent arithmetic: lstm started by torch", protocol):
            start_as_torch_(layer, drawn)
        head = Linear(cells, 1, bias=False, start="xavier", members=many, seeds=drawn)
        return Recurrent(layer, head, marker=False)

    return build


def mcfc(operation: str, inputs: int) -> Callable[[Sources], nn.Module]:
    cells = CELLS[operation]

    def build(drawn: Sources) -> nn.Module:
        layer = MCFC(inputs, cells, members=len(drawn), seeds=drawn)
        return nn.Sequential(layer, mass_head(operation, cells, drawn))

    return build

"""The models of recurrent arithmetic, by operation, with the settings of the published scripts."""

from collections.abc import Callable
from itertools import combinations
from typing import Literal

import torch
from torch import nn

from mclstm_paper.arithmetic.models import (
    CELLS,
    PRODUCTS,
    SUMS,
    UNIT_MODELS,
    UNIT_RATE,
    mass_head,
    regularised,
    unit_names,
)
from mclstm_paper.baselines import BASELINES, UNITS, Linear
from mclstm_paper.baselines.lstm import LSTM
from mclstm_paper.protocols import Protocol, Switch, is_on
from mclstm_paper.recurrent_arithmetic.switches import (
    LEARNED_INITIAL_STATE,
    LSTM_STARTED_BY_TORCH,
    NAC_MUL_ADDS,
    NAU_SCHEDULE_OF_NMU,
    STATIC_INPUT_GATE,
)
from mclstm_paper.recurrent_arithmetic.tuned import tuned_recipe
from mclstm_paper.seeds.networks import (
    MassConserving,
    Recurrent,
    Sources,
    fix_input_gate,
    mass_layer,
    start_as_torch_,
)
from mclstm_paper.seeds.recipes import OutputPenalty, Recipe
from mclstm_paper.seeds.switches import GATES_SEE_AUX_ONLY, WEAK_IDENTITY

__all__ = ["FLIPPED", "FLIPS", "RECURRENT", "RECURRENT_VARIANTS", "recurrent_recipe"]

LSTM_RATE, LSTM_PENALTY = 0.01, 0.01
MASS_RATES = {"addition": 0.01, "subtraction": 0.01, "multiplication": 0.05}
MASS_PENALTIES = {"addition": 1e-3, "subtraction": 1e-4}

# Which model learns which operation: the rows and columns of the paper's table.
RECURRENT: dict[str, tuple[str, ...]] = {
    "mclstm": SUMS + PRODUCTS,
    "lstm": SUMS + PRODUCTS,
    **UNIT_MODELS,
}
# The protocols have the same head and differ in these: what costs the success?
FLIPS: dict[str, Switch] = {
    "sight": GATES_SEE_AUX_ONLY,
    "identity": WEAK_IDENTITY,
    "input-gate": STATIC_INPUT_GATE,
    "start": LEARNED_INITIAL_STATE,
}
# Each differs from `mclstm` in one or two of them. Three from one protocol are one from the other.
FLIPPED: dict[str, tuple[Switch, ...]] = {
    f"mclstm-other-{'-'.join(names)}": tuple(FLIPS[name] for name in names)
    for count in (1, 2)
    for names in combinations(FLIPS, count)
}
# Not in the paper's table: R computed at every step; subtraction without a trash cell; our own settings.
RECURRENT_VARIANTS: dict[str, tuple[str, ...]] = {
    "mclstm-dynamic": SUMS + PRODUCTS,
    "mclstm-two-cells": ("subtraction",),
    "mclstm-tuned": SUMS + PRODUCTS,
    **dict.fromkeys(FLIPPED, SUMS + PRODUCTS),
}


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
    first, second = unit_names(model)
    second = "nac" if second == "nac-mul" and NAC_MUL_ADDS.on(protocol) else second
    like_nmu = model == "nau" and NAU_SCHEDULE_OF_NMU.on(protocol)

    def build(generators: Sources) -> nn.Module:
        layer = BASELINES[first](inputs, 2, members=len(generators), seeds=generators)
        return Recurrent(layer, UNITS[second](2, 1, members=len(generators), seeds=generators), marker=False)

    return regularised(Recipe(build, UNIT_RATE), "nmu" if like_nmu else model)


def mass(model: str, operation: str, protocol: Protocol, inputs: int) -> Callable[[Sources], nn.Module]:
    cells = 2 if model == "mclstm-two-cells" else CELLS[operation]
    flipped = FLIPPED.get(model, ())
    learned = is_on(LEARNED_INITIAL_STATE, protocol, flipped)
    form: Literal["dynamic", "static"] = "dynamic" if model == "mclstm-dynamic" else "static"

    def build(generators: Sources) -> nn.Module:
        layer = mass_layer(inputs, cells, generators, protocol, form, learned, flipped)
        if is_on(STATIC_INPUT_GATE, protocol, flipped):
            fix_input_gate(layer, generators)
        first = torch.zeros(len(generators), cells) if learned else None
        return MassConserving(layer, mass_head(operation, cells, generators), first)

    return build


def lstm(operation: str, protocol: Protocol, inputs: int) -> Callable[[Sources], nn.Module]:
    cells = 2 if operation == "addition" else 10

    def build(generators: Sources) -> nn.Module:
        many = len(generators)
        layer = LSTM(inputs, cells, members=many, seeds=generators)
        if LSTM_STARTED_BY_TORCH.on(protocol):
            start_as_torch_(layer, generators)
        head = Linear(cells, 1, bias=False, start="xavier", members=many, seeds=generators)
        return Recurrent(layer, head, marker=False)

    return build

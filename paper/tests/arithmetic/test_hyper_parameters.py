"""Rates, penalties, sizes and clamps of the synthetic tasks: those peers.md found in the published code."""

from typing import NamedTuple

import pytest
import torch
from torch import nn

from mclstm.nn.layer import MCLSTM
from mclstm_paper.addition.models import MODELS, decay
from mclstm_paper.addition.models import recipe as addition_recipe
from mclstm_paper.baselines.regularisers import Schedule, sparsity_penalty
from mclstm_paper.mnist_sum.models import RATE, RECIPES, build, usual_rate
from mclstm_paper.recurrent_arithmetic.models import RECURRENT, recurrent_recipe
from mclstm_paper.seeds.networks import sources
from mclstm_paper.seeds.recipes import OutputPenalty, Penalty, Recipe, SparsityPenalty, no_penalty
from mclstm_paper.static_arithmetic.models import STATIC, static_recipe


class Setting(NamedTuple):
    """What is said of a model; of one with two layers, the cells or units of the first."""

    learning_rate: float
    cells: int
    penalty: Penalty = no_penalty
    clamped: bool = False


# C.2: factor of the pull to whole numbers, the updates at which it begins and is complete.
OF_NAU = SparsityPenalty(Schedule(0.01, 5_000, 50_000))
OF_NMU = SparsityPenalty(Schedule(10.0, 1_000_000, 2_000_000))

# C.2 and C.3 alike.
UNITS = {
    ("nmu", "multiplication"): Setting(0.001, 2, OF_NMU, clamped=True),
    ("nac", "addition"): Setting(0.001, 2),
    ("nac", "subtraction"): Setting(0.001, 2),
    ("nac-mul", "multiplication"): Setting(0.001, 2),
    ("nalu", "addition"): Setting(0.001, 2),
    ("nalu", "subtraction"): Setting(0.001, 2),
    ("nalu", "multiplication"): Setting(0.001, 2),
}

# C.3. NAU has the schedule of NMU there, which is a switch.
RECURRENT_SETTINGS = {
    ("mclstm", "addition"): Setting(0.01, 2, OutputPenalty(1e-3)),
    ("mclstm", "subtraction"): Setting(0.01, 3, OutputPenalty(1e-4)),
    ("mclstm", "multiplication"): Setting(0.05, 3),
    ("lstm", "addition"): Setting(0.01, 2, OutputPenalty(0.01)),
    ("lstm", "subtraction"): Setting(0.01, 10, OutputPenalty(0.01)),
    ("lstm", "multiplication"): Setting(0.01, 10, OutputPenalty(0.01)),
    ("nau", "addition"): Setting(0.001, 2, OF_NMU, clamped=True),
    ("nau", "subtraction"): Setting(0.001, 2, OF_NMU, clamped=True),
    **UNITS,
}

# C.3 of MC-FC, C.2 of the units.
STATIC_SETTINGS = {
    ("mcfc", "addition"): Setting(1e-4, 2),
    ("mcfc", "subtraction"): Setting(1e-4, 3),
    ("mcfc", "multiplication"): Setting(0.01, 3),
    ("nau", "addition"): Setting(0.001, 2, OF_NAU, clamped=True),
    ("nau", "subtraction"): Setting(0.001, 2, OF_NAU, clamped=True),
    **UNITS,
}

# A.6, and C.5 for the clamp of NAU, which is the output layer of NALU too: a switch. The scripts have no
# MC-LSTM with an R that depends on time (A.5); it is trained as the other one.
ADDITION_SETTINGS = {
    "mclstm": Setting(0.05, 10),
    "mclstm-dynamic": Setting(0.05, 10),
    "lstm": Setting(0.001, 10),
    "ln-lstm": Setting(0.001, 10),
    "urnn": Setting(0.001, 10),
    "nalu": Setting(0.001, 10, clamped=True),
    "nau": Setting(0.01, 10, clamped=True),
}


def cells(layer: nn.Module) -> int:
    sized = layer.gates if isinstance(layer, MCLSTM) else layer
    return getattr(sized, "hidden_size", None) or sized.output_size


def setting(recipe: Recipe) -> Setting:
    """What a recipe says; all of them have Adam's defaults and no schedule of the rate."""
    assert (recipe.cell_penalty, recipe.decay, recipe.epsilon) == (0.0, None, 1e-8)
    network = recipe.build(sources([0]))
    first = network[0] if isinstance(network, nn.Sequential) else network.layer
    return Setting(recipe.learning_rate, cells(first), recipe.penalty, recipe.clamped)


@pytest.mark.parametrize(("model", "operation"), [(m, o) for m, able in RECURRENT.items() for o in able])
def test_recurrent_arithmetic(model: str, operation: str) -> None:
    published = RECURRENT_SETTINGS[model, operation]
    stated = published._replace(penalty=OF_NAU) if model == "nau" else published
    assert setting(recurrent_recipe(model, operation, "published")) == published
    assert setting(recurrent_recipe(model, operation, "stated")) == stated


@pytest.mark.parametrize(("model", "operation"), [(m, o) for m, able in STATIC.items() for o in able])
def test_static_arithmetic(model: str, operation: str) -> None:
    assert setting(static_recipe(model, operation)) == STATIC_SETTINGS[model, operation]


@pytest.mark.parametrize("model", MODELS)
def test_addition_problem(model: str) -> None:
    published = ADDITION_SETTINGS[model]
    by_the_text = {"nau": {"penalty": decay}, "nalu": {"clamped": False}}  # A.6, "Paper↔code"
    stated = published._replace(**by_the_text.get(model, {}))
    assert setting(addition_recipe(model, "published")) == published
    assert setting(addition_recipe(model, "stated")) == stated


# C.4: the factor of half the mean square of what is read from the images.
@pytest.mark.parametrize(("model", "factor"), [("mclstm", 1e-4), ("lstm", 1e-4), ("reference", 0.0)])
def test_sum_of_digits(model: str, factor: float) -> None:
    network = build(model, "published", sources([0, 1]))
    read = torch.tensor([2.0, 3.0]).view(2, 1, 1, 1).expand(2, 10, 4, 1)
    penalty = RECIPES[model].penalty(network, read, 50_000, 86_000)
    torch.testing.assert_close(penalty, factor / 2 * torch.tensor([4.0, 9.0]))
    assert not RECIPES[model].clamped
    assert usual_rate(model, "published") == RATE == 1e-3


def test_sum_of_digits_of_nau() -> None:
    """C.4: the pull to whole numbers has the factor 10, begins at update 1e4 and is complete at 1e5."""
    network, nothing = build("nau", "published", sources([0, 1])), torch.zeros(2, 10, 4, 1)
    for update, factor in ((10_000, 0.0), (28_000, 2.0), (55_000, 5.0), (100_000, 10.0)):
        penalty = RECIPES["nau"].penalty(network, nothing, update, 86_000)
        torch.testing.assert_close(penalty, factor * sparsity_penalty(network))
    assert RECIPES["nau"].clamped
    assert usual_rate("nau", "published") == 1e-3


@pytest.mark.parametrize("model", ["mclstm", "lstm", "nau"])
def test_memories_of_the_sum_of_digits(model: str) -> None:
    """One unit as published, of which finding 0.7 says what is left of MC-LSTM; two where it is honest."""
    layers = [build(model, protocol, sources([0])).memory.layer for protocol in ("published", "stated")]
    assert [cells(layer) for layer in layers] == [1, 2]

"""Settings of the synthetic tasks: those of the published runs, as peers.md has them, and of the text."""

from typing import NamedTuple

import pytest
import torch
from torch import nn

from mclstm.baselines import Linear
from mclstm.baselines.regularisers import Schedule, sparsity_penalty
from mclstm.experiments.addition_models import MODELS, decay
from mclstm.experiments.addition_models import recipe as addition_recipe
from mclstm.experiments.arithmetic_models import RECURRENT, STATIC, recurrent_recipe, static_recipe
from mclstm.experiments.mnist_sum.models import RATE, RECIPES, build, usual_rate
from mclstm.experiments.networks import (
    OutputPenalty,
    Penalty,
    Recipe,
    SparsityPenalty,
    no_penalty,
    sources,
)

BOTH = ("stated", "published")


class Setting(NamedTuple):
    """What a table of peers.md says of a model."""

    learning_rate: float
    cells: int  # or units of the first layer
    penalty: Penalty = no_penalty
    clamped: bool = False


def setting(recipe: Recipe) -> Setting:
    """What a recipe says; Adam is torch's and its rate constant in all of these."""
    assert (recipe.cell_penalty, recipe.decay, recipe.epsilon) == (0.0, None, 1e-8)
    network = recipe.build(sources([0]))
    layer = network[0] if isinstance(network, nn.Sequential) else network.layer
    layer = getattr(layer, "gates", layer)
    cells = getattr(layer, "hidden_size", None) or layer.output_size
    return Setting(recipe.learning_rate, cells, recipe.penalty, recipe.clamped)


# C.2: factor, first and last update of the pull to whole numbers.
OF_NAU, OF_NMU = SparsityPenalty(Schedule(0.01, 5_000, 50_000)), SparsityPenalty(Schedule(10.0, 10**6, 2 * 10**6))

# C.3; that NAU has the schedule of NMU is a switch.
PUBLISHED_RECURRENT = {
    ("mclstm", "addition"): Setting(0.01, 2, OutputPenalty(1e-3)),
    ("mclstm", "subtraction"): Setting(0.01, 3, OutputPenalty(1e-4)),
    ("mclstm", "multiplication"): Setting(0.05, 3),
    ("lstm", "addition"): Setting(0.01, 2, OutputPenalty(0.01)),
    ("lstm", "subtraction"): Setting(0.01, 10, OutputPenalty(0.01)),
    ("lstm", "multiplication"): Setting(0.01, 10, OutputPenalty(0.01)),
    ("nau", "addition"): Setting(0.001, 2, OF_NMU, clamped=True),
    ("nau", "subtraction"): Setting(0.001, 2, OF_NMU, clamped=True),
    ("nmu", "multiplication"): Setting(0.001, 2, OF_NMU, clamped=True),
    ("nac", "addition"): Setting(0.001, 2),
    ("nac", "subtraction"): Setting(0.001, 2),
    ("nac-mul", "multiplication"): Setting(0.001, 2),
    ("nalu", "addition"): Setting(0.001, 2),
    ("nalu", "subtraction"): Setting(0.001, 2),
    ("nalu", "multiplication"): Setting(0.001, 2),
}

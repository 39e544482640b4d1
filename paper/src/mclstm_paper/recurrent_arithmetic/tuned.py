"""`mclstm-tuned`: MC-LSTM for recurrent arithmetic with our own settings, chosen on seeds from 1000 on.

A softmax or logistic function is slow to reach a share of exactly 0 or 1, and over a hundred steps a
millionth counts. So shares that must be 0 or 1 start there: outlets are closed until the marker opens them,
mass stays in its cell, and the exponents of the product are 0 and 1. The shares that are learned lie in
between: the output layer of sums starts wide, so that the input weights 0, 1 and 2, or -1, 0 and 1, are
shares between 0 and 1. The inputs of the product start in the trash cell, where most of them must stay.

Adam divides by the size of a gradient, even a tiny one, and would move these starts: its ε is 1e-3.
"""

import torch
from torch import nn

from mclstm.nn.layer import MCLSTM
from mclstm.nn.mcfc import MultiplicativeMCFC
from mclstm_paper.baselines import Linear
from mclstm_paper.seeds.networks import OUTLET, MassConserving, Sources, fix_input_gate, start_outlets_
from mclstm_paper.seeds.recipes import Decay, Recipe

__all__ = ["TUNED_UPDATES", "tuned_recipe"]

TUNED_UPDATES = 20_000
STAYS = 1.0 - 1e-9
WIDE = {"addition": 4.0, "subtraction": 1.5}  # output weights start at plus and minus this
EXPONENT, OPEN, TRASH = 10.0, 12.0, 5.0  # logits: of exponents, of the product's outlet, of the trash cell
RATES = {"addition": 0.02, "subtraction": 0.02, "multiplication": 0.1}
EPSILON = 1e-3


def tuned_recipe(operation: str, inputs: int) -> Recipe:
    """How `mclstm-tuned` is built and trained, the same under both protocols.

    >>> tuned_recipe("multiplication", 10).decay.at(20_000)
    0.001
    """
    decay = Decay(start=TUNED_UPDATES // 2, end=TUNED_UPDATES, to=1e-3)

    def build(generators: Sources) -> nn.Module:
        return (
            product(generators, inputs)
            if operation not in WIDE
            else total(generators, inputs, WIDE[operation])
        )

    return Recipe(build, RATES[operation], decay=decay, epsilon=EPSILON)


def accumulator(generators: Sources, inputs: int, cells: int) -> MCLSTM:
    """Cells that keep their mass until the marker changes its sign; the input gate is one learned matrix."""
    layer = MCLSTM(
        inputs,
        1,
        cells,
        redistribution="static",
        gates_see=("aux",),
        stay=STAYS,
        members=len(generators),
        seeds=generators,
    )
    fix_input_gate(layer, generators)
    start_outlets_(layer, OUTLET)
    return layer


def total(generators: Sources, inputs: int, wide: float) -> nn.Module:
    """Two cells: one counts as positive, one as negative."""
    layer = accumulator(generators, inputs, cells=2)
    head = Linear(2, 1, bias=False, start="xavier", members=len(generators), seeds=generators)
    with torch.no_grad():
        head.W.copy_(torch.tensor([wide, -wide]).expand_as(head.W))
    return MassConserving(layer, head)


def product(generators: Sources, inputs: int) -> nn.Module:
    """Three cells; the last one is a trash cell."""
    layer = accumulator(generators, inputs, cells=3)
    head = MultiplicativeMCFC(3, 1, trash=True, members=len(generators), seeds=generators)
    counts = torch.tensor([[0.0, EXPONENT], [0.0, EXPONENT], [EXPONENT, 0.0]])  # per cell: dropped, counted
    with torch.no_grad():
        layer.gates.b_i[..., -1] += TRASH
        head.mcfc.B_i.copy_(counts.expand_as(head.mcfc.B_i))
        assert head.mcfc.b_o is not None
        head.mcfc.b_o.fill_(OPEN)
    return MassConserving(layer, head)

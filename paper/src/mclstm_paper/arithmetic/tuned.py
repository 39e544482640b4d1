"""MC-LSTM for recurrent arithmetic with settings of our own, found on seeds from 1000 on: `mclstm-tuned`.

A share that must be 0 or 1 to a millionth is what a softmax or a logistic function learns last, and over a
hundred steps it is all that counts. So it starts there: outlets closed until the marker opens them, mass
staying in its cell, exponents of the product at 0 and 1. What is left to learn lies between 0 and 1: the
output layer of sums starts wide, so that the weights 0, 1 and 2, or -1, 0 and 1, of the inputs are shares in
between; inputs of the product start in the trash, which most of them must not leave.

Adam divides by the size of a gradient, however small, and would walk those starts away: its ε is 1e-3.
"""

import torch
from torch import nn

from mclstm.nn.layer import MCLSTM
from mclstm.nn.mcfc import MultiplicativeMCFC
from mclstm_paper.baselines import Linear
from mclstm_paper.seeds.recipes import Decay, MassConserving, Recipe, Sources, fix_input_gate, start_outlets_

__all__ = ["OUTLET", "TUNED_UPDATES", "tuned_recipe"]

TUNED_UPDATES = 20_000
STAYS = 1.0 - 1e-9
OUTLET = 20.0  # logit of the outlets: minus this at the marker 1, plus at the last step's -1
WIDE = {"addition": 4.0, "subtraction": 1.5}  # output weights start at plus and minus this
EXPONENT, OPEN, TRASH = 10.0, 12.0, 5.0  # logits: of exponents, of the product's outlet, of the trash cell
RATES = {"addition": 0.02, "subtraction": 0.02, "multiplication": 0.1}
EPSILON = 1e-3


def tuned_recipe(operation: str, inputs: int) -> Recipe:
    """How `mclstm-tuned` is built and trained; the protocols do not differ here.

    >>> tuned_recipe("multiplication", 10).decay.at(20_000)
    0.001
    """
    decay = Decay(start=TUNED_UPDATES // 2, end=TUNED_UPDATES, to=1e-3)

    def build(drawn: Sources) -> nn.Module:
        return product(drawn, inputs) if operation not in WIDE else total(drawn, inputs, WIDE[operation])

    return Recipe(build, RATES[operation], decay=decay, epsilon=EPSILON)


def accumulator(drawn: Sources, inputs: int, cells: int) -> MCLSTM:
    """Cells that keep all they get until the marker changes its sign; one learned matrix of shares."""
    layer = MCLSTM(
        inputs,
        1,
        cells,
        redistribution="static",
        gates_see=("aux",),
        stay=STAYS,
        members=len(drawn),
        seeds=drawn,
    )
    fix_input_gate(layer, drawn)
    start_outlets_(layer, OUTLET)
    return layer


def total(drawn: Sources, inputs: int, wide: float) -> nn.Module:
    """Two cells, of which one counts as positive and one as negative."""
    layer = accumulator(drawn, inputs, cells=2)
    head = Linear(2, 1, bias=False, start="xavier", members=len(drawn), seeds=drawn)
    with torch.no_grad():
        head.W.copy_(torch.tensor([wide, -wide]).expand_as(head.W))
    return MassConserving(layer, head)


def product(drawn: Sources, inputs: int) -> nn.Module:
    """Three cells, the last one a trash that does not count."""
    layer = accumulator(drawn, inputs, cells=3)
    head = MultiplicativeMCFC(3, 1, trash=True, members=len(drawn), seeds=drawn)
    counts = torch.tensor([[0.0, EXPONENT], [0.0, EXPONENT], [EXPONENT, 0.0]])  # of a cell: dropped, counted
    with torch.no_grad():
        layer.gates.b_i[..., -1] += TRASH
        head.mcfc.B_i.copy_(counts.expand_as(head.mcfc.B_i))
        assert head.mcfc.b_o is not None
        head.mcfc.b_o.fill_(OPEN)
    return MassConserving(layer, head)

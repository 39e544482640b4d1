"""Memories that add up the numbers of the front end: (x, a) -> sums so far, each with E members.

x: (E, T, B, 1) numbers of the images, a: (T, B, 1) marker of the end -> y: (E, T, B, 1).
"""

from torch import Tensor, nn

from mclstm.nn.heads import LinearHead
from mclstm.nn.layer import MCLSTM
from mclstm_paper.baselines import BASELINES, UNITS, Linear
from mclstm_paper.baselines.lstm import LSTM
from mclstm_paper.mnist_sum.switches import LSTM_STARTED_BY_TORCH, ONE_UNIT
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.networks import Sources, start_as_torch_, start_outlets_

__all__ = ["Accumulator", "Cells", "Outflow", "Running", "lstm", "mass_conserving", "nau"]

CELLS = 2  # as for addition in recurrent arithmetic; the published models have one unit
CLOSED = -1e4  # an outlet that lets out less than 1e-30 of its cell, and stays so: its gradient is 0 too


class Accumulator(nn.Module):
    """The exact sum: y_t = x_1 + ... + x_t. A front end cannot learn better than with it.

    >>> import torch
    >>> Accumulator()(torch.tensor([1.0, 2.0]).view(1, 2, 1, 1), torch.zeros(2, 1, 1)).flatten().tolist()
    [1.0, 3.0]
    """

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        """x (E, T, B, 1) -> the same shape; the marker is not needed."""
        return x.cumsum(dim=-3)


class Cells(nn.Module):
    """The published MC-LSTM: what is stored is the prediction, and nothing flows out.

        y_t = c_t = c_{t-1} R + x_t i

    It has one cell, and shares of one are 1: R = i = 1, y_t = x_1 + ... + x_t whatever the parameters are.
    Its masses are the front end's numbers, of any sign.

    >>> import torch
    >>> memory = Cells(MCLSTM(1, 1, 1, output_bias=CLOSED, allow_negative_mass=True, members=2))
    >>> x = torch.randn(2, 7, 3, 1)
    >>> torch.allclose(memory(x, torch.ones(7, 3, 1)), x.cumsum(1))
    True
    """

    def __init__(self, layer: MCLSTM) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        """x (E, T, B, 1), a (T, B, 1) -> the cells after every step, (E, T, B, K)."""
        _, c = self.layer.trajectory(x, a)
        return c[:, 1:]


class Outflow(nn.Module):
    """An MC-LSTM as the paper describes it: the outlet opens at the marker, a linear layer reads the outflow.

        y_t = w h_t,    h_t = σ(w_o a_t + u_o c / |c| + b_o) (c_{t-1} R + x_t i)

    No bias, as in recurrent arithmetic: at the one length of training it could replace an offset per digit.
    """

    def __init__(self, layer: MCLSTM, head: LinearHead) -> None:
        super().__init__()
        self.layer, self.head = layer, head

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        """x (E, T, B, 1) of no negative number, a (T, B, 1) -> (E, T, B, 1)."""
        h, _ = self.layer(x, a)
        y: Tensor = self.head(h)
        return y


class Running(nn.Module):
    """A baseline and its output layer; without one the first unit is the prediction."""

    def __init__(self, layer: nn.Module, head: nn.Module | None) -> None:
        super().__init__()
        self.layer, self.head = layer, head

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        """x (E, T, B, 1) -> (E, T, B, 1); the last step is known without a marker."""
        h, _ = self.layer(x)
        y: Tensor = h if self.head is None else self.head(h)
        return y


def mass_conserving(
    protocol: Protocol,
    sources: Sources,
    *,
    outlet: float | None = None,
) -> Cells | Outflow:
    """The MC-LSTM of a protocol, with a redistribution that is one matrix.

    outlet: gates see the marker alone; outlets start at minus this logit on the way, at plus this at the end

    >>> import torch
    >>> type(mass_conserving("published", [torch.Generator()])).__name__
    'Cells'
    """
    E = len(sources)
    if ONE_UNIT.on(protocol):
        return Cells(
            MCLSTM(
                1, 1, 1, redistribution="static", output_bias=CLOSED, gates_see=("aux",),
                allow_negative_mass=True, members=E, seeds=sources,
            )
        )  # fmt: skip
    sees = ("aux", "state") if outlet is None else ("aux",)
    layer = MCLSTM(1, 1, CELLS, redistribution="static", gates_see=sees, members=E, seeds=sources)
    if outlet is not None:
        start_outlets_(layer, outlet)
    head = LinearHead(CELLS, bias=False, members=E, seeds=sources)
    # It begins as a sum. Where random weights add up to less than zero, less mass is a smaller error: the
    # front end then learns within an epoch to read no mass at all, and there softplus has no gradient left.
    nn.init.ones_(head.linear["weight"])
    return Outflow(layer, head)


def nau(protocol: Protocol, sources: Sources) -> Running:
    """A recurrent NAU: as published one unit that starts at 0, else two with a NAU as output layer."""
    one, E = ONE_UNIT.on(protocol), len(sources)
    layer = BASELINES["nau"](1, 1 if one else CELLS, members=E, seeds=sources)
    if one:
        layer.get_parameter("h0").requires_grad_(False)
    return Running(layer, None if one else UNITS["nau"](CELLS, 1, members=E, seeds=sources))


def lstm(protocol: Protocol, sources: Sources) -> Running:
    """An LSTM: as published one unit, whose outputs cannot leave (-1, 1), else two and a linear layer."""
    one, E = ONE_UNIT.on(protocol), len(sources)
    layer = LSTM(1, 1 if one else CELLS, members=E, seeds=sources)
    if LSTM_STARTED_BY_TORCH.on(protocol):
        start_as_torch_(layer, sources)
    return Running(layer, None if one else Linear(CELLS, 1, start="xavier", members=E, seeds=sources))

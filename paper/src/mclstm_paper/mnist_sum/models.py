"""The models of the MNIST sum: a front end, a memory, and what their loss adds to the squared error."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from mclstm_paper.baselines.arithmetic_units import ArithmeticUnit, RecurrentUnit
from mclstm_paper.baselines.regularisers import Schedule, sparsity_penalty, zero_penalty
from mclstm_paper.mnist_sum.front_end import FrontEnd
from mclstm_paper.mnist_sum.memories import Accumulator, Running, lstm, mass_conserving, nau
from mclstm_paper.mnist_sum.switches import LSTM_AT_RATE_OF_ALL, NEGATIVE_MASSES
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.networks import OUTLET, Sources

__all__ = ["RECIPES", "SumModel", "SumRecipe", "build", "usual_rate"]

RATE = 1e-3  # of every front end, and of a memory without a rate of its own
L2 = 1e-4
PAPER_UPDATES = 86_000  # 1,000 epochs of 86 batches, the length of NAU's schedule


class SumModel(nn.Module):
    """Images in, sums so far out: y = memory(x, a), x = front(images), softplus of it where x is mass.

    softplus(z) = log(1 + exp z) > 0 makes masses of any numbers, and unlike a ReLU it never stops learning.

    images: (T, B, 1, 28, 28) shared or (E, T, B, 1, 28, 28), a: (T, B, 1) -> y and x, (E, T, B, 1) each
    """

    def __init__(self, front: FrontEnd, memory: nn.Module, positive: bool) -> None:
        super().__init__()
        self.front, self.memory, self.positive = front, memory, positive

    def read(self, images: Tensor) -> Tensor:
        """The numbers of images: (N, 1, 28, 28) or (E, N, 1, 28, 28) -> (E, N, 1)."""
        z = self.front(images)
        return softplus(z) if self.positive else z

    def forward(self, images: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
        """The sums so far, and the numbers that are summed."""
        x = self.read(images.flatten(-5, -4)).view(-1, *a.shape)
        return self.memory(x, a), x


# (model, numbers of the images (E, T, B, 1), update, updates in all) -> (E,)
SumPenalty = Callable[[SumModel, Tensor, int, int], Tensor]


def nothing(model: SumModel, x: Tensor, update: int, updates: int) -> Tensor:
    """No penalty: x (E, T, B, 1) -> (E,)."""
    return x.new_zeros(x.shape[0])


def small_numbers(model: SumModel, x: Tensor, update: int, updates: int) -> Tensor:
    """The paper's L2 on what the front end reads, 1e-4 mean(x²) / 2: x (E, T, B, 1) -> (E,)."""
    return L2 / 2.0 * x.square().mean(dim=(1, 2, 3))


def whole_weights(model: SumModel, x: Tensor, update: int, updates: int) -> Tensor:
    """Madsen and Johansen's R_W, from 0 to 10 between updates 1e4 and 1e5 of 86,000, and R_z on all inputs.

    A shorter training has a shorter schedule, else it would never begin. x: (E, T, B, 1) -> (E,)
    """
    memory = model.memory
    assert isinstance(memory, Running)
    assert isinstance(memory.layer, RecurrentUnit)
    share = updates / PAPER_UPDATES
    factor = Schedule(10.0, int(1e4 * share), int(1e5 * share)).at(update)
    h, _ = memory.layer(x)
    before = memory.layer.h0.view(-1, 1, 1, h.shape[-1]).expand(-1, 1, h.shape[2], -1)
    seen = torch.cat([x, torch.cat([before, h[:, :-1]], dim=1)], dim=-1)
    zero = zero_penalty(memory.layer.unit.weight(), seen)
    if isinstance(memory.head, ArithmeticUnit):
        zero = zero + zero_penalty(memory.head.weight(), h)
    return factor * sparsity_penalty(model) + zero


class SumRecipe(NamedTuple):
    """A row of the table: its memory, how fast that learns, and what the loss adds."""

    memory: Callable[[Protocol, Sources], nn.Module]
    penalty: SumPenalty
    learning_rate: float = RATE
    mass: bool = False  # the numbers of the images are masses
    clamped: bool = False
    protocols: tuple[Protocol, ...] = ("stated", "published")


RECIPES: dict[str, SumRecipe] = {
    "mclstm": SumRecipe(mass_conserving, small_numbers, mass=True, protocols=("published",)),
    # The text's, but for two things that it does not name: masses are softplus of what is read, and the head
    # starts as a sum. Without them masses are negative, or nothing is learned.
    "mclstm-softplus": SumRecipe(mass_conserving, small_numbers, mass=True, protocols=("stated",)),
    # Our own: outlets start closed until the marker opens them, so that a thousand steps leak nothing.
    "mclstm-tuned": SumRecipe(
        partial(mass_conserving, outlet=OUTLET), small_numbers, mass=True, protocols=("stated",)
    ),
    "nau": SumRecipe(nau, whole_weights, clamped=True),
    # Not in the paper. Its outputs are below 1 and the sums near 45: a lower rate would not reach them.
    "lstm": SumRecipe(lstm, small_numbers, learning_rate=0.05),
    "reference": SumRecipe(lambda protocol, sources: Accumulator(), nothing),
}


def usual_rate(model: str, protocol: Protocol) -> float:
    """The learning rate of a model's memory; the front end has RATE everywhere.

    >>> usual_rate("lstm", "stated"), usual_rate("lstm", "published")
    (0.05, 0.001)
    """
    as_all = model == "lstm" and LSTM_AT_RATE_OF_ALL.on(protocol)
    return RATE if as_all else RECIPES[model].learning_rate


def build(model: str, protocol: Protocol, sources: Sources) -> SumModel:
    """A model with one member for each source of random numbers.

    >>> build("nau", "stated", [torch.Generator()])(torch.rand(4, 3, 1, 28, 28), torch.ones(4, 3, 1))[0].shape
    torch.Size([1, 4, 3, 1])
    """
    recipe = RECIPES[model]
    positive = recipe.mass and not NEGATIVE_MASSES.on(protocol)
    return SumModel(FrontEnd(len(sources), sources), recipe.memory(protocol, sources), positive)

"""The addition problem: sum the marked numbers of a sequence."""

from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.nn.arguments import one_of
from mclstm_paper.addition.switches import OVERLAPPING_SAMPLES, RANDOM_SUMMANDS
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.streams import uniform

__all__ = ["REGIMES", "SPLITS", "Addition", "Regime", "addition", "constant", "exact"]


class Regime(NamedTuple):
    """Sum `summands` out of `steps` numbers between 0 and `high`."""

    steps: int
    high: float
    summands: int


REGIMES: dict[str, Regime] = {
    "reference": Regime(100, 0.5, 2),
    "seq length": Regime(1000, 0.5, 2),
    "input range": Regime(100, 5.0, 2),
    "count": Regime(100, 0.5, 20),
    "combo": Regime(500, 2.5, 10),
}

SPLITS: dict[str, int] = {"train": 10_000, "validation": 10_000, "test": 1_000}

# The published code numbers its samples from these in one stream: training and test samples overlap.
PUBLISHED_FIRST: dict[str, int] = {"train": 1806, "validation": 11806, "test": 1302}


class Addition(NamedTuple):
    """A set of samples: the numbers, their markers, the sums."""

    x: Tensor  # (T, B, 1) numbers, the mass
    a: Tensor  # (T, B, 1) marker: 1 to be added, -1 at the last step, 0 elsewhere
    y: Tensor  # (B, 1)


def addition(
    split: str,
    regime: str | Regime = "reference",
    *,
    protocol: Protocol = "stated",
    overlapping: bool | None = None,
    seed: int = 1806,
    samples: int | None = None,
) -> Addition:
    """The training, validation or test samples of a regime; the same call gives the same samples.

        y = sum of x_t over the marked t,    x_t ~ U[0, high),    the last step is never marked

    `overlapping`: whether the test set may hold training samples; None leaves it to the protocol.

    >>> data = addition("train", samples=3)
    >>> data.x.shape, data.a[-1].flatten().tolist(), data.a.eq(1).sum(0).flatten().tolist()
    (torch.Size([100, 3, 1]), [-1.0, -1.0, -1.0], [2, 2, 2])
    """
    chosen = regime if isinstance(regime, Regime) else REGIMES[one_of("regime", regime, REGIMES)]
    size = SPLITS[one_of("split", split, SPLITS)]
    T, many = chosen.steps, size if samples is None else samples
    overlap = OVERLAPPING_SAMPLES.on(protocol) if overlapping is None else overlapping
    stream, first = ("published addition", PUBLISHED_FIRST[split]) if overlap else (split, 0)
    # For each sample: T values, T - 1 scores that decide which steps are marked, one number for how many.
    u = uniform([seed], stream, first, many, (2 * T,))[0]
    count = summands(u[:, -1], chosen, RANDOM_SUMMANDS.on(protocol))
    rank = u[:, T : 2 * T - 1].argsort(dim=1).argsort(dim=1)
    a = torch.cat([(rank < count.unsqueeze(1)).to(u.dtype), u.new_full((many, 1), -1.0)], dim=1)
    x, a = (value.t().contiguous().unsqueeze(-1) for value in (chosen.high * u[:, :T], a))
    return Addition(x, a, exact(x, a))


def summands(u: Tensor, regime: Regime, random: bool) -> Tensor:
    """How many steps to mark, from u (B,): the regime's number, or a random one from 2 on: (B,)."""
    if not random:
        return torch.full(u.shape, regime.summands)
    return 2 + (u * (regime.summands - 1)).long()


def exact(x: Tensor, a: Tensor) -> Tensor:
    """The solution: the sum of the marked numbers, added in float64; x, a (T, B, 1) -> (B, 1).

    >>> x, a = torch.tensor([[1.0, 2.0, 4.0], [1.0, 1.0, -1.0]]).view(2, 3, 1, 1)
    >>> exact(x, a).item()
    3.0
    """
    return torch.where(a == 1, x, 0.0).sum(dim=0, dtype=torch.float64).to(x.dtype)


def constant(data: Addition) -> Tensor:
    """The best constant of the training regime, 2 * 0.5 / 2 = 1/2, for every regime: (B, 1).

    >>> constant(addition("test", "combo", samples=2)).flatten().tolist()
    [0.5, 0.5]
    """
    reference = REGIMES["reference"]
    return torch.full_like(data.y, reference.summands * reference.high / 2)

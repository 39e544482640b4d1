"""The arithmetic units NAC, NAC•, NALU, NAU and NMU: one specification each, one module for all of them."""

from collections.abc import Callable
from functools import partial
from math import tanh
from typing import NamedTuple, Unpack

import torch
from torch import Tensor, nn

from mclstm.nn.arguments import one_of
from mclstm.nn.ensemble_dim import Seeds, applied, draw, generators, rows, stacked
from mclstm_paper.baselines.construction import (
    MemberOptions,
    empty,
    initial_state,
    outward,
    sequences,
    uniform,
)
from mclstm_paper.kernels.recurrence import recurrence

__all__ = ["UNITS", "ArithmeticUnit", "RecurrentUnit", "nac_bound"]

Bounds = tuple[tuple[float, float], ...]
EPSILON = 1e-7


class Specification(NamedTuple):
    """What one arithmetic unit is made of. Every parameter is (O, I)."""

    parameters: tuple[str, ...]
    start: Callable[[int, int], Bounds]  # (I, O) -> the bounds of the uniform start of each parameter
    step: Callable[[Tensor, Tensor], Tensor]  # x (E, N, I), the matrices stacked (E, R, I) -> y (E, N, O)
    recurrence: str  # the name of its recurrence in the kernel library
    limits: tuple[float, float] | None = None  # W is clamped to this range; None: W = tanh(Ŵ) * σ(M̂)
    child: str = ""  # checkpoints know the parameters as those of a child of this name


def nac_bound(input_size: int, output_size: int) -> float:
    """r such that W = tanh(U(-r, r)) σ(U(-r, r)) has the variance 2 / max(I + O, 5), by bisection on (0, 10).

        Var W = (1 - tanh(r) / r) (r - tanh(r / 2)) / (2r)

    Below I + O = 5 no r has that variance.

    >>> round(nac_bound(100, 2), 3)
    0.504
    """
    wanted, low, high = 2.0 / max(input_size + output_size, 5), 1e-6, 10.0
    for _ in range(60):
        r = (low + high) / 2
        if (1 - tanh(r) / r) * (r - tanh(r / 2)) / (2 * r) < wanted:
            low = r
        else:
            high = r
    return low


def start_nac(input_size: int, output_size: int) -> Bounds:
    r = nac_bound(input_size, output_size)
    return ((-r, r), (-r, r))


def start_nalu(input_size: int, output_size: int) -> Bounds:
    glorot = (6 / (input_size + output_size)) ** 0.5
    return (*start_nac(input_size, output_size), (-glorot, glorot))


def start_nau(input_size: int, output_size: int) -> Bounds:
    r = min(0.5, (6 / (input_size + output_size)) ** 0.5)
    return ((-r, r),)


def start_nmu(input_size: int, output_size: int) -> Bounds:
    return ((0.25, 0.75),)


def total(x: Tensor, W: Tensor) -> Tensor:
    """W x: x (E, N, I), W (E, O, I) -> (E, N, O)."""
    return applied(W, x)


def powers(x: Tensor, W: Tensor) -> Tensor:
    """exp(W log(|x| + ε)), products of powers of |x|: x (E, N, I), W (E, O, I) -> (E, N, O)."""
    return torch.exp(applied(W, torch.log(x.abs() + EPSILON)))


def gated(x: Tensor, A: Tensor) -> Tensor:
    """g * (W x) + (1 - g) * exp(W log(|x| + ε)), g = σ(G x): x (E, N, I), A = [W; G] (E, 2 O, I)."""
    sums, gate = applied(A, x).chunk(2, dim=-1)
    g = torch.sigmoid(gate)
    return g * sums + (1.0 - g) * powers(x, A[:, : A.shape[1] // 2])


def product(x: Tensor, W: Tensor) -> Tensor:
    """Π_i (W_i x_i + 1 - W_i): x (E, N, I), W (E, O, I) -> (E, N, O)."""
    return (W.unsqueeze(1) * (x.unsqueeze(2) - 1.0) + 1.0).prod(dim=-1)


SPECIFICATIONS: dict[str, Specification] = {
    "nac": Specification(("W_hat", "M_hat"), start_nac, total, "linear"),
    "nac-mul": Specification(("W_hat", "M_hat"), start_nac, powers, "powers", child="nac"),
    "nalu": Specification(("W_hat", "M_hat", "G"), start_nalu, gated, "nalu"),
    "nau": Specification(("W",), start_nau, total, "linear", limits=(-1.0, 1.0)),
    "nmu": Specification(("W",), start_nmu, product, "products", limits=(0.0, 1.0)),
}


class ArithmeticUnit(nn.Module):
    """A feed-forward arithmetic unit without bias.

        nac      y = W x,    W = tanh(Ŵ) * σ(M̂)             sums and differences (Trask et al., 2018)
        nac-mul  y = exp(W log(|x| + 1e-7)),    W as nac     products and quotients
        nalu     y = g * nac(x) + (1 - g) * nac-mul(x),    g = σ(G x), one W for both
        nau      y = W x,    W clamped to [-1, 1]            (Madsen & Johansen, 2020)
        nmu      y = Π_i (W_i x_i + 1 - W_i),    W clamped to [0, 1]

    Start (Madsen & Johansen, 2020), all uniform: Ŵ and M̂ within ±`nac_bound`, G within ±√(6 / (I + O)), W of
    nau within ±min(1/2, √(6 / (I + O))), W of nmu in [1/4, 3/4]. `regularisers` pulls W of nau and nmu to
    whole numbers.

    x: (..., I) -> y: (..., O); with members x: (B, I) shared or (E, ..., I) -> y: (E, ..., O)

    >>> ArithmeticUnit("nac", 3, 2, members=4)(torch.rand(5, 3)).shape
    torch.Size([4, 5, 2])
    """

    def __init__(
        self, kind: str, input_size: int, output_size: int, **options: Unpack[MemberOptions]
    ) -> None:
        super().__init__()
        self.kind, self.specification = kind, SPECIFICATIONS[one_of("unit", kind, SPECIFICATIONS)]
        self.input_size, self.output_size, self.members = input_size, output_size, options.get("members")
        holder: nn.Module = self
        if self.specification.child:
            holder = nn.Module()
            self.add_module(self.specification.child, holder)
        for name in self.specification.parameters:
            holder.register_parameter(name, empty(options, output_size, input_size))
        self.reset_parameters(options.get("seeds"))

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Uniform numbers, as the class says."""
        bounds = self.specification.start(self.input_size, self.output_size)
        sources = generators(self.members, seeds)
        for parameter, (low, high) in zip(self.parameters(), bounds, strict=True):
            draw(parameter, self.members, sources, uniform(low, high))

    def matrices(self) -> tuple[Tensor, ...]:
        """What inputs meet: W, and for a NALU its gate G; (O, I) or (E, O, I) each."""
        limits, (first, *others) = self.specification.limits, self.parameters()
        if limits is not None:
            return (first.clamp(*limits),)
        return (torch.tanh(first) * torch.sigmoid(others[0]), *others[1:])

    def weight(self) -> Tensor:
        """W, the weights or exponents of the inputs: (O, I) or (E, O, I)."""
        return self.matrices()[0]

    def prepare(self) -> Tensor:
        """What `step` needs, computed once per sequence: W (E, O, I), or for a NALU [W; G] (E, 2 O, I)."""
        matrices = [stacked(value, self.members) for value in self.matrices()]
        return matrices[0] if len(matrices) == 1 else torch.cat(matrices, dim=1)

    def step(self, x: Tensor, A: Tensor) -> Tensor:
        """The outputs of every member: x (E, N, I), A of `prepare` -> (E, N, O)."""
        return self.specification.step(x, A)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., I) -> (..., O), as the class says."""
        flat, shape = rows(x, self.members, self.input_size)
        return self.step(flat, self.prepare()).view(*shape, self.output_size)

    def extra_repr(self) -> str:
        return f"{self.kind}, {self.input_size}, {self.output_size}, members={self.members}"


UNITS: dict[str, Callable[..., ArithmeticUnit]] = {
    kind: partial(ArithmeticUnit, kind) for kind in SPECIFICATIONS
}


class RecurrentUnit(nn.Module):
    """An arithmetic unit applied at every step to the input and its own last output.

        h_t = unit([x_t, h_{t-1}]),    h_0 learned, starting at 0

    x: (T, B, I) -> h: (T, B, K), h_n: (B, K);
    with members x: (T, B, I) shared or (E, T, B, I) -> h: (E, T, B, K), h_n: (E, B, K)

    >>> h, h_n = RecurrentUnit("nau", 10, 2, members=3)(torch.rand(7, 4, 10))
    >>> h.shape, h_n.shape
    (torch.Size([3, 7, 4, 2]), torch.Size([3, 4, 2]))
    """

    def __init__(
        self, kind: str, input_size: int, hidden_size: int, **options: Unpack[MemberOptions]
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.members = input_size, hidden_size, options.get("members")
        self.output_size = hidden_size
        self.unit = ArithmeticUnit(kind, input_size + hidden_size, hidden_size, **options)
        self.h0 = empty(options, hidden_size)
        nn.init.zeros_(self.h0)

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """A fresh unit and h_0 = 0."""
        self.unit.reset_parameters(seeds)
        nn.init.zeros_(self.h0)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Outputs of every step and the last of them, as the class says."""
        x = sequences(x, self.members, self.input_size)
        start = initial_state(self.h0, state, self.members, x.shape[2])
        cell = self.unit.specification.recurrence
        every, h = recurrence(cell, self._steps, x, start, self.unit.prepare())
        return outward(every, self.members), outward(h, self.members)

    def _steps(self, x: Tensor, h: Tensor, A: Tensor, _: Tensor) -> tuple[Tensor, Tensor]:
        """x (E, T, B, I), h (E, B, K), A as the unit prepared it -> h of every step, and the last."""
        outputs = []
        for now in x.unbind(1):
            # Samples lie side by side in memory: the products of the units are fastest so.
            h = self.unit.step(torch.cat([now.mT, h.mT], dim=1).mT, A)
            outputs.append(h)
        return torch.stack(outputs, dim=1), h

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, members={self.members}"

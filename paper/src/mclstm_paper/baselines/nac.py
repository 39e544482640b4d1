"""NAC, the neural accumulator, and NAC•, its multiplicative form."""

from math import tanh

import torch
from torch import Tensor, nn

from mclstm.nn.members import Seeds, applied, draw, generators, leading, rows, stacked, uniform

__all__ = ["NAC", "NACMul", "log_product", "nac_bound", "nac_weight"]


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


def nac_weight(W_hat: Tensor, M_hat: Tensor) -> Tensor:
    """W = tanh(Ŵ) * σ(M̂), pulled towards -1, 0 and 1: Ŵ, M̂, W (..., O, I)."""
    return torch.tanh(W_hat) * torch.sigmoid(M_hat)


def log_product(
    x: Tensor,  # (E, N, I)
    W: Tensor,  # (E, O, I)
    epsilon: float = 1e-7,
) -> Tensor:
    """exp(W log(|x| + ε)), the product of powers of |x|: (E, N, O)."""
    return torch.exp(applied(W, torch.log(x.abs() + epsilon)))


class NAC(nn.Module):
    """Neural accumulator (Trask et al., 2018): sums and differences of inputs.

        y = W x,    W = tanh(Ŵ) * σ(M̂)

    Start (Madsen & Johansen, 2020): Ŵ, M̂ uniform ±r, see `nac_bound`. No bias.

    x: (..., I) -> y: (..., O); with members x: (B, I) shared or (E, ..., I) -> y: (E, ..., O)

    >>> NAC(3, 2, members=4)(torch.rand(5, 3)).shape
    torch.Size([4, 5, 2])
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        *,
        members: int | None = None,
        seeds: Seeds | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.output_size, self.members = input_size, output_size, members
        shape = (*leading(members), output_size, input_size)
        self.W_hat = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.M_hat = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        self.reset_parameters(seeds)

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Uniform, with the bound of `nac_bound`."""
        r, sources = nac_bound(self.input_size, self.output_size), generators(self.members, seeds)
        for parameter in (self.W_hat, self.M_hat):
            draw(parameter, self.members, sources, uniform(-r, r))

    def weight(self) -> Tensor:
        """The weights the inputs meet: (O, I) or (E, O, I)."""
        return nac_weight(self.W_hat, self.M_hat)

    def prepare(self) -> Tensor:
        """What `step` needs, made once a sequence: W (E, O, I)."""
        return stacked(self.weight(), self.members)

    def step(self, x: Tensor, W: Tensor) -> Tensor:
        """W x of every member: x (E, N, I), W (E, O, I) -> (E, N, O)."""
        return applied(W, x)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., I) -> (..., O), as the class says."""
        flat, shape = rows(x, self.members, self.input_size)
        return self.step(flat, self.prepare()).view(*shape, self.output_size)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.output_size}, members={self.members}"


class NACMul(nn.Module):
    """NAC• (Trask et al., 2018): products and quotients of inputs.

        y = exp(W log(|x| + 1e-7)),    W = tanh(Ŵ) * σ(M̂)

    Start as NAC. The published recurrent row accepted this unit by name and computed a NAC.

    x: (..., I) -> y: (..., O); with members x: (B, I) shared or (E, ..., I) -> y: (E, ..., O)

    >>> NACMul(3, 2)(torch.ones(5, 3)).round(decimals=4).unique().tolist()
    [1.0]
    """

    def __init__(
        self,
        input_size: int,
        output_size: int,
        *,
        members: int | None = None,
        seeds: Seeds | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.output_size, self.members = input_size, output_size, members
        self.nac = NAC(input_size, output_size, members=members, seeds=seeds, device=device, dtype=dtype)

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """As NAC."""
        self.nac.reset_parameters(seeds)

    def weight(self) -> Tensor:
        """The exponents: (O, I) or (E, O, I)."""
        return self.nac.weight()

    def prepare(self) -> Tensor:
        """What `step` needs, made once a sequence: W (E, O, I)."""
        return self.nac.prepare()

    def step(self, x: Tensor, W: Tensor) -> Tensor:
        """The products of every member: x (E, N, I), W (E, O, I) -> (E, N, O)."""
        return log_product(x, W)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., I) -> (..., O), as the class says."""
        flat, shape = rows(x, self.members, self.input_size)
        return self.step(flat, self.prepare()).view(*shape, self.output_size)

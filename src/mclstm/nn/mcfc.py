"""Feed-forward forms: an MC-LSTM without time, and its multiplicative twin."""

from typing import TypedDict, Unpack

import torch
from torch import Tensor, nn

from mclstm.nn.arguments import (
    full_precision,
    like_weights,
    one_of,
    require_dtype,
    require_number,
    require_size,
    require_tensor,
    require_values,
)
from mclstm.nn.ensemble_dim import Seeds, applied, draw, generators, leading, orthogonal, rows, stacked
from mclstm.nn.gates import Norm
from mclstm.nn.row_product import row_product
from mclstm.ops.normalise import NORMALISERS, normalise, sigmoid

__all__ = ["MCFC", "MultiplicativeMCFC"]


class MCFC(nn.Module):
    """A mass-conserving fully connected layer: every input is split over the outputs.

        y = o * (x I),    I = norm(B_i),    o = σ(b_o)

    `split` also returns what the output gate holds back. With `output_gate=False` everything leaves (o = 1).
    With `budget` the last output gets at most this share of any input: I_last = budget norm(B_i)_last. The
    others share the rest by their own logits, so that nothing is lost.

    x: (..., M) -> y: (..., K); with members x: (B, M) shared or (E, ..., M) -> y: (E, ..., K)

    >>> x = torch.rand(5, 3)
    >>> y = MCFC(3, 2, output_gate=False)(x)
    >>> torch.allclose(y.sum(-1), x.sum(-1))
    True
    """

    b_o: Tensor | None

    def __init__(
        self,
        mass_size: int,
        hidden_size: int,
        *,
        input_norm: Norm = "softmax",
        output_gate: bool = True,
        output_bias: float = 0.0,
        budget: float | None = None,
        allow_negative_mass: bool = False,
        members: int | None = None,
        seeds: Seeds | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_size("mass_size", mass_size, least=1)
        require_size("hidden_size", hidden_size, least=1 if budget is None else 2)
        if budget is not None and not 0 < budget < 1:
            raise ValueError(f"budget is {budget!r}; give a share between 0 and 1, or None.")
        self.budget = budget
        self.mass_size, self.hidden_size, self.members = mass_size, hidden_size, members
        self.input_norm = one_of("input_norm", input_norm, NORMALISERS)
        self.output_bias = require_number("output_bias", output_bias)
        self.allow_negative_mass = allow_negative_mass
        dtype = require_dtype(dtype or torch.get_default_dtype())
        lead = leading(members)
        self.B_i = nn.Parameter(torch.empty(*lead, mass_size, hidden_size, device=device, dtype=dtype))
        gate = torch.empty(*lead, hidden_size, device=device, dtype=dtype) if output_gate else None
        self.register_parameter("b_o", None if gate is None else nn.Parameter(gate))
        self.reset_parameters(seeds)

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Orthogonal logits, output gate at its bias."""
        draw(self.B_i, self.members, generators(self.members, seeds), orthogonal)
        if self.b_o is not None:
            nn.init.constant_(self.b_o, self.output_bias)

    @property
    def input_gate(self) -> Tensor:
        """The shares I, (M, K) or (E, M, K): which part of each input goes to which output."""
        shares = self._shares(self.B_i)
        if self.budget is None:
            return shares
        last = self.budget * shares[..., -1:]
        return torch.cat([(1.0 - last) * self._shares(self.B_i[..., :-1]), last], dim=-1)

    def _shares(self, logits: Tensor) -> Tensor:  # (M, K) or (E, M, K)
        even = logits.new_full(logits.shape[-1:], 1.0 / logits.shape[-1])
        return normalise(logits, self.input_norm, even)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What leaves and what is held back, (..., K) each; together they are all of x (..., M)."""
        flat, shape = checked_rows(x, self.B_i, self.members, negative=self.allow_negative_mass)
        with full_precision(x.device):
            m = self._applied(flat)
            y = m if self.b_o is None else sigmoid(self.b_o).unsqueeze(-2) * m
        size = (*shape, self.hidden_size)
        return y.view(size), (m - y).view(size)

    def _applied(self, flat: Tensor) -> Tensor:  # (E, N, M) -> (E, N, K)
        shares = self.input_gate.mT
        if self.members is None and not torch.is_grad_enabled():
            return row_product(flat, shares)
        return applied(stacked(shares, self.members), flat)

    def forward(self, x: Tensor) -> Tensor:
        """What leaves: x (..., M) -> (..., K)."""
        return self.split(x)[0]

    def extra_repr(self) -> str:
        ensemble = "" if self.members is None else f", members={self.members}"
        return f"{self.mass_size}, {self.hidden_size}, input_norm={self.input_norm}{ensemble}"


def checked_rows(
    x: Tensor, weight: Tensor, members: int | None, negative: bool
) -> tuple[Tensor, tuple[int, ...]]:
    """The rows of x (..., M), checked, as (E, N, M), and the shape of the result without its last dimension.

    weight: (M, K) or (E, M, K)
    """
    require_tensor("x", x)
    flat, shape = rows(like_weights("x", x, weight), members, weight.shape[-2])
    alike = members is None or x.dim() == 2  # one set of rows for all members
    require_values("x", flat[0] if alike else flat, ("member", "row", "input"), negative)
    return flat, shape


class MCFCOptions(TypedDict, total=False):
    """The keywords of `MCFC` that modules with an `MCFC` inside pass on."""

    input_norm: Norm
    output_gate: bool
    budget: float | None
    members: int | None
    seeds: Seeds | None
    device: torch.device | str | None
    dtype: torch.dtype | None


class MultiplicativeMCFC(nn.Module):
    """Products instead of sums: y = exp(MCFC(log x) + α); α undoes conservation where it is not wanted.

    With `trash=True` the inner MCFC has one more output, its first, which is dropped: factors that should not
    count go there. Zeros become the smallest normal number, because log 0 would make every gradient NaN.

    x: (..., M) -> y: (..., K); with members x: (B, M) shared or (E, ..., M) -> y: (E, ..., K)

    >>> MultiplicativeMCFC(3, 1)(torch.ones(2, 3)).tolist()
    [[1.0], [1.0]]
    """

    def __init__(
        self, mass_size: int, hidden_size: int, *, trash: bool = False, **options: Unpack[MCFCOptions]
    ) -> None:
        super().__init__()
        require_size("hidden_size", hidden_size, least=1)
        self.mcfc = MCFC(mass_size, hidden_size + int(trash), allow_negative_mass=True, **options)
        self.trash, self.members = trash, self.mcfc.members
        self.alpha = nn.Parameter(self.mcfc.B_i.new_zeros(*leading(self.members), hidden_size))

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """α = 0 and a newly initialised MCFC."""
        self.mcfc.reset_parameters(seeds)
        nn.init.zeros_(self.alpha)

    def forward(self, x: Tensor) -> Tensor:
        """The products: x (..., M), non-negative -> (..., K)."""
        flat, shape = checked_rows(x, self.mcfc.B_i, self.members, negative=False)
        with full_precision(x.device):
            y = self.mcfc(torch.log(flat.clamp(min=torch.finfo(flat.dtype).tiny)))
            y = torch.exp((y[..., 1:] if self.trash else y) + self.alpha.unsqueeze(-2))
        return y.view(*shape, y.shape[-1])

    def extra_repr(self) -> str:
        return f"trash={self.trash}"

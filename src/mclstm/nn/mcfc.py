"""Feed-forward forms: an MC-LSTM without time, and its multiplicative twin."""

import torch
from torch import Tensor, nn

from mclstm.nn.arguments import one_of, require_dtype, require_number, require_size
from mclstm.nn.gates import Norm, orthogonal_
from mclstm.nn.values import full_precision, like_weights, require_tensor, require_values
from mclstm.ops.normalise import NORMALISERS, normalise, sigmoid

__all__ = ["MCFC", "MultiplicativeMCFC"]


class MCFC(nn.Module):
    """A mass-conserving fully connected layer: every input is split over the outputs.

        y = o * (x I),    I = norm(B_i),    o = σ(b_o)

    What the output gate holds back is returned by `split`; with `output_gate=False` all leaves (o = 1).

    x: (..., M) -> y: (..., K)

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
        allow_negative_mass: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_size("mass_size", mass_size, least=1)
        require_size("hidden_size", hidden_size, least=1)
        self.mass_size, self.hidden_size = mass_size, hidden_size
        self.input_norm = one_of("input_norm", input_norm, NORMALISERS)
        self.output_bias = require_number("output_bias", output_bias)
        self.allow_negative_mass = allow_negative_mass
        dtype = require_dtype(dtype or torch.get_default_dtype())
        self.B_i = nn.Parameter(torch.empty(mass_size, hidden_size, device=device, dtype=dtype))
        gate = nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype)) if output_gate else None
        self.register_parameter("b_o", gate)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Orthogonal logits, output gate at its bias."""
        with torch.no_grad():
            orthogonal_(self.B_i)
            if self.b_o is not None:
                self.b_o.fill_(self.output_bias)

    @property
    def input_gate(self) -> Tensor:
        """The shares I, (M, K): which part of each input goes to which output."""
        even = self.B_i.new_full((self.hidden_size,), 1.0 / self.hidden_size)
        return normalise(self.B_i, self.input_norm, even)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What leaves and what is held back, (..., K) each; together they are all of x (..., M)."""
        rows = checked_rows(x, self.B_i, negative=self.allow_negative_mass)
        with full_precision(x.device):
            m = (rows @ self.input_gate).view(*x.shape[:-1], self.hidden_size)
            y = m if self.b_o is None else sigmoid(self.b_o) * m
        return y, m - y

    def forward(self, x: Tensor) -> Tensor:
        """What leaves: x (..., M) -> (..., K)."""
        return self.split(x)[0]

    def extra_repr(self) -> str:
        return f"{self.mass_size}, {self.hidden_size}, input_norm={self.input_norm}"


def checked_rows(x: Tensor, weight: Tensor, negative: bool) -> Tensor:
    """The door of the feed-forward forms: x (..., M), weight (M, K) -> the rows of x, (N, M)."""
    require_tensor("x", x)
    size = weight.shape[0]
    if x.dim() == 0 or x.shape[-1] != size:
        raise ValueError(
            f"x has shape {tuple(x.shape)}, expected (..., {size}); "
            "the last dimension is the size the layer was built with."
        )
    rows = like_weights("x", x, weight).reshape(-1, size)
    require_values("x", rows, ("row", "input"), negative)
    return rows


class MultiplicativeMCFC(nn.Module):
    """Products instead of sums: y = exp(MCFC(log x) + α), with α to undo conservation where it is not meant.

    With `trash=True` the inner MCFC has one more output, its first, that is dropped: factors that should not
    count go there. Zeros are taken as the smallest normal number, for log 0 would make every gradient NaN.

    x: (..., M) -> y: (..., K)

    >>> MultiplicativeMCFC(3, 1)(torch.ones(2, 3)).tolist()
    [[1.0], [1.0]]
    """

    def __init__(
        self,
        mass_size: int,
        hidden_size: int,
        *,
        trash: bool = False,
        input_norm: Norm = "softmax",
        output_gate: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        require_size("hidden_size", hidden_size, least=1)
        self.trash = trash
        self.mcfc = MCFC(
            mass_size,
            hidden_size + int(trash),
            input_norm=input_norm,
            output_gate=output_gate,
            allow_negative_mass=True,
            device=device,
            dtype=dtype,
        )
        self.alpha = nn.Parameter(torch.zeros(hidden_size, device=device, dtype=self.mcfc.B_i.dtype))

    def reset_parameters(self) -> None:
        """α = 0 and a fresh MCFC."""
        self.mcfc.reset_parameters()
        with torch.no_grad():
            self.alpha.zero_()

    def forward(self, x: Tensor) -> Tensor:
        """The products: x (..., M), non-negative -> (..., K)."""
        rows = checked_rows(x, self.mcfc.B_i, negative=False)
        with full_precision(x.device):
            logs = torch.log(rows.clamp(min=torch.finfo(rows.dtype).tiny))
            y = self.mcfc(logs.view(x.shape))
            return torch.exp((y[..., 1:] if self.trash else y) + self.alpha)

    def extra_repr(self) -> str:
        return f"trash={self.trash}"

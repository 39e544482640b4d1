"""A plain MC-LSTM in the style of the published implementations: a Python loop over modules and autograd.

What users have today, and what the speed of ours is compared with. It computes the same function as the layer
it is made from (`state_norm="sample"`), except where a normalised ReLU has no positive entry: there it loses
the mass, as the published ones do.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from mclstm.nn.layer import MCLSTM

__all__ = ["EagerMCLSTM"]

Activation = Callable[[Tensor], Tensor]

NORMALISED: dict[str, Activation] = {
    "softmax": lambda logits: torch.softmax(logits, dim=-1),
    "sigmoid": lambda logits: functional.normalize(torch.sigmoid(logits), p=1, dim=-1),
    "relu": lambda logits: functional.normalize(torch.relu(logits), p=1, dim=-1),
}


class Gate(nn.Module):
    """activation(W z + b) by a module of its own: z (B, F) -> (B, ...)."""

    def __init__(self, W: Tensor, b: Tensor, activation: Activation) -> None:  # W (..., F), b (...)
        super().__init__()
        self.shape, self.activation = b.shape, activation
        self.fc = nn.Linear(W.shape[-1], b.numel())
        with torch.no_grad():
            self.fc.weight.copy_(W.flatten(end_dim=-2))
            self.fc.bias.copy_(b.flatten())

    def forward(self, z: Tensor) -> Tensor:
        return self.activation(self.fc(z).view(-1, *self.shape))


class Constant(nn.Module):
    """activation(B), the same at every step and computed at every step: z is not looked at."""

    def __init__(self, B: Tensor, activation: Activation) -> None:  # (K, K)
        super().__init__()
        self.B, self.activation = nn.Parameter(B.detach().clone()), activation

    def forward(self, z: Tensor) -> Tensor:
        return self.activation(self.B)


class EagerMCLSTM(nn.Module):
    """The function of a layer, step by step in plain modules; static inputs come with the auxiliary ones.

    x: (T, B, M) · a: (T, B, A + S) -> h: (T, B, K), c: (B, K)

    >>> layer = MCLSTM(1, 2, 3)
    >>> x, a = torch.rand(5, 4, 1), torch.randn(5, 4, 2)
    >>> torch.allclose(EagerMCLSTM(layer)(x, a)[0], layer(x, a)[0])
    True
    """

    def __init__(self, layer: MCLSTM) -> None:
        super().__init__()
        weights, form = layer.gates.weights(), layer.gates.form
        self.sees, self.cells = form.gates_see, layer.gates.hidden_size
        self.input_gate = Gate(weights.W_i, weights.b_i, NORMALISED[form.input_norm])
        self.output_gate = Gate(weights.W_o, weights.b_o, torch.sigmoid)
        normalised = NORMALISED[form.redistribution_norm]
        assert weights.B_r is not None
        self.redistribution: nn.Module
        if weights.W_r is None:
            self.redistribution = Constant(weights.B_r, normalised)
        else:
            self.redistribution = Gate(weights.W_r, weights.B_r, normalised)

    def forward(self, x: Tensor, a: Tensor) -> tuple[Tensor, Tensor]:
        c = x.new_zeros(x.shape[1], self.cells)
        outflows = []
        for x_t, a_t in zip(x, a, strict=True):
            h, c = self.step(x_t, a_t, c)
            outflows.append(h)
        return torch.stack(outflows), c

    def step(self, x: Tensor, a: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """x (B, M), a (B, A + S), c (B, K) -> outflow (B, K), cells (B, K)."""
        z = self.features(x, a, c)
        i, R, o = self.input_gate(z), self.redistribution(z), self.output_gate(z)
        inflow = torch.matmul(x.unsqueeze(-2), i).squeeze(-2)
        moved = torch.matmul(c.unsqueeze(-2), R).squeeze(-2)
        m = inflow + moved
        h = o * m
        return h, m - h

    def features(self, x: Tensor, a: Tensor, c: Tensor) -> Tensor:
        seen = []
        if "aux" in self.sees:
            seen.append(a)
        if "state" in self.sees:
            total = c.sum(dim=-1, keepdim=True)
            seen.append(c / torch.where(total == 0, torch.ones_like(total), total))
        if "mass" in self.sees:
            seen.append(x)
        return torch.cat(seen, dim=-1)

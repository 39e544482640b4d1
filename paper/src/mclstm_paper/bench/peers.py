"""The models that ours is timed against: a plain MC-LSTM, neuralhydrology's, and two LSTMs."""

import types
import warnings
from collections.abc import Callable
from importlib import import_module

import torch
from torch import Tensor, nn
from torch.nn import functional

from mclstm.nn.layer import MCLSTM

__all__ = ["FORGET_BIAS", "EagerMCLSTM", "PythonLSTM", "Unavailable", "neuralhydrology_cell", "torch_lstm"]

Activation = Callable[[Tensor], Tensor]

FORGET_BIAS = 3.0  # the paper's; with 0 the gradients of early steps are denormal numbers
NORMALISED: dict[str, Activation] = {
    "softmax": lambda logits: torch.softmax(logits, dim=-1),
    "sigmoid": lambda logits: functional.normalize(torch.sigmoid(logits), p=1, dim=-1),
    "relu": lambda logits: functional.normalize(torch.relu(logits), p=1, dim=-1),
}


class Unavailable(Exception):
    """Why a candidate cannot run on this machine; the bench reports it and continues without it."""


class Gate(nn.Module):
    """One gate as one module, activation(W z + b): z (B, F) -> (B, ...)."""

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
    """activation(B): the same at every step, yet computed at every step. It ignores z."""

    def __init__(self, B: Tensor, activation: Activation) -> None:  # (K, K)
        super().__init__()
        self.B, self.activation = nn.Parameter(B.detach().clone()), activation

    def forward(self, z: Tensor) -> Tensor:
        return self.activation(self.B)


class EagerMCLSTM(nn.Module):
    """The function of a layer as a Python loop over plain modules, as the published implementations write it.

    It computes the same as the layer it is made from (`state_norm="sample"`), with one exception: where a
    normalised ReLU has no positive entry it loses the mass, as the published ones do. Static inputs are given
    with the auxiliary ones.

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
        assert weights.W_o is not None
        assert weights.b_o is not None
        assert weights.B_r is not None
        self.output_gate = Gate(weights.W_o, weights.b_o, torch.sigmoid)
        normalised = NORMALISED[form.redistribution_norm]
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


def neuralhydrology_cell(layer: MCLSTM) -> nn.Module:
    """neuralhydrology's MC-LSTM cell with the weights of a layer.

    x (T, B, 1), a (T, B, A + S) -> h (T, B, K), c (T, B, K)

    It has only the gates of the hydrology experiments. It divides the state by the sum over the whole batch,
    as our layer does with `state_norm="batch"`.
    """
    form, gates = layer.gates.form, layer.gates
    options = (form.redistribution, form.input_norm, form.redistribution_norm, form.gates_see)
    if options != ("dynamic", "sigmoid", "relu", ("aux", "state", "mass")) or gates.mass_size != 1:
        raise Unavailable("neuralhydrology has the gates of the hydrology experiments only")
    config = types.SimpleNamespace(initial_forget_bias=None)
    cell: nn.Module = _cell_class()(1, gates.aux_size + gates.static_size, gates.hidden_size, config)
    with torch.no_grad():
        for name, W, b in (
            ("input_gate", gates.W_i, gates.b_i),
            ("redistribution", gates.W_r, gates.B_r),
            ("output_gate", gates.W_o, gates.b_o),
        ):
            assert W is not None
            assert b is not None
            cell.get_parameter(f"{name}.fc.weight").copy_(_mass_first(W))
            cell.get_parameter(f"{name}.fc.bias").copy_(b.flatten())
    return cell


def _mass_first(W: Tensor) -> Tensor:
    """Features in the order x, a, c instead of a, c, x: W (..., F) -> (rows, F)."""
    return W.flatten(end_dim=-2).roll(1, dims=-1)


def _cell_class() -> type[nn.Module]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its imports use deprecated parts of its dependencies
            module = import_module("neuralhydrology.modelzoo.mclstm")
    except ImportError as error:
        raise Unavailable(f"{error}; pip install neuralhydrology") from error
    cell_class: type[nn.Module] = module._MCLSTMCell
    return cell_class


def torch_lstm(input_size: int, hidden_size: int) -> nn.LSTM:
    """`nn.LSTM` with the paper's forget bias.

    >>> torch_lstm(2, 1).bias_ih_l0[1].item()
    3.0
    """
    lstm = nn.LSTM(input_size, hidden_size)
    with torch.no_grad():  # both biases are added; the forget gate is the second of the four blocks
        lstm.get_parameter("bias_ih_l0")[hidden_size : 2 * hidden_size] = FORGET_BIAS
        lstm.get_parameter("bias_hh_l0")[hidden_size : 2 * hidden_size] = 0.0
    return lstm


class PythonLSTM(nn.Module):
    """An LSTM as a loop in Python, as the paper timed it ("a custom LSTM").

        i, f, g, o = W [x_t, h_{t-1}] + b,   c = σ(f) c + σ(i) tanh(g),   h = σ(o) tanh(c)

    x: (T, B, I) -> h: (T, B, K), c: (B, K)

    >>> PythonLSTM(2, 3)(torch.rand(5, 4, 2))[0].shape
    torch.Size([5, 4, 3])
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.cells = hidden_size
        self.gates = nn.Linear(input_size + hidden_size, 4 * hidden_size)
        with torch.no_grad():
            self.gates.bias[hidden_size : 2 * hidden_size] = FORGET_BIAS

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = c = x.new_zeros(x.shape[1], self.cells)
        outputs = []
        for x_t in x:
            i, f, g, o = self.gates(torch.cat([x_t, h], dim=-1)).chunk(4, dim=-1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs), c

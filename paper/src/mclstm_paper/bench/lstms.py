"""Two LSTMs to compare with: PyTorch's own, and one written in Python as the paper timed it."""

import torch
from torch import Tensor, nn

__all__ = ["FORGET_BIAS", "PythonLSTM", "torch_lstm"]

FORGET_BIAS = 3.0  # the paper's; with 0 the gradients of early steps are denormal numbers


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
    """An LSTM as a loop in Python: "a custom LSTM rather than the highly optimised default implementation".

        i, f, g, o = W [x_t, h_{t-1}] + b,   c = σ(f) c + σ(i) tanh(g),   h = σ(o) tanh(c)

    x: (T, B, I) -> h: (T, B, K)

    >>> PythonLSTM(2, 3)(torch.rand(5, 4, 2)).shape
    torch.Size([5, 4, 3])
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.cells = hidden_size
        self.gates = nn.Linear(input_size + hidden_size, 4 * hidden_size)
        with torch.no_grad():
            self.gates.bias[hidden_size : 2 * hidden_size] = FORGET_BIAS

    def forward(self, x: Tensor) -> Tensor:
        h = c = x.new_zeros(x.shape[1], self.cells)
        outputs = []
        for x_t in x:
            i, f, g, o = self.gates(torch.cat([x_t, h], dim=-1)).chunk(4, dim=-1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs)

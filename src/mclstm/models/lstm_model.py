"""PyTorch's LSTM with a linear head and the usual scaling: the baseline that conserves nothing."""

import torch
from torch import Tensor, nn

from mclstm.models.output import Moments, Output, Sizes, State
from mclstm.nn.dropout import Dropout
from mclstm.nn.hydrology import balance_penalty as created_mass
from mclstm.nn.hydrology import open_forget_gate
from mclstm.nn.row_product import row_product

__all__ = ["LSTMModel"]


class LSTMModel(nn.Module):
    """y = (D LSTM([(x - μ_x) / σ_x, a, static]) W + b) σ_y + μ_y, with the moments of the training period.

    D drops a share of the hidden values in training. It uses torch's generator, whose state is part of a
    checkpoint: a resumed training drops the same values as one that was not interrupted.
    With a `balance_penalty` the state also holds what came in and what was predicted since the start.
    x: (T, B, M) · a: (T, B, A) · static: (B, S) -> y: (T, B, targets)

    >>> moments = Moments([2.0], [3.0], [1.0], [2.0])
    >>> model = LSTMModel(Sizes(1, 2, 0, ["flow"]), moments, hidden_size=4)
    >>> model(torch.rand(5, 3, 1), torch.randn(5, 3, 2), torch.zeros(3, 0)).y.shape
    torch.Size([5, 3, 1])
    """

    conserving = False
    mass_mean: Tensor
    mass_std: Tensor
    target_mean: Tensor
    target_std: Tensor

    def __init__(
        self,
        sizes: Sizes,
        moments: Moments | None,
        *,
        hidden_size: int,
        forget_bias: float = 3.0,
        dropout: float = 0.0,
        balance_penalty: float = 0.0,
    ) -> None:
        super().__init__()
        if moments is None:
            raise ValueError("The LSTM scales its inputs; give the moments of the training period.")
        self.outlets = self.targets = tuple(sizes.targets)
        self.balance_weight = balance_penalty
        self.lstm = nn.LSTM(sizes.mass + sizes.aux + sizes.static, hidden_size)
        self.dropout = Dropout(dropout)
        self.linear = nn.Linear(hidden_size, len(self.outlets))
        for name, values in moments._asdict().items():
            self.register_buffer(name, torch.tensor(values, dtype=torch.get_default_dtype()))
        open_forget_gate(self.lstm, forget_bias)

    def forward(
        self,
        x: Tensor,  # (T, B, M)
        a: Tensor,  # (T, B, A)
        static: Tensor,  # (B, S)
        state: State | None = None,
    ) -> Output:
        scaled = (x - self.mass_mean) / self.mass_std
        seen = torch.cat([scaled, a, static.expand(x.shape[0], *static.shape)], dim=-1)
        before = None if state is None else tuple(state[name].unsqueeze(0) for name in ("hidden", "cells"))
        hidden, (h_n, c_n) = self.lstm(seen, before)
        y = row_product(self.dropout(hidden), self.linear.weight, self.linear.bias)
        y = y * self.target_std + self.target_mean
        after = {"hidden": h_n[0], "cells": c_n[0]}
        if not self.balance_weight:
            return Output(y, after, x.new_zeros(()))
        flows = torch.stack([x.sum(-1), y.sum(-1)], dim=-1).cumsum(0)  # (T, B, 2) since the first step
        totals = flows if state is None else flows + state["totals"]
        penalty = self.balance_weight * created_mass(totals[..., 0], totals[..., 1], self.mass_std.sum())
        return Output(y, {**after, "totals": totals[-1]}, penalty)

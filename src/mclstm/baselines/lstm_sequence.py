"""The LSTM recurrence of an ensemble with a backward written by hand.

Autograd keeps some thirty small nodes a step; here a step is six products into buffers made once a sequence,
and everything that does not depend on the next step is done for all steps together. The batch is the last
dimension, so that a gate is one contiguous block.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["lstm_sequence"]


def lstm_sequence(
    x: Tensor,  # (T, E, I, B)
    h0: Tensor,  # (E, K, B)
    c0: Tensor,  # (E, K, B)
    W: Tensor,  # (E, G * K, I), gates in the order o, i, (f,) g
    U: Tensor,  # (E, G * K, K)
    b: Tensor,  # (E, G * K)
) -> tuple[Tensor, Tensor]:
    """Outputs of every step (T, E, K, B) and the last cells (E, K, B); G = 4, or 3 without a forget gate.

        o, i, f = σ(W x_t + U h_{t-1} + b)    g = tanh(W_g x_t + U_g h_{t-1} + b_g)
        c_t = f * c_{t-1} + i * g             h_t = o * tanh(c_t)

    Differentiable once.

    >>> weights = torch.zeros(1, 12, 1), torch.zeros(1, 12, 3), torch.zeros(1, 12)
    >>> h, c = lstm_sequence(torch.ones(5, 1, 1, 2), torch.zeros(1, 3, 2), torch.ones(1, 3, 2), *weights)
    >>> h.shape, c.unique().tolist()
    (torch.Size([5, 1, 3, 2]), [0.03125])
    """
    h, c = _Recurrence.apply(x, h0, c0, W, U, b)  # type: ignore[no-untyped-call]
    return h, c


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, h0: Tensor, c0: Tensor, W: Tensor, U: Tensor, b: Tensor
    ) -> tuple[Tensor, Tensor]:
        T, K = x.shape[0], h0.shape[1]
        gates = torch.matmul(W, x).add_(b.unsqueeze(-1))  # (T, E, G * K, B)
        h, c, squashed = (h0.new_empty(T + 1, *h0.shape) for _ in range(3))
        h[0], c[0] = h0, c0
        for t in range(T):
            z = gates[t].baddbmm_(U, h[t])
            z[:, :-K].sigmoid_()
            z[:, -K:].tanh_()
            o, i, g = z[:, :K], z[:, K : 2 * K], z[:, -K:]
            torch.mul(i, g, out=c[t + 1])
            if z.shape[1] == 4 * K:
                c[t + 1].addcmul_(z[:, 2 * K : 3 * K], c[t])
            else:
                c[t + 1].add_(c[t])
            torch.tanh(c[t + 1], out=squashed[t])
            torch.mul(o, squashed[t], out=h[t + 1])
        ctx.save_for_backward(x, W, U, gates, h, c, squashed)
        return h[1:], c[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dh_all: Tensor, dc_last: Tensor) -> tuple[Tensor | None, ...]:
        x, W, U, gates, h, c, squashed = ctx.saved_tensors
        T, E, wide, B = gates.shape
        K = h.shape[2]
        blocks = gates.view(T, E, wide // K, K, B)
        o, i, g, forgets = blocks[:, :, 0], blocks[:, :, 1], blocks[:, :, -1], wide == 4 * K
        # How the cells' and outputs' gradients reach each pre-activation; known for all steps beforehand.
        local = torch.empty_like(blocks)
        torch.mul(squashed[:T], o * (1 - o), out=local[:, :, 0])
        torch.mul(g, i * (1 - i), out=local[:, :, 1])
        torch.mul(i, 1 - g * g, out=local[:, :, -1])
        if forgets:
            f = blocks[:, :, 2]
            torch.mul(c[:T], f * (1 - f), out=local[:, :, 2])
        to_cell = o * (1 - squashed[:T].square())
        dh, dc, Ut = torch.zeros_like(h[0]), dc_last.clone(), U.transpose(1, 2)
        for t in range(T - 1, -1, -1):
            dh += dh_all[t]
            dc.addcmul_(dh, to_cell[t])
            local[t, :, 0].mul_(dh)
            local[t, :, 1:].mul_(dc.unsqueeze(1))
            if forgets:
                dc.mul_(f[t])
            torch.bmm(Ut, local[t].view(E, wide, B), out=dh)
        dz = local.view(T, E, wide, B)
        dx = torch.matmul(W.transpose(1, 2), dz) if ctx.needs_input_grad[0] else None
        dW = torch.matmul(dz, x.transpose(2, 3)).sum(dim=0)
        dU = torch.matmul(dz, h[:-1].transpose(2, 3)).sum(dim=0)
        return dx, dh, dc, dW, dU, dz.sum(dim=(0, 3))

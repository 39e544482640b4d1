"""All gates of an MC-LSTM as one block of rows, and the shares that a row gives: used by backend `torch`.

A row of K logits belongs to each mass input (where its mass goes), to each cell (where its mass goes) and to
the output gate: G = M + K + 1 rows for a dynamic R. At each step all rows are one product with the features
that change, W z_t. What static inputs and biases add is the same at every step and computed once: `base`.

Everything leads with E, the members of an ensemble, which is 1 for a plain layer.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from mclstm.ops.normalise import SATURATED, bounded, fallback_rows, logit_limit, normalise, sigmoid
from mclstm.ops.problem import Form, Problem, Weights

__all__ = [
    "Shares", "Stacked", "collected", "left", "shared_out", "shares", "stack", "write_logit_gradients",
]  # fmt: skip

ABLATED = ("plain", "linear")  # rows that are not normalised: logistic, or the logits themselves


class Stacked(NamedTuple):
    """A problem with its weights stacked; F features that change, in the order a, c / |c|, x."""

    form: Form
    x: Tensor  # (E, T, B, M)
    a: Tensor  # (E, T, B, A), A = 0 where the gates do not see it
    c0: Tensor  # (E, B, K)
    W: Tensor  # (E, G, K, F), rows: M of the input gate, K dynamic or 2 outer ones, 1 of the output gate
    base: Tensor  # (E, B, G, K), or (E, 1, G, K) without static inputs
    fixed: Tensor | None  # (E, K, K), static: R itself; outer: B_r
    mask: Tensor | None  # (K, K) bool
    valid: Tensor | None  # (T, B) bool

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many rows the input gate, R (K dynamic, 2 outer, else 0) and the output gate have."""
        masses = self.x.shape[-1]
        return masses, self.W.shape[1] - masses - 1, 1


def stack(problem: Problem) -> Stacked:
    """The problem with stacked weights; plain operations, so that autograd sees through them."""
    x, a, s, c0, valid, weights, form = problem
    if x.dim() == 3:
        x, a, s, c0 = x.unsqueeze(0), a.unsqueeze(0), s.unsqueeze(0), c0.unsqueeze(0)
        weights = weights.each(lambda value: value.unsqueeze(0))
    weights = weights.with_gate()
    assert weights.W_o is not None
    assert weights.b_o is not None
    W_r = [] if weights.W_r is None else [weights.W_r]
    W = torch.cat([weights.W_i, *W_r, weights.W_o.unsqueeze(1)], dim=1)
    b_r = {"dynamic": weights.B_r, "outer": weights.b_r}.get(form.redistribution)
    bias = torch.cat([weights.b_i, *([] if b_r is None else [b_r]), weights.b_o.unsqueeze(1)], dim=1)
    base = bias.unsqueeze(1)
    if "aux" not in form.gates_see:
        a = a[..., :0]
    elif s.shape[-1] > 0:
        W_a, W_s, W_rest = W.split_with_sizes(
            [a.shape[-1], s.shape[-1], W.shape[-1] - a.shape[-1] - s.shape[-1]], dim=-1
        )
        W = torch.cat([W_a, W_rest], dim=-1)
        product = torch.baddbmm(base.flatten(2), s, W_s.flatten(1, 2).transpose(1, 2))
        base = product.view(*s.shape[:2], *bias.shape[1:])
    return Stacked(form, x, a, c0, W, base, _fixed(weights, form), weights.mask, valid)


def left(h: Tensor, form: Form) -> Tensor:
    """What left the cells: h, or zeros where there is no outlet, which `with_gate` shuts but for 1e-35."""
    return torch.zeros_like(h) if form.outlet == "none" else h


def _fixed(weights: Weights, form: Form) -> Tensor | None:
    B_r, mask = weights.B_r, weights.mask
    if form.redistribution == "outer":
        return B_r
    if form.redistribution != "static":
        return None
    assert B_r is not None
    if "redistribution" in form.not_conserving:
        return B_r if mask is None else B_r.masked_fill(~mask, 0.0)
    eye = torch.eye(B_r.shape[-1], dtype=B_r.dtype, device=B_r.device)
    return normalise(B_r, form.redistribution_norm, fallback_rows(mask, eye), mask)


class Shares(NamedTuple):
    """Rows before their normalisation; N rows per sample, one for each amount of mass to share out."""

    A: Tensor  # (E, B, N, K), row k's share of cell j is A_kj / n_k
    n: Tensor  # (E, B, N), 1 for a dead row
    dead: Tensor | None  # (E, B, N) bool, rows without a positive entry (ReLU only), replaced by `fallback`
    fallback: Tensor  # (N, K)
    cut: Tensor | None = None  # (E, B, N) bool, rows without slope: `bounded` cut their largest logit off


def shares(logits: Tensor, kind: str, fallback: Tensor, mask: Tensor | None) -> Shares:
    """Rows that are not yet normalised: logits (E, B, N, K) · fallback (N, K) · mask (N, K) bool or None.

    Where no graph is recorded, ReLU and softmax overwrite the logits, the largest tensor of a step.
    """
    if kind in ABLATED:
        A = sigmoid(logits) if kind == "plain" else logits if mask is None else logits.masked_fill(~mask, 0.0)
        return Shares(A, A.new_ones(A.shape[:-1]), None, fallback)
    limit = logit_limit(logits.dtype)
    if torch.is_grad_enabled() or kind == "sigmoid":  # its slope needs the logits
        logits = logsigmoid(bounded(logits)) if kind == "sigmoid" else bounded(logits)
    else:
        logits.clamp_(0.0 if kind == "relu" else -limit, limit)
    if mask is not None:
        logits.masked_fill_(~mask, 0.0 if kind == "relu" else -torch.inf)
    if kind != "relu":
        top = logits.detach().amax(dim=-1, keepdim=True)
        A = logits.sub_(top).exp_()
        return Shares(A, A.sum(dim=-1), None, fallback, top.squeeze(-1).abs() >= limit)
    A = logits.relu_() if torch.is_grad_enabled() else logits
    n = A.sum(dim=-1)
    dead = n < torch.finfo(n.dtype).tiny
    return Shares(A, n.masked_fill(dead, 1.0), dead, fallback)


def shared_out(u: Tensor, rows: Shares) -> Tensor:
    """m_j = sum_k (u_k / n_k) A_kj: u (E, B, N) -> (E, B, K)."""
    # In units of a power of two near the total: exact, and a large amount over a small n cannot overflow.
    total = u.detach().abs().sum(dim=-1, keepdim=True)
    unit = torch.ldexp(torch.ones_like(total), torch.frexp(total)[1].clamp(min=-100) - 1)
    w = u / unit / rows.n
    w = w if rows.dead is None else w.masked_fill(rows.dead, 0.0)
    m = unit * torch.matmul(w.unsqueeze(-2), rows.A).squeeze(-2)
    return m if rows.dead is None else m + torch.where(rows.dead, u, 0.0) @ rows.fallback


def collected(g: Tensor, rows: Shares) -> Tensor:
    """q_k = sum_j A_kj g_j / n_k, what a unit of mass in row k is worth: g (E, B, K) -> (E, B, N)."""
    # With two columns, one of them dropped: torch's path for a single column is three times slower.
    q = torch.matmul(rows.A, g.unsqueeze(-1).repeat(1, 1, 1, 2))[..., 0] / rows.n
    return q if rows.dead is None else torch.where(rows.dead, g @ rows.fallback.t(), q)


def write_logit_gradients(
    out: Tensor, u: Tensor, g: Tensor, q: Tensor, rows: Shares, logits: Tensor, kind: str, mask: Tensor | None
) -> None:
    """out = dA/dlogits (u / n) (g - q): out, logits (E, B, N, K) · u, q (E, B, N) · g (E, B, K)."""
    if kind in ABLATED:
        torch.mul(u.unsqueeze(-1), g.unsqueeze(-2), out=out)
        if kind == "plain":
            out.mul_(rows.A * (1.0 - rows.A) * (logits.abs() <= SATURATED))
        elif mask is not None:
            out.masked_fill_(~mask, 0.0)
        return
    for flat in (rows.dead, rows.cut):
        u = u if flat is None else u.masked_fill(flat, 0.0)
    # Not by u / n, which may overflow where u (g - q) is small.
    torch.sub(g.unsqueeze(-2), q.unsqueeze(-1), out=out).mul_(u.unsqueeze(-1)).div_(rows.n.unsqueeze(-1))
    if kind == "relu":
        limit = logit_limit(out.dtype)
        torch.ops.aten.hardtanh_backward.grad_input(out, rows.A, 0.0, limit, grad_input=out)
    else:
        out.mul_(rows.A)
    if kind == "sigmoid":
        out.mul_(sigmoid(-logits) * (logits <= SATURATED))

"""All gates of an MC-LSTM as one block of rows, as the fast backends take them.

A row of K logits belongs to each mass input (where its mass goes), to each cell (where its mass goes) and to
the output gate: G = M + K + 1 rows for a dynamic R. Each step all of them are one product with the features
that change, W z_t; what static inputs and biases add is the same at every step and computed once: `base`.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.ops.normalise import normalise
from mclstm.ops.redistribution import fallback_rows
from mclstm.ops.reference import Form, Weights

__all__ = ["Stacked", "covered", "shared_rows", "stack"]

COVERED = ("dynamic", "static", "outer", "identity")


class Stacked(NamedTuple):
    """One sequence's problem; F features that change, in the order a, c / |c|, x, as far as they are seen."""

    x: Tensor  # (T, B, M)
    a: Tensor  # (T, B, A), nothing of it (A = 0) where the gates do not see it
    c0: Tensor  # (B, K)
    W: Tensor  # (G, K, F), rows: M of the input gate, then K dynamic or 2 outer ones, 1 of the output gate
    base: Tensor  # (B, G, K), or (1, G, K) without static inputs
    fixed: Tensor | None  # (K, K), static: R itself; outer: B_r
    mask: Tensor | None  # (K, K) bool
    valid: Tensor | None  # (T, B) bool


def covered(form: Form) -> bool:
    """Whether a form can be stacked: no module as redistribution, no ablation, no batch norm of states."""
    return form.redistribution in COVERED and form.state_norm == "sample" and not form.not_conserving


def shared_rows(form: Form, cells: int) -> int:
    """How many rows belong to the redistribution: K dynamic, 2 outer, else 0."""
    return {"dynamic": cells, "outer": 2}.get(form.redistribution, 0)


def stack(
    x: Tensor, a: Tensor, s: Tensor, c0: Tensor, weights: Weights, form: Form, valid: Tensor | None
) -> Stacked:
    """Weights and inputs in the layout of the fast backends; plain operations, so gradients find their way.

    x: (T, B, M) · a: (T, B, A) · s: (B, S) · c0: (B, K) · valid: (T, B) bool or None
    """
    W_r = [] if weights.W_r is None else [weights.W_r]
    W = torch.cat([weights.W_i, *W_r, weights.W_o.unsqueeze(0)])
    b_r = {"dynamic": weights.B_r, "outer": weights.b_r}.get(form.redistribution)
    bias = torch.cat([weights.b_i, *([] if b_r is None else [b_r]), weights.b_o.unsqueeze(0)])
    base = bias.unsqueeze(0)
    if "aux" not in form.gates_see:
        a = a[..., :0]
    elif s.shape[-1] > 0:
        W_a, W_s, W_rest = W.split_with_sizes(
            [a.shape[-1], s.shape[-1], W.shape[-1] - a.shape[-1] - s.shape[-1]], dim=-1
        )
        W = torch.cat([W_a, W_rest], dim=-1)
        base = torch.addmm(bias.flatten(), s, W_s.flatten(end_dim=1).t()).view(-1, *bias.shape)
    return Stacked(x, a, c0, W, base, _fixed(weights, form), weights.mask, valid)


def _fixed(weights: Weights, form: Form) -> Tensor | None:
    B_r, mask = weights.B_r, weights.mask
    if form.redistribution == "outer":
        return B_r
    if form.redistribution != "static":
        return None
    assert B_r is not None
    everywhere = torch.ones_like(B_r, dtype=torch.bool)
    fallback = fallback_rows(everywhere if mask is None else mask, B_r.dtype)
    return normalise(B_r, form.redistribution_norm, fallback, mask)

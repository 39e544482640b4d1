"""All gates of an MC-LSTM as one block of rows, as the fast backends take them.

A row of K logits belongs to each mass input (where its mass goes), to each cell (where its mass goes) and to
the output gate: G = M + K + 1 rows for a dynamic R. Each step all of them are one product with the features
that change, W z_t; what static inputs and biases add is the same at every step and computed once: `base`.

Everything leads with E, the members of an ensemble, which is 1 for a plain layer. What members share is
expanded along it, never copied.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.ops.normalise import normalise
from mclstm.ops.redistribution import fallback_rows
from mclstm.ops.reference import MEMBERS, Form, Weights

__all__ = ["Stacked", "covered", "row_kinds", "shared_rows", "stack"]

COVERED = ("dynamic", "static", "outer", "identity")


class Stacked(NamedTuple):
    """One sequence's problem; F features that change, in the order a, c / |c|, x, as far as they are seen."""

    x: Tensor  # (E, T, B, M)
    a: Tensor  # (E, T, B, A), nothing of it (A = 0) where the gates do not see it
    c0: Tensor  # (E, B, K)
    W: Tensor  # (E, G, K, F), rows: M of the input gate, K dynamic or 2 outer ones, 1 of the output gate
    base: Tensor  # (E, B, G, K), or (E, 1, G, K) without static inputs
    fixed: Tensor | None  # (E, K, K), static: R itself; outer: B_r
    mask: Tensor | None  # (K, K) bool
    valid: Tensor | None  # (T, B) bool


def covered(form: Form) -> bool:
    """Whether a form can be stacked: no module as redistribution."""
    return form.redistribution in COVERED


def row_kinds(form: Form) -> tuple[str, str]:
    """How rows of the input gate and of R are made of their logits; the ablations' rows sum to anything."""
    return (
        "plain" if "input" in form.not_conserving else form.input_norm,
        "linear" if "redistribution" in form.not_conserving else form.redistribution_norm,
    )


def shared_rows(form: Form, cells: int) -> int:
    """How many rows belong to the redistribution: K dynamic, 2 outer, else 0."""
    return {"dynamic": cells, "outer": 2}.get(form.redistribution, 0)


def stack(
    x: Tensor, a: Tensor, s: Tensor, c0: Tensor, weights: Weights, form: Form, valid: Tensor | None
) -> Stacked:
    """Weights and inputs in the layout of the fast backends; plain operations, so gradients find their way.

    x: (T, B, M) · a: (T, B, A) · s: (B, S) · c0: (B, K) · valid: (T, B) bool or None, all but the last
    led by E or not at all
    """
    if x.dim() == 3:
        x, a, s, c0, weights = x.unsqueeze(0), a.unsqueeze(0), s.unsqueeze(0), c0.unsqueeze(0), led(weights)
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
    return Stacked(x, a, c0, W, base, _fixed(weights, form), weights.mask, valid)


def led(weights: Weights) -> Weights:
    """The weights of a plain layer as those of an ensemble of one."""
    own = {
        name: value.unsqueeze(0)
        for name, value in weights._asdict().items()
        if name in MEMBERS and value is not None
    }
    return weights._replace(**own)


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

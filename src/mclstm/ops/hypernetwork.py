"""The built-in network of a redistribution, as pure functions: what it sees of the cells, and its layers.

    z = [a, scale * seen(c) + shift],    logits = W_L f(... f(W_1 z + b_1) ...) + b_L

Everything leads with E, the members of an ensemble, which is 1 for a plain layer.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.ops.reference import EMPTY

__all__ = ["ACTIVATIONS", "SEES", "Sight", "perceptron", "shares_of", "state_features"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "tanh": torch.tanh}
SEES = ("cells", "share", "share and change")


class Sight(NamedTuple):
    """What a network sees of the cells: one feature for each cell it looks at, or two with their changes."""

    sees: str  # cells | share | share and change
    cells: tuple[int, ...]  # which it looks at
    scale: tuple[float, ...]  # one for each feature: of the cells in their order, then of their changes
    shift: tuple[float, ...]  # likewise


def shares_of(c: Tensor) -> Tensor:
    """c / |c|_1, and c itself where a sample's stores are empty: c, result (..., K).

    >>> shares_of(torch.tensor([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """
    total = c.abs().sum(dim=-1, keepdim=True)
    return c / torch.where(total > EMPTY, total, 1.0)


def state_features(c: Tensor, before: Tensor | None, sight: Sight) -> tuple[Tensor, Tensor]:
    """scale * seen(c) + shift (..., N), and what was seen of each cell (..., n), `before` of the next step.

    c: (..., K) · before: (..., n), or None at the first step, whose change is zero

    >>> sight = Sight("share and change", (0,), (2.0, 12.0), (-1.0, 0.0))
    >>> features, seen = state_features(torch.tensor([3.0, 1.0]), torch.tensor([0.5]), sight)
    >>> features.tolist(), seen.tolist()
    ([0.5, 3.0], [0.75])
    """
    seen = (c if sight.sees == "cells" else shares_of(c))[..., list(sight.cells)]
    parts = [seen]
    if sight.sees == "share and change":
        parts.append(torch.zeros_like(seen) if before is None else seen - before)
    scale, shift = c.new_tensor(sight.scale), c.new_tensor(sight.shift)
    return scale * torch.cat(parts, dim=-1) + shift, seen


def perceptron(z: Tensor, layers: Sequence[tuple[Tensor, Tensor]], activation: str) -> Tensor:
    """Fully connected layers, the last one linear: z (E, B, I) -> (E, B, O).

    layers: weights (E, O, I) and biases (E, O) of each
    """
    *hidden, last = layers
    for W, b in hidden:
        z = ACTIVATIONS[activation](torch.baddbmm(b.unsqueeze(1), z, W.mT))
    W, b = last
    return torch.baddbmm(b.unsqueeze(1), z, W.mT)

"""Autoregression of an MC-LSTM whose redistribution comes from a small network; no mass comes in.

    R = normalised(network([a_t, seen(c)])),    m = c R,    h = σ(z_o) m,    c' = σ(-z_o) m

z_o is W_o c + b_o, or b_o for a constant outlet; without an outlet h = 0 and c' = m. `reference` is the
oracle of the fused kernel. Everything leads with E, the members of an ensemble.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mclstm.ops.hypernetwork import Sight, perceptron, state_features
from mclstm.ops.normalise import normalise, sigmoid
from mclstm.ops.settle import settled

__all__ = ["Autoregression", "grouped", "reference"]


class Autoregression(NamedTuple):
    """What the oracle and the kernel take. Inputs that members share are expanded along E (stride 0)."""

    c0: Tensor  # (E, B, K)
    a: Tensor  # (E, T, B, A)
    layers: tuple[
        tuple[Tensor, Tensor], ...
    ]  # W (E, O, I) and b (E, O); the last O is K * K, the first I is A + N
    W_o: Tensor | None  # (E, K, K), sees the cells; None: a constant outlet, or none
    b_o: Tensor | None  # (E, K); None: no outlet
    activation: str  # relu | tanh
    sight: Sight  # the N features of the cells that the network sees behind the auxiliary ones
    norm: str  # of R's rows: softmax | sigmoid | relu
    steps: Tensor  # (E,) int64, the window of each member; beyond it nothing moves

    @property
    def weights(self) -> tuple[Tensor, ...]:
        """All parameters: W and b of each layer, then W_o and b_o as far as there are."""
        layers = [value for layer in self.layers for value in layer]
        return (*layers, *(value for value in (self.W_o, self.b_o) if value is not None))


def grouped(
    weights: Sequence[Tensor], depth: int
) -> tuple[tuple[tuple[Tensor, Tensor], ...], Tensor | None, Tensor | None]:
    """`layers`, `W_o` and `b_o` of a network of so many layers: the inverse of `Autoregression.weights`."""
    cut = 2 * depth
    layers = tuple(zip(weights[:cut:2], weights[1:cut:2], strict=True))
    W_o, b_o = [None, None, *weights[cut:]][-2:]
    return layers, W_o, b_o


def reference(problem: Autoregression) -> tuple[Tensor, Tensor]:
    """Outflows h (E, T, B, K) and cells c (E, T + 1, B, K), c[:, 0] the initial ones, in plain operations.

    >>> layer = torch.zeros(1, 4, 2), torch.tensor([[0.0, 0.0, 0.0, 0.0]])
    >>> sight = Sight("cells", (0, 1), (1.0, 1.0), (0.0, 0.0))
    >>> start, a, steps = torch.tensor([[[1.0, 0.0]]]), torch.zeros(1, 2, 1, 0), torch.tensor([1])
    >>> problem = Autoregression(start, a, (layer,), None, None, "relu", sight, "softmax", steps)
    >>> reference(problem)[1].tolist()
    [[[[1.0, 0.0]], [[0.5, 0.5]], [[0.5, 0.5]]]]
    """
    c, before = problem.c0, None
    stores, outflows = [c], []
    for t, a in enumerate(problem.a.unbind(1)):
        seen, before = state_features(c, before, problem.sight)
        h, after = step(torch.cat([a, seen], dim=-1), c, problem)
        moves = (t < problem.steps).view(-1, 1, 1)
        h, c = torch.where(moves, h, 0.0), torch.where(moves, after, c)
        outflows.append(h)
        stores.append(c)
    c = torch.stack(stores, dim=1)
    return torch.stack(outflows, dim=1) if outflows else torch.empty_like(c[:, 1:]), c


def step(z: Tensor, c: Tensor, problem: Autoregression) -> tuple[Tensor, Tensor]:
    """Outflow and cells after one step: z (E, B, A + N), c (E, B, K) -> (E, B, K) twice."""
    cells = c.shape[-1]
    logits = perceptron(z, problem.layers, problem.activation).view(*c.shape, cells)
    eye = torch.eye(cells, dtype=c.dtype, device=c.device)
    m = (c.unsqueeze(-1) * normalise(logits, problem.norm, eye)).sum(dim=-2)
    if problem.b_o is None:
        return settled(c, torch.zeros_like(m), m)
    z_o = problem.b_o.unsqueeze(1)
    z_o = z_o if problem.W_o is None else torch.baddbmm(z_o, c, problem.W_o.mT)
    return settled(c, sigmoid(z_o) * m, sigmoid(-z_o) * m)

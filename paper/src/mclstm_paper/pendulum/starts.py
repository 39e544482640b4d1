"""Weights before training: of the hypernetwork and the outlet, and of the LSTM; a seed for every member."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from mclstm_paper.pendulum.settings import Recipe

__all__ = ["CELLS", "LAYERS", "hypernetwork_start", "lstm_start", "outlet_start"]

CELLS = 2  # kinetic and potential energy
LAYERS = (50, 100, CELLS * CELLS)
Layers = tuple[tuple[Tensor, Tensor], ...]


def hypernetwork_start(recipe: Recipe, inputs: int, seeds: Sequence[int]) -> Layers:
    """W (E, O, I) and b (E, O) of every layer: U(-1, 1) / sqrt(I), the last one normal as Xavier's.

    >>> [tuple(W.shape) for W, b in hypernetwork_start(Recipe("sines"), inputs=11, seeds=[1, 2])]
    [(2, 50, 11), (2, 100, 50), (2, 4, 100)]
    """

    def one(source: torch.Generator) -> Layers:
        sizes = list(zip((inputs, *LAYERS), LAYERS, strict=False))
        return (*(linear(i, o, source) for i, o in sizes[:-1]), last_layer(recipe, source))

    return stacked_pairs(one, seeds)


def last_layer(recipe: Recipe, source: torch.Generator) -> tuple[Tensor, Tensor]:
    W = torch.empty(LAYERS[-1], LAYERS[-2])
    nn.init.xavier_normal_(W, gain=recipe.last_layer, generator=source)
    if recipe.stay is None:
        return W, torch.rand(LAYERS[-1], generator=source)
    return W, recipe.stay * torch.eye(CELLS).flatten()


def outlet_start(recipe: Recipe, seeds: Sequence[int]) -> tuple[Tensor | None, Tensor]:
    """W_o (E, K, K), orthogonal, or None for a constant outlet; b_o (E, K)."""
    b = torch.full((len(seeds), CELLS), recipe.outlet_start)
    if recipe.outlet == "constant":
        return None, b
    return torch.stack(
        [nn.init.orthogonal_(torch.empty(CELLS, CELLS), generator=g) for g in sources(seeds)]
    ), b


def lstm_start(inputs: int, cells: int, seeds: Sequence[int]) -> tuple[Tensor, ...]:
    """W_ih (E, 4 H, I), W_hh (E, 4 H, H), b_ih and b_hh (E, 4 H), and of the output P (E, 2, H), p (E, 2).

    Everything is U(-1, 1) / sqrt(H), as torch starts an LSTM and a linear layer behind it.
    """
    bound = cells**-0.5

    def uniform(source: torch.Generator, *shape: int) -> Tensor:
        return torch.empty(shape).uniform_(-bound, bound, generator=source)

    members = []
    for g in sources(seeds):
        shapes = (4 * cells, inputs), (4 * cells, cells), (4 * cells,), (4 * cells,), (CELLS, cells), (CELLS,)
        members.append([uniform(g, *shape) for shape in shapes])
    return tuple(torch.stack(values) for values in zip(*members, strict=True))


def linear(inputs: int, outputs: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """W (O, I) and b (O,) as torch starts a linear layer."""
    bound = max(1, inputs) ** -0.5
    W, b = torch.empty(outputs, inputs), torch.empty(outputs)
    return W.uniform_(-bound, bound, generator=source), b.uniform_(-bound, bound, generator=source)


def stacked_pairs(one: Callable[[torch.Generator], Layers], seeds: Sequence[int]) -> Layers:
    """The layers of every member, each W and b stacked along E."""
    members = [one(source) for source in sources(seeds)]
    return tuple(
        (torch.stack([W for W, _ in layer]), torch.stack([b for _, b in layer]))
        for layer in zip(*members, strict=True)
    )


def sources(seeds: Sequence[int]) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in seeds]

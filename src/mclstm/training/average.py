"""A moving average of a model's weights, which varies less from update to update than the weights do."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

__all__ = ["Average"]

# The average began at weights that had learned nothing: it is of at most a tenth of the updates done so far.
SHARE = 10


class Average:
    """The average of the weights over about min(1 / (1 - d), n / 10) updates, to be used in their place.

    w_bar <- d_n w_bar + (1 - d_n) w after update n, with d_n = min(d, n / (n + 10)); d = 0 keeps the weights.

    Not torch's AveragedModel: that is a copy of the module, and what validates here holds the module itself.

    >>> model = nn.Linear(1, 1)
    >>> _ = nn.init.constant_(model.weight, 1.0)
    >>> average = Average(model, decay=0.75)
    >>> _ = nn.init.constant_(model.weight, 0.0)
    >>> average.follow(update=1_000_000)
    >>> average.weights["weight"].item()
    0.75
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay = model, decay
        self.weights = {name: value.detach().clone() for name, value in model.named_parameters()}

    @torch.no_grad()
    def follow(self, update: int) -> None:
        """Take in the weights after update number `update`, counted from 1."""
        kept = min(self.decay, update / (update + SHARE))
        for name, value in self.model.named_parameters():
            self.weights[name].lerp_(value, 1.0 - kept)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model has the average as its weights, and its own again afterwards."""
        own = {name: value.detach().clone() for name, value in self.model.named_parameters()}
        self._put(self.weights)
        try:
            yield
        finally:
            self._put(own)

    def restart(self, weights: Mapping[str, Tensor]) -> None:
        """Go on from a kept average, by names of parameters; from the model's weights where there is none."""
        for name, value in self.model.named_parameters():
            self.weights[name] = weights.get(name, value.detach()).clone()

    @torch.no_grad()
    def _put(self, weights: Mapping[str, Tensor]) -> None:
        for name, value in self.model.named_parameters():
            value.copy_(weights[name])

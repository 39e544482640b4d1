"""The moving average of the weights, which is validated, saved and used instead of the latest ones."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

__all__ = ["Average"]

# The average starts at untrained weights, so it covers at most a tenth of the updates so far.
SHARE = 10


class Average:
    """The moving average of a model's weights over about min(1 / (1 - d), n / 10) updates.

    w_bar <- d_n w_bar + (1 - d_n) w after update n, with d_n = min(d, n / (n + 10)); d = 0 keeps the weights.

    Not to be confused with torch's AveragedModel, which copies the module; validation here uses the module
    itself.

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
        decay = min(self.decay, update / (update + SHARE))
        for name, value in self.model.named_parameters():
            self.weights[name].lerp_(value, 1.0 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Within the context, the model has the average as its weights."""
        own = {name: value.detach().clone() for name, value in self.model.named_parameters()}
        self._put(self.weights)
        try:
            yield
        finally:
            self._put(own)

    def restart(self, weights: Mapping[str, Tensor]) -> None:
        """Continue from a saved average, by names of parameters; the model's weights fill what it lacks."""
        for name, value in self.model.named_parameters():
            self.weights[name] = weights.get(name, value.detach()).to(value.device, copy=True)

    @torch.no_grad()
    def _put(self, weights: Mapping[str, Tensor]) -> None:
        for name, value in self.model.named_parameters():
            value.copy_(weights[name])

"""What every model takes and returns, so that one training loop and one evaluation serve all of them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["Moments", "Output", "Sizes", "State", "device_of", "scale_of"]

# What a model keeps between two calls, by name, each (B, ...): two halves of a sequence equal the whole.
State = dict[str, Tensor]


class Sizes(NamedTuple):
    """How many inputs of each role there are, and the names of the targets."""

    mass: int
    aux: int
    static: int
    targets: Sequence[str]


class Moments(NamedTuple):
    """Mean and deviation of mass and targets in training, for models that are not conserving."""

    mass_mean: Sequence[float]
    mass_std: Sequence[float]
    target_mean: Sequence[float]
    target_std: Sequence[float]


def scale_of(
    moments: Mapping[str, tuple[float, float]], mass: Sequence[str], targets: Sequence[str]
) -> Moments:
    """The moments that a model needs, from (mean, deviation) by name.

    >>> scale_of({"rain": (1.0, 2.0), "flow": (3.0, 4.0)}, ["rain"], ["flow"]).target_std
    [4.0]
    """
    columns = [[moments[name][part] for name in group] for group in (mass, targets) for part in (0, 1)]
    return Moments(*columns)


class Output(NamedTuple):
    """One run of a model. Targets are the first outlets; h, c and x are None for models without stores."""

    y: Tensor  # (T, B, outlets)
    state: State
    penalty: Tensor  # scalar, added to the loss
    h: Tensor | None = None  # (T, B, K) outflow
    c: Tensor | None = None  # (T + 1, B, K) storage
    x: Tensor | None = None  # (T, B, M) mass as it entered the stores
    a: Tensor | None = None  # (T, B, A) what the gates saw beside it


def device_of(model: nn.Module) -> torch.device:
    """Where the weights of a model are, and its inputs have to be."""
    return next(model.parameters()).device

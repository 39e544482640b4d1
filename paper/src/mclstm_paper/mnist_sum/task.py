"""MNIST sum: images in, the sum of the digits they show out."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mclstm_paper.mnist_sum.digits import Digits, normalised
from mclstm_paper.mnist_sum.switches import EVERY_STEP_SCORED
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.networks import end_marker

__all__ = ["LENGTHS", "DigitSums", "chunks", "constant", "digit_sums", "exact", "scored_steps"]

LENGTHS: tuple[int, ...] = (1, 10, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)

# The seeds of the published code's permutations; the training images are permuted by the member's seed.
PERMUTATIONS: dict[str, int] = {"validation": 47430696, "test": 88253339}


class DigitSums(NamedTuple):
    """A batch of sequences of images."""

    x: Tensor  # (..., T, B, 1, 28, 28) normalised images
    a: Tensor  # (T, B, 1): 1, and -1 at the last step
    y: Tensor  # (..., T, B, 1): the sum of the digits so far


def chunks(split: str, images: int, length: int, seeds: Sequence[int] = (0,)) -> Tensor:
    """Which images make which sequence: indices (E, N // T, T) for training, (N // T, T) otherwise.

    The images are permuted once and cut into chunks of `length`; what is left over at the end is not used.
    Only training differs by seed.

    >>> chunks("test", images=10_000, length=1_000).shape, chunks("train", 55_000, 10, seeds=[0, 1]).shape
    (torch.Size([10, 1000]), torch.Size([2, 5500, 10]))
    """
    if not 1 <= length <= images:
        raise ValueError(f"length is {length}; give a whole number from 1 to {images}, the images there are.")
    if split == "train":
        return torch.stack([permuted(seed, images, length) for seed in seeds])
    return permuted(PERMUTATIONS[split], images, length)


def permuted(seed: int, images: int, length: int) -> Tensor:
    order = torch.from_numpy(np.random.RandomState(seed).permutation(images))
    return order[: images // length * length].view(-1, length)


def digit_sums(digits: Digits, index: Tensor) -> DigitSums:
    """The sequences of chosen chunks: index (..., B, T) of images.

        y_t = label_1 + ... + label_t

    >>> digits = Digits(torch.zeros(9, 28, 28, dtype=torch.uint8), torch.arange(9))
    >>> x, a, y = digit_sums(digits, torch.tensor([[1, 2, 3], [4, 5, 6]]))
    >>> x.shape, a[:, 0, 0].tolist(), y[:, 1, 0].tolist()
    (torch.Size([3, 2, 1, 28, 28]), [1.0, 1.0, -1.0], [4.0, 9.0, 15.0])
    """
    at = index.transpose(-1, -2)
    a = end_marker(*at.shape[-2:])
    return DigitSums(normalised(digits.images[at]).unsqueeze(-3), a, exact(digits.labels[at]))


def exact(labels: Tensor) -> Tensor:
    """The solution: the sums of the digits so far, labels (..., T, B) -> (..., T, B, 1).

    >>> exact(torch.tensor([[3], [4]])).flatten().tolist()
    [3.0, 7.0]
    """
    return labels.cumsum(dim=-2).to(torch.float32).unsqueeze(-1)


def constant(y: Tensor, mean: float) -> Tensor:
    """The mean digit of the training labels at every step, for any images: y (..., T, B, 1) -> the same.

    >>> constant(torch.zeros(3, 1, 1), mean=4.5).flatten().tolist()
    [4.5, 9.0, 13.5]
    """
    steps = torch.arange(1, y.shape[-3] + 1, dtype=y.dtype)
    return (mean * steps).view(-1, 1, 1).expand_as(y)


def scored_steps(length: int, protocol: Protocol = "stated") -> Tensor:
    """Which steps the loss looks at: only the last one, or all of them as published; (T,) bool.

    >>> scored_steps(3).tolist(), scored_steps(3, "published").tolist()
    ([False, False, True], [True, True, True])
    """
    scored = torch.full((length,), EVERY_STEP_SCORED.on(protocol))
    scored[-1] = True
    return scored

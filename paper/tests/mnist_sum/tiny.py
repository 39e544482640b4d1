"""A scale of the MNIST sum that takes seconds, and digits to fill it with."""

import torch

from mclstm_paper.mnist_sum.digits import Digits
from mclstm_paper.mnist_sum.experiment import Scale

TINY = Scale({"train": 80, "validation": 20, "test": 120}, batch_size=4, seeds=2, epochs=2)


def made_up() -> dict[str, Digits]:
    """As many images as the tiny scale has, of noise that grows with the digit."""
    made, source = {}, torch.Generator().manual_seed(0)
    for split, count in TINY.images.items():
        labels = torch.arange(count).remainder(10)
        noise = torch.rand(count, 28, 28, generator=source)
        made[split] = Digits((noise * 25 * (labels + 1)[:, None, None]).to(torch.uint8), labels)
    return made

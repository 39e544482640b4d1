"""The convolutional network that reads a number from each image, with an ensemble dimension."""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, relu

from mclstm.nn.ensemble_dim import Seeds, draw, generators
from mclstm_paper.baselines.construction import uniform
from mclstm_paper.kernels.pooled import pooled_convolution

__all__ = ["FrontEnd"]

SHAPES: tuple[tuple[int, ...], ...] = ((20, 1, 5, 5), (50, 20, 5, 5), (500, 800), (1, 500))

# Images per call of the convolutions: their 3.7 MB stay in a cache, which takes a tenth less time than 640
# images at once, on one core.
IMAGES_AT_ONCE = 128


class FrontEnd(nn.Module):
    """One number per image: conv 5x5 (20), ReLU, pool 2, conv 5x5 (50), ReLU, pool 2, fc 500, ReLU, fc 1.

    As published, with torch's usual start: weights and biases uniform ±1 / √fan_in. The number of an
    image does not depend on the other images.

    x: (N, 1, 28, 28) shared, or (E, N, 1, 28, 28) -> (E, N, 1)

    >>> FrontEnd(members=2, seeds=[0, 1])(torch.rand(3, 1, 28, 28)).shape
    torch.Size([2, 3, 1])
    """

    def __init__(self, members: int, seeds: Seeds | None = None) -> None:
        super().__init__()
        self.members = members
        self.W = nn.ParameterList(torch.empty(members, *shape) for shape in SHAPES)
        self.b = nn.ParameterList(torch.empty(members, shape[0]) for shape in SHAPES)
        self.reset_parameters(seeds)

    def reset_parameters(self, seeds: Seeds | None = None) -> None:
        """Uniform weights and biases, layer by layer."""
        sources = generators(self.members, seeds)
        for W, b in zip(self.W, self.b, strict=True):
            bound = W[0, 0].numel() ** -0.5
            draw(W, self.members, sources, uniform(-bound, bound))
            draw(b, self.members, sources, uniform(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """x (N, 1, 28, 28) or (E, N, 1, 28, 28) -> (E, N, 1)."""
        each = x if x.dim() == 5 else x.expand(self.members, *x.shape)
        return torch.stack([self._numbers(images, member) for member, images in enumerate(each)])

    def _numbers(self, x: Tensor, member: int) -> Tensor:
        """The numbers of one member: x (N, 1, 28, 28) -> (N, 1)."""
        W, b = ([parameter[member] for parameter in group] for group in (self.W, self.b))
        seen = torch.cat([features(images, W, b) for images in torch.split(x, IMAGES_AT_ONCE)])
        return linear(relu(linear(seen, W[2], b[2])), W[3], b[3])


def features(
    x: Tensor,  # (N, 1, 28, 28)
    W: list[Tensor],  # the kernels first, (O, I, 5, 5) each
    b: list[Tensor],  # (O,) each
) -> Tensor:
    """What the convolutions see: (N, 800), channels last."""
    # With one channel both layouts have the same bytes: only these strides say that channels come last.
    x = x.reshape(-1, 28, 28, 1).permute(0, 3, 1, 2)
    for kernels, bias in zip(W[:2], b[:2], strict=True):
        x = pooled_convolution(x, kernels, bias)
    return x.permute(0, 2, 3, 1).reshape(len(x), -1)

"""The front end: the published layers in the published order, member by member."""

import math

import torch
from torch import nn

from mclstm_paper.mnist_sum.front_end import IMAGES_AT_ONCE, FrontEnd


def published(front: FrontEnd, member: int) -> nn.Sequential:
    """The layers as they are usually written, with a member's weights: ReLU first, channels first."""
    layers = [nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5), nn.Linear(800, 500), nn.Linear(500, 1)]
    with torch.no_grad():
        for layer, W, b in zip(layers, front.W, front.b, strict=True):
            layer.weight.copy_(W[member])
            layer.bias.copy_(b[member])
        # Features are channels last here: the same columns in another order.
        columns = front.W[2][member].view(500, 4, 4, 50).permute(0, 3, 1, 2).reshape(500, 800)
        layers[2].weight.copy_(columns)
    first, second, hidden, last = layers
    pools = [nn.Sequential(nn.ReLU(), nn.MaxPool2d(2)) for _ in range(2)]
    return nn.Sequential(first, pools[0], second, pools[1], nn.Flatten(), hidden, nn.ReLU(), last).double()


def test_numbers_and_gradients_are_those_of_the_published_layers():
    front = FrontEnd(members=2, seeds=[3, 4]).double()
    x = torch.randn(2, IMAGES_AT_ONCE + 5, 1, 28, 28, dtype=torch.float64)  # more than go through together
    numbers = front(x)
    numbers.square().mean(dim=(1, 2)).sum().backward()
    for member in range(2):
        plain = published(front, member)
        expected = plain(x[member])
        torch.testing.assert_close(numbers[member], expected)
        expected.square().mean().backward()
        torch.testing.assert_close(front.W[0].grad[member], plain[0].weight.grad)
        torch.testing.assert_close(front.W[1].grad[member], plain[2].weight.grad)
        torch.testing.assert_close(front.b[3].grad[member], plain[7].bias.grad)


def test_members_start_by_their_own_seed_within_the_usual_bounds():
    front = FrontEnd(members=2, seeds=[3, 4])
    for parameter, alone in zip(front.parameters(), FrontEnd(1, [4]).parameters(), strict=True):
        assert torch.equal(parameter[1], alone[0])
        assert not torch.equal(parameter[0], parameter[1])
    for W, b, fan_in in zip(front.W, front.b, (25, 500, 800, 500), strict=True):
        bound = 1 / math.sqrt(fan_in)
        assert W.abs().max() <= bound
        assert b.abs().max() <= bound
        assert W.abs().max() > 0.9 * bound
        # The standard error of a standard deviation is about its size / √(2 n).
        assert abs(W.std().item() / (bound / math.sqrt(3)) - 1) < 5 / math.sqrt(2 * W.numel())

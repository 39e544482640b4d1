"""MNIST sum: sequences, targets and trivial rows, on made-up digits."""

import pytest
import torch

from mclstm_paper.mnist_sum.digits import Digits
from mclstm_paper.mnist_sum.task import LENGTHS, chunks, constant, digit_sums, exact, scored_steps

DIGITS = Digits(
    torch.arange(40).view(40, 1, 1).expand(40, 28, 28).to(torch.uint8), torch.arange(40).remainder(10)
)


@pytest.mark.parametrize("length", LENGTHS)
def test_every_image_at_most_once(length):
    index = chunks("test", 10_000, length)
    assert index.shape == (10_000 // length, length)
    assert index.unique().numel() == index.numel()


def test_training_differs_by_seed_and_evaluation_does_not():
    index = chunks("train", 40, 4, seeds=[3, 4])
    assert not torch.equal(index[0], index[1])
    assert torch.equal(index[1], chunks("train", 40, 4, seeds=[4])[0])
    assert torch.equal(chunks("test", 40, 4, seeds=[3]), chunks("test", 40, 4, seeds=[4]))
    assert not torch.equal(chunks("test", 40, 4), chunks("validation", 40, 4))


@pytest.mark.parametrize("seeds", [[3], [3, 4]])
def test_targets_are_the_sums_so_far(seeds):
    index = chunks("train", 40, 4, seeds)[:, :3]
    x, a, y = digit_sums(DIGITS, index)
    assert x.shape == (len(seeds), 4, 3, 1, 28, 28)
    assert a[:, 0, 0].tolist() == [1, 1, 1, -1]
    for e in range(len(seeds)):
        for b in range(3):
            total = 0
            for t in range(4):
                total += int(index[e, b, t]) % 10
                assert y[e, t, b, 0] == total
                shown = (int(index[e, b, t]) / 255 - 0.1307) / 0.3081
                assert x[e, t, b, 0, 5, 5].item() == pytest.approx(shown, rel=1e-5, abs=1e-6)


def test_trivial_rows():
    labels = torch.randint(10, (100, 2000), generator=torch.Generator().manual_seed(0))
    y = exact(labels)
    assert torch.equal(y[-1, :, 0], labels.sum(dim=0).float())
    error = (constant(y, 4.5) - y).square().mean(dim=(1, 2))
    # t times the variance of a digit; squares of 2000 sums scatter by sqrt(2 / 2000).
    torch.testing.assert_close(error, 8.25 * torch.arange(1, 101), rtol=5 * (2 / 2000) ** 0.5, atol=0.0)


def test_protocols_differ_in_the_scored_steps():
    assert scored_steps(10).nonzero().flatten().tolist() == [9]
    assert scored_steps(10, "published").all()


@pytest.mark.parametrize("length", [0, 41])
def test_impossible_lengths(length):
    with pytest.raises(ValueError, match="from 1 to 40"):
        chunks("test", 40, length)

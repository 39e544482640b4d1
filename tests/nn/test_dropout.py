"""Our dropout keeps the share it says, rescales what it keeps, and follows torch's generator."""

import math

import pytest
import torch

from mclstm.nn.dropout import LEVELS, Dropout


@pytest.mark.parametrize("p", [0.01, 0.3, 0.4, 0.9])
@pytest.mark.parametrize("shape", [(1001, 333), (7,), ()])
def test_the_share_that_is_kept_and_its_factor(p: float, shape: tuple[int, ...]) -> None:
    torch.manual_seed(3)
    layer, share = Dropout(p), round((1 - p) * LEVELS) / LEVELS
    assert share == pytest.approx(1 - p, abs=0.5 / LEVELS)
    y = torch.stack([layer(torch.ones(shape, dtype=torch.float64)) for _ in range(20)])
    kept = (y > 0).double()
    assert torch.equal(y, kept / share)
    deviation = math.sqrt(share * (1 - share) / kept.numel())
    assert abs(float(kept.mean()) - share) < 5 * deviation  # by chance once in two million


def test_neighbours_are_dropped_independently() -> None:
    """Four values share one drawn word: no lag among their sixteen bits may show."""
    torch.manual_seed(1)
    kept = (Dropout(0.5)(torch.ones(400_000)) > 0).double() - 0.5
    for lag in (1, 2, 3, 4, 5, 64):
        correlation = 4 * float((kept[lag:] * kept[:-lag]).mean())
        assert abs(correlation) < 5 / math.sqrt(len(kept) - lag), lag


def test_the_gradient_passes_what_was_kept() -> None:
    torch.manual_seed(2)
    x = torch.randn(50, 9, requires_grad=True)
    y = Dropout(0.4)(x)
    y.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad * x.detach(), y.detach())


def test_the_generator_decides() -> None:
    x = torch.randn(33, 5)
    drawn = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        drawn.append(Dropout(0.3)(x))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


@pytest.mark.parametrize("layer", [Dropout(0.3).eval(), Dropout(0.0)])
def test_what_is_not_in_training_is_left_alone(layer: Dropout) -> None:
    x, before = torch.randn(4, 3), torch.get_rng_state()
    assert layer(x) is x
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("p", [-0.1, 1.0, math.nan])
def test_a_share_that_cannot_be_dropped_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="Choose 0 or more, and less than 1"):
        Dropout(p)

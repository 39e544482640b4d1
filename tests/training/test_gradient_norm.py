"""Clipping by a norm in float64: torch's for ordinary gradients, and right where a float32 norm overflows."""

import pytest
import torch
from torch import Tensor, nn

from mclstm.training.gradient_norm import clip_, fault, total_norm

SHAPES = ((), (3,), (2, 5), (2, 0), (4, 2, 3))
SMALLEST, LARGEST = (getattr(torch.finfo(torch.float32), name) for name in ("tiny", "max"))


def drawn(size: float, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    noise = torch.Generator().manual_seed(0)
    return [size * torch.randn(shape, generator=noise, dtype=dtype) for shape in SHAPES]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("clip", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("size", [0.0, 1e-9, 0.1, 100.0, 1e15])
def test_ordinary_gradients_are_clipped_as_torch_does(size: float, clip: float, dtype: torch.dtype) -> None:
    ours, parameters = drawn(size, dtype), [nn.Parameter(value) for value in drawn(0.0, dtype)]
    for parameter, value in zip(parameters, drawn(size, dtype), strict=True):
        parameter.grad = value
    norm, expected = total_norm(ours), nn.utils.clip_grad_norm_(parameters, clip)
    clip_(ours, norm, clip)
    near = {"rtol": 8 * torch.finfo(dtype).eps, "atol": 0.0}
    torch.testing.assert_close(norm, expected.double(), **near)
    for value, parameter in zip(ours, parameters, strict=True):
        torch.testing.assert_close(value, parameter.grad, **near)


@pytest.mark.parametrize("clip", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("size", [1e19, 1e25, 1e30, 1e37])
def test_a_float32_norm_would_overflow(size: float, clip: float) -> None:
    gradients, exact = drawn(size), [value.double() for value in drawn(size)]
    norm = total_norm(gradients)
    torch.testing.assert_close(norm, torch.cat([value.flatten() for value in exact]).norm())
    clip_(gradients, norm, clip)
    assert total_norm(gradients).item() == pytest.approx(clip, rel=1e-6)
    for value, before in zip(gradients, exact, strict=True):
        torch.testing.assert_close(value.double(), before * clip / norm, rtol=1e-6, atol=0.0)


def test_the_largest_gradients_of_all_keep_every_digit() -> None:
    """Their scale, 3e-43, is no normal float32: it has two digits left, or none with denormals flushed."""
    gradients = [torch.full((10_000,), LARGEST)]
    norm = total_norm(gradients)
    assert 0.01 / norm.item() < SMALLEST
    clip_(gradients, norm, 0.01)
    torch.testing.assert_close(gradients[0], torch.full((10_000,), 1e-4), rtol=1e-6, atol=0.0)


def test_members_have_norms_of_their_own() -> None:
    sizes = torch.tensor([0.1, 1e25, 10.0])
    gradients = [sizes.clone(), sizes.view(3, 1, 1) * torch.ones(3, 2, 2), torch.ones(3, 0)]
    norms = total_norm(gradients, lead=1)
    torch.testing.assert_close(norms, sizes.double() * 5**0.5)
    clip_(gradients, norms, 1.0)
    torch.testing.assert_close(gradients[0], torch.tensor([0.1, 5**-0.5, 5**-0.5]))
    torch.testing.assert_close(gradients[1][:, 1, 1], gradients[0])


def test_a_fault_names_the_first_parameter_that_has_one() -> None:
    fine, large = torch.ones(2, 2), torch.tensor([1.0, -2e19])
    broken, endless = torch.tensor([torch.inf, torch.nan]), torch.tensor([[-torch.inf]])
    assert fault({"a": fine, "b": fine}) == ""
    assert fault({"a": fine, "b": broken, "c": endless}) == "the gradient of b, which is NaN"
    assert fault({"a": large, "b": endless, "c": broken}) == "the gradient of b, which is infinite"
    assert fault({"a": fine, "b": large}) == "the gradient of b, whose square is infinite in float32"
    assert fault({"a": fine, "b": large.double()}) == ""

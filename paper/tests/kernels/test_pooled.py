"""The way back through a pooled convolution by the kernel library: what torch computes, within rounding."""

import pytest
import torch
from torch import Tensor

from mclstm_paper.kernels import pooled
from mclstm_paper.kernels.library import status
from mclstm_paper.kernels.pooled import plain, pooled_convolution

pytestmark = [
    pytest.mark.usefixtures("each_kernel"),
    pytest.mark.skipif(not status().available, reason="no kernel library here"),
]

# images, channels, height, width, outputs, kernel
SHAPES = [
    (3, 1, 28, 28, 20, 5),  # the two of MNIST
    (3, 20, 12, 12, 50, 5),
    (2, 3, 7, 8, 4, 3),  # outputs that no pool takes
    (1, 2, 4, 5, 1, 1),
    (5, 1, 9, 12, 2, 7),  # rows that are not one vector
]


def drawn(shape: tuple[int, ...], dtype: torch.dtype) -> list[Tensor]:
    """Images, kernels and biases that want a gradient."""
    images, channels, height, width, outputs, k = shape
    source = torch.Generator().manual_seed(1)
    sizes = [(images, channels, height, width), (outputs, channels, k, k), (outputs,)]
    made = [torch.randn(size, generator=source, dtype=torch.float64) for size in sizes]
    return [value.to(dtype).requires_grad_() for value in made]


def gradients(compute: object, given: list[Tensor]) -> list[Tensor]:
    y = compute(*given)  # type: ignore[operator]
    weights = torch.linspace(-1, 2, y.numel(), dtype=y.dtype).view(y.shape)
    return [y.detach(), *torch.autograd.grad(y, given, weights)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_library_computes_what_torch_does(
    shape: tuple[int, ...], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, calls, back = drawn(shape, dtype), [], pooled._back
    monkeypatch.setattr(pooled, "_back", lambda *values: (calls.append(values), back(*values)))
    found = gradients(pooled_convolution, given)
    assert len(calls) == 1  # so that this does not compare torch with itself
    exact = gradients(plain, [value.detach().double().requires_grad_() for value in given])
    for ours, true in zip(found, exact, strict=True):
        error = (ours.double() - true).abs().max() / true.abs().max().clamp(min=1e-30)
        assert error <= 32 * torch.finfo(dtype).eps


def test_gradients_by_differences() -> None:
    assert torch.autograd.gradcheck(pooled_convolution, drawn((2, 2, 6, 7, 3, 3), torch.float64))


def test_gradients_have_gradients() -> None:
    assert torch.autograd.gradgradcheck(pooled_convolution, drawn((2, 2, 6, 7, 3, 3), torch.float64))


def test_any_memory_layout_gives_the_same() -> None:
    x, W, b = drawn((2, 3, 8, 8, 4, 3), torch.float32)
    expected = gradients(pooled_convolution, [x, W, b])
    beside = [
        x.detach().contiguous(memory_format=torch.channels_last).requires_grad_(),
        W.detach().mT.contiguous().mT.requires_grad_(),
        b,
    ]
    for one, other in zip(gradients(pooled_convolution, beside), expected, strict=True):
        assert torch.equal(one, other)
    # A gradient that is one number for all outputs has no memory of its own.
    y = pooled_convolution(x, W, b)
    (dW,) = torch.autograd.grad(y.sum(), W)
    torch.testing.assert_close(dW, torch.autograd.grad(plain(x, W, b).sum(), W)[0])


def test_images_that_want_no_gradient_get_none(monkeypatch: pytest.MonkeyPatch) -> None:
    x, W, b = drawn((2, 1, 8, 8, 4, 3), torch.float32)
    calls, back = [], pooled._back
    monkeypatch.setattr(pooled, "_back", lambda *values: (calls.append(values), back(*values)))
    found = torch.autograd.grad(pooled_convolution(x.detach(), W, b).sum(), (W, b))
    assert calls[0][5] is None
    for ours, theirs in zip(found, torch.autograd.grad(plain(x, W, b).sum(), (W, b)), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_autocast_is_left_to_torch() -> None:
    """Its outputs are of another type than its inputs."""
    x, W, b = drawn((2, 3, 8, 8, 4, 3), torch.float32)
    with torch.autocast("cpu", torch.float16):
        assert not pooled.runs(x, W, b)


def test_what_a_hook_lays_out_anew_gives_the_same() -> None:
    given = drawn((2, 3, 8, 8, 4, 3), torch.float32)
    expected = gradients(pooled_convolution, given)
    with torch.autograd.graph.saved_tensors_hooks(lambda value: value.contiguous(), lambda value: value):
        found = gradients(pooled_convolution, given)
    for ours, theirs in zip(found, expected, strict=True):
        assert torch.equal(ours, theirs)


def test_nan_is_not_hidden() -> None:
    x, W, b = drawn((1, 1, 6, 6, 2, 3), torch.float32)
    with torch.no_grad():
        x[0, 0, 2, 2] = torch.nan
    y, _, dW, _ = gradients(pooled_convolution, [x, W, b])
    assert torch.isnan(y).any()
    assert torch.isnan(dW).any()  # torch has more of them: zeros times NaN


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_other_types_are_left_to_torch(dtype: torch.dtype) -> None:
    given = drawn((1, 1, 6, 6, 2, 3), dtype)
    assert not pooled.runs(*given)

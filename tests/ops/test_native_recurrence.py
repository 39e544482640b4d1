"""The baselines' recurrences by the kernel library: those of torch within rounding, and their gradients."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from mclstm.baselines import BASELINES
from mclstm.baselines.ln_lstm import LNLSTM
from mclstm.baselines.lstm import LSTM
from mclstm.baselines.urnn import URNN
from mclstm.ops.native import recurrence
from mclstm.ops.native.library import status

pytestmark = pytest.mark.skipif(not status().available, reason="no kernel library here")

LAYERS: dict[str, Callable[..., Any]] = {
    **BASELINES,
    "lstm without forget gate": lambda i, k, **rest: LSTM(i, k, forget_gate=False, **rest),
    "ln-lstm published": lambda i, k, **rest: LNLSTM(i, k, published=True, **rest),
    "urnn published": lambda i, k, **rest: URNN(i, k, published=True, **rest),
}
STEPS = 7


def scrambled(name: str, inputs: int, cells: int, dtype: torch.dtype) -> Any:
    """Three members off their start, where zero biases and unit scales would hide mistakes."""
    layer = LAYERS[name](inputs, cells, members=3, seeds=[1, 2, 3], dtype=dtype)
    source = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter += 0.1 * torch.rand(parameter.shape, generator=source, dtype=dtype)
    return layer


def by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrence, "library", lambda: None)


def everything(layer: Any, x: Tensor) -> list[Tensor]:
    """Outputs, last state, and the gradients of all that goes in, by weights that tell every entry apart."""
    x = x.clone().requires_grad_()
    h, last = layer(x)
    results = [h, *(last if isinstance(last, tuple) else (last,))]
    total = sum((r * torch.linspace(1, 2, r.numel(), dtype=r.dtype).view(r.shape)).sum() for r in results)
    return [r.detach() for r in results] + list(torch.autograd.grad(total, [x, *layer.parameters()]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("batch", [1, 7, 16, 37])
@pytest.mark.parametrize("name", LAYERS)
def test_the_library_computes_what_torch_does(
    name: str, batch: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = scrambled(name, 3, 5, dtype)
    x = torch.randn(3, STEPS, batch, 3, generator=torch.Generator().manual_seed(5), dtype=dtype)
    found = everything(layer, x)
    by_torch(monkeypatch)
    own = everything(layer, x)
    # What the last bits of inputs and weights change: powers of powers make much of them.
    other = copy.deepcopy(layer)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.copy_(torch.nextafter(parameter, torch.full_like(parameter, 9.0)))
    shaken = everything(other, torch.nextafter(x, torch.full_like(x, 9.0)))
    exact = everything(layer.double(), x.double())
    eps = torch.finfo(dtype).eps
    for ours, theirs, near, true in zip(found, own, shaken, exact, strict=True):
        size = true.abs().max().clamp(min=1e-30)
        error, *rounding = ((value.double() - true).abs().max() / size for value in (ours, theirs, near))
        assert error <= max(64 * eps * STEPS**0.5, 16 * max(rounding))


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_by_differences(name: str) -> None:
    layer = scrambled(name, 2, 3, torch.float64)
    x = (0.2 + torch.rand(3, 3, 2, 2, dtype=torch.float64)).requires_grad_()
    names, values = zip(*layer.named_parameters(), strict=True)

    def outputs(x: Tensor, *parameters: Tensor) -> tuple[Tensor, ...]:
        h, last = torch.func.functional_call(layer, dict(zip(names, parameters, strict=True)), (x,))
        return (h, last[1] if isinstance(last, tuple) else last)

    assert torch.autograd.gradcheck(outputs, (x, *values))


@pytest.mark.parametrize("name", LAYERS)
def test_any_memory_layout_and_a_shared_input_give_the_same(name: str) -> None:
    layer = scrambled(name, 3, 5, torch.float64)
    x = torch.rand(STEPS, 9, 3, dtype=torch.float64)
    expected, _ = layer(x)
    beside = x.mT.contiguous().mT
    padded = torch.zeros(STEPS, 18, 4, dtype=torch.float64)
    padded[:, ::2, :3] = x
    for other in (beside, padded[:, ::2, :3], x.expand(3, *x.shape)):
        assert torch.equal(layer(other)[0], expected)


@pytest.mark.parametrize("name", ["nalu", "nac-mul", "nmu"])
@pytest.mark.parametrize("value", [1e30, float("inf"), float("nan")])
def test_what_is_too_large_is_not_hidden(name: str, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that overflows has failed: the library must not go on with a number where torch has none."""
    layer = scrambled(name, 2, 2, torch.float32)
    x = torch.ones(3, 40, 5, 2)
    x[:, 3:, 2] = value
    found = [torch.isfinite(value).all().item() for value in everything(layer, x)[2:]]
    by_torch(monkeypatch)
    expected = [torch.isfinite(value).all().item() for value in everything(layer, x)[2:]]
    assert not all(expected)
    assert all(found) == all(expected)


def test_a_sample_that_fails_leaves_the_others_alone() -> None:
    layer = scrambled("nalu", 2, 2, torch.float32)
    x = torch.rand(3, 5, 20, 2)
    before = layer(x)[0]
    x[:, :, 13] = float("nan")
    after = layer(x)[0]
    others = [b for b in range(20) if b != 13]
    assert torch.equal(before[:, :, others], after[:, :, others])
    assert after[:, :, 13].isnan().all()


def test_no_samples_have_no_gradient() -> None:
    layer = scrambled("lstm", 3, 5, torch.float32)
    h, _ = layer(torch.rand(3, STEPS, 0, 3))
    assert h.shape == (3, STEPS, 0, 5)
    h.sum().backward()
    assert all(bool((p.grad == 0).all()) for p in layer.parameters())


def test_large_cells_and_other_types_are_left_to_torch() -> None:
    x = torch.rand(1, 2, 3, 4)
    assert recurrence.recurs(x, 100)
    assert not recurrence.recurs(x, recurrence.MOST_WEIGHTS + 1)
    assert not recurrence.recurs(x.bfloat16(), 100)
    assert not recurrence.recurs(x.to("meta"), 100)

"""The baselines' recurrences by the kernel library: those of torch within rounding, and their gradients."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from mclstm_paper.baselines import BASELINES
from mclstm_paper.baselines.lstm import LNLSTM, LSTM
from mclstm_paper.baselines.urnn import URNN
from mclstm_paper.kernels import recurrence
from mclstm_paper.kernels.library import status

pytestmark = [
    pytest.mark.usefixtures("each_kernel"),
    pytest.mark.skipif(not status().available, reason="no kernel library here"),
]

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


def everything(layer: Any, x: Tensor, state: Any = None) -> list[Tensor]:
    """Outputs, last state, and the gradients of all that goes in, by weights that tell every entry apart."""
    x = x.clone().requires_grad_()
    h, last = layer(x, state)
    results = [h, *(last if isinstance(last, tuple) else (last,))]
    total = sum((r * torch.linspace(1, 2, r.numel(), dtype=r.dtype).view(r.shape)).sum() for r in results)
    given = [] if state is None else [*state] if isinstance(state, tuple) else [state]
    learned = [x, *given, *layer.parameters()]
    found = torch.autograd.grad(total, learned, allow_unused=True)  # a given state leaves the learned one out
    return [r.detach() for r in results] + [g for g in found if g is not None]


def a_state(layer: Any, batch: int, dtype: torch.dtype) -> Any:
    """A state to start from, of the kind the layer gives back."""
    source = torch.Generator().manual_seed(6)
    both = torch.rand(2, 3, batch, layer.output_size, generator=source).to(dtype).requires_grad_()
    return tuple(both) if isinstance(layer, LSTM | LNLSTM) else both[0]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("batch", [1, 7, 16, 37])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_the_library_computes_what_torch_does(
    name: str, given: bool, batch: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = scrambled(name, 3, 5, dtype)
    x = torch.randn(3, STEPS, batch, 3, generator=torch.Generator().manual_seed(5), dtype=dtype)
    state = a_state(layer, batch, dtype) if given else None
    calls, run = [], recurrence._run
    monkeypatch.setattr(recurrence, "_run", lambda *given: (calls.append(given), run(*given)))
    found = everything(layer, x, state)
    assert len(calls) == 2  # there and back, so that this does not compare torch with itself
    by_torch(monkeypatch)
    own = everything(layer, x, state)
    # What the last bits of inputs and weights change: powers of powers make much of them.
    other = copy.deepcopy(layer)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.copy_(torch.nextafter(parameter, torch.full_like(parameter, 9.0)))
    shaken = everything(other, torch.nextafter(x, torch.full_like(x, 9.0)), state)
    exact = everything(layer.double(), x.double(), a_state(layer, batch, torch.float64) if given else None)
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


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("value", [1e30, float("inf"), float("nan"), "a NaN with a message"])
def test_what_is_too_large_is_not_hidden(
    name: str, value: float | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that overflows has failed: the library must not go on with a number where torch has none."""
    layer = scrambled(name, 2, 4, torch.float32)
    x = torch.ones(3, 40, 5, 2)
    if isinstance(value, str):
        x.view(torch.int32)[:, 3:, 2] = 0x7FC00123
    else:
        x[:, 3:, 2] = value
    found = [torch.isfinite(result).all().item() for result in everything(layer, x)]
    by_torch(monkeypatch)
    assert found == [torch.isfinite(result).all().item() for result in everything(layer, x)]


@pytest.mark.parametrize("scale", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("name", ["lstm", "ln-lstm", "urnn", "nau"])
def test_small_numbers_keep_their_digits(name: str, scale: float) -> None:
    layer = LAYERS[name](2, 4, members=3, seeds=[1, 2, 3])
    if name == "urnn":
        torch.nn.init.zeros_(layer.h0)
    x = scale * (1 + torch.rand(3, 5, 4, 2))
    found, exact = layer(x)[0], layer.double()(x.double())[0]
    size = exact.abs().amax(dim=-1, keepdim=True)
    assert ((found - exact).abs() / size).max() < 1e-4 * (name == "ln-lstm") + 2e-6


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


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_through_a_shared_input_and_any_gradient(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = scrambled(name, 3, 4, torch.float64)
    x = torch.rand(STEPS, 9, 3, dtype=torch.float64, requires_grad=True)

    def gradients() -> tuple[Tensor, ...]:
        h, _ = layer(x)
        down = torch.linspace(1, 2, 2 * h.numel(), dtype=torch.float64).view(*h.shape, 2)[..., 0]
        return torch.autograd.grad(h, [x, *layer.parameters()], down)

    found = gradients()
    by_torch(monkeypatch)
    for ours, theirs in zip(found, gradients(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11 * theirs.abs().max().item())


@pytest.mark.parametrize("name", LAYERS)
def test_second_derivatives_are_those_of_torch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = scrambled(name, 2, 4, torch.float64)
    x = (0.5 + torch.rand(3, 4, 3, 2, dtype=torch.float64)).requires_grad_()

    def second() -> tuple[Tensor, ...]:
        (g,) = torch.autograd.grad(layer(x)[0].square().sum(), x, create_graph=True)
        return torch.autograd.grad(g.square().sum(), list(layer.parameters()))

    found = second()
    by_torch(monkeypatch)
    for ours, theirs in zip(found, second(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-10 * theirs.abs().max().item())
    assert any(bool((value != 0).any()) for value in found)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # by torch itself
@pytest.mark.parametrize("name", ["lstm", "ln-lstm", "urnn", "nalu"])
def test_transforms_of_functions_are_left_to_torch(name: str) -> None:
    layer = scrambled(name, 2, 4, torch.float64)
    x = torch.rand(3, 4, 3, 2, dtype=torch.float64)
    expected = everything(layer, x)
    h = torch.func.vmap(lambda one: layer(one)[0])(torch.stack([x, 2 * x]))
    torch.testing.assert_close(h[0], expected[0])
    torch.func.jvp(lambda one: layer(one)[0], (x,), (torch.ones_like(x),))
    torch.func.grad(lambda one: layer(one)[0].sum())(x)


def test_what_comes_out_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = scrambled("ln-lstm", 2, 4, torch.float32)
    h, (h_n, _) = layer(torch.rand(3, 5, 6, 2))
    assert h.view(-1).shape == (3 * 5 * 6 * 4,)
    assert torch.equal(h[:, -1], h_n)
    h.relu_().sum().backward()


def test_a_view_with_its_sign_aside_is_read_with_it() -> None:
    layer = scrambled("nau", 2, 3, torch.float32)
    x = torch.randn(3, 5, 4, 2, dtype=torch.complex64).conj().imag
    assert x.is_neg()
    assert torch.equal(layer(x)[0], layer(x.clone().resolve_neg())[0])


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("shape", [(1, 5), (7, 5), (4, 9)])
def test_a_state_of_another_shape_is_refused(name: str, shape: tuple[int, int]) -> None:
    layer = LAYERS[name](2, 5)
    wide = (shape[0], shape[1] * layer.output_size // 5)
    state = (torch.zeros(wide), torch.zeros(wide)) if isinstance(layer, LSTM | LNLSTM) else torch.zeros(wide)
    with pytest.raises(ValueError, match="The state has shape"):
        layer(torch.rand(3, 4, 2), state)


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "nmu"])  # whose products torch can mix
def test_mixed_types_are_refused_as_torch_refuses_them(name: str) -> None:
    layer = LAYERS[name](2, 5)
    with pytest.raises(RuntimeError):
        layer(torch.rand(3, 4, 2, dtype=torch.float64))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_no_bit(threads: int) -> None:
    layer = scrambled("lstm", 3, 10, torch.float32)
    x = torch.rand(3, 60, 200, 3)
    before = torch.get_num_threads()
    expected = everything(layer, x)
    try:
        torch.set_num_threads(threads)
        assert all(torch.equal(a, b) for a, b in zip(everything(layer, x), expected, strict=True))
    finally:
        torch.set_num_threads(before)


def test_large_cells_and_other_types_are_left_to_torch() -> None:
    def tensors(cells: int) -> tuple[Tensor, ...]:
        return (
            torch.rand(1, 2, 3, 4),
            torch.rand(1, 3, cells),
            torch.rand(1, cells, 4 + cells),
            torch.rand(1, 0),
        )

    assert recurrence.recurs(*tensors(5))
    assert not recurrence.recurs(*tensors(100))
    assert not recurrence.recurs(*(value.bfloat16() for value in tensors(5)))
    assert not recurrence.recurs(*(value.to("meta") for value in tensors(5)))
    x, start, A, v = tensors(5)
    assert not recurrence.recurs(x.double(), start, A, v)
    assert not recurrence.recurs(x, start[:, :2], A, v)

"""Masses from 1e-45 to 1e30: the promise holds, nothing vanishes, and gradients are finite."""

from typing import Any

import pytest
import torch
from torch import Tensor

from mclstm import MCLSTM
from mclstm.ops.ledger import audit, ledger, promised
from support.kernels import untested
from support.variants import EACH_BACKEND

pytestmark = pytest.mark.usefixtures("each_kernel")

AMOUNTS = [1e-45, 1e-42, 1e-39, 1e-37, 1e-34, 1e-30, 1e-15, 1.0, 1e15, 1e30]
# A form for each way through the kernel, and what runs in `torch`.
FORMS: dict[str, tuple[int, dict[str, Any]]] = {
    "many cells": (40, {}),
    "static": (40, {"redistribution": "static"}),
    "few cells": (4, {}),
    "alike": (4, {"redistribution": "static", "gates_see": ("aux",)}),
    "identity": (4, {"redistribution": "identity"}),
    "outer": (4, {"redistribution": "outer"}),
    "one cell": (1, {}),
}
STEPS, BATCH = 12, 5


def problem(
    form: str, norm: str, amount: float, scale: float = 1.0, sees: tuple[str, ...] = ("aux", "state", "mass")
) -> tuple[MCLSTM, dict[str, Tensor]]:
    """A layer with weights times `scale`; inflow begins after a few empty steps, some stores are filled."""
    cells, options = FORMS[form]
    options = {
        "gates_see": sees,
        "redistribution_norm": norm,
        "input_norm": norm,
    } | options
    torch.manual_seed(0)
    layer = MCLSTM(2, 3, cells, output_bias=0.0, **options)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter)).mul_(scale)
    x, a = amount * (0.5 + torch.rand(STEPS, BATCH, 2)), torch.randn(STEPS, BATCH, 3)
    x[:3] = 0.0
    a = a[:, :1].expand_as(a) if form == "alike" else a
    c0 = amount * torch.rand(BATCH, cells) * torch.tensor([0.0, 1.0, 0.0, 1.0, 1.0]).unsqueeze(-1)
    return layer, {"x": x, "a": a, "c0": c0}


@pytest.mark.parametrize("amount", AMOUNTS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_the_promise_holds(backend: str, form: str, amount: float) -> None:
    for norm in ("softmax", "sigmoid", "relu"):
        layer, inputs = problem(form, norm, amount)
        layer.backend = backend
        with torch.no_grad():
            h, c = layer.trajectory(**inputs)
        book, cells = ledger(inputs["x"], h, c), layer.gates.hidden_size
        audit(book, cells, torch.float32)
        assert bool((h >= 0).all() and (c >= 0).all())
        there = book.turnover > promised(book, cells, torch.float32)
        assert (book.outflow + book.storage > 0)[there].all()


@pytest.mark.parametrize("backend", EACH_BACKEND)
def test_what_is_above_the_absolute_term_is_not_only_not_lost_but_right(backend: str) -> None:
    """A mass of 1e-36 among 40 cells: every product with a share is a denormal number."""
    layer, inputs = problem("many cells", "softmax", 1e-36)
    layer.backend = backend
    with torch.no_grad():
        h, c = layer.trajectory(**inputs)
    book = ledger(inputs["x"], h, c)
    assert (book.residual.abs() <= 1e-3 * book.turnover).all()


def gradients(
    layer: MCLSTM, inputs: dict[str, Tensor], backend: str, size: float = 1.0
) -> tuple[Tensor, list[Tensor]]:
    """h, and the gradients of all inputs and parameters of a loss that sees every outflow and store.

    size: of the gradients of outflows and stores
    """
    layer.backend = backend
    leaves = {name: value.detach().clone().requires_grad_() for name, value in inputs.items()}
    h, c = layer.trajectory(**leaves)
    noise = torch.Generator().manual_seed(1)
    worth = [size * torch.randn(value.shape, generator=noise) for value in (h, c)]
    wanted = [*leaves.values(), *layer.parameters()]
    grads = torch.autograd.grad((h, c), wanted, worth, allow_unused=True)
    return h.detach(), [torch.zeros(()) if grad is None else grad for grad in grads]


@pytest.mark.parametrize("scale", [1.0, 100.0, 1e7])
@pytest.mark.parametrize("norm", ["softmax", "sigmoid", "relu"])
@pytest.mark.parametrize("form", FORMS)
def test_gradients_are_finite_wherever_those_of_the_reference_are(
    form: str, norm: str, scale: float, each_kernel: str | None
) -> None:
    for amount in AMOUNTS:
        layer, inputs = problem(form, norm, amount, scale)
        h, expected = gradients(layer, inputs, "reference")
        assert torch.isfinite(h).all()
        for backend in untested(("torch", "native"), each_kernel):
            for grad, other in zip(gradients(layer, inputs, backend)[1], expected, strict=True):
                assert torch.isfinite(grad)[torch.isfinite(other)].all(), f"{backend}, {amount}"


@pytest.mark.parametrize(("amount", "entry"), [(1e29, 1e-11), (1e10, 1e-30), (1e3, 1e-36)])
@pytest.mark.parametrize("backend", ["torch", "native"])
@pytest.mark.parametrize("form", ["many cells", "few cells", "outer"])
def test_much_mass_in_rows_of_small_sums_has_finite_gradients(
    form: str, backend: str, amount: float, entry: float
) -> None:
    """Mass over the sum of its row is beyond float32, and the loss hardly sees the mass."""
    layer, inputs = problem(form, "relu", amount, sees=("aux", "state"))
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            parameter.fill_(entry if name == "gates.B_r" else 1.0 if name == "gates.b_r" else 0.0)
    _, expected = gradients(layer, inputs, "reference", 0.1 / amount)
    for grad, other in zip(gradients(layer, inputs, backend, 0.1 / amount)[1], expected, strict=True):
        assert torch.isfinite(other).all()
        assert torch.isfinite(grad).all()


@pytest.mark.parametrize("norm", ["softmax", "sigmoid", "relu"])
@pytest.mark.parametrize("backend", ["torch", "native"])
@pytest.mark.parametrize("form", [form for form in FORMS if form != "alike"])  # whose gates see no mass
def test_logits_that_are_cut_off_have_no_gradient(form: str, backend: str, norm: str) -> None:
    """Every gate sees a mass of 1e30: its logits end at 4e9, and so does their slope."""
    layer, inputs = problem(form, norm, 1e30)
    inputs["c0"] = torch.zeros_like(inputs["c0"])
    inputs["x"] = inputs["x"][3:]
    inputs["a"] = inputs["a"][3:]
    slopes = gradients(layer, inputs, backend)[1][len(inputs) :]
    expected = gradients(layer, inputs, "reference")[1][len(inputs) :]
    for slope, other in zip(slopes, expected, strict=True):
        torch.testing.assert_close(slope, other, rtol=1e-3, atol=1e-3 * other.abs().max().item())

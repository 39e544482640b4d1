"""The fused autoregression against its oracle: values, gradients, members, windows; and what both promise."""

import ctypes
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

from mclstm.ops.autoregression import Autoregression, grouped, reference
from mclstm.ops.dispatch import autoregress
from mclstm.ops.hypernetwork import Sight
from mclstm.ops.ledger import audit, ledger
from mclstm.ops.native import trajectory as native
from mclstm.ops.native.build import library

pytestmark = pytest.mark.usefixtures("each_kernel")
needs_kernel = pytest.mark.skipif(library() is None, reason="the kernel is not built")

MEMBERS, BATCH, AUX = 3, 2, 3
SIGHTS = {
    "cells": Sight("cells", (0, 1, 2), (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)),
    "share": Sight("share", (2, 0), (2.0, 0.5), (-1.0, 0.25)),
    "change": Sight("share and change", (1,), (2.0, 12.0), (-1.0, 0.5)),
}
FORMS: dict[str, dict[str, Any]] = {
    "published": {"sight": "cells", "outlet": "gate"},
    "invariant": {"sight": "change", "outlet": "constant", "norm": "sigmoid"},
    "clock": {"sight": "share", "outlet": "none", "activation": "tanh"},
    "relu": {"sight": "change", "outlet": "gate", "norm": "relu", "activation": "tanh"},
    "linear": {"sight": "cells", "outlet": "constant", "hidden": ()},
    "long": {"sight": "change", "outlet": "gate", "steps": 70, "hidden": (17, 33)},
}


def problem(
    name: str, dtype: torch.dtype = torch.float64, windows: tuple[int, ...] | None = None
) -> Autoregression:
    """Three members with windows of their own, two samples each, auxiliary inputs that all members share."""
    form = {"norm": "softmax", "activation": "relu", "hidden": (5, 9), "steps": 7} | FORMS[name]
    sight, cells, steps = SIGHTS[form["sight"]], 3, form["steps"]
    widths = [AUX + len(sight.scale), *form["hidden"], cells * cells]
    source = torch.Generator().manual_seed(len(name))

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=source, dtype=torch.float64)

    pairs = pairwise(widths)
    layers = [(drawn(MEMBERS, o, i) / i**0.5, 0.5 * drawn(MEMBERS, o)) for i, o in pairs]
    c0, a = drawn(BATCH, MEMBERS, cells).abs().transpose(0, 1), drawn(steps, BATCH, AUX)
    W_o, b_o = drawn(MEMBERS, cells, cells), drawn(MEMBERS, cells) - 2.0
    outlet = {"gate": (W_o, b_o), "constant": (None, b_o), "none": (None, None)}[form["outlet"]]
    window = torch.tensor(windows or (steps, 0, steps - 3))
    whole = Autoregression(
        c0,
        a.expand(MEMBERS, *a.shape),
        tuple(layers),
        *outlet,
        form["activation"],
        sight,
        form["norm"],
        window,
    )
    return converted(whole, dtype)


def tensors(problem: Autoregression) -> list[Tensor]:
    return [problem.c0, problem.a, *problem.weights]


def with_tensors(problem: Autoregression, values: list[Tensor]) -> Autoregression:
    return Autoregression(*values[:2], *grouped(values[2:], len(problem.layers)), *problem[5:])


def converted(problem: Autoregression, dtype: torch.dtype) -> Autoregression:
    return with_tensors(problem, [value.to(torch.float32).to(dtype) for value in tensors(problem)])


def everything(run: Any, problem: Autoregression) -> list[Tensor]:
    """h, c, and the gradients of all tensors by weights that tell every entry apart."""
    leaves = [value.detach().requires_grad_() for value in tensors(problem)]
    h, c = run(with_tensors(problem, leaves))
    total = sum(
        (r * torch.linspace(1, 2, r.numel(), dtype=r.dtype).view(r.shape).cos()).sum() for r in (h, c)
    )
    found = torch.autograd.grad(total, leaves)
    return [h.detach(), c.detach(), *found]


@needs_kernel
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FORMS)
def test_the_kernel_gives_the_values_and_gradients_of_the_oracle(name: str, dtype: torch.dtype) -> None:
    exact, own = (everything(reference, problem(name, kind)) for kind in (torch.float64, dtype))
    results, steps = everything(native.run, problem(name, dtype)), FORMS[name].get("steps", 7)
    floor = 0.01 * max(value.abs().max().item() for value in exact[2:])
    for n, (value, by_torch, true) in enumerate(zip(results, own, exact, strict=True)):
        size = max(true.abs().max().item(), floor if n > 1 else 0.0)
        error, theirs = ((found.double() - true).abs().max().item() for found in (value, by_torch))
        bound = max(64.0 * torch.finfo(dtype).eps * steps * size, 8.0 * theirs)
        assert error <= bound, f"tensor {n}: {error:.2e} > {bound:.2e}"


@needs_kernel
def test_the_kernel_takes_any_strides_and_gradients_of_one_output_only() -> None:
    whole = problem("relu")
    c0, a = (value.clone(memory_format=torch.contiguous_format) for value in (whole.c0, whole.a))
    for output in (0, 1):
        leaves = [c0.requires_grad_(), a.requires_grad_()]
        gradients = []
        for one in (whole._replace(c0=c0, a=a), whole._replace(c0=c0.mT.clone().mT, a=a.mT.clone().mT)):
            result = native.run(one)[output].mT
            gradients.append(torch.autograd.grad(result.sum(dim=1).square().sum(), leaves))
        assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))


@needs_kernel
@pytest.mark.parametrize("name", ["published", "invariant"])
def test_members_and_threads_do_not_change_a_bit(name: str) -> None:
    whole = problem(name)
    results = everything(native.run, whole)
    torch.set_num_threads(2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "WORK_OF_A_THREAD", 1)
        assert all(torch.equal(*both) for both in zip(results, everything(native.run, whole), strict=True))
    for e in range(MEMBERS):
        one = with_tensors(whole, [value[e : e + 1] for value in tensors(whole)])
        h, c = native.run(one._replace(steps=whole.steps[e : e + 1]))
        assert torch.equal(h[0], results[0][e])
        assert torch.equal(c[0], results[1][e])


@pytest.mark.parametrize("run", [reference, autoregress])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FORMS)
def test_mass_is_conserved_and_never_rises(name: str, dtype: torch.dtype, run: Any) -> None:
    whole = problem(name, dtype)
    h, c = run(whole)
    audit(ledger(torch.zeros(*h.shape[:3], 0), h, c), cells=3, dtype=dtype)
    assert (c >= 0).all()
    stored = c.double().sum(dim=-1)
    bound = 4.0 * torch.finfo(dtype).eps * stored[:, :1] * (h.shape[1] + 3)
    assert (stored.diff(dim=1) <= bound).all()
    if FORMS[name]["outlet"] == "none":
        assert (h == 0).all()


@pytest.mark.parametrize("run", [reference, autoregress])
def test_beyond_its_window_nothing_moves(run: Any) -> None:
    whole = problem("published", windows=(2, 7, 0))
    h, c = run(whole)
    assert (h[0, 2:] == 0).all()
    assert torch.equal(c[0, 2:], c[0, 2:3].expand(6, -1, -1))
    assert torch.equal(c[2], whole.c0[2].expand(8, -1, -1))
    assert (h[1] > 0).all()


def test_a_row_without_a_positive_logit_keeps_its_mass() -> None:
    whole = problem("linear")._replace(b_o=None, norm="relu")
    (W, b), c0 = whole.layers[0], whole.c0
    _, c = autoregress(whole._replace(layers=((torch.zeros_like(W), -b.abs()),)))
    assert torch.equal(c, c0.unsqueeze(1).expand_as(c))


@needs_kernel
def test_second_derivatives_and_transforms_are_those_of_the_oracle() -> None:
    whole = problem("clock", windows=(2, 3, 1))

    def curved(run: Any) -> Tensor:
        leaf = whole.c0.detach().requires_grad_()
        (slope,) = torch.autograd.grad(run(whole._replace(c0=leaf))[1].pow(3).sum(), leaf, create_graph=True)
        return torch.autograd.grad(slope.square().sum(), leaf)[0]

    assert torch.allclose(curved(autoregress), curved(reference), rtol=1e-12)
    by_start = torch.func.jacrev(lambda c0: autoregress(whole._replace(c0=c0))[1])(whole.c0)
    plain = torch.func.jacrev(lambda c0: reference(whole._replace(c0=c0))[1])(whole.c0)
    assert torch.equal(by_start, plain)


def test_shapes_that_do_not_fit_get_the_errors_of_torch() -> None:
    whole = problem("published")
    with pytest.raises(RuntimeError, match="size"):
        autoregress(whole._replace(a=whole.a[..., :1]))


@needs_kernel
def test_both_sides_have_the_same_idea_of_a_call() -> None:
    assert library().mclstm_autoregression_bytes() == ctypes.sizeof(native.Call)

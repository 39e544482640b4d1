"""First and second derivatives of every variant by finite differences, in float64."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from mclstm import MCLSTM
from support.variants import ABLATIONS, EVERY, build, inputs

pytestmark = pytest.mark.usefixtures("each_kernel")

# Differentiated in tests/ops/test_backends.py, by all backends.
ON_EVERY_BACKEND = ("constant-outlet", "closed", "sees-amounts")


def as_function(layer: MCLSTM, names: list[str]) -> Callable[..., tuple[Tensor, ...]]:
    """The layer as a function of its inputs and parameters, so that both are checked together."""

    def run(x: Tensor, a: Tensor, c0: Tensor, static: Tensor, *values: Tensor) -> tuple[Tensor, ...]:
        call = {"x": x, "a": a, "c0": c0, "static": static}
        weights = dict(zip(names, values, strict=True))
        return torch.func.functional_call(layer, weights, kwargs=call)  # type: ignore[no-any-return]

    return run


def check(layer: MCLSTM, x: Tensor, a: Tensor, c0: Tensor, static: Tensor, second: bool = True) -> None:
    names, values = zip(*[(n, p.detach().clone()) for n, p in layer.named_parameters()], strict=True)
    given = [value.requires_grad_() for value in (x, a, c0, static, *values)]
    run = as_function(layer, list(names))
    assert gradcheck(run, given)
    if second:
        assert gradgradcheck(run, given)


def away_from_kinks(layer: MCLSTM, x: Tensor, a: Tensor, c0: Tensor, static: Tensor) -> bool:
    """Whether no rectified logit lies where finite differences would step over the kink."""
    seen: list[Tensor] = []
    relu, backend = torch.relu, layer.backend
    layer.backend = "reference"  # the one that calls torch.relu
    torch.relu = lambda z: (seen.append(z.detach()), relu(z))[1]  # type: ignore[assignment]
    try:
        layer(x, a, c0, static=static)
    finally:
        torch.relu, layer.backend = relu, backend
    # Exactly zero is what the mask writes: no derivative passes there.
    return all(((z.abs() > 1e-3) | (z == 0)).all() for z in seen)


@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("name", [name for name in EVERY if name not in ON_EVERY_BACKEND])
def test_every_variant(name: str, steps: int, cells: int) -> None:
    for seed in range(20):
        torch.manual_seed(seed)
        layer = build(name, cells)
        x, a, static = inputs(steps, batch=2)
        c0 = torch.rand(2, cells, dtype=torch.float64) + 0.1
        if away_from_kinks(layer, x, a, c0, static):
            return check(layer, x, a, c0, static)
    raise AssertionError("no seed keeps the logits away from the kink")


@pytest.mark.parametrize("part", ABLATIONS)
def test_ablations(part: str) -> None:
    layer = build("dynamic", 2, not_conserving=(part,))
    x, a, static = inputs(2, batch=2)
    check(layer, x, a, torch.rand(2, 2, dtype=torch.float64) + 0.1, static)


@pytest.mark.parametrize("bias", [-60.0, 60.0])
@pytest.mark.parametrize("name", ["dynamic", "relu-sigmoid", "sees-all"])
def test_saturated_gates(name: str, bias: float) -> None:
    torch.manual_seed(3)
    layer = build(name, 2)
    with torch.no_grad():
        layer.gates.b_o.fill_(bias)
        layer.gates.b_i[:, 0] = bias
        layer.gates.b_i[:, 1] = bias if name == "relu-sigmoid" else -bias
    x, a, static = inputs(2, batch=1)
    check(layer, x, a, torch.rand(1, 2, dtype=torch.float64) + 0.1, static)


@pytest.mark.parametrize("name", ["dynamic", "static", "outer", "relu-sigmoid", "sees-all", "hydrology"])
def test_zero_mass_has_right_parameter_gradients_and_finite_others(name: str) -> None:
    layer = build(name, 3)
    x, a, static = inputs(3, batch=2)
    x, c0 = torch.zeros_like(x), torch.zeros(2, 3, dtype=torch.float64)
    names, values = zip(*[(n, p.detach().clone()) for n, p in layer.named_parameters()], strict=True)
    run = as_function(layer, list(names))
    wanted = [value.requires_grad_() for value in (a, static, *values)]
    assert gradcheck(lambda a, s, *weights: run(x, a, c0, s, *weights), wanted)
    assert gradgradcheck(lambda a, s, *weights: run(x, a, c0, s, *weights), wanted)
    h, c = layer(x.requires_grad_(), a.detach(), c0.requires_grad_(), static=static.detach())
    for gradient in torch.autograd.grad(h.sum() + c.square().sum(), (x, c0)):
        assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("amount", [0.0, 1e-44, 1e-38, 1e-31, 1e-20, 1e30])
def test_gradients_stay_finite_however_little_is_stored(amount: float) -> None:
    layer = MCLSTM(1, 2, 5, gates_see=("aux", "state"), output_bias=0.0, stay=None)
    c0 = torch.full((3, 5), amount, requires_grad=True)
    h, c = layer(torch.zeros(40, 3, 1), torch.randn(40, 3, 2), c0)
    (h.sum() + c.sum()).backward()
    for value in (c0, *layer.parameters()):
        assert torch.isfinite(value.grad).all()

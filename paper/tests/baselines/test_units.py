"""NAC, NAC•, NALU, NAU, NMU, their recurrent cells and the linear layer against their equations."""

import math

import pytest
import torch

from mclstm_paper.baselines import UNITS, Linear
from mclstm_paper.baselines.arithmetic_units import RecurrentUnit, nac_bound


def times(W, x):
    return [sum(w * value for w, value in zip(row, x, strict=True)) for row in W]


def sigma(z):
    return 1 / (1 + math.exp(-z))


def hat(unit):
    rows = zip(unit.W_hat.tolist(), unit.M_hat.tolist(), strict=True)
    return [[math.tanh(w) * sigma(m) for w, m in zip(*row, strict=True)] for row in rows]


def power(W, x):
    return [math.exp(value) for value in times(W, [math.log(abs(value) + 1e-7) for value in x])]


def plain_nalu(unit, x):
    gates = [sigma(value) for value in times(unit.G.tolist(), x)]
    sums, products = times(hat(unit), x), power(hat(unit), x)
    return [g * a + (1 - g) * m for g, a, m in zip(gates, sums, products, strict=True)]


def plain_nmu(unit, x):
    rows = [[min(max(w, 0.0), 1.0) for w in row] for row in unit.W.tolist()]
    return [math.prod(w * value + 1 - w for w, value in zip(row, x, strict=True)) for row in rows]


PLAIN = {
    "nac": lambda unit, x: times(hat(unit), x),
    "nac-mul": lambda unit, x: power(hat(unit.nac), x),
    "nalu": plain_nalu,
    "nau": lambda unit, x: times([[min(max(w, -1.0), 1.0) for w in row] for row in unit.W.tolist()], x),
    "nmu": plain_nmu,
}


@pytest.mark.parametrize("name", UNITS)
def test_equations(name):
    torch.manual_seed(0)
    unit = UNITS[name](4, 3, dtype=torch.float64)
    with torch.no_grad():
        for parameter in unit.parameters():
            parameter.mul_(3.0)  # beyond the limits of NAU and NMU, so that their clamp shows
    x = torch.randn(7, 4, dtype=torch.float64)
    wanted = torch.tensor([PLAIN[name](unit, row) for row in x.tolist()], dtype=torch.float64)
    torch.testing.assert_close(unit(x), wanted, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(unit(x.view(7, 1, 4)), wanted.view(7, 1, 3), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", UNITS)
def test_recurrent_equations(name):
    torch.manual_seed(1)
    layer = RecurrentUnit(name, 3, 2, dtype=torch.float64)
    torch.nn.init.uniform_(layer.h0)
    x = torch.rand(5, 4, 3, dtype=torch.float64) + 0.5
    h, _ = layer(x)
    for sample in range(4):
        state = layer.h0.tolist()
        for t in range(5):
            state = PLAIN[name](layer.unit, [*x[t, sample].tolist(), *state])
            torch.testing.assert_close(h[t, sample].tolist(), state, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", UNITS)
def test_gradients(name):
    torch.manual_seed(2)
    layer = RecurrentUnit(name, 2, 2, members=2, dtype=torch.float64)
    torch.nn.init.uniform_(layer.h0, 0.5, 1.0)  # log(|0| + 1e-7) is too steep for finite differences
    x = (torch.rand(3, 2, 2, dtype=torch.float64) + 0.5).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: layer(x)[0], (x, *layer.parameters()))


def test_linear():
    torch.manual_seed(3)
    layer = Linear(3, 2, dtype=torch.float64)
    torch.nn.init.uniform_(layer.b)
    x = torch.randn(5, 3, dtype=torch.float64)
    torch.testing.assert_close(layer(x), torch.nn.functional.linear(x, layer.W, layer.b))
    assert Linear(3, 2, bias=False).b is None
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x.requires_grad_(), *layer.parameters()))


def uniform_like(values, low, high):
    """Within the bounds, with their mean and variance as far as n samples tell (5 standard errors)."""
    n, width = values.numel(), high - low
    assert values.min() >= low
    assert values.max() <= high
    assert abs(values.mean() - (low + high) / 2) < 5 * width / math.sqrt(12 * n)
    assert abs(values.var() / (width**2 / 12) - 1) < 5 * math.sqrt(0.8 / n)


@pytest.mark.parametrize(("inputs", "outputs"), [(100, 2), (12, 2), (2, 1)])
def test_starts(inputs, outputs):
    ensemble = {"members": 200, "seeds": range(200)}
    glorot, r = math.sqrt(6 / (inputs + outputs)), nac_bound(inputs, outputs)
    nalu = UNITS["nalu"](inputs, outputs, **ensemble)
    uniform_like(nalu.W_hat.detach(), -r, r)
    uniform_like(nalu.M_hat.detach(), -r, r)
    uniform_like(nalu.G.detach(), -glorot, glorot)
    nau = min(0.5, glorot)
    uniform_like(UNITS["nau"](inputs, outputs, **ensemble).W.detach(), -nau, nau)
    uniform_like(UNITS["nmu"](inputs, outputs, **ensemble).W.detach(), 0.25, 0.75)
    kaiming = math.sqrt(3 / inputs)
    uniform_like(Linear(inputs, outputs, **ensemble).W.detach(), -kaiming, kaiming)
    uniform_like(Linear(inputs, outputs, start="xavier", **ensemble).W.detach(), -glorot, glorot)


@pytest.mark.parametrize(("inputs", "outputs"), [(100, 2), (12, 2), (2, 1)])
def test_nac_starts_with_its_variance(inputs, outputs):
    W = UNITS["nac"](inputs, outputs, members=400, seeds=range(400)).weight().detach()
    wanted = 2 / max(inputs + outputs, 5)
    scatter = ((W**4).mean() / wanted**2 - 1).sqrt() / math.sqrt(W.numel())
    assert abs(W.square().mean() / wanted - 1) < 5 * scatter


@pytest.mark.parametrize("name", UNITS)
def test_recurrent_units_start_at_zero(name):
    """And learn where to start."""
    layer = RecurrentUnit(name, 3, 2, members=2)
    for _ in range(2):
        assert layer.h0.shape == (2, 2)
        assert layer.h0.eq(0.0).all()
        assert layer.h0.requires_grad
        torch.nn.init.ones_(layer.h0)
        layer.reset_parameters()


def test_recurrent_nac_mul_multiplies():
    layer = RecurrentUnit("nac-mul", 1, 1)
    torch.nn.init.constant_(layer.unit.nac.W_hat, 20.0)
    torch.nn.init.constant_(layer.unit.nac.M_hat, 20.0)
    torch.nn.init.ones_(layer.h0)
    h, _ = layer(torch.tensor([2.0, 3.0, 5.0]).view(3, 1, 1))
    torch.testing.assert_close(h.flatten(), torch.tensor([2.0, 6.0, 30.0]), rtol=1e-5, atol=0.0)

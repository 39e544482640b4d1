"""Sparsity penalty, schedule, clamp and R_z, against numbers worked out by hand."""

import math

import pytest
import torch
from torch import nn

from mclstm_paper.baselines import UNITS, Linear
from mclstm_paper.baselines.arithmetic_units import RecurrentUnit
from mclstm_paper.baselines.regularisers import (
    RECOMMENDED,
    Schedule,
    clamp_weights_,
    sparsity_error,
    sparsity_penalty,
    zero_penalty,
)


def model(members=None):
    lead = () if members is None else (members,)
    layers = nn.ModuleList([UNITS["nau"](2, 1, members=members), UNITS["nmu"](2, 1, members=members)])
    with torch.no_grad():
        layers[0].W.copy_(torch.tensor([[-0.9, 0.3]]).expand(*lead, 1, 2))
        layers[1].W.copy_(torch.tensor([[0.75, 1.0]]).expand(*lead, 1, 2))
    return layers


def test_penalty_adds_the_means_of_the_layers():
    torch.testing.assert_close(sparsity_penalty(model()), torch.tensor((0.1 + 0.3) / 2 + 0.25 / 2))
    torch.testing.assert_close(sparsity_error(model()), torch.tensor(0.3))


def test_penalty_is_one_a_member():
    layers = model(members=3)
    with torch.no_grad():
        layers[0].W[1].fill_(1.0)
    wanted = torch.tensor([0.325, 0.125, 0.325])
    torch.testing.assert_close(sparsity_penalty(layers), wanted)
    torch.testing.assert_close(sparsity_error(layers), torch.tensor([0.3, 0.25, 0.3]))
    sparsity_penalty(layers).sum().backward()
    torch.testing.assert_close(layers[1].W.grad[0, 0], torch.tensor([-0.5, 0.0]))


@pytest.mark.parametrize("name", ["nac", "nac-mul", "nalu"])
def test_sparsity_error_is_of_the_weights_that_inputs_meet(name):
    """tanh(Ŵ)σ(M̂) of two weights: 0.06 is near 0, -0.67 near -1."""
    unit = UNITS[name](2, 1)
    with torch.no_grad():
        weights = unit.nac if name == "nac-mul" else unit
        weights.W_hat.copy_(torch.tensor([[0.1, -1.0]]))
        weights.M_hat.copy_(torch.tensor([[0.5, 2.0]]))
    assert sparsity_error(unit).item() == pytest.approx(1 - math.tanh(1.0) / (1 + math.exp(-2.0)))


def test_nmu_outside_its_limits_is_pulled_back():
    unit = UNITS["nmu"](1, 1)
    torch.nn.init.constant_(unit.W, -1.0)
    assert sparsity_penalty(unit).item() == 1.0
    unit = UNITS["nau"](1, 1)
    torch.nn.init.constant_(unit.W, -1.0)
    assert sparsity_penalty(unit).item() == 0.0


@pytest.mark.parametrize(
    ("step", "factor"), [(0, 0.0), (1_000, 0.0), (1_250, 2.5), (2_000, 10.0), (9_999, 10.0)]
)
def test_schedule(step, factor):
    assert Schedule(10.0, 1_000, 2_000).at(step) == factor


def test_recommended_schedules_are_madsens():
    assert RECOMMENDED["nau"].at(27_500) == pytest.approx(0.005)
    assert RECOMMENDED["nmu"].at(1_500_000) == pytest.approx(5.0)


def test_clamp_reaches_recurrent_units():
    layers = nn.ModuleList([RecurrentUnit("nau", 2, 1, members=2), UNITS["nmu"](2, 1, members=2)])
    for parameter in layers.parameters():
        torch.nn.init.constant_(parameter, -7.0)
    clamp_weights_(layers)
    assert layers[0].unit.W.eq(-1.0).all()
    assert layers[1].W.eq(0.0).all()
    assert layers[0].h0.eq(-7.0).all()


def test_zero_penalty():
    W, x = torch.rand(2, 1, 3), torch.rand(2, 5, 4, 3)
    both = zero_penalty(W, x)
    assert both.shape == (2,)
    for member in range(2):
        mean = [x[member, ..., i].mean().item() for i in range(3)]
        wanted = sum((1 - W[member, 0, i].item()) * mean[i] ** 2 for i in range(3)) / 3
        assert both[member].item() == pytest.approx(wanted, rel=1e-5)
        torch.testing.assert_close(zero_penalty(W[member], x[member]), both[member])


def test_other_models_have_no_sparsity():
    with pytest.raises(ValueError, match="no NAU and no NMU"):
        sparsity_penalty(Linear(2, 1))

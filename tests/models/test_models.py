"""Every model behind one interface: two halves equal one whole, and what it says of itself."""

from typing import Any

import pytest
import torch

from mclstm.errors import ConfigError
from mclstm.models import MODELS
from mclstm.models.output import Moments, Sizes
from mclstm.nn.dropout import Dropout

SIZES = Sizes(mass=1, aux=2, static=3, targets=["flow"])
SCALE = Moments([2.0], [3.0], [1.0], [2.0])
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no trash": {"trash_cell": False},
    "linear": {"head": "linear"},
    "mcfc": {"head": "mcfc"},
    "mcfc with its gate": {"head": "mcfc", "head_gate": True},
    "scaled": {"head": "scaled"},
    "forms": {"outlet": "constant", "state_norm": "none", "initial_state": "learned", "learned_from": 0.0},
    "memory": {"aux_memory": 5},
    "input scaling": {"input_scaling": True},
    "evapotranspiration": {"head": "linear", "evapotranspiration": True},
    "everything": {"aux_memory": 3, "input_scaling": True, "head": "mcfc", "initial_state": "learned"},
}


def batch(steps: int = 12) -> tuple[torch.Tensor, ...]:
    return torch.rand(steps, 4, 1), torch.randn(steps, 4, 2), torch.randn(4, 3)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lstm", {}),
        ("lstm", {"dropout": 0.5}),
        *(("mclstm", o) for o in OPTIONS.values()),
        ("hybrid", {}),
        ("hybrid", {"input_scaling": True}),
    ],
)
def test_two_halves_equal_one_whole(name: str, options: dict[str, Any]) -> None:
    model = MODELS[name](SIZES, SCALE, hidden_size=4, **options).eval()
    x, a, static = batch()
    whole = model(x, a, static)
    first = model(x[:5], a[:5], static)
    second = model(x[5:], a[5:], static, first.state)
    torch.testing.assert_close(torch.cat([first.y, second.y]), whole.y)
    for key, value in whole.state.items():
        torch.testing.assert_close(second.state[key], value)
        assert len(value) == 4


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_mass_that_entered_is_found_again(options: dict[str, Any]) -> None:
    model = MODELS["mclstm"](SIZES, SCALE, hidden_size=4, **options)
    x, a, static = batch()
    out = model(x, a, static)
    initial = out.c[0].sum(-1)
    torch.testing.assert_close(initial + out.x.sum((0, 2)), out.h.sum((0, 2)) + out.c[-1].sum(-1))
    assert model.outlets[0] == "flow"
    assert model.conserving is ("input_scaling" not in options)
    if not options.get("input_scaling"):
        assert torch.equal(out.x, x)


def test_the_hybrid_reads_mass_and_sends_all_of_it_through_the_conserving_layer() -> None:
    model = MODELS["hybrid"](SIZES, SCALE, hidden_size=4, memory_size=6, memory_outputs=5, dropout=0.5)
    x, a, static = batch()
    scaled = (x - 2.0) / 3.0
    read = torch.cat([scaled, torch.log1p(x), a, static.expand(12, 4, 3)], dim=-1)
    heard = model.eval().memory.linear(model.memory.lstm(read)[0])
    torch.testing.assert_close(model(x, a, static).h, model.layer(x, heard)[0])
    out = model.train()(x, a, static)
    assert model.conserving
    torch.testing.assert_close(x.sum((0, 2)), out.h.sum((0, 2)) + out.c[-1].sum(-1))
    assert model.layer.gates.aux_size == 5
    assert model.layer.gates.static_size == 0


def test_the_hybrid_has_the_size_of_the_recipe() -> None:
    sizes = Sizes(mass=1, aux=4, static=27, targets=["flow"])
    options = {"gates_see": ("aux", "state", "mass")}
    model = MODELS["hybrid"](sizes, SCALE, hidden_size=16, **options)
    assert sum(value.numel() for value in model.parameters()) == 41_824


def test_the_memory_of_a_model_starts_with_an_open_forget_gate() -> None:
    for name, options in (("mclstm", {"aux_memory": 5}), ("hybrid", {"memory_size": 5})):
        lstm = MODELS[name](SIZES, SCALE, hidden_size=4, **options).memory.lstm
        assert ((lstm.bias_ih_l0 + lstm.bias_hh_l0)[5:10] == 3).all()


def test_evapotranspiration_is_penalised_until_it_closes() -> None:
    model = MODELS["mclstm"](SIZES, SCALE, hidden_size=4, head="linear", evapotranspiration=True)
    out = model(*batch())
    assert out.y.shape[-1] == 2
    assert out.penalty > 0


def test_the_memory_of_an_mclstm_reads_weather_and_attributes_but_no_mass() -> None:
    """As the paper's appendix has it: an LSTM on the auxiliaries; the gates hear nothing but its output."""
    model = MODELS["mclstm"](SIZES, SCALE, hidden_size=4, aux_memory=5)
    x, a, static = batch()
    heard = model.enter(x, a, static, {})
    assert heard.a.shape == (12, 4, 5)
    assert heard.static.shape == (4, 0)
    assert torch.equal(model.enter(x + 1, a, static, {}).a, heard.a)
    for other in ((x, a + 1, static), (x, a, static + 1)):
        assert (model.enter(*other, {}).a != heard.a).all()


def test_lstm_is_scaled_and_its_forget_gate_starts_open() -> None:
    model = MODELS["lstm"](SIZES, SCALE, hidden_size=4, forget_bias=3.0)
    total = model.lstm.bias_ih_l0 + model.lstm.bias_hh_l0
    assert (total[4:8] == 3).all()
    x, a, static = batch()
    with torch.no_grad():
        model.linear.weight.zero_()
        model.linear.bias.fill_(0.5)
    assert (model(x, a, static).y == 0.5 * 2.0 + 1.0).all()
    shifted = MODELS["lstm"](SIZES, SCALE._replace(mass_mean=[0.0], mass_std=[1.0]), hidden_size=4)
    shifted.load_state_dict({**model.state_dict(), "mass_mean": torch.zeros(1), "mass_std": torch.ones(1)})
    torch.testing.assert_close(
        shifted((x - 2) / 3, a, static).state["cells"], model(x, a, static).state["cells"]
    )


def test_lstm_drops_hidden_values_in_training_only() -> None:
    model = MODELS["lstm"](SIZES, SCALE, hidden_size=4, dropout=0.5)
    with torch.no_grad():
        model.linear.weight.fill_(1.0)
        model.linear.bias.zero_()
    x, a, static = batch()
    hidden = model.lstm(torch.cat([(x - 2) / 3, a, static.expand(12, 4, 3)], dim=-1))[0]
    torch.testing.assert_close(model.eval()(x, a, static).y[..., 0], hidden.sum(-1) * 2 + 1)
    torch.manual_seed(5)
    kept = Dropout(0.5)(hidden)
    torch.manual_seed(5)
    torch.testing.assert_close(model.train()(x, a, static).y[..., 0], kept.sum(-1) * 2 + 1)
    # What is remembered for the next step is whole.
    torch.testing.assert_close(model(x, a, static).state["hidden"], hidden[-1])


def test_parts_in_front_of_the_layer_see_the_attributes() -> None:
    x, a, static = batch()
    model = MODELS["mclstm"](SIZES, SCALE, hidden_size=4, aux_memory=5, input_scaling=True)
    assert model.memory.lstm.input_size == model.scaling.hidden.in_features == 2 + 3
    assert model.layer.gates.static_size == 0  # what the memory gives replaces all auxiliaries
    torch.nn.init.normal_(model.scaling.log_factor.weight)
    one, other = (model(x, a, seen) for seen in (static, static + 1))
    assert not torch.allclose(one.x, other.x)
    alone = MODELS["mclstm"](SIZES, SCALE, hidden_size=4, aux_memory=5)
    assert not torch.allclose(alone(x, a, static).h, alone(x, a, static + 1).h)
    plain = MODELS["mclstm"](SIZES, SCALE, hidden_size=4, aux_memory=5)
    plain.load_state_dict(alone.state_dict())
    by_hand = plain.layer(x, plain.memory(torch.cat([a, static.expand(12, 4, 3)], dim=-1))[0])[0]
    torch.testing.assert_close(alone(x, a, static).h, by_hand)


def test_heads_that_add_up_serve_one_target() -> None:
    two = SIZES._replace(targets=["flow", "level"])
    with pytest.raises(ConfigError, match="Choose head: mcfc"):
        MODELS["mclstm"](two, SCALE, hidden_size=4)
    assert MODELS["mclstm"](two, SCALE, hidden_size=4, head="mcfc").outlets == ("flow", "level", "losses")


def test_lstm_asks_for_moments() -> None:
    with pytest.raises(ValueError, match="give the moments"):
        MODELS["lstm"](SIZES, None, hidden_size=4)


def test_an_lstm_is_punished_for_water_that_never_came() -> None:
    """By the sums since the start, also across a state; without a weight there is no sum and no penalty."""
    torch.manual_seed(0)
    model = MODELS["lstm"](SIZES, SCALE, hidden_size=4, balance_penalty=2.0).eval()
    x, a, static = torch.rand(9, 5, SIZES.mass), torch.randn(9, 5, SIZES.aux), torch.randn(5, SIZES.static)
    whole = model(x, a, static)
    inflow, outflow = x.sum(-1).cumsum(0), whole.y.sum(-1).cumsum(0)
    excess = torch.relu(outflow - inflow) / (inflow + sum(SCALE.mass_std))
    torch.testing.assert_close(whole.penalty, 2.0 * excess.square().mean())
    first = model(x[:4], a[:4], static)
    second = model(x[4:], a[4:], static, first.state)
    torch.testing.assert_close(second.penalty, 2.0 * excess[4:].square().mean())
    torch.testing.assert_close(second.state["totals"], whole.state["totals"])
    plain = MODELS["lstm"](SIZES, SCALE, hidden_size=4)(x, a, static)
    assert plain.penalty.item() == 0.0
    assert set(plain.state) == {"hidden", "cells"}

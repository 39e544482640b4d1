"""Every model behind one interface: two halves equal one whole, and what it says of itself."""

from typing import Any

import pytest
import torch

from mclstm.errors import ConfigError
from mclstm.models import MODELS
from mclstm.models.output import Moments, Sizes

SIZES = Sizes(mass=1, aux=2, static=3, targets=["flow"])
SCALE = Moments([2.0], [3.0], [1.0], [2.0])
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no trash": {"trash_cell": False},
    "linear": {"head": "linear"},
    "mcfc": {"head": "mcfc"},
    "scaled": {"head": "scaled"},
    "memory": {"aux_memory": 5},
    "input scaling": {"input_scaling": True},
    "evapotranspiration": {"head": "linear", "evapotranspiration": True},
    "everything": {"aux_memory": 3, "input_scaling": True, "head": "mcfc", "initial_state": "learned"},
}


def batch(steps: int = 12) -> tuple[torch.Tensor, ...]:
    return torch.rand(steps, 4, 1), torch.randn(steps, 4, 2), torch.randn(4, 3)


@pytest.mark.parametrize(("name", "options"), [("lstm", {}), *(("mclstm", o) for o in OPTIONS.values())])
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


def test_evapotranspiration_is_penalised_until_it_closes() -> None:
    model = MODELS["mclstm"](SIZES, SCALE, hidden_size=4, head="linear", evapotranspiration=True)
    out = model(*batch())
    assert out.y.shape[-1] == 2
    assert out.penalty > 0


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


def test_heads_that_add_up_serve_one_target() -> None:
    two = SIZES._replace(targets=["flow", "level"])
    with pytest.raises(ConfigError, match="Choose head: mcfc"):
        MODELS["mclstm"](two, SCALE, hidden_size=4)
    assert MODELS["mclstm"](two, SCALE, hidden_size=4, head="mcfc").outlets == ("flow", "level", "trash")


def test_lstm_asks_for_moments() -> None:
    with pytest.raises(ValueError, match="give the moments"):
        MODELS["lstm"](SIZES, None, hidden_size=4)

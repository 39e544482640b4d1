"""A budget for the last outlet of an MC-FC: kept at every step by construction, and nothing is lost."""

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

import mclstm
from mclstm import MCFC, MCFCHead
from mclstm.config import check_config
from mclstm.errors import ConfigError
from support.small_city import city, city_config

BUDGET = 0.02


@pytest.mark.parametrize("norm", ["softmax", "sigmoid", "relu"])
@pytest.mark.parametrize("logit", [-1e3, 0.0, 1e3])
@pytest.mark.parametrize("members", [None, 2])
def test_the_last_output_stays_within_its_budget(norm: str, logit: float, members: int | None) -> None:
    layer = MCFC(
        5, 3, input_norm=norm, output_gate=False, budget=BUDGET, members=members, dtype=torch.float64
    )
    with torch.no_grad():
        layer.B_i[..., -1] = logit
    x = torch.rand(7, 5, dtype=torch.float64)
    y, eps = layer(x), torch.finfo(torch.float64).eps
    whole = x.sum(-1).expand(y.shape[:-1])
    assert (y >= 0).all()
    assert (y[..., -1] <= BUDGET * whole * (1 + 16 * eps)).all()
    torch.testing.assert_close(y.sum(-1), whole, rtol=16 * eps, atol=0)
    if logit == 1e3 and norm == "softmax":  # the others cannot give all to one output
        torch.testing.assert_close(y[..., -1], BUDGET * whole, rtol=16 * eps, atol=0)


def test_its_gradients_are_right_and_never_undefined() -> None:
    layer = MCFC(4, 3, output_gate=False, budget=0.3, dtype=torch.float64)
    x = torch.rand(2, 4, dtype=torch.float64)
    calls = lambda logits: torch.func.functional_call(layer, {"B_i": logits}, (x,))  # noqa: E731
    assert gradcheck(calls, layer.B_i.detach().clone().requires_grad_())
    with torch.no_grad():
        layer.B_i[:, -1] = 1e4
    layer(x)[:, 0].sum().backward()
    assert torch.isfinite(layer.B_i.grad).all()


def test_a_trained_model_keeps_to_the_budget_at_every_step_and_closes_its_books() -> None:
    table = city(6)
    table[["out_east", "out_south"]] *= 0.5  # far more is missing than the budget allows
    model = mclstm.fit(
        table, mass="in_*", target="out_*", head="mcfc", trash_budget=BUDGET, hidden_size=4, loss="mse",
        sequences={"begin": "04:00", "end": "23:00"}, residence="1h", updates=30, learning_rate=0.1,
    )  # fmt: skip
    result = model.simulate(table).isel(site=0)
    outflow = result["outflow"].dropna("time")
    share = outflow.sel(outlet="losses") / outflow.sum("outlet")
    eps = float(np.finfo(np.float32).eps)
    assert 0 < float(share.max()) <= BUDGET * (1 + 8 * eps)
    assert float(np.abs(result["residual"]).max()) <= 4 * eps * 24 * float(result["inflow"].sum())


def test_what_has_no_trash_outlet_has_no_budget() -> None:
    refused = "has trash_budget, which limits the losses of head: mcfc"
    for head, trash in (("linear", True), ("mcfc", False)):
        model = {"name": "mclstm", "head": head, "trash_cell": trash, "trash_budget": BUDGET}
        with pytest.raises(ConfigError, match=refused):
            check_config(city_config("none.csv", model))
    with pytest.raises(ValueError, match=r"budget is 1\.5; give a share between 0 and 1"):
        MCFC(2, 2, budget=1.5)
    with pytest.raises(ValueError, match="hidden_size"):
        MCFCHead(2, ("flow",), budget=0.1)

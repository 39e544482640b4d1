"""One update: a warm-up without gradient, clipping of huge gradients, and what it says when it gives up."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mclstm import from_config as configured
from mclstm.config import check_config
from mclstm.data.windows import Batch
from mclstm.errors import ConfigError
from mclstm.models import MODELS
from mclstm.models.output import Moments, Output, Sizes
from mclstm.training.loss import Importance, weighted_error
from mclstm.training.update import Update, one_update
from support.small_run import brook, brook_config, trained

WARM, STEPS = 7, 12
MODELS_HERE: dict[str, tuple[str, dict[str, Any]]] = {
    "mclstm": ("mclstm", {}),
    "memory": ("mclstm", {"aux_memory": 3}),
    "two outlets": ("mclstm", {"head": "linear", "evapotranspiration": True}),
    "lstm": ("lstm", {}),
}


def model_of(name: str) -> torch.nn.Module:
    torch.manual_seed(0)
    kind, options = MODELS_HERE[name]
    return MODELS[kind](
        Sizes(1, 2, 3, ["flow"]), Moments([2.0], [3.0], [1.0], [2.0]), hidden_size=4, **options
    )


def batch() -> Batch:
    torch.manual_seed(1)
    site, start = torch.arange(5), torch.zeros(5, dtype=torch.int64)
    x, a, static = torch.rand(STEPS, 5, 1), torch.randn(STEPS, 5, 2), torch.randn(5, 3)
    return Batch(site, start, x, a, static, torch.rand(STEPS - WARM, 5, 1))


def updated(model: torch.nn.Module, without_gradient: int) -> Update:
    optimiser = torch.optim.SGD(model.parameters(), lr=0.0)
    return one_update(model, optimiser, batch(), Importance(torch.ones(5, 1)), 0.0, None, without_gradient)


@pytest.mark.parametrize("name", MODELS_HERE)
def test_the_forward_is_the_same_and_the_gradient_that_of_a_given_state(name: str) -> None:
    whole, cut, by_hand = (model_of(name) for _ in range(3))
    full, short = updated(whole, 0), updated(cut, WARM)
    # torch's LSTM, which two of them have, multiplies a whole sequence at once and rounds by its length. So
    # does the linear head while a graph is recorded (`row_product`), on Intel processors.
    at_once = name in ("lstm", "memory", "two outlets")
    near = {"rtol": 1e-6, "atol": 1e-7} if at_once else {"rtol": 0.0, "atol": 0.0}
    torch.testing.assert_close(full.y, short.y, **near)

    given = batch()
    with torch.no_grad():
        state = by_hand(given.x[:WARM], given.a[:WARM], given.static).state
    output = by_hand(given.x[WARM:], given.a[WARM:], given.static, state)
    error = weighted_error(output.y[..., :1], given.y, Importance(torch.ones(5, 1))) + output.penalty
    assert short.loss == error.item()
    error.backward()
    for parameter, expected in zip(cut.parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, expected.grad)
    assert full.gradient != short.gradient  # otherwise nothing was cut


def test_a_run_without_it_ends_with_other_weights_and_resumes_to_itself(tmp_path: Path) -> None:
    weights = {}
    for kept in (True, False):
        run = trained(tmp_path / str(kept), updates=3, warmup_gradient=kept)
        assert configured.open_run(run).config.training.warmup_gradient is kept
        weights[kept] = (run / "checkpoints/last.safetensors").read_bytes()
    assert weights[True] != weights[False]


def test_the_scheme_last_has_no_warm_up_to_leave_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no warm-up in the scheme last"):
        check_config(brook_config(brook(tmp_path / "brook.csv"), scheme="last", warmup_gradient=False))


class Steep(torch.nn.Module):
    """y = slope w + level + flat, weights 0: the loss is (level - 1)², dloss/dw = 2 (level - 1) slope."""

    def __init__(self, slope: float, level: float) -> None:
        super().__init__()
        self.flat, self.w = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
        self.slope, self.level = slope, level

    def forward(self, x: Tensor, a: Tensor, static: Tensor, state: None) -> Output:
        y = self.slope * self.w + self.level + self.flat
        return Output(y=y.expand(*x.shape[:2], 1), state=None, penalty=y.new_zeros(()))


def stepped(slope: float, level: float, clip: float | None) -> tuple[Steep, Update]:
    model = Steep(slope, level)
    return model, taken(model, clip)


def taken(model: Steep, clip: float | None) -> Update:
    values = batch()._replace(y=torch.ones(STEPS, 5, 1))
    return one_update(
        model, torch.optim.Adam(model.parameters()), values, Importance(torch.ones(5, 1)), 0.1, clip
    )


@pytest.mark.parametrize("slope", [1e19, 1e25, 1e30])
def test_a_huge_gradient_is_clipped_and_the_run_goes_on(slope: float) -> None:
    model, update = stepped(slope, level=0.0, clip=0.5)
    assert update.finite
    assert update.gradient == pytest.approx(2 * slope)
    assert model.w.grad.item() == pytest.approx(-0.5)
    assert model.w.item() == pytest.approx(0.1)  # Adam's first step


def test_without_a_clip_nothing_is_scaled() -> None:
    model, update = stepped(1e15, level=0.0, clip=None)
    assert update.finite
    assert model.w.grad.item() == pytest.approx(-2e15)
    assert model.flat.grad.item() == pytest.approx(-2.0)


FAILURES = {
    "a loss": ((1.0, 1e30, 1.0), "the loss, which is infinite"),
    "an infinite gradient": ((1e30, -1e10, 1.0), "the gradient of w, which is infinite"),
    "a square": ((1e25, 0.0, None), "the gradient of w, whose square is infinite in float32"),
    "a square of a large clip": ((1e25, 0.0, 1e30), "the gradient of w, whose square is infinite in float32"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_update_that_is_given_up_says_what_is_wrong(name: str) -> None:
    (slope, level, clip), expected = FAILURES[name]
    model, update = stepped(slope, level, clip)
    assert not update.finite
    assert update.first_bad(batch(), "{} {}".format) == expected
    assert model.w.item() == 0.0


def test_nan_is_called_nan() -> None:
    finite = Update(1.0, 1.0, None, torch.zeros(1, 1, 1))
    assert finite.finite
    said = finite._replace(loss=math.nan).first_bad(batch(), "{} {}".format)
    assert said == "the loss, which is NaN"
    model = Steep(1.0, 0.0)
    model.w.register_hook(lambda gradient: gradient * math.nan)
    update = taken(model, clip=1.0)
    assert not update.finite
    assert update.first_bad(batch(), "{} {}".format) == "the gradient of w, which is NaN"

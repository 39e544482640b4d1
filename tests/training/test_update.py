"""One update whose warm-up has no gradient: the same forward, the gradient of a state that is given."""

from pathlib import Path
from typing import Any

import pytest
import torch

from mclstm import from_config as configured
from mclstm.config import check_config
from mclstm.data.windows import Batch
from mclstm.errors import ConfigError
from mclstm.models import MODELS
from mclstm.models.output import Moments, Sizes
from mclstm.training.update import Update, one_update, weighted_error
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
    return one_update(model, optimiser, batch(), torch.ones(5, 1), 0.0, None, without_gradient)


@pytest.mark.parametrize("name", MODELS_HERE)
def test_the_forward_is_the_same_and_the_gradient_that_of_a_given_state(name: str) -> None:
    whole, cut, by_hand = (model_of(name) for _ in range(3))
    full, short = updated(whole, 0), updated(cut, WARM)
    # torch's LSTM, which two of them have, multiplies a whole sequence at once and rounds by its length.
    near = {"rtol": 1e-6, "atol": 1e-7} if name in ("lstm", "memory") else {"rtol": 0.0, "atol": 0.0}
    torch.testing.assert_close(full.y, short.y, **near)

    given = batch()
    with torch.no_grad():
        state = by_hand(given.x[:WARM], given.a[:WARM], given.static).state
    output = by_hand(given.x[WARM:], given.a[WARM:], given.static, state)
    error = weighted_error(output.y[..., :1], given.y, torch.ones(5, 1)) + output.penalty
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

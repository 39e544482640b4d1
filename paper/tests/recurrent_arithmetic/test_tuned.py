"""mclstm-tuned: its start, its schedule, and that what it has to learn passes the test."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from mclstm.errors import Interrupted
from mclstm_paper.arithmetic.subsets import OPERATIONS
from mclstm_paper.arithmetic.thresholds import success_threshold
from mclstm_paper.recurrent_arithmetic.experiment import ARITHMETIC
from mclstm_paper.recurrent_arithmetic.models import recurrent_recipe
from mclstm_paper.recurrent_arithmetic.task import RecurrentArithmetic
from mclstm_paper.seeds.member_ensemble import Ensemble
from mclstm_paper.seeds.networks import sources
from mclstm_paper.seeds.recipes import Decay
from mclstm_paper.seeds.training_loop import Problem, train
from support.counting_jobs import StoppingMonitor

SEEDS = [0, 3]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_it_starts_as_an_accumulator(operation: str) -> None:
    network = recurrent_recipe("mclstm-tuned", operation, "stated").build(sources(SEEDS))
    x, a, _ = RecurrentArithmetic(operation, SEEDS).train(0, batch_size=16)
    flows = network.layer.flows(x, a)
    assert flows.o[:, :-1].max() < 1e-8
    assert flows.o[:, -1].min() > 1 - 1e-6
    assert flows.R.diagonal(dim1=-2, dim2=-1).min() > 1 - 1e-6
    torch.testing.assert_close(flows.h[:, -1].sum(-1), x.sum(dim=(1, 3)), rtol=1e-5, atol=0.0)
    assert torch.equal(flows.i[:, 0], flows.i[:, -1])  # the marker changes nothing
    learned = {name for name, value in network.named_parameters() if value.requires_grad}
    assert "layer.gates.W_i" not in learned
    assert "layer.gates.B_r" in learned


def shares(operation: str, task: RecurrentArithmetic) -> Tensor:
    """Of every input, what goes to which cell in the solution: (E, n, K)."""
    in_first, in_second = task.subsets.masks.unbind(1)
    if (
        operation == "multiplication"
    ):  # half of what is in a subset, so that both can have half of the overlap
        return torch.stack([in_first / 2, in_second / 2, 1 - (in_first + in_second) / 2], dim=-1)
    wide, weight = {
        "addition": (4.0, in_first + in_second),
        "subtraction": (1.5, in_first - in_second),
    }[operation]
    positive = 0.5 + weight / (2 * wide)
    return torch.stack([positive, 1 - positive], dim=-1)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_solution_is_within_its_reach(operation: str) -> None:
    """Only the shares of inputs are put where they belong, and the scale of the product."""
    task = RecurrentArithmetic(operation, SEEDS)
    network = recurrent_recipe("mclstm-tuned", operation, "stated").build(sources(SEEDS))
    with torch.no_grad():
        network.layer.gates.b_i.copy_(shares(operation, task).clamp(min=1e-9).log())
        if operation == "multiplication":
            network.head.alpha.fill_(torch.tensor(4.0).log())
        x, a, y = task.evaluation("test", samples=200)
        errors = (network(x, a).double() - y.double()).square().mean(dim=(1, 2))
    limit = success_threshold(ARITHMETIC.threshold, operation, "stated", samples=500)
    assert (errors < limit).all(), errors


def problem(decay: Decay | None, epsilon: float = 1e-8) -> Problem:
    """A weight with the gradient 1, one with 1e-6: Adam's first steps are the rate, whatever the gradient."""
    model = nn.ParameterDict({"w": torch.zeros(1, 2)})

    def losses(update: int) -> Tensor:
        return model["w"] @ torch.tensor([1.0, 1e-6])

    return Problem(
        model,
        losses,
        lambda update: {"validation": torch.zeros(1)},
        False,
        lambda e: "",
        decay,
        epsilon,
    )


def trained(folder: Path, task: Problem, stop: int | None = None) -> Tensor:
    folder.mkdir(exist_ok=True)
    train(folder, StoppingMonitor(folder, stop), 3, task, members=1, learning_rate=0.5, evaluate_every=100)
    return next(task.model.parameters()).detach()


def test_the_rate_falls_and_goes_on_falling_after_a_stop(tmp_path: Path) -> None:
    decay = Decay(start=0, end=2, to=0.01)
    whole = trained(tmp_path / "whole", problem(decay))
    assert whole[0, 0].item() == pytest.approx(-0.5 * (1 + 0.1 + 0.01), rel=1e-4)
    with pytest.raises(Interrupted):
        trained(tmp_path / "parts", problem(decay), stop=2)
    assert torch.equal(trained(tmp_path / "parts", problem(decay)), whole)
    assert trained(tmp_path / "constant", problem(None))[0, 0].item() == pytest.approx(-1.5, rel=1e-4)


def test_a_large_epsilon_leaves_what_has_next_to_no_gradient(tmp_path: Path) -> None:
    usual, large = trained(tmp_path / "a", problem(None)), trained(tmp_path / "b", problem(None, 1e-3))
    assert usual[0, 1] < -1.4
    assert -0.01 < large[0, 1] < 0.0
    assert large[0, 0] < -1.4


def test_rates_of_children_fall_together() -> None:
    model = nn.ModuleDict(
        {"a": nn.ParameterDict({"w": torch.zeros(1)}), "b": nn.ParameterDict({"w": torch.zeros(1)})}
    )
    ensemble = Ensemble(model, 1, {"a": 0.1, "b": 0.2})
    ensemble.slow_down(0.5)
    ensemble.slow_down(0.1)  # of the given rates, not of the last ones
    assert [group["lr"] for group in ensemble.optimiser.param_groups] == pytest.approx([0.01, 0.02])

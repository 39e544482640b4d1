"""Members trained together: each as if alone, failures frozen, a kill that leaves no trace."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from mclstm.errors import CheckpointError, Interrupted
from mclstm.training import checkpoint
from mclstm_paper.addition import training as addition_training
from mclstm_paper.arithmetic import experiment as arithmetic
from mclstm_paper.recurrent_arithmetic.experiment import ARITHMETIC as RECURRENT_ARITHMETIC
from mclstm_paper.recurrent_arithmetic.models import RECURRENT, recurrent_recipe
from mclstm_paper.recurrent_arithmetic.task import RecurrentArithmetic
from mclstm_paper.seeds import training_loop as training
from mclstm_paper.seeds.member_ensemble import Ensemble
from mclstm_paper.seeds.networks import sources
from mclstm_paper.seeds.recipes import Recipe, member_errors
from mclstm_paper.seeds.training_loop import CHECKPOINT
from mclstm_paper.static_arithmetic.experiment import ARITHMETIC as STATIC_ARITHMETIC
from mclstm_paper.static_arithmetic.models import static_recipe
from mclstm_paper.static_arithmetic.task import StaticArithmetic
from support.counting_jobs import StoppingMonitor

Work = Callable[..., object]
SAMPLES = {"train": 500, "validation": 20, "test": 5}  # four batches an epoch: the first stop is within one
JOBS: dict[str, tuple[Work, dict[str, object]]] = {
    "mclstm": (
        partial(arithmetic.learn, RECURRENT_ARITHMETIC),
        {"model": "mclstm", "operation": "multiplication"},
    ),
    "nau": (partial(arithmetic.learn, RECURRENT_ARITHMETIC), {"model": "nau", "operation": "addition"}),
    "mcfc": (partial(arithmetic.learn, STATIC_ARITHMETIC), {"model": "mcfc", "operation": "subtraction"}),
    "addition": (addition_training.learn, {"model": "nau", "samples": SAMPLES}),
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thresholds of a million samples would take longer than the tests."""
    limits = {"stated": 1e-3, "published": 2e-3}
    monkeypatch.setattr(arithmetic, "thresholds", lambda task, operation: limits)


def learn(name: str, folder: Path, goal: int, stop: int | None = None) -> object:
    work, parameters = JOBS[name]
    folder.mkdir(exist_ok=True)
    settings = {"protocol": "published", "seeds": [3, 4, 8], "learning_rate": None, "evaluate_every": 4}
    return work(folder, StoppingMonitor(folder, stop), goal, **parameters, **settings)


@pytest.mark.parametrize("name", JOBS)
def test_what_was_stopped_ends_with_the_bits_of_what_was_not(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = learn(name, tmp_path / "whole", goal=10)
    monkeypatch.setattr(training, "AT_ONCE", 2)
    for stop in (3, 8):
        with pytest.raises(Interrupted, match=f"Stopped after update {stop} of 10"):
            learn(name, tmp_path / "parts", goal=10, stop=stop)
    parts = learn(name, tmp_path / "parts", goal=10)
    assert parts == whole
    one, two = ((tmp_path / run / CHECKPOINT).read_bytes() for run in ("whole", "parts"))
    assert one == two


def test_a_raised_goal_goes_on(tmp_path: Path) -> None:
    learn("nau", tmp_path / "raised", goal=4)
    raised, whole = learn("nau", tmp_path / "raised", goal=8), learn("nau", tmp_path / "whole", goal=8)
    assert raised == whole


def test_a_goal_that_was_passed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        learn("nau", tmp_path / "a", goal=100, stop=8)
    with pytest.raises(CheckpointError, match="has been taken to 8, further than the 5 asked for"):
        learn("nau", tmp_path / "a", goal=5)


def test_a_member_fails_by_its_gradient_whoever_else_failed() -> None:
    """A squared error of 4e38 is infinite, its gradient is not."""
    for others in (1.0, math.nan):
        model = nn.ParameterDict({"w": torch.ones(2, 1)})
        ensemble = Ensemble(model, members=2, learning_rate=0.1)
        w = model["w"].flatten()
        ensemble.step(torch.stack([w[0] * others, w[1] * 1.0]))
        w = model["w"].flatten()
        ensemble.step(torch.stack([w[0], (w[1] + 2e19).square()]))
        assert ensemble.failed.tolist() == [0 if math.isnan(others) else -1, -1]


def test_another_checkpoint_is_refused(tmp_path: Path) -> None:
    learn("mcfc", tmp_path / "a", goal=1)
    with pytest.raises(CheckpointError, match="does not fit the model"):
        learn("mclstm", tmp_path / "a", goal=1)
    checkpoint.save(tmp_path / "x", {"weights.w": torch.ones(1, 1), "best.w": torch.ones(1, 1)}, {})
    lone = Ensemble(nn.ParameterDict({"w": torch.ones(1, 1)}), 1, 0.1)
    with pytest.raises(CheckpointError):
        lone.restore(tmp_path / "x")


def losses(recipe: Recipe, network: nn.Module, inputs: tuple[Tensor, ...], y: Tensor, update: int) -> Tensor:
    loss = member_errors(network(*inputs), y)
    penalty = recipe.penalty(network, update)
    return loss if penalty is None else loss + penalty


@pytest.mark.parametrize(("model", "operation"), [(m, o) for m, able in RECURRENT.items() for o in able])
def test_a_member_is_the_member_alone(model: str, operation: str) -> None:
    """Weights after a few updates, NAU and NMU with their penalty on; for all models of the table."""
    recipe, seeds = recurrent_recipe(model, operation, "stated"), [5, 6, 7]

    def trained(chosen: list[int]) -> dict[str, Tensor]:
        task, network = RecurrentArithmetic(operation, chosen), recipe.build(sources(chosen))
        ensemble = Ensemble(network, len(chosen), recipe.learning_rate)
        for update in range(4):
            x, a, y = task.train(update, batch_size=16)
            ensemble.step(losses(recipe, network, (x, a), y, 1_500_000 + update))
        return {name: value.detach() for name, value in network.named_parameters()}

    together, alone = trained(seeds), trained(seeds[1:2])
    for name, value in together.items():
        torch.testing.assert_close(value[1:2], alone[name], rtol=2e-4, atol=2e-6, msg=name)


def test_a_member_that_fails_is_frozen_and_harms_nobody() -> None:
    recipe, seeds = static_recipe("nau", "addition", inputs=8), [0, 1, 2]
    task = StaticArithmetic("addition", seeds, input_size=8)

    def trained(poison: bool) -> Ensemble:
        network = recipe.build(sources(seeds))
        ensemble = Ensemble(network, 3, 0.01)
        for update in range(6):
            x, y = task.train(update, batch_size=16)
            if poison and update >= 3:
                x[1, 0, 0] = math.nan if update == 3 else 1.0
            ensemble.step(losses(recipe, network, (x,), y, update))
            ensemble.note({"validation": torch.arange(3.0) - update})
        return ensemble

    clean, poisoned = trained(False), trained(True)
    assert poisoned.failed.tolist() == [-1, 3, -1]
    assert clean.failed.tolist() == [-1, -1, -1]
    for name, value in poisoned.model.named_parameters():
        other = clean.model.get_parameter(name)
        assert torch.equal(value[[0, 2]], other[[0, 2]])
        assert not torch.equal(value[1], other[1])
        assert torch.isfinite(value).all()
    errors = poisoned.record("validation")
    assert errors[3:, 1].isnan().all()
    assert errors[:, [0, 2]].isfinite().all()
    assert poisoned.best_error.tolist() == [-5.0, -1.0, -3.0]


def test_the_best_weights_of_each_member_are_kept() -> None:
    model = nn.ParameterDict({"w": torch.tensor([[0.0], [0.0]])})
    ensemble = Ensemble(model, 2, 0.1)
    for update, errors in enumerate(([3.0, 1.0], [math.nan, 2.0], [2.0, 5.0])):
        with torch.no_grad():
            model["w"].fill_(update)
        ensemble.note({"validation": torch.tensor(errors)})
    ensemble.use_best()
    assert model["w"].flatten().tolist() == [2.0, 0.0]
    assert ensemble.record("validation").shape == (3, 2)


def test_evaluations_come_at_their_updates_and_at_the_goal(tmp_path: Path) -> None:
    learn("mcfc", tmp_path / "a", goal=10)
    _, about = checkpoint.load(tmp_path / "a" / CHECKPOINT)
    assert about == {"update": 10, "noted": [0, 4, 8, 10]}


def test_nothing_is_done_for_members_that_all_failed(tmp_path: Path) -> None:
    model = nn.ParameterDict({"w": torch.ones(2, 1)})
    asked: list[int] = []

    def losses(update: int) -> Tensor:
        asked.append(update)
        return model["w"].sum(1) * (math.nan if update >= 3 else 1.0)

    problem = training.Problem(
        model, losses, lambda update: {"validation": model["w"].sum(1)}, False, lambda members: ""
    )
    members = training.train(
        tmp_path,
        StoppingMonitor(tmp_path, None),
        50,
        problem,
        members=2,
        learning_rate=0.1,
        evaluate_every=10,
    )
    assert asked == [0, 1, 2, 3]
    assert members.failed.tolist() == [3, 3]
    assert members.noted == [0, 4]
    assert members.record("validation")[-1].isnan().all()


def test_training_leaves_the_process_as_it_was(tmp_path: Path) -> None:
    torch.set_num_threads(2)
    try:
        learn("mcfc", tmp_path / "a", goal=1)
        assert torch.get_num_threads() == 2
        assert float(torch.tensor(1e-45) * 1) > 0
    finally:
        torch.set_num_threads(1)

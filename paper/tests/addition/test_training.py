"""How the addition problem is learned: which samples, in which order, by which loss; what is tested."""

from itertools import combinations
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from mclstm.training import checkpoint, state
from mclstm_paper.addition.models import recipe
from mclstm_paper.addition.task import Addition, addition, exact
from mclstm_paper.addition.training import BATCH, Shuffled, errors, learn, problem
from mclstm_paper.protocols import Protocol
from mclstm_paper.seeds.networks import sources
from mclstm_paper.seeds.training_loop import CHECKPOINT
from support.counting_jobs import StoppingMonitor

SEEDS = [3, 4]
FEW = {"train": 300, "validation": 20, "test": 5}
PER_EPOCH = 3  # 128, 128 and 44 samples
LAST = 5  # the update with the last batch of the second epoch


def test_targets_belong_to_the_numbers_and_markers_beside_them() -> None:
    batches = Shuffled(addition("train", samples=FEW["train"]), SEEDS)
    for update in (0, LAST):
        for x, a, y in zip(*batches(update), strict=True):
            assert torch.equal(exact(x, a), y)


def test_every_epoch_has_every_sample_once_in_an_order_of_its_own() -> None:
    data = addition("train", samples=FEW["train"])
    batches, first = Shuffled(data, SEEDS), data.x[0, :, 0]  # no two samples begin with the same number
    assert len(first.unique()) == len(first)
    orders = []
    for epoch in range(2):
        parts = [batches(epoch * PER_EPOCH + position).x[:, 0, :, 0] for position in range(PER_EPOCH)]
        assert [part.shape[1] for part in parts] == [BATCH, BATCH, 44]
        orders += list(torch.cat(parts, dim=1))
    for order in orders:
        assert torch.equal(order.sort().values, first.sort().values)
    for one, other in combinations(orders, 2):
        assert not torch.equal(one, other)


def started(model: str, protocol: Protocol, size: float = 1.0) -> tuple[nn.Module, Addition, Tensor]:
    """A network with weights of this part of their usual size, a batch, and the losses of it."""
    task = problem(recipe(model, protocol), protocol, SEEDS, FEW)
    with torch.no_grad():
        for parameter in task.model.parameters():
            parameter *= size
        batch = Shuffled(addition("train", protocol=protocol, samples=FEW["train"]), SEEDS)(LAST)
        return task.model, batch, task.losses(LAST)


@pytest.mark.parametrize(("model", "factor"), [("mclstm", 0.0), ("mclstm-l2", 1e-4)])
def test_loss_of_mclstm_by_hand(model: str, factor: float) -> None:
    network, (x, a, y), losses = started(model, "stated")
    with torch.no_grad():
        flows = network.layer.flows(x, a)
        sums = flows.h[:, -1] @ network.head.W.mT + network.head.b.unsqueeze(1)
    error = (sums - y).square().mean(dim=(1, 2))
    penalty = factor * flows.c.square().mean(dim=(1, 2, 3))
    torch.testing.assert_close(losses - error, penalty, rtol=5e-3, atol=2e-7)


@pytest.mark.parametrize(("protocol", "factor"), [("stated", 1e-4), ("published", 0.0)])
def test_loss_of_nau_by_hand(protocol: Protocol, factor: float) -> None:
    # Some of the usual size grow so large in a hundred steps that no penalty would show.
    network, (x, a, y), losses = started("nau", protocol, size=0.5)
    W, V = network.layer.unit.W.detach(), network.head.W.detach()
    h = torch.zeros(2, y.shape[1], 10)
    for t in range(100):
        h = torch.cat([x[:, t], a[:, t], h], dim=-1) @ W.mT
    error = (h @ V.mT - y).square().mean(dim=(1, 2))
    penalty = factor / 2 * (W.square().sum(dim=(1, 2)) + V.square().sum(dim=(1, 2)))
    torch.testing.assert_close(losses - error, penalty, rtol=5e-3, atol=2e-7)


def test_the_last_weights_are_tested_not_the_best(tmp_path: Path) -> None:
    result = learn(
        tmp_path,
        StoppingMonitor(tmp_path, None),
        6,
        model="lstm",
        protocol="stated",
        seeds=SEEDS,
        learning_rate=10.0,  # so fast that the start was better
        evaluate_every=2,
        samples=FEW,
    )
    tensors, _ = checkpoint.load(tmp_path / CHECKPOINT)
    network = recipe("lstm", "stated").build(sources(SEEDS))
    tested = {}
    for group in ("weights.", "best."):
        network.load_state_dict(state.tensors_in(tensors, group))
        with torch.no_grad():
            tested[group] = [
                errors(network, addition(split, samples=FEW[split]), len(SEEDS))
                for split in ("validation", "test")
            ]
    last, best = tested["weights."], tested["best."]
    assert (last[0] > 10 * best[0]).all()
    torch.testing.assert_close(torch.tensor(result["validation"], dtype=torch.float64), last[0])
    torch.testing.assert_close(torch.tensor(result["test"]["reference"], dtype=torch.float64), last[1])

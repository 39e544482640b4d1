"""How sums of digits are learned: whose digits, which steps are scored, which weights are tested."""

import pytest
import torch

from mclstm.training import checkpoint, state
from mclstm.training.order import batch_indices
from mclstm_paper.mnist_sum import models
from mclstm_paper.mnist_sum import training as learning
from mclstm_paper.mnist_sum.digits import normalised
from mclstm_paper.mnist_sum.models import RECIPES, build
from mclstm_paper.mnist_sum.task import LENGTHS, chunks
from mclstm_paper.mnist_sum.training import STEPS, learn, scores, sums
from mclstm_paper.seeds.networks import sources
from mclstm_paper.seeds.training_loop import CHECKPOINT
from mnist_sum.tiny import TINY, made_up
from support.counting_jobs import StoppingMonitor

SEEDS = [0, 6]
UPDATES, UPDATE = 86, 55  # half way of the schedule of NAU, in the second batch of an epoch of two


def sequences(seed):
    """The images of each sequence of a member's batch, as numbers of the training images."""
    (whole,) = chunks("train", TINY.images["train"], STEPS, [seed])
    chosen = batch_indices(seed, epoch=UPDATE // 2, position=UPDATE % 2, n=len(whole), batch_size=4)
    return [whole[at].tolist() for at in chosen]


@pytest.mark.parametrize("protocol", ["stated", "published"])
@pytest.mark.parametrize("model", ["mclstm", "mclstm-softplus", "nau", "reference"])
@torch.no_grad()
def test_losses_by_hand(model, protocol, monkeypatch):
    monkeypatch.setattr(models, "L2", 100.0)  # its 1e-4 is less than the last bit of the squared error
    digits = made_up()
    problem = sums(model, protocol, SEEDS, digits, batch_size=4, updates=UPDATES)
    marker = torch.tensor([1.0] * 9 + [-1.0]).view(STEPS, 1, 1)
    images, labels = normalised(digits["train"].images), digits["train"].labels.tolist()
    for member, seed in enumerate(SEEDS):
        squares, numbers = [], []
        for sequence in sequences(seed):
            y, read = problem.model(images[sequence].view(STEPS, 1, 1, 28, 28), marker)
            targets = [sum(labels[image] for image in sequence[: t + 1]) for t in range(STEPS)]
            gaps = y[member].flatten() - torch.tensor(targets)
            squares += gaps[-1:] if protocol == "stated" else gaps
            numbers.append(read)
        error = torch.stack(squares).square().mean()
        penalty = RECIPES[model].penalty(problem.model, torch.cat(numbers, dim=2), UPDATE, UPDATES)[member]
        assert (penalty > 1e-4 * error) == (model != "reference")
        torch.testing.assert_close(problem.losses(UPDATE)[member], error + penalty, rtol=1e-5, atol=0.0)


def test_the_best_weights_are_tested_not_the_last(tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "every_digit", lambda folder: made_up())
    result = learn(
        tmp_path,
        StoppingMonitor(tmp_path, None),
        6,
        model="mclstm-softplus",
        protocol="stated",
        seeds=SEEDS,
        images=TINY.images,
        batch_size=4,
        learning_rate=0.3,  # so fast that what was found is lost again
        updates=None,
    )
    assert result["best"] == [4, 4]
    tensors, _ = checkpoint.load(tmp_path / CHECKPOINT)
    network, tested = build("mclstm-softplus", "stated", sources(SEEDS)), {}
    for group in ("best.", "weights."):
        network.load_state_dict(state.tensors_in(tensors, group))
        tested[group] = scores(network, made_up()["test"], "test", LENGTHS, "stated")
    for length, errors in tested["best."].items():
        torch.testing.assert_close(torch.tensor(result["test"][str(length)], dtype=torch.float64), errors)
        assert not torch.isclose(errors, tested["weights."][length]).any()

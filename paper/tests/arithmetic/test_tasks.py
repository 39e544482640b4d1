"""Static and recurrent arithmetic: subsets, targets, addressable updates, disjoint streams, trivial rows."""

import pytest
import torch

from mclstm_paper.arithmetic.subsets import OPERATIONS, expected, layout, subset_masks
from mclstm_paper.recurrent_arithmetic.task import EVALUATIONS, RecurrentArithmetic
from mclstm_paper.static_arithmetic.task import StaticArithmetic

PLAIN = {
    "addition": lambda a, b: a + b,
    "subtraction": lambda a, b: a - b,
    "multiplication": lambda a, b: a * b,
}
TASKS = (StaticArithmetic, RecurrentArithmetic)


@pytest.mark.parametrize("size", [10, 100])
def test_subsets(size):
    masks = subset_masks(size, range(300))
    wide, overlap = layout(size)
    assert masks.sum(dim=2).eq(wide).all()
    assert masks.prod(dim=1).sum(dim=1).eq(overlap).all()
    first = masks[:, 0].argmax(dim=1)
    assert torch.equal(masks[:, 1].argmax(dim=1), first + wide - overlap)
    assert first.min() == 0
    assert first.max() == size - (2 * wide - overlap)


def plain(task, x, member, sample):
    """The target of one sample by its definition: x (n,) or (T, n) as lists of vectors."""
    first, second = (
        sum(
            float(vector[k])
            for vector in x
            for k in range(task.input_size)
            if task.subsets.masks[member, subset, k] == 1
        )
        for subset in range(2)
    )
    return PLAIN[task.operation](first, second)


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_targets(kind, operation):
    task = kind(operation, seeds=[4, 9])
    batch = task.train(3, batch_size=5)
    held = task.evaluation("test", samples=5)
    for member in range(2):
        for sample in range(5):
            x = (
                batch.x[member, sample : sample + 1]
                if kind is StaticArithmetic
                else batch.x[member, :, sample]
            )
            wanted = plain(task, x, member, sample)
            assert batch.y[member, sample, 0].item() == pytest.approx(wanted, rel=1e-6, abs=1e-5)
            x = held.x[sample : sample + 1] if kind is StaticArithmetic else held.x[:, sample]
            wanted = plain(task, x, member, sample)
            assert held.y[member, sample, 0].item() == pytest.approx(wanted, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("kind", TASKS)
def test_any_update_is_addressable(kind):
    task = kind("addition", seeds=[4, 9])
    several = task.trains(1_999_990, 5)
    for at, batch in enumerate(several):
        again = kind("addition", seeds=[9]).train(1_999_990 + at)
        assert torch.equal(batch.x[1], again.x[0])
        assert torch.equal(batch.y[1], again.y[0])
    assert not torch.equal(several[0].x, several[1].x)
    assert not torch.equal(several[0].x[0], several[0].x[1])


def test_ranges_and_lengths():
    static = StaticArithmetic("addition", seeds=[0])
    recurrent = RecurrentArithmetic("addition", seeds=[0])
    sets = {
        (1.0, 2.0): [static.train(0).x, static.evaluation("validation").x, recurrent.train(0).x]
        + [recurrent.evaluation(name).x for name in ("validation", "test", "long")],
        (2.0, 6.0): [static.evaluation("test").x, recurrent.evaluation("range").x],
    }
    for (low, high), values in sets.items():
        for x in values:
            assert x.min() >= low
            assert x.max() <= high
            assert abs(x.mean() - (low + high) / 2) < 5 * (high - low) / (12 * x.numel()) ** 0.5
    for name, asked in EVALUATIONS.items():
        x, a, _ = recurrent.evaluation(name)
        assert x.shape == (asked.steps, 1000, 10)
        assert a.shape == (asked.steps, 1000, 1)
        assert a[:-1].eq(1).all()
        assert a[-1].eq(-1).all()


def test_streams_are_disjoint():
    task = StaticArithmetic("addition", seeds=[8689336])
    parts = [
        task.train(0).x[0],
        task.evaluation("validation", samples=500).x,
        (task.evaluation("test", samples=500).x - 2) / 4 + 1,
    ]
    vectors = torch.cat(parts).round(decimals=4)
    assert vectors.unique(dim=0).shape == vectors.shape
    task = RecurrentArithmetic("addition", seeds=[8689336])
    parts = [task.train(0).x[0], task.evaluation("validation").x, task.evaluation("test", samples=100).x]
    vectors = torch.cat([part.flatten(end_dim=-2) for part in parts])
    assert vectors.unique(dim=0).shape == vectors.shape


def test_evaluations_stay_when_stated_and_change_when_published():
    stated = RecurrentArithmetic("addition", seeds=[0])
    published = RecurrentArithmetic("addition", seeds=[0], protocol="published")
    first, second = (stated.evaluation("test", number, samples=3).x for number in (0, 1))
    assert torch.equal(first, second)
    first, second = (published.evaluation("test", number, samples=3).x for number in (0, 1))
    assert not torch.equal(first, second)


# peers.md C.3: the rounding floor of exact accumulation in float32, T = 100.
FLOORS = {"addition": 5e-9, "subtraction": 4e-9, "multiplication": 4e-4}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_exact_solution_is_at_the_rounding_floor(operation):
    task = RecurrentArithmetic(operation, seeds=range(5))
    x, _, y = task.evaluation("test")
    assert (task.exact(x) - y).square().mean().item() == pytest.approx(FLOORS[operation], rel=0.2)
    static = StaticArithmetic(operation, seeds=range(5))
    x, y = static.evaluation("test", samples=1000)
    torch.testing.assert_close(static.exact(x), y, rtol=1e-6, atol=5e-5)


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_constant_predictor_is_the_mean(kind, operation):
    task = kind(operation, seeds=[0])
    y = torch.cat([task.train(update, batch_size=5_000).y.double() for update in range(4)], dim=1)
    value = task.constant(y)[0, 0, 0]
    assert value == expected(operation, task.input_size, task.steps, 1.0, 2.0)
    assert abs(y.mean() - value) < 5 * y.std() / y.numel() ** 0.5


@pytest.mark.parametrize("kind", TASKS)
def test_unknown_operations_are_refused(kind):
    with pytest.raises(ValueError, match="choose one of addition"):
        kind("plus", seeds=[0])

"""Small models of many seeds: the cost of one update with its optimiser, per seed."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from mclstm.nn.gates import GateOptions
from mclstm.nn.heads import LinearHead
from mclstm.nn.layer import MCLSTM
from mclstm_paper.bench.peers import EagerMCLSTM
from mclstm_paper.bench.scales import Sizes, Task
from mclstm_paper.bench.timed_rounds import Key, Measurement, Outcome, one_row, timed
from mclstm_paper.seeds.networks import end_marker

__all__ = ["member_growth", "small"]

LEARNING_RATE = 1e-4  # small: the same batch is seen thousands of times
GROWING = "recurrent arithmetic, K = 3"


def update(
    outflow: Callable[[], Tensor], layer: nn.Module, head: nn.Module, y: Tensor, fused: bool
) -> Callable[[], None]:
    """One step of training: forward, squared error of the last step, backward, Adam.

    outflow: () -> last h, (B, K) or (E, B, K) · y: (B, 1) or (E, B, 1)
    """
    optimiser = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=LEARNING_RATE, fused=fused)

    def step() -> None:
        errors = head(outflow()) - y
        optimiser.zero_grad()
        errors.square().mean(dim=(-2, -1)).sum().backward()
        optimiser.step()

    return step


def ours(task: Task, members: int | None) -> Callable[[], None]:
    """An update of all members together, each with its own data; None is a layer without members."""
    sizes, seeds = task.sizes, None if members is None else range(members)
    options: GateOptions = {**task.options, "members": members, "seeds": seeds}
    layer = MCLSTM(sizes.M, sizes.A, sizes.K, **options)
    head = LinearHead(sizes.K, members=members, seeds=seeds)
    x, a, y = batch(sizes, members)
    return update(lambda: layer.last(x, a)[0], layer, head, y, fused=True)


def eager(task: Task, fused: bool) -> Callable[[], None]:
    """An update of one seed of the same model in plain modules."""
    sizes = task.sizes
    layer = EagerMCLSTM(MCLSTM(sizes.M, sizes.A, sizes.K, **task.options))
    x, a, y = batch(sizes, None)
    return update(lambda: layer(x, a)[0][-1], layer, nn.Linear(sizes.K, 1), y, fused)


def batch(sizes: Sizes, members: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """x (T, B, M) or (E, T, B, M), a (T, B, A) and y (B, 1) or (E, B, 1), always the same."""
    source = torch.Generator().manual_seed(0)
    lead = () if members is None else (members,)
    x = torch.rand(*lead, sizes.T, sizes.B, sizes.M, generator=source)
    a = end_marker(sizes.T, sizes.B).repeat(1, 1, sizes.A)
    return x, a, x.sum(dim=(-3, -1)).unsqueeze(-1)


def small(measurement: Measurement) -> Outcome:
    """One task: the plain model with one seed, ours with one seed, ours with many; milliseconds per seed."""
    task = measurement.scale.tasks[measurement.part]
    calls: dict[Key, Callable[[], object]] = {
        ("mclstm-eager", "update", task.sizes): eager(task, fused=False),
        ("mclstm-eager, fused Adam", "update", task.sizes): eager(task, fused=True),
        ("mclstm", "update", task.sizes): ours(task, None),
    }
    counts = dict.fromkeys(calls, 1)
    for members in measurement.scale.members:
        key = (f"mclstm, {members} members", "update", task.sizes)
        calls[key], counts[key] = ours(task, members), members
    rows = []
    for key, values in timed(measurement, calls).items():
        per_seed = [ms / counts[key] for ms in values]
        task_row = one_row(
            measurement, measurement.part, key, per_seed, unit="ms per seed", members=counts[key]
        )
        rows.append(task_row)
    return Outcome(rows, {})


def member_growth(measurement: Measurement) -> Outcome:
    """How the cost of an update grows with the number of members."""
    task = measurement.scale.tasks[GROWING]
    calls = {
        (f"mclstm, {members} members", "update", task.sizes): ours(task, members)
        for members in measurement.scale.member_sweep
    }
    times = zip(measurement.scale.member_sweep, timed(measurement, calls).values(), strict=True)
    key = ("mclstm-native", "update", task.sizes)
    rows = [one_row(measurement, f"E = {E}", key, values, members=E) for E, values in times]
    return Outcome(rows, {})

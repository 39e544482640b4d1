"""Small models of many seeds: one update with its optimiser, and what it costs a seed."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from mclstm.nn.gates import GateOptions
from mclstm.nn.heads import LinearHead
from mclstm.nn.layer import MCLSTM
from mclstm_paper.bench.eager import EagerMCLSTM
from mclstm_paper.bench.job import Job, Key, Measured, one_row, timed
from mclstm_paper.bench.sizes import Sizes, Task
from mclstm_paper.seeds.marker import end_marker

__all__ = ["member_growth", "small", "update"]

LEARNING_RATE = 1e-4  # small: the same batch is seen thousands of times
GROWING = "recurrent arithmetic, K = 3"


def update(
    outflow: Callable[[], Tensor], head: nn.Module, y: Tensor, parameters: list[nn.Parameter], fused: bool
) -> Callable[[], None]:
    """One step of training: forward, squared error of the last step, backward, Adam.

    outflow: () -> last h, (B, K) or (E, B, K) · y: (B, 1) or (E, B, 1)
    """
    optimiser = torch.optim.Adam([*parameters, *head.parameters()], lr=LEARNING_RATE, fused=fused)

    def step() -> None:
        errors = head(outflow()) - y
        optimiser.zero_grad()
        errors.square().mean(dim=(-2, -1)).sum().backward()
        optimiser.step()

    return step


def ours(task: Task, members: int | None) -> Callable[[], None]:
    """An update of all members together; None is the layer alone. Every member has data of its own."""
    sizes, seeds = task.sizes, None if members is None else range(members)
    options: GateOptions = {**task.options, "members": members, "seeds": seeds}
    layer = MCLSTM(sizes.M, sizes.A, sizes.K, **options)
    head = LinearHead(sizes.K, members=members, seeds=seeds)
    x, a, y = batch(sizes, members)
    return update(lambda: layer.last(x, a)[0], head, y, list(layer.parameters()), fused=True)


def eager(task: Task, fused: bool) -> Callable[[], None]:
    """An update of the same model in plain modules: one seed."""
    sizes = task.sizes
    layer = EagerMCLSTM(MCLSTM(sizes.M, sizes.A, sizes.K, **task.options))
    x, a, y = batch(sizes, None)
    parameters = list(layer.parameters())
    return update(lambda: layer(x, a)[0][-1], nn.Linear(sizes.K, 1), y, parameters, fused)


def batch(sizes: Sizes, members: int | None) -> tuple[Tensor, Tensor, Tensor]:
    """x (T, B, M) or (E, T, B, M), a (T, B, A) and y (B, 1) or (E, B, 1), always the same."""
    source = torch.Generator().manual_seed(0)
    lead = () if members is None else (members,)
    x = torch.rand(*lead, sizes.T, sizes.B, sizes.M, generator=source)
    a = end_marker(sizes.T, sizes.B).repeat(1, 1, sizes.A)
    return x, a, x.sum(dim=(-3, -1)).unsqueeze(-1)


def small(job: Job) -> Measured:
    """One task: the plain model of one seed, ours of one seed, ours of many; milliseconds a seed."""
    task = job.scale.tasks[job.part]
    calls: dict[Key, Callable[[], object]] = {
        ("mclstm-eager", "update", task.sizes): eager(task, fused=False),
        ("mclstm-eager, fused Adam", "update", task.sizes): eager(task, fused=True),
        ("mclstm", "update", task.sizes): ours(task, None),
    }
    counts = dict.fromkeys(calls, 1)
    for members in job.scale.members:
        key = (f"mclstm, {members} members", "update", task.sizes)
        calls[key], counts[key] = ours(task, members), members
    rows = []
    for key, values in timed(job, calls).items():
        each = [ms / counts[key] for ms in values]
        rows.append(one_row(job, job.part, key, each, unit="ms a seed", members=counts[key]))
    return Measured(rows, {})


def member_growth(job: Job) -> Measured:
    """How the cost of an update grows with the members."""
    task = job.scale.tasks[GROWING]
    calls = {
        (f"mclstm, {members} members", "update", task.sizes): ours(task, members)
        for members in job.scale.member_sweep
    }
    times = zip(timed(job, calls).items(), job.scale.member_sweep, strict=True)
    rows = [
        one_row(job, f"E = {members}", ("mclstm-native", *key[1:]), values, members=members)
        for (key, values), members in times
    ]
    return Measured(rows, {})

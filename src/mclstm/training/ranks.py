"""One training on several processes, the ranks, which `torchrun` starts: rank 0 leads, the others help.

Rank 0 runs the loop as if it were alone, and is the only one that reads or writes a run folder. It tells the
others each update; every rank then computes the gradient of its windows of the batch, and torch's
DistributedDataParallel adds the gradients up, so that all take the same step.

DistributedDataParallel takes the mean over ranks, a mean of means where ranks hold unequal numbers of windows
or of observations. So each rank divides its errors by the observations of the whole batch and multiplies them
by the number of ranks: the mean of these gradients is the gradient of the whole batch.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mclstm.data.windows import Batch
from mclstm.errors import TrainingError
from mclstm.nn.learned_start import START
from mclstm.training.order import draw_seed

__all__ = ["Ranks", "Task", "Whole", "partners"]

MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what Adam remembers of a parameter
LOST = (
    "Another process of this training ended or cannot be reached. If it said nothing above, see its log and "
    "memory; then continue from the last checkpoint with `mclstm resume RUN`."
)


class Task(NamedTuple):
    """Which update comes next."""

    update: int
    epoch: int
    position: int  # of the batch in its epoch
    rate: float
    peaks: bool  # whether peaks count more


class Whole(NamedTuple):
    """What is known of a whole batch between forward and backward."""

    known: Tensor  # observations, (), with members (E,)
    mass_error: float | None
    loss: float | None = None  # None: as this rank has it
    refused: bool = False  # whether the layer of any rank refused its inputs


class Ranks:
    """The processes of one training, seen from one of them; by default this one is alone."""

    def __init__(self, device: torch.device, rank: int = 0, size: int = 1) -> None:
        self.device, self.rank, self.size = device, rank, size
        self.share = 1.0  # of the windows of the present update that are this rank's
        self.noted = 0  # the number of a signal that this rank got
        self.signum = 0  # that of any rank, known after an update
        self._parallel: nn.Module | None = None
        self._busy = False  # within an update, whose collectives must not meet others

    @property
    def first(self) -> bool:
        """Whether this rank leads, and writes."""
        return self.rank == 0

    @contextmanager
    def united(
        self, model: nn.Module, optimiser: torch.optim.Optimizer, without_gradient: int
    ) -> Iterator[None]:
        """Within the context, all ranks train the model of rank 0, from its moments on.

        without_gradient: the steps of a window behind which no gradient reaches: a learned start gets none

        When rank 0 leaves, for whatever reason, the others are told that nothing comes after.
        """
        if self.size == 1:
            yield
            return
        with partners():
            self._parallel = _parallel(model, without_gradient)
            _share_moments(optimiser)
            try:
                yield
            finally:
                self._parallel = None
                if self.first and not self._busy:
                    self._broadcast(None)

    def batch(self, part: slice, gather: Callable[[slice], Batch]) -> Batch:
        """This rank's windows of a batch; part: the places of the batch in the order of its epoch.

        A rank for which none is left, at the end of an epoch, computes one that counts nothing.
        """
        count = part.stop - part.start
        begin, end = (part.start + count * at // self.size for at in (self.rank, self.rank + 1))
        self.share = (end - begin) / count
        batch = gather(slice(begin, max(end, begin + 1)))
        return batch if end > begin else batch._replace(y=torch.full_like(batch.y, torch.nan))

    def seed(self, seed: int, update: int) -> None:
        """Fix what dropout drops: on rank 0 on a CPU by torch's stream, which checkpoints hold.

        Elsewhere it is a function of (seed, update, rank), so that a checkpoint need not hold it.
        """
        if self.rank or self.device.type != "cpu":
            torch.manual_seed(draw_seed(seed, update, self.rank))

    def tell(self, task: Task) -> None:
        """As rank 0, begin an update on all ranks."""
        if self.size > 1:
            self._broadcast(task)
            self._busy = True

    def told(self) -> Task | None:
        """As another rank, wait for the next update; None: there is none."""
        return self._broadcast(None)

    def forward(self, model: nn.Module) -> nn.Module:
        """What to call for an output whose gradients are to be added up."""
        return self._parallel or model

    def whole(self, errors: Tensor, known: Tensor, penalty: Tensor, mass_error: float | None) -> Whole:
        """What all ranks know of a batch together; errors and known () or, with members, (E,)."""
        if self.size == 1:
            return Whole(known, mass_error)
        lost = -1.0 if mass_error is None else mass_error
        sums = [self.share * float(penalty), *errors.flatten().tolist(), *known.flatten().tolist()]
        return self._exchanged(known, [0.0, lost, *sums])

    def refuse(self, known: Tensor) -> None:
        """Let the other ranks know that this one has no output, for which they would wait."""
        if self.size > 1:
            self._exchanged(known, [1.0, -1.0, 0.0, *[torch.nan] * known.numel(), *known.flatten().tolist()])

    def done(self) -> None:
        """The update is over on this rank."""
        self._busy = False

    def _exchanged(self, known: Tensor, row: list[float]) -> Whole:  # (), with members (E,)
        rows = _gathered([float(self.noted), *row], self.size)  # (ranks, 4 + 2 E)
        self.signum = int(rows[:, 0].max())
        lost, members = float(rows[:, 2].max()), known.numel()
        sums = rows.sum(0)[3:]
        total = sums[1 + members :]
        loss = sums[0] + (sums[1 : 1 + members] / total.clamp(min=1)).sum()
        mass_error = None if lost < 0 else lost
        return Whole(total.to(known).view_as(known), mass_error, float(loss), bool(rows[:, 1].any()))

    def _broadcast(self, task: Task | None) -> Task | None:
        """Rank 0's task on all ranks; an update of -1 is none."""
        values = torch.tensor(task or Task(-1, 0, 0, 0.0, False), dtype=torch.float64)
        torch.distributed.broadcast(values, 0)
        update, epoch, position = (int(value) for value in values[:3])
        return None if update < 0 else Task(update, epoch, position, float(values[3]), bool(values[4]))


@contextmanager
def partners() -> Iterator[None]:
    """Within the context, a connection that breaks is one sentence."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.distributed.DistError) and "gloo" not in str(error):
            raise
        raise TrainingError(LOST) from error


def _parallel(model: nn.Module, without_gradient: int) -> nn.Module:
    from torch.nn.parallel import DistributedDataParallel

    # It warns where it looks for weights without a gradient and finds none.
    starts = any(name.rpartition(".")[2] == START for name, _ in model.named_parameters())
    return DistributedDataParallel(model, find_unused_parameters=starts and without_gradient > 0)


def _share_moments(optimiser: torch.optim.Optimizer) -> None:
    """Give all ranks the moments that rank 0 has: those of a checkpoint, or none yet."""
    parameters = [value for group in optimiser.param_groups for value in group["params"]]
    known = torch.tensor([bool(optimiser.state.get(value)) for value in parameters])
    torch.distributed.broadcast(known, 0)
    for value, resumed in zip(parameters, known.tolist(), strict=True):
        for name in MOMENTS if resumed else ():
            blank = torch.zeros(()) if name == "step" else torch.zeros_like(value)
            torch.distributed.broadcast(optimiser.state[value].setdefault(name, blank), 0)


def _gathered(row: list[float], size: int) -> Tensor:
    """The rows of all ranks, (ranks, n)."""
    own = torch.tensor(row, dtype=torch.float64)
    rows = [torch.empty_like(own) for _ in range(size)]
    torch.distributed.all_gather(rows, own)
    return torch.stack(rows)

"""The loop of the synthetic tasks, top to bottom: evaluate, update, checkpoint, stop when asked."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mclstm.errors import CheckpointError, Interrupted
from mclstm.jobs.monitor import Watch
from mclstm_paper.baselines.regularisers import clamp_weights_
from mclstm_paper.seeds.ensemble import Ensemble
from mclstm_paper.seeds.recipes import Decay

__all__ = ["CHECKPOINT", "Problem", "train"]

CHECKPOINT = "checkpoint.safetensors"
AT_ONCE = 100  # updates between looks at the clock and the signals
SAVE_EVERY = 60.0  # seconds; when a checkpoint was made does not change what comes out


class Problem(NamedTuple):
    """What E members learn and how they are looked at."""

    model: nn.Module
    losses: Callable[[int], Tensor]  # number of the update -> (E,); a function of it and the weights only
    evaluate: Callable[[int], dict[str, Tensor]]  # number of the update -> name: (E,), one is "validation"
    clamped: bool  # whether weights are put back into their range after every update
    note: Callable[[Ensemble], str]  # what is shown beside the progress
    decay: Decay | None = None  # of the learning rate
    epsilon: float = 1e-8  # Adam's
    advance: Callable[[Ensemble, int], None] | None = None  # many updates at once, after the first


def train(
    folder: Path,
    watch: Watch,
    goal: int,
    problem: Problem,
    *,
    members: int,
    learning_rate: float | Mapping[str, float],
    evaluate_every: int,
) -> Ensemble:
    """Train to update `goal`, from the folder's checkpoint if there is one; evaluate at the goal as well.

    Where all members have failed, nothing more is done.

    Batches are functions of (seed, update), so that what was killed ends with the bits of what was not. A
    goal can be raised; where the old one was no multiple of `evaluate_every`, its evaluation stays.
    """
    ensemble = Ensemble(problem.model, members, learning_rate, problem.epsilon)
    kept, note = folder / CHECKPOINT, ""
    if kept.exists():
        ensemble.restore(kept)
        if ensemble.update > goal:
            raise CheckpointError(
                f"{folder} has been taken to {ensemble.update}, further than the {goal} asked for. "
                "Ask for as many, or choose another folder with --out."
            )
    with as_one_core():
        saved = time.monotonic()
        while True:
            # What the members can do now; not twice at one update, as after a raised goal.
            update = ensemble.update
            last = update >= goal or ensemble.over
            if (update % evaluate_every == 0 or last) and update not in ensemble.noted[-1:]:
                with torch.no_grad():
                    ensemble.note(problem.evaluate(update))
                note = problem.note(ensemble)
            if last:
                break

            # One update of all of them, or many, up to the next evaluation.
            go_on(ensemble, problem, min(goal - update, evaluate_every - update % evaluate_every))
            watch.show(ensemble.update, goal, note)

            # What survives.
            signum = watch.stopped()
            if signum is not None or time.monotonic() - saved > SAVE_EVERY:
                ensemble.save(kept)
                saved = time.monotonic()
            if signum is not None:
                raise Interrupted(signum, f"Stopped after update {ensemble.update} of {goal}.")
        ensemble.save(kept)
    watch.show(goal, goal, note)
    return ensemble


def go_on(ensemble: Ensemble, problem: Problem, most: int) -> None:
    """One update, or at most so many where they are made elsewhere; the first makes Adam's moments, here."""
    if problem.advance is not None and ensemble.update > 0:
        problem.advance(ensemble, min(AT_ONCE, most))
        return
    if problem.decay is not None:
        ensemble.slow_down(problem.decay.at(ensemble.update))
    ensemble.step(problem.losses(ensemble.update))
    if problem.clamped:
        clamp_weights_(problem.model)


@contextmanager
def as_one_core() -> Iterator[None]:
    """One thread, so that bits do not depend on the machine's cores; and no denormals, which take ten times
    as long as other numbers and fill the gradients of long sequences."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)

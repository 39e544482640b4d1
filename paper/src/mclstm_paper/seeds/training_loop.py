"""The training loop of the synthetic tasks: evaluate, update, checkpoint, stop on a signal."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mclstm.errors import CheckpointError, Interrupted
from mclstm.jobs.monitor import JobMonitor
from mclstm.training import checkpoint, state
from mclstm.training.freed_memory import freed_memory_kept
from mclstm_paper.baselines.regularisers import clamp_weights_
from mclstm_paper.seeds.member_ensemble import Ensemble
from mclstm_paper.seeds.networks import MassConserving, sources
from mclstm_paper.seeds.recipes import Decay, Recipe

__all__ = ["CHECKPOINT", "Problem", "one_member", "train"]

CHECKPOINT = "checkpoint.safetensors"
AT_ONCE = 100  # updates between looks at the clock and the signals
SAVE_EVERY = 60.0  # seconds between checkpoints; results do not depend on it


class Problem(NamedTuple):
    """What E members learn, and how they are evaluated."""

    model: nn.Module
    losses: Callable[[int], Tensor]  # update -> (E,); depends on the update and the weights only
    evaluate: Callable[[int], dict[str, Tensor]]  # update -> errors (E,) by name, with a "validation"
    clamped: bool  # whether weights of NAU and NMU are clamped after every update
    note: Callable[[Ensemble], str]  # the text beside the progress
    decay: Decay | None = None  # of the learning rate
    epsilon: float = 1e-8  # Adam's
    advance: Callable[[Ensemble, int], None] | None = None  # makes many updates at once, after the first


def train(
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    problem: Problem,
    *,
    members: int,
    learning_rate: float | Mapping[str, float],
    evaluate_every: int,
) -> Ensemble:
    """Train to update `goal`, from the folder's checkpoint if there is one; evaluate at the goal as well.

    Batches are functions of (seed, update): a training that was killed and resumed ends with the same bits.
    The goal can be raised later; the evaluation at the old goal stays. Training ends when all members failed.
    """
    ensemble = Ensemble(problem.model, members, learning_rate, problem.epsilon)
    saved_path, note = folder / CHECKPOINT, ""
    if saved_path.exists():
        ensemble.restore(saved_path)
        if ensemble.update > goal:
            raise CheckpointError(
                f"{folder} has been taken to {ensemble.update}, further than the {goal} asked for. "
                "Ask for as many, or choose another folder with --out."
            )
    with as_one_core():
        saved = time.monotonic()
        while True:
            # Evaluate; not twice at one update, as could happen after a raised goal.
            update = ensemble.update
            last = update >= goal or ensemble.over
            if (update % evaluate_every == 0 or last) and update not in ensemble.noted[-1:]:
                with torch.no_grad():
                    ensemble.note(problem.evaluate(update))
                note = problem.note(ensemble)
            if last:
                break

            # Update once, or many times up to the next evaluation.
            go_on(ensemble, problem, min(goal - update, evaluate_every - update % evaluate_every))
            monitor.show(ensemble.update, goal, note)

            # Save, and stop on a signal.
            signum = monitor.stopped()
            if signum is not None or time.monotonic() - saved > SAVE_EVERY:
                ensemble.save(saved_path)
                saved = time.monotonic()
            if signum is not None:
                raise Interrupted(signum, f"Stopped after update {ensemble.update} of {goal}.")
        ensemble.save(saved_path)
    monitor.show(goal, goal, note)
    return ensemble


def go_on(ensemble: Ensemble, problem: Problem, most: int) -> None:
    """Make one update by torch, or up to `most` by `problem.advance`; the first creates Adam's moments."""
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
    """Use one thread, so that bits do not depend on the number of cores, flush denormals, keep freed memory.

    Denormals fill the gradients of long sequences and take ten times as long as other numbers.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        with freed_memory_kept():
            yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)


def one_member(
    recipe: Recipe, seeds: list[int], member: int, folder: Path, best: bool = True
) -> MassConserving:
    """One member of the finished job in a folder, as a network with its best or its last weights."""
    tensors, _ = checkpoint.load(folder / CHECKPOINT)
    network = recipe.build(sources([seeds[member]]))
    assert isinstance(network, MassConserving)
    stored = state.tensors_in(tensors, "best." if best else "weights.")
    network.load_state_dict({name: value[member : member + 1] for name, value in stored.items()})
    return network

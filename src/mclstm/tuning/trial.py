"""One trial of a search: a run that sees no test period, and ends early where others were better."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mclstm.errors import ConfigError, TrainingError
from mclstm.jobs.job import Result, Work
from mclstm.jobs.monitor import JobMonitor
from mclstm.training import journal
from mclstm.training.folder import RunFolder
from mclstm.training_job import train_as_job
from mclstm.tuning.space import trial_config
from mclstm.tuning.study import in_memory, open_study

__all__ = ["STARTUP", "TRIAL"]

STARTUP = 4  # trials to the end before one is stopped by their median


class Pruned(Exception):
    """The trial is worse than the others were at this point."""


def run_trial(
    folder: Path,
    monitor: JobMonitor,
    goal: int,
    raw: dict[str, Any],
    values: dict[str, Any],
    prune_after: int | None,
    before: int,
    study: str,
) -> Result:
    """Train a config with other values; `goal` is 1, a whole run.

    before: the number of trials in earlier batches · study: path of the journal of the search
    """
    run = RunFolder(folder)
    state, reason = "complete", ""
    try:
        rule = None if prune_after is None else worse_than_others(Path(study), before, prune_after)
        train_as_job(run, monitor, trial_config(raw, values), stopping(run, monitor, rule))
    except Pruned:
        state = "pruned"
    except (ConfigError, TrainingError) as error:  # values that do not go together, or learning that diverges
        state, reason = "failed", str(error)
    records = journal.read(run.journal)
    curve = scores(records)
    known = [score for score in curve if score is not None]
    score = max(known, default=None)
    if state == "complete" and score is None:
        state, reason = "failed", "no validation gave a score: has periods.validation observations?"
    updates = records[-1]["update"] if records else 0  # a trial that is pruned saves no checkpoint at its end
    return {"state": state, "reason": reason, "score": score, "curve": curve, "updates": updates}


TRIAL = Work("trial", run_trial)


def scores(records: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """The validation scores in a run's journal."""
    return [record["validation_nse"] for record in records if "validation_nse" in record]


def stopping(
    run: RunFolder, monitor: JobMonitor, worse: Callable[[Sequence[float | None]], bool] | None
) -> Callable[[], int | None]:
    """What the training asks after every update: it stops for a signal, and after a score that is too low."""
    seen = 0

    def stop() -> int | None:
        nonlocal seen
        length = journal.length(run.journal)
        if worse is not None and length != seen:
            seen = length
            if worse(scores(journal.read(run.journal))):
                raise Pruned
        return monitor.stopped()

    return stop


def worse_than_others(path: Path, before: int, prune_after: int) -> Callable[[Sequence[float | None]], bool]:
    """Whether scores so far are below the median of the finished trials at the same validation.

    Only trials of earlier batches count, so the answer does not depend on who runs at the same time.
    """
    from optuna.pruners import MedianPruner
    from optuna.trial import TrialState, create_trial

    others = in_memory(open_study(path).get_trials(deepcopy=False)[:before])
    pruner = MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=prune_after)

    def worse(curve: Sequence[float | None]) -> bool:
        known = {at: float("nan") if score is None else score for at, score in enumerate(curve)}
        own = create_trial(state=TrialState.RUNNING, intermediate_values=known)
        return bool(known) and pruner.prune(others, own)

    return worse

"""The journal of a search: Optuna's study in one file, to which one process writes finished trials only."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mclstm.jobs.job import Result
from mclstm.training import journal

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.study import Study
    from optuna.trial import FrozenTrial

__all__ = ["finished_trial", "importance", "in_memory", "open_study", "propose", "repaired"]

NAME = "tune"
FEWEST = 4  # finished trials, below which nothing is said about what mattered


def open_study(path: Path) -> "Study":
    """The study in a journal; a new one where there is none."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    storage = JournalStorage(JournalFileBackend(str(path)))
    return optuna.create_study(study_name=NAME, storage=storage, direction="maximize", load_if_exists=True)


def in_memory(trials: "Sequence[FrozenTrial]", sampler: "BaseSampler | None" = None) -> "Study":
    """A study of some trials that is in no file."""
    import optuna

    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.add_trials(trials)
    return study


def repaired(path: Path) -> Path:
    """The path of a journal, without what a killed writer left: a torn line, and the lock."""
    journal.truncate(path, journal.length(path))
    path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
    return path


def propose(
    before: "Sequence[FrozenTrial]",
    together: Sequence[Mapping[str, Any]],
    space: "Mapping[str, BaseDistribution]",
    seed: tuple[int, int],
) -> dict[str, Any]:
    """The values of the next trial: a function of the finished trials, those of its batch, and the seed.

    seed: of the search, and the number of the trial
    """
    import optuna
    from optuna.trial import TrialState, create_trial

    draws = int(np.random.SeedSequence(seed).generate_state(1)[0])
    sampler = optuna.samplers.TPESampler(seed=draws, constant_liar=True)
    running = [
        create_trial(state=TrialState.RUNNING, params=dict(values), distributions=dict(space))
        for values in together
    ]
    return in_memory([*before, *running], sampler).ask(dict(space)).params


def finished_trial(
    values: Mapping[str, Any], space: "Mapping[str, BaseDistribution]", result: Result
) -> "FrozenTrial":
    """A trial with its result, as one record of the journal."""
    from optuna.trial import TrialState, create_trial

    states = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL}
    scored = result["state"] != "failed" and result["score"] is not None
    curve = {at: score for at, score in enumerate(result["curve"]) if score is not None}
    return create_trial(
        state=states[result["state"]],
        value=result["score"] if scored else None,
        params=dict(values),
        distributions=dict(space),
        intermediate_values=curve,
        user_attrs={"updates": result["updates"], "reason": result["reason"]},
    )


def importance(study: "Study") -> dict[str, float]:
    """The share of each key in what the scores differ by, the largest first; empty after few trials."""
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
    from optuna.trial import TrialState

    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len(complete) < FEWEST or len({trial.value for trial in complete}) < 2:
        return {}
    return get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())

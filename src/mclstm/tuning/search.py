"""A search from its config to its best settings: batches of trials as jobs, then a table and a figure."""

import json
from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import yaml

from mclstm.config import Config
from mclstm.config.tuning import TuneConfig
from mclstm.errors import ConfigError
from mclstm.jobs.execution import run_jobs
from mclstm.jobs.job import Job, locked, read_json
from mclstm.report.run_figures import save
from mclstm.report.tuning_figure import tuning_figure
from mclstm.training.atomic import make_folder, write_text_atomic
from mclstm.tuning.space import distributions, require_valid_ends, with_values
from mclstm.tuning.study import finished_trial, importance, open_study, propose, repaired
from mclstm.tuning.trial import TRIAL

if TYPE_CHECKING:
    from optuna.study import Study

__all__ = ["Search", "tune"]

SPACE, JOURNAL, BEST, TABLE = "search.json", "journal.log", "best.yaml", "trials.csv"
ENDLESS = {"trials"}  # keys of the section that a later command may raise


class Search(NamedTuple):
    """What a search leaves: its folder, a row for each trial, the best one, and what mattered."""

    folder: Path
    trials: pd.DataFrame
    best: int
    values: dict[str, Any]
    importance: dict[str, float]
    figure: Path

    @property
    def score(self) -> float:
        """The validation score of the best trial."""
        return float(self.trials["score"].loc[self.best])


def tune(
    config: Config, folder: Path, *, workers: int = 1, executor: Executor | None = None, quiet: bool = False
) -> Search:
    """Run the trials that are not finished, and write the best settings, a table and a figure of all.

    The same config gives the same trials, however many workers there are and however often it was stopped.
    """
    space = config.tune
    if space is None:
        raise ConfigError("there is no section `tune`. Add what to search, for example tune.log_ranges.")
    require_valid_ends(config, space)
    make_folder(folder)
    with locked(folder):
        require_same_search(folder / SPACE, config)
        study = open_study(repaired(folder / JOURNAL))
        while (done := len(study.trials)) < space.trials:
            first = done - done % space.at_once
            last = min(first + space.at_once, space.trials)
            jobs = batch(config, space, study, folder, first, last)
            results = run_jobs(jobs, folder / "trials", workers=workers, executor=executor, quiet=quiet)
            for job in jobs[done - first :]:
                values = job.parameters["values"]
                study.add_trial(finished_trial(values, distributions(space), results[job.name]))
        return summary(config, study, folder)


def require_same_search(file: Path, config: Config) -> None:
    """Note what is searched; refuse the folder of another search."""
    content = json.loads(config.model_dump_json(exclude_unset=True, exclude={"tune": ENDLESS}))
    before = read_json(file)
    if before is None:
        write_text_atomic(file, json.dumps(content, indent=1) + "\n")
    elif before != content:
        differ = next(key for key in {**before, **content} if before.get(key) != content.get(key))
        raise ConfigError(
            f"{file.parent} holds the search of another config: the section {differ} differs. Choose another "
            "folder with --out, or remove this one."
        )


def batch(
    config: Config, space: TuneConfig, study: "Study", folder: Path, first: int, last: int
) -> list[Job]:
    """The trials from `first` up to `last`; those that have begun keep their values."""
    raw = config.model_dump(exclude_unset=True, exclude={"tune"})
    before, place = study.get_trials(deepcopy=False)[:first], {"study": str((folder / JOURNAL).absolute())}
    jobs: list[Job] = []
    for number in range(first, last):
        name = f"{number:04d}"
        begun = read_json(folder / "trials" / name / "job.json")
        together = [job.parameters["values"] for job in jobs]
        values = (
            propose(before, together, distributions(space), (space.seed, number))
            if begun is None
            else begun["parameters"]["values"]
        )
        parameters = {"raw": raw, "values": values, "prune_after": space.prune_after, "before": first}
        jobs.append(Job(name, TRIAL, parameters, goal=1, place=place))
    return jobs


def summary(config: Config, study: "Study", folder: Path) -> Search:
    """Write the table, the figure and the best settings of all finished trials."""
    trials = table(study)
    complete = trials[trials["state"] == "complete"]
    if complete.empty:
        reason = next((text for text in trials["reason"] if text), "None was trained to its end.")
        raise ConfigError(
            f"None of {len(trials)} trials has a score: {reason} Mend the config or its data, then "
            f"choose another folder with --out, or remove {folder}."
        )
    best = int(complete.index.to_numpy()[complete["score"].argmax()])
    values, shares = dict(study.trials[best].params), importance(study)
    write_text_atomic(folder / TABLE, trials.to_csv())
    write_text_atomic(folder / BEST, best_config(config, values))
    (figure, *_) = save(tuning_figure(trials, shares, keys_on_log_axes(config)), folder, "tuning")
    return Search(folder, trials, best, values, shares, figure)


def table(study: "Study") -> pd.DataFrame:
    """A row for each trial: state, best validation score, updates, values."""
    rows = [
        {"trial": trial.number, "state": trial.state.name.lower().replace("fail", "failed")}
        | {"score": trial.value, "updates": trial.user_attrs["updates"], **trial.params}
        | {"reason": trial.user_attrs["reason"]}
        for trial in study.get_trials(deepcopy=False)
    ]
    return pd.DataFrame(rows).set_index("trial")


def best_config(config: Config, values: Mapping[str, Any]) -> str:
    """The config with the best values, with its test period, to train with."""
    raw = with_values(config.model_dump(exclude_unset=True, exclude={"tune"}), values)
    return yaml.safe_dump(raw, sort_keys=False, allow_unicode=True, width=100)


def keys_on_log_axes(config: Config) -> set[str]:
    return set() if config.tune is None else set(config.tune.log_ranges)

"""Result rows of data sets instead of seeds: errors over all sets and over parts of them, and claims."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mclstm.evaluation.comparison import wilcoxon_test
from mclstm.jobs.job import Job, Result
from mclstm_paper.pendulum.predictions import scores
from mclstm_paper.pendulum.settings import LSTM, MASS_MODELS, Recipe
from mclstm_paper.pendulum.task import Series, Setting
from mclstm_paper.results import SIGNIFICANT, Claim, Row, claim, interval_row
from mclstm_paper.seed_rows import find, joined_results, numbers, paired
from mclstm_paper.statistics import Interval, mean_interval

__all__ = ["PARTS", "below", "floor_rows", "model_rows", "reached", "set_rows"]

# The parts of the sets that a table shows, by name.
PARTS: dict[str, Callable[[Setting], bool]] = {
    "all": lambda setting: True,
    "100 steps": lambda setting: setting.steps == 100,
    "200 steps": lambda setting: setting.steps == 200,
    "400 steps": lambda setting: setting.steps == 400,
    "no friction": lambda setting: setting.friction == 0.0,
}


def set_rows(
    model: str,
    outcome: Result,  # what `scores` gives: values for each set
    seeds: Sequence[int],  # the numbers of the sets
    settings: Sequence[Setting],  # of all sets
    paper: float | None = None,
    **more: Any,
) -> list[Row]:
    """Mean errors with their interval, deviation and median, for each part; extremes of the energies."""
    rows = []
    for part, belongs in PARTS.items():
        inside = [at for at, seed in enumerate(seeds) if belongs(settings[seed])]
        for metric in ("mse", "mse-noisy"):
            values = numbers([outcome[metric][at] for at in inside])
            if values.size:
                about = {"seeds": [seeds[at] for at in inside], **moments(values), **more}
                printed = paper if (part, metric) == ("all", "mse") else None
                rows.append(
                    interval_row(
                        part, model, metric, mean_interval(values), values.tolist(), printed, **about
                    )
                )
    for metric, extreme in (("rise", max), ("least", min)):
        value = float(extreme(outcome[metric]))
        bare = Interval(value, value, value, len(seeds))
        rows.append(interval_row("all", model, metric, bare, outcome[metric], seeds=list(seeds), **more))
    return rows


def moments(values: np.ndarray[Any, Any]) -> dict[str, float]:
    """The deviation, divided by n - 1 as far as there are two values, and the median."""
    deviation = float(values.std(ddof=1)) if values.size > 1 else 0.0
    return {"sd": deviation, "median": float(np.median(values))}


def model_rows(
    groups: Mapping[tuple[str, ...], Sequence[Job]],  # finished jobs by model
    results: Mapping[str, Result],
    settings: Sequence[Setting],
    printed: Mapping[str, float],
    recipe_of: Callable[[str], Recipe],
) -> list[Row]:
    """The rows of every trained model, with a hash of its recipe where it has one."""
    rows = []
    for (model,), jobs in groups.items():
        outcome = joined_results([results[job.name] for job in jobs])
        seeds = [seed for job in jobs for seed in job.parameters["seeds"]]
        about = {"trained": jobs[0].goal, "scorings": jobs[0].parameters.get("scoring", 1)}
        if model in (*MASS_MODELS, LSTM):
            about["recipe"] = recipe_of(model).digest()
        if "window" in outcome:
            about["unfinished"] = sum(
                window < settings[seed].steps for window, seed in zip(outcome["window"], seeds, strict=True)
            )
        rows += set_rows(model, outcome, seeds, settings, printed.get(model), **about)
    return rows


def floor_rows(
    floors: Mapping[str, Callable[[Series], Any]],
    sets: Sequence[Series],
    seeds: Sequence[int],  # the numbers of the sets
    settings: Sequence[Setting],  # of all sets
) -> list[Row]:
    """The rows of predictions that nobody trains."""
    rows = []
    for name, predict in floors.items():
        outcome = scores([predict(one) for one in sets], sets)
        rows += set_rows(name, outcome, seeds, settings, trained=0)
    return rows


def below(rows: Sequence[Row], model: str, rival: str, part: str = "all") -> list[Claim]:
    """Whether a model's errors are below a rival's: Wilcoxon's signed-rank test over the sets of a part."""
    ours, theirs = (find(rows, name, part, "mse") for name in (model, rival))
    if ours is None or theirs is None:
        return []
    first, second = paired(ours, theirs)
    p = wilcoxon_test(first, second, "less").p
    where = "" if part == "all" else f", {part}"
    text = f"{model}{where}: the error is below that of {rival}"
    test = f"Wilcoxon test, {first.size} sets, {int((first < second).sum())} won"
    return [claim(text, test, p, bool(p < SIGNIFICANT))]


def reached(rows: Sequence[Row], model: str) -> list[Claim]:
    """Whether our mean is at most the paper's."""
    row = find(rows, model, "all", "mse")
    if row is None or row["paper"] is None:
        return []
    text = f"{model}: the mean error is at most the paper's {row['paper']:g}"
    return [claim(text, "mean", None, bool(row["value"] <= row["paper"]))]

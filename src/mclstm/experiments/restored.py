"""What result files hold of jobs whose folders are not here: finished on another machine, they stay finished.

A row has a value for every seed, or, of what is counted only for seeds that solved a task, for these.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from mclstm.experiments.jobs import Job, Result
from mclstm.report.results import Row
from mclstm.tasks.protocols import Protocol

__all__ = ["restored_errors", "restored_outcome"]

Values = list[Any]


def restored_errors(job: Job, rows: Sequence[Row], rate: float) -> Result | None:
    """Test errors by setting and who failed, as a job gives them; None if the rows are not of this job.

    rate: the learning rate of the job
    """
    found = {(r["setting"], r["metric"]): chosen(r, r["values"], job) for r in made_by(job, rows, rate)}
    failed = next((values for (_, metric), values in found.items() if metric == "nan"), None)
    if failed is None:
        return None
    test = {setting: values for (setting, metric), values in found.items() if metric == "mse"}
    return {"test": test, "failed": [int(at) for at in failed]}


def restored_outcome(job: Job, rows: Sequence[Row], rate: float) -> Result | None:
    """What came of every seed of an arithmetic task: of `success.outcome` what rows hold."""
    mine = {r["metric"]: r for r in made_by(job, rows, rate)}
    plain = restored_errors(job, rows, rate)
    if plain is None or "success" not in mine:
        return None
    operation, own = job.parameters["operation"], job.parameters["protocol"]
    found: Result = {**plain, "test": plain["test"][operation], "solved": {}, "solved_at": {}}
    for protocol, beside in beside_names(own, mine):
        solved = [bool(value) for value in mine[f"success{beside}"]["values"]]
        found["solved"][protocol] = chosen(mine["mse"], solved, job)
        at = spread(mine[f"updates{beside}"]["values"], solved, -1)
        found["solved_at"][protocol] = chosen(mine["mse"], [int(value) for value in at], job)
        if f"sparsity{beside}" in mine:
            sparse = chosen(mine["mse"], spread(mine[f"sparsity{beside}"]["values"], solved, None), job)
            known = found.setdefault("sparsity", sparse)
            found["sparsity"] = [b if a is None else a for a, b in zip(known, sparse, strict=True)]
    return found


def made_by(job: Job, rows: Sequence[Row], rate: float) -> list[Row]:
    """The rows that have the seeds of a job, trained as far and as fast."""
    asked = job.parameters
    return [
        r
        for r in rows
        if r["model"] == asked["model"]
        and r["setting"] == asked.get("operation", r["setting"])
        and (r.get("trained"), r.get("learning_rate")) == (job.goal, rate)
        and set(asked["seeds"]) <= set(r.get("seeds", ()))
    ]


def chosen(row: Row, values: Values, job: Job) -> Values:
    """Those of a job's seeds among values that are one for every seed of a row."""
    if len(values) != len(row["seeds"]):
        return []
    by_seed = dict(zip(row["seeds"], values, strict=True))
    return [by_seed[seed] for seed in job.parameters["seeds"]]


def spread(values: Values, solved: Sequence[bool], otherwise: object) -> Values:
    """Values of the seeds that solved a task among all of them.

    >>> spread([7, 9], [True, False, True], otherwise=-1)
    [7, -1, 9]
    """
    left: Iterator[Any] = iter(values)
    return [next(left) if one else otherwise for one in solved]


def beside_names(own: Protocol, metrics: dict[str, Row]) -> list[tuple[str, str]]:
    """Both protocols with what the names of their metrics end with: nothing for a file's own."""
    marks = [name.removeprefix("success") for name in metrics if name.startswith("success")]
    return [(mark.strip(" ()").split(" ")[0] or own, mark) for mark in marks]
